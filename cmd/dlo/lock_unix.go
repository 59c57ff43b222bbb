//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFolder takes the lock of a data folder. The system frees it when the
// process ends, however it ends.
func lockFolder(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(errLocked, f.Close())
		}
		return nil, errors.Join(fmt.Errorf("lock the data folder: %w", err), f.Close())
	}
	return f.Close, nil
}
