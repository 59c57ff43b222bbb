package dlq

import (
	"testing"
	"time"
)

var provedAt = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func moved(component, from, to string) VersionStep {
	return VersionStep{Moved: []ComponentMove{{component, from, []string{to}}}}
}

func replays(step VersionStep, verdict VerdictName, presumed bool, n int64) ReplayTally {
	return ReplayTally{Source: "wiki", Step: step, Verdict: verdict, Presumed: presumed, Replays: n, Last: provedAt}
}

// The table of proofs: what was replayed, and what that proves of 409 documents
// that failed under parser 1 where parser 2 runs.
func TestTheTableOfProofs(t *testing.T) {
	step := moved("parser", "1", "2")
	fixed, broken := VerdictFixedByCode, VerdictStillBroken
	for name, c := range map[string]struct {
		tallies    []ReplayTally
		under2     int64
		runs       string
		want       ProofState
		passed, of int64
	}{
		"nothing was replayed":                           {want: ProofNone},
		"one counts for itself alone":                    {tallies: []ReplayTally{replays(step, VerdictUndetermined, false, 4)}, want: ProofNone},
		"one got past it and failed elsewhere":           {tallies: []ReplayTally{replays(step, VerdictNextDefect, false, 1)}, want: ProofNone},
		"three passed":                                   {tallies: []ReplayTally{replays(step, fixed, false, 3)}, want: ProofProven, passed: 3, of: 3},
		"three passed, presumed":                         {tallies: []ReplayTally{replays(step, fixed, true, 3)}, want: ProofPresumed, passed: 3, of: 3},
		"three of five":                                  {tallies: []ReplayTally{replays(step, fixed, false, 3), replays(step, broken, false, 2)}, want: ProofMixed, passed: 3, of: 5},
		"two failed":                                     {tallies: []ReplayTally{replays(step, broken, false, 2)}, want: ProofRefuted, of: 2},
		"a presumed failure does not refute a pass":      {tallies: []ReplayTally{replays(step, fixed, false, 3), replays(step, broken, true, 2)}, want: ProofProven, passed: 3, of: 3},
		"a presumed failure speaks against presumed":     {tallies: []ReplayTally{replays(step, fixed, true, 3), replays(step, broken, true, 2)}, want: ProofMixed, passed: 3, of: 5},
		"a certain failure speaks against presumed":      {tallies: []ReplayTally{replays(step, fixed, true, 3), replays(step, broken, false, 1)}, want: ProofMixed, passed: 3, of: 4},
		"an arrival under what was replayed":             {tallies: []ReplayTally{replays(step, fixed, false, 3)}, under2: 1, want: ProofMixed, passed: 3, of: 3},
		"the parser was deployed anew":                   {tallies: []ReplayTally{replays(step, fixed, false, 3)}, runs: "3", want: ProofLapsed, passed: 3, of: 3},
		"a rollback to what was proven":                  {tallies: []ReplayTally{replays(step, fixed, false, 3), replays(moved("parser", "1", "3"), broken, false, 1)}, want: ProofProven, passed: 3, of: 3},
		"five passed with nothing changed":               {tallies: []ReplayTally{replays(VersionStep{}, VerdictTransient, false, 5)}, want: ProofLooksTransient, passed: 5, of: 5},
		"four are too few":                               {tallies: []ReplayTally{replays(VersionStep{}, VerdictTransient, false, 4)}, want: ProofNone},
		"what fails with new code is not transient":      {tallies: []ReplayTally{replays(VersionStep{}, VerdictTransient, false, 5), replays(moved("parser", "0", "2"), broken, false, 1)}, want: ProofNone},
		"what passed from another version says nothing":  {tallies: []ReplayTally{replays(moved("parser", "0", "2"), fixed, false, 9)}, want: ProofNone},
		"a step in which more moved says nothing either": {tallies: []ReplayTally{replays(VersionStep{Moved: []ComponentMove{{"parser", "1", []string{"2"}}, {"chunker", "a", []string{"b"}}}}, fixed, false, 9)}, want: ProofNone},
	} {
		t.Run(name, func(t *testing.T) {
			runs := "2"
			if c.runs != "" {
				runs = c.runs
			}
			under := []VersionCount{{"wiki", Versions{"parser": "1"}, 409}, {"wiki", Versions{"parser": "2"}, c.under2}}
			got := ProveCohort(under, map[string]Running{"wiki": {"parser": {runs}}}, c.tallies).Of("wiki", Versions{"parser": "1"})
			if got.State != c.want || got.Passed != c.passed || got.Of != c.of || got.Covers != 409 {
				t.Errorf("%s, %d of %d for %d; want %s, %d of %d for 409", got.State, got.Passed, got.Of, got.Covers, c.want, c.passed, c.of)
			}
		})
	}
}

// The figures are those that people are promised to see.
func TestTheForecastIsTheWilsonIntervalInWholeDocuments(t *testing.T) {
	step := moved("parser", "1", "2")
	p := ProveCohort([]VersionCount{{"wiki", Versions{"parser": "1"}, 409}}, map[string]Running{"wiki": {"parser": {"2"}}}, []ReplayTally{replays(step, VerdictFixedByCode, false, 3)}).Shown()
	if p.Low != 179 || p.High != 409 {
		t.Errorf("3 of 3 give %d to %d of 409, want 179 to 409", p.Low, p.High)
	}
	for k, want := range map[int64]int{1: 21, 6: 61, 31: 89, 131: 97} {
		low, high := Wilson(k, k)
		if int(low*100+0.5) != want || high < 0.9999 {
			t.Errorf("%d of %d give at least %.1f %% and at most %.1f %%, want %d and 100", k, k, 100*low, 100*high, want)
		}
	}
	if low, high := Wilson(0, 2); low != 0 || high > 0.66 || high < 0.65 {
		t.Errorf("0 of 2 give %.3f to %.3f, want 0 to 0.658", low, high)
	}
	if low, high := Wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("nothing gives %.3f to %.3f", low, high)
	}
}

func TestAProofSpeaksOfItsOwnStepAlone(t *testing.T) {
	step := moved("parser", "1", "2")
	under := []VersionCount{{"wiki", Versions{"parser": "0"}, 16}, {"wiki", Versions{"parser": "1"}, 393}, {"leases", Versions{"parser": "1"}, 10}, {"mail", Versions{"parser": "1"}, 4}}
	running := map[string]Running{"wiki": {"parser": {"2"}}, "leases": {"parser": {"1"}}}
	proof := ProveCohort(under, running, []ReplayTally{replays(step, VerdictFixedByCode, false, 1)})
	if shown := proof.Shown(); shown.State != ProofProven || shown.Covers != 393+4 || proof.NotCovered() != 16+10 {
		t.Errorf("%s covers %d, %d are not tested; want proven, 397 and 26: where nobody reports what runs, what the replays named is taken", shown.State, shown.Covers, proof.NotCovered())
	}
	for source, want := range map[string]ProofState{"wiki": ProofProven, "leases": ProofNone, "mail": ProofProven} {
		if got := proof.Of(source, Versions{"parser": "1"}); got.State != want {
			t.Errorf("a document of %s: %s, want %s", source, got.State, want)
		}
	}
	if got := proof.Of("wiki", Versions{"parser": "0"}); got.State != ProofNone || got.Low != 0 || got.High != 0 {
		t.Errorf("under another version: %+v", got)
	}
}

func TestAStepOfWhatNobodyReports(t *testing.T) {
	failed := Versions{"parser": "1"}
	step := StepBetween(failed, nil, nil)
	if step.Known() || step.None() || !step.Covers(failed, nil) || step.Covers(Versions{"parser": "0"}, nil) || step.Covers(failed, Running{"parser": {"2"}}) {
		t.Errorf("%+v", step)
	}
	if again := ParseVersionStep(step.Key()); again.Key() != step.Key() {
		t.Errorf("%s is read as %s", step.Key(), again.Key())
	}
	rolling := StepBetween(failed, nil, Running{"parser": {"3", "2"}})
	if rolling.To() != "parser 2 or 3" || !rolling.Covers(failed, Running{"parser": {"2", "3"}}) || rolling.Covers(failed, Running{"parser": {"2"}}) {
		t.Errorf("%+v", rolling)
	}
	if none := StepBetween(failed, failed, nil); !none.None() || none.Key() != "" {
		t.Errorf("%+v", none)
	}
}
