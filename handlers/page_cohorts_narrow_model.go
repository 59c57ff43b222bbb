package handlers

import (
	"slices"
	"strings"

	"dlo/dlq"
	"dlo/views/cohorts"
	"dlo/views/components"
	"dlo/web"
)

// What narrows the home page, and what that does to its numbers.

// narrowingTerms is what the counts of a list are narrowed by, in the query
// language, so that a number leads to the documents behind it.
func narrowingTerms(q dlq.CohortQuery) []string {
	var terms []string
	if q.Source != "" {
		terms = append(terms, "source:"+dlq.QuoteValue(q.Source))
	}
	if q.Class != "" {
		terms = append(terms, "class:"+dlq.QuoteValue(q.Class))
	}
	for _, t := range q.Having.Terms {
		if t.OfCell() {
			terms = append(terms, q.Having.Text[t.Start:t.End])
		}
	}
	return terms
}

// cohortNote says which documents the numbers are of, where not all count.
func cohortNote(f cohortsFacts) string {
	if len(f.rows) == 0 || len(f.bad) > 0 {
		return ""
	}
	note := ""
	if f.query.Narrows() {
		view := viewOf(f.params)
		what := map[dlq.Status]string{dlq.StatusQuarantined: " in quarantine", dlq.StatusArchived: " in the archive"}[view.status]
		if what == "" {
			what = " stuck"
		}
		note = "The numbers are of the documents that match: " + grouped(f.documents) + " of " + grouped(f.allOf) + what + "."
	}
	if _, _, entries := f.query.Having.Split(); len(entries.Terms) > 0 {
		if note != "" {
			note += " "
		}
		note += "A cohort is listed if one document matches the whole query; terms about single documents narrow no number."
	}
	return note
}

// cohortSearch is the box for a query, with what is to be kept beside it.
func cohortSearch(f cohortsFacts) cohorts.Search {
	s := cohorts.Search{Action: "/cohorts", Value: web.VisibleText(f.params.Get("q"))}
	for _, name := range cohortParams {
		if v := f.params.Get(name); v != "" && name != "q" {
			s.Keep = append(s.Keep, components.Field{Name: name, Value: v})
		}
	}
	if s.Value != "" {
		s.Clear = f.href("q", "")
	}
	if len(f.bad) > 0 {
		p := newProblemTerm(f.params.Get("q"), f.bad)
		s.Problem = &cohorts.Problem{Sentence: p.Sentence, Before: p.Before, Term: p.Term, After: p.After}
	}
	return s
}

// proofChips narrow the list by what is proven: a term of the query, so that the
// box says it and a saved view keeps it.
func proofChips(f cohortsFacts) []components.Chip {
	if len(f.bad) > 0 {
		return nil
	}
	var chips []components.Chip
	text := f.params.Get("q")
	for _, state := range []dlq.ProofState{dlq.ProofProven, dlq.ProofNone} {
		at := slices.IndexFunc(f.query.Having.Terms, func(t dlq.Term) bool {
			return t.Key == "proof" && !t.Negated && slices.Equal(t.Values, []string{string(state)})
		})
		if at < 0 {
			chips = append(chips, components.Chip{Text: proofHeads[state], Href: f.href("q", strings.TrimSpace(text+" proof:"+string(state)))})
			continue
		}
		chips = append(chips, components.Chip{Text: proofHeads[state], Href: f.href("q", f.query.Having.Without(at)), On: true, Drop: true})
	}
	return chips
}
