package db_test

import (
	"testing"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// A token that is bound to a source must not learn of another's documents by
// repeating a report that was made of them.
func TestAReportTellsABoundTokenNothingOfAnotherSource(t *testing.T) {
	s := dbtest.Open(t)
	theirs := dlqtest.Arrival(dlqtest.Of("leases", "L-1"), dlqtest.Key("the document"))
	if _, err := s.RecordArrival(background, theirs); err != nil {
		t.Fatal(err)
	}
	key := theirs.Envelope.ContentHash
	report := dlq.Outcome{ContentHash: key, Result: dlq.OutcomeCommitted, At: dlqtest.Now.Add(1)}
	free := dlq.Actor{Kind: dlq.ActorToken, ID: "free", Name: "free", Scopes: []dlq.Scope{dlq.ScopeOutcome}}
	bound := free
	bound.ID, bound.Sources = "bound", []string{"wiki"}
	if r, err := s.ApplyOutcome(background, free, report, nil); err != nil || !r.Applied {
		t.Fatalf("%+v, %v", r, err)
	}
	r, err := s.ApplyOutcome(background, bound, report, nil)
	if err != nil || r.Applied || r.DLQID != "" || r.Status != "" {
		t.Errorf("the bound token was told %+v, %v", r, err)
	}
}
