package payload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Remove implements Store.
func (f *files) Remove(_ context.Context, digest string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	unlock := f.locks.lock(digest)
	defer unlock()
	return f.remove(digest)
}

// RemoveIdle implements Store.
func (f *files) RemoveIdle(_ context.Context, digest string, since time.Time) (bool, error) {
	if err := checkDigest(digest); err != nil {
		return false, err
	}
	unlock := f.locks.lock(digest)
	defer unlock()
	info, err := f.lstat(digest)
	if errors.Is(err, ErrNotHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if !info.ModTime().Before(since) {
		return false, nil
	}
	return true, f.remove(digest)
}

// Renew implements Store. It holds the digest's lock, as RemoveIdle does: of the
// two, either the removal sees the new time, or this sees that nothing is held.
func (f *files) Renew(ctx context.Context, digest string) (int64, bool, error) {
	if err := checkDigest(digest); err != nil {
		return 0, false, err
	}
	unlock := f.locks.lock(digest)
	defer unlock()
	size, ok, err := f.Stat(ctx, digest)
	if err != nil || !ok {
		return 0, false, err
	}
	now := time.Now()
	if err := f.root.Chtimes(pathOf(digest), now, now); err != nil {
		return 0, false, unavailable("touch payload", err)
	}
	return size, true, nil
}

// remove takes the name away, durably: erased bytes must not come back with the
// next power cut. A link is removed itself, not what it points to.
func (f *files) remove(digest string) error {
	if err := f.checkFolder(shardOf(digest)); err != nil {
		return unavailable("remove payload", err)
	}
	if err := f.root.Remove(pathOf(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable("remove payload", err)
	}
	if err := f.syncFolder(shardOf(digest)); err != nil {
		return unavailable("remove payload", err)
	}
	return nil
}

// Each implements Store. Names that are no digests are not ours and passed over.
func (f *files) Each(ctx context.Context, do func(digest string, size int64, put time.Time) error) error {
	for i := range 256 {
		err := f.list(ctx, fmt.Sprintf("%02x", i), func(name string, info fs.FileInfo) error {
			if !isDigest(name) || shardOf(name) != fmt.Sprintf("%02x", i) {
				return nil
			}
			return do(name, info.Size(), info.ModTime())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// list calls do for the plain files of one folder.
func (f *files) list(ctx context.Context, folder string, do func(name string, info fs.FileInfo) error) error {
	if err := f.checkFolder(folder); err != nil {
		return unavailable("list payloads", err)
	}
	dir, err := f.root.Open(folder)
	if err != nil {
		return unavailable("list payloads", err)
	}
	defer dir.Close()
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("list payloads: %w", err)
		}
		entries, err := dir.ReadDir(512)
		for _, e := range entries {
			info, err := f.root.Lstat(folder + "/" + e.Name())
			if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
				continue // gone by now, or not ours
			}
			if err != nil {
				return unavailable("list payloads", err)
			}
			if err := do(e.Name(), info); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return unavailable("list payloads", err)
		}
	}
}

// SweepTemporary implements Store. What a Put of this process is writing stays,
// however slowly it arrives.
func (f *files) SweepTemporary(ctx context.Context, olderThan time.Time) (int, error) {
	removed := 0
	err := f.list(ctx, temporary, func(name string, info fs.FileInfo) error {
		path := temporary + "/" + name
		f.mu.Lock()
		busy := f.writing[path]
		f.mu.Unlock()
		if busy || !info.ModTime().Before(olderThan) {
			return nil
		}
		if err := f.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unavailable("sweep temporary files", err)
		}
		removed++
		return nil
	})
	return removed, err
}

// Ping implements Store.
func (f *files) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ping payload store: %w", err)
	}
	tmp, err := f.newTemporary()
	if err != nil {
		return unavailable("ping payload store", err)
	}
	defer tmp.discard()
	want := rand.Text()
	if _, err := tmp.file.WriteString(want); err != nil {
		return unavailable("ping payload store", err)
	}
	if err := f.sync(tmp.file); err != nil {
		return unavailable("ping payload store", err)
	}
	got := make([]byte, len(want))
	if _, err := tmp.file.ReadAt(got, 0); err != nil {
		return unavailable("ping payload store", err)
	}
	if string(got) != want {
		return unavailable("ping payload store", errors.New("what was read is not what was written"))
	}
	return nil
}

func (f *files) syncFolder(name string) error {
	dir, err := f.root.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	return f.sync(dir)
}

// locks is one lock for each digest that somebody is at. A digest nobody is at
// takes no memory.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.Mutex
	wanted int
}

func (l *locks) lock(digest string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[digest]
	if k == nil {
		k = &lock{}
		l.held[digest] = k
	}
	k.wanted++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.wanted--; k.wanted == 0 {
			delete(l.held, digest)
		}
	}
}
