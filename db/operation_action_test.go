package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func parkSome(t testing.TB, s *dbtest.DB, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = s.Park(t, dlqtest.Doc(fmt.Sprint("doc-", i)), dlqtest.Held(fmt.Sprint("text ", i))).DLQID
	}
	return ids
}

func trailOf(t testing.TB, s *dbtest.DB, operation string) string {
	t.Helper()
	return strings.Join(s.Lines(t, `select a.action || coalesce(' ' || r.body, '') from audit a left join reason r on r.audit_seq = a.seq where a.operation_id = $1 order by a.seq`, operation), "\n")
}

func TestABulkAssignmentChangesWhatIsNotSoAlreadyAndSaysIt(t *testing.T) {
	s := withTarget(t)
	ids := parkSome(t, s, 4)
	if err := s.Assign(background, dlqtest.Reviewer, ids[1], "team", "T-1"); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, `update entry set status = 'erased' where dlq_id = $1`, ids[2])
	o := operate(t, s, dlq.Operation{Kind: dlq.OperationAssign, Owner: "team", Ticket: "T-1"}, append(ids, "nobody knows it")...)
	if o.State != dlq.OperationDone || o.Counts[dlq.ItemSettled] != 3 || o.Counts[dlq.ItemLeftOut] != 2 || o.Owner != "team" || o.Ticket != "T-1" {
		t.Errorf("the operation is %+v", o)
	}
	left, err := s.LeftOutCounts(background, o.ID)
	if err != nil || left[dlq.LeftState] != 1 || left[dlq.LeftNotFound] != 1 {
		t.Errorf("left out: %v, %v", left, err)
	}
	for _, id := range []string{ids[0], ids[1], ids[3]} {
		if e := s.Entry(t, id); e.Owner != "team" || e.Ticket != "T-1" {
			t.Errorf("%s is looked after by %q, %q", e.DocID, e.Owner, e.Ticket)
		}
	}
	if e := s.Entry(t, ids[2]); e.Owner != "" {
		t.Errorf("an erased document was given to %q", e.Owner)
	}
	if got := trailOf(t, s, o.ID); got != "operation.assign a test\nentry.assigned a test\nentry.assigned a test" {
		t.Errorf("the trail is\n%s", got)
	}
	s.Exec(t, `update entry set status = 'parked' where dlq_id = $1`, ids[2])
	s.MustHold(t)
}

func TestABulkDispositionDecidesAndTakesOffWithEachRowInTheTrail(t *testing.T) {
	s := withTarget(t)
	ids := parkSome(t, s, 3)
	if err := s.Act(background, dlqtest.Reviewer, ids[1], dlq.Action{Kind: dlq.OperationArchive, Reason: "test file"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyOutcome(background, dlqtest.Reviewer, dlq.Outcome{Source: "wiki", DocID: "doc-2", Result: dlq.OutcomeCommitted, At: s.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	n := dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode, Until: dlq.UntilCode, Reason: "a test"}
	o := operate(t, s, dlq.Operation{Kind: dlq.OperationDispose, Disposition: &n}, ids...)
	if o.State != dlq.OperationDone || o.Counts[dlq.ItemSettled] != 2 || o.Counts[dlq.ItemLeftOut] != 1 || o.Disposition == nil || *o.Disposition != n {
		t.Errorf("the operation is %+v", o)
	}
	for _, id := range ids[:2] {
		d, err := s.Disposed(background, s.Entry(t, id).ID, "")
		if err != nil || d.Disposition != dlq.DispositionNeedsCode || d.Until != dlq.UntilCode || d.Reason != "a test" {
			t.Errorf("decided of %s: %+v, %v", id, d, err)
		}
	}
	if got := trailOf(t, s, o.ID); got != "operation.dispose a test\nentry.disposed a test\nentry.disposed a test" {
		t.Errorf("the trail is\n%s", got)
	}
	off := operate(t, s, dlq.Operation{Kind: dlq.OperationDispose, Disposition: &dlq.NewDisposition{Reason: "a test"}}, ids...)
	if off.Counts[dlq.ItemSettled] != 3 {
		t.Errorf("taken off: %+v", off.Counts)
	}
	if got := trailOf(t, s, off.ID); got != "operation.dispose a test\nentry.disposition_ended a test\nentry.disposition_ended a test" {
		t.Errorf("the trail is\n%s", got)
	}
	if d, err := s.Disposed(background, s.Entry(t, ids[0]).ID, ""); err != nil || d.Disposition != dlq.DispositionNone {
		t.Errorf("it still stands: %+v, %v", d, err)
	}
	s.MustHold(t)
}

func TestADispositionWhoseDateCameBeforeItsTurnIsLeftOutAsSuch(t *testing.T) {
	s := withTarget(t)
	ids := parkSome(t, s, 2)
	n := dlq.NewDisposition{Disposition: dlq.DispositionWaiting, Until: dlq.UntilDate, Date: s.Now().Add(-1), Reason: "a test"}
	o := operate(t, s, dlq.Operation{Kind: dlq.OperationDispose, Disposition: &n}, ids...)
	left, err := s.LeftOutCounts(background, o.ID)
	if err != nil || left[dlq.LeftDatePassed] != 2 || o.State != dlq.OperationDone {
		t.Errorf("left out: %v of %+v, %v", left, o.Counts, err)
	}
}

// An action of an operation is found by it in the trail, as a redrive's is.
func TestEveryActionOfAnOperationNamesItInTheTrail(t *testing.T) {
	s := withTarget(t)
	ids := parkSome(t, s, 2)
	o := operate(t, s, dlq.Operation{Kind: dlq.OperationQuarantine}, ids...)
	if got := trailOf(t, s, o.ID); got != "operation.quarantine a test\nentry.quarantine a test\nentry.quarantine a test" {
		t.Errorf("the trail is\n%s", got)
	}
}

// A command that is cut off while it writes a membership keeps no document from
// the next.
func TestAPreparationThatWasCutOffFreesItsDocuments(t *testing.T) {
	s := withTarget(t)
	ids := parkSome(t, s, 2)
	o, err := s.CreateOperation(background, dlq.Operation{Kind: dlq.OperationRedrive, Mode: dlq.ModeAuto, Reason: "r", Expect: -1, Actor: dlqtest.Reviewer})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddItems(background, o, 1, ids); err != nil {
		t.Fatal(err)
	}
	if n, err := s.VoidAbandoned(background, s.Now().Add(-10*time.Minute)); err != nil || n != 0 {
		t.Fatalf("one that is being prepared was voided: %d, %v", n, err)
	}
	s.Clock.Advance(11 * time.Minute)
	if n, err := s.VoidAbandoned(background, s.Now().Add(-10*time.Minute)); err != nil || n != 1 {
		t.Fatalf("voided %d, %v", n, err)
	}
	if o := ask(t, s, ids...); o.Counts[dlq.ItemInFlight] != 2 {
		t.Errorf("they are kept from the next: %v", o.Counts)
	}
}
