package redrive_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

// running starts a runner, and gives what stops it and waits.
func (s *stand) running() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.o.Poll = time.Millisecond
	r := redrive.NewRunner(s.o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func TestRunnerThatIsKilledInTheMiddleIsContinuedUnderTheSameID(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	s.start(id)
	// Killed between the send and its record: all that is left is a lease.
	claimed, err := s.store.ClaimRedrives(s.ctx, "wiki", "killed", time.Minute, 10)
	s.must(err)
	killed := claimed[0]
	killed.Sent, killed.PayloadSHA256 = dlq.ModeHeld, digest("one")
	if ok, err := s.store.BeginDelivery(s.ctx, killed); err != nil || !ok {
		t.Fatal(ok, err)
	}
	s.run()
	if n := len(s.target.got()); n != 0 {
		t.Fatalf("%d deliveries under somebody's lease", n)
	}
	s.clock.advance(time.Minute)
	s.run()
	got := s.target.got()
	if len(got) != 1 || got[0].header.Get("webhook-id") != killed.ID || got[0].text("mode") != "held" {
		t.Fatalf("continued with %v", got)
	}
	if r := s.redrive(id); r.State != dlq.RedriveDelivered || r.Deliveries != 2 {
		t.Errorf("redrive %s after %d deliveries", r.State, r.Deliveries)
	}
}

func TestStaleLeaseChangesNothing(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	o := s.start(id)
	claimed, err := s.store.ClaimRedrives(s.ctx, "wiki", "slow", time.Minute, 10)
	s.must(err)
	stale := claimed[0]
	s.clock.advance(2 * time.Minute)
	s.run()
	before := s.redrive(id)
	if before.State != dlq.RedriveDelivered {
		t.Fatalf("redrive %s", before.State)
	}
	if ok, err := s.store.BeginDelivery(s.ctx, stale); err != nil || ok {
		t.Errorf("it may send: %v, %v", ok, err)
	}
	s.must(s.store.DeliveryFailed(s.ctx, stale, 503, "late", "late", s.clock.Now()))
	s.must(s.store.Undelivered(s.ctx, stale, 404, "late", "late"))
	s.must(s.store.LeaveOut(s.ctx, stale, dlq.LeftGoneAtSource))
	s.must(s.store.TargetGone(s.ctx, stale, 410, "late"))
	s.must(s.store.DeliveryTaken(s.ctx, stale, 299, "", ""))
	after := s.redrive(id)
	if after.State != before.State || after.LastStatus != before.LastStatus || after.LastError != "" || !after.DueAt.Equal(before.DueAt) || after.LeaseEpoch != before.LeaseEpoch {
		t.Errorf("a stale lease changed\n%+v to\n%+v", before, after)
	}
	if s.status(id) != dlq.StatusRedriving || s.operation(o.ID).State != dlq.OperationRunning {
		t.Errorf("entry %s, operation %s", s.status(id), s.operation(o.ID).State)
	}
}

func TestOutcomeMayComeBeforeItsDispatchIsRecorded(t *testing.T) {
	for _, late := range []int{202, 503, 404, 410} {
		s := newStand(t)
		id := s.park("1", "one", "")
		o := s.start(id)
		s.target.answers(func(w http.ResponseWriter, r *http.Request) {
			_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"redrive_id":"`+r.Header.Get("Webhook-Id")+`","result":"committed","parser_version":"2.4.2"}`))
			if err != nil {
				t.Error(err)
			}
			w.WriteHeader(late)
		})
		s.run()
		r, e := s.redrive(id), s.entry(id)
		if e.Status != dlq.StatusResolved || r.Outcome != dlq.OutcomeCommitted || s.operation(o.ID).State != dlq.OperationDone {
			t.Errorf("answered %d after its outcome: entry %s, redrive %q, operation %s", late, e.Status, r.Outcome, s.operation(o.ID).State)
		}
		if n := len(s.target.got()); n != 1 {
			t.Errorf("answered %d after its outcome: sent %d times", late, n)
		}
	}
}

func TestStopCutsOffASendAndTheNextStartRepeatsIt(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	s.start(id)
	h := s.holdAnswers()
	defer close(h.let)
	stop := s.running()
	h.wait(t, 1)
	stop()
	if r := s.redrive(id); r.State != dlq.RedrivePending || s.status(id) != dlq.StatusRedriving {
		t.Fatalf("redrive %s, entry %s", r.State, s.status(id))
	}
	s.target.answers(answer(202, ""))
	s.run()
	got := s.target.got()
	if len(got) != 2 || got[0].header.Get("webhook-id") != got[1].header.Get("webhook-id") || s.redrive(id).State != dlq.RedriveDelivered {
		t.Errorf("%d deliveries, redrive %s", len(got), s.redrive(id).State)
	}
}

func TestStopLetsASendFinishWithinItsGrace(t *testing.T) {
	s := newStand(t)
	s.o.Grace = time.Minute
	id := s.park("1", "one", "")
	s.start(id)
	h := s.holdAnswers()
	stop := s.running()
	h.wait(t, 1)
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	close(h.let)
	<-stopped
	if r := s.redrive(id); r.State != dlq.RedriveDelivered {
		t.Errorf("redrive %s", r.State)
	}
}

func TestStopBeforeTheSendGivesTheLeaseBack(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	s.start(id)
	asked, let := make(chan struct{}), make(chan struct{})
	s.withSource(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-let
	})
	defer close(let)
	stop := s.running()
	<-asked
	stop()
	r := s.redrive(id)
	if r.State != dlq.RedrivePending || r.Deliveries != 0 || len(s.target.got()) != 0 {
		t.Errorf("redrive %s after %d deliveries", r.State, r.Deliveries)
	}
	if r.NextAt.After(s.clock.Now()) || r.LastError != "" {
		t.Errorf("the stop is held against it: next at %s, %q", r.NextAt, r.LastError)
	}
}

func TestCancelledWhileItIsAskedForIsNotSent(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", `{"source_version":"\"v1\""}`)
	o := s.start(id)
	s.withSource(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationCancelled, "wrong cohort"); err != nil {
			t.Error(err)
		}
		answer(200, "", "ETag", `"v1"`)(w, r)
	})
	s.run()
	if n := len(s.target.got()); n != 0 {
		t.Errorf("%d deliveries of a cancelled operation", n)
	}
	if r := s.redrive(id); r.State != dlq.RedrivePending {
		t.Errorf("its lease was not given back: %s", r.State)
	}
}

func TestRunnerGoesOnAfterAnOperationWasStarted(t *testing.T) {
	s := newStand(t)
	came := make(chan struct{}, 10)
	s.target.answers(func(w http.ResponseWriter, _ *http.Request) {
		came <- struct{}{}
		w.WriteHeader(202)
	})
	s.o.Poll = time.Hour // only a wake-up can be what makes it look
	r := redrive.NewRunner(s.o)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	p := s.planner()
	p.Wake = r.Wake
	id := s.park("1", "one", "")
	_, err := p.Start(s.ctx, reviewer, redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{id}, Expect: redrive.NotSaid, Reason: "r"})
	s.must(err)
	select {
	case <-came:
	case <-time.After(10 * time.Second):
		t.Error("nobody woke the runner")
	}
	cancel()
	<-done
}
