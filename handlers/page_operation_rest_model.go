package handlers

import (
	"strings"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/operation"
)

// What an operation leaves behind: what of it is still stuck, what matches its
// filter and is not in it, and, of a cancelled one, what was done and what not.

// stuckChoice is one way in which documents of a redrive can still be stuck, with
// how many of them are parked now.
type stuckChoice struct {
	stands string // of dlq.OperationStands
	parked int64
}

// stuckStands are the ways, the most telling first.
var stuckStands = []dlq.OutcomeResult{dlq.OutcomeFailed, dlq.OutcomeUndelivered, dlq.OutcomeNoOutcome, dlq.OutcomeUnattributed, dlq.OutcomeCancelled}

// stuckWords say of so many documents what came of them, and stuckDo what to do.
var stuckWords = map[string]string{
	string(dlq.OutcomeFailed):       "failed again",
	string(dlq.OutcomeUndelivered):  "could not be delivered",
	string(dlq.OutcomeNoOutcome):    "have no outcome in the time that they had",
	string(dlq.OutcomeUnattributed): "failed, and nobody can tell by which replay",
	string(dlq.OutcomeCancelled):    "were cancelled before they were sent",
}

// stuckQuery finds the documents of a redrive that stand so in it and are parked
// now, whatever other redrives did to them since.
func stuckQuery(id, stands string) string { return "operation:" + id + "/" + stands + " status:parked" }

// operationStuck leads to a redrive of what of an ended one is still stuck, each
// kind by itself, because each needs another answer.
func operationStuck(f operationFacts) []operation.LeftOut {
	var out []operation.LeftOut
	for _, c := range f.stuck {
		if c.parked == 0 {
			continue
		}
		q := stuckQuery(f.operation.ID, c.stands)
		row := operation.LeftOut{Count: components.Link{Text: grouped(c.parked), Href: entriesHref(q)}, Why: stuckWords[c.stands] + ", parked now"}
		if c.parked == 1 {
			row.Why = strings.NewReplacer("have no", "has no", "were cancelled before they were", "was cancelled before it was").Replace(row.Why)
		}
		if f.by.May(dlq.MayDecide) {
			row.Do = components.Link{Text: "redrive them", Href: confirmHref(dlq.OperationRedrive, q, c.parked, operationHref(f.operation.ID))}
			if c.parked == 1 {
				row.Do.Text = "redrive it"
			}
		}
		out = append(out, row)
	}
	return out
}

// operationAgain is the button for those that failed.
func operationAgain(f operationFacts) *components.Action {
	if !f.by.May(dlq.MayDecide) {
		return nil
	}
	for _, c := range f.stuck {
		if c.stands == string(dlq.OutcomeFailed) && c.parked > 0 {
			return &components.Action{Label: "Redrive only the " + grouped(c.parked) + " that failed", Href: confirmHref(dlq.OperationRedrive, stuckQuery(f.operation.ID, c.stands), c.parked, operationHref(f.operation.ID)), Tone: components.Plain,
				Why: "Those whose replay in this operation failed, and that are parked now"}
		}
	}
	return nil
}

// arrivedTerm says how many documents match the filter of an operation now and are
// not in it.
func arrivedTerm(f operationFacts) []components.KV {
	if f.arrived < 0 {
		return nil
	}
	kv := components.KV{Key: "Arrived since start", Value: components.PlainText("none"), Note: "match the filter now and are not in it"}
	if f.arrived > 0 {
		kv.Value, kv.Href = components.PlainText(documents(f.arrived)), entriesHref(arrivedQuery(f.operation))
	}
	if f.arrived > arrivedMost {
		kv.Value = components.PlainText("more than " + grouped(arrivedMost) + " documents")
	}
	return []components.KV{kv}
}

func arrivedQuery(o dlq.Operation) string { return o.Query + " -operation:" + o.ID }

// cancelledSplit say what of a cancelled operation was done, what is under way and
// what was never begun.
func cancelledSplit(o dlq.Operation) string {
	done, flying, never := o.Counts[dlq.ItemSettled], o.Counts[dlq.ItemInFlight], o.Counts[dlq.ItemCancelled]+o.Counts[dlq.ItemWaiting]
	parts := []string{counted(done, "is done", "are done")}
	if flying > 0 {
		parts = append(parts, counted(flying, "is in flight and keeps its outcome", "are in flight and keep their outcomes"))
	}
	return sentence("%s, %s", strings.Join(parts, ", "), counted(never, "was not started", "were not started"))
}
