package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tries remembers, for each message that is not settled, how many of its
// deliveries the guard gave back. What is left of the queue's count are the
// deliveries that ended without an answer: if Tries forgets too early, a document
// that only waited for its source looks like one that kills its worker.
//
// A pipeline that keeps its queue in a table serves well with two columns there.
// An implementation is safe for concurrent use; no two deliveries of one message
// are handled at once.
type Tries interface {
	Load(ctx context.Context, key string) (Returned, error) // zero for what is not known
	// Return adds one delivery that is given back; tried is false where no work
	// began on it. It is durable when it returns.
	Return(ctx context.Context, key string, tried bool) error
	Forget(ctx context.Context, key string) error // also of what is not known
}

// Returned are the deliveries of one message that were given back. Untried are
// those of them on which no work began, as when a circuit was open: they count
// neither as deaths nor as tries.
type Returned struct {
	Deliveries int `json:"deliveries"`
	Untried    int `json:"untried,omitempty"`
}

func (r Returned) with(tried bool) Returned {
	r.Deliveries++
	if !tried {
		r.Untried++
	}
	return r
}

// What is kept of messages that nobody settled: another consumer may have, or
// the queue dropped them.
const (
	triesKept = 14 * 24 * time.Hour // the longest that common queues keep a message
	maxTries  = 100_000             // messages; then the oldest go
)

// MemoryTries is Tries for a single worker that does not die. Its zero value is
// ready.
type MemoryTries struct {
	Now func() time.Time // default time.Now

	mu   sync.Mutex
	kept map[string]remembered
}

type remembered struct {
	Returned
	at time.Time
}

// Load implements Tries.
func (m *MemoryTries) Load(_ context.Context, key string) (Returned, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[key].Returned, nil
}

// Return implements Tries.
func (m *MemoryTries) Return(_ context.Context, key string, tried bool) error {
	now := time.Now()
	if m.Now != nil {
		now = m.Now()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]remembered{}
	}
	m.kept[key] = remembered{m.kept[key].with(tried), now}
	if len(m.kept) > maxTries {
		m.prune(now)
	}
	return nil
}

// Forget implements Tries.
func (m *MemoryTries) Forget(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, key)
	return nil
}

// prune drops what is too old and then, so that this is rare, the oldest tenth.
func (m *MemoryTries) prune(now time.Time) {
	keys := make([]string, 0, len(m.kept))
	for key, r := range m.kept {
		if now.Sub(r.at) > triesKept {
			delete(m.kept, key)
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) <= maxTries {
		return
	}
	slices.SortFunc(keys, func(a, b string) int { return m.kept[a].at.Compare(m.kept[b].at) })
	for _, key := range keys[:len(keys)-maxTries*9/10] {
		delete(m.kept, key)
	}
}

// FileTries is Tries in a folder, a small file a message: for workers that may
// die, and for several of them on one machine. A file is on disk when Return
// returns. Files that nobody touched for 14 days go, and the oldest above 100,000.
type FileTries struct {
	dir string
	now func() time.Time

	mu      sync.Mutex
	returns int // since the folder was last looked through
}

// pruneEvery is after how many returns of one process the folder is looked
// through, which costs a listing.
const pruneEvery = 5000

// NewFileTries opens a folder, and makes it where it is not there. Several
// processes may open it at once.
func NewFileTries(dir string) (*FileTries, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("client: make the folder of tries: %w", err)
	}
	f := &FileTries{dir: dir, now: time.Now}
	return f, f.prune(maxTries)
}

// path hides the key: message ids and documents have any characters and length.
func (f *FileTries) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:16])+".json")
}

// Load implements Tries. A file that is not whole counts as not there: it is
// replaced as a whole, so only a damaged disk leaves one.
func (f *FileTries) Load(_ context.Context, key string) (Returned, error) {
	b, err := os.ReadFile(f.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return Returned{}, nil
	}
	if err != nil {
		return Returned{}, fmt.Errorf("client: read what was given back: %w", err)
	}
	var r Returned
	if json.Unmarshal(b, &r) != nil {
		return Returned{}, nil
	}
	return r, nil
}

// Return implements Tries.
func (f *FileTries) Return(ctx context.Context, key string, tried bool) error {
	r, err := f.Load(ctx, key)
	if err != nil {
		return err
	}
	b, err := json.Marshal(r.with(tried))
	if err != nil {
		return err
	}
	if err := writeDurably(f.path(key), strings.NewReader(string(b))); err != nil {
		return fmt.Errorf("client: keep what was given back: %w", err)
	}
	f.mu.Lock()
	f.returns++
	due := f.returns%pruneEvery == 0
	f.mu.Unlock()
	if due {
		return f.prune(maxTries)
	}
	return nil
}

// Forget implements Tries.
func (f *FileTries) Forget(_ context.Context, key string) error {
	if err := os.Remove(f.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("client: forget what was given back: %w", err)
	}
	return nil
}

// prune removes what is too old, what a process that died left half written, and
// the oldest above most.
func (f *FileTries) prune(most int) error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("client: look through the folder of tries: %w", err)
	}
	type aged struct {
		path string
		at   time.Time
	}
	var kept []aged
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // another process was quicker, or it is not ours
		}
		age, path := f.now().Sub(info.ModTime()), filepath.Join(f.dir, entry.Name())
		switch {
		case strings.HasSuffix(entry.Name(), ".tmp") && age > time.Hour, strings.HasSuffix(entry.Name(), ".json") && age > triesKept:
			_ = os.Remove(path) // or another process did
		case strings.HasSuffix(entry.Name(), ".json"):
			kept = append(kept, aged{path, info.ModTime()})
		}
	}
	if len(kept) <= most {
		return nil
	}
	slices.SortFunc(kept, func(a, b aged) int { return a.at.Compare(b.at) })
	for _, old := range kept[:len(kept)-most*9/10] {
		_ = os.Remove(old.path) // or another process did
	}
	return nil
}
