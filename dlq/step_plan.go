package dlq

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

// ItemStratum is an item to choose canaries from: like items have one stratum.
type ItemStratum struct {
	Position int64
	Stratum  int64
	Held     bool // the stored copy is of the failure, so that a replay of it tests the code
}

// StepPlan says which items go in which step before the rest.
type StepPlan struct {
	Sizes  []int64   // of all steps, the rest last
	Chosen [][]int64 // positions, of every step but the rest
}

// PlanSteps chooses the canaries of an operation: across the strata and not the
// first rows, those first whose stored copy tests the code. The largest stratum
// comes first, so that the first canary is of what there is most of. The choice
// depends on the seed alone, so that a plan can be made again.
func PlanSteps(items []ItemStratum, canary []int, seed string) StepPlan {
	order := spread(items, seed)
	var plan StepPlan
	for _, n := range canary {
		if len(order) <= n { // what is left is no more than the canary: it is the rest
			break
		}
		positions := make([]int64, n)
		for i, item := range order[:n] {
			positions[i] = item.Position
		}
		slices.Sort(positions)
		plan.Chosen, plan.Sizes, order = append(plan.Chosen, positions), append(plan.Sizes, int64(n)), order[n:]
	}
	plan.Sizes = append(plan.Sizes, int64(len(order)))
	return plan
}

// spread orders items so that every beginning of the order is spread over the
// strata.
func spread(items []ItemStratum, seed string) []ItemStratum {
	strata := map[int64][]ItemStratum{}
	for _, i := range items {
		strata[i.Stratum] = append(strata[i.Stratum], i)
	}
	list := make([][]ItemStratum, 0, len(strata))
	for _, s := range strata {
		slices.SortFunc(s, func(a, b ItemStratum) int {
			return cmp.Or(heldFirst(a)-heldFirst(b), cmp.Compare(shuffled(seed, a.Position), shuffled(seed, b.Position)), cmp.Compare(a.Position, b.Position))
		})
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b []ItemStratum) int {
		return cmp.Or(heldFirst(a[0])-heldFirst(b[0]), cmp.Compare(len(b), len(a)), cmp.Compare(a[0].Stratum, b[0].Stratum))
	})
	out := make([]ItemStratum, 0, len(items))
	for round := 0; len(out) < len(items); round++ {
		for _, s := range list {
			if round < len(s) {
				out = append(out, s[round])
			}
		}
	}
	return out
}

func heldFirst(i ItemStratum) int {
	if i.Held {
		return 0
	}
	return 1
}

func shuffled(seed string, position int64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", seed, position)
	return h.Sum64()
}

// StopsAfter says why a redrive stops after a failure, if it does: at the first in
// the same cohort, where it goes in steps; and where the failures of any kind are
// too large a share of what is settled. Same says that the failure that came is one
// in the same cohort, on bytes that are not known to have changed.
func (o Operation) StopsAfter(steps []OperationStep, same bool) string {
	if same && o.SameStops && len(o.Sizes) > 1 {
		return fmt.Sprintf(sameFailure+" in step %d", o.Step)
	}
	var settled, failed int64
	for _, s := range steps {
		for _, r := range []OutcomeResult{OutcomeCommitted, OutcomeSkipped, OutcomeSuperseded, OutcomeFailed} {
			settled += s.Outcomes[r]
		}
		failed += s.Outcomes[OutcomeFailed]
	}
	settled, failed = settled-o.BaseSettled, failed-o.BaseFailed
	share := cmp.Or(o.StopShare, DefaultStopShare)
	if settled >= StopLeast && float64(failed) > share*float64(settled) {
		return fmt.Sprintf("%d of %d failed, more than the share of %g %% at which it stops", failed, settled, 100*share)
	}
	return ""
}

// WhatHelps says what can be done with an operation that does not go on.
func WhatHelps(o Operation) string {
	switch o.State {
	case OperationStopped, OperationPaused:
		return "resume it, or cancel it"
	case OperationPreparing:
		return "it is being prepared"
	}
	return "it has ended"
}
