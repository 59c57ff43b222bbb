package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// memorySetting is how much memory a worker has.
type memorySetting struct {
	Name string `json:"name"` // small or large, as /control says it
	MiB  int64  `json:"mib"`
}

// small is plenty for a document as it should be. large is enough for every
// document of the demo; no worker ever gets more.
var memorySettings = []memorySetting{{"small", 192}, {"large", 768}}

func memoryNamed(name string) (memorySetting, error) {
	for _, m := range memorySettings {
		if m.Name == name {
			return m, nil
		}
	}
	return memorySetting{}, fmt.Errorf("memory %q is not known: small or large expected", name)
}

// version is the setting as the version of a component.
func (m memorySetting) version() string { return fmt.Sprintf("%dMiB", m.MiB) }

// answerTime is how long a worker may take. One that takes longer is killed
// before its delivery times out, so that no two work on one message.
const answerTime = visibility - 5*time.Second

var (
	errWorkerDied = errors.New("the worker ended without an answer")
	errNoWorker   = errors.New("the worker had ended before it was given work")
)

// workerProcess is a worker that runs as a process of its own, started when it
// is needed and again after it died. One goroutine uses it.
type workerProcess struct {
	command []string
	hello   hello

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	memory int64
}

// pid gives the process id, 0 if none runs.
func (w *workerProcess) pid() int {
	if w.cmd == nil {
		return 0
	}
	return w.cmd.Process.Pid
}

// ready starts the process unless it runs with that much memory.
func (w *workerProcess) ready(memory int64) error {
	if w.cmd != nil && w.memory == memory {
		return nil
	}
	w.stop()
	cmd := exec.Command(w.command[0], w.command[1:]...)
	// What a dying process writes is lost, as it would be if the system killed it.
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	w.cmd, w.in, w.out, w.memory = cmd, in, out, memory
	w.hello.Memory = memory
	if err := writeFrame(in, w.hello); err != nil {
		w.stop()
		return fmt.Errorf("start a worker: %w", err)
	}
	return nil
}

// call gives a job to the worker, and waits for its answer. errWorkerDied means
// that none comes: the process ended, or took too long and was killed. When the
// context ends, it is killed too. errNoWorker means that it never had the job.
func (w *workerProcess) call(ctx context.Context, j job) (answer, error) {
	within, done := context.WithTimeout(ctx, answerTime)
	defer done()
	kill := context.AfterFunc(within, func() { _ = w.cmd.Process.Kill() }) // it may have ended by itself
	var a answer
	if err := writeFrame(w.in, j); err != nil {
		kill()
		w.stop()
		return answer{}, errNoWorker
	}
	err := readFrame(w.out, &a)
	if err == nil && kill() {
		return a, nil
	}
	kill()
	w.stop()
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	if err == nil {
		return a, nil // the answer was quicker than the kill
	}
	return answer{}, errWorkerDied
}

// stop ends the process, if one runs, and waits for its end.
func (w *workerProcess) stop() {
	if w.cmd == nil {
		return
	}
	_ = w.in.Close()         // it ends by itself then,
	_ = w.cmd.Process.Kill() // and at once now
	_ = w.cmd.Wait()         // its end is no news: whoever stops it knows why
	w.cmd, w.in, w.out = nil, nil, nil
}
