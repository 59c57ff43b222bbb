package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The binaries, built once for all tests.
var dloBinary, pipelineBinary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dlo-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	dloBinary, pipelineBinary = filepath.Join(dir, "dlo"), filepath.Join(dir, "samplepipeline")
	for binary, pkg := range map[string]string{dloBinary: "dlo/cmd/dlo", pipelineBinary: "dlo/cmd/samplepipeline"} {
		build := exec.Command("go", "build", "-trimpath", "-o", binary, pkg) // traces of the sample pipeline show no path of this machine
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n", pkg, err)
			return 1
		}
	}
	defer endShared()
	return m.Run()
}

// process is a program that a test started.
type process struct {
	cmd     *exec.Cmd
	address string // http://host:port, as it printed it
	output  *lines
	stderr  *lockedBuffer
	exited  chan struct{}
	err     error
}

// start starts a program and waits for the line that begins with prefix and
// ends with its address.
func start(t *testing.T, prefix string, env []string, name string, args ...string) *process {
	t.Helper()
	p, err := tryStart(prefix, env, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

const startTime = 60 * time.Second

// tryStart is start for a program that outlives a test; whoever starts it kills
// it.
func tryStart(prefix string, env []string, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), exited: make(chan struct{}), output: newLines(), stderr: &lockedBuffer{}}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			p.output.add(scanner.Text())
		}
		p.output.close()
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	line, ok := p.output.waitFor(prefix, startTime)
	if !ok {
		p.kill()
		return nil, fmt.Errorf("%s %s did not print %q; stderr:\n%s", filepath.Base(name), strings.Join(args, " "), prefix, p.stderr.String())
	}
	p.address = strings.TrimPrefix(line, prefix)
	return p, nil
}

// kill ends the program with SIGKILL, as a crash would, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// terminate ends the program as an operator would, and answers its exit code.
func (p *process) terminate() int {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.exited
	return p.cmd.ProcessState.ExitCode()
}

// lines gathers what a program prints.
type lines struct {
	mu     sync.Mutex
	all    []string
	closed bool
	news   chan struct{}
}

func newLines() *lines { return &lines{news: make(chan struct{})} }

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
	close(l.news)
	l.news = make(chan struct{})
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.news)
}

func (l *lines) waitFor(prefix string, most time.Duration) (string, bool) {
	deadline := time.After(most)
	for {
		l.mu.Lock()
		for _, s := range l.all {
			if strings.HasPrefix(s, prefix) {
				l.mu.Unlock()
				return s, true
			}
		}
		closed, news := l.closed, l.news
		l.mu.Unlock()
		if closed {
			return "", false
		}
		select {
		case <-news:
		case <-deadline:
			return "", false
		}
	}
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const listening = "listening on "

// dlo runs a subcommand to its end and gives what it printed.
func dlo(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, code := dloCode(t, stdin, args...)
	if code != 0 {
		t.Fatalf("dlo %s ended with %d:\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

func dloCode(t *testing.T, stdin string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(dloBinary, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// newToken makes a token in a data folder.
func newToken(t *testing.T, data, name, scopes string) string {
	t.Helper()
	out := strings.TrimSpace(dlo(t, "", "token", "create", name, "--scope", scopes, "--data", data))
	return out[strings.LastIndexByte(out, '\n')+1:]
}

// freePort gives a port that nobody listens on now, for a server that must come
// back at the same address.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// api calls the HTTP API as a program does.
type api struct {
	t     *testing.T
	base  string
	token string
	http  *http.Client
}

func newAPI(t *testing.T, address, token string) *api {
	return &api{t, address + "/api/v1", token, &http.Client{Timeout: 30 * time.Second}}
}

// call sends JSON and reads JSON; into may be nil.
func (a *api) call(method, path string, body, into any) (int, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, a.base+path, r)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, err
	}
	if into != nil && res.StatusCode < 300 {
		if err := json.Unmarshal(b, into); err != nil {
			return res.StatusCode, fmt.Errorf("%s %s: %w: %s", method, path, err, b)
		}
	}
	if res.StatusCode >= 300 {
		return res.StatusCode, fmt.Errorf("%s %s answered %d: %s", method, path, res.StatusCode, b)
	}
	return res.StatusCode, nil
}

// must is call where anything but success ends the test.
func (a *api) must(method, path string, body, into any) {
	a.t.Helper()
	if _, err := a.call(method, path, body, into); err != nil {
		a.t.Fatal(err)
	}
}

// getJSON reads JSON from a program that asks for no token.
func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s answered %d", url, res.StatusCode)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func postJSON(t *testing.T, url string, body, into any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(url, "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		t.Fatalf("POST %s answered %d: %s", url, res.StatusCode, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			t.Fatal(err)
		}
	}
}

// eventually asks until the answer is yes. It looks again often and gives up
// late; how long a thing takes is nowhere asserted.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	eventuallyWithin(t, 90*time.Second, what, ask)
}

// eventuallyWithin is eventually for what is known to take long.
func eventuallyWithin(t *testing.T, most time.Duration, what string, ask func() bool) {
	t.Helper()
	deadline := time.Now().Add(most)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
		<-tick.C
	}
}
