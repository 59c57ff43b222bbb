//go:build linux && !race

package pipeline

import (
	"fmt"
	"syscall"
)

// rlimitData is RLIMIT_DATA, which package syscall does not name. It bounds what
// a process may write to; the addresses that a Go program only reserves do not
// count.
const rlimitData = 2

// limitMemory makes the system refuse this process more than so many bytes. The
// runtime then ends the program at once: nothing can recover, and nothing is left
// to say what it was doing.
func limitMemory(bytes int64) error {
	limit := syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	if err := syscall.Setrlimit(rlimitData, &limit); err != nil {
		return fmt.Errorf("limit the worker's memory: %w", err)
	}
	return nil
}
