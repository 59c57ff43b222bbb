package db_test

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// begun asks for a redrive of so many entries, and brings all of them to where
// their target has been asked.
func begun(t *testing.T, s *dbtest.DB, docs ...string) (dlq.Operation, []dlq.Redrive) {
	t.Helper()
	var ids []string
	for _, doc := range docs {
		ids = append(ids, s.Park(t, dlqtest.Doc(doc), dlqtest.Held(doc)).DLQID)
	}
	o := ask(t, s, ids...)
	list, err := s.ClaimRedrives(background, "wiki", "test", time.Minute, len(docs))
	if err != nil || len(list) != len(docs) {
		t.Fatalf("%d deliveries are due, want %d: %v", len(list), len(docs), err)
	}
	for i := range list {
		list[i].Sent, list[i].PayloadSHA256 = dlq.ModeHeld, s.Entry(t, list[i].DLQID).HeldSHA256
		if ok, err := s.BeginDelivery(background, list[i]); err != nil || !ok {
			t.Fatalf("begin delivery: %v, %v", ok, err)
		}
	}
	return o, list
}

// What is counted once a batch is written early for a job that asks how an
// operation stands. If that one fails, it takes its own back and not the batch's.
func TestCountsOfABatchOutliveAJobThatFails(t *testing.T) {
	s := withTarget(t)
	o, list := begun(t, s, "1", "2")
	committed := func(r dlq.Redrive) func() error {
		return func() error {
			return s.DeliverySettled(background, dlqtest.Pipeline, r, 200, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted, At: s.Now(), Told: true}, nil)
		}
	}
	errs := together(t, s, committed(list[0]), func() error {
		_, err := s.NextStep(background, dlqtest.Reviewer, o.ID, false, "", 10)
		return err
	}, committed(list[1]))
	if errs[0] != nil || dlq.KindOf(errs[1]) != dlq.KindConflict || errs[2] != nil {
		t.Fatal(errs)
	}
	o, err := s.Operation(background, o.ID)
	if err != nil || o.State != dlq.OperationDone || o.Counts[dlq.ItemSettled] != 2 || o.Counts[dlq.ItemInFlight] != 0 {
		t.Errorf("%s with %v, %v", o.State, o.Counts, err)
	}
	if src, err := s.Source(background, "wiki"); err != nil || src.Delivered != 2 || src.Reported != 2 {
		t.Errorf("%d delivered and %d reported, %v", src.Delivered, src.Reported, err)
	}
	s.MustHold(t)
}

// The last outcome of an operation ends it in the same commit, also when a job
// behind it in the batch asks.
func TestAnOperationHasEndedForWhoeverComesBehindItsLastOutcome(t *testing.T) {
	s := withTarget(t)
	o, list := begun(t, s, "1")
	errs := together(t, s, func() error {
		return s.DeliverySettled(background, dlqtest.Pipeline, list[0], 200, dlq.Outcome{RedriveID: list[0].ID, Result: dlq.OutcomeCommitted, At: s.Now()}, nil)
	}, func() error {
		_, err := s.MoveOperation(background, dlqtest.Reviewer, o.ID, dlq.OperationPaused, "")
		return err
	})
	if errs[0] != nil || dlq.KindOf(errs[1]) != dlq.KindConflict {
		t.Error(errs)
	}
	s.MustHold(t)
}

// One transaction for both says the same as one for each.
func TestAnAnswerAndItsOutcomeAreRecordedTogether(t *testing.T) {
	for _, result := range []dlq.OutcomeResult{dlq.OutcomeCommitted, dlq.OutcomeSkipped, dlq.OutcomeSuperseded, dlq.OutcomeFailed} {
		s := withTarget(t)
		_, list := begun(t, s, "1", "2")
		outcome := func(r dlq.Redrive) dlq.Outcome {
			return dlq.Outcome{RedriveID: r.ID, Result: result, At: s.Now(), Versions: dlq.Versions{"parser": "2.5.0"}}
		}
		if err := s.DeliverySettled(background, dlqtest.Pipeline, list[0], 299, outcome(list[0]), nil); err != nil {
			t.Fatal(err)
		}
		report(t, s, outcome(list[1]))
		if err := s.DeliveryTaken(background, list[1], 299, "", ""); err != nil {
			t.Fatal(err)
		}
		got, err := s.Redrive(background, list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Redrive(background, list[1].ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.State != dlq.RedriveSettled || got.Outcome != result || got.LastStatus != 299 || !got.AcceptedAt.Equal(s.Now()) || !reflect.DeepEqual(got.Verdict(), want.Verdict()) {
			t.Errorf("%s: %s with %q, answered %d at %s: %+v, want %+v", result, got.State, got.Outcome, got.LastStatus, got.AcceptedAt, got.Verdict(), want.Verdict())
		}
		kept := s.Lines(t, `select coalesce(verdict, '') || ' ' || coalesce(step_id, 0) from redrive order by id`)
		if kept[0] != kept[1] || kept[0] == " 0" {
			t.Errorf("%s: kept as\n%s, want\n%s", result, kept[0], kept[1])
		}
		if src, err := s.Source(background, "wiki"); err != nil || src.Delivered != 2 {
			t.Errorf("%d delivered, %v", src.Delivered, err)
		}
		s.MustHold(t)
	}
}

// The lease may be another's by the time of an answer: what was claimed then is no
// longer what is there, and is read.
func TestAnAnswerUnderAStaleLeaseSettlesWhatIsThere(t *testing.T) {
	s := withTarget(t)
	_, list := begun(t, s, "1")
	s.Clock.Advance(2 * time.Minute)
	again := claim(t, s, "wiki")
	stale := list[0]
	stale.FailedUnder = dlq.Versions{"parser": "none of ours"}
	if err := s.DeliverySettled(background, dlqtest.Pipeline, stale, 200, dlq.Outcome{RedriveID: stale.ID, Result: dlq.OutcomeCommitted, At: s.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := s.Redrive(background, again.ID)
	if err != nil || r.Outcome != dlq.OutcomeCommitted || r.LeaseEpoch != again.LeaseEpoch {
		t.Errorf("%q under lease %d, %v", r.Outcome, r.LeaseEpoch, err)
	}
	if moved := s.Lines(t, `select moved from version_step`); len(moved) != 1 || moved[0] != r.Step().Key() {
		t.Errorf("judged by %q, want %q", moved, r.Step().Key())
	}
	s.MustHold(t)
}

func TestOfTwoDocumentsWithOneKeyASliceSendsOne(t *testing.T) {
	s := withTarget(t)
	first := s.Park(t, dlqtest.Doc("1"), dlqtest.Held("1"), dlqtest.Key("the same"))
	second := s.Park(t, dlqtest.Doc("2"), dlqtest.Held("2"), dlqtest.Key("the same"))
	o := ask(t, s, first.DLQID, second.DLQID)
	left, err := s.LeftOutCounts(background, o.ID)
	if err != nil || o.Counts[dlq.ItemInFlight] != 1 || left[dlq.LeftInFlight] != 1 {
		t.Errorf("%v, left out %v, %v", o.Counts, left, err)
	}
	s.MustHold(t)
}

// By the time that it took itself a slice is sized: that in which it waited for
// others would make it ever smaller under load, and it would wait ever more often.
func TestASliceIsTimedWithoutItsWaiting(t *testing.T) {
	s := withTarget(t)
	e := s.Park(t, dlqtest.Doc("1"))
	o, err := s.CreateOperation(background, dlq.Operation{Kind: dlq.OperationRedrive, Mode: dlq.ModeAuto, Reason: "a test", Actor: dlqtest.Reviewer})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, s)
	var took, all time.Duration
	var wg sync.WaitGroup
	wg.Go(func() {
		began := time.Now()
		took, err = s.AddItems(background, o, 1, []string{e.DLQID})
		all = time.Since(began)
	})
	waits := time.Now()
	for s.Queued() == 0 || time.Since(waits) < 50*time.Millisecond {
		runtime.Gosched()
	}
	release()
	wg.Wait()
	if err != nil || took <= 0 || took > all-40*time.Millisecond {
		t.Errorf("it took %s of %s, %v", took, all, err)
	}
}

// ending is a context that ends once the writer has looked at it.
type ending struct {
	context.Context
	looked *int
}

func (e ending) Done() <-chan struct{} {
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (e ending) Err() error {
	if *e.looked++; *e.looked > 1 {
		return context.Canceled
	}
	return nil
}

// Whoever has claimed deliveries must hear of them, also when the server stops at
// that moment: nobody else may send them until the lease is over.
func TestAClaimIsAnsweredThoughItsContextEnds(t *testing.T) {
	s := withTarget(t)
	ask(t, s, s.Park(t, dlqtest.Doc("1"), dlqtest.Held("1")).DLQID)
	list, err := s.ClaimRedrives(ending{background, new(int)}, "wiki", "test", time.Minute, 10)
	if err != nil || len(list) != 1 {
		t.Errorf("%d were claimed, %v", len(list), err)
	}
}
