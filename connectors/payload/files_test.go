package payload_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dlo/connectors/payload"
	"dlo/connectors/payload/payloadtest"
	"dlo/dlq"
)

func openAt(t *testing.T, dir string) payload.Store {
	t.Helper()
	s, err := payload.Open("file:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func blobPath(dir, digest string) string { return filepath.Join(dir, digest[:2], digest) }

func leftovers(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestFilesKeepTheContract(t *testing.T) {
	var dir string
	payloadtest.Run(t, payloadtest.Backend{
		Open: func(t *testing.T) payload.Store {
			dir = filepath.Join(t.TempDir(), "data", "blobs")
			return openAt(t, dir)
		},
		Damage: func(t *testing.T, digest string, with []byte) {
			if err := os.WriteFile(blobPath(dir, digest), with, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		Leftovers: func(t *testing.T) int { return leftovers(t, dir) },
	})
}

func put(t *testing.T, s payload.Store, body string) string {
	t.Helper()
	got, err := s.Put(t.Context(), strings.NewReader(body), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return got.SHA256
}

func TestBlobPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	s := openAt(t, dir)
	defer s.Close()
	digest := put(t, s, "the document")
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, digest[:2]): 0o700, filepath.Join(dir, "tmp"): 0o700, blobPath(dir, digest): 0o600} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has the mode %o, want %o", filepath.Base(path), info.Mode().Perm(), mode)
		}
	}
	shards, err := os.ReadDir(dir)
	if err != nil || len(shards) != 257 {
		t.Errorf("%d folders, want 256 shards and tmp (%v)", len(shards), err)
	}
}

func TestBytesOutliveTheStore(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	digest := put(t, s, "the document")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir)
	defer s.Close()
	r, _, err := s.Open(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if body, err := io.ReadAll(r); err != nil || string(body) != "the document" {
		t.Errorf("%q, %v", body, err)
	}
}

// Links are damage wherever they lead: out of the store, or to bytes that have
// the right digest.
func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	body := "the document"
	digest := payloadtest.Digest([]byte(body))

	t.Run("a shard", func(t *testing.T) {
		for _, to := range []string{outside, "00", "."} {
			dir := t.TempDir()
			s := openAt(t, dir)
			defer s.Close()
			shard := filepath.Join(dir, digest[:2])
			if err := errors.Join(os.Remove(shard), os.Symlink(to, shard)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Put(t.Context(), strings.NewReader(body), 100); dlq.KindOf(err) != dlq.KindUnavailable {
				t.Errorf("to %s: put: %v, want unavailable", filepath.Base(to), err)
			}
			if _, _, err := s.Open(t.Context(), digest); dlq.KindOf(err) != dlq.KindUnavailable {
				t.Errorf("to %s: open: %v, want unavailable", filepath.Base(to), err)
			}
			if err := s.Remove(t.Context(), digest); dlq.KindOf(err) != dlq.KindUnavailable {
				t.Errorf("to %s: remove: %v, want unavailable", filepath.Base(to), err)
			}
			if again, err := payload.Open("file:" + dir); err == nil {
				again.Close()
				t.Errorf("to %s: opened anew", filepath.Base(to))
			}
			if n := leftovers(t, dir); n != 0 {
				t.Errorf("%d temporary files are left", n)
			}
		}
	})
	t.Run("the folder of temporary files", func(t *testing.T) {
		dir := t.TempDir()
		s := openAt(t, dir)
		defer s.Close()
		tmp := filepath.Join(dir, "tmp")
		if err := errors.Join(os.Remove(tmp), os.Symlink(outside, tmp)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), strings.NewReader(body), 100); dlq.KindOf(err) != dlq.KindUnavailable {
			t.Errorf("put: %v, want unavailable", err)
		}
	})
	t.Run("a payload", func(t *testing.T) {
		dir := t.TempDir()
		s := openAt(t, dir)
		defer s.Close()
		put(t, s, body)
		moved := filepath.Join(dir, digest[:2], "moved")
		if err := errors.Join(os.Rename(blobPath(dir, digest), moved), os.Symlink("moved", blobPath(dir, digest))); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Open(t.Context(), digest); !errors.Is(err, payload.ErrCorrupt) {
			t.Errorf("open: %v, want corrupt", err)
		}
		if _, _, err := s.Stat(t.Context(), digest); !errors.Is(err, payload.ErrCorrupt) {
			t.Errorf("stat: %v, want corrupt", err)
		}
		put(t, s, body)
		if info, err := os.Lstat(blobPath(dir, digest)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("a Put did not replace the link: %v", err)
		}
	})
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("%d files were written outside (%v)", len(entries), err)
	}
}

func TestAPipeInPlaceOfAPayloadDoesNotHang(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	defer s.Close()
	digest := payloadtest.Digest([]byte("x"))
	if err := syscall.Mkfifo(blobPath(dir, digest), 0o600); err != nil {
		t.Skip("no pipes on this file system")
	}
	if _, _, err := s.Open(t.Context(), digest); !errors.Is(err, payload.ErrCorrupt) {
		t.Errorf("%v, want corrupt", err)
	}
}

func TestEachPassesOverWhatIsNotOurs(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	defer s.Close()
	digest := put(t, s, "the document")
	elsewhere := "00"
	if digest[:2] == elsewhere {
		elsewhere = "01"
	}
	for _, name := range []string{"README", strings.ToUpper(digest), digest + ".bak", "../" + elsewhere + "/" + digest} {
		if err := os.WriteFile(filepath.Join(dir, digest[:2], name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := s.Each(t.Context(), func(digest string, _ int64, _ time.Time) error { got = append(got, digest); return nil })
	if err != nil || len(got) != 1 || got[0] != digest {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSweepTakesOldTemporaryFilesOnly(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	defer s.Close()
	now := time.Date(2026, 2, 11, 9, 41, 7, 0, time.UTC)
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": time.Hour} {
		path := filepath.Join(dir, "tmp", name)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.SweepTemporary(t.Context(), now.Add(-24*time.Hour)); n != 1 || err != nil {
		t.Errorf("swept %d, %v, want one", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tmp", "young")); err != nil {
		t.Error(err)
	}
}

// A Put that is under way keeps its file, however old the sweep takes it for.
func TestSweepLeavesAPutAlone(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s.Put(t.Context(), r, 100)
		done <- err
	}()
	io.WriteString(w, "half a ")
	if n, err := s.SweepTemporary(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	io.WriteString(w, "document")
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Bytes that are put again after a sweep of orphans looked at them are not
// orphans any more.
func TestPutAgainCountsAsPutNow(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	defer s.Close()
	digest := put(t, s, "the document")
	old := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(blobPath(dir, digest), old, old); err != nil {
		t.Fatal(err)
	}
	put(t, s, "the document")
	if gone, err := s.RemoveIdle(t.Context(), digest, time.Now().Add(-24*time.Hour)); gone || err != nil {
		t.Errorf("removed: %t, %v", gone, err)
	}
}

func TestAFullDiskIsSaidAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("dlo-test", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("no small file system can be mounted here")
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	s := openAt(t, dir)
	defer s.Close()
	_, err := s.Put(t.Context(), bytes.NewReader(make([]byte, 4<<20)), 8<<20)
	var e *dlq.Error
	if !errors.As(err, &e) || e.Kind != dlq.KindUnavailable || e.Message != "the disk of the payload store is full" {
		t.Errorf("%v, want a full disk", err)
	}
	if n := leftovers(t, dir); n != 0 {
		t.Errorf("%d temporary files are left", n)
	}
	digest := put(t, s, "there is room again")
	if _, err := s.Verify(t.Context(), digest); err != nil {
		t.Error(err)
	}
}

func TestStoresAreOpenedByScheme(t *testing.T) {
	dir := t.TempDir()
	for _, sound := range []string{"file:" + dir, "file://" + dir, "file://localhost" + dir} {
		s, err := payload.Open(sound)
		if err != nil {
			t.Errorf("%s: %v", sound, err)
			continue
		}
		s.Close()
	}
	for _, wrong := range []string{"", "blobs", "file:", "file://", "file://server/share", "s3://bucket", "http://x"} {
		if s, err := payload.Open(wrong); dlq.KindOf(err) != dlq.KindInvalid {
			if err == nil {
				s.Close()
			}
			t.Errorf("%q: %v, want invalid", wrong, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := payload.Open("file:" + filepath.Join(dir, "file")); dlq.KindOf(err) != dlq.KindUnavailable {
		t.Errorf("a file in place of the folder: %v, want unavailable", err)
	}
}
