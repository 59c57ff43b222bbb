package dlq

import (
	"slices"
	"strings"
)

// ProofOfStep concludes from the replays of one step of versions alone, whatever
// is still parked: what an operation shows that was begun for that step. The step
// was written down before anything was sent; a replay that names what it ran under
// counts for it where it began at the same versions and led to one of those that
// ran then.
func ProofOfStep(step VersionStep, tallies []ReplayTally) Proof {
	var of []ReplayTally
	for _, t := range tallies {
		if t.Step.within(step) {
			of = append(of, t)
		}
	}
	p := Proof{Step: step}
	p.conclude(of, false, nil)
	return p
}

// within says whether a step is another one as it was made: with the same moves,
// each to one of the versions that were known to run.
func (s VersionStep) within(planned VersionStep) bool {
	if !planned.Known() || !s.Known() {
		return s.Key() == planned.Key()
	}
	for _, m := range s.Moved {
		if !slices.ContainsFunc(planned.Moved, func(p ComponentMove) bool {
			return p.Component == m.Component && p.From == m.From && slices.ContainsFunc(m.To, func(to string) bool { return slices.Contains(p.To, to) })
		}) {
			return false
		}
	}
	return true
}

// StepSizes are the sizes of the steps in which n documents would go, the rest
// last: as PlanSteps takes them.
func StepSizes(n int64, canary []int) []int64 {
	var sizes []int64
	for _, c := range canary {
		if n <= int64(c) {
			break
		}
		sizes, n = append(sizes, int64(c)), n-int64(c)
	}
	return append(sizes, n)
}

// sameFailure begins the reason of an operation that the first failure in the same
// cohort stopped.
const sameFailure = "a document failed in the same way"

// StoppedAtSame says whether the operation stopped because a document failed in
// the same way again, and not because too many failed in whatever way.
func (o Operation) StoppedAtSame() bool {
	return o.State == OperationStopped && strings.HasPrefix(o.Why, sameFailure)
}

// Untouched is how many documents of an operation nothing was sent of.
func (o Operation) Untouched() int64 { return o.Counts[ItemWaiting] + o.Unsent }

// Sent is how many documents of an operation something was sent of, or that were
// settled without.
func (o Operation) Sent() int64 { return o.Counts[ItemSettled] + o.Counts[ItemInFlight] - o.Unsent }
