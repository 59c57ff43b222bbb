package handlers

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/web"
)

// eventsMost is how many events the activity shows; the newest.
const eventsMost = 60

// happened is an event with its moment, for the order.
type happened struct {
	at    time.Time
	event components.Event
}

// newEntryActivity merges what people and policies did, what was noted, how
// often it failed and what came of its redrives, newest first.
func newEntryActivity(f entryFacts) components.Activity {
	var all []happened
	for _, r := range f.audit {
		if e, ok := auditEvent(r); ok {
			all = append(all, happened{r.At, e})
		}
	}
	left := renderedMost
	for _, n := range f.notes {
		all = append(all, happened{n.WrittenAt, noteEvent(n, &left)})
	}
	said := map[int64]string{} // the exception of a failure that a replay reported, which stands with its verdict
	for _, r := range f.redrives {
		if r.OutcomeAttempt != 0 {
			said[r.OutcomeAttempt] = ""
		}
	}
	for i, a := range f.attempts {
		if _, replayed := said[a.ID]; replayed {
			said[a.ID] = a.ErrorType
			continue
		}
		before := ""
		if i+1 < len(f.attempts) {
			before = f.attempts[i+1].CohortID
		}
		all = append(all, happened{a.ReceivedAt, components.Event{Text: capital(attemptWhat(a, before)) + ": " + shownLine(a.ErrorType, 80).String(), When: moment(a.ReceivedAt), Tone: components.Plain}})
	}
	for _, r := range f.redrives {
		if e, ok := redriveEvent(r, said[r.OutcomeAttempt]); ok {
			all = append(all, happened{r.SettledAt, e})
		}
	}
	slices.SortStableFunc(all, func(a, b happened) int { return b.at.Compare(a.at) })
	activity := components.Activity{Events: foldEvents(all)}
	if len(activity.Events) > eventsMost {
		activity.Events = activity.Events[:eventsMost]
		activity.Events = append(activity.Events, components.Event{Text: "What is older is not shown here; the audit trail has it."})
	}
	if f.by.May(dlq.MayNote) && f.entry.Status != dlq.StatusErased {
		activity.Note = &components.NoteForm{CSRF: f.csrf, Action: entryHref(f.entry.DLQID) + "/notes", Hint: "Markdown, up to 16 KiB. It stays with the document through redrives."}
	}
	return activity
}

// noteEvent is a note, drawn as the Markdown that it is. One that is past the cap
// on what a page renders, of which left is what remains in bytes, or that cannot
// be rendered, stands as it was typed.
func noteEvent(n dlq.Note, left *int) components.Event {
	e := components.Event{Who: n.Author, Text: "noted", When: moment(n.WrittenAt)}
	if len(n.Body) <= *left {
		if rendered, err := web.Markdown(web.VisibleText(n.Body)); err == nil {
			*left -= len(n.Body)
			e.Body = components.Markdown{SanitisedHTML: rendered}
			return e
		}
	}
	e.Note = shown(n.Body)
	return e
}

// foldEvents makes one line of events that follow each other and say the same.
func foldEvents(all []happened) []components.Event {
	var out []components.Event
	times := 1
	for i, h := range all {
		if i > 0 && len(out) > 0 && h.event.Who == all[i-1].event.Who && h.event.Text == all[i-1].event.Text && len(h.event.Note) == 0 && h.event.Body.SanitisedHTML == "" && h.event.Link == all[i-1].event.Link {
			times++
			out[len(out)-1].Text = h.event.Text + " (" + grouped(times) + " times)"
			continue
		}
		times = 1
		out = append(out, h.event)
	}
	return out
}

// auditWords are the actions of the trail as sentences with the actor before.
var auditWords = map[string]string{
	"entry.quarantine":       "put it in quarantine",
	"entry.quarantined":      "put it in quarantine",
	"entry.release":          "released it",
	"entry.extend":           "kept it longer",
	"entry.archive":          "archived it",
	"entry.restore":          "restored it",
	"entry.expired":          "archived it: its time in the queue was over",
	"entry.assigned":         "assigned it",
	"entry.redrive":          "redrove it",
	"entry.skipped":          "redrove it; its key was committed already, so nothing was sent",
	"payload.viewed":         "looked at the stored copy",
	"payload.downloaded":     "downloaded the stored copy",
	"source.asked":           "asked the source what it is now",
	"redrive.overdue":        "waited for an outcome in vain",
	"redrive.undelivered":    "gave up delivering it",
	"note.added":             "", // the note itself is there
	"cohort.assigned":        "assigned the cohort",
	"fix.declared":           "declared a fix",
	"fix.changed":            "changed what is said of a fix",
	"fix.withdrawn":          "withdrew a fix",
	"fix.live":               "deployed the fix",
	"cohort.merged":          "merged other cohorts into this one",
	"cohort.merged_into":     "merged the cohort into another",
	"cohort.merge_undone":    "undid a merge",
	"cohort.split":           "split the cohort",
	"cohort.split_from":      "split it off another cohort",
	"cohort.split_done":      "moved the documents of a split",
	"cohort.split_undone":    "undid a split",
	"cohort.runbook":         "changed the runbook",
	"source.secret_set":      "set the secret that signs redrives",
	"source.secret_replaced": "replaced the secret that signs redrives",
	"source.overlap_ended":   "let go of the secret that was replaced",
	"operation.redrive":      "started a redrive",
	"operation.quarantine":   "started a quarantine of many",
	"operation.release":      "started a release of many",
	"operation.extend":       "started keeping many longer",
	"operation.archive":      "started archiving many",
	"operation.restore":      "started restoring many",
}

// auditDetail is what of a row's detail is worth reading in an activity.
type auditDetail struct {
	Owner  string `json:"owner"`
	Ticket string `json:"ticket"`
	Grant  string `json:"grant"`
	To     string `json:"to"` // a state, or of an extension a time

	Component string `json:"component"`
	Version   string `json:"version"`
}

// auditEvent is a row of the trail as an event; false for rows that another
// event says better.
func auditEvent(r dlq.AuditRow) (components.Event, bool) {
	words, known := auditWords[r.Action]
	if known && words == "" {
		return components.Event{}, false
	}
	if !known {
		words = strings.ReplaceAll(r.Action, ".", ": ")
	}
	var d auditDetail
	_ = json.Unmarshal([]byte(r.Detail), &d) // an older detail of another shape has nothing to add
	e := components.Event{Who: r.ActorName, Text: words, When: moment(r.At)}
	if r.ActorKind == dlq.ActorPolicy {
		e.Who = "policy " + r.ActorName
	}
	if decided, is := dispositionEvent(r); is {
		e.Text = decided
	}
	switch r.Action {
	case "entry.assigned", "cohort.assigned":
		e.Text += " to " + ownerWord(d.Owner)
		if d.Ticket != "" {
			e.Note = shownLine(d.Ticket, 200)
		}
	case "fix.declared", "fix.changed", "fix.withdrawn":
		e.Text += ": " + versionLine(d.Component, d.Version)
	case "fix.live":
		e.Text += ": " + versionLine(d.Component, d.Version) + " runs in " + titleOf(r.Source)
	case "entry.extend":
		if to, err := time.Parse(time.RFC3339, d.To); err == nil {
			e.Text += ", until " + dateOf(to)
		}
	case "entry.release":
		if dlq.Grant(d.Grant) == dlq.GrantReset {
			e.Text += " and counted anew"
		} else {
			e.Text += " for one more replay"
		}
	}
	if r.Reason != "" {
		e.Note = shown(r.Reason)
	}
	if r.OperationID != "" {
		e.Link = components.Link{Text: "operation", Href: operationHref(r.OperationID)}
	}
	return e, true
}

// redriveEvent is what came of a redrive, and what that says; failed is the
// exception of one that failed again.
func redriveEvent(r dlq.Redrive, failed string) (components.Event, bool) {
	if r.InFlight() || r.Outcome == "" {
		return components.Event{}, false
	}
	v := r.Verdict()
	e := components.Event{Text: "Replay: " + verdictWord(r), When: moment(r.SettledAt), Link: components.Link{Text: "operation", Href: operationHref(r.OperationID)}, Tone: outcomeTone(r.Outcome)}
	if failed != "" {
		e.Text += ", with " + shownLine(failed, 80).String()
	}
	if counts := countsFor(v); counts != "" {
		e.Text += "; it " + counts
	}
	return e, true
}
