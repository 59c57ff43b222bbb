package handlers

import (
	"fmt"
	"time"

	"dlo/dlq"
	"dlo/views/alerts"
	"dlo/views/components"
	"dlo/web"
)

// alertsFacts is what the list of alerts is made from.
type alertsFacts struct {
	list  []dlq.Alert
	state string    // "", which is those that stand, or "all"
	since time.Time // those that began after it alone; zero: all
	by    dlq.Actor
	csrf  string
}

// alertWords are what a rule is about.
var alertWords = map[dlq.AlertRule]string{
	dlq.AlertPoison:           "A document waits for a decision",
	dlq.AlertContract:         "Parsed documents are refused downstream",
	dlq.AlertOperationStopped: "A redrive was stopped",
	dlq.AlertOperationPaused:  "A redrive paused itself",
	dlq.AlertTargetGone:       "A redrive target is gone",
	dlq.AlertLooksTransient:   "A cohort passes when nothing changed",
	dlq.AlertPayloadCorrupt:   "A stored copy is damaged",
}

var alertTones = map[dlq.AlertState]components.Tone{dlq.AlertFiring: components.Bad, dlq.AlertAcknowledged: components.Held, dlq.AlertResolved: components.Good}

// newAlertsPage shapes the conditions that hold and those that held.
func newAlertsPage(f alertsFacts) alerts.Model {
	m := alerts.Model{CSRF: f.csrf}
	firing, standing, all := 0, 0, 0
	for _, a := range f.list {
		all++
		if a.State != dlq.AlertResolved {
			standing++
		} else if f.state != "all" {
			continue
		}
		if a.State == dlq.AlertFiring {
			firing++
		}
		if !f.since.IsZero() && !a.Since.After(f.since) {
			continue
		}
		m.Rows = append(m.Rows, newAlertRow(a, f.by))
	}
	switch {
	case firing > 0:
		m.Heading = counted(firing, "alert is firing", "alerts are firing")
	case standing > 0:
		m.Heading = "Nothing new; " + counted(standing, "alert is", "alerts are") + " being looked after"
	default:
		m.Heading = "No alert stands"
	}
	m.Filters = []components.Chip{{Text: "Standing", Href: "/alerts", Count: grouped(standing), On: f.state != "all" && f.since.IsZero()}, {Text: "All", Href: "/alerts?state=all", Count: grouped(all), On: f.state == "all" && f.since.IsZero()}}
	if !f.since.IsZero() {
		m.Filters = append(m.Filters, components.Chip{Text: "New since " + f.since.Format("2 Jan 15:04 UTC"), Href: "/alerts", Count: grouped(len(m.Rows)), On: true, Drop: true})
	}
	if len(m.Rows) == 0 {
		m.Empty = &components.Empty{Title: "No alert stands", Text: "One fires when a document reaches its poison threshold, when a redrive stops or pauses, when a target is gone, when a cohort passes although nothing changed, or when a stored copy is damaged."}
	}
	if len(f.list) == alertsRead {
		m.Pager.Summary = fmt.Sprintf("the newest %s; those that stand come first", grouped(alertsRead))
	}
	return m
}

func newAlertRow(a dlq.Alert, by dlq.Actor) alerts.Row {
	title := alertWords[a.Rule]
	if title == "" {
		title = string(a.Rule)
	}
	row := alerts.Row{Title: components.Link{Text: title, Href: alertHref(a)}, State: components.Tag{Text: string(a.State), Tone: alertTones[a.State]}, Rule: string(a.Rule), Why: sentence("%s", web.VisibleText(a.Why)),
		Since: moment(a.Since), By: web.VisibleText(a.AcknowledgedBy)}
	if a.Limit > 0 {
		row.Why += fmt.Sprintf(" (%s against a limit of %s)", grouped(a.Value), grouped(a.Limit))
	}
	if a.Source != "" {
		row.Source = components.Link{Text: web.VisibleText(a.Source), Href: sourceHref(a.Source)}
	}
	if a.State == dlq.AlertFiring && by.May(dlq.MayPause) {
		row.Actions = []components.Action{{Label: "Acknowledge", Href: "/alerts/" + a.ID + "/acknowledge", Why: "Says that somebody looks after it; it resolves by itself once the condition is over"}}
	}
	return row
}

// alertHref leads to what an alert is about, the narrowest first.
func alertHref(a dlq.Alert) string {
	switch {
	case a.Rule != dlq.AlertContract && a.DLQID != "":
		return entryHref(a.DLQID)
	case a.OperationID != "":
		return operationHref(a.OperationID)
	case a.CohortID != "":
		return cohortHref(a.CohortID)
	case a.Source != "":
		return sourceHref(a.Source)
	}
	return "/alerts"
}
