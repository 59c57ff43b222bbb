package handlers

import (
	"fmt"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/views/components"
)

// toPDF3 is the step from one parser to the one that runs.
func toPDF3(from string) dlq.VersionStep {
	return dlq.VersionStep{Moved: []dlq.ComponentMove{{Component: "parser", From: from, To: []string{"pdf@3"}}}}
}

// askFacts are those of a cohort of which 393 failed under one version and 16
// under another, and of which some replays were made.
func askFacts(tallies ...dlq.ReplayTally) proveFacts {
	f := proveFacts{cohort: oneCohort(), known: knownWiki(), by: reviewer, csrf: "token", here: "/cohorts/01KB", now: noon}
	f.proofs = dlq.ProveCohort(f.cohort.FailedUnder, f.known.running, tallies)
	return f
}

func replays(step dlq.VersionStep, verdict dlq.VerdictName, n int64) dlq.ReplayTally {
	return dlq.ReplayTally{Source: "wiki", Step: step, Verdict: verdict, Replays: n, Last: noon}
}

func buttonsOf(p components.Prove) string {
	var out []string
	for _, s := range p.Submits {
		out = append(out, s.Label)
	}
	for _, a := range p.Actions {
		out = append(out, a.Label)
	}
	if p.Skip != nil {
		out = append(out, "("+p.Skip.Summary+")")
	}
	return strings.Join(out, ", ")
}

func TestTheBarAsksWhetherTheFixWorksAndSaysWhatItCovers(t *testing.T) {
	p := newProve(askFacts())
	if p.Question != "Does pdf@3 fix it?" || p.Covered != "393 like these" || p.Others.Text != "16 under pdf@2, not tested" || p.Others.Href != entriesHref("cohort:01KB status:parked parser:pdf@2") {
		t.Errorf("got %q, %q, %+v", p.Question, p.Covered, p.Others)
	}
	fields := hiddenFields(*p.Ask)
	if p.Ask.Action != "/cohorts/01KB/redrive" || fields["q"] != "cohort:01KB status:parked parser:pdf@1" || fields["expect"] != "393" || p.Ask.Inputs[0].Value != "test of pdf@3" {
		t.Errorf("the form: %+v", p.Ask)
	}
	if len(p.Steps) != 5 || p.Steps[0].State != components.StepNext || p.Steps[4].Note != "262" || buttonsOf(p) != "Send one, (Skip the steps)" || p.Band.High != 100 || p.Band.Least != "" {
		t.Errorf("nothing was sent: %+v, %s", p, buttonsOf(p))
	}
}

func TestTheBarSaysWhatIsKnownAndWhatThatAllows(t *testing.T) {
	one := toPDF3("pdf@1")
	passed := func(n int64) dlq.ReplayTally { return replays(one, dlq.VerdictFixedByCode, n) }
	broken := func(n int64) dlq.ReplayTally { return replays(one, dlq.VerdictStillBroken, n) }
	presumed := passed(3)
	presumed.Presumed = true
	lapsed := replays(dlq.VersionStep{Moved: []dlq.ComponentMove{{Component: "parser", From: "pdf@1", To: []string{"pdf@0"}}}}, dlq.VerdictFixedByCode, 3)
	for _, c := range []struct {
		name     string
		tallies  []dlq.ReplayTally
		headline string
		detail   string
		buttons  string
		tone     components.Tone
		least    string
		help     int // links of what to do
	}{
		{"none", nil, "Not tested.", "Send one: its stored copy tells whether pdf@3 gets past this error.", "Send one, (Skip the steps)", components.Plain, "", 0},
		{"proven", []dlq.ReplayTally{passed(3)}, "3 of 3 got past this error.", "Expect 172 to 393 of 393 to.", "Send one, Redrive the 393", components.Plain, "at least 44 %", 0},
		{"six", []dlq.ReplayTally{passed(6)}, "6 of 6 got past this error.", "Expect 240 to 393 of 393 to.", "Send one, Redrive the 393", components.Plain, "at least 61 %", 0},
		{"thirty-one", []dlq.ReplayTally{passed(31)}, "31 of 31 got past this error.", "Expect 350 to 393 of 393 to.", "Send one, Redrive the 393", components.Plain, "at least 89 %", 0},
		{"presumed", []dlq.ReplayTally{presumed}, "Probably: 3 of 3 got past this error.", "Which version it ran under was not reported, or the evidence on the bytes is weak. Expect 172 to 393 of 393 to.", "Send one, (Skip the steps)", components.Plain, "at least 44 %", 0},
		{"mixed", []dlq.ReplayTally{passed(3), broken(2)}, "Works for some: 3 of 5 got past this error.", "Two defects may reach the same frames. Look at what tells them apart before you send more.", "Send one, (Skip the steps)", components.Held, "at least 23 %", 3},
		{"refuted", []dlq.ReplayTally{broken(2)}, "Not fixed: 0 of 2 got past this error.", "What was sent failed in the same way again.", "Send one, (Skip the steps)", components.Bad, "", 3},
		{"lapsed", []dlq.ReplayTally{lapsed}, "Out of date: 3 of 3 got past this error.", "That was pdf@0, which does not run any more. Send one to test what runs now.", "Send one, (Skip the steps)", components.Plain, "", 0},
		{"transient", []dlq.ReplayTally{replays(dlq.VersionStep{}, dlq.VerdictTransient, 9)}, "Passes unchanged: 9 of 9.", "Nothing changed, and it passes all the same: the fix belongs in the retry layer's classifier.", "Send one, (Skip the steps)", components.Plain, "", 0},
	} {
		p := newProve(askFacts(c.tallies...))
		if p.Headline != c.headline || p.Detail != c.detail || buttonsOf(p) != c.buttons || p.Tone != c.tone || p.Band.Least != c.least {
			t.Errorf("%s: %q %q [%s] tone %d, %q", c.name, p.Headline, p.Detail, buttonsOf(p), p.Tone, p.Band.Least)
		}
		if got := len(p.Next) - 1; got != c.help {
			t.Errorf("%s: %d links of what to do: %+v", c.name, got, p.Next)
		}
	}
}

func TestABarThatCannotSendSaysWhy(t *testing.T) {
	f := askFacts()
	f.by = analyst
	if p := newProve(f); !strings.HasPrefix(p.Cannot, "Analysts cannot redrive") || buttonsOf(p) != "" || p.Ask != nil {
		t.Errorf("an analyst: %q, %s", p.Cannot, buttonsOf(p))
	}
	f = askFacts()
	f.known.byName["wiki"] = dlq.Source{Policy: dlq.DefaultPolicy("wiki")}
	if p := newProve(f); p.Cannot != "wiki has no redrive target, so nothing can be sent." || p.CannotDo.Href != "/sources/wiki" || p.Ask != nil {
		t.Errorf("without a target: %q %+v", p.Cannot, p.CannotDo)
	}
	f = askFacts()
	f.cohort.Counts = map[dlq.Status]int64{dlq.StatusResolved: 3}
	f.cohort.FailedUnder, f.proofs = nil, dlq.CohortProof{}
	if p := newProve(f); p.Question != "Nothing is stuck here now" || p.Headline != "So there is nothing to redrive." || len(p.Steps) != 0 {
		t.Errorf("nothing stuck: %+v", p)
	}
	f = askFacts()
	f.cohort.FailedUnder = []dlq.VersionCount{{Source: "wiki", Versions: dlq.Versions{"mapper": "1"}, Parked: 393}, {Source: "wiki", Versions: dlq.Versions{"mapper": "2"}, Parked: 16}}
	f.known.running["wiki"] = dlq.Running{"mapper": {"2"}}
	f.proofs = dlq.ProveCohort(f.cohort.FailedUnder, f.known.running, nil)
	if p := newProve(f); !strings.HasPrefix(p.Cannot, "The query language cannot say") || p.Ask != nil {
		t.Errorf("of a component without a key: %q", p.Cannot)
	}
}

func TestTheFilterOfTheBarFindsWhatItCoversAndNothingElse(t *testing.T) {
	group := func(source string, n int64, v dlq.Versions) dlq.VersionCount {
		return dlq.VersionCount{Source: source, Versions: v, Parked: n}
	}
	a, b := group("wiki", 3, dlq.Versions{"parser": "1", "chunker": "a"}), group("wiki", 2, dlq.Versions{"parser": "1", "chunker": "b"})
	c, d := group("leases", 1, dlq.Versions{"parser": "1", "chunker": "a"}), group("wiki", 1, dlq.Versions{"parser": `say "2"`})
	bare := group("wiki", 1, nil)
	for _, x := range []struct {
		name   string
		all    []dlq.VersionCount
		groups []dlq.VersionCount
		want   string
		ok     bool
	}{
		{"all", []dlq.VersionCount{a, b}, []dlq.VersionCount{a, b}, "cohort:01KB status:parked", true},
		{"nothing known", nil, nil, "cohort:01KB status:parked", true},
		{"one component tells", []dlq.VersionCount{a, b}, []dlq.VersionCount{a}, "cohort:01KB status:parked chunker:a", true},
		{"the source tells", []dlq.VersionCount{a, c}, []dlq.VersionCount{c}, "cohort:01KB status:parked source:leases", true},
		{"both", []dlq.VersionCount{a, b, c}, []dlq.VersionCount{a}, "cohort:01KB status:parked chunker:a source:wiki", true},
		{"versions named by some", []dlq.VersionCount{a, bare}, []dlq.VersionCount{a}, "cohort:01KB status:parked parser:1", true},
		{"nothing named", []dlq.VersionCount{a, bare}, []dlq.VersionCount{bare}, "", false},
		{"a quote", []dlq.VersionCount{a, d}, []dlq.VersionCount{d}, "", false},
		{"no rectangle", []dlq.VersionCount{a, b, c}, []dlq.VersionCount{b, c}, "", false},
		{"groups without documents", []dlq.VersionCount{a, group("wiki", 0, dlq.Versions{"parser": "9"})}, []dlq.VersionCount{a}, "cohort:01KB status:parked", true},
	} {
		got, ok := groupsQuery(dlq.Cohort{ID: "01KB", FailedUnder: x.all}, x.groups)
		if got != x.want || ok != x.ok {
			t.Errorf("%s: %q %v", x.name, got, ok)
		}
		if _, bad := dlq.ParseQuery(got); ok && len(bad) > 0 {
			t.Errorf("%s: %q is no query: %+v", x.name, got, bad)
		}
	}
}

// underWay are the facts of a redrive in steps of 393 documents.
func underWayFacts(state dlq.OperationState, asks dlq.OperationAsks, step int, steps ...dlq.OperationStep) proveFacts {
	f := askFacts()
	o := dlq.Operation{ID: "01OP", Kind: dlq.OperationRedrive, State: state, Asks: asks, Step: step, CohortID: "01KB", Query: "cohort:01KB status:parked parser:pdf@1", Total: 393, Sizes: []int64{1, 5, 25, 100, 262}, SameStops: true,
		Proof: &dlq.Forecast{Step: toPDF3("pdf@1"), Covers: 393}, Counts: map[dlq.ItemState]int64{dlq.ItemWaiting: 393}}
	var passed, failed int64
	for _, s := range steps {
		for state, n := range s.Counts {
			o.Counts[state] += n
			if state != dlq.ItemWaiting {
				o.Counts[dlq.ItemWaiting] -= n
			}
		}
		passed, failed = passed+s.Outcomes[dlq.OutcomeCommitted], failed+s.Outcomes[dlq.OutcomeFailed]
		if s.Step == step {
			o.StepWaiting = s.Counts[dlq.ItemWaiting]
			o.Counts[dlq.ItemWaiting] -= s.Counts[dlq.ItemWaiting]
		}
	}
	f.op, f.hasOp, f.steps = o, true, steps
	var tallies []dlq.ReplayTally
	if passed > 0 {
		tallies = append(tallies, replays(toPDF3("pdf@1"), dlq.VerdictFixedByCode, passed))
	}
	if failed > 0 {
		tallies = append(tallies, replays(toPDF3("pdf@1"), dlq.VerdictStillBroken, failed))
	}
	f.proof = dlq.ProofOfStep(o.Proof.Step, tallies)
	return f
}

func stood(step int, flying, passed, failed int64) dlq.OperationStep {
	return dlq.OperationStep{Step: step, Counts: map[dlq.ItemState]int64{dlq.ItemInFlight: flying, dlq.ItemSettled: passed + failed}, Outcomes: map[dlq.OutcomeResult]int64{dlq.OutcomeCommitted: passed, dlq.OutcomeFailed: failed}}
}

func notes(p components.Prove) string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, s.Note)
	}
	return strings.Join(out, "|")
}

func TestTheBarIsPlanProofProgressAndBrake(t *testing.T) {
	with := func(f proveFacts, change func(o *dlq.Operation)) proveFacts { change(&f.op); return f }
	for _, c := range []struct {
		name     string
		f        proveFacts
		headline string
		detail   string
		notes    string
		buttons  string
		states   string
	}{
		{"the first is on its way", underWayFacts(dlq.OperationRunning, "", 1, stood(1, 1, 0, 0)), "Waiting for the first outcome.", "1 is still in flight. Its replay tells what to expect of the others.", "1 in flight||||", "Cancel, Pause, Go on by itself, Send next 5, (Skip the steps)", "[2 0 0 0 0]"},
		{"between steps", underWayFacts(dlq.OperationPaused, dlq.AsksStep, 1, stood(1, 0, 1, 0)), "1 of 1 got past this error.", "Expect 81 to 392 of the 392 left to.", "passed||||", "Cancel, Go on by itself, Redrive the rest, Send next 5", "[3 1 0 0 0]"},
		{"in the second", underWayFacts(dlq.OperationRunning, "", 2, stood(1, 0, 1, 0), stood(2, 3, 2, 0)), "3 of 3 got past this error.", "Expect 171 to 390 of the 390 left to.", "passed|2 passed, 3 in flight|||", "Cancel, Pause, Go on by itself, Redrive the rest, Send next 25", "[3 2 0 0 0]"},
		{"by itself", with(underWayFacts(dlq.OperationRunning, "", 2, stood(1, 0, 1, 0), stood(2, 3, 2, 0)), func(o *dlq.Operation) { o.GoOn = true }), "3 of 3 got past this error.", "Expect 171 to 390 of the 390 left to.", "passed|2 passed, 3 in flight|||", "Cancel, Pause, Ask before each step, Redrive the rest, Send next 25", "[3 2 0 0 0]"},
		{"before the rest", underWayFacts(dlq.OperationPaused, dlq.AsksStep, 4, stood(1, 0, 1, 0), stood(2, 0, 5, 0), stood(3, 0, 25, 0), stood(4, 0, 100, 0)), "131 of 131 got past this error.", "Expect 255 to 262 of the 262 left to.", "passed|5 passed|25 passed|100 passed|", "Cancel, Redrive the rest", "[3 3 3 3 1]"},
		{"the rest", underWayFacts(dlq.OperationRunning, "", 5, stood(1, 0, 1, 0), stood(2, 0, 5, 0), stood(3, 0, 25, 0), stood(4, 0, 100, 0), stood(5, 8, 120, 0)), "251 of 251 got past this error.", "Expect 140 to 142 of the 142 left to.", "passed|5 passed|25 passed|100 passed|120 passed, 8 in flight", "Cancel, Pause", "[3 3 3 3 2]"},
		{"stopped", with(underWayFacts(dlq.OperationStopped, "", 1, stood(1, 0, 0, 1)), func(o *dlq.Operation) { o.Why = "a document failed in the same way in step 1" }), "Stopped at 1. 392 were not touched.", "New code still fails: pdf@3 raised the same error.", "failed the same||||", "Cancel, Go on anyway", "[4 0 0 0 0]"},
		{"stopped by too many", with(underWayFacts(dlq.OperationStopped, "", 3, stood(1, 0, 1, 0), stood(2, 0, 5, 0), stood(3, 4, 15, 6)), func(o *dlq.Operation) { o.Why = "6 of 27 failed, more than the share of 20 % at which it stops" }), "Stopped at 31. 362 were not touched.", "6 of 27 failed, more than the share of 20 % at which it stops. 4 are still in flight.", "passed|5 passed|15 passed, 6 failed, 4 in flight||", "Cancel, Go on anyway", "[3 3 4 0 0]"},
		{"paused", with(underWayFacts(dlq.OperationPaused, dlq.AsksPerson, 2, stood(1, 0, 1, 0), stood(2, 3, 2, 0)), func(o *dlq.Operation) { o.Why = "paused by reviewer@example.com" }), "Paused by reviewer@example.com. 3 are still in flight.", "3 of 3 got past this error. Expect 171 to 390 of the 390 left to.", "passed|2 passed, 3 in flight|||", "Cancel, Resume", "[3 2 0 0 0]"},
		{"time out", with(underWayFacts(dlq.OperationPaused, dlq.AsksTimeOut, 2, stood(1, 0, 1, 0), stood(2, 3, 2, 0)), func(o *dlq.Operation) { o.Why = "3 of step 2 have no outcome in the time that canaries have" }), "3 of step 2 have no outcome in the time that canaries have.", "Wait longer, or send the next step. 3 of 3 got past this error.", "passed|2 passed, 3 in flight|||", "Cancel, Wait longer, Go on by itself, Redrive the rest, Send next 25", "[3 2 1 0 0]"},
		{"target down", with(underWayFacts(dlq.OperationPaused, dlq.AsksTarget, 2, stood(1, 0, 1, 0), stood(2, 5, 0, 0)), func(o *dlq.Operation) { o.Why, o.TryAt = "5 deliveries in a row failed", noon }), "Target down: 5 deliveries in a row failed.", "Tried again at " + noon.Format("15:04") + " UTC. 1 of 1 got past this error.", "passed|5 in flight|||", "Cancel, Go on when the target answers, Go on now", "[3 2 0 0 0]"},
		{"target back", with(underWayFacts(dlq.OperationPaused, dlq.AsksTarget, 2, stood(1, 0, 1, 0), stood(2, 5, 0, 0)), func(o *dlq.Operation) {
			o.Why = "the target answers again; the redrive waits for somebody to resume it"
		}), "The target answers again; the redrive waits for somebody to resume it.", "1 of 1 got past this error.", "passed|5 in flight|||", "Cancel, Go on when the target answers, Go on now", "[3 2 0 0 0]"},
		{"target down, and it returns", with(underWayFacts(dlq.OperationPaused, dlq.AsksTarget, 2, stood(1, 0, 1, 0), stood(2, 5, 0, 0)), func(o *dlq.Operation) { o.Why, o.Returns, o.TryAt = "5 deliveries in a row failed", true, noon }), "Target down: 5 deliveries in a row failed.", "Tried again at " + noon.Format("15:04") + " UTC. It goes on by itself when the target answers. 1 of 1 got past this error.", "passed|5 in flight|||", "Cancel, Wait for me instead, Go on now", "[3 2 0 0 0]"},
	} {
		p := newProve(c.f)
		var states []int
		for _, s := range p.Steps {
			states = append(states, int(s.State))
		}
		c.notes = strings.TrimSuffix(c.notes, "|")
		if got := strings.TrimSuffix(strings.TrimSuffix(notes(p), "262"), "|"); got != c.notes && got+"|" != c.notes {
			t.Errorf("%s: notes %q", c.name, got)
		}
		if p.Headline != c.headline || p.Detail != c.detail || buttonsOf(p) != c.buttons || fmt.Sprint(states) != c.states {
			t.Errorf("%s:\n %q\n %q\n [%s] %v", c.name, p.Headline, p.Detail, buttonsOf(p), states)
		}
		if b := p.Band; b.Done > b.Low || b.Low > b.High || b.High > 100.001-b.Lost {
			t.Errorf("%s: the band is out of order: %+v", c.name, b)
		}
		for _, a := range p.Actions {
			if back := hiddenFields(components.Form{Fields: a.Fields})["back"]; back != "/cohorts/01KB" {
				t.Errorf("%s: %s leads back to %q", c.name, a.Label, back)
			}
		}
	}
}

func TestTheBandNarrowsWithEveryReplay(t *testing.T) {
	last := 0.0
	for _, n := range []int64{1, 3, 6, 31, 131} {
		b := bandOf(dlq.Proof{Passed: n, Of: n}, 393, n, 0)
		if b.Low <= last || b.High < 99.999 {
			t.Errorf("after %d: %+v, and before %g", n, b, last)
		}
		last = b.Low
	}
}

func TestWhoMayOnlyPauseSeesThatAlone(t *testing.T) {
	f := underWayFacts(dlq.OperationRunning, "", 2, stood(1, 0, 1, 0), stood(2, 3, 2, 0))
	f.by = analyst
	p := newProve(f)
	if buttonsOf(p) != "" || !strings.HasPrefix(p.Cannot, "Analysts cannot redrive") {
		t.Errorf("an analyst: %s, %q", buttonsOf(p), p.Cannot)
	}
	f.by.Role = dlq.RoleManager
	if p := newProve(f); buttonsOf(p) != "" && buttonsOf(p) != "Pause" {
		t.Errorf("a manager: %s", buttonsOf(p))
	}
}

func TestTheBarIsAboutTheRedriveUntilSomethingNewIsAsked(t *testing.T) {
	f := underWayFacts(dlq.OperationDone, "", 5, stood(1, 0, 1, 0), stood(5, 0, 392, 0))
	f.cohort.Counts, f.cohort.FailedUnder = map[dlq.Status]int64{dlq.StatusResolved: 393}, nil
	f.proofs = dlq.CohortProof{}
	if p := newProve(f); p.Headline != "393 of 393 got in." || p.Detail != "Nothing is stuck here now." || p.Tone != components.Good || buttonsOf(p) != "" || p.Band.Done != 100 {
		t.Errorf("done: %+v", p)
	}
	// Those under a version that still runs are no new question.
	f = underWayFacts(dlq.OperationDone, "", 5, stood(1, 0, 1, 0), stood(5, 0, 392, 0))
	f.cohort.Counts, f.cohort.FailedUnder = map[dlq.Status]int64{dlq.StatusParked: 16}, []dlq.VersionCount{{Source: "wiki", Versions: dlq.Versions{"parser": "pdf@3"}, Parked: 16}}
	f.proofs = dlq.ProveCohort(f.cohort.FailedUnder, f.known.running, nil)
	if p := newProve(f); p.Headline != "393 of 393 got in." || p.Others.Text != "16 under pdf@3, not tested" {
		t.Errorf("done, and others are left: %q %+v", p.Headline, p.Others)
	}
	// What the step covers and came since, or was left by a cancel, is asked anew.
	f = underWayFacts(dlq.OperationCancelled, "", 2, stood(1, 0, 1, 0))
	if p := newProve(f); p.Ask == nil || p.Covered != "393 like these" {
		t.Errorf("after a cancel: %+v", p)
	}
	// Nothing is stuck that it could ask of.
	f.cohort.Counts, f.cohort.FailedUnder, f.proofs = map[dlq.Status]int64{}, nil, dlq.CohortProof{}
	f.op.Counts = map[dlq.ItemState]int64{dlq.ItemSettled: 6, dlq.ItemCancelled: 387}
	if p := newProve(f); p.Headline != "Cancelled: 6 done, 0 in flight, 387 not started and free again." {
		t.Errorf("cancelled: %q", p.Headline)
	}
}
