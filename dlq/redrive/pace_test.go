package redrive_test

import (
	"net/http"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

// held is a target that answers nothing until it is told to, and says which
// deliveries have come.
type held struct {
	came chan string
	let  chan struct{}
}

func (s *stand) holdAnswers() held {
	h := held{came: make(chan string, 100), let: make(chan struct{})}
	s.target.answers(func(w http.ResponseWriter, r *http.Request) {
		h.came <- r.Header.Get("Webhook-Id")
		<-h.let
		w.WriteHeader(202)
	})
	return h
}

func (h held) wait(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		select {
		case <-h.came:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d deliveries came, of %d", i, n)
		}
	}
}

// none says that no further delivery came.
func (h held) none(t *testing.T) {
	t.Helper()
	select {
	case <-h.came:
		t.Error("one delivery too many")
	default:
	}
}

func TestConcurrencyCountsRedrivesWithoutAnOutcome(t *testing.T) {
	s := newStand(t)
	s.policy.Redrive.Concurrency = 3
	s.put(s.policy)
	ids := s.parkMany(5)
	s.start(ids...)
	s.run()
	if n := len(s.target.got()); n != 3 {
		t.Fatalf("%d deliveries", n)
	}
	_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"redrive_id":"`+s.target.got()[0].text("redrive_id")+`","result":"committed"}`))
	s.must(err)
	s.run()
	if n := len(s.target.got()); n != 4 {
		t.Errorf("%d deliveries after one outcome", n)
	}
}

func TestOperationWithAConcurrencyOfItsOwnKeepsToIt(t *testing.T) {
	s := newStand(t)
	ids := s.parkMany(5)
	o := s.ask(redrive.Request{Entries: ids, Concurrency: 2})
	if o.Counts[dlq.ItemInFlight] != 2 {
		t.Fatalf("the first step: %v", o.Counts)
	}
	s.run()
	if n := len(s.target.got()); n != 2 {
		t.Fatalf("%d deliveries", n)
	}
	_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"redrive_id":"`+s.target.got()[0].text("redrive_id")+`","result":"committed"}`))
	s.must(err)
	s.run()
	if n := len(s.target.got()); n != 3 {
		t.Errorf("%d deliveries after one outcome", n)
	}
}

func TestRateBoundsSends(t *testing.T) {
	for name, ask := range map[string]func(*stand, []string){
		"of the source": func(s *stand, ids []string) {
			s.policy.Redrive.Rate = 2
			s.put(s.policy)
			s.start(ids...)
		},
		"of the operation": func(s *stand, ids []string) { s.ask(redrive.Request{Entries: ids, Rate: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			ask(s, s.parkMany(6))
			// One runner throughout: what was sent a moment ago counts.
			r := redrive.NewRunner(s.o)
			for _, want := range []int{1, 2, 3, 4} {
				for {
					did, err := r.RunOnce(s.ctx)
					s.must(err)
					if did == 0 {
						break
					}
				}
				if n := len(s.target.got()); n != want {
					t.Fatalf("%d deliveries, want %d", n, want)
				}
				s.clock.advance(500 * time.Millisecond)
			}
		})
	}
}

func TestOneHostIsNotOverrunByManySources(t *testing.T) {
	s := newStand(t)
	s.o.MaxHost = 3
	leases := s.policy
	leases.Name = "leases"
	s.put(leases)
	ids := append(s.parkMany(4), s.park("l1", "l1", `{"source":"leases"}`), s.park("l2", "l2", `{"source":"leases"}`))
	s.start(ids...)
	h := s.holdAnswers()
	done := make(chan error)
	go func() {
		_, err := redrive.NewRunner(s.o).RunOnce(s.ctx)
		done <- err
	}()
	h.wait(t, 3)
	h.none(t)
	close(h.let)
	s.must(<-done)
	if n := len(s.target.got()); n != 3 {
		t.Errorf("%d deliveries in one round", n)
	}
}

func TestSlowTargetHoldsUpNoOther(t *testing.T) {
	s := newStand(t)
	s.o.Grace = time.Minute
	quick := newTarget(t)
	leases := s.policy
	leases.Name, leases.Redrive.URL = "leases", quick.URL
	s.put(leases)
	slow := s.park("slow", "slow", "")
	prompt := s.park("prompt", "prompt", `{"source":"leases"}`)
	h := s.holdAnswers()
	quickCame := make(chan struct{}, 1)
	quick.answers(func(w http.ResponseWriter, _ *http.Request) {
		quickCame <- struct{}{}
		w.WriteHeader(202)
	})
	stop := s.running()
	s.start(slow)
	h.wait(t, 1)
	s.start(prompt)
	select {
	case <-quickCame:
	case <-time.After(10 * time.Second):
		t.Fatal("the quick target waits for the slow one")
	}
	close(h.let)
	stop()
	for _, id := range []string{slow, prompt} {
		if r := s.redrive(id); r.State != dlq.RedriveDelivered {
			t.Errorf("%s is %s", r.DocID, r.State)
		}
	}
}

func TestPausedSourceSendsNothing(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	s.start(id)
	_, err := s.store.PauseSource(s.ctx, reviewer, "wiki", true, "the index is being rebuilt")
	s.must(err)
	s.run()
	if n := len(s.target.got()); n != 0 {
		t.Fatalf("%d deliveries", n)
	}
	_, err = s.store.PauseSource(s.ctx, reviewer, "wiki", false, "done")
	s.must(err)
	s.run()
	if n := len(s.target.got()); n != 1 {
		t.Errorf("%d deliveries after the pause", n)
	}
}

func TestConcurrencyBoundsWhatAHostHasOnItsHands(t *testing.T) {
	s := newStand(t)
	s.policy.Redrive.Concurrency = 3
	s.put(s.policy)
	other := s.policy
	other.Name = "leases"
	s.put(other)
	ids := append(s.parkMany(4), s.arrive("a", "a", false, `{"source":"leases"}`), s.arrive("b", "b", false, `{"source":"leases"}`))
	s.start(ids...)
	s.run()
	if n := len(s.target.got()); n != 3 {
		t.Fatalf("one host has %d redrives without an outcome, want 3 over both sources", n)
	}
	_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"redrive_id":"`+s.target.got()[0].text("redrive_id")+`","result":"committed"}`))
	s.must(err)
	s.run()
	if n := len(s.target.got()); n != 4 {
		t.Errorf("%d deliveries after one outcome", n)
	}
}
