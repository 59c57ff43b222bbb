package handlers

import (
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/operations"
	"dlo/web"
)

// operationsFacts is what the list of operations is made from.
type operationsFacts struct {
	list []dlq.Operation // newest first
	// outcomes are those of each redrive of the list, by its id.
	outcomes map[string]map[dlq.OutcomeResult]int64
	open     int    // of all, not of the list alone
	onlyUp   bool   // those that have not ended
	next     string // before which id the rest stands; empty at the end
	first    bool   // nothing newer is left out
	paused   string // who paused all redrives
	by       dlq.Actor
	now      time.Time
}

// newOperationsPage shapes the list of bulk actions.
func newOperationsPage(f operationsFacts) operations.Model {
	m := operations.Model{
		Lead: "None runs now.",
		Filters: []components.Chip{{Text: "All", Href: "/operations", On: !f.onlyUp},
			{Text: "Not ended", Href: "/operations?state=open", Count: grouped(f.open), On: f.onlyUp}},
	}
	if f.by.May(dlq.MayPause) {
		m.Actions = []components.Action{{Label: "Pause all redrives", Href: "/pause", Why: "One switch for every source; nothing more is sent until they are resumed"}}
		if f.paused != "" {
			m.Actions = []components.Action{{Label: "Resume all redrives", Href: "/resume", Tone: components.Primary}}
		}
	}
	if f.open > 0 {
		m.Lead = counted(f.open, "has", "have") + " not ended."
		m.Poll = "/operations"
		if f.onlyUp {
			m.Poll += "?state=open"
		}
	}
	if !f.first {
		m.Poll = "" // an older page does not change under the reader
	}
	for _, o := range f.list {
		m.Rows = append(m.Rows, operations.Row{
			Href: operationHref(o.ID), Title: operationTitle(o), Of: operationOf(o), State: operationTag(o), Why: sentence("%s", web.VisibleText(o.Why)),
			Progress: operationProgress(o, f.outcomes[o.ID]), By: actorWord(o.Actor), Reason: shownLine(o.Reason, 200), Started: moment(o.CreatedAt), Ended: moment(o.EndedAt),
		})
	}
	if len(f.list) == 0 {
		m.Empty = &components.Empty{Title: "No bulk action yet", Text: "Choose documents or a cohort and redrive, quarantine or keep them; what you start stands here until it is done and after.", Links: []components.Link{{Text: "To the cohorts", Href: "/cohorts"}}}
		if f.onlyUp {
			m.Empty = &components.Empty{Title: "Nothing runs now", Text: "What ended stands under All.", Links: []components.Link{{Text: "All", Href: "/operations"}}}
		}
	}
	m.Pager.Summary = counted(len(f.list), "operation", "operations")
	if !f.first {
		m.Pager.Prev = components.Link{Text: "Newest", Href: "/operations"}
	}
	if f.next != "" {
		m.Pager.Next = components.Link{Text: "Older", Href: "/operations?before=" + f.next}
	}
	return m
}

// operationTitle is what an operation is called: its verb and how many.
func operationTitle(o dlq.Operation) string { return actionWords[o.Kind] + ": " + documents(o.Total) }

// operationOf says what chose its documents.
func operationOf(o dlq.Operation) components.Text {
	if o.Query == "" {
		return components.PlainText("chosen by hand")
	}
	return shownLine(o.Query, 160)
}

func operationTag(o dlq.Operation) components.Tag {
	t := operationStateTags[o.State]
	if t.Text == "" {
		t = components.Tag{Text: string(o.State), Tone: components.Plain}
	}
	return t
}

// actorWord names who did something; a policy is told from a person.
func actorWord(a dlq.Actor) string {
	switch a.Kind {
	case dlq.ActorPolicy:
		return "policy " + web.VisibleText(a.Name)
	case dlq.ActorToken:
		return "token " + web.VisibleText(a.Name)
	}
	return web.VisibleText(a.Name)
}

// operationProgress is how far an operation is. With outcomes, what is settled
// is told apart by them.
func operationProgress(o dlq.Operation, outcomes map[dlq.OutcomeResult]int64) components.Progress {
	p := components.Progress{Label: grouped(o.Counts[dlq.ItemSettled]) + " of " + grouped(o.Total) + " settled"}
	add := func(n int64, tone components.Tone, word string, state dlq.ItemState) {
		if n > 0 && o.Total > 0 {
			p.Parts = append(p.Parts, components.ProgressPart{Share: int(1000 * n / o.Total), Tone: tone, Text: grouped(n) + " " + word, Href: operationHref(o.ID) + "?state=" + string(state)})
		}
	}
	settled := o.Counts[dlq.ItemSettled]
	if outcomes != nil {
		var in int64
		for _, r := range outcomeOrder {
			if r.Success() || r == dlq.OutcomeAssumed {
				in += outcomes[r]
			}
		}
		add(in, components.Good, "got in", dlq.ItemSettled)
		add(outcomes[dlq.OutcomeFailed], components.Bad, "failed again", dlq.ItemSettled)
		settled -= in + outcomes[dlq.OutcomeFailed]
	}
	word, tone := "settled", components.Info
	if outcomes != nil {
		word, tone = "without a result", components.Plain
	} else if o.Kind != dlq.OperationRedrive {
		word, tone = "done", components.Good
	}
	add(settled, tone, word, dlq.ItemSettled)
	add(o.Counts[dlq.ItemInFlight], components.Info, "in flight", dlq.ItemInFlight)
	add(o.Counts[dlq.ItemLeftOut], components.Quiet, "left out", dlq.ItemLeftOut)
	add(o.Counts[dlq.ItemCancelled], components.Quiet, "cancelled", dlq.ItemCancelled)
	return p
}

// outcomeOrder is the order in which outcomes are listed.
var outcomeOrder = []dlq.OutcomeResult{dlq.OutcomeCommitted, dlq.OutcomeSkipped, dlq.OutcomeSuperseded, dlq.OutcomeAssumed, dlq.OutcomeFailed, dlq.OutcomeUnattributed, dlq.OutcomeNoOutcome,
	dlq.OutcomeUndelivered, dlq.OutcomeCancelled}
