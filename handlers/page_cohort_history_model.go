package handlers

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/cohort"
	"dlo/views/components"
)

// versionMonths is how many months have a column of their own; those before
// them share one.
const versionMonths = 3

// versionRowsMost bounds the table of versions.
const versionRowsMost = 20

// newVersions is failed under × month of first failure, with what runs now.
func newVersions(f cohortFacts) cohort.Versions {
	v := cohort.Versions{Months: []string{"earlier"}}
	this := time.Date(f.now.UTC().Year(), f.now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	starts := []time.Time{{}}
	for i := versionMonths - 1; i >= 0; i-- {
		month := this.AddDate(0, -i, 0)
		starts = append(starts, month)
		v.Months = append(v.Months, month.Format("Jan"))
	}
	// A sender's clock may be a day ahead: what it opened next month is in the last
	// column, which then has no end.
	ends := append(slices.Clone(starts[1:]), this.AddDate(0, 1, 0))
	if slices.ContainsFunc(f.months, func(m dlq.VersionMonth) bool { return m.Month.After(this) }) {
		ends[len(ends)-1] = time.Time{}
	}
	type line struct {
		source   string
		versions dlq.Versions
		cells    []int64
		parked   int64
	}
	lines := map[string]*line{}
	for _, m := range f.months {
		key := m.Source + "\x00" + m.Versions.Canonical()
		l := lines[key]
		if l == nil {
			l = &line{source: m.Source, versions: m.Versions, cells: make([]int64, len(starts))}
			lines[key] = l
		}
		column := 0
		for i, start := range starts {
			if !m.Month.Before(start) {
				column = i
			}
		}
		l.cells[column] += m.Entries
		l.parked += m.Parked
	}
	keys := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		if byDepth := cmp.Compare(lines[b].parked, lines[a].parked); byDepth != 0 {
			return byDepth
		}
		return strings.Compare(a, b)
	})
	sources, sets := map[string]bool{}, map[string][]dlq.Versions{}
	for _, key := range keys {
		l := lines[key]
		sources[l.source] = true
		sets[l.source] = append(sets[l.source], l.versions)
	}
	for _, key := range keys[:min(len(keys), versionRowsMost)] {
		l := lines[key]
		name := allVersions(l.versions)
		if len(sources) > 1 {
			name = l.source + ": " + name
		}
		terms, exact := exactVersionTerms(l.source, l.versions, sets[l.source])
		link := func(n int64, more ...string) components.Link {
			if !exact {
				return components.Link{Text: grouped(n)}
			}
			return cellLink(n, cohortQuery(f.cohort.ID, slices.Concat(terms, more)...))
		}
		runs, _, gone := runsWords(l.versions, f.known.running[l.source])
		row := cohort.VersionRow{Version: shownLine(name, 160), State: runsTag(l.versions, runs, gone), Stuck: link(l.parked, "status:parked")}
		for i, n := range l.cells {
			row.Cells = append(row.Cells, link(n, openedIn(starts[i], ends[i])...))
		}
		v.Rows = append(v.Rows, row)
	}
	v.Rows = append(v.Rows, runningRows(f, len(starts))...)
	if more := len(keys) - versionRowsMost; more > 0 {
		v.Note = counted(more, "further set of versions is", "further sets of versions are") + " not shown."
	}
	return v
}

// runningRows are versions that run now and under which nothing of the cohort
// ever failed, resolved documents included.
func runningRows(f cohortFacts, columns int) []cohort.VersionRow {
	var ever dlq.Cohort
	for _, m := range f.months {
		ever.FailedUnder = append(ever.FailedUnder, dlq.VersionCount{Source: m.Source, Versions: m.Versions, Parked: m.Entries})
	}
	component, version, ok := liveFix(ever, f.known.running)
	if !ok {
		return nil
	}
	row := cohort.VersionRow{Version: shownLine(withComponent(component, version), 160), State: runsTag(nil, true, nil), Stuck: components.Link{Text: "0"}}
	for range columns {
		row.Cells = append(row.Cells, components.Link{Text: "0"})
	}
	return []cohort.VersionRow{row}
}

func cellLink(n int64, query string) components.Link {
	if n == 0 {
		return components.Link{Text: "0"}
	}
	return components.Link{Text: grouped(n), Href: entriesHref(query)}
}

// versionTerms narrow a query to a source and a set of versions, as far as the
// query language has keys for its components.
func versionTerms(source string, v dlq.Versions) []string {
	terms := []string{"source:" + dlq.QuoteValue(source)}
	for _, component := range v.Components() {
		if queryable(component) {
			terms = append(terms, component+":"+dlq.QuoteValue(v[component]))
		}
	}
	return terms
}

// madeOfModes say what a fingerprint was computed from.
var madeOfModes = map[string]string{
	"trace":      "the exception's type and the frames nearest the raise point",
	"message":    "the exception's type and the message without its variable parts; no trace was sent",
	"validation": "the rules that failed and where",
	"confidence": "source, stage and band of a low confidence",
	"none":       "the exception's type alone; nothing else was sent",
}

// newMadeOf is what the cohort's fingerprints are made of. The parts are of the
// first one; members have joined it since.
func newMadeOf(members []dlq.Fingerprint) cohort.MadeOf {
	if len(members) == 0 {
		return cohort.MadeOf{Summary: "no fingerprint"}
	}
	first := members[0]
	m := cohort.MadeOf{Summary: madeOfModes[first.Mode], Canonical: shown(first.Canonical)}
	if m.Summary == "" {
		m.Summary = first.Mode
	}
	for i, fp := range members {
		kv := components.KV{Key: "Fingerprint", Value: components.PlainText(fp.String()), Mono: true, Copy: true}
		if i > 0 {
			kv.Key = "also"
		}
		if fp.Confidence != "" {
			kv.Note = fp.Confidence + " confidence"
		}
		m.Fingerprints = append(m.Fingerprints, kv)
	}
	add := func(key, value string) {
		if value != "" {
			m.Parts = append(m.Parts, components.KV{Key: key, Value: shownLine(value, 400), Mono: true})
		}
	}
	add("Language", first.Language)
	add("Type", first.Type)
	if first.RootType != first.Type {
		add("Root cause", first.RootType)
	}
	add("Template", first.Template)
	for i, frame := range first.Frames {
		add("Frame "+strconv.Itoa(i+1), frame.String())
	}
	return m
}

// newCohortActivity merges what was done to the cohort with its notes, newest
// first.
func newCohortActivity(f cohortFacts) components.Activity {
	var all []happened
	for _, r := range f.audit {
		if r.Source != "" && !f.by.SeesSource(r.Source) {
			continue // what happened in a source that is not theirs
		}
		if e, ok := auditEvent(r); ok {
			all = append(all, happened{r.At, e})
		}
	}
	for _, n := range f.notes {
		all = append(all, happened{n.WrittenAt, components.Event{Who: n.Author, Text: "noted", Note: shown(n.Body), When: moment(n.WrittenAt)}})
	}
	slices.SortStableFunc(all, func(a, b happened) int { return b.at.Compare(a.at) })
	a := components.Activity{Events: foldEvents(all)}
	if len(a.Events) > eventsMost {
		a.Events = append(a.Events[:eventsMost:eventsMost], components.Event{Text: "What is older is not shown here; the audit trail has it."})
	}
	if f.by.May(dlq.MayNote) {
		a.Note = &components.NoteForm{CSRF: f.csrf, Action: cohortHref(f.cohort.ID) + "/notes", Hint: "Markdown, up to 16 KiB. It stays with the cohort through redrives and merges."}
	}
	return a
}
