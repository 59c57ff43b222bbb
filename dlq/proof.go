package dlq

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// ProofState is what the verdicts of one step of versions allow to be concluded
// for the documents that were not replayed yet.
type ProofState string

// The states of a proof.
const (
	ProofNone           ProofState = "none"
	ProofProven         ProofState = "proven"
	ProofPresumed       ProofState = "presumed"
	ProofMixed          ProofState = "mixed"
	ProofRefuted        ProofState = "refuted"
	ProofLapsed         ProofState = "lapsed"
	ProofLooksTransient ProofState = "looks_transient"
)

// ProofStates lists the states in the order in which the first that fits wins.
var ProofStates = []ProofState{ProofLapsed, ProofMixed, ProofRefuted, ProofProven, ProofPresumed, ProofLooksTransient, ProofNone}

// TransientLeast is how many replays that passed with nothing changed make a
// cohort look transient.
const TransientLeast = 5

// LooksTransient says whether so many replays that passed with nothing changed, and
// so many that failed again with new code, make a cohort look transient.
func LooksTransient(transient, stillBroken int64) bool {
	return transient >= TransientLeast && stillBroken == 0
}

// ReplayTally counts the replays of one cohort and source that say the same.
type ReplayTally struct {
	Source   string
	Step     VersionStep
	Verdict  VerdictName
	Presumed bool
	Replays  int64
	Last     time.Time // the last of them was settled
}

// Proof is what is known of one step of versions.
type Proof struct {
	State ProofState
	Step  VersionStep
	// Passed of Of replays that count for others got past the error: where some
	// passed for certain these alone, and the failures that speak against them.
	// Of looks_transient: those that passed with nothing changed, of those that
	// were replayed with nothing changed.
	Passed, Of int64
	Past       int64          // replays that got past it and failed on another defect: each counts for itself
	Covers     int64          // parked documents that it speaks of
	Groups     []VersionCount // those documents by source and version set
	Low, High  int64          // how many of Covers are expected to get past the error; both 0 without replays that count
	Last       time.Time      // the last replay that counts
}

// Least is the least share that is expected to get past the error, 0 to 1.
func (p Proof) Least() float64 { low, _ := Wilson(p.Passed, p.Of); return low }

// CohortProof is what is known of a cohort, step by step: that which covers most
// of its parked documents first.
type CohortProof struct {
	Proofs []Proof
	Parked int64
}

// Shown is the proof that a cohort goes by: that which covers most of what is
// parked. One without parked documents shows the last that there was.
func (c CohortProof) Shown() Proof {
	if len(c.Proofs) == 0 {
		return Proof{State: ProofNone}
	}
	return c.Proofs[0]
}

// NotCovered is how many parked documents the shown proof says nothing of.
func (c CohortProof) NotCovered() int64 { return c.Parked - c.Shown().Covers }

// Of gives the proof of a document that failed under versions in a source.
func (c CohortProof) Of(source string, v Versions) Proof {
	for _, p := range c.Proofs {
		for _, g := range p.Groups {
			if g.Source == source && g.Versions.Canonical() == v.Canonical() {
				return p
			}
		}
	}
	return Proof{State: ProofNone}
}

// ProveCohort concludes from the replays of a cohort. Under has its parked
// documents by source and version set, running what runs in each source. Groups
// without documents (Parked 0) get their proof too, so that single documents in
// other states can be asked for.
func ProveCohort(under []VersionCount, running map[string]Running, tallies []ReplayTally) CohortProof {
	var out CohortProof
	steps := stepsOf(tallies)
	transient, unmoved, broken := int64(0), int64(0), int64(0)
	for _, t := range tallies {
		switch t.Verdict {
		case VerdictTransient:
			transient += t.Replays
		case VerdictUnmoved, VerdictUnstable:
			unmoved += t.Replays
		case VerdictStillBroken:
			broken += t.Replays
		}
	}
	byKey := map[string]*Proof{}
	for _, g := range under {
		out.Parked += g.Parked
		step, lapsed := stepFor(g, running[g.Source], steps)
		key := step.Key()
		if lapsed {
			key = "lapsed " + key
		}
		p := byKey[key]
		if p == nil {
			p = &Proof{Step: step}
			p.conclude(steps[step.Key()], lapsed, under)
			if p.State == ProofNone && LooksTransient(transient, broken) {
				p.State, p.Passed, p.Of = ProofLooksTransient, transient, transient+unmoved
			}
			byKey[key] = p
		}
		p.Covers += g.Parked
		p.Groups = append(p.Groups, g)
	}
	for key, tallies := range steps { // what was proved of documents that are not stuck any more
		if byKey[key] == nil && byKey["lapsed "+key] == nil && !tallies[0].Step.None() && !lastCounting(tallies).IsZero() {
			byKey[key] = &Proof{Step: tallies[0].Step}
			byKey[key].conclude(tallies, false, under)
		}
	}
	for _, p := range byKey {
		p.forecast()
		out.Proofs = append(out.Proofs, *p)
	}
	out.order()
	return out
}

// forecast says how many of the covered documents are expected to get past the
// error.
func (p *Proof) forecast() {
	p.Low, p.High = 0, 0
	if p.Of > 0 && p.State != ProofLooksTransient && p.State != ProofLapsed {
		low, high := Wilson(p.Passed, p.Of)
		p.Low, p.High = int64(math.Round(low*float64(p.Covers))), int64(math.Round(high*float64(p.Covers)))
	}
}

// order puts that first which covers most.
func (c CohortProof) order() {
	slices.SortFunc(c.Proofs, func(a, b Proof) int {
		return cmp.Or(cmp.Compare(b.Covers, a.Covers), b.Last.Compare(a.Last), cmp.Compare(b.Of, a.Of), cmp.Compare(a.Step.Key(), b.Step.Key()))
	})
}

// stepsOf gathers the tallies by step.
func stepsOf(tallies []ReplayTally) map[string][]ReplayTally {
	out := map[string][]ReplayTally{}
	for _, t := range tallies {
		key := t.Step.Key()
		out[key] = append(out[key], t)
	}
	return out
}

// stepFor finds the step that a group of documents would make now: the one of
// replays that covers it, else one that lapsed, else the one that nobody tried.
// Of several the one with the latest replay counts; of equally late ones, as an
// answer with many outcomes makes them, one that speaks against a fix.
func stepFor(g VersionCount, running Running, steps map[string][]ReplayTally) (step VersionStep, lapsed bool) {
	var covering, over VersionStep
	var covered, past time.Time
	var coveredBroken, pastBroken bool
	for _, key := range slices.Sorted(maps.Keys(steps)) { // in one order, so that every reading says the same
		tallies := steps[key]
		s, last := tallies[0].Step, lastCounting(tallies)
		broken := slices.ContainsFunc(tallies, func(t ReplayTally) bool { return t.Verdict == VerdictStillBroken })
		if s.None() || last.IsZero() {
			continue
		}
		later := func(than time.Time, thanBroken bool) bool {
			return last.After(than) || last.Equal(than) && broken && !thanBroken
		}
		if s.Covers(g.Versions, running) && later(covered, coveredBroken) {
			covering, covered, coveredBroken = s, last, broken
		}
		here := slices.ContainsFunc(tallies, func(t ReplayTally) bool { return t.Source == g.Source })
		if here && s.LapsedFor(g.Versions, running) && later(past, pastBroken) { // elsewhere it never ran
			over, past, pastBroken = s, last, broken
		}
	}
	switch {
	case !covered.IsZero():
		return covering, false
	case !past.IsZero():
		return over, true
	}
	return StepBetween(g.Versions, nil, running), false
}

func lastCounting(tallies []ReplayTally) time.Time {
	var last time.Time
	for _, t := range tallies {
		if (t.Verdict == VerdictFixedByCode || t.Verdict == VerdictStillBroken || t.Verdict == VerdictNextDefect) && t.Last.After(last) {
			last = t.Last
		}
	}
	return last
}

// conclude says what the replays of one step prove. A presumed failure speaks
// against presumed passes alone.
func (p *Proof) conclude(tallies []ReplayTally, lapsed bool, under []VersionCount) {
	var passed, presumedPassed, broken, presumedBroken int64
	for _, t := range tallies {
		switch {
		case t.Verdict == VerdictFixedByCode && t.Presumed:
			presumedPassed += t.Replays
		case t.Verdict == VerdictFixedByCode:
			passed += t.Replays
		case t.Verdict == VerdictStillBroken && t.Presumed:
			presumedBroken += t.Replays
		case t.Verdict == VerdictStillBroken:
			broken += t.Replays
		case t.Verdict == VerdictNextDefect:
			p.Past += t.Replays
			continue
		default:
			continue
		}
		if t.Last.After(p.Last) {
			p.Last = t.Last
		}
	}
	p.Passed, p.Of = passed, passed+broken
	if passed == 0 {
		p.Passed, p.Of = presumedPassed, presumedPassed+broken+presumedBroken
	}
	again := slices.ContainsFunc(under, func(g VersionCount) bool { return g.Parked > 0 && p.Step.Under(g.Versions) })
	switch {
	case p.Of == 0:
		p.State = ProofNone
	case lapsed:
		p.State = ProofLapsed
	case p.Passed > 0 && (p.Passed < p.Of || again):
		p.State = ProofMixed
	case p.Passed == 0:
		p.State = ProofRefuted
	case passed > 0:
		p.State = ProofProven
	default:
		p.State = ProofPresumed
	}
}

// Wilson is the 95 % interval of a share, when k of n passed. Without any it is
// everything.
func Wilson(k, n int64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959964
	share, size := float64(k)/float64(n), float64(n)
	middle := share + z*z/(2*size)
	reach := z * math.Sqrt(share*(1-share)/size+z*z/(4*size*size))
	scale := 1 + z*z/size
	return max(0, (middle-reach)/scale), min(1, (middle+reach)/scale)
}
