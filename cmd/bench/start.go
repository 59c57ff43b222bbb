package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	idleMost  = 60_000_000 // bytes of resident memory
	firstMost = time.Second
	idleAfter = 10 * time.Second // for the runtime to give back what starting took
)

type startBench struct {
	Dlo string `help:"The program to start; by default it is built first." placeholder:"PATH"`
}

// Run measures how long the server takes from its start on an empty folder to
// its first answer, and what it holds in memory when it idles.
func (b startBench) Run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "dlo-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if b.Dlo == "" {
		b.Dlo = filepath.Join(dir, "dlo")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.Dlo, "dlo/cmd/dlo").CombinedOutput(); err != nil {
			return fmt.Errorf("build dlo: %w: %s", err, out)
		}
	}
	cmd := exec.CommandContext(ctx, b.Dlo, "serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		err = errors.Join(err, cmd.Wait())
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the address: %w", err)
	}
	address := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	answer, err := http.Get(address + "/login")
	if err != nil {
		return err
	}
	first := time.Since(began)
	if err := answer.Body.Close(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(idleAfter):
	}
	resident, err := residentBytes(cmd.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("first answer %s after the start on an empty folder (at most %s)\n", first.Round(time.Millisecond), firstMost)
	fmt.Printf("idle, the server holds %.1f MB (at most %.0f MB)\n", float64(resident)/1e6, float64(idleMost)/1e6)
	if first > firstMost || resident > idleMost {
		return errors.New("start: above its bound")
	}
	return nil
}

// residentBytes reads what a process holds in memory, as Linux tells it.
func residentBytes(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the server's memory: %w", err)
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kib, err := strconv.ParseInt(strings.Fields(string(rest))[0], 10, 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("the system does not tell the server's memory")
}
