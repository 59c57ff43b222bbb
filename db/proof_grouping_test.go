package db_test

import (
	"fmt"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

const newParser = "pdfminer.six@20251230"

// replayed sends a document to the new parser on the bytes that failed; with names
// the defect that it fails with, "" that it passes.
func replayed(t *testing.T, s *dbtest.DB, dlqID, with string) {
	t.Helper()
	r := send(t, s, dlqID)
	s.Clock.Advance(time.Minute)
	o := dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted, Versions: dlq.Versions{"parser": newParser}, PayloadSHA256: r.FailedSHA256}
	if with != "" {
		o.Result, o.Failure = dlq.OutcomeFailed, &dlq.Envelope{ErrorType: with, ErrorClass: string(dlq.ClassAmbiguousParse), Reason: string(dlq.ReasonException), ParserVersion: newParser}
	}
	report(t, s, o)
}

func proofOf(t *testing.T, s *dbtest.DB, cohort string) dlq.Proof {
	t.Helper()
	c := cohortOf(t, s, cohort)
	proofs, err := s.CohortProofs(background, dlqtest.Reviewer, []dlq.Cohort{c})
	if err != nil {
		t.Fatal(err)
	}
	return proofs[c.ID].Shown()
}

func mustProve(t *testing.T, s *dbtest.DB, when, cohort string, state dlq.ProofState, passed, of, past int64) {
	t.Helper()
	if p := proofOf(t, s, cohort); p.State != state || p.Passed != passed || p.Of != of || p.Past != past {
		t.Errorf("%s the proof is %s, %d of %d, %d past it; want %s, %d of %d, %d past it", when, p.State, p.Passed, p.Of, p.Past, state, passed, of, past)
	}
	s.MustHold(t)
}

// What failed past one error failed on the same one after all, once a person says
// that the two are one: its verdict changes, and the proof with it.
func TestAMergeMakesTheNextDefectTheSameOne(t *testing.T) {
	s := withTarget(t)
	var docs []string
	var a string
	for i := range 4 {
		r := s.Park(t, dlqtest.Doc(fmt.Sprint("a", i)), dlqtest.Defect("A"), dlqtest.Held(fmt.Sprint("a", i)))
		a, docs = r.Cohort, append(docs, r.DLQID)
	}
	b := s.Park(t, dlqtest.Doc("b"), dlqtest.Defect("B"), dlqtest.Held("b")).Cohort
	replayed(t, s, docs[0], "")
	replayed(t, s, docs[1], "B")
	mustProve(t, s, "before the merge", a, dlq.ProofProven, 1, 1, 1)
	if _, err := s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: a, Others: []string{b}, Reason: "one defect"}); err != nil {
		t.Fatal(err)
	}
	mustProve(t, s, "after the merge", a, dlq.ProofMixed, 1, 2, 0)
	if _, err := s.UndoGrouping(background, dlqtest.Reviewer, a, "", ""); err != nil {
		t.Fatal(err)
	}
	mustProve(t, s, "after the undo", a, dlq.ProofProven, 1, 1, 1)
}

// The replays of a cohort go on for the one that it went into, whichever leads.
func TestAMergeJoinsWhatWasProvedOfBoth(t *testing.T) {
	for _, lead := range []string{"A", "B"} {
		t.Run(lead+" leads", func(t *testing.T) {
			s := withTarget(t)
			cohorts, docs := map[string]string{}, map[string][]string{}
			for _, defect := range []string{"A", "B"} {
				for i := range 3 {
					doc := fmt.Sprint(defect, i)
					r := s.Park(t, dlqtest.Doc(doc), dlqtest.Defect(defect), dlqtest.Held(doc))
					cohorts[defect], docs[defect] = r.Cohort, append(docs[defect], r.DLQID)
				}
			}
			replayed(t, s, docs["A"][0], "")
			replayed(t, s, docs["B"][0], "B")
			mustProve(t, s, "of A", cohorts["A"], dlq.ProofProven, 1, 1, 0)
			mustProve(t, s, "of B", cohorts["B"], dlq.ProofRefuted, 0, 1, 0)
			other := map[string]string{"A": "B", "B": "A"}[lead]
			if _, err := s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: cohorts[lead], Others: []string{cohorts[other]}, Reason: "one defect"}); err != nil {
				t.Fatal(err)
			}
			mustProve(t, s, "of both", cohorts[lead], dlq.ProofMixed, 1, 2, 0)
			if p := proofOf(t, s, cohorts[lead]); p.Covers != 4 {
				t.Errorf("it covers %d, want the 4 that failed under the old parser and are stuck", p.Covers)
			}
			// A replay while they are one is of the document's own cohort after the undo.
			replayed(t, s, docs[other][1], "")
			mustProve(t, s, "of both, later", cohorts[lead], dlq.ProofMixed, 2, 3, 0)
			if _, err := s.UndoGrouping(background, dlqtest.Reviewer, cohorts[lead], "", ""); err != nil {
				t.Fatal(err)
			}
			want := map[string]struct {
				state      dlq.ProofState
				passed, of int64
			}{"A": {dlq.ProofProven, 1, 1}, "B": {dlq.ProofRefuted, 0, 1}}
			if other == "A" {
				want["A"] = struct {
					state      dlq.ProofState
					passed, of int64
				}{dlq.ProofProven, 2, 2}
			} else {
				want["B"] = struct {
					state      dlq.ProofState
					passed, of int64
				}{dlq.ProofMixed, 1, 2}
			}
			for defect, w := range want {
				mustProve(t, s, "of "+defect+" after the undo", cohorts[defect], w.state, w.passed, w.of, 0)
			}
		})
	}
}
