package handlers

import (
	"strings"

	"dlo/dlq"
	"dlo/views/components"
)

// What a proof says, on the home page, a document's page and in the API.

// proofHeads are the words of each state of a proof, without its count.
var proofHeads = map[dlq.ProofState]string{
	dlq.ProofNone:           "Not tested",
	dlq.ProofProven:         "Fix works",
	dlq.ProofPresumed:       "Probably works",
	dlq.ProofMixed:          "Works for some",
	dlq.ProofRefuted:        "Not fixed",
	dlq.ProofLapsed:         "Out of date",
	dlq.ProofLooksTransient: "Passes unchanged",
}

// proofWords: "Fix works · 3 of 3".
func proofWords(p dlq.Proof) string {
	words := proofHeads[p.State]
	if p.State == dlq.ProofNone || p.State == dlq.ProofLapsed || p.Of == 0 {
		return words
	}
	return words + " · " + grouped(p.Passed) + " of " + grouped(p.Of)
}

// proofWhy is the same as the reason for a step: "fix works, 3 of 3".
func proofWhy(p dlq.Proof) string {
	words := strings.Replace(proofWords(p), " · ", ", ", 1)
	return strings.ToLower(words[:1]) + words[1:]
}

func proofTone(state dlq.ProofState) components.Tone {
	switch state {
	case dlq.ProofProven:
		return components.Good
	case dlq.ProofRefuted:
		return components.Bad
	case dlq.ProofMixed:
		return components.Held
	case dlq.ProofNone, dlq.ProofLapsed:
		return components.Quiet
	}
	return components.Plain
}

// proofTitle says on hover what a proof is about and what it expects.
func proofTitle(c dlq.CohortProof) string {
	p := c.Shown()
	var parts []string
	if p.Step.Known() && p.State != dlq.ProofNone {
		parts = append(parts, "By "+stepName(p.Step)+".")
	}
	if p.Past > 0 {
		parts = append(parts, grouped(p.Past)+" got past this error and failed on another.")
	}
	if p.State != dlq.ProofLapsed && p.State != dlq.ProofLooksTransient {
		if words := expectWords(p, p.Covers); words != "" {
			parts = append(parts, strings.Replace(words, " to.", " to get past this error.", 1))
		}
	}
	if n := c.NotCovered(); n > 0 && p.State != dlq.ProofNone {
		parts = append(parts, grouped(n)+" under other versions: this says nothing of them.")
	}
	return strings.Join(parts, " ")
}

// rowProve is the bar of a cohort on its row: the steps of a redrive that is under
// way, and the proof in a word; where that redrive stopped, how far it came.
func rowProve(c dlq.Cohort) components.SmallProve {
	proof := c.Standing.Proof.Shown()
	p := components.SmallProve{Word: proofWords(proof), Tone: proofTone(proof.State), Title: proofTitle(c.Standing.Proof)}
	o := c.Standing.Redrive
	if proof.State != dlq.ProofNone || proof.Past > 0 || o != nil {
		p.Href = cohortHref(c.ID) + "#prove"
	}
	if o == nil {
		return p
	}
	if len(o.Sizes) > 1 {
		p.Steps = rowDots(*o)
	}
	switch {
	case o.State == dlq.OperationStopped:
		p.Word, p.Tone, p.Title = "Stopped at "+grouped(o.Sent()), components.Bad, counted(o.Untouched(), "was", "were")+" not touched"
	case proof.State == dlq.ProofNone:
		p.Word, p.Tone = "Testing", components.Info
	}
	return p
}

// rowDots are the steps of a redrive by where it stands: a row counts nothing.
func rowDots(o dlq.Operation) []components.Step {
	dots := make([]components.Step, len(o.Sizes))
	for i := range dots {
		dots[i] = components.Step{Label: stepLabel(o.Sizes, i)}
		switch step := i + 1; {
		case step < o.Step:
			dots[i].State = components.StepPassed
		case step > o.Step:
		case o.State == dlq.OperationStopped:
			dots[i].State = components.StepFailed
		case o.State == dlq.OperationPaused && o.Asks == dlq.AsksStep:
			dots[i].State = components.StepPassed
		default:
			dots[i].State = components.StepRunning
		}
		if i == o.Step && o.State == dlq.OperationPaused && o.Asks == dlq.AsksStep {
			dots[i].State = components.StepNext
		}
	}
	return dots
}
