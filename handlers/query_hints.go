package handlers

import (
	"fmt"
	"net/url"
	"slices"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/web"
)

// What is worth saying of a query that could be read: values that nothing ever
// had, and an order that there is not.

// unknownWords say of a value that nothing has it, and of one with a minus that it
// therefore leaves nothing out. Of somebody who sees some sources it says no more
// than those tell.
func unknownWords(u dlq.UnknownValue, limited bool) string {
	value := shownLine(u.Value, 60).String()
	document := "No document"
	if limited {
		document += " of your sources"
	}
	words := ""
	switch u.Term.Key {
	case "source":
		words = "No source is called " + value
	case "cohort":
		words = "No cohort begins with " + value
	case "class":
		words = document + " ever failed with the class " + value
	case "type":
		words = document + " ever failed with the exception " + value
	case "stage":
		words = document + " ever failed in the stage " + value
	case "content":
		words = document + " that failed ever had the content type " + value
	case "owner":
		words = document + " has the owner " + value
	case "version":
		words = document + " ever failed under " + value
	default:
		words = document + " ever failed under " + withComponent(u.Term.Key, value)
	}
	if u.Term.Negated {
		words += ", so " + shownLine(u.Text(), 80).String() + " leaves nothing out"
	}
	return words
}

// newHints are the unknown values of a query, each with the search that may have
// been meant.
func newHints(q dlq.Query, unknown []dlq.UnknownValue, by dlq.Actor, href func(query string) string) []components.Hint {
	var hints []components.Hint
	for _, u := range unknown {
		hint := components.Hint{Text: components.PlainText(unknownWords(u, len(by.Sources) > 0) + ".")}
		if mended := u.Mended(q); mended != "" {
			hint.Try = components.Link{Text: "Did you mean " + shownLine(u.Near, 60).String() + "?", Href: href(mended)}
		}
		hints = append(hints, hint)
	}
	return hints
}

// newSortHint says of an address that names an order that there is not which one
// was taken instead; nothing of one that there is.
func newSortHint[T ~string](params url.Values, orders []T, usual string) []components.Hint {
	asked := params.Get("sort")
	if asked == "" || slices.Contains(orders, T(asked)) {
		return nil
	}
	return []components.Hint{{Text: components.PlainText(fmt.Sprintf("There is no order called %s. The list is in the usual one, %s.", shownLine(asked, 40), usual))}}
}

// queryHint is a hint of the API.
type queryHint struct {
	Term   string `json:"term"`
	Detail string `json:"detail"`
}

// hintedList is a page of a list, with what is worth saying of its query.
type hintedList struct {
	listAnswer
	Hints []queryHint `json:"hints,omitempty"`
}

func newQueryHints(unknown []dlq.UnknownValue, by dlq.Actor) []queryHint {
	var hints []queryHint
	for _, u := range unknown {
		detail := unknownWords(u, len(by.Sources) > 0)
		if u.Near != "" {
			detail += "; did you mean " + web.VisibleText(u.Near) + "?"
		}
		hints = append(hints, queryHint{u.Text(), detail})
	}
	return hints
}

// cohortTerms is what is asked of cohorts by parameters of their own, as terms.
func cohortTerms(q dlq.CohortQuery, having dlq.Query) dlq.Query {
	if q.Source != "" {
		having.Terms = append(slices.Clip(having.Terms), dlq.Term{Key: "source", Values: []string{q.Source}})
	}
	if q.Class != "" {
		having.Terms = append(slices.Clip(having.Terms), dlq.Term{Key: "class", Values: []string{q.Class}})
	}
	return having
}

// confirmHints say of what an action is about to be done to that a value of its
// query may not be the one that was meant.
func confirmHints(f confirmFacts) []components.Notice {
	q, bad := dlq.ParseQuery(f.choice.query)
	if len(bad) > 0 {
		return nil
	}
	var out []components.Notice
	for _, h := range newHints(q, f.unknown, f.by, entriesHref) {
		n := components.Notice{Tone: components.Deadline, Title: h.Text.String(), Text: "Check how it is spelt before you go on."}
		if h.Try.Href != "" {
			n.Links = []components.Link{h.Try}
		}
		out = append(out, n)
	}
	return out
}
