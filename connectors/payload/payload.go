// Package payload keeps the original bytes of documents, each under its
// SHA-256, so that equal bytes are held once and every read can be checked. It
// knows nothing of entries: who holds which bytes, and when they may go, is
// decided by its callers.
package payload

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"dlo/dlq"
)

var (
	// ErrCorrupt is in the chain of an error about bytes that no longer have
	// the digest under which they are held. Its kind is KindConflict.
	ErrCorrupt = errors.New("payload corrupt")
	// ErrNotHeld is in the chain of an error about bytes that are not in the
	// store. Its kind is KindNotFound.
	ErrNotHeld = errors.New("payload not held")
)

// Stored is what a Put came to.
type Stored = dlq.StoredPayload

// Store holds bytes by digest. Digests are 64 lower-case hex digits; anything
// else is KindInvalid and touches nothing. A store that cannot do its work now,
// a full disk included, answers KindUnavailable. It is safe for concurrent use.
type Store interface {
	// Put reads to the end of r, and returns only when the bytes are durable.
	// More than limit bytes: KindTooLarge. An error of r itself is wrapped as
	// it is. In either case nothing is left behind. Bytes that are held already
	// are checked, and replaced if they are not sound.
	Put(ctx context.Context, r io.Reader, limit int64) (Stored, error)
	// PutExpecting is Put for bytes whose digest was announced. Others:
	// KindInvalid with a fault at /payload_sha256, and nothing is kept.
	PutExpecting(ctx context.Context, r io.Reader, sha256 string, limit int64) (Stored, error)

	// Open gives bytes that were read to their end and checked before the first
	// of them is handed out; the price is that they are read twice. ErrNotHeld,
	// ErrCorrupt. The caller closes.
	Open(ctx context.Context, sha256 string) (r io.ReadSeekCloser, size int64, err error)
	// Verify checks bytes as Open does, and gives their size.
	Verify(ctx context.Context, sha256 string) (size int64, err error)
	// Stat says whether bytes are held, unchecked.
	Stat(ctx context.Context, sha256 string) (size int64, ok bool, err error)

	// Renew is Stat for whoever is about to record that the bytes are held: they
	// count as put now, so that a sweep does not take them before that is done.
	Renew(ctx context.Context, sha256 string) (size int64, ok bool, err error)

	// Remove lets bytes go; if they are not held, it has nothing to do.
	Remove(ctx context.Context, sha256 string) error
	// RemoveIdle lets bytes go unless they were put again at or after the given
	// time. An orphan's sweep uses it: between its look at the references and
	// the removal, the same bytes may have been put for a new entry. Gone says
	// that nothing is held any more, whoever removed it.
	RemoveIdle(ctx context.Context, sha256 string, since time.Time) (gone bool, err error)

	// Each calls f for all that is held, in no order, with the time it was last
	// put. An error of f ends it and is returned as it is.
	Each(ctx context.Context, f func(sha256 string, size int64, put time.Time) error) error
	// SweepTemporary removes what broken-off Puts left before the given time.
	SweepTemporary(ctx context.Context, olderThan time.Time) (removed int, err error)
	// Ping writes, syncs, reads and removes a few bytes.
	Ping(ctx context.Context) error

	Close() error
}

// Open opens the store at a URL: file:DIR is a folder, made where it is absent.
func Open(rawURL string) (Store, error) {
	scheme, rest, ok := strings.Cut(rawURL, ":")
	if !ok {
		return nil, dlq.Errorf(dlq.KindInvalid, "a payload store such as file:DIR expected, got %q", rawURL)
	}
	switch scheme {
	case "file":
		dir, err := folderOf(rest)
		if err != nil {
			return nil, err
		}
		return openFiles(dir)
	}
	return nil, dlq.Errorf(dlq.KindInvalid, "payload stores of the scheme %q are not known to this version; file:DIR expected", scheme)
}

// folderOf reads what follows file: as a path, or as the path of a URL on this
// machine (file:///var/lib/…).
func folderOf(rest string) (string, error) {
	if host, path, ok := strings.Cut(strings.TrimPrefix(rest, "//"), "/"); ok && strings.HasPrefix(rest, "//") {
		if host != "" && host != "localhost" {
			return "", dlq.Errorf(dlq.KindInvalid, "a payload store on this machine expected, got one on %q", host)
		}
		rest = "/" + path
	}
	if rest == "" || strings.HasPrefix(rest, "//") || strings.ContainsRune(rest, 0) {
		return "", dlq.Errorf(dlq.KindInvalid, "a folder expected after file:")
	}
	return rest, nil
}

// checkDigest refuses whatever could be anything but the name of bytes.
func checkDigest(sha256 string) error {
	if isDigest(sha256) {
		return nil
	}
	return dlq.Invalid("not the digest of a payload", dlq.Fault{Pointer: "/payload_sha256", Detail: "64 lower-case hex digits expected"})
}

func isDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

func notHeld() error {
	return dlq.Errorf(dlq.KindNotFound, "the bytes are not held here").Because(ErrNotHeld)
}

func corrupt() error {
	return dlq.Errorf(dlq.KindConflict, "the stored copy is damaged and is not handed out; the source may still have the document").Because(ErrCorrupt)
}
