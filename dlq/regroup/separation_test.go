package regroup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
	"dlo/dlq/regroup"
)

// replay redrives a document on the bytes that failed, under parser sheet@2; as
// says what it fails with again, nil that it passes.
func (o *office) replay(dlqID string, as *failure) {
	o.t.Helper()
	op, err := o.CreateOperation(background, dlq.Operation{Kind: dlq.OperationRedrive, Mode: dlq.ModeAuto, Reason: "a test", Actor: dlqtest.Reviewer, Expect: -1})
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.AddItems(background, op, 1, []string{dlqID}); err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.StartOperation(background, op.ID, 10); err != nil {
		o.t.Fatal(err)
	}
	list, err := o.ClaimRedrives(background, o.Entry(o.t, dlqID).Source, "test", time.Minute, 10)
	if err != nil || len(list) != 1 {
		o.t.Fatalf("%d deliveries are due, %v", len(list), err)
	}
	r := list[0]
	r.Sent = dlq.ModeSource
	if ok, err := o.BeginDelivery(background, r); err != nil || !ok {
		o.t.Fatalf("begin delivery: %v, %v", ok, err)
	}
	if err := o.DeliveryTaken(background, r, 202, "", ""); err != nil {
		o.t.Fatal(err)
	}
	o.Clock.Advance(time.Second)
	if as != nil {
		again := *as
		again.doc, again.redrive, again.parser = r.DocID, r.ID, "sheet@2"
		o.park(again)
		return
	}
	if _, err := o.ApplyOutcome(background, dlqtest.Pipeline, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted, At: o.Now(), Versions: dlq.Versions{"parser": "sheet@2"}, PayloadSHA256: r.FailedSHA256}, nil); err != nil {
		o.t.Fatal(err)
	}
}

// withTarget gives the sources of the tests somewhere to send redrives.
func (o *office) withTarget(sources ...string) {
	o.t.Helper()
	for _, name := range sources {
		if _, _, err := o.PutSource(background, dlqtest.Admin, dlqtest.Policy(name)); err != nil {
			o.t.Fatal(err)
		}
	}
}

func (o *office) proof(by dlq.Actor, cohort string) dlq.Proof {
	o.t.Helper()
	c, err := o.Store.Cohort(background, by, cohort)
	if err != nil {
		o.t.Fatal(err)
	}
	proofs, err := o.CohortProofs(background, by, []dlq.Cohort{c})
	if err != nil {
		o.t.Fatal(err)
	}
	return proofs[cohort].Shown()
}

func (o *office) separation(by dlq.Actor, cohort string) (dlq.Separation, bool) {
	o.t.Helper()
	s, found, err := regroup.Separation(background, o.Store, by, cohort, o.proof(by, cohort).Step)
	if err != nil {
		o.t.Fatal(err)
	}
	return s, found
}

// mixed is a cohort of two defects of which parser sheet@2 fixes one.
func mixed(t *testing.T) (o *office, cohort string) {
	t.Helper()
	o = newOffice(t)
	o.withTarget("wiki")
	for i := range 5 {
		f := wide
		f.message = fmt.Sprintf("row %d has 300 cells, more than 256", i)
		cohort = o.park(f).Cohort
		o.park(date)
	}
	return o, cohort
}

func TestWhatSeparatesIsReadFromTheReplaysOfTheStep(t *testing.T) {
	o, cohort := mixed(t)
	for doc := 1; doc <= 6; doc++ {
		id := o.dlqID(fmt.Sprintf("doc-%d", doc))
		if doc%2 == 1 {
			o.replay(id, nil)
		} else {
			o.replay(id, &date)
		}
	}
	if p := o.proof(dlqtest.Reviewer, cohort); p.State != dlq.ProofMixed || p.Passed != 3 || p.Of != 6 {
		t.Fatalf("the proof is %s, %d of %d", p.State, p.Passed, p.Of)
	}
	s, found := o.separation(dlqtest.Reviewer, cohort)
	if !found || s.By.Attribute != dlq.SplitTemplate || !slices.Equal(s.GoesOut(), []string{"cannot read a date in row <int>"}) || s.Right != 6 || s.Of != 6 || s.Arrived != 0 {
		t.Errorf("%v, %+v", found, s)
	}
}

func TestFailuresThatArrivedUnderTheNewVersionSeparateWhereNoReplayFailed(t *testing.T) {
	o, cohort := mixed(t)
	for _, doc := range []string{"doc-1", "doc-3", "doc-5"} {
		o.replay(o.dlqID(doc), nil)
	}
	for range 3 {
		under := date
		under.parser = "sheet@2"
		o.park(under)
	}
	if p := o.proof(dlqtest.Reviewer, cohort); p.State != dlq.ProofMixed || p.Of != 3 {
		t.Fatalf("the proof is %s, %d of %d", p.State, p.Passed, p.Of)
	}
	s, found := o.separation(dlqtest.Reviewer, cohort)
	if !found || s.By.Attribute != dlq.SplitTemplate || s.Arrived != 3 || s.Right != 6 {
		t.Errorf("%v, %+v", found, s)
	}
}

func TestWhatSeparatesIsOfTheSourcesThatTheViewerSees(t *testing.T) {
	o, cohort := mixed(t)
	o.withTarget("leases")
	for i := range 4 {
		f := date
		f.source, f.doc = "leases", fmt.Sprint("lease-", i)
		o.replay(o.park(f).DLQID, &f)
	}
	o.replay(o.dlqID("doc-1"), nil)
	o.replay(o.dlqID("doc-3"), nil)
	if s, found := o.separation(dlqtest.Reviewer, cohort); !found || s.Of != 6 {
		t.Fatalf("somebody who sees all: %v, %+v", found, s)
	}
	if s, found := o.separation(dlqtest.Only(dlqtest.Reviewer, "wiki"), cohort); found {
		t.Errorf("somebody who sees wiki is told of the failures of another source: %+v", s)
	}
}

// A split by what separates leaves two proofs that say something, and the undo
// the one that there was.
func TestASplitByWhatSeparatesMakesTwoProofsOfOne(t *testing.T) {
	o, cohort := mixed(t)
	o.replay(o.dlqID("doc-1"), nil)
	o.replay(o.dlqID("doc-3"), nil)
	o.replay(o.dlqID("doc-2"), &date)
	o.replay(o.dlqID("doc-4"), &date)
	s, found := o.separation(dlqtest.Reviewer, cohort)
	if !found {
		t.Fatal("nothing separates them")
	}
	rule := o.split(cohort, s.By, s.GoesOut()...)
	o.move()
	part := rule.Others[0]
	if p := o.proof(dlqtest.Reviewer, cohort); p.State != dlq.ProofProven || p.Passed != 2 || p.Of != 2 || p.Covers != 3 {
		t.Errorf("what stays is %s, %d of %d for %d; want proven, 2 of 2 for 3", p.State, p.Passed, p.Of, p.Covers)
	}
	if p := o.proof(dlqtest.Reviewer, part); p.State != dlq.ProofRefuted || p.Of != 2 || p.Covers != 3 {
		t.Errorf("what went out is %s, %d of %d for %d; want refuted, 0 of 2 for 3", p.State, p.Passed, p.Of, p.Covers)
	}
	o.MustHold(t)
	if _, err := o.UndoGrouping(background, dlqtest.Reviewer, cohort, "", ""); err != nil {
		t.Fatal(err)
	}
	if p := o.proof(dlqtest.Reviewer, cohort); p.State != dlq.ProofMixed || p.Passed != 2 || p.Of != 4 || p.Covers != 6 {
		t.Errorf("after the undo it is %s, %d of %d for %d; want mixed, 2 of 4 for 6", p.State, p.Passed, p.Of, p.Covers)
	}
	o.MustHold(t)
}

// A split by version moves the replays with the documents that failed under it.
func TestASplitByVersionTakesTheReplaysAlong(t *testing.T) {
	o := newOffice(t)
	o.withTarget("wiki")
	var cohort string
	for i := range 4 {
		f := wide
		f.doc, f.mapper = fmt.Sprint("m", i), fmt.Sprint(i%2)
		cohort = o.park(f).Cohort
	}
	again := wide
	again.mapper = "1"
	o.replay(o.dlqID("m0"), nil)
	o.replay(o.dlqID("m1"), &again)
	if p := o.proof(dlqtest.Reviewer, cohort); p.State != dlq.ProofMixed {
		t.Fatalf("the proof is %s", p.State)
	}
	rule := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitVersion, Component: "mapper"}, "1")
	o.move()
	if p := o.proof(dlqtest.Reviewer, cohort); p.State != dlq.ProofProven || p.Of != 1 {
		t.Errorf("what stays is %s, %d of %d", p.State, p.Passed, p.Of)
	}
	if p := o.proof(dlqtest.Reviewer, rule.Others[0]); p.State != dlq.ProofRefuted || p.Of != 1 {
		t.Errorf("what went out is %s, %d of %d", p.State, p.Passed, p.Of)
	}
	o.MustHold(t)
}

func (o *office) dlqID(doc string) string {
	o.t.Helper()
	e, err := o.EntryByDoc(background, dlqtest.Admin, "wiki", doc)
	if err != nil {
		o.t.Fatal(err)
	}
	return e.DLQID
}
