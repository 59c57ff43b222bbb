package db_test

import (
	"fmt"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestReportsThatBelongToNothingAreKeptAndListed(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i := range 4 {
		s.Clock.Advance(time.Second)
		report(t, s, dlq.Outcome{Source: "wiki", DocID: fmt.Sprint(i), Result: dlq.OutcomeCommitted})
	}
	nowhere := dlq.Outcome{RedriveID: "01NOWHERE", Result: dlq.OutcomeFailed, At: dlqtest.Now}
	report(t, s, nowhere)
	report(t, s, nowhere) // told again
	list := func(by dlq.Actor, source string, limit int) ([]dlq.UnplacedOutcome, bool) {
		t.Helper()
		list, more, err := s.UnplacedOutcomes(background, by, source, limit)
		if err != nil {
			t.Fatal(err)
		}
		return list, more
	}
	if got, more := list(dlqtest.Reviewer, "wiki", 3); len(got) != 3 || !more || got[0].DocID != "3" || got[0].Result != dlq.OutcomeCommitted || got[0].Why == "" || got[0].Actor == "" {
		t.Errorf("of wiki: %+v, more %v", got, more)
	}
	if got, more := list(dlqtest.Reviewer, "", 3); len(got) != 1 || more || got[0].RedriveID != "01NOWHERE" {
		t.Errorf("of no source: %+v, more %v", got, more)
	}
	bound := dlqtest.Only(dlqtest.Reviewer, "leases")
	for _, source := range []string{"wiki", ""} {
		if got, _ := list(bound, source, 3); len(got) != 0 {
			t.Errorf("who sees leases alone is shown %d reports of %q", len(got), source)
		}
	}
	// Once the document is here, the same report finds it.
	s.Park(t, dlqtest.Doc("3"), dlqtest.Held("x"), dlqtest.Seen(dlqtest.Now.Add(-time.Hour)))
	if got := report(t, s, dlq.Outcome{Source: "wiki", DocID: "3", Result: dlq.OutcomeCommitted, At: dlqtest.Now.Add(4 * time.Second)}); !got.Applied {
		t.Errorf("told again it is %+v", got)
	}
	if got, _ := list(dlqtest.Reviewer, "wiki", 10); len(got) != 3 {
		t.Errorf("%d are left of wiki", len(got))
	}
}

func TestAnOutcomeForAnErasedEntryIsKeptWithoutContent(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v"))
	ask(t, s, r.DLQID)
	claimed, err := s.ClaimRedrives(background, "wiki", "test", time.Minute, 1)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("%d claimed, %v", len(claimed), err)
	}
	s.Exec(t, `update entry set status = 'erased', settled_at = received_at`) // as an erasure leaves it
	if err := s.RepairCounters(background); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outcome dlq.Outcome
		applied bool
	}{
		{dlq.Outcome{RedriveID: claimed[0].ID, Result: dlq.OutcomeFailed, Failure: &dlq.Envelope{ErrorType: "SecretError", ErrorMessage: "the tenant is called"}}, false},
		{dlq.Outcome{RedriveID: claimed[0].ID, Result: dlq.OutcomeCommitted, At: dlqtest.Now.Add(time.Second)}, true},
		{dlq.Outcome{Source: "wiki", DocID: s.Entry(t, r.DLQID).DocID, Result: dlq.OutcomeCommitted, At: dlqtest.Now.Add(time.Minute)}, false},
	} {
		if got := report(t, s, c.outcome); got.Applied != c.applied || got.Status != dlq.StatusErased || got.Why == "" {
			t.Errorf("%s is answered %+v, want applied %v", c.outcome.Result, got, c.applied)
		}
	}
	if n := s.Int(t, `select count(*) from attempt where kind = 'outcome'`); n != 0 {
		t.Errorf("%d attempts of an erased document were written", n)
	}
	if e := s.Entry(t, r.DLQID); e.Status != dlq.StatusErased {
		t.Errorf("it is %s", e.Status)
	}
	s.MustHold(t)
}
