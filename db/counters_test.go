package db_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"

	"pgregory.net/rapid"
)

// office is a store to which anything may happen, in any order.
type office struct {
	t          *testing.T
	s          *dbtest.DB
	known      []string // entries
	redrives   []string
	operations []string
	claimed    []dlq.Redrive
	tried      map[string]int // by what was tried, how often it was done
}

var officeSources = []string{"wiki", "leases"}

// happened notes that something was done. What a state does not allow is no
// fault; anything but that is.
func (o *office) happened(t *rapid.T, what string, err error) {
	switch dlq.KindOf(err) {
	case "":
		o.tried[what]++
	case dlq.KindConflict, dlq.KindInvalid, dlq.KindNotFound:
	default:
		t.Fatalf("%s: %v", what, err)
	}
}

func (o *office) arrive(t *rapid.T) {
	at := o.s.Now().Add(time.Duration(rapid.IntRange(-3, 1).Draw(t, "hours")) * time.Hour)
	options := []func(*dlq.Arrival){
		dlqtest.Of(rapid.SampledFrom(officeSources).Draw(t, "source"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "doc")),
		dlqtest.Defect(rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "defect")),
		dlqtest.Class(rapid.SampledFrom([]dlq.FailureClass{dlq.ClassTransient, dlq.ClassAmbiguousParse, dlq.ClassDownstreamContract, ""}).Draw(t, "class")),
		dlqtest.Seen(at), dlqtest.Received(o.s.Now()), dlqtest.FirstSeen(at.AddDate(0, -rapid.IntRange(0, 3).Draw(t, "months"), 0)),
		dlqtest.Spent(rapid.IntRange(1, 7).Draw(t, "attempts")),
	}
	if rapid.Bool().Draw(t, "seq") {
		options = append(options, dlqtest.Seq(rapid.Int64Range(0, 5).Draw(t, "n")))
	}
	switch rapid.IntRange(0, 3).Draw(t, "bytes") {
	case 0:
	case 1:
		options = append(options, dlqtest.Named(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "payload")))
	default:
		options = append(options, dlqtest.Held(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "payload")))
	}
	options = append(options, dlqtest.With(func(e *dlq.Envelope) {
		e.ContentType = rapid.SampledFrom([]string{"application/pdf", "text/csv"}).Draw(t, "content type")
		e.ParserVersion = rapid.SampledFrom([]string{"pdfminer.six@20221105", "pdfminer.six@2", ""}).Draw(t, "parser")
	}))
	if rapid.IntRange(0, 5).Draw(t, "review") == 0 {
		options = append(options, dlqtest.LowConfidence(0.4))
	}
	if rapid.IntRange(0, 3).Draw(t, "event") == 0 {
		options = append(options, dlqtest.Event(fmt.Sprint("event ", rapid.IntRange(0, 3).Draw(t, "id"))))
	}
	if len(o.redrives) > 0 && rapid.Bool().Draw(t, "echo") {
		options = append(options, dlqtest.Replay(rapid.SampledFrom(o.redrives).Draw(t, "redrive")))
	}
	r, err := o.s.RecordArrival(background, dlqtest.Arrival(options...))
	if err != nil {
		t.Fatalf("arrive: %v", err)
	}
	o.tried["arrival"]++
	if !slices.Contains(o.known, r.DLQID) {
		o.known = append(o.known, r.DLQID)
	}
}

// act does two actions to one entry, because what the second is often depends on
// the first: a release needs a quarantine.
func (o *office) act(t *rapid.T) {
	id := rapid.SampledFrom(o.known).Draw(t, "entry")
	for _, kinds := range [][]dlq.OperationKind{{dlq.OperationQuarantine, dlq.OperationArchive, dlq.OperationExtend}, {dlq.OperationRelease, dlq.OperationRestore, dlq.OperationArchive}} {
		a := dlq.Action{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Days: rapid.IntRange(0, 400).Draw(t, "days"), Grant: rapid.SampledFrom([]dlq.Grant{dlq.GrantOne, dlq.GrantReset}).Draw(t, "grant")}
		o.happened(t, string(a.Kind), o.s.Act(background, dlqtest.Reviewer, id, a))
	}
}

func (o *office) operate(t *rapid.T, kind dlq.OperationKind) {
	op := dlq.Operation{Kind: kind, Mode: dlq.ModeAuto, Grant: dlq.GrantReset, Days: 10, Owner: "team", Disposition: &dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode, Until: dlq.UntilCode},
		Reason: "a test", Actor: dlqtest.Reviewer, Expect: -1}
	op, err := o.s.CreateOperation(background, op)
	if err != nil {
		t.Fatalf("create an operation: %v", err)
	}
	members := append(rapid.SliceOfNDistinct(rapid.SampledFrom(o.known), 1, len(o.known), rapid.ID).Draw(t, "members"), "none of ours")
	if _, err := o.s.AddItems(background, op, 1, members); err != nil {
		t.Fatalf("add items: %v", err)
	}
	if _, err := o.s.StartOperation(background, op.ID, rapid.IntRange(0, 3).Draw(t, "step")); err != nil {
		t.Fatalf("start: %v", err)
	}
	o.operations = append(o.operations, op.ID)
	o.tried["operation"]++
}

func (o *office) move(t *rapid.T) {
	id := rapid.SampledFrom(o.operations).Draw(t, "operation")
	if rapid.Bool().Draw(t, "step") {
		_, err := o.s.StepOperation(background, id, 2)
		o.happened(t, "step", err)
		return
	}
	to := rapid.SampledFrom([]dlq.OperationState{dlq.OperationCancelled, dlq.OperationPaused, dlq.OperationRunning}).Draw(t, "to")
	_, err := o.s.MoveOperation(background, dlqtest.Reviewer, id, to, "a test")
	o.happened(t, string(to), err)
}

func (o *office) claim(t *rapid.T, source string) {
	list, err := o.s.ClaimRedrives(background, source, "test", time.Duration(rapid.IntRange(0, 2).Draw(t, "lease"))*time.Hour, 2)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	for _, r := range list {
		o.claimed = append(o.claimed, r)
		if !slices.Contains(o.redrives, r.ID) {
			o.redrives = append(o.redrives, r.ID)
		}
		o.tried["claim"]++
	}
}

func (o *office) dispatch(t *rapid.T) {
	i := rapid.IntRange(0, len(o.claimed)-1).Draw(t, "claimed")
	r := o.claimed[i] // perhaps under a lease that is over
	r.Sent = rapid.SampledFrom([]dlq.Mode{dlq.ModeHeld, dlq.ModeSource}).Draw(t, "sent")
	if rapid.IntRange(0, 5).Draw(t, "left out") == 0 {
		o.happened(t, "left out", o.s.LeaveOut(background, r, rapid.SampledFrom([]dlq.LeftOut{dlq.LeftGoneAtSource, dlq.LeftPayloadCorrupt}).Draw(t, "why")))
		return
	}
	ok, err := o.s.BeginDelivery(background, r)
	o.happened(t, "send", err)
	if !ok {
		return
	}
	switch rapid.IntRange(0, 5).Draw(t, "answer") {
	case 0:
		o.happened(t, "failed delivery", o.s.DeliveryFailed(background, r, 503, "it is down", "", o.s.Now().Add(time.Minute)))
	case 1:
		o.happened(t, "undelivered", o.s.Undelivered(background, r, 400, "it refused", "no"))
	case 2:
		o.happened(t, "target gone", o.s.TargetGone(background, r, 410, "it is gone"))
	default:
		o.happened(t, "delivered", o.s.DeliveryTaken(background, r, 202, "", ""))
	}
}

func (o *office) report(t *rapid.T) {
	out := dlq.Outcome{Result: rapid.SampledFrom(dlq.ReportableOutcomes).Draw(t, "result"), At: o.s.Now().Add(time.Duration(rapid.IntRange(-3, 0).Draw(t, "hours ago")) * time.Hour)}
	switch rapid.IntRange(0, 3).Draw(t, "named by") {
	case 0:
		out.ContentHash = dlqtest.Digest(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "key"))
	case 1:
		out.Source, out.DocID = rapid.SampledFrom(officeSources).Draw(t, "source"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "doc")
	default:
		if len(o.redrives) == 0 {
			return
		}
		out.RedriveID = rapid.SampledFrom(o.redrives).Draw(t, "redrive")
	}
	if rapid.Bool().Draw(t, "seq") {
		n := rapid.Int64Range(0, 5).Draw(t, "n")
		out.IngestSeq = &n
	}
	var fp *dlq.Fingerprint
	if out.Result == dlq.OutcomeFailed && rapid.Bool().Draw(t, "named") {
		f := dlqtest.Fingerprint(rapid.SampledFrom([]string{"A", "B", "D"}).Draw(t, "defect"))
		fp, out.Failure = &f, &dlq.Envelope{ErrorType: f.Type, Reason: "exception"}
	}
	if rapid.Bool().Draw(t, "versions") {
		out.Versions = dlq.Versions{"parser": rapid.SampledFrom([]string{"pdfminer.six@20221105", "pdfminer.six@2"}).Draw(t, "parser")}
	}
	r, err := o.s.ApplyOutcome(background, dlqtest.Pipeline, out, fp)
	if err != nil {
		t.Fatalf("report: %v", err)
	}
	if r.Applied {
		o.tried["outcome "+string(out.Result)]++
	}
}

func (o *office) sweep(t *rapid.T) {
	archived, err := o.s.ArchiveExpired(background, 2)
	if err != nil {
		t.Fatalf("archive: %v", err)
	}
	parked, assumed, err := o.s.SettleOverdue(background, 2)
	if err != nil {
		t.Fatalf("settle: %v", err)
	}
	o.tried["expired"] += archived
	o.tried["overdue"] += parked + assumed
}

// regroup makes or takes back a rule about some cohort.
func (o *office) regroup(t *rapid.T, what string) {
	cohorts := o.s.Lines(o.t, `select id from cohort order by id`)
	id := rapid.SampledFrom(cohorts).Draw(t, "cohort")
	var err error
	switch what {
	case "merge":
		_, err = o.s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: id, Others: []string{rapid.SampledFrom(cohorts).Draw(t, "other")}, Reason: "a test"})
	case "split":
		by := rapid.SampledFrom([]dlq.SplitBy{{Attribute: dlq.SplitContentType}, {Attribute: dlq.SplitVersion, Component: "parser"}}).Draw(t, "by")
		values := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"application/pdf", "text/csv", "pdfminer.six@2", ""}), 1, 3, rapid.ID).Draw(t, "values")
		_, err = o.s.SplitCohort(background, dlqtest.Reviewer, dlq.SplitRequest{CohortID: id, By: by, Values: values, Together: rapid.Bool().Draw(t, "together"), Reason: "a test"})
	default:
		_, err = o.s.UndoGrouping(background, dlqtest.Reviewer, id, "", "a test")
	}
	o.happened(t, what, err)
}

// moveSplits moves the documents of splits as far as some slices go.
func (o *office) moveSplits(t *rapid.T, slices int) {
	rules, err := o.s.MovingSplits(background)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		work, err := o.s.SplitWork(background, rule.ID)
		if err != nil {
			t.Fatal(err)
		}
		members, err := o.s.SplitMembers(background, rule.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range work[:min(len(work), slices)] {
			attempts, err := o.s.RegroupAttempts(background, []int64{id}, members)
			if err != nil {
				t.Fatal(err)
			}
			var placed []dlq.Placed
			for _, a := range attempts {
				_, digest, _ := strings.Cut(a.Root, ":")
				placed = append(placed, dlq.Placed{RegroupAttempt: a, Now: dlq.Fingerprint{Algorithm: "f1", Digest: digest, Mode: "trace", Confidence: "high"}})
			}
			moved, _, err := o.s.MoveSplit(background, rule.ID, placed, id)
			if err != nil {
				t.Fatalf("move: %v", err)
			}
			o.tried["moved by a split"] += int(moved)
		}
		if len(work) <= slices {
			if err := o.s.FinishSplit(background, rule.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (o *office) checked(t *rapid.T) {
	faults, err := o.s.Check(background)
	if err != nil || len(faults) > 0 {
		t.Fatalf("the check finds %q, %v", faults, err)
	}
}

// undoEverything takes every rule back, newest first: then each fingerprint is in
// a cohort of its own again, with whatever splits had derived from it.
func (o *office) undoEverything(t *rapid.T) {
	for _, rule := range o.s.Lines(o.t, `select id from grouping_rule where state <> 'undone' order by seq desc`) {
		cohort := o.s.Lines(o.t, `select coalesce(c.merged_into, c.id) from grouping_rule r join cohort c on c.id = r.cohort_id where r.id = ?`, rule)[0]
		if _, err := o.s.UndoGrouping(background, dlqtest.Reviewer, cohort, rule, ""); err != nil {
			t.Fatalf("undo: %v", err)
		}
	}
	if n := o.s.Int(o.t, `select count(*) - count(distinct cohort_id) from fingerprint where parent_id is null`); n != 0 {
		t.Fatalf("%d fingerprints share a cohort though every merge was undone", n)
	}
	if n := o.s.Int(o.t, `select count(*) from fingerprint f join fingerprint p on p.id = f.parent_id where f.cohort_id <> p.cohort_id`); n != 0 {
		t.Fatalf("%d parts are apart though every split was undone", n)
	}
}

func (o *office) states(t *rapid.T) map[string]dlq.Entry {
	list, _, err := o.s.Entries(background, dlqtest.Admin, dlq.Query{}, "", "", 500)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]dlq.Entry{}
	for _, e := range list {
		out[e.DLQID] = e
	}
	return out
}

// holdsTogether is what is true of every entry, whatever happened to it.
func (o *office) holdsTogether(t *rapid.T, before map[string]dlq.Entry, step string) map[string]dlq.Entry {
	after := o.states(t)
	for id, was := range before {
		is, there := after[id]
		switch {
		case !there:
			t.Fatalf("%s: an entry is gone", step)
		case was.Status != is.Status && !dlq.MayMove(was.Status, is.Status):
			t.Fatalf("%s moved an entry from %s to %s", step, was.Status, is.Status)
		case is.RedrivesTotal < was.RedrivesTotal || is.Arrivals < was.Arrivals || is.Attempts < was.Attempts || is.Episode < was.Episode:
			t.Fatalf("%s took away from what is only ever added to: %+v, then %+v", step, was, is)
		case is.OpenedAt.Before(is.FirstSeen):
			t.Fatalf("%s: opened %v before it was first seen, %v", step, is.OpenedAt, is.FirstSeen)
		case (is.Status == dlq.StatusResolved) != (is.Resolution != ""):
			t.Fatalf("%s: it is %s, resolved as %q", step, is.Status, is.Resolution)
		case is.Status == dlq.StatusParked && was.Status != dlq.StatusParked && !is.ExpiresAt.After(o.s.Now()) && is.Episode > was.Episode:
			t.Fatalf("%s: a new episode is over already", step)
		}
	}
	return after
}

func TestTheCountersHoldWhateverHappens(t *testing.T) {
	tried := map[string]int{}
	if testing.Short() { // with the race detector each takes ten times as long
		if err := flag.Set("rapid.checks", "25"); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := dbtest.Open(t)
		defer s.Close()
		o := &office{t: t, s: s, tried: tried}
		for _, name := range officeSources {
			mode := rapid.SampledFrom([]dlq.OutcomeMode{dlq.OutcomesReported, dlq.OutcomesAssumed}).Draw(rt, "outcomes of "+name)
			putPolicy(t, s, dlqtest.Policy(name, func(p *dlq.SourcePolicy) { p.Outcomes.Mode, p.PoisonThreshold = mode, 2 }))
		}
		o.arrive(rt)
		before := o.states(rt)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			s.Clock.Advance(time.Duration(rapid.IntRange(1, 120).Draw(rt, "minutes")) * time.Minute)
			step := rapid.SampledFrom([]string{"arrive", "arrive", "arrive", "act", "operate", "replay", "replay", "replay", "move", "claim", "claim", "dispatch", "dispatch", "report", "report", "sweep", "wait", "merge", "split", "undo", "regroup", "regroup"}).Draw(rt, "step")
			switch {
			case step == "act":
				o.act(rt)
			case step == "operate":
				o.operate(rt, rapid.SampledFrom(dlq.OperationKinds).Draw(rt, "kind"))
			case step == "move" && len(o.operations) > 0:
				o.move(rt)
			case step == "claim":
				o.claim(rt, rapid.SampledFrom(officeSources).Draw(rt, "source"))
			case step == "dispatch" && len(o.claimed) > 0:
				o.dispatch(rt)
			case step == "report":
				o.report(rt)
			case step == "sweep":
				o.sweep(rt)
			case step == "merge" || step == "split" || step == "undo":
				o.regroup(rt, step)
			case step == "regroup":
				o.moveSplits(rt, 2)
			case step == "replay":
				o.operate(rt, dlq.OperationRedrive)
				for _, source := range officeSources {
					o.claim(rt, source)
				}
				if len(o.claimed) > 0 {
					o.dispatch(rt)
				}
			case step == "wait":
				s.Clock.Advance(rapid.SampledFrom([]time.Duration{25 * time.Hour, 40 * day}).Draw(rt, "long"))
				o.sweep(rt)
			default:
				o.arrive(rt)
			}
			before = o.holdsTogether(rt, before, step)
		}
		o.checked(rt)
		o.undoEverything(rt)
		o.checked(rt)
	})
	t.Logf("what was done, and how often: %v", tried)
	if testing.Short() {
		return // too few runs for all of them to happen
	}
	for _, what := range []string{"split", "arrival", "operation", "step", "claim", "send", "delivered", "left out", "expired", "quarantine", "archive", "restore", "extend"} {
		if tried[what] == 0 {
			t.Errorf("nothing of the kind %q happened: the test does not show what it says", what)
		}
	}
}
