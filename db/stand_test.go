package db_test

import (
	"context"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

var background = context.Background()

// withTarget opens a store in which a source has a redrive target.
func withTarget(t testing.TB, sources ...string) *dbtest.DB {
	t.Helper()
	s := dbtest.Open(t)
	if len(sources) == 0 {
		sources = []string{"wiki"}
	}
	for _, name := range sources {
		putPolicy(t, s, dlqtest.Policy(name))
	}
	return s
}

func putPolicy(t testing.TB, s *dbtest.DB, p dlq.SourcePolicy) {
	t.Helper()
	if _, _, err := s.PutSource(background, dlqtest.Admin, p); err != nil {
		t.Fatal(err)
	}
}

// ask asks for a redrive of some entries, and takes its first step.
func ask(t testing.TB, s *dbtest.DB, dlqIDs ...string) dlq.Operation {
	t.Helper()
	return operate(t, s, dlq.Operation{Kind: dlq.OperationRedrive, Mode: dlq.ModeAuto}, dlqIDs...)
}

// operate makes an operation of the entries, and takes its first step.
func operate(t testing.TB, s *dbtest.DB, o dlq.Operation, dlqIDs ...string) dlq.Operation {
	t.Helper()
	o.Reason, o.Actor, o.Expect = "a test", dlqtest.Reviewer, -1
	o, err := s.CreateOperation(background, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddItems(background, o, 1, dlqIDs); err != nil {
		t.Fatal(err)
	}
	o, err = s.StartOperation(background, o.ID, 500)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// claim takes the one delivery of the source that is due.
func claim(t testing.TB, s *dbtest.DB, source string) dlq.Redrive {
	t.Helper()
	list, err := s.ClaimRedrives(background, source, "test", time.Minute, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("%d deliveries are due, want 1", len(list))
	}
	return list[0]
}

// send asks for a redrive of an entry, and brings it to its target, which takes
// it at the clock's time.
func send(t testing.TB, s *dbtest.DB, dlqID string) dlq.Redrive {
	t.Helper()
	ask(t, s, dlqID)
	e := s.Entry(t, dlqID)
	r := claim(t, s, e.Source)
	r.Sent = dlq.ModeHeld
	r.PayloadSHA256 = e.HeldSHA256
	r.Bytes = dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest}
	deliver(t, s, r)
	return r
}

func deliver(t testing.TB, s *dbtest.DB, r dlq.Redrive) {
	t.Helper()
	if ok, err := s.BeginDelivery(background, r); err != nil || !ok {
		t.Fatalf("begin delivery: %v, %v", ok, err)
	}
	if err := s.DeliveryTaken(background, r, 202, "", ""); err != nil {
		t.Fatal(err)
	}
}

// report tells the outcome of a redrive at the clock's time.
func report(t testing.TB, s *dbtest.DB, o dlq.Outcome) dlq.OutcomeReceipt {
	t.Helper()
	if o.At.IsZero() {
		o.At = s.Now()
	}
	var fp *dlq.Fingerprint
	if o.Failure != nil {
		f := dlqtest.Fingerprint(o.Failure.ErrorType)
		fp = &f
	}
	receipt, err := s.ApplyOutcome(background, dlqtest.Pipeline, o, fp)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// bring brings wiki/1, which must be parked, to a state by what a person or a
// pipeline does.
func bring(t testing.TB, s *dbtest.DB, dlqID string, to dlq.Status) {
	t.Helper()
	act := func(kind dlq.OperationKind) {
		if err := s.Act(background, dlqtest.Reviewer, dlqID, dlq.Action{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	switch to {
	case dlq.StatusQuarantined:
		act(dlq.OperationQuarantine)
	case dlq.StatusArchived:
		act(dlq.OperationArchive)
	case dlq.StatusRedriving:
		send(t, s, dlqID)
	case dlq.StatusResolved:
		r := send(t, s, dlqID)
		report(t, s, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted})
	}
	if got := s.Entry(t, dlqID).Status; got != to {
		t.Fatalf("it is %s, want %s", got, to)
	}
}

func history(t testing.TB, s *dbtest.DB, dlqID string) []dlq.Attempt {
	t.Helper()
	list, err := s.Attempts(background, s.Entry(t, dlqID).ID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
