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
	if mayPauseAll(f.by) {
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
	add := func(part components.ProgressPart, n int64, word, href string) {
		if n > 0 && o.Total > 0 {
			part.Share, part.Text, part.Href = int(1000*n/o.Total), grouped(n)+" "+word, href
			p.Parts = append(p.Parts, part)
		}
	}
	of := func(state dlq.ItemState) string { return itemsHref(o.ID, itemChoice{state: state}, 0) }
	settled := o.Counts[dlq.ItemSettled]
	switch {
	case o.Kind != dlq.OperationRedrive:
		p.Label = grouped(settled) + " of " + grouped(o.Total) + " done"
		add(components.ProgressPart{Tone: components.Good}, settled, "done", of(dlq.ItemSettled))
	case outcomes == nil:
		add(components.ProgressPart{Tone: components.Info}, settled, "settled", of(dlq.ItemSettled))
	default:
		in, inHref := outcomesTogether(o, outcomes, func(r dlq.OutcomeResult) bool { return r.Success() || r == dlq.OutcomeAssumed })
		_, restHref := outcomesTogether(o, outcomes, withoutResult)
		failed := outcomes[dlq.OutcomeFailed]
		add(components.ProgressPart{Tone: components.Good}, in, "got in", inHref)
		add(components.ProgressPart{Tone: components.Bad}, failed, "failed again", itemsHref(o.ID, itemChoice{outcome: dlq.OutcomeFailed}, 0))
		add(components.ProgressPart{}, settled-in-failed, "without a result", restHref)
	}
	onTheWay, unsent := underWay(o)
	add(components.ProgressPart{Tone: components.Info}, onTheWay, "on their way", of(dlq.ItemInFlight))
	add(components.ProgressPart{Tone: components.Quiet}, o.Counts[dlq.ItemLeftOut], "left out", of(dlq.ItemLeftOut))
	add(components.ProgressPart{Tone: components.Quiet}, o.Counts[dlq.ItemCancelled], "cancelled", of(dlq.ItemCancelled))
	add(components.ProgressPart{Rest: true}, unsent, "to be sent", of(dlq.ItemInFlight))
	add(components.ProgressPart{Rest: true}, o.Counts[dlq.ItemWaiting], "waiting", of(dlq.ItemWaiting))
	return p
}

// underWay tells the items in flight apart: those of which a delivery was begun,
// and those that wait for the first of theirs.
func underWay(o dlq.Operation) (onTheWay, unsent int64) {
	inFlight := o.Counts[dlq.ItemInFlight]
	unsent = min(o.Unsent, inFlight) // the two were counted one after the other
	return inFlight - unsent, unsent
}

// outcomesTogether counts several outcomes as one, and leads to their items: to
// all that are settled where it is more than one of them.
func outcomesTogether(o dlq.Operation, outcomes map[dlq.OutcomeResult]int64, counts func(dlq.OutcomeResult) bool) (n int64, href string) {
	var among []dlq.OutcomeResult
	for _, r := range outcomeOrder {
		if counts(r) && outcomes[r] > 0 {
			n += outcomes[r]
			among = append(among, r)
		}
	}
	choice := itemChoice{state: dlq.ItemSettled}
	if len(among) == 1 {
		choice = itemChoice{outcome: among[0]}
	}
	return n, itemsHref(o.ID, choice, 0)
}

// withoutResult says that an outcome tells neither that a document got in nor
// that it failed.
func withoutResult(r dlq.OutcomeResult) bool {
	return r == dlq.OutcomeUnattributed || r == dlq.OutcomeNoOutcome || r == dlq.OutcomeUndelivered
}

// outcomeOrder is the order in which outcomes are listed.
var outcomeOrder = []dlq.OutcomeResult{dlq.OutcomeCommitted, dlq.OutcomeSkipped, dlq.OutcomeSuperseded, dlq.OutcomeAssumed, dlq.OutcomeFailed, dlq.OutcomeUnattributed, dlq.OutcomeNoOutcome,
	dlq.OutcomeUndelivered, dlq.OutcomeCancelled}
