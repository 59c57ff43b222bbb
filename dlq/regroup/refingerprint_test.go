package regroup_test

import (
	"fmt"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
	"dlo/dlq/fingerprint"
	"dlo/dlq/regroup"
)

// second is a small next version of the fingerprint: it tells the parser's
// message templates apart, which the first does not, and takes no notice of the
// caller.
var second = fingerprint.Algorithm{Name: "f2", Of: func(in fingerprint.Input) fingerprint.Result {
	r := fingerprint.Of(in)
	r.Version, r.Canonical = "f2", "f2\ntype="+r.Type+"\nmsg="+r.Template+"\n"
	r.Digest = dlqtest.Digest(r.Canonical)[:32]
	return r
}}

func (o *office) useSecond() { o.algorithms = append(fingerprint.Shipped, second) }

func (o *office) preview() dlq.RegroupPlan {
	o.t.Helper()
	plan, err := regroup.Preview(background, o.Store, o.algorithms)
	if err != nil {
		o.t.Fatal(err)
	}
	return plan
}

// refingerprint moves to the newest algorithm, as a person does who has seen the
// preview.
func (o *office) refingerprint() {
	o.t.Helper()
	if err := regroup.Begin(background, o.Store, dlqtest.Admin, o.preview()); err != nil {
		o.t.Fatal(err)
	}
	if _, err := regroup.Refingerprint(background, o.Store, o.algorithms); err != nil {
		o.t.Fatal(err)
	}
}

func TestThePreviewOfANewFingerprintSaysWhatWouldSplitAndMerge(t *testing.T) {
	o, cohort := both(t)
	apart := o.Park(t, dlqtest.Doc("apart"), dlqtest.Defect("SheetError"), dlqtest.With(func(e *dlq.Envelope) {
		e.ErrorMessage = "row 7 has 300 cells, more than 256" // without a trace: another cohort under f1
	}))
	o.useSecond()
	plan := o.preview()
	if plan.From != "f1" || plan.To != "f2" || plan.Documents != 20 {
		t.Errorf("the plan goes from %s to %s over %d documents", plan.From, plan.To, plan.Documents)
	}
	if plan.Splits() != 1 || plan.Merges() != 1 || len(plan.Digests) != 2 {
		t.Fatalf("the plan says %d splits and %d merges in %d digests, want 1, 1 and 2: %+v", plan.Splits(), plan.Merges(), len(plan.Digests), plan.Digests)
	}
	for _, d := range plan.Digests {
		if d.Home != cohort {
			t.Errorf("a digest is at home in %s", d.Home)
		}
		if n := d.Elsewhere[apart.Cohort]; !d.Part && n != 1 {
			t.Errorf("%d documents are said to be in the other cohort, want 1", n)
		}
	}
	if got := o.stuck(cohort); got != 19 {
		t.Errorf("a preview moved something: %d are left", got)
	}
}

func TestANewFingerprintSplitsMergesNothingAndKeepsTheCohorts(t *testing.T) {
	o, cohort := both(t)
	apart := o.Park(t, dlqtest.Doc("apart"), dlqtest.Defect("SheetError"), dlqtest.With(func(e *dlq.Envelope) {
		e.ErrorMessage = "row 7 has 300 cells, more than 256"
	}))
	o.useSecond()
	o.refingerprint()
	if got := o.stuck(cohort); got != 10 {
		t.Errorf("%d stay in the cohort, want the 10 of its largest part", got)
	}
	if got := o.stuck(apart.Cohort); got != 1 {
		t.Errorf("the other cohort has %d: a merge was made without a person", got)
	}
	part := o.park(date).Cohort
	if part == cohort || o.stuck(part) != 10 {
		t.Errorf("the part has %d documents after one more of its kind, want 10", o.stuck(part))
	}
	if g, err := o.Grouping(background, dlqtest.Admin, part); err != nil || g.SplitFrom != cohort {
		t.Errorf("the part does not say where it came from: %+v, %v", g, err)
	}
	if r := o.park(wide); r.Cohort != cohort || !strings.HasPrefix(r.Fingerprint, "f2:") {
		t.Errorf("a new failure is in %s under %s", r.Cohort, r.Fingerprint)
	}
	if plan := o.preview(); plan.Documents != 1 {
		t.Errorf("%d documents are left under f1, want the one that a person has to decide about", plan.Documents)
	}
	o.MustHold(t)
}

func TestADigestThatIsNewSinceThePlanJoinsTheCohortThatItHadBefore(t *testing.T) {
	o := newOffice(t)
	cohort := o.park(wide).Cohort
	o.useSecond()
	if r := o.park(date); r.Cohort != cohort || !strings.HasPrefix(r.Fingerprint, "f2:") {
		t.Errorf("it is in %s under %s, want the cohort of its f1 digest", r.Cohort, r.Fingerprint)
	}
	o.MustHold(t)
}

func TestRulesOutrankANewFingerprint(t *testing.T) {
	o, cohort := both(t)
	csv := date
	csv.contentType = "text/csv"
	for range 5 {
		o.park(csv)
	}
	rule := o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitContentType}, "text/csv")
	o.move()
	part := rule.Others[0]
	merged := o.Park(t, dlqtest.Doc("merged"), dlqtest.Defect("Other"), dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage = "something else" })).Cohort
	if _, err := o.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: cohort, Others: []string{merged}, Reason: "one cause"}); err != nil {
		t.Fatal(err)
	}
	if a, b := o.stuck(cohort), o.stuck(part); a != 10 || b != 15 {
		t.Fatalf("%d and %d before, want 10 and 15", a, b)
	}
	o.useSecond()
	o.refingerprint()
	o.restart()
	for i := range 200 {
		o.Clock.Advance(1)
		f, want := date, ""
		switch i % 2 {
		case 0:
			f.contentType, want = "text/csv", part
		default:
			f.contentType = "application/vnd.ms-excel"
		}
		r := o.park(f)
		if want != "" && r.Cohort != want {
			t.Fatalf("arrival %d is in %s, and the split sends it to %s", i, r.Cohort, want)
		}
		if want == "" && r.Cohort == part {
			t.Fatalf("arrival %d followed a split that does not name its value", i)
		}
	}
	if r := o.Park(t, dlqtest.Doc("merged again"), dlqtest.Defect("Other")); r.Cohort != cohort {
		t.Errorf("the merge did not hold: %s", r.Cohort)
	}
	if n := o.stuck(part); n != 115 {
		t.Errorf("the part has %d documents, want 115", n)
	}
	o.MustHold(t)
}

func TestAMoveToANewFingerprintGoesOnAfterARestart(t *testing.T) {
	o := newOffice(t)
	for i := range 250 {
		f := wide
		f.doc = fmt.Sprint("w", i)
		o.park(f)
	}
	o.useSecond()
	if err := regroup.Begin(background, o.Store, dlqtest.Admin, o.preview()); err != nil {
		t.Fatal(err)
	}
	run, _, err := o.MovingRefingerprint(background)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := o.EntriesAfter(background, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.MoveRefingerprint(background, run.ID, nil, ids[99]); err != nil { // a slice that had nothing to do
		t.Fatal(err)
	}
	o.restart()
	if _, err := regroup.Refingerprint(background, o.Store, o.algorithms); err != nil {
		t.Fatal(err)
	}
	q, _ := dlq.ParseQuery("status:parked")
	list, _, err := o.Entries(background, dlqtest.Admin, q, dlq.SortLastSeen, "", 500)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, e := range list {
		of[e.Fingerprint[:2]]++
	}
	if of["f2"] != 150 || of["f1"] != 100 {
		t.Errorf("%v, want the 150 after the place where it stopped under f2", of)
	}
	o.MustHold(t)
}

func TestUndoingAMergeTakesWhatGoesOnForItsMembers(t *testing.T) {
	o := newOffice(t)
	a := o.park(wide).Cohort
	b := o.Park(t, dlqtest.Doc("b"), dlqtest.Defect("Other"), dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage = "something else" })).Cohort
	if _, err := o.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: a, Others: []string{b}, Reason: "one"}); err != nil {
		t.Fatal(err)
	}
	o.useSecond()
	o.refingerprint()
	if _, err := o.UndoGrouping(background, dlqtest.Reviewer, a, "", ""); err != nil {
		t.Fatal(err)
	}
	if x, y := o.stuck(a), o.stuck(b); x != 1 || y != 1 {
		t.Errorf("%d and %d, want one each", x, y)
	}
	o.MustHold(t)
}
