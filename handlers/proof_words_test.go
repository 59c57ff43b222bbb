package handlers

import (
	"testing"

	"dlo/dlq"
	"dlo/views/components"
)

var (
	works   = dlq.Proof{State: dlq.ProofProven, Passed: 3, Of: 3, Covers: 396, Step: dlq.StepBetween(dlq.Versions{"parser": "1"}, dlq.Versions{"parser": "2"}, nil)}
	stopped = &dlq.Operation{State: dlq.OperationStopped, Step: 1, Sizes: []int64{1, 5, 390}, Total: 396, Counts: map[dlq.ItemState]int64{dlq.ItemSettled: 1, dlq.ItemWaiting: 395}}
)

func TestAProofSaysWhatTheDomainSays(t *testing.T) {
	for state, want := range map[dlq.ProofState]string{
		dlq.ProofNone: "Not tested", dlq.ProofProven: "Fix works · 3 of 5", dlq.ProofPresumed: "Probably works · 3 of 5", dlq.ProofMixed: "Works for some · 3 of 5",
		dlq.ProofRefuted: "Not fixed · 3 of 5", dlq.ProofLapsed: "Out of date", dlq.ProofLooksTransient: "Passes unchanged · 3 of 5",
	} {
		if got := proofWords(dlq.Proof{State: state, Passed: 3, Of: 5}); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	for _, state := range dlq.ProofStates {
		if proofHeads[state] == "" {
			t.Errorf("%s has no words", state)
		}
	}
}

func TestARowShowsTheProofAndWhereItsRedriveStands(t *testing.T) {
	rest := dlq.Proof{State: dlq.ProofNone, Covers: 16}
	proven := dlq.CohortProof{Proofs: []dlq.Proof{works, rest}, Parked: 412}
	paused := &dlq.Operation{State: dlq.OperationPaused, Asks: dlq.AsksStep, Step: 1, Sizes: []int64{1, 5, 390}}
	running := &dlq.Operation{State: dlq.OperationRunning, Step: 2, Sizes: []int64{1, 5, 390}}
	for name, c := range map[string]struct {
		standing          dlq.CohortStanding
		word, href, title string
		tone              components.Tone
		dots              []components.StepState
	}{
		"nothing replayed": {dlq.CohortStanding{Proof: dlq.CohortProof{Proofs: []dlq.Proof{rest}, Parked: 16}}, "Not tested", "", "", components.Quiet, nil},
		"proven": {dlq.CohortStanding{Proof: proven}, "Fix works · 3 of 3", "/cohorts/01K#prove",
			"By parser 2. Expect 174 to 396 of 396 to get past this error. 16 under other versions: this says nothing of them.", components.Good, nil},
		"between two steps":       {dlq.CohortStanding{Proof: proven, Redrive: paused}, "Fix works · 3 of 3", "/cohorts/01K#prove", "", components.Good, []components.StepState{components.StepPassed, components.StepNext, components.StepPlanned}},
		"in the second":           {dlq.CohortStanding{Proof: proven, Redrive: running}, "Fix works · 3 of 3", "/cohorts/01K#prove", "", components.Good, []components.StepState{components.StepPassed, components.StepRunning, components.StepPlanned}},
		"the first is on its way": {dlq.CohortStanding{Redrive: &dlq.Operation{State: dlq.OperationRunning, Step: 1, Sizes: []int64{1, 15}}}, "Testing", "/cohorts/01K#prove", "", components.Info, []components.StepState{components.StepRunning, components.StepPlanned}},
		"stopped":                 {dlq.CohortStanding{Proof: proven, Redrive: stopped}, "Stopped at 1", "/cohorts/01K#prove", "395 were not touched", components.Bad, []components.StepState{components.StepFailed, components.StepPlanned, components.StepPlanned}},
	} {
		got := rowProve(dlq.Cohort{ID: "01K", Standing: c.standing})
		if got.Word != c.word || got.Href != c.href || got.Tone != c.tone || c.title != "" && got.Title != c.title || len(got.Steps) != len(c.dots) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, want := range c.dots {
			if got.Steps[i].State != want {
				t.Errorf("%s: step %d is %v, want %v", name, i+1, got.Steps[i].State, want)
			}
		}
	}
}
