package handlers

import (
	"net/url"
	"strconv"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/quarantine"
	"dlo/web"
)

const (
	quarantineShown = 25
	// sameShown is how many of the identical failures stand side by side.
	sameShown = 4
)

// poisonEntry is a document in quarantine with what explains why it is there.
type poisonEntry struct {
	entry    dlq.Entry
	redrives []dlq.Redrive  // newest first
	audit    []dlq.AuditRow // newest first
	cohort   string         // heading
}

// quarantineFacts is what the list is made from.
type quarantineFacts struct {
	rows      []poisonEntry
	threshold map[string]int // of each source
	query     string
	filter    string // "", "me" or "nobody"
	total     int64  // that the query matches
	first     bool
	next      string
	by        dlq.Actor
	now       time.Time
}

// quarantineQuery is the list as a query; the filter is by owner.
func quarantineQuery(by dlq.Actor, filter string) string {
	switch filter {
	case "me":
		return "status:quarantined owner:" + dlq.QuoteValue(by.Name)
	case "nobody":
		return "status:quarantined owner:nobody"
	}
	return "status:quarantined"
}

// quarantineHref is the list under a filter.
func quarantineHref(filter string) string {
	if filter == "" {
		return "/quarantine"
	}
	return "/quarantine?owner=" + filter
}

// newQuarantinePage shapes the documents that wait for a decision.
func newQuarantinePage(f quarantineFacts) quarantine.Model {
	m := quarantine.Model{Heading: "Nothing to decide", Filters: []components.Chip{{Text: "All", Href: quarantineHref(""), On: f.filter == ""}, {Text: "Mine", Href: quarantineHref("me"), On: f.filter == "me"},
		{Text: "Nobody's", Href: quarantineHref("nobody"), On: f.filter == "nobody"}}}
	if f.total > 0 {
		m.Heading = counted(f.total, "document waits", "documents wait") + " for a decision"
		m.Lead = "Another replay of them happens only if you let it. None of them expires here."
	}
	for _, p := range f.rows {
		m.Rows = append(m.Rows, newQuarantineRow(p, f))
	}
	if len(f.rows) == 0 {
		m.Empty = &components.Empty{Title: "No document is in quarantine", Text: "One comes here when it fails the same way after as many replays as its source allows, or when somebody puts it here."}
		if f.filter != "" {
			m.Empty = &components.Empty{Title: "None of these is in quarantine", Links: []components.Link{{Text: "All", Href: "/quarantine"}}}
		}
	}
	m.Bulk = quarantineBulk(f)
	m.Pager = components.Pager{Summary: grouped(len(f.rows)) + " of " + grouped(f.total)}
	here := url.Values{}
	if f.filter != "" {
		here.Set("owner", f.filter)
	}
	if !f.first {
		m.Pager.Prev = components.Link{Text: "From the first", Href: "/quarantine?" + here.Encode()}
	}
	if f.next != "" {
		here.Set("cursor", f.next)
		m.Pager.Next = components.Link{Text: "Next", Href: "/quarantine?" + here.Encode()}
	}
	return m
}

func quarantineBulk(f quarantineFacts) components.Bulk {
	b := components.Bulk{FormID: "bulk", Noun: "documents", Shown: grouped(len(f.rows)), Total: grouped(f.total), Query: f.query, Expect: strconv.FormatInt(f.total, 10), Back: quarantineHref(f.filter)}
	if len(f.rows) == 0 {
		return components.Bulk{FormID: "bulk"}
	}
	if !f.by.May(dlq.MayDecide) {
		b.Why = roleCannot(f.by.Role)
		return b
	}
	if f.total > int64(len(f.rows)) {
		b.AllLabel = "all " + grouped(f.total) + " that match"
	}
	for _, kind := range []dlq.OperationKind{dlq.OperationRelease, dlq.OperationExtend, dlq.OperationArchive} {
		b.Actions = append(b.Actions, components.Action{Label: actionWords[kind], Href: "/confirm/" + string(kind)})
	}
	b.Actions = append(b.Actions, components.Action{Label: "Assign", Href: "/confirm/" + string(dlq.OperationAssign)})
	return b
}

func newQuarantineRow(p poisonEntry, f quarantineFacts) quarantine.Row {
	e := p.entry
	name := titleOf(e.Source + " / " + e.DocID)
	row := quarantine.Row{
		Check: components.Check{Name: "id", Value: e.DLQID, Label: "Select " + name}, Href: entryHref(e.DLQID), Source: web.VisibleText(e.Source), DocID: shown(e.DocID),
		Cohort: components.Link{Text: p.cohort, Href: cohortHref(e.CohortID)}, Why: quarantineWhy(p, f.threshold[e.Source]), Owner: ownerWord(e.Owner), Message: shownLine(e.Message, 300),
		Decision: dispositionTag(e.Disposition).Text, Since: moment(quarantinedAt(p)), Actions: quarantineActions(e, f.by),
	}
	for _, r := range p.redrives {
		if r.Outcome != dlq.OutcomeFailed || r.OutcomeCohort != "" && r.OutcomeCohort != e.CohortID || len(row.Same) == min(sameShown, e.SameFailures) {
			continue
		}
		v := r.Verdict()
		same := quarantine.Same{When: moment(r.SettledAt), Under: underWords(replayedUnder(r), nil), Bytes: bytesTag(dlq.Evidence{Bytes: v.Bytes, Grade: v.Grade, Caveats: v.Caveats}), What: verdictWord(r)}
		row.Same = append([]quarantine.Same{same}, row.Same...) // oldest first
		if row.Bytes.Text == "" {
			row.Bytes = same.Bytes
		}
	}
	return row
}

// replayedUnder is what the replay ran under: what its outcome names, else the
// one version that ran.
func replayedUnder(r dlq.Redrive) dlq.Versions {
	return dlq.TakeOverVersions(r.OutcomeVersions, r.Running, r.FailedUnder)
}

// quarantineWhy says why a document is here: the threshold, or who put it here.
func quarantineWhy(p poisonEntry, threshold int) string {
	for _, r := range p.audit {
		if r.Action == "entry.quarantine" {
			s := "Put here by " + web.VisibleText(r.ActorName)
			if r.Reason != "" {
				s += ": " + shownLine(r.Reason, 200).String()
			}
			return sentence("%s", s)
		}
		if r.Action == "entry.release" || r.Action == "entry.quarantined" {
			break
		}
	}
	return "Failed the same way: " + sentence("%s", sameFailureWords(p.entry.SameFailures, threshold))
}

// quarantinedAt is when it came here: by a person, or by its last failure.
func quarantinedAt(p poisonEntry) time.Time {
	for _, r := range p.audit {
		if r.Action == "entry.quarantine" || r.Action == "entry.quarantined" {
			return r.At
		}
	}
	return p.entry.LastSeen
}

// quarantineActions are the decisions, each to its confirmation.
func quarantineActions(e dlq.Entry, by dlq.Actor) []components.Action {
	do := func(label string, kind dlq.OperationKind, key string) components.Action {
		return components.Action{Label: label, Href: confirmEntryHref(kind, e.DLQID, "/quarantine"), Key: key}
	}
	var out []components.Action
	if by.May(dlq.MayDecide) {
		one, reset := do("Release one more", dlq.OperationRelease, "r"), do("Count anew", dlq.OperationRelease, "")
		one.Href += "&grant=" + string(dlq.GrantOne)
		reset.Href += "&grant=" + string(dlq.GrantReset)
		out = append(out, one, reset, do("Keep longer", dlq.OperationExtend, "e"), do("Archive", dlq.OperationArchive, ""))
	}
	if by.May(dlq.MayNote) {
		out = append(out, do("Assign", dlq.OperationAssign, "a"))
	}
	return out
}
