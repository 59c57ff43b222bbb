package handlers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entry"
)

const (
	attemptsRead    = 500 // of an entry's history, the newest
	attemptsColumns = 16  // of the strip; what is before stands in one column
	foldAttempts    = 3   // alike ones in a row that become first, folded and last
)

// try is one time that a document met its pipeline, as the strip shows it: a
// failure in the history, or a replay that left none there because it passed or
// has no outcome. The texts are empty where they are not known.
type try struct {
	at       time.Time
	href     string
	tag      string // the version at the source
	sha256   string
	versions dlq.Versions
	what     string
	alone    bool   // never folded with its neighbours
	like     string // what else must be the same for two to be alike
}

// newAttempts shapes the history as a strip, oldest first, in which runs of
// alike tries are folded and what moved is marked.
func newAttempts(f entryFacts) entry.Attempts {
	list := triesOf(f)
	a := entry.Attempts{Summary: attemptsSummary(f)}
	columns := foldColumns(list)
	if n := len(columns); n > attemptsColumns {
		hidden := 0
		for _, c := range columns[:n-attemptsColumns+1] {
			hidden += c.n
		}
		columns = append([]attemptColumn{{fold: grouped(hidden) + " earlier", n: hidden, at: columns[n-attemptsColumns].at}}, columns[n-attemptsColumns+1:]...)
	}
	what := entry.AttemptRow{Label: "What"}
	for _, c := range columns {
		column := entry.AttemptColumn{Fold: c.fold}
		if c.fold == "" {
			column.When, column.Href = moment(list[c.at].at), list[c.at].href
		}
		a.Columns = append(a.Columns, column)
		what.Cells = append(what.Cells, entry.AttemptCell{Text: components.PlainText(list[c.at].what)})
	}
	a.Rows = append(a.Rows, stripRow("ETag", columns, list, components.DocChanged, func(t try) string { return t.tag }))
	a.Rows = append(a.Rows, stripRow("Bytes", columns, list, components.DocChanged, func(t try) string { return shortDigest(t.sha256) }))
	for _, name := range namedComponents(list) {
		a.Rows = append(a.Rows, stripRow(capital(shownLine(name, 40).String()), columns, list, components.CodeChanged, func(t try) string { return t.versions[name] }))
	}
	a.Rows = append(a.Rows, what)
	return a
}

func attemptsSummary(f entryFacts) string {
	s := counted(f.entry.Attempts, "attempt", "attempts") + ", " + counted(f.entry.Arrivals, "arrival", "arrivals") + ", " + counted(f.entry.RedrivesTotal, "redrive", "redrives")
	if len(f.attempts) >= attemptsRead {
		s += "; the newest " + grouped(attemptsRead) + " stand here"
	}
	return s
}

// triesOf are the failures of a document in the order in which they came, and
// between them the replays that left no failure, by when they were settled.
func triesOf(f entryFacts) []try {
	failures := slices.Clone(f.attempts)
	slices.Reverse(failures)
	replays := slices.DeleteFunc(slices.Clone(f.redrives), func(r dlq.Redrive) bool { return !leftNoFailure(r) })
	slices.Reverse(replays)
	var list []try
	before := ""
	for _, a := range failures {
		for len(replays) > 0 && replayedAt(replays[0]).Before(a.ReceivedAt) {
			list, replays = append(list, tryOfReplay(replays[0])), replays[1:]
		}
		list = append(list, tryOfAttempt(f.entry.DLQID, a, before))
		before = a.CohortID
	}
	for _, r := range replays {
		list = append(list, tryOfReplay(r))
	}
	return list
}

// leftNoFailure says that a redrive went to its pipeline and that no failure in
// the history tells of it.
func leftNoFailure(r dlq.Redrive) bool {
	return r.OutcomeAttempt == 0 && !r.SentAt.IsZero()
}

// replayedAt is when a redrive was settled, or first sent where it is not.
func replayedAt(r dlq.Redrive) time.Time {
	if r.SettledAt.IsZero() {
		return r.SentAt
	}
	return r.SettledAt
}

func tryOfAttempt(dlqID string, a dlq.Attempt, cohortBefore string) try {
	return try{
		at: a.LastSeen, href: fmt.Sprintf("%s?attempt=%d#trace-title", entryHref(dlqID), a.Sequence()),
		tag: a.SourceVersion, sha256: a.PayloadSHA256, versions: a.Versions, what: attemptWhat(a, cohortBefore),
		alone: a.RedriveID != "", like: a.Kind + "\x00" + string(a.Why) + "\x00" + a.CohortID,
	}
}

// tryOfReplay is a redrive with what was sent, the code that it met, as far as
// either is known, and what came of it.
func tryOfReplay(r dlq.Redrive) try {
	t := try{at: replayedAt(r), href: operationHref(r.OperationID), tag: r.OutcomeVersion, sha256: r.OutcomeSHA256, versions: r.OutcomeVersions, alone: true}
	if len(t.versions) == 0 {
		t.versions = dlq.Versions{}
		for name, running := range r.Running {
			t.versions[name] = strings.Join(running, ", ")
		}
	}
	what := "replay from the source"
	if r.Sent == dlq.ModeHeld {
		what = "replay of the stored copy"
		if t.tag == "" {
			t.tag = r.SourceVersion
		}
		if t.sha256 == "" {
			t.sha256 = r.PayloadSHA256
		}
	} else if t.tag == "" {
		t.tag = r.Probe.ETag
	}
	outcome := outcomeWords[r.Outcome]
	if outcome == "" {
		outcome = "on its way"
	}
	t.what = what + ", " + outcome
	return t
}

// attemptColumn is one try, or a run of them; at is the index of the (last) try
// that it stands for.
type attemptColumn struct {
	at   int
	fold string
	n    int
}

// foldColumns keeps the first and the last of each run of alike tries and folds
// what is between.
func foldColumns(list []try) []attemptColumn {
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
func alike(a, b try) bool {
	return !a.alone && !b.alone && a.like == b.like && a.tag == b.tag && a.sha256 == b.sha256 && a.versions.Canonical() == b.versions.Canonical()
}

func namedComponents(list []try) []string {
	all := dlq.Versions{}
	for _, t := range list {
		for name, version := range t.versions {
			all[name] = version
		}
	}
	return all.Components()
}

// stripRow follows one thing. What was not given is no change, and no sameness
// either.
func stripRow(label string, columns []attemptColumn, list []try, changed components.Tone, value func(try) string) entry.AttemptRow {
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
