package regroup_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
	"dlo/dlq/regroup"
)

var (
	wide = failure{message: "row 12 has 300 cells, more than 256", parser: "sheet@1", contentType: "text/csv"}
	date = failure{message: "cannot read a date in row 9", parser: "sheet@1", contentType: "application/vnd.ms-excel"}
)

func both(t *testing.T) (o *office, cohort string) {
	t.Helper()
	o = newOffice(t)
	first := o.park(wide)
	for i := range 9 {
		f := wide
		f.message = fmt.Sprintf("row %d has 300 cells, more than 256", i)
		if r := o.park(f); r.Cohort != first.Cohort {
			t.Fatal("equal failures are two cohorts")
		}
		if r := o.park(date); r.Cohort != first.Cohort {
			t.Fatal("the two defects do not share a fingerprint, and the test would show nothing")
		}
	}
	return o, first.Cohort
}

func TestASplitMovesWhatIsThereAndLeadsWhatComes(t *testing.T) {
	for _, c := range []struct {
		name  string
		by    dlq.SplitBy
		value string
	}{
		{"by message template", dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>"},
		{"by content type", dlq.SplitBy{Attribute: dlq.SplitContentType}, "application/vnd.ms-excel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, cohort := both(t)
			rule := o.split(cohort, c.by, c.value)
			part := rule.Others[0]
			if r := o.park(date); r.Cohort != part {
				t.Error("a failure that came before the documents had moved did not follow the split")
			}
			if moved := o.move(); moved != 9 {
				t.Errorf("%d documents moved, want the 9 of the value", moved)
			}
			if a, b := o.stuck(cohort), o.stuck(part); a != 10 || b != 10 {
				t.Errorf("%d stay and %d went out, want 10 and 10", a, b)
			}
			if o.move() != 0 {
				t.Error("a split that is done moved again")
			}
			o.MustHold(t)
		})
	}
}

func TestASplitByVersionAndByDeeperFrames(t *testing.T) {
	o := newOffice(t)
	old, fresh := wide, wide
	fresh.parser, fresh.caller = "sheet@2", "nightly"
	cohort := o.park(old).Cohort
	o.park(fresh)
	versions := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitVersion, Component: "parser"}, "sheet@2")
	o.move()
	if o.stuck(cohort) != 1 || o.stuck(versions.Others[0]) != 1 {
		t.Error("the versions are not apart")
	}
	if _, err := o.UndoGrouping(background, dlqtest.Reviewer, cohort, "", "it was the caller"); err != nil {
		t.Fatal(err)
	}
	frames := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitFrames}, "run@nightly.py")
	o.move()
	if o.stuck(cohort) != 1 || o.stuck(frames.Others[0]) != 1 {
		t.Error("the callers are not apart")
	}
	o.MustHold(t)
}

func TestASplitSurvivesARestartInItsMiddle(t *testing.T) {
	o, cohort := both(t)
	rule := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>")
	ctx, stop := context.WithCancel(background)
	stop()
	if _, err := regroup.NewRunner(o.Store, func(error) {}).RunOnce(ctx); err == nil {
		t.Fatal("the runner went on after its end")
	}
	o.restart()
	if moved := o.move(); moved != 9 {
		t.Errorf("%d documents moved after the restart, want all 9", moved)
	}
	for range 100 {
		if r := o.park(date); r.Cohort != rule.Others[0] {
			t.Fatal("an arrival did not follow the split after a restart")
		}
		if r := o.park(wide); r.Cohort != cohort {
			t.Fatal("an arrival of the other half followed the split")
		}
	}
	if a, b := o.stuck(cohort), o.stuck(rule.Others[0]); a != 110 || b != 109 {
		t.Errorf("%d stay and %d went out", a, b)
	}
	o.MustHold(t)
}

func TestAFailureDuringASplitIsNoOtherDefect(t *testing.T) {
	o, cohort := both(t)
	f := date
	f.doc = "stuck"
	o.park(f)
	rule := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>")
	r := o.park(f) // it fails again before the split has moved it
	if r.Cohort != rule.Others[0] || r.Arrivals != 2 {
		t.Errorf("it is in %s after %d arrivals", r.Cohort, r.Arrivals)
	}
	o.move()
	if got := o.stuck(rule.Others[0]); got != 10 {
		t.Errorf("%d went out", got)
	}
	o.MustHold(t)
}

func TestUndoingASplitBringsEverythingBack(t *testing.T) {
	o, cohort := both(t)
	rule := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>")
	o.move()
	if _, err := o.UndoGrouping(background, dlqtest.Reviewer, cohort, rule.ID, "they were one"); err != nil {
		t.Fatal(err)
	}
	if got := o.stuck(cohort); got != 19 {
		t.Errorf("%d are in the cohort after the undo, want all 19", got)
	}
	if r := o.park(date); r.Cohort != cohort {
		t.Error("an arrival still follows the split")
	}
	if c := o.cohort(rule.Others[0]); c.ID != cohort {
		t.Error("the part's address leads nowhere")
	}
	o.MustHold(t)
}

func TestAPartCanBeSplitAndMergedBack(t *testing.T) {
	o, cohort := both(t)
	first := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>")
	o.move()
	part := first.Others[0]
	f := date
	f.parser = "sheet@2"
	o.park(f)
	second := o.split(part, dlq.SplitBy{Attribute: dlq.SplitVersion, Component: "parser"}, "sheet@2")
	o.move()
	if a, b := o.stuck(part), o.stuck(second.Others[0]); a != 9 || b != 1 {
		t.Errorf("%d stay in the part and %d went out of it", a, b)
	}
	if r := o.park(f); r.Cohort != second.Others[0] {
		t.Error("an arrival did not follow both splits")
	}
	if _, err := o.UndoGrouping(background, dlqtest.Reviewer, cohort, first.ID, ""); dlq.KindOf(err) != dlq.KindConflict || !strings.Contains(err.Error(), "later split") {
		t.Errorf("the first split was undone under the second: %v", err)
	}
	if _, err := o.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: cohort, Others: []string{part, second.Others[0]}, Reason: "one after all"}); err != nil {
		t.Fatal(err)
	}
	if got := o.stuck(cohort); got != 21 {
		t.Errorf("%d after the merge, want all 21", got)
	}
	if r := o.park(f); r.Cohort != cohort {
		t.Error("an arrival of a merged part did not follow the merge")
	}
	o.MustHold(t)
}

func TestArrivalsWhileCohortsMergeAndComeApartAreAllCounted(t *testing.T) {
	o := newOffice(t)
	a := o.park(wide).Cohort
	b := o.Park(t, dlqtest.Defect("Other")).Cohort
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			o.Park(t, dlqtest.Doc(fmt.Sprint("c", i)), dlqtest.Defect("Other"))
		})
	}
	for range 20 {
		if _, err := o.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: a, Others: []string{b}, Reason: "a test"}); err != nil {
			t.Error(err)
		}
		if _, err := o.UndoGrouping(background, dlqtest.Reviewer, a, "", ""); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	if n := o.stuck(b); n != 201 {
		t.Errorf("%d, want 201", n)
	}
	o.MustHold(t)
}

func TestUndoingASplitAndThenTheMergeBeforeItRestoresBothCohorts(t *testing.T) {
	o := newOffice(t)
	other := failure{message: "no sheet", contentType: "text/csv"}
	a := o.park(wide).Cohort
	b := o.Park(t, dlqtest.Doc("b"), dlqtest.Defect("Other"), dlqtest.With(func(e *dlq.Envelope) { e.ContentType, e.ErrorMessage = "text/plain", other.message })).Cohort
	if _, err := o.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: a, Others: []string{b}, Reason: "one"}); err != nil {
		t.Fatal(err)
	}
	rule := o.split(a, dlq.SplitBy{Attribute: dlq.SplitContentType}, "text/plain")
	if err := placeAsBefore(o, rule); err != nil {
		t.Fatal(err)
	}
	if got := o.stuck(rule.Others[0]); got != 1 {
		t.Fatalf("%d went out", got)
	}
	for range 2 {
		if _, err := o.UndoGrouping(background, dlqtest.Reviewer, a, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	if x, y := o.stuck(a), o.stuck(b); x != 1 || y != 1 {
		t.Errorf("%d and %d, want one each as before", x, y)
	}
	if r := o.Park(t, dlqtest.Doc("b2"), dlqtest.Defect("Other")); r.Cohort != b {
		t.Error("a new failure does not go where it went before")
	}
	o.MustHold(t)
}

// placeAsBefore moves the documents of a split by the fingerprints that they
// have, which are not made from their texts.
func placeAsBefore(o *office, rule dlq.GroupingRule) error {
	ids, err := o.SplitWork(background, rule.ID)
	if err != nil {
		return err
	}
	members, err := o.SplitMembers(background, rule.ID)
	if err != nil {
		return err
	}
	attempts, err := o.RegroupAttempts(background, ids, members)
	if err != nil {
		return err
	}
	var placed []dlq.Placed
	for _, a := range attempts {
		placed = append(placed, dlq.Placed{RegroupAttempt: a, Now: dlq.Fingerprint{Algorithm: "f1", Confidence: "high"}})
	}
	_, _, err = o.MoveSplit(background, rule.ID, placed, ids[len(ids)-1])
	if err != nil {
		return err
	}
	return o.FinishSplit(background, rule.ID)
}

func TestUndoingNestedSplitsBringsEverythingBack(t *testing.T) {
	o, cohort := both(t)
	fresh := date
	fresh.parser = "sheet@2"
	o.park(fresh)
	first := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>")
	o.move()
	second := o.split(first.Others[0], dlq.SplitBy{Attribute: dlq.SplitVersion, Component: "parser"}, "sheet@2")
	o.move()
	for _, c := range []string{first.Others[0], cohort} {
		if _, err := o.UndoGrouping(background, dlqtest.Reviewer, c, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := o.stuck(cohort); got != 20 {
		t.Errorf("%d are in the cohort after both were undone, want all 20", got)
	}
	if c := o.cohort(second.Others[0]); c.ID != cohort {
		t.Error("the address of the part of the part does not lead there")
	}
	o.MustHold(t)
}

func TestAValueThatIsNewAfterItsPartWasMergedIsNotLost(t *testing.T) {
	o := newOffice(t)
	cohort := o.park(wide).Cohort
	rule := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>")
	o.move()
	part := rule.Others[0]
	if _, err := o.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: cohort, Others: []string{part}, Reason: "one"}); err != nil {
		t.Fatal(err)
	}
	if r := o.park(date); r.Cohort != cohort || o.stuck(cohort) != 2 {
		t.Errorf("it is in %s, and the cohort has %d", r.Cohort, o.stuck(cohort))
	}
	o.MustHold(t)
	if _, err := o.UndoGrouping(background, dlqtest.Reviewer, cohort, "", ""); err != nil {
		t.Fatal(err)
	}
	if a, b := o.stuck(cohort), o.stuck(part); a != 1 || b != 1 {
		t.Errorf("%d and %d after the merge was undone, want one each", a, b)
	}
	o.MustHold(t)
}

func TestWhoSeesAPartOfARuleDoesNotUndoIt(t *testing.T) {
	o, cohort := both(t)
	wiki := dlqtest.Only(dlqtest.Reviewer, "wiki")
	rule, err := o.SplitCohort(background, wiki, dlq.SplitRequest{CohortID: cohort, By: dlq.SplitBy{Attribute: dlq.SplitTemplate}, Values: []string{"cannot read a date in row <int>"}, Reason: "two"})
	if err != nil {
		t.Fatal(err)
	}
	o.move()
	hidden := date
	hidden.source = "leases"
	if r := o.park(hidden); r.Cohort != rule.Others[0] {
		t.Fatal("the hidden document is elsewhere")
	}
	if _, err := o.UndoGrouping(background, wiki, cohort, rule.ID, ""); dlq.KindOf(err) != dlq.KindForbidden {
		t.Errorf("a rule about documents of others was undone: %v", err)
	}
}
