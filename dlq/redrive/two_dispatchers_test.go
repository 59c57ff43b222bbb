//go:build unix

package redrive_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/payload"
	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
)

// dispatcherOf tells a process of this test binary to be a second dispatcher on a
// data folder. Two servers never share one: a folder has a lock. That is why the
// second one is made here, beneath it.
const dispatcherOf = "DLO_TEST_DISPATCHER_OF"

// TestDispatcherOfItsOwnProcess is no test: it is the other process of
// TestChaosTwoDispatchers, and does one round.
func TestDispatcherOfItsOwnProcess(t *testing.T) {
	dir := os.Getenv(dispatcherOf)
	if dir == "" {
		t.Skip("the other process of another test")
	}
	stood := func() time.Time { return standTime } // it does not know how long it was stopped
	ctx := context.Background()
	store, err := db.Open(ctx, db.Options{Path: filepath.Join(dir, "dlo.db"), Key: make([]byte, 32), Clock: stood})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	payloads, err := payload.Open("file:" + filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer payloads.Close()
	r := redrive.NewRunner(redrive.Options{Store: store, Sender: webhook.New(&http.Client{}, stood), Payloads: payloads, Clock: stood, Owner: "the one that is stopped",
		Prober: probe.New(&http.Client{}, nil, stood, 1<<20), Reading: probe.Read, Report: func(err error) { fmt.Println("reported:", err) }})
	if _, err := r.RunOnce(ctx); err != nil {
		t.Fatal(err)
	}
	fmt.Println("the round is done")
}

// stopped is a dispatcher in a process of its own, which can be stopped and
// continued as a machine would that was suspended.
type stopped struct {
	t      *testing.T
	cmd    *exec.Cmd
	output strings.Builder
}

func (s *stand) otherDispatcher() *stopped {
	s.t.Helper()
	o := &stopped{t: s.t, cmd: exec.Command(os.Args[0], "-test.run=^TestDispatcherOfItsOwnProcess$", "-test.v")}
	o.cmd.Env = append(os.Environ(), dispatcherOf+"="+filepath.Dir(s.blobs))
	o.cmd.Stdout, o.cmd.Stderr = &o.output, &o.output
	s.must(o.cmd.Start())
	s.t.Cleanup(func() {
		_ = o.cmd.Process.Kill() // it has ended, if all went well
		_ = o.cmd.Wait()
	})
	return o
}

func (o *stopped) signal(sig syscall.Signal) {
	o.t.Helper()
	if err := o.cmd.Process.Signal(sig); err != nil {
		o.t.Fatal(err)
	}
}

// ends waits for its round to be over.
func (o *stopped) ends() {
	o.t.Helper()
	if err := o.cmd.Wait(); err != nil || !strings.Contains(o.output.String(), "the round is done") {
		o.t.Fatalf("the other dispatcher: %v\n%s", err, o.output.String())
	}
}

// TestChaosTwoDispatchers has two dispatchers over one database. One is stopped in
// the middle of a delivery, past its lease; the other takes the redrive over and
// finishes it; the first is continued and gets an answer at last. Whatever that
// says, it changes nothing, and the document has one effect.
func TestChaosTwoDispatchers(t *testing.T) {
	for name, late := range map[string]http.HandlerFunc{
		"taken":             answer(202, ""),
		"committed":         answer(200, `{"result":"committed"}`),
		"committed already": answer(409, ""),
		"refused":           answer(404, "no such route"),
		"gone":              answer(410, ""),
		"fails":             answer(503, "", "Retry-After", "1"),
		"broken off":        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"redirected":        answer(302, "", "Location", "http://127.0.0.1:1/"),
	} {
		for _, reported := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, reported %t", name, reported), func(t *testing.T) {
				s := newStand(t)
				id := s.park("1", "one", "")
				o := s.start(id)
				var mu sync.Mutex
				effects := map[string]int{} // the pipeline's: one a key
				first, let := make(chan struct{}), make(chan struct{})
				s.target.answers(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					isFirst := len(effects) == 0
					effects[r.Header.Get("Idempotency-Key")] = 1
					mu.Unlock()
					if !isFirst {
						w.WriteHeader(202)
						return
					}
					close(first)
					<-let
					late(w, r)
				})
				other := s.otherDispatcher()
				awaits(t, first, "the first delivery")
				other.signal(syscall.SIGSTOP)
				s.clock.advance(2 * time.Minute)
				s.run()
				if got := s.target.got(); len(got) != 2 || got[0].header.Get("webhook-id") != got[1].header.Get("webhook-id") {
					t.Fatalf("%d deliveries; want a second under the same id", len(got))
				}
				if reported {
					s.report(`{"redrive_id":%q,"result":"committed","parser_version":"2.4.2"}`, s.redrive(id).ID)
				}
				before, entry, operation := s.redrive(id), s.entry(id), s.operation(o.ID)
				if before.LeaseEpoch != 2 || before.State == dlq.RedriveClaimed {
					t.Fatalf("it was not taken over: %+v", before)
				}

				other.signal(syscall.SIGCONT)
				close(let)
				other.ends()

				after := s.redrive(id)
				if says := name == "committed" || name == "committed already"; says && !reported {
					// What a pipeline says of a commit is true whoever hears it.
					if after.State != dlq.RedriveSettled || s.status(id) != dlq.StatusResolved {
						t.Errorf("told of a commit, and the redrive is %s, the entry %s", after.State, s.status(id))
					}
				} else {
					before.Late, after.Late = "", ""
					if fmt.Sprintf("%+v", after) != fmt.Sprintf("%+v", before) {
						t.Errorf("the one that was stopped changed\n%+v to\n%+v", before, after)
					}
					if now := s.entry(id); now.Status != entry.Status || now.RedrivesTotal != 1 {
						t.Errorf("entry %s after %d redrives, was %s", now.Status, now.RedrivesTotal, entry.Status)
					}
					if now := s.operation(o.ID); now.State != operation.State {
						t.Errorf("operation %s, was %s", now.State, operation.State)
					}
				}
				s.run()
				if n := len(s.target.got()); n != 2 || len(effects) != 1 {
					t.Errorf("%d deliveries, %d effects", n, len(effects))
				}
			})
		}
	}
}

// TestADispatcherThatWakesUpLateSendsNothing stops the dispatcher before its send,
// while it asks the source.
func TestADispatcherThatWakesUpLateSendsNothing(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", `{"source_version":"\"v1\""}`)
	asked, let := make(chan struct{}), make(chan struct{})
	s.withSource(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-let
		answer(200, "", "ETag", `"v1"`)(w, r)
	})
	s.o.Prober = nil // of ours: the one that takes over need not ask
	s.start(id)
	other := s.otherDispatcher()
	awaits(t, asked, "the question to the source")
	other.signal(syscall.SIGSTOP)
	s.clock.advance(2 * time.Minute)
	s.run()
	before := s.redrive(id)
	other.signal(syscall.SIGCONT)
	close(let)
	other.ends()
	if n := len(s.target.got()); n != 1 {
		t.Errorf("%d deliveries, of which one came too late", n)
	}
	if after := s.redrive(id); fmt.Sprintf("%+v", after) != fmt.Sprintf("%+v", before) {
		t.Errorf("the one that woke up late changed\n%+v to\n%+v", before, after)
	}
}

func awaits(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s never came", what)
	}
}
