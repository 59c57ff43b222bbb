package handlers

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
)

// pageRows is how many rows a page of a list has.
const pageRows = 50

// entryList is a page of documents with all that its table says of them.
type entryList struct {
	id      string // of the region
	path    string // of the page: "/entries"
	params  url.Values
	query   dlq.Query // that chose them
	rows    []dlq.Entry
	next    string
	total   int64
	sort    dlq.EntrySort
	from    int64 // how many rows stand before this page
	lost    bool  // the address names a place that this list does not have
	probes  map[int64]dlq.Evidence
	running map[string]dlq.Running
	cohort  bool // with the column that names the cohort
	now     time.Time
	by      dlq.Actor
}

// newEntryTable is the list as every screen draws it.
func newEntryTable(l entryList) components.EntryTable {
	t := components.EntryTable{ID: l.id, Caption: "Documents", Cohort: l.cohort, Heads: entryHeads(l), Pager: entryPager(l), Bulk: entryBulk(l)}
	for _, e := range l.rows {
		t.Rows = append(t.Rows, newListedEntry(e, l))
	}
	return t
}

func newListedEntry(e dlq.Entry, l entryList) components.EntryRow {
	row := components.EntryRow{
		Check:    components.Check{Name: "id", Value: e.DLQID, Label: "Select " + titleOf(e.Source) + " / " + titleOf(e.DocID)},
		Href:     entryHref(e.DLQID),
		Source:   titleOf(e.Source),
		DocID:    shownLine(e.DocID, 120),
		Filename: shownLine(e.Filename, 120),
		Type:     shownLine(failureTitle(e.ErrorType, e.Reason), 120),
		Message:  shownLine(e.Message, 160),
		Cohort:   components.Link{Text: titleOf(failureTitle(e.ErrorType, e.Reason)), Href: cohortHref(e.CohortID)},
		Under:    underWords(e.Versions, l.running[e.Source]),
		Class:    shownLine(string(e.ErrorClass), 60),
		Attempts: grouped(e.Attempts),
		First:    day(e.OpenedAt),
		Leaves:   leavesTag(e, l.now),
		Now:      components.Tag{Text: "not asked yet", Tone: components.Quiet},
	}
	switch {
	case e.Status != dlq.StatusParked:
		row.State = statusTag(e)
	case len(e.Marks) > 0:
		row.State = markTags(e.Marks)[0]
	}
	row.Decided = dispositionTag(e.Disposition)
	if evidence, asked := l.probes[e.ID]; asked {
		row.Now = bytesTag(evidence)
	}
	return row
}

// failureTitle is what a failure goes by: its exception's type, or why it came
// here where it has none.
func failureTitle(errorType string, reason dlq.Reason) string {
	if errorType != "" {
		return errorType
	}
	switch reason {
	case dlq.ReasonValidation:
		return "Validation failed"
	case dlq.ReasonLowConfidence:
		return "Low confidence"
	}
	return "No exception type"
}

// entryHeads are the headings. One that sorts leads back to the usual order,
// newest failure first, when it is pressed again.
func entryHeads(l entryList) components.EntryHeads {
	head := func(text string, sort dlq.EntrySort, dir string) components.Sort {
		s := components.Sort{Text: text, Href: l.href("sort", string(sort))}
		if l.sort == sort {
			s.Dir, s.Href = dir, l.href("sort", "")
		}
		return s
	}
	heads := components.EntryHeads{
		Document:  components.Sort{Text: "Document"},
		Failed:    components.Sort{Text: "Failed under"},
		Attempts:  head("Attempts", dlq.SortAttempts, "descending"),
		FirstSeen: head("Stuck since", dlq.SortOldest, "ascending"),
		Leaves:    head("Leaves", dlq.SortExpires, "ascending"),
		Now:       components.Sort{Text: "Document now"},
	}
	heads.Attempts.Num = true
	return heads
}

// href is the same list with one thing of it changed, from its first page.
func (l entryList) href(name, value string) string {
	v := url.Values{}
	for key, values := range l.params {
		if key != "after" && key != "from" {
			v[key] = values
		}
	}
	v.Del(name)
	if value != "" {
		v.Set(name, value)
	}
	if len(v) == 0 {
		return l.path
	}
	return l.path + "?" + v.Encode()
}

func entryPager(l entryList) components.Pager {
	p := components.Pager{}
	if len(l.rows) == 0 {
		return p
	}
	p.Summary = grouped(l.from+1) + " to " + grouped(l.from+int64(len(l.rows))) + " of " + grouped(max(l.total, l.from+int64(len(l.rows))))
	if l.from > 0 {
		p.Prev = components.Link{Text: "First page", Href: l.href("after", "")}
	}
	if l.next != "" {
		href := l.href("after", l.next)
		p.Next = components.Link{Text: "Next page", Href: href + "&from=" + strconv.FormatInt(l.from+int64(len(l.rows)), 10)}
	}
	return p
}

// entryBulk is the bar under the list: what can be done to some documents of
// the query, by the states that it lets through and by who looks.
func entryBulk(l entryList) components.Bulk {
	b := components.Bulk{
		FormID: l.id + "-bulk", Noun: "documents", Shown: grouped(len(l.rows)), Total: grouped(l.total), Expect: strconv.FormatInt(l.total, 10),
		Query: l.query.Text, Back: l.href("", ""),
	}
	if l.total > int64(len(l.rows)) {
		b.AllLabel = "all " + grouped(l.total) + " that match"
	}
	if l.by.May(dlq.MayDecide) {
		for _, kind := range kindsFor(statusesOf(l.query)) {
			b.Actions = append(b.Actions, bulkAction("/confirm", kind, actionWords[kind]))
		}
		if len(b.Actions) > 0 && b.Actions[0].Label == actionWords[dlq.OperationRedrive] {
			b.Actions[0].Tone, b.Actions[0].Key = components.Primary, "r"
		}
	} else {
		b.Why = roleCannot(l.by.Role)
	}
	if l.by.May(dlq.MayNote) {
		b.Actions = append(b.Actions, bulkAction("/confirm", dlq.OperationAssign, actionWords[dlq.OperationAssign]))
		if slices.ContainsFunc(statusesOf(l.query), dlq.Status.Open) {
			b.Actions = append(b.Actions, bulkAction("/confirm", dlq.OperationDispose, actionWords[dlq.OperationDispose]))
		}
	}
	return b
}

var bulkKeys = map[dlq.OperationKind]string{dlq.OperationQuarantine: "q", dlq.OperationExtend: "e", dlq.OperationAssign: "a"}

// bulkAction is one button of the bar. The action stands in the path, because a
// form that asks by GET drops the query of its address.
func bulkAction(path string, action dlq.OperationKind, label string) components.Action {
	return components.Action{Label: label, Href: path + "/" + string(action), Key: bulkKeys[action]}
}

// statusesOf are the states that a query lets through.
func statusesOf(q dlq.Query) []dlq.Status {
	left := slices.Clone(dlq.Statuses)
	for _, t := range q.Terms {
		if t.Key != "status" {
			continue
		}
		left = slices.DeleteFunc(left, func(s dlq.Status) bool {
			matches := slices.Contains(t.Values, string(s)) || s.Open() && slices.Contains(t.Values, "open")
			return matches == t.Negated
		})
	}
	return left
}

// actsOn are the states in which each action can be taken, as the table of
// states and events has them. What is already so is left out there.
var actsOn = []struct {
	kind     dlq.OperationKind
	statuses []dlq.Status
}{
	{dlq.OperationRedrive, []dlq.Status{dlq.StatusParked}},
	{dlq.OperationRelease, []dlq.Status{dlq.StatusQuarantined}},
	{dlq.OperationRestore, []dlq.Status{dlq.StatusArchived}},
	{dlq.OperationQuarantine, []dlq.Status{dlq.StatusParked}},
	{dlq.OperationExtend, []dlq.Status{dlq.StatusParked, dlq.StatusRedriving, dlq.StatusQuarantined}},
	{dlq.OperationArchive, []dlq.Status{dlq.StatusParked, dlq.StatusQuarantined}},
}

// kindsFor are the actions that at least one of the states allows.
func kindsFor(statuses []dlq.Status) []dlq.OperationKind {
	var kinds []dlq.OperationKind
	for _, a := range actsOn {
		if slices.ContainsFunc(statuses, func(s dlq.Status) bool { return slices.Contains(a.statuses, s) }) {
			kinds = append(kinds, a.kind)
		}
	}
	return kinds
}

// statusTermFor is the term that lets through what an action can be taken on.
func statusTermFor(kind dlq.OperationKind) string {
	for _, a := range actsOn {
		if a.kind == kind {
			names := make([]string, len(a.statuses))
			for i, s := range a.statuses {
				names[i] = string(s)
			}
			return "status:" + strings.Join(names, ",")
		}
	}
	return ""
}

// pageFrom reads how many rows stand before a page. It is only for the words
// "51 to 100": what is on the page is decided by the cursor.
func pageFrom(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}
