package db_test

import (
	"fmt"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// A pipeline commonly reports first that a redrive failed, without saying how,
// and then parks the failure with its trace.
func TestAFailureParkedAfterABareReportIsTheEvidence(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	flight := send(t, s, r.DLQID)
	s.Clock.Advance(time.Minute)
	report(t, s, dlq.Outcome{RedriveID: flight.ID, Result: dlq.OutcomeFailed})
	s.Clock.Advance(time.Minute)
	s.Park(t, dlqtest.Replay(flight.ID), dlqtest.Defect("SecondDefect"), dlqtest.Held("v2"), dlqtest.Seen(s.Now()))
	e := s.Entry(t, r.DLQID)
	if e.HeldSHA256 != dlqtest.Digest("v2") || e.CohortID == r.Cohort || len(history(t, s, r.DLQID)) != 2 {
		t.Errorf("held %.8s, same cohort %v, %d attempts", e.HeldSHA256, e.CohortID == r.Cohort, len(history(t, s, r.DLQID)))
	}
	got, err := s.Redrive(background, flight.ID)
	if err != nil || got.OutcomeUnnamed || got.OutcomeCohort != e.CohortID {
		t.Errorf("the redrive's failure is %+v, %v", got, err)
	}
	s.MustHold(t)
}

func TestASecondArrivalUnderOneRedriveKeepsTheFirst(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	flight := send(t, s, r.DLQID)
	s.Clock.Advance(time.Minute)
	s.Park(t, dlqtest.Replay(flight.ID), dlqtest.Event("e1"), dlqtest.Defect("A"), dlqtest.Seen(s.Now()))
	first := s.Now()
	s.Clock.Advance(time.Minute)
	s.Park(t, dlqtest.Replay(flight.ID), dlqtest.Event("e2"), dlqtest.Defect("B"), dlqtest.Seen(s.Now()))
	if n := len(history(t, s, r.DLQID)); n != 3 {
		t.Errorf("the history has %d attempts, and 3 failures came", n)
	}
	if again := s.Park(t, dlqtest.Replay(flight.ID), dlqtest.Event("e1"), dlqtest.Defect("A"), dlqtest.Seen(first)); !again.Duplicate {
		t.Error("the first event is no longer known")
	}
	s.MustHold(t)
}

func TestAGrantOutlivesAReplayThatNeverHappened(t *testing.T) {
	s := withTarget(t)
	redriven := 3
	r := s.Park(t, dlqtest.Held("v1"), dlqtest.With(func(e *dlq.Envelope) { e.RedriveCount = &redriven }))
	ask(t, s, r.DLQID)
	if err := s.Act(background, dlqtest.Reviewer, r.DLQID, dlq.Action{Kind: dlq.OperationRelease, Grant: dlq.GrantOne}); err != nil {
		t.Fatal(err)
	}
	ask(t, s, r.DLQID)
	if err := s.Undelivered(background, claim(t, s, "wiki"), 503, "down", ""); err != nil {
		t.Fatal(err)
	}
	ask(t, s, r.DLQID)
	if got := s.Entry(t, r.DLQID).Status; got != dlq.StatusRedriving {
		t.Errorf("the next redrive left it %s", got)
	}
}

// What resolved an entry meanwhile needs no delivery any more.
func TestNothingIsSentOfAnEntryThatWasResolvedMeanwhile(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	first := send(t, s, r.DLQID)
	s.Clock.Advance(25 * time.Hour)
	if _, _, err := s.SettleOverdue(background, 10); err != nil {
		t.Fatal(err)
	}
	ask(t, s, r.DLQID)
	second := claim(t, s, "wiki")
	report(t, s, dlq.Outcome{RedriveID: first.ID, Result: dlq.OutcomeCommitted, At: s.Now()})
	if ok, err := s.BeginDelivery(background, second); err != nil || ok {
		t.Errorf("a delivery began: %v, %v", ok, err)
	}
	s.Clock.Advance(time.Hour)
	if list, err := s.ClaimRedrives(background, "wiki", "other", time.Minute, 10); err != nil || len(list) != 0 {
		t.Errorf("%d were claimed, %v", len(list), err)
	}
	got, err := s.Redrive(background, second.ID)
	if err != nil || got.InFlight() || got.Outcome != dlq.OutcomeCancelled {
		t.Errorf("the second redrive is %s, %s, %v", got.State, got.Outcome, err)
	}
	s.MustHold(t)
}

func TestAFullDiskIsToldToWhoeverWrites(t *testing.T) {
	s := dbtest.Open(t)
	if err := s.FillUp(background); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil && i < 500; i++ {
		err = s.KeepRejected(background, dlqtest.Pipeline, "wiki", fmt.Appendf(nil, "%d %0500d", i, i*7919), "{}")
	}
	if dlq.KindOf(err) != dlq.KindUnavailable {
		t.Errorf("a full disk is told as %v: %v", dlq.KindOf(err), err)
	}
	if _, err := s.Sources(background); err != nil {
		t.Errorf("and nothing can be read: %v", err)
	}
}

func TestABrokenContractIsOverWhenNothingOfItIsStuck(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Class(dlq.ClassDownstreamContract), dlqtest.Held("v"))
	standing := func() int64 {
		t.Helper()
		n, err := s.StandingAlerts(background, dlqtest.Reviewer)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n, err := s.ResolveOverAlerts(background); err != nil || n != 0 || standing() != 1 {
		t.Fatalf("%d resolved while it is stuck, %v", n, err)
	}
	if err := s.Act(background, dlqtest.Reviewer, r.DLQID, dlq.Action{Kind: dlq.OperationArchive}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.ResolveOverAlerts(background); err != nil || n != 1 || standing() != 0 {
		t.Errorf("%d resolved, %v", n, err)
	}
}
