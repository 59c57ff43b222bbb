package handlers

import (
	"fmt"
	"slices"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entry"
)

const (
	attemptsRead    = 500 // of an entry's history, the newest
	attemptsColumns = 16  // of the strip; what is before stands in one column
	foldAttempts    = 3   // alike ones in a row that become first, folded and last
)

// newAttempts shapes the history as a strip, oldest first, in which runs of
// alike attempts are folded and what moved is marked.
func newAttempts(f entryFacts) entry.Attempts {
	list := slices.Clone(f.attempts)
	slices.Reverse(list)
	a := entry.Attempts{Summary: attemptsSummary(f)}
	columns := foldColumns(list)
	if n := len(columns); n > attemptsColumns {
		hidden := 0
		for _, c := range columns[:n-attemptsColumns+1] {
			hidden += c.n
		}
		columns = append([]attemptColumn{{fold: grouped(hidden) + " earlier", n: hidden, at: columns[n-attemptsColumns].at}}, columns[n-attemptsColumns+1:]...)
	}
	for _, c := range columns {
		column := entry.AttemptColumn{Fold: c.fold}
		if c.fold == "" {
			column.When = moment(list[c.at].LastSeen)
			column.Href = entryHref(f.entry.DLQID) + "?attempt=" + fmt.Sprint(list[c.at].Sequence()) + "#trace-title"
		}
		a.Columns = append(a.Columns, column)
	}
	a.Rows = append(a.Rows, stripRow("ETag", columns, list, components.DocChanged, func(t dlq.Attempt) string { return t.SourceVersion }))
	a.Rows = append(a.Rows, stripRow("Bytes", columns, list, components.DocChanged, func(t dlq.Attempt) string { return shortDigest(t.PayloadSHA256) }))
	for _, name := range namedComponents(list) {
		a.Rows = append(a.Rows, stripRow(capital(shownLine(name, 40).String()), columns, list, components.CodeChanged, func(t dlq.Attempt) string { return t.Versions[name] }))
	}
	a.Rows = append(a.Rows, whatRow(columns, list))
	return a
}

func attemptsSummary(f entryFacts) string {
	s := counted(f.entry.Attempts, "attempt", "attempts") + ", " + counted(f.entry.Arrivals, "arrival", "arrivals") + ", " + counted(f.entry.RedrivesTotal, "redrive", "redrives")
	if len(f.attempts) >= attemptsRead {
		s += "; the newest " + grouped(attemptsRead) + " stand here"
	}
	return s
}

// attemptColumn is one attempt, or a run of them; at is the index of the
// (last) attempt that it stands for.
type attemptColumn struct {
	at   int
	fold string
	n    int
}

// foldColumns keeps the first and the last of each run of alike attempts and
// folds what is between.
func foldColumns(list []dlq.Attempt) []attemptColumn {
	var columns []attemptColumn
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && alike(list[i], list[i+n]) {
			n++
		}
		if n <= foldAttempts {
			for j := range n {
				columns = append(columns, attemptColumn{at: i + j, n: 1})
			}
		} else {
			columns = append(columns, attemptColumn{at: i, n: 1}, attemptColumn{at: i + n - 2, fold: grouped(n-2) + " the same", n: n - 2}, attemptColumn{at: i + n - 1, n: 1})
		}
		i += n
	}
	return columns
}

// alike says that nothing that the strip shows differs.
func alike(a, b dlq.Attempt) bool {
	return a.Kind == b.Kind && a.Why == b.Why && a.SourceVersion == b.SourceVersion && a.PayloadSHA256 == b.PayloadSHA256 && a.CohortID == b.CohortID &&
		a.RedriveID == "" && b.RedriveID == "" && a.Versions.Canonical() == b.Versions.Canonical()
}

func namedComponents(list []dlq.Attempt) []string {
	all := dlq.Versions{}
	for _, a := range list {
		for name, version := range a.Versions {
			all[name] = version
		}
	}
	return all.Components()
}

// stripRow follows one thing. What was not given is no change, and no sameness
// either.
func stripRow(label string, columns []attemptColumn, list []dlq.Attempt, changed components.Tone, value func(dlq.Attempt) string) entry.AttemptRow {
	row := entry.AttemptRow{Label: label}
	before, first := "", true
	for _, c := range columns {
		is := value(list[c.at])
		cell := entry.AttemptCell{}
		switch {
		case c.fold != "":
			cell.Same = !first && is == before
			if !cell.Same {
				cell.Text = components.PlainText("…")
			}
		case is == "":
			cell.Text = components.PlainText("not given")
		case !first && is == before:
			cell.Same = true
		default:
			cell.Text = shownLine(is, 40)
			if !first && before != "" {
				cell.Tone = changed
			}
		}
		if is != "" {
			before = is
		}
		first = false
		row.Cells = append(row.Cells, cell)
	}
	return row
}

func whatRow(columns []attemptColumn, list []dlq.Attempt) entry.AttemptRow {
	row := entry.AttemptRow{Label: "What"}
	for _, c := range columns {
		before := ""
		if c.at > 0 {
			before = list[c.at-1].CohortID
		}
		row.Cells = append(row.Cells, entry.AttemptCell{Text: components.PlainText(attemptWhat(list[c.at], before))})
	}
	return row
}

// attemptWhat is what one attempt was, against the cohort of the one before.
func attemptWhat(a dlq.Attempt, cohortBefore string) string {
	replay := a.Kind == "outcome" || a.Why == dlq.ArrivalFailed || a.RedriveID != ""
	switch {
	case replay && cohortBefore == a.CohortID:
		return "replay, same failure"
	case replay:
		return "replay, another failure"
	case a.Why == dlq.ArrivalParked:
		return "parked"
	case a.Why == dlq.ArrivalHistory:
		return "older than what stands"
	case cohortBefore != "" && cohortBefore != a.CohortID:
		return "failed another way"
	}
	return "failed again"
}
