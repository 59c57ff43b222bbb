package payload

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"dlo/dlq"
)

// files is a store in a folder: ab/<sha256> holds the bytes, tmp/<random> what
// is still being written. Bytes are synced before they get their name, and the
// folder that holds the name afterwards, so that what Put answered is there
// after a power cut. No name from outside reaches the file system but a checked
// digest, and no symbolic link in the folder is followed.
type files struct {
	root  *os.Root
	locks locks
	sync  func(*os.File) error // (*os.File).Sync; tests make it fail

	mu      sync.Mutex
	writing map[string]bool // temporary files of Puts that are under way
}

const temporary = "tmp"

// openFiles makes what is missing. All shards are made here, once: a shard made
// with its first payload would need its parent synced as well, on each Put that
// might have been the first.
func openFiles(dir string) (*files, error) {
	failed := func(err error) error {
		return dlq.Errorf(dlq.KindUnavailable, "the payload store cannot be opened: is its folder there, ours, and on a disk with room?").
			Because(fmt.Errorf("open payload store %s: %w", dir, err))
	}
	f := &files{sync: (*os.File).Sync, writing: map[string]bool{}}
	if err := f.makeFolders(filepath.Clean(dir)); err != nil {
		return nil, failed(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failed(err)
	}
	f.root = root
	if err := f.makeShards(); err != nil {
		root.Close()
		return nil, failed(err)
	}
	return f, nil
}

// makeFolders makes the folder and what is missing above it, and syncs the
// parent of each that it made: a folder without a durable name takes all that
// is in it along.
func (f *files) makeFolders(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.makeFolders(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return f.sync(parent)
}

func (f *files) makeShards() error {
	for i := -1; i < 256; i++ {
		name := temporary
		if i >= 0 {
			name = fmt.Sprintf("%02x", i)
		}
		if err := f.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := f.checkFolder(name); err != nil {
			return err
		}
	}
	return f.syncFolder(".")
}

// checkFolder refuses a symbolic link where one of our folders should be. The
// root keeps everything inside the store anyway; a link from one shard to
// another would still let one payload stand for two.
func (f *files) checkFolder(name string) error {
	info, err := f.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", name)
	}
	return nil
}

// Close implements Store.
func (f *files) Close() error { return f.root.Close() }

func shardOf(digest string) string { return digest[:2] }

func pathOf(digest string) string { return digest[:2] + "/" + digest }

// Put implements Store.
func (f *files) Put(ctx context.Context, r io.Reader, limit int64) (Stored, error) {
	return f.put(ctx, r, limit, func(string) error { return nil })
}

// PutExpecting implements Store.
func (f *files) PutExpecting(ctx context.Context, r io.Reader, expected string, limit int64) (Stored, error) {
	if err := checkDigest(expected); err != nil {
		return Stored{}, err
	}
	return f.put(ctx, r, limit, func(digest string) error {
		if digest == expected {
			return nil
		}
		return dlq.Invalid("the bytes are not the ones that were announced",
			dlq.Fault{Pointer: "/payload_sha256", Detail: "the bytes that arrived have the digest " + digest})
	})
}

func (f *files) put(ctx context.Context, r io.Reader, limit int64, accept func(digest string) error) (Stored, error) {
	tmp, err := f.newTemporary()
	if err != nil {
		return Stored{}, unavailable("begin payload", err)
	}
	defer tmp.discard()

	digest, n, err := tmp.fill(ctx, r, limit)
	if err != nil {
		return Stored{}, err
	}
	if err := accept(digest); err != nil {
		return Stored{}, err
	}
	unlock := f.locks.lock(digest)
	defer unlock()
	if err := f.checkFolder(shardOf(digest)); err != nil {
		return Stored{}, unavailable("keep payload", err)
	}
	if size, err := f.verify(ctx, digest); err == nil && size == n {
		return f.keepHeld(digest, n)
	} else if ctx.Err() != nil {
		return Stored{}, fmt.Errorf("keep payload: %w", ctx.Err())
	}
	return f.keep(tmp, digest, n)
}

// keepHeld answers for bytes that another Put brought. Its name may not be
// durable yet, so the folder is synced here too; and the bytes count as put
// now, so that a sweep of orphans does not take them for old.
func (f *files) keepHeld(digest string, n int64) (Stored, error) {
	now := time.Now()
	if err := f.root.Chtimes(pathOf(digest), now, now); err != nil {
		return Stored{}, unavailable("touch payload", err)
	}
	if err := f.syncFolder(shardOf(digest)); err != nil {
		return Stored{}, unavailable("sync shard", err)
	}
	return Stored{SHA256: digest, Bytes: n, Existed: true}, nil
}

// keep gives a filled temporary file its name, over whatever unsound thing may
// stand there.
func (f *files) keep(tmp *temporaryFile, digest string, n int64) (Stored, error) {
	// A failed sync may have lost the pages and will not say so twice: the file
	// is given up, and whoever asked must bring the bytes again.
	if err := f.sync(tmp.file); err != nil {
		return Stored{}, unavailable("sync payload", err)
	}
	if err := tmp.file.Close(); err != nil {
		return Stored{}, unavailable("close payload", err)
	}
	if err := f.root.Rename(tmp.path, pathOf(digest)); err != nil {
		return Stored{}, unavailable("name payload", err)
	}
	tmp.kept = true
	if err := f.syncFolder(shardOf(digest)); err != nil {
		// For the same reason a name that may not be durable does not stay: a
		// later Put would find it, sync again, and be told that all is well.
		return Stored{}, unavailable("sync shard", errors.Join(err, f.root.Remove(pathOf(digest))))
	}
	return Stored{SHA256: digest, Bytes: n}, nil
}

// temporaryFile is a file that is being filled. Unless it is kept, discard
// removes it.
type temporaryFile struct {
	store *files
	file  *os.File
	path  string
	kept  bool
}

func (f *files) newTemporary() (*temporaryFile, error) {
	if err := f.checkFolder(temporary); err != nil {
		return nil, err
	}
	path := temporary + "/" + rand.Text()
	f.mu.Lock()
	f.writing[path] = true
	f.mu.Unlock()
	file, err := f.root.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		f.forget(path)
		return nil, err
	}
	return &temporaryFile{store: f, file: file, path: path}, nil
}

func (f *files) forget(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.writing, path)
}

func (t *temporaryFile) discard() {
	t.file.Close()
	if !t.kept {
		t.store.root.Remove(t.path) // what stays is swept later
	}
	t.store.forget(t.path)
}

// fill streams r into the file and its digest.
func (t *temporaryFile) fill(ctx context.Context, r io.Reader, limit int64) (digest string, n int64, err error) {
	h := sha256.New()
	// One byte more than allowed shows that there is more.
	in := &reader{ctx: ctx, r: io.LimitReader(r, min(limit, math.MaxInt64-1)+1)}
	n, err = io.Copy(io.MultiWriter(t.file, h), in)
	switch {
	case in.err != nil:
		return "", 0, fmt.Errorf("read payload: %w", in.err)
	case err != nil:
		return "", 0, unavailable("write payload", err)
	case n > limit:
		return "", 0, dlq.Errorf(dlq.KindTooLarge, "the payload is longer than the %d bytes that are taken", limit)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// reader tells an error of what is read from one of where it is written, and
// ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		r.err = err
		return 0, err
	}
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// Open implements Store.
func (f *files) Open(ctx context.Context, digest string) (io.ReadSeekCloser, int64, error) {
	file, size, err := f.openVerified(ctx, digest)
	if err != nil {
		return nil, 0, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		file.Close()
		return nil, 0, unavailable("rewind payload", err)
	}
	return file, size, nil
}

// Verify implements Store.
func (f *files) Verify(ctx context.Context, digest string) (int64, error) {
	if err := checkDigest(digest); err != nil {
		return 0, err
	}
	return f.verify(ctx, digest)
}

func (f *files) verify(ctx context.Context, digest string) (int64, error) {
	file, size, err := f.openVerified(ctx, digest)
	if err != nil {
		return 0, err
	}
	return size, file.Close()
}

// openVerified opens bytes and reads them to their end, so that what is handed
// out from the same open file has been checked.
func (f *files) openVerified(ctx context.Context, digest string) (*os.File, int64, error) {
	file, err := f.openHeld(digest)
	if err != nil {
		return nil, 0, err
	}
	h := sha256.New()
	in := &reader{ctx: ctx, r: file}
	n, err := io.Copy(h, in)
	if err != nil {
		file.Close()
		if ctx.Err() != nil {
			return nil, 0, fmt.Errorf("check payload: %w", ctx.Err())
		}
		return nil, 0, unavailable("check payload", err)
	}
	if hex.EncodeToString(h.Sum(nil)) != digest {
		file.Close()
		return nil, 0, corrupt()
	}
	return file, n, nil
}

// openHeld opens the file of a digest. Whatever stands there but a plain file,
// a link or a pipe, is damage.
func (f *files) openHeld(digest string) (*os.File, error) {
	// A Put may replace the file between the look at its name and the opening,
	// so there are two attempts; twice is no coincidence.
	for range 2 {
		info, err := f.lstat(digest)
		if err != nil {
			return nil, err
		}
		// O_NONBLOCK: should a pipe have taken its place by now, opening must not wait.
		file, err := f.root.OpenFile(pathOf(digest), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, notHeld()
		}
		if err != nil {
			return nil, unavailable("open payload", err)
		}
		opened, err := file.Stat()
		if err == nil && opened.Mode().IsRegular() && os.SameFile(info, opened) {
			return file, nil
		}
		file.Close()
	}
	return nil, corrupt()
}

// lstat looks at the name of a digest without following anything.
func (f *files) lstat(digest string) (fs.FileInfo, error) {
	if err := checkDigest(digest); err != nil {
		return nil, err
	}
	if err := f.checkFolder(shardOf(digest)); err != nil {
		return nil, unavailable("find payload", err)
	}
	info, err := f.root.Lstat(pathOf(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notHeld()
	}
	if err != nil {
		return nil, unavailable("find payload", err)
	}
	if !info.Mode().IsRegular() {
		return nil, corrupt()
	}
	return info, nil
}

// Stat implements Store.
func (f *files) Stat(_ context.Context, digest string) (int64, bool, error) {
	info, err := f.lstat(digest)
	if errors.Is(err, ErrNotHeld) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}

// unavailable is an error of the store itself; a full disk gets its own
// sentence. What the system said is for the log.
func unavailable(doing string, err error) error {
	sentence := "the payload store cannot do its work now"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		sentence = "the disk of the payload store is full"
	}
	return dlq.Errorf(dlq.KindUnavailable, "%s", sentence).Because(fmt.Errorf("%s: %w", doing, err))
}
