package db_test

import (
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestAnArrivalThatNamesTheRedriveIsItsFailure(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	flight := send(t, s, r.DLQID)
	s.Clock.Advance(time.Minute)
	s.Park(t, dlqtest.Replay(flight.ID), dlqtest.Held("v1"), dlqtest.Seen(s.Now()))
	e := s.Entry(t, r.DLQID)
	if e.Status != dlq.StatusParked || e.SameFailures != 1 || e.Marks.Has(dlq.MarkPresumed) || e.RedrivesTotal != 1 {
		t.Errorf("%+v", e)
	}
	got, err := s.Redrive(background, flight.ID)
	if err != nil || got.Outcome != dlq.OutcomeFailed || got.Presumed || got.OutcomeAttempt != e.EvidenceID {
		t.Errorf("%+v, %v", got, err)
	}
	s.MustHold(t)
}

func TestAFailureToldTwiceIsOneAttempt(t *testing.T) {
	for name, tell := range map[string][2]string{"the outcome first": {"outcome", "arrival"}, "the arrival first": {"arrival", "outcome"}} {
		t.Run(name, func(t *testing.T) {
			s := withTarget(t)
			r := s.Park(t, dlqtest.Held("v1"))
			flight := send(t, s, r.DLQID)
			s.Clock.Advance(time.Minute)
			at := s.Now()
			for _, way := range tell {
				if way == "arrival" {
					s.Park(t, dlqtest.Replay(flight.ID), dlqtest.Held("v1"), dlqtest.Seen(at))
				} else {
					report(t, s, dlq.Outcome{RedriveID: flight.ID, Result: dlq.OutcomeFailed, At: at, Failure: &dlqtestFailure})
				}
			}
			e := s.Entry(t, r.DLQID)
			if e.SameFailures != 1 || e.Attempts != 2 || len(history(t, s, r.DLQID)) != 2 {
				t.Errorf("%d attempts, %d same failures, %d rows", e.Attempts, e.SameFailures, len(history(t, s, r.DLQID)))
			}
			s.MustHold(t)
		})
	}
}

var dlqtestFailure = dlqtest.Arrival().Envelope

func TestAnArrivalWithoutAnIDIsPresumedToBeTheFailure(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	flight := send(t, s, r.DLQID)
	s.Clock.Advance(time.Minute)
	s.Park(t, dlqtest.Held("v1"), dlqtest.Seen(s.Now()))
	e := s.Entry(t, r.DLQID)
	got, err := s.Redrive(background, flight.ID)
	if err != nil || e.Status != dlq.StatusParked || e.SameFailures != 1 || !e.Marks.Has(dlq.MarkPresumed) || got.Outcome != dlq.OutcomeFailed || !got.Presumed {
		t.Errorf("%+v\n%+v, %v", e, got, err)
	}
	s.MustHold(t)
}

func TestAPipelineThatNamesRedrivesIsTrustedToDoSo(t *testing.T) {
	s := withTarget(t)
	s.Park(t, dlqtest.Doc("other"), dlqtest.Replay("01JQ7X0F5C3N4K8Y2M6P9RTVAZ"))
	r := s.Park(t, dlqtest.Held("v1"))
	flight := send(t, s, r.DLQID)
	s.Clock.Advance(time.Minute)
	s.Park(t, dlqtest.Held("v1"), dlqtest.Seen(s.Now()))
	e := s.Entry(t, r.DLQID)
	got, err := s.Redrive(background, flight.ID)
	if err != nil || e.Status != dlq.StatusParked || e.SameFailures != 0 || e.Marks.Has(dlq.MarkPresumed) || got.Outcome != dlq.OutcomeUnattributed {
		t.Errorf("%+v\n%+v, %v", e, got, err)
	}
	s.Clock.Advance(-30 * time.Second) // the commit happened before that failure, which stands
	if o := report(t, s, dlq.Outcome{RedriveID: flight.ID, Result: dlq.OutcomeCommitted}); o.Applied || o.Status != dlq.StatusParked {
		t.Errorf("an older commit: %+v", o)
	}
	s.MustHold(t)
}

func TestTrustInAPipelineBeginsWithTheArrivalThatEarnsIt(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	flight := send(t, s, r.DLQID)
	s.Clock.Advance(time.Minute)
	if _, err := s.RecordArrivals(background, []dlq.Arrival{ // in one commit
		dlqtest.Arrival(dlqtest.Doc("other"), dlqtest.Replay("01JQ7X0F5C3N4K8Y2M6P9RTVAZ")),
		dlqtest.Arrival(dlqtest.Held("v1"), dlqtest.Seen(s.Now())),
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Redrive(background, flight.ID); err != nil || got.Outcome != dlq.OutcomeUnattributed {
		t.Errorf("the redrive's outcome is %q, %v", got.Outcome, err)
	}
}

func TestALateCommitResolves(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	flight := send(t, s, r.DLQID)
	s.Clock.Advance(25 * time.Hour)
	if parked, _, err := s.SettleOverdue(background, 10); err != nil || parked != 1 {
		t.Fatalf("%d parked, %v", parked, err)
	}
	if e := s.Entry(t, r.DLQID); e.Status != dlq.StatusParked || !e.Marks.Has(dlq.MarkNoOutcome) || e.SameFailures != 0 {
		t.Errorf("%+v", e)
	}
	report(t, s, dlq.Outcome{RedriveID: flight.ID, Result: dlq.OutcomeCommitted})
	if e := s.Entry(t, r.DLQID); e.Status != dlq.StatusResolved || !e.Marks.Has(dlq.MarkLate) || e.Marks.Has(dlq.MarkNoOutcome) {
		t.Errorf("%+v", e)
	}
	s.MustHold(t)
}

func TestThreeFailuresInTheSameCohortPoisonWithOneAlert(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"))
	for n := 1; n <= 3; n++ {
		flight := send(t, s, r.DLQID)
		s.Clock.Advance(time.Minute)
		s.Park(t, dlqtest.Replay(flight.ID), dlqtest.Held("v1"), dlqtest.Seen(s.Now()))
		s.Clock.Advance(time.Minute)
		want := dlq.StatusParked
		if n == 3 {
			want = dlq.StatusQuarantined
		}
		if e := s.Entry(t, r.DLQID); e.Status != want || e.SameFailures != n {
			t.Fatalf("after failure %d it is %s with %d", n, e.Status, e.SameFailures)
		}
	}
	s.Park(t, dlqtest.Held("v1"), dlqtest.Seen(s.Now())) // it goes on failing in ordinary syncs
	if e := s.Entry(t, r.DLQID); e.Status != dlq.StatusQuarantined || e.RedrivesTotal != 3 {
		t.Errorf("%+v", e)
	}
	list, err := s.Alerts(background, dlqtest.Reviewer, 10)
	if err != nil || len(list) != 1 || list[0].Rule != dlq.AlertPoison || list[0].Value != 3 || list[0].DLQID != r.DLQID {
		t.Errorf("alerts %+v, %v", list, err)
	}
	s.MustHold(t)
}

func TestTheSendersCountOfRedrivesIsTheFirstValue(t *testing.T) {
	s := withTarget(t)
	three := 3
	r := s.Park(t, dlqtest.Held("v1"), dlqtest.With(func(e *dlq.Envelope) { e.RedriveCount = &three }))
	o := ask(t, s, r.DLQID)
	if e := s.Entry(t, r.DLQID); e.Status != dlq.StatusQuarantined || o.Counts[dlq.ItemLeftOut] != 1 {
		t.Errorf("%+v, counts %v", e, o.Counts)
	}
	s.MustHold(t)
}

func TestABlockedErasedDocumentIsCountedAndNothingOfItStored(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t)
	// Erasing is not what this is about: the row is made what an erasure leaves.
	s.Exec(t, `update entry set status = 'erased', blocked = 1, settled_at = received_at`)
	if err := s.RepairCounters(background); err != nil {
		t.Fatal(err)
	}
	before := s.Lines(t, `select (select count(*) from attempt) || ' ' || (select count(*) from cohort) || ' ' || (select count(*) from fingerprint) || ' ' || (select count(*) from payload) || ' ' || (select count(*) from cell)`)
	for i, named := range []string{"", "01JQ7X0F5C3N4K8Y2M6P9RTVAZ"} {
		again := s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)), dlqtest.Defect("SecretError"), dlqtest.Held("secret"), dlqtest.Replay(named))
		if again.Status != dlq.StatusErased || again.DLQID != r.DLQID || again.Created || again.Arrivals != int64(i+2) {
			t.Errorf("receipt %+v", again)
		}
	}
	after := s.Lines(t, `select (select count(*) from attempt) || ' ' || (select count(*) from cohort) || ' ' || (select count(*) from fingerprint) || ' ' || (select count(*) from payload) || ' ' || (select count(*) from cell)`)
	if after[0] != before[0] {
		t.Errorf("attempts, cohorts, fingerprints, payloads and cells were %s and are %s", before[0], after[0])
	}
	s.MustHold(t)
}
