package payload

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"dlo/dlq"
)

// opened opens a store whose syncs are recorded, and fail where fail says so.
func opened(t *testing.T, fail func(f *os.File) error) (*files, *[]string) {
	t.Helper()
	f, err := openFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var synced []string
	f.sync = func(file *os.File) error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		what := "file"
		if info.IsDir() {
			what = "folder"
		}
		synced = append(synced, what)
		if err := fail(file); err != nil {
			return err
		}
		return file.Sync()
	}
	return f, &synced
}

func isFolder(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.IsDir()
}

func TestPutAnswersAfterFileAndFolderAreSynced(t *testing.T) {
	f, synced := opened(t, func(*os.File) error { return nil })
	if _, err := f.Put(t.Context(), strings.NewReader("x"), 10); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(*synced, " "); got != "file folder" {
		t.Errorf("synced %q, want the file and then its folder", got)
	}
	// The name may come from a Put that has not synced it yet.
	*synced = nil
	if got, err := f.Put(t.Context(), strings.NewReader("x"), 10); err != nil || !got.Existed {
		t.Fatalf("%+v, %v", got, err)
	}
	if got := strings.Join(*synced, " "); got != "folder" {
		t.Errorf("synced %q for bytes that are held, want the folder", got)
	}
}

func TestAFailedSyncFailsThePutAndKeepsNothing(t *testing.T) {
	for name, fails := range map[string]func(*os.File) bool{
		"of the file":   func(f *os.File) bool { return !isFolder(f) },
		"of the folder": isFolder,
	} {
		broken := true
		f, _ := opened(t, func(file *os.File) error {
			if broken && fails(file) {
				return &os.PathError{Op: "sync", Path: "x", Err: syscall.EIO}
			}
			return nil
		})
		_, err := f.Put(t.Context(), strings.NewReader("x"), 10)
		if dlq.KindOf(err) != dlq.KindUnavailable || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
		if err := f.Each(t.Context(), func(string, int64, time.Time) error { return errors.New("something is held") }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := f.SweepTemporary(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
			t.Errorf("%s: %d temporary files are left, %v", name, n, err)
		}
		broken = false
		if got, err := f.Put(t.Context(), strings.NewReader("x"), 10); err != nil || got.Existed {
			t.Errorf("%s: afterwards %+v, %v", name, got, err)
		}
		if len(f.writing) != 0 || len(f.locks.held) != 0 {
			t.Errorf("%s: %d writings and %d locks are remembered", name, len(f.writing), len(f.locks.held))
		}
	}
}
