package redrive_test

import (
	"fmt"
	"testing"
	"time"

	"dlo/dlq"
)

// Pipelines tell outcomes twice, late, in the wrong order and against each other.
// Each row is told to a real store, then told again from its beginning, which
// must change nothing more.
func TestOutcomesInAnyOrderEndInTheSameState(t *testing.T) {
	const other = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	type told struct {
		body    string // with the redrive's id as %[1]s
		applied bool
		status  dlq.Status
	}
	for name, c := range map[string]struct {
		before  func(s *stand, id string)
		told    []told
		status  dlq.Status
		outcome dlq.OutcomeResult // of the redrive
		late    dlq.OutcomeResult
		marks   []dlq.Mark
	}{
		"committed, then failed": {
			told:   []told{{`{"redrive_id":"%[1]s","result":"committed"}`, true, dlq.StatusResolved}, {`{"redrive_id":"%[1]s","result":"failed","error_type":"E"}`, false, dlq.StatusResolved}},
			status: dlq.StatusResolved, outcome: dlq.OutcomeCommitted, late: dlq.OutcomeFailed,
		},
		"failed, then committed": { // the later word resolves it: a commit is a fact, and a failure a moment
			told:   []told{{`{"redrive_id":"%[1]s","result":"failed"}`, true, dlq.StatusParked}, {`{"redrive_id":"%[1]s","result":"committed"}`, true, dlq.StatusResolved}},
			status: dlq.StatusResolved, outcome: dlq.OutcomeFailed, late: dlq.OutcomeCommitted, marks: []dlq.Mark{dlq.MarkLate},
		},
		"failed, then a commit that is older than the failure": {
			told: []told{{`{"redrive_id":"%[1]s","result":"failed","error_type":"E","ingest_seq":9}`, true, dlq.StatusParked},
				{`{"redrive_id":"%[1]s","result":"committed","ingest_seq":8}`, false, dlq.StatusParked}},
			status: dlq.StatusParked, outcome: dlq.OutcomeFailed, late: dlq.OutcomeCommitted,
		},
		"committed, then superseded": {
			told:   []told{{`{"redrive_id":"%[1]s","result":"committed"}`, true, dlq.StatusResolved}, {`{"redrive_id":"%[1]s","result":"superseded"}`, false, dlq.StatusResolved}},
			status: dlq.StatusResolved, outcome: dlq.OutcomeCommitted, late: dlq.OutcomeSuperseded,
		},
		"committed, then skipped": {
			told:   []told{{`{"redrive_id":"%[1]s","result":"committed"}`, true, dlq.StatusResolved}, {`{"redrive_id":"%[1]s","result":"skipped"}`, true, dlq.StatusResolved}},
			status: dlq.StatusResolved, outcome: dlq.OutcomeCommitted, late: dlq.OutcomeSkipped,
		},
		"with the digest of other bytes": { // taken: what it says of the bytes is the verdict's to weigh
			told:   []told{{`{"redrive_id":"%[1]s","result":"committed","payload_sha256":"` + other + `"}`, true, dlq.StatusResolved}},
			status: dlq.StatusResolved, outcome: dlq.OutcomeCommitted,
		},
		"for an operation that was cancelled": {
			before: func(s *stand, id string) {
				_, err := s.store.MoveOperation(s.ctx, reviewer, s.redrive(id).OperationID, dlq.OperationCancelled, "wrong cohort")
				s.must(err)
			},
			told:   []told{{`{"redrive_id":"%[1]s","result":"committed"}`, true, dlq.StatusResolved}},
			status: dlq.StatusResolved, outcome: dlq.OutcomeCommitted,
		},
		"after it was overdue": {
			before: func(s *stand, id string) {
				s.clock.advance(s.policy.Outcomes.Timeout.Std())
				_, _, err := s.store.SettleOverdue(s.ctx, 10)
				s.must(err)
			},
			told:   []told{{`{"redrive_id":"%[1]s","result":"committed"}`, true, dlq.StatusResolved}},
			status: dlq.StatusResolved, outcome: dlq.OutcomeNoOutcome, late: dlq.OutcomeCommitted, marks: []dlq.Mark{dlq.MarkLate},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			id, redriveID := s.flight("1")
			if c.before != nil {
				c.before(s, id)
			}
			tell := func(report told) dlq.OutcomeReceipt {
				return s.report("%s", fmt.Sprintf(report.body, redriveID))
			}
			for _, report := range c.told {
				s.clock.advance(time.Second)
				if got := tell(report); got.Applied != report.applied || got.Status != report.status || got.DLQID != id || !got.Applied && got.Why == "" {
					t.Errorf("%s: %+v, want applied %v and %s", report.body, got, report.applied, report.status)
				}
			}
			check := func(when string) {
				t.Helper()
				e, r := s.entry(id), s.redrive(id)
				if e.Status != c.status || r.Outcome != c.outcome || r.Late != c.late {
					t.Errorf("%s: entry %s, redrive %q and late %q; want %s, %q, %q", when, e.Status, r.Outcome, r.Late, c.status, c.outcome, c.late)
				}
				for _, m := range c.marks {
					if !e.Marks.Has(m) {
						t.Errorf("%s: marks %s, want %s", when, e.Marks, m)
					}
				}
			}
			check("told once")
			was := s.entry(id)
			for _, report := range c.told {
				s.clock.advance(time.Second)
				tell(report)
			}
			check("told again")
			if is := s.entry(id); is.Attempts != was.Attempts || is.SameFailures != was.SameFailures {
				t.Errorf("told again it has %d attempts and %d same failures, before %d and %d", is.Attempts, is.SameFailures, was.Attempts, was.SameFailures)
			}
		})
	}
}
