package handlers

import (
	"net/url"
	"slices"

	"dlo/dlq"
	"dlo/dlq/regroup"
	"dlo/views/cohort"
	"dlo/views/components"
)

// separatedShown is how many values a page names.
const separatedShown = 8

// newSeparates says by what the documents that get past the error differ from
// those that do not, and offers to split by it. Nil unless some do and some do not.
func newSeparates(f cohortFacts) *cohort.Separates {
	if f.separated == nil {
		return nil
	}
	s, proof := f.separated.is, f.separated.proof
	passed := grouped(proof.Passed) + " of " + counted(proof.Of, "replay", "replays") + " got past this error"
	if to := proof.Step.To(); to != "" {
		passed += " with " + shownLine(to, 120).String()
	}
	if !f.separated.found {
		return &cohort.Separates{Sentence: "Message template, content type and versions do not tell them apart.", Note: passed + ". Compare two of them by hand: one that passed, one that failed."}
	}
	out := &cohort.Separates{Sentence: sentenceStart(s.By.Words()) + " tells passed from failed best, for " + grouped(s.Right) + " of " + grouped(s.Of) + ". Two defects can reach the same frames."}
	if s.Right == s.Of {
		out.Sentence = sentenceStart(s.By.Words()) + " tells all " + grouped(s.Of) + " apart. Two defects can reach the same frames."
	}
	for _, g := range s.Groups[:min(len(s.Groups), separatedShown)] {
		out.Groups = append(out.Groups, components.KV{Key: grouped(g.Passed) + " of " + grouped(g.Of) + " passed", Value: shownLine(splitWords(g.Value), 200), Mono: true})
	}
	if s.Arrived > 0 {
		passed += ", and " + counted(s.Arrived, "document that is counted here as failed was", "documents that are counted here as failed were") + " not replayed: " + verb(s.Arrived, "it", "they") + " arrived under the new version"
	}
	out.Note = passed + "."
	if more := len(s.Groups) - separatedShown; more > 0 {
		out.Note += " " + counted(more, "more value is", "more values are") + " not shown."
	}
	if s.Newest {
		out.Note += " Looked at are the newest, at most " + grouped(regroup.MostOfASide) + " of each side."
	}
	if f.by.May(dlq.MayDecide) && f.grouping.Whole {
		out.Split = &components.Action{Label: "Split by " + s.By.Words(), Href: splitHref(f.cohort.ID, s), Why: "You see first what goes out, and can undo it"}
	}
	return out
}

// splitHref leads to the page of a split with what fails ticked. Values are named
// by their hashes: they can be long, and what a document says stays out of
// addresses.
func splitHref(cohortID string, s dlq.Separation) string {
	q := url.Values{"by": {s.By.String()}}
	out := s.GoesOut()
	for _, value := range out[:min(len(out), dlq.MostSplitValues)] {
		q.Add("out", dlq.SplitHash(value))
	}
	return cohortHref(cohortID) + "/split?" + q.Encode()
}

// outOf reads which values an address ticks: hashes, and no more than a split
// takes.
func outOf(params url.Values) []string {
	out := params["out"]
	return out[:min(len(out), dlq.MostSplitValues)]
}

// ticked says whether a value of a split is chosen: by what was posted, or by the
// address that led here.
func (t splitTyped) ticked(value string) bool {
	return slices.Contains(t.values, value) || slices.Contains(t.out, dlq.SplitHash(value))
}

// splitOptions are the values that the page of a split offers: those that are
// ticked before those that are cut off.
func (t splitTyped) splitOptions(values []regroup.Value) []regroup.Value {
	ordered := slices.Clone(values)
	if len(ordered) > dlq.MostSplitValues {
		slices.SortStableFunc(ordered, func(a, b regroup.Value) int {
			switch x, y := t.ticked(a.Text), t.ticked(b.Text); {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		})
	}
	return ordered[:min(len(ordered), dlq.MostSplitValues)]
}
