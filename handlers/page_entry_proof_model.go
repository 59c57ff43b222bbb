package handlers

import (
	"dlo/dlq"
	"dlo/views/components"
)

// What is proven of documents like one: that failed in its cohort and source, under
// its versions.

// entryProofFact is the proof in the line under the title, where there is one and
// the document still waits.
func entryProofFact(f entryFacts) components.Fact {
	if f.proof.State == "" || f.proof.State == dlq.ProofNone || !f.entry.Status.Open() {
		return components.Fact{}
	}
	return components.Fact{Text: proofWords(f.proof), Tone: proofTone(f.proof.State), Title: "for documents like this one", Href: cohortHref(f.entry.CohortID) + "#prove"}
}

// entryProofSentence says what the replays of documents like it let expect of a
// redrive now.
func entryProofSentence(p dlq.Proof) string {
	count := grouped(p.Passed) + " of " + grouped(p.Of)
	switch p.State {
	case dlq.ProofProven:
		return "Fix works: " + count + " like it got past this error."
	case dlq.ProofPresumed:
		return "The fix probably works: " + count + " like it got past this error, on evidence that is presumed."
	case dlq.ProofMixed:
		return "The fix works for some: " + count + " like it got past this error."
	case dlq.ProofRefuted:
		return "It is not fixed: " + count + " like it got past this error."
	case dlq.ProofLapsed:
		return "What was tested for documents like it does not run any more."
	case dlq.ProofLooksTransient:
		return "Documents like it pass with nothing changed: " + count + "."
	}
	if p.Past > 0 {
		return counted(p.Past, "document", "documents") + " like it got past this error and failed on another."
	}
	if p.Step.Known() {
		return "No replay has tested that for documents like it."
	}
	return ""
}
