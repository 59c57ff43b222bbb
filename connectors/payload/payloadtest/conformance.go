// Package payloadtest holds what every payload store must do, as tests. A new
// backend is done when they pass.
package payloadtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"dlo/connectors/payload"
	"dlo/dlq"
)

// Backend is one kind of store under test.
type Backend struct {
	// Open opens a fresh, empty store. The suite closes it.
	Open func(t *testing.T) payload.Store
	// Damage replaces the held bytes of a digest behind the back of the store
	// that was opened last.
	Damage func(t *testing.T, digest string, with []byte)
	// Leftovers counts what the store that was opened last keeps beside whole
	// payloads, such as temporary files.
	Leftovers func(t *testing.T) int
}

const limit = 1 << 20

// Run holds a backend to the contract of payload.Store.
func Run(t *testing.T, b Backend) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Backend, payload.Store)
	}{
		{"PutThenOpenGivesTheSameBytes", putThenOpen},
		{"EqualBytesAreHeldOnce", equalBytes},
		{"OverTheLimitNothingIsKept", overTheLimit},
		{"ABodyThatEndsEarlyLeavesNothing", endsEarly},
		{"ACancelledPutLeavesNothing", cancelledPut},
		{"AnotherDigestThanAnnouncedIsRefused", otherDigest},
		{"DamagedBytesAreNeverHandedOut", damaged},
		{"PutMendsDamagedBytes", mends},
		{"WhatIsNotHeldIsSaid", notHeld},
		{"OnlyDigestsAreNames", onlyDigests},
		{"RemovedBytesAreGone", removed},
		{"BytesPutAgainAreNotIdle", idle},
		{"EachListsAllThatIsHeld", each},
		{"ConcurrentPutsOfTheSameBytes", concurrent},
		{"PingLeavesNothing", ping},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := b.Open(t)
			defer func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			c.test(t, b, s)
			if n := b.Leftovers(t); n != 0 {
				t.Errorf("%d things are left over", n)
			}
		})
	}
}

// Digest is the name of bytes.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func document(seed byte, size int) []byte {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func mustPut(t *testing.T, s payload.Store, body []byte) payload.Stored {
	t.Helper()
	got, err := s.Put(t.Context(), bytes.NewReader(body), limit)
	if err != nil {
		t.Fatalf("put %d bytes: %v", len(body), err)
	}
	return got
}

func mustRead(t *testing.T, s payload.Store, digest string) []byte {
	t.Helper()
	r, size, err := s.Open(t.Context(), digest)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer r.Close()
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if int64(len(body)) != size {
		t.Errorf("%d bytes, announced as %d", len(body), size)
	}
	return body
}

func mustHoldNothing(t *testing.T, s payload.Store) {
	t.Helper()
	err := s.Each(t.Context(), func(digest string, _ int64, _ time.Time) error {
		return errors.New("holds " + digest)
	})
	if err != nil {
		t.Error(err)
	}
}

func putThenOpen(t *testing.T, _ Backend, s payload.Store) {
	for _, size := range []int{0, 1, 32 << 10, 300_000, limit} {
		body := document(1, size)
		got := mustPut(t, s, body)
		if want := (payload.Stored{SHA256: Digest(body), Bytes: int64(size)}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if !bytes.Equal(mustRead(t, s, got.SHA256), body) {
			t.Errorf("other bytes than the %d that were put", size)
		}
		n, err := s.Verify(t.Context(), got.SHA256)
		if err != nil || n != int64(size) {
			t.Errorf("verify: %d, %v", n, err)
		}
		n, ok, err := s.Stat(t.Context(), got.SHA256)
		if err != nil || !ok || n != int64(size) {
			t.Errorf("stat: %d, %t, %v", n, ok, err)
		}
	}
	r, _, err := s.Open(t.Context(), Digest(document(1, 300_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Seek(299_999, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	last, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(last, document(1, 300_000)[299_999:]) {
		t.Errorf("the last byte after a seek: %d bytes, %v", len(last), err)
	}
}

func equalBytes(t *testing.T, _ Backend, s payload.Store) {
	body := document(2, 1000)
	first, second := mustPut(t, s, body), mustPut(t, s, body)
	if first.Existed || !second.Existed || first.SHA256 != second.SHA256 || second.Bytes != 1000 {
		t.Errorf("first %+v, then %+v", first, second)
	}
	n := 0
	if err := s.Each(t.Context(), func(string, int64, time.Time) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("%d held, %v", n, err)
	}
}

func overTheLimit(t *testing.T, _ Backend, s payload.Store) {
	if _, err := s.Put(t.Context(), bytes.NewReader(document(3, 101)), 100); dlq.KindOf(err) != dlq.KindTooLarge {
		t.Errorf("%v, want too large", err)
	}
	if _, err := s.Put(t.Context(), strings.NewReader("x"), 0); dlq.KindOf(err) != dlq.KindTooLarge {
		t.Errorf("%v, want too large", err)
	}
	mustHoldNothing(t, s)
	for _, enough := range []int64{100, 1<<63 - 1} {
		if got, err := s.Put(t.Context(), bytes.NewReader(document(3, 100)), enough); err != nil || got.Bytes != 100 {
			t.Errorf("under the limit %d: %+v, %v", enough, got, err)
		}
	}
}

func endsEarly(t *testing.T, _ Backend, s payload.Store) {
	broken := errors.New("connection reset")
	body := io.MultiReader(bytes.NewReader(document(4, 5000)), iotest.ErrReader(broken))
	if _, err := s.Put(t.Context(), body, limit); !errors.Is(err, broken) {
		t.Errorf("%v, want the reader's own error", err)
	}
	mustHoldNothing(t, s)
}

// cancelling cancels its context in the middle of being read.
type cancelling struct {
	cancel context.CancelFunc
	left   int
}

func (c *cancelling) Read(p []byte) (int, error) {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return len(p), nil
}

func cancelledPut(t *testing.T, _ Backend, s payload.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := s.Put(ctx, &cancelling{cancel, 3}, limit); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want cancelled", err)
	}
	mustHoldNothing(t, s)
}

func otherDigest(t *testing.T, _ Backend, s payload.Store) {
	body := document(5, 1000)
	for _, announced := range []string{Digest(document(6, 1000)), strings.ToUpper(Digest(body)), ""} {
		_, err := s.PutExpecting(t.Context(), bytes.NewReader(body), announced, limit)
		var e *dlq.Error
		if !errors.As(err, &e) || e.Kind != dlq.KindInvalid || len(e.Faults) != 1 || e.Faults[0].Pointer != "/payload_sha256" {
			t.Errorf("announced as %q: %v, want a fault at /payload_sha256", announced, err)
		}
	}
	mustHoldNothing(t, s)
	if got, err := s.PutExpecting(t.Context(), bytes.NewReader(body), Digest(body), limit); err != nil || got.SHA256 != Digest(body) {
		t.Errorf("rightly announced: %+v, %v", got, err)
	}
}

func damaged(t *testing.T, b Backend, s payload.Store) {
	body := document(7, 100_000)
	digest := mustPut(t, s, body).SHA256
	flipped := slices.Clone(body)
	flipped[len(flipped)-1] ^= 1 // the last byte: a check that goes along with the reading would come too late
	for name, with := range map[string][]byte{"a flipped bit": flipped, "cut short": body[:99_999], "emptied": nil, "grown": append(slices.Clone(body), 0)} {
		b.Damage(t, digest, with)
		r, _, err := s.Open(t.Context(), digest)
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, payload.ErrCorrupt) || dlq.KindOf(err) != dlq.KindConflict {
			t.Errorf("%s: open: %v, want corrupt", name, err)
		}
		if _, err := s.Verify(t.Context(), digest); !errors.Is(err, payload.ErrCorrupt) {
			t.Errorf("%s: verify: %v, want corrupt", name, err)
		}
	}
}

func mends(t *testing.T, b Backend, s payload.Store) {
	body := document(8, 1000)
	digest := mustPut(t, s, body).SHA256
	for _, with := range [][]byte{document(9, 1000), nil} {
		b.Damage(t, digest, with)
		if got := mustPut(t, s, body); got.Existed {
			t.Error("damaged bytes were taken for held ones")
		}
		if !bytes.Equal(mustRead(t, s, digest), body) {
			t.Error("not mended")
		}
	}
}

func notHeld(t *testing.T, _ Backend, s payload.Store) {
	digest := Digest([]byte("never put"))
	if _, _, err := s.Open(t.Context(), digest); !errors.Is(err, payload.ErrNotHeld) || dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("open: %v", err)
	}
	if _, err := s.Verify(t.Context(), digest); !errors.Is(err, payload.ErrNotHeld) {
		t.Errorf("verify: %v", err)
	}
	if n, ok, err := s.Stat(t.Context(), digest); n != 0 || ok || err != nil {
		t.Errorf("stat: %d, %t, %v", n, ok, err)
	}
	if err := s.Remove(t.Context(), digest); err != nil {
		t.Errorf("remove: %v", err)
	}
}

func onlyDigests(t *testing.T, _ Backend, s payload.Store) {
	digest := mustPut(t, s, document(10, 10)).SHA256
	for _, name := range []string{
		"", "..", "../../../etc/passwd", "/etc/passwd", digest[:63], digest + "0", strings.ToUpper(digest), digest[:63] + "\x00",
		"../" + digest[:61], digest[:63] + "/", "%2e%2e%2f" + digest[:55], digest[:2] + "/" + digest[2:63], digest[:62] + "é", digest[:63] + "g",
	} {
		_, _, open := s.Open(t.Context(), name)
		_, verify := s.Verify(t.Context(), name)
		_, _, stat := s.Stat(t.Context(), name)
		remove := s.Remove(t.Context(), name)
		_, removeIdle := s.RemoveIdle(t.Context(), name, time.Now())
		for call, err := range map[string]error{"open": open, "verify": verify, "stat": stat, "remove": remove, "remove idle": removeIdle} {
			if dlq.KindOf(err) != dlq.KindInvalid {
				t.Errorf("%s of %q: %v, want invalid", call, name, err)
			}
		}
	}
}

func removed(t *testing.T, _ Backend, s payload.Store) {
	digest := mustPut(t, s, document(11, 10)).SHA256
	if err := s.Remove(t.Context(), digest); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Stat(t.Context(), digest); ok || err != nil {
		t.Errorf("stat after removal: %t, %v", ok, err)
	}
	mustHoldNothing(t, s)
}

func idle(t *testing.T, _ Backend, s payload.Store) {
	body := document(12, 10)
	digest := mustPut(t, s, body).SHA256
	// Whatever the clock's grain, an hour lies on the right side.
	if gone, err := s.RemoveIdle(t.Context(), digest, time.Now().Add(-time.Hour)); gone || err != nil {
		t.Errorf("bytes put just now were removed as idle: %t, %v", gone, err)
	}
	if gone, err := s.RemoveIdle(t.Context(), digest, time.Now().Add(time.Hour)); !gone || err != nil {
		t.Errorf("idle bytes were not removed: %t, %v", gone, err)
	}
	if gone, err := s.RemoveIdle(t.Context(), digest, time.Now().Add(time.Hour)); !gone || err != nil {
		t.Errorf("bytes that are not held are not gone: %t, %v", gone, err)
	}
	if _, held, err := s.Renew(t.Context(), digest); held || err != nil {
		t.Errorf("bytes that are gone were renewed: %t, %v", held, err)
	}
}

func each(t *testing.T, _ Backend, s payload.Store) {
	want := map[string]int64{}
	for i := range 30 {
		body := document(byte(i), i*10)
		want[mustPut(t, s, body).SHA256] = int64(i * 10)
	}
	got := map[string]int64{}
	err := s.Each(t.Context(), func(digest string, size int64, put time.Time) error {
		got[digest] = size
		if age := time.Since(put); age > time.Hour || age < -time.Hour {
			t.Errorf("put %s ago", age)
		}
		return nil
	})
	if err != nil || len(got) != len(want) {
		t.Errorf("%d listed of %d, %v", len(got), len(want), err)
	}
	for digest, size := range want {
		if got[digest] != size {
			t.Errorf("listed with %d bytes, want %d", got[digest], size)
		}
	}
	enough := errors.New("enough")
	calls := 0
	if err := s.Each(t.Context(), func(string, int64, time.Time) error { calls++; return enough }); err != enough || calls != 1 {
		t.Errorf("%v after %d calls, want the callback's error after one", err, calls)
	}
	// A sweep removes what it is shown.
	err = s.Each(t.Context(), func(digest string, _ int64, _ time.Time) error { return s.Remove(t.Context(), digest) })
	if err != nil {
		t.Error(err)
	}
	mustHoldNothing(t, s)
}

func concurrent(t *testing.T, _ Backend, s payload.Store) {
	body := document(13, 200_000)
	var (
		putting sync.WaitGroup
		mu      sync.Mutex
		fresh   int
	)
	for range 16 {
		putting.Go(func() {
			got, err := s.Put(t.Context(), bytes.NewReader(body), limit)
			if err != nil || got.SHA256 != Digest(body) {
				t.Errorf("%+v, %v", got, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !got.Existed {
				fresh++
			}
		})
	}
	putting.Wait()
	if fresh != 1 {
		t.Errorf("%d Puts say that the bytes are new, want one", fresh)
	}
	if !bytes.Equal(mustRead(t, s, Digest(body)), body) {
		t.Error("other bytes than those put")
	}
}

func ping(t *testing.T, _ Backend, s payload.Store) {
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if n, err := s.SweepTemporary(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	mustHoldNothing(t, s)
}
