package handlers

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/operation"
	"dlo/web"
)

// itemsShown is how many items a page of an operation holds.
const itemsShown = 50

// operationFacts is what the page of one operation is made from.
type operationFacts struct {
	operation dlq.Operation
	leftOut   map[dlq.LeftOut]int64
	outcomes  map[dlq.OutcomeResult]int64
	items     []operationItem
	choice    itemChoice            // which items are shown
	after     int64                 // the position before the first item
	more      bool                  // items follow
	prove     *proveFacts           // of a redrive in steps; nil for any other
	readings  map[dlq.Reading]int64 // of one that asks the sources
	stuck     []stuckChoice         // of an ended redrive
	arrived   int64                 // match its filter now and are not in it; -1: not counted
	hidden    int                   // items of sources that the viewer may not see
	paused    string
	by        dlq.Actor
	csrf      string
	now       time.Time
}

// itemChoice is which items of an operation are shown: those in a state, or
// those with an outcome; of one step, or of all where that is 0. The zero value
// is all.
type itemChoice struct {
	state   dlq.ItemState
	outcome dlq.OutcomeResult
	step    int
}

// operationItem is an item with its redrive, where it has one.
type operationItem struct {
	item    dlq.Item
	redrive *dlq.Redrive
}

// newOperationPage shapes one bulk action.
func newOperationPage(f operationFacts) operation.Model {
	o := f.operation
	m := operation.Model{Title: operationTitle(o), Of: components.Link{Text: operationOf(o).String()}, Running: newOperationRunning(f), Terms: operationTerms(o),
		HasVerdict: o.Kind == dlq.OperationRedrive, Filters: itemFilters(f)}
	if o.Query != "" {
		m.Of.Href = entriesHref(o.Query)
	}
	for _, why := range leftOutOrder {
		if n := f.leftOut[why]; n > 0 {
			m.LeftOut = append(m.LeftOut, operation.LeftOut{Count: components.Link{Text: grouped(n), Href: itemsHref(o.ID, itemChoice{state: dlq.ItemLeftOut}, 0)}, Why: leftOutWords[why], Do: leftOutDo[why]})
		}
	}
	for _, i := range f.items {
		m.Items = append(m.Items, newOperationItem(i, f.now))
	}
	if len(f.items) == 0 {
		m.Empty = &components.Empty{Title: "No item here", Text: "No document of this operation is in that state now.", Links: []components.Link{{Text: "All items", Href: itemsHref(o.ID, itemChoice{}, 0)}}}
	}
	m.Pager = itemsPager(f)
	m.Again, m.Stuck = operationAgain(f), operationStuck(f)
	m.Terms = slices.Insert(m.Terms, len(m.Terms)-1, arrivedTerm(f)...)
	if o.Kind == dlq.OperationProbe {
		newAskedPage(&m, f)
	}
	return m
}

// newOperationRunning is the part that asks for itself again while it runs.
func newOperationRunning(f operationFacts) operation.Running {
	o := f.operation
	r := operation.Running{State: operationTag(o), Why: operationWhy(f), Progress: operationProgress(o, f.outcomes), CSRF: f.csrf, Updated: moment(o.UpdatedAt), Actions: operationActions(f)}
	r.Live.Regions = operationRegions
	if !o.State.Ended() {
		r.Live.URL = operationHref(o.ID) + "/live"
	}
	if f.prove != nil {
		f.prove.csrf = f.csrf
		bar := proveOperation(*f.prove)
		r.Prove, r.Actions = &bar, nil
		r.Why = "" // the bar says it
	}
	r.Counts = operationCounts(f)
	return r
}

// operationCounts are the tiles: where its documents stand and what came of
// those that are settled. Each opens its items.
func operationCounts(f operationFacts) []components.Stat {
	o := f.operation
	var out []components.Stat
	add := func(n int64, label string, choice itemChoice, tone components.Tone) {
		out = append(out, components.Stat{Value: grouped(n), Label: label, Href: itemsHref(o.ID, choice, 0), Tone: tone})
	}
	of := func(state dlq.ItemState) {
		add(o.Counts[state], itemStateWords[state], itemChoice{state: state}, components.Plain)
	}
	if o.Kind != dlq.OperationRedrive {
		of(dlq.ItemWaiting)
		add(o.Counts[dlq.ItemSettled], "done", itemChoice{state: dlq.ItemSettled}, components.Good)
		out = append(out, askedCounts(f)...)
	} else {
		if o.Counts[dlq.ItemWaiting] > 0 {
			of(dlq.ItemWaiting)
		}
		onTheWay, unsent := underWay(o)
		if onTheWay+unsent > 0 || !o.State.Ended() {
			add(unsent, "to be sent", itemChoice{state: dlq.ItemInFlight}, components.Plain)
			add(onTheWay, "on their way", itemChoice{state: dlq.ItemInFlight}, components.Plain)
		}
		for _, result := range outcomeOrder {
			// What was cancelled is a state of its own below.
			if n := f.outcomes[result]; n > 0 && result != dlq.OutcomeCancelled {
				add(n, outcomeWords[result], itemChoice{outcome: result}, outcomeTone(result))
			}
		}
	}
	of(dlq.ItemLeftOut)
	if o.Counts[dlq.ItemCancelled] > 0 {
		of(dlq.ItemCancelled)
	}
	return out
}

// operationWhy says in a sentence why it stands where it stands.
func operationWhy(f operationFacts) string {
	o := f.operation
	way := underWayWords(o)
	switch {
	case o.State == dlq.OperationCancelled:
		return strings.TrimSpace(sentence("%s", web.VisibleText(o.Why)) + " " + cancelledSplit(o))
	case o.Why != "":
		return strings.TrimSpace(sentence("%s", web.VisibleText(o.Why)) + " " + way)
	case o.State == dlq.OperationRunning && o.Kind == dlq.OperationRedrive && f.paused != "":
		return strings.TrimSpace(sentence("All redrives are paused by %s, so nothing is sent", f.paused) + " " + way)
	case !o.State.Ended():
		return way
	case o.State == dlq.OperationDone && o.Kind == dlq.OperationRedrive:
		return doneSentence(f)
	case o.State == dlq.OperationDone:
		return sentence("%s %s", documents(o.Counts[dlq.ItemSettled]), pastWords[o.Kind])
	}
	return ""
}

// underWayWords say what of a redrive has no outcome yet: "2 documents are on
// their way, 283 are to be sent." Nothing where all are settled.
func underWayWords(o dlq.Operation) string {
	if o.Kind != dlq.OperationRedrive {
		return ""
	}
	return wayWords(underWay(o))
}

// wayWords say how many documents were sent and have no outcome, and how many
// wait to be sent. Nothing where there are none of either.
func wayWords(onTheWay, unsent int64) string {
	way := counted(onTheWay, "document is on its way", "documents are on their way")
	wait := counted(unsent, "is to be sent", "are to be sent")
	switch {
	case onTheWay > 0 && unsent > 0:
		return way + ", " + wait + "."
	case onTheWay > 0:
		return way + "."
	case unsent > 0:
		return counted(unsent, "document is to be sent", "documents are to be sent") + "."
	}
	return ""
}

func doneSentence(f operationFacts) string {
	var in int64
	for _, r := range outcomeOrder {
		if r.Success() {
			in += f.outcomes[r]
		}
	}
	s := grouped(in) + " of " + grouped(f.operation.Total) + " got in"
	if n := f.outcomes[dlq.OutcomeFailed]; n > 0 {
		s += ", " + grouped(n) + " failed again"
	}
	return s + "."
}

// operationActions are the brakes that work in this state for this person.
func operationActions(f operationFacts) []components.Action {
	o := f.operation
	href := operationHref(o.ID)
	var out []components.Action
	if o.State == dlq.OperationRunning && mayMove(f.by, o, dlq.OperationPaused) {
		out = append(out, components.Action{Label: "Pause", Href: href + "/pause", Why: "What is in flight keeps its outcome; nothing more is sent"})
	}
	if (o.State == dlq.OperationPaused || o.State == dlq.OperationStopped) && mayMove(f.by, o, dlq.OperationRunning) {
		out = append(out, components.Action{Label: "Go on", Href: href + "/resume", Tone: components.Primary})
	}
	if !o.State.Ended() && o.State != dlq.OperationPreparing && mayMove(f.by, o, dlq.OperationCancelled) {
		out = append(out, components.Action{Label: "Cancel", Href: href + "/cancel", Why: "Frees every document that was not sent yet; what was sent keeps its outcome"})
	}
	return out
}

// operationTerms is what was asked for.
func operationTerms(o dlq.Operation) []components.KV {
	terms := []components.KV{{Key: "Asked by", Value: components.PlainText(actorWord(o.Actor))}, {Key: "When", Value: components.PlainText(plainTime(o.CreatedAt))}, {Key: "Why", Value: shown(o.Reason)}}
	if o.Query != "" {
		terms = append(terms, components.KV{Key: "Filter", Value: shown(o.Query), Mono: true, Href: entriesHref(o.Query), Note: "as it matches now"})
	} else {
		terms = append(terms, components.KV{Key: "Chosen", Value: components.PlainText("by hand")})
	}
	terms = append(terms, components.KV{Key: "Membership", Value: components.PlainText(documents(o.Total)), Href: entriesHref("operation:" + o.ID), Note: "frozen when it was started"})
	switch o.Kind {
	case dlq.OperationRedrive:
		mode := modeLabels[o.Mode]
		if mode == "" {
			mode = "as each source's policy says"
		}
		terms = append(terms, components.KV{Key: "Which bytes", Value: components.PlainText(mode)})
		if o.AcceptUnknown {
			terms = append(terms, components.KV{Key: "And", Value: components.PlainText("the stored copy also where nobody can tell whether the document changed")})
		}
		pace := []string{}
		if o.Rate > 0 {
			pace = append(pace, fmt.Sprintf("at most %g deliveries a second", o.Rate))
		}
		if o.Concurrency > 0 {
			pace = append(pace, fmt.Sprintf("at most %d in flight", o.Concurrency))
		}
		if len(pace) == 0 {
			pace = append(pace, "each source's rate and concurrency")
		}
		terms = append(terms, components.KV{Key: "Pace", Value: components.PlainText(strings.Join(pace, ", "))})
	case dlq.OperationExtend:
		until := fmt.Sprintf("%d days longer", o.Days)
		if !o.Until.IsZero() {
			until = "until " + dateOf(o.Until)
		}
		terms = append(terms, components.KV{Key: "For how long", Value: components.PlainText(until)})
	case dlq.OperationRelease:
		terms = append(terms, components.KV{Key: "How", Value: components.PlainText(map[dlq.Grant]string{dlq.GrantOne: "one more replay", dlq.GrantReset: "counted anew"}[o.Grant])})
	}
	terms = append(terms, markTerms(o)...)
	return append(terms, components.KV{Key: "Its id", Value: components.PlainText(o.ID), Mono: true, Copy: true})
}

// leftOutDo is what can be done about a reason to leave out.
var leftOutDo = map[dlq.LeftOut]components.Link{
	dlq.LeftQuarantined: {Text: "decide", Href: "/quarantine"},
	dlq.LeftNoTarget:    {Text: "set a target", Href: "/sources"},
	dlq.LeftInFlight:    {Text: "see what runs", Href: "/operations?state=open"},
}

// itemsHref is the page of an operation with some of its items.
func itemsHref(id string, choice itemChoice, after int64) string {
	v := url.Values{}
	if choice.state != "" {
		v.Set("state", string(choice.state))
	}
	if choice.outcome != "" {
		v.Set("outcome", string(choice.outcome))
	}
	if choice.step > 0 {
		v.Set("step", strconv.Itoa(choice.step))
	}
	if after > 0 {
		v.Set("after", strconv.FormatInt(after, 10))
	}
	href := operationHref(id)
	if len(v) > 0 {
		href += "?" + v.Encode()
	}
	return href + "#" + operation.ItemsID
}

// itemFilters are the states of the items, and after "settled" the outcomes that
// it is made of.
func itemFilters(f operationFacts) []components.Chip {
	o := f.operation
	chips := []components.Chip{{Text: "All", Href: itemsHref(o.ID, itemChoice{}, 0), Count: grouped(o.Total), On: f.choice == itemChoice{}}}
	add := func(text string, n int64, choice itemChoice) {
		if n > 0 || f.choice == choice {
			chips = append(chips, components.Chip{Text: capital(text), Href: itemsHref(o.ID, choice, 0), Count: grouped(n), On: f.choice == choice})
		}
	}
	for _, s := range dlq.ItemStates {
		text := itemStateWords[s]
		if s == dlq.ItemInFlight {
			text = "not settled" // to be sent, or on its way
		}
		add(text, o.Counts[s], itemChoice{state: s})
		if s != dlq.ItemSettled || o.Kind != dlq.OperationRedrive {
			continue
		}
		for _, r := range outcomeOrder {
			if r != dlq.OutcomeCancelled {
				add(outcomeWords[r], f.outcomes[r], itemChoice{outcome: r})
			}
		}
	}
	return append(chips, stepFilters(f)...)
}

func itemsPager(f operationFacts) components.Pager {
	p := components.Pager{Summary: counted(len(f.items), "item", "items") + " here"}
	if f.hidden > 0 {
		p.Summary += ", " + grouped(f.hidden) + " of sources that you do not see"
	}
	if f.after > 0 {
		p.Prev = components.Link{Text: "From the first", Href: itemsHref(f.operation.ID, f.choice, 0)}
	}
	if f.more && len(f.items) > 0 {
		p.Next = components.Link{Text: fmt.Sprintf("Next %d", itemsShown), Href: itemsHref(f.operation.ID, f.choice, f.items[len(f.items)-1].item.Position)}
	}
	return p
}

var itemTones = map[dlq.ItemState]components.Tone{dlq.ItemWaiting: components.Quiet, dlq.ItemInFlight: components.Info, dlq.ItemSettled: components.Good, dlq.ItemLeftOut: components.Quiet, dlq.ItemCancelled: components.Quiet}

func newOperationItem(i operationItem, now time.Time) operation.Item {
	it := i.item
	out := operation.Item{Document: shown(it.DocID), Source: web.VisibleText(it.Source), Href: entryHref(it.DLQID), Step: strconv.Itoa(max(it.Step, 1)), State: components.Tag{Text: itemStateWords[it.State], Tone: itemTones[it.State]}, Why: sentence("%s", leftOutWords[it.Why])}
	if it.DocID == "" {
		out.Document = shown(it.DLQID) // it is not here any more
	}
	if it.Outcome != "" {
		out.Outcome = outcomeWords[it.Outcome]
		out.State.Tone = outcomeTone(it.Outcome)
	}
	if i.redrive == nil {
		return out
	}
	r := *i.redrive
	if r.InFlight() {
		out.State = components.Tag{Text: "on its way", Tone: components.Info}
		if r.SentAt.IsZero() {
			out.State = components.Tag{Text: "to be sent", Tone: components.Quiet}
		}
		out.Why, out.When = flightWhy(r, now), moment(r.SentAt)
		return out
	}
	v := r.Verdict()
	out.When = moment(r.SettledAt)
	if r.SentAt.IsZero() {
		return out
	}
	out.Bytes = bytesTag(dlq.Evidence{Bytes: v.Bytes, Grade: v.Grade, Caveats: v.Caveats})
	out.Code = codeTag(v.Code, v.Moved)
	out.Verdict = verdictWord(r)
	if r.Outcome == dlq.OutcomeUndelivered {
		out.Why = refusalWords(r)
	}
	return out
}

// refusalWords say what stood in the way of the last delivery: the reason, which
// names the status where the target answered with one. Nothing where nothing did.
func refusalWords(r dlq.Redrive) string {
	if r.LastError == "" {
		return ""
	}
	return sentence("%s", shownLine(r.LastError, 200).String())
}

func flightWhy(r dlq.Redrive, now time.Time) string {
	switch {
	case r.SentAt.IsZero():
		return "Waits to be sent."
	case !r.AcceptedAt.IsZero():
		return strings.TrimSpace("Taken " + ago(now, r.AcceptedAt) + ", no outcome yet. " + refusalWords(r))
	case r.LastError != "":
		return refusalWords(r) + " " + counted(r.Deliveries, "delivery", "deliveries") + " so far."
	}
	return "Sent " + ago(now, r.SentAt) + "."
}
