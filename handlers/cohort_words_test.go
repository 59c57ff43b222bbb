package handlers

import (
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/views/components"
)

func TestNextStepTakesTheFirstRuleThatFits(t *testing.T) {
	calm := []int64{2, 2, 2, 2}
	for _, c := range []struct {
		name string
		s    situation
		verb string
		why  string
		tone components.Tone
		to   stepTarget
	}{
		{"an alert first, whatever else", situation{need: dlq.NeedLook, alerts: 1, parked: 9, quarantined: 3, expiring: 2, redriving: 1, untested: "parser 2", hasTarget: true}, "Look", "1 alert fires on it", components.Bad, toAlerts},
		{"what came back after its fix", situation{need: dlq.NeedLook, alerts: 1, back: 3, backUnder: "parser 2", parked: 9, hasTarget: true}, "Look", "3 failed under parser 2, its declared fix · alert", components.Bad, toCohort},
		{"a flood", situation{need: dlq.NeedLook, flood: true, parked: 1306, hasTarget: true, today: 1306, daysBefore: calm}, "Look", "1,306 arrivals today, 2 on a day before", components.Bad, toArrivals},
		{"a flood with an alert", situation{need: dlq.NeedLook, flood: true, alerts: 1, parked: 20, hasTarget: true, today: 20, daysBefore: []int64{0, 0}}, "Look", "20 arrivals today, 0 on a day before · alert", components.Bad, toArrivals},
		{"a declared fix is live", situation{need: dlq.NeedTest, untested: "parser 20251230", parked: 409, expiring: 3, quarantined: 2, hasTarget: true}, "Test the fix", "parser 20251230 is live", components.Plain, toRedrive},
		{"a declared fix without a target", situation{need: dlq.NeedTest, untested: "parser 2", parked: 9}, "Set a target", "parser 2 is live, and nothing can be sent", components.Plain, toSource},
		{"expiring before poison", situation{need: dlq.NeedDeadline, parked: 97, expiring: 22, quarantined: 3, fix: "parser 2", hasTarget: true}, "Decide", "22 leave within 7 days", components.Deadline, toExpiring},
		{"poison", situation{need: dlq.NeedVerdict, parked: 9, quarantined: 3, fix: "parser 2", hasTarget: true}, "Decide", "3 documents are in quarantine", components.Held, toQuarantine},
		{"one poison", situation{need: dlq.NeedVerdict, quarantined: 1}, "Decide", "1 document is in quarantine", components.Held, toQuarantine},
		{"what was decided", situation{need: dlq.NeedDecided, disposition: "needs_code", parked: 9, quarantined: 3, alerts: 1}, "Decided", "needs code", components.Plain, toCohort},
		{"on the way before sending more", situation{need: dlq.NeedNothing, parked: 97, redriving: 4, fix: "parser 2", hasTarget: true}, "Wait", "4 documents are being redriven", components.Plain, toFlight},
		{"a version that nobody declared a fix", situation{need: dlq.NeedNothing, parked: 409, fix: "parser 20251230", hasTarget: true, daysBefore: calm}, "Try one", "parser 20251230 runs now", components.Plain, toRedrive},
		{"one with a long name", situation{need: dlq.NeedNothing, parked: 9, fix: "intake-parser-for-leases@20251230", hasTarget: true}, "Try one", "20251230 runs now", components.Plain, toRedrive},
		{"a fix with nothing stuck", situation{need: dlq.NeedNothing, fix: "parser 2", hasTarget: true}, "", "nothing is stuck", components.Plain, toCohort},
		{"a fix that is not deployed", situation{need: dlq.NeedNothing, parked: 9, undeployed: "parser 20251230", hasTarget: true}, "Deploy", "parser 20251230 is declared a fix", components.Plain, toCohort},
		{"a proof that nobody used", situation{need: dlq.NeedProven, parked: 412, fix: "parser 2", hasTarget: true, proof: works}, "Redrive 396", "fix works, 3 of 3", components.Plain, toRedrive},
		{"a proof without a target", situation{need: dlq.NeedProven, parked: 412, fix: "parser 2", proof: works}, "Set a target", "fix works, 3 of 3, and nothing can be sent", components.Plain, toSource},
		{"a proof between two steps", situation{need: dlq.NeedProven, parked: 412, hasTarget: true, proof: works, redrive: &dlq.Operation{State: dlq.OperationPaused, Asks: dlq.AsksStep, Step: 1, Sizes: []int64{1, 5, 390}}}, "Send next 5", "fix works, 3 of 3", components.Plain, toRedrive},
		{"a redrive that stopped", situation{need: dlq.NeedLook, parked: 396, hasTarget: true, redrive: stopped}, "Look", "stopped at 1, 395 were not touched", components.Bad, toRedrive},
		{"a redrive that stopped, with its alert", situation{need: dlq.NeedLook, alerts: 1, parked: 396, hasTarget: true, redrive: stopped}, "Look", "stopped at 1, 395 were not touched · alert", components.Bad, toRedrive},
		{"a redrive whose target is down", situation{need: dlq.NeedNothing, parked: 9, redriving: 2, redrive: &dlq.Operation{State: dlq.OperationPaused, Asks: dlq.AsksTarget}}, "Look", "its redrive is paused: the target is down", components.Held, toRedrive},
		{"a redrive that somebody paused", situation{need: dlq.NeedNothing, parked: 9, redrive: &dlq.Operation{State: dlq.OperationPaused, Asks: dlq.AsksPerson}}, "Resume", "its redrive is paused", components.Plain, toRedrive},
		{"a redrive under way, before its proof", situation{need: dlq.NeedNothing, parked: 9, hasTarget: true, proof: works, redrive: &dlq.Operation{State: dlq.OperationRunning}}, "Wait", "its redrive is under way", components.Plain, toRedrive},
		{"a fix for some", situation{need: dlq.NeedNothing, parked: 9, fix: "parser 2", hasTarget: true, proof: dlq.Proof{State: dlq.ProofMixed, Passed: 3, Of: 5, Covers: 9}}, "Split", "works for some, 3 of 5", components.Held, toRedrive},
		{"a fix that is none", situation{need: dlq.NeedNothing, parked: 9, fix: "parser 2", hasTarget: true, proof: dlq.Proof{State: dlq.ProofRefuted, Of: 2, Covers: 9}}, "Look", "not fixed, 0 of 2", components.Plain, toReplays},
		{"a fix that probably is one", situation{need: dlq.NeedNothing, parked: 9, fix: "parser 2", hasTarget: true, proof: dlq.Proof{State: dlq.ProofPresumed, Passed: 1, Of: 1, Covers: 9}}, "Redrive 9", "probably works, 1 of 1", components.Plain, toRedrive},
		{"a proof of what does not run any more", situation{need: dlq.NeedNothing, parked: 9, fix: "parser 3", hasTarget: true, proof: dlq.Proof{State: dlq.ProofLapsed, Passed: 3, Of: 3, Covers: 9}}, "Test again", "what was tested does not run any more", components.Plain, toRedrive},
		{"what passes unchanged", situation{need: dlq.NeedNothing, parked: 9, hasTarget: true, proof: dlq.Proof{State: dlq.ProofLooksTransient, Passed: 9, Of: 9, Covers: 9}}, "Look", "passes unchanged, 9 of 9", components.Plain, toReplays},
		{"a fix that led to the next defect alone", situation{need: dlq.NeedNothing, parked: 9, fix: "parser 2", hasTarget: true, proof: dlq.Proof{State: dlq.ProofNone, Past: 2, Covers: 9}}, "Look", "2 replays got past it and failed on another", components.Plain, toReplays},
		{"a declared fix whose replays tell nothing", situation{need: dlq.NeedNothing, parked: 9, fix: "parser 2", declared: true, hasTarget: true}, "Look", "what was sent since parser 2 is live proves nothing", components.Plain, toReplays},
		{"a version without a target", situation{need: dlq.NeedNothing, parked: 9, fix: "parser 2"}, "Set a target", "parser 2 runs now, and nothing can be sent", components.Plain, toSource},
		{"no target", situation{need: dlq.NeedNothing, parked: 9}, "Set a target", "without one nothing can be redriven", components.Plain, toSource},
		{"nothing known", situation{need: dlq.NeedNothing, parked: 9, hasTarget: true}, "Look", "no version has changed since", components.Plain, toCohort},
	} {
		got := nextStep(c.s)
		if want := (step{c.verb, c.why, c.tone, c.to}); got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

func TestAFixIsAVersionThatNothingStuckFailedUnder(t *testing.T) {
	under := func(source, parser string, n int64) dlq.VersionCount {
		return dlq.VersionCount{Source: source, Versions: dlq.Versions{"parser": parser, "connector": "c1"}, Parked: n}
	}
	for _, c := range []struct {
		name    string
		under   []dlq.VersionCount
		running map[string]dlq.Running
		want    string
	}{
		{"none runs", []dlq.VersionCount{under("wiki", "1", 3)}, nil, ""},
		{"the same runs", []dlq.VersionCount{under("wiki", "1", 3)}, map[string]dlq.Running{"wiki": {"parser": {"1"}, "connector": {"c1"}}}, ""},
		{"another runs", []dlq.VersionCount{under("wiki", "1", 3)}, map[string]dlq.Running{"wiki": {"parser": {"2"}, "connector": {"c1"}}}, "parser 2"},
		{"some failed under what runs", []dlq.VersionCount{under("wiki", "1", 3), under("wiki", "2", 1)}, map[string]dlq.Running{"wiki": {"parser": {"2"}}}, ""},
		{"a roll-back is a fix too", []dlq.VersionCount{under("wiki", "2", 3)}, map[string]dlq.Running{"wiki": {"parser": {"1"}}}, "parser 1"},
		{"during a rolling deploy", []dlq.VersionCount{under("wiki", "1", 3)}, map[string]dlq.Running{"wiki": {"parser": {"1", "2"}}}, "parser 2"},
		{"the parser before the connector", []dlq.VersionCount{under("wiki", "1", 3)}, map[string]dlq.Running{"wiki": {"parser": {"2"}, "connector": {"c2"}}}, "parser 2"},
		{"in another source", []dlq.VersionCount{under("wiki", "1", 3)}, map[string]dlq.Running{"leases": {"parser": {"2"}}}, ""},
		{"a component that no failure names", []dlq.VersionCount{under("wiki", "1", 3)}, map[string]dlq.Running{"wiki": {"embedder": {"9"}}}, ""},
	} {
		component, version, ok := liveFix(dlq.Cohort{FailedUnder: c.under}, c.running)
		got := strings.TrimSpace(component + " " + version)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhatRunsNowIsSaidBesideWhatFailed(t *testing.T) {
	v := dlq.Versions{"parser": "pdf@1"}
	for _, c := range []struct {
		running dlq.Running
		words   string
		other   bool
	}{
		{nil, "not reported", false},
		{dlq.Running{"parser": {"pdf@1"}}, "same", false},
		{dlq.Running{"parser": {"pdf@2"}}, "pdf@2 runs now", true},
		{dlq.Running{"parser": {"other@2"}}, "other@2 runs now", true},
		{dlq.Running{"parser": {"pdf@1", "pdf@2"}}, "still runs, beside 1 more", false},
	} {
		words, other := runsNow(v, c.running)
		if words.String() != c.words || other != c.other {
			t.Errorf("%v: %q %v, want %q %v", c.running, words, other, c.words, c.other)
		}
	}
}

func TestReplaysAreCountedAndNotConcludedFrom(t *testing.T) {
	settled := func(o dlq.OutcomeResult) dlq.Redrive { return dlq.Redrive{State: dlq.RedriveSettled, Outcome: o} }
	three := []dlq.Redrive{settled(dlq.OutcomeCommitted), settled(dlq.OutcomeSkipped), settled(dlq.OutcomeFailed)}
	if got := summarise(three).words(); got != "3 replays · 2 passed" {
		t.Errorf("got %q", got)
	}
	if got := summarise(append(three, dlq.Redrive{State: dlq.RedriveDelivered})).words(); got != "4 replays · 2 passed · 1 in flight" {
		t.Errorf("got %q", got)
	}
	if got := summarise(append(three, dlq.Redrive{State: dlq.RedrivePending})).words(); got != "3 replays · 2 passed · 1 to be sent" {
		t.Errorf("what waits is said to be a replay: %q", got)
	}
	many := make([]dlq.Redrive, replaysLooked)
	for i := range many {
		many[i] = settled(dlq.OutcomeFailed)
	}
	if got := summarise(many).words(); got != "Last 50 replays · 0 passed" {
		t.Errorf("older replays are passed over in silence: %q", got)
	}
}

func TestOnlyALongVersionLosesItsProgram(t *testing.T) {
	for version, want := range map[string]string{"p@3": "p@3", "a-parser-of-24-letters@1": "a-parser-of-24-letters@1", "a-parser-of-25-letters-@1": "1"} {
		if got := versionBeside(version, version); got != want {
			t.Errorf("beside its like, %s is %s, want %s", version, got, want)
		}
		if got := shortVersion(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

func TestWhoFailsOnAnotherErrorGotPastThisOne(t *testing.T) {
	fixed, next, broken := passed(), passed(), passed()
	next.Outcome, next.FailedCohort, next.OutcomeCohort = dlq.OutcomeFailed, "01A", "01B"
	broken.Outcome, broken.FailedCohort, broken.OutcomeCohort = dlq.OutcomeFailed, "01A", "01A"
	s := summarise([]dlq.Redrive{fixed, fixed, next, broken})
	if got := s.words(); got != "4 replays · 2 passed · 1 got past it and failed on another" {
		t.Errorf("got %q", got)
	}
	if got := s.proof(); got != "3 of 4 replays that tested the code got past this error." {
		t.Errorf("got %q", got)
	}
	same := passed()
	same.FailedUnder = dlq.Versions{"parser": "2025"}
	if got := summarise([]dlq.Redrive{same}).proof(); got != "" {
		t.Errorf("code that did not change is said to be a fix: %q", got)
	}
}

func TestASituationIsReadFromTheCohort(t *testing.T) {
	c := dlq.Cohort{
		Counts:  map[dlq.Status]int64{dlq.StatusParked: 9, dlq.StatusQuarantined: 1, dlq.StatusRedriving: 2},
		Sources: []string{"hidden", "wiki", "leases"}, Expiring: 4, Daily: []int64{1, 2, 30},
		FailedUnder: []dlq.VersionCount{{Source: "wiki", Versions: dlq.Versions{"parser": "1"}, Parked: 9}},
		Standing:    dlq.CohortStanding{Proof: dlq.CohortProof{Proofs: []dlq.Proof{works, {Covers: 1}}}, Redrive: stopped},
	}
	c.Standing.Proof.Proofs[0].Covers = 9
	known := knownSources{
		byName:  map[string]dlq.Source{"wiki": {Policy: dlq.SourcePolicy{Name: "wiki"}}, "leases": {Policy: dlq.SourcePolicy{Name: "leases", Redrive: dlq.RedrivePolicy{URL: "https://pipeline.example.com"}}}},
		running: map[string]dlq.Running{"wiki": {"parser": {"2"}}},
	}
	s := situationOf(c, known, noon)
	if s.parked != 9 || s.quarantined != 1 || s.redriving != 2 || s.expiring != 4 || s.fix != "parser 2" || s.today != 30 || len(s.daysBefore) != 2 || !s.hasTarget || s.source != "wiki" || s.proof.Covers != 9 || s.redrive == nil {
		t.Errorf("got %+v", s)
	}
}

func TestTheOldestIsToldByItsAge(t *testing.T) {
	if got := oldestWords(dlq.Cohort{Oldest: noon.Add(-94 * 24 * time.Hour)}, noon); got != "94 d" {
		t.Errorf("got %q", got)
	}
	if got := oldestWords(dlq.Cohort{}, noon); got != "" {
		t.Errorf("nothing is stuck, and the oldest is %q", got)
	}
}
