package db_test

import (
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestAReplayOfAMergedCohortIsItsOwnAgainAfterTheUndo(t *testing.T) {
	s := withTarget(t)
	stays := s.Park(t, dlqtest.Doc("a"), dlqtest.Defect("A"), dlqtest.Held("a")).Cohort
	b := s.Park(t, dlqtest.Doc("b"), dlqtest.Defect("B"), dlqtest.Held("b"))
	if _, err := s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: stays, Others: []string{b.Cohort}, Reason: "one"}); err != nil {
		t.Fatal(err)
	}
	r := send(t, s, b.DLQID)
	if _, err := s.UndoGrouping(background, dlqtest.Reviewer, stays, "", ""); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Minute)
	report(t, s, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeFailed, Failure: &dlq.Envelope{ErrorType: "B", Reason: "exception"}})
	list, err := s.CohortRedrives(background, dlqtest.Reviewer, b.Cohort, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d replays are its own, %v", len(list), err)
	}
	if v := list[0].Verdict(); list[0].OutcomeCohort != b.Cohort || v.Name == dlq.VerdictNextDefect || v.Name == dlq.VerdictUnstable {
		t.Errorf("the same defect reads as another: %s, in %s", v.Name, list[0].OutcomeCohort)
	}
	if mine, err := s.CohortRedrives(background, dlqtest.Reviewer, stays, 10); err != nil || len(mine) != 0 {
		t.Errorf("%d replays stayed with the other, %v", len(mine), err)
	}
}
