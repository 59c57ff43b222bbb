package main

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dlo/connectors/payload"
	"dlo/db"
)

// stores are the opened data folder.
type stores struct {
	db       *db.Store
	payloads payload.Store
	linkKey  []byte
	unlock   func() error // of the lock that serve, demo and check --repair hold
}

// errLocked says that another process serves from the folder.
var errLocked = errors.New("another dlo serves from this data folder; stop it first")

// open opens database and payloads, and makes them where they are not there.
// With exclusive it takes the folder's lock, which only one process can hold;
// the others work beside it.
func (f dataFlags) open(ctx context.Context, exclusive, noMigrate bool) (_ *stores, err error) {
	if err := os.MkdirAll(f.Data, 0o700); err != nil {
		return nil, fmt.Errorf("--data %q: %w", f.Data, err)
	}
	s := &stores{unlock: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if exclusive {
		if s.unlock, err = lockFolder(filepath.Join(f.Data, "LOCK")); err != nil {
			s.unlock = func() error { return nil }
			return nil, err
		}
	}
	key, err := folderKey(filepath.Join(f.Data, "KEY"))
	if err != nil {
		return nil, err
	}
	sealKey, err := hkdf.Key(sha256.New, key, nil, "dlo secrets of sources", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	if s.linkKey, err = hkdf.Key(sha256.New, key, nil, "dlo payload links", 32); err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	path, err := f.databasePath()
	if err != nil {
		return nil, err
	}
	if s.payloads, err = payload.Open(f.payloadURL()); err != nil {
		return nil, fmt.Errorf("--payloads %q: %w", f.payloadURL(), err)
	}
	if s.db, err = db.Open(ctx, db.Options{Path: path, Key: sealKey, Clock: time.Now, NoMigrate: noMigrate}); err != nil {
		return nil, err
	}
	return s, nil
}

// openExisting is open for whatever would make no sense on a new folder: a typo
// in --data must not be answered from an empty database.
func (f dataFlags) openExisting(ctx context.Context, exclusive bool) (*stores, error) {
	path, err := f.databasePath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no database at %s; dlo serve or dlo migrate makes one, and --data says where it is", path)
	} else if err != nil {
		return nil, fmt.Errorf("--data %q: %w", f.Data, err)
	}
	return f.open(ctx, exclusive, true)
}

// Close closes what was opened, in the order that loses nothing.
func (s *stores) Close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.payloads != nil {
		errs = append(errs, s.payloads.Close())
	}
	return errors.Join(append(errs, s.unlock())...)
}

// folderKey reads the key of a data folder, and makes it the first time. It
// seals the secrets of sources and signs payload links; a backup without it
// cannot read those secrets.
func folderKey(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		key, err := hex.DecodeString(strings.TrimSpace(string(b)))
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("%s: 64 hex digits expected", path)
		}
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the key of the data folder: %w", err)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // crypto/rand.Read never returns an error
	file, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return nil, fmt.Errorf("make the key of the data folder: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, fmt.Errorf("make the key of the data folder: %w", err)
	}
	// A link fails where the name is taken: of two that start at once, one wins
	// and the other reads what it wrote.
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the key of the data folder: %w", err)
	}
	return folderKey(path)
}
