package dlq

import (
	"fmt"
	"testing"
)

func TestAStepIsProvenByTheReplaysThatMadeIt(t *testing.T) {
	move := func(from string, to ...string) VersionStep {
		return VersionStep{Moved: []ComponentMove{{Component: "parser", From: from, To: to}}}
	}
	tally := func(step VersionStep, verdict VerdictName, n int64) ReplayTally {
		return ReplayTally{Source: "wiki", Step: step, Verdict: verdict, Replays: n}
	}
	unreported := VersionStep{Unreported: Versions{"parser": "1"}}
	for _, c := range []struct {
		name    string
		planned VersionStep
		tallies []ReplayTally
		want    string
	}{
		{"none", move("1", "2"), nil, "none 0 of 0"},
		{"the same step", move("1", "2"), []ReplayTally{tally(move("1", "2"), VerdictFixedByCode, 3)}, "proven 3 of 3"},
		{"one of those that ran then", move("1", "2", "3"), []ReplayTally{tally(move("1", "3"), VerdictFixedByCode, 3), tally(move("1", "2"), VerdictStillBroken, 1)}, "mixed 3 of 4"},
		{"from elsewhere", move("1", "2"), []ReplayTally{tally(move("0", "2"), VerdictFixedByCode, 3)}, "none 0 of 0"},
		{"to elsewhere", move("1", "2"), []ReplayTally{tally(move("1", "4"), VerdictStillBroken, 3)}, "none 0 of 0"},
		{"nobody reported", unreported, []ReplayTally{{Step: unreported, Verdict: VerdictFixedByCode, Presumed: true, Replays: 2}}, "presumed 2 of 2"},
	} {
		p := ProofOfStep(c.planned, c.tallies)
		if got := fmt.Sprintf("%s %d of %d", p.State, p.Passed, p.Of); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestStepsAreAsLargeAsTheyAreTaken(t *testing.T) {
	canary := []int{1, 5, 25, 100}
	for _, n := range []int64{1, 2, 6, 7, 31, 32, 131, 132, 400} {
		items := make([]ItemStratum, n)
		for i := range items {
			items[i].Position = int64(i + 1)
		}
		if got, want := StepSizes(n, canary), PlanSteps(items, canary, "x").Sizes; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d documents go in %v, and are said to go in %v", n, want, got)
		}
	}
}
