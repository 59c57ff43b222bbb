package handlers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/cohort"
	"dlo/views/components"
)

// arrivalDays is how far the chart of arrivals looks back.
const arrivalDays = 90

// marksMost is how many deployments have their words on the chart: more would
// lie over each other. The sentence says how many there were.
const marksMost = 4

// newArrivals is the chart of arrivals with what was deployed meanwhile.
func newArrivals(f cohortFacts) components.DayChart {
	days := len(f.arrivals)
	c := components.DayChart{Values: ints(f.arrivals)}
	if days == 0 {
		c.Label = "No arrivals are known"
		return c
	}
	today := f.now.UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-days)
	c.First, c.Last = first.Format("2 Jan"), today.Format("2 Jan")
	most := slices.Max(f.arrivals)
	c.Label = fmt.Sprintf("Arrivals a day from %s to %s: %s in all", dateOf(first), dateOf(today), grouped(sumOf(f.arrivals)))
	if most > 0 {
		peak := first.AddDate(0, 0, slices.Index(f.arrivals, most))
		c.Label += fmt.Sprintf(", at most %s, on %s", grouped(most), dateOf(peak))
	}
	relevant := relevantDeployments(f)
	marks, left := deploymentMarks(relevant, first, days)
	c.Marks = marks
	c.Sentence = arrivalsSentence(f.cohort, relevant, f.now.AddDate(0, 0, -arrivalDays))
	if left > 0 {
		c.Sentence += " " + counted(left, "older deployment is", "older deployments are") + " not marked."
	}
	return c
}

// deploymentMarks are the newest deployments as marks on the days of a chart,
// one mark a day. The second answer is how many were left out.
func deploymentMarks(newestFirst []deployed, first time.Time, days int) (marks []components.Mark, left int) {
	on := map[int][]deployed{}
	var order []int
	for _, d := range newestFirst {
		at := int(d.StartedAt.UTC().Truncate(24*time.Hour).Sub(first) / (24 * time.Hour))
		if at < 0 || at >= days {
			continue
		}
		if len(on[at]) == 0 {
			order = append(order, at)
		}
		on[at] = append(on[at], d)
	}
	for i, at := range order {
		if i >= marksMost {
			left += len(on[at])
			continue
		}
		main := slices.MinFunc(on[at], func(a, b deployed) int { return weightOf(a.Component) - weightOf(b.Component) })
		text := shownLine(withComponent(main.Component, main.Version), 40).String()
		if more := len(on[at]) - 1; more > 0 {
			text += " +" + grouped(more)
		}
		marks = append(marks, components.Mark{At: at, Text: text})
	}
	slices.Reverse(marks)
	return marks, left
}

// relevantDeployments are those of components that the failures name, newest
// first.
func relevantDeployments(f cohortFacts) []deployed {
	named := map[string]bool{}
	for _, under := range f.cohort.FailedUnder {
		for component := range under.Versions {
			named[component] = true
		}
	}
	for _, m := range f.months {
		for component := range m.Versions {
			named[component] = true
		}
	}
	out := slices.DeleteFunc(slices.Clone(f.deployments), func(d deployed) bool { return !named[d.Component] })
	slices.SortStableFunc(out, func(a, b deployed) int { return b.StartedAt.Compare(a.StartedAt) })
	return out
}

// nearDeployment is how soon after a deployment a first failure is said to have
// come after it. It says no more than that: after is not because of.
const nearDeployment = 48 * time.Hour

// arrivalsSentence reads the chart: what was deployed shortly before the first
// failure, if anything was. The first failure is when it happened by its sender,
// which may be long before it came here; of the time before known, deployments
// were not read, and nothing is said of them.
func arrivalsSentence(c dlq.Cohort, newestFirst []deployed, known time.Time) string {
	for _, d := range newestFirst {
		after := c.FirstSeen.Sub(d.StartedAt)
		if after >= 0 && after <= nearDeployment {
			return "First seen " + span(max(after, time.Minute)) + " after " + shownLine(withComponent(d.Component, d.Version), 60).String() + " was deployed."
		}
	}
	if c.FirstSeen.Add(-nearDeployment).Before(known) {
		return "First seen on " + dateOf(c.FirstSeen) + "."
	}
	return "First seen on " + dateOf(c.FirstSeen) + "; no deployment of what it names is known in the two days before."
}

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
	sources := map[string]bool{}
	for _, key := range keys {
		sources[lines[key].source] = true
	}
	for _, key := range keys[:min(len(keys), versionRowsMost)] {
		l := lines[key]
		name := allVersions(l.versions)
		if len(sources) > 1 {
			name = l.source + ": " + name
		}
		terms := versionTerms(l.source, l.versions)
		row := cohort.VersionRow{Version: shownLine(name, 160), Now: allRun(l.versions, f.known.running[l.source]), Stuck: cellLink(l.parked, cohortQuery(f.cohort.ID, append(terms, "status:parked")...))}
		for i, n := range l.cells {
			row.Cells = append(row.Cells, cellLink(n, cohortQuery(f.cohort.ID, append(terms, monthTerms(starts, i, f.now)...)...)))
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
	row := cohort.VersionRow{Version: shownLine(withComponent(component, version), 160), Now: true, Stuck: components.Link{Text: "0"}}
	for range columns {
		row.Cells = append(row.Cells, components.Link{Text: "0"})
	}
	return []cohort.VersionRow{row}
}

// allRun says that every component of a set runs now in that version.
func allRun(v dlq.Versions, running dlq.Running) bool {
	for component, version := range v {
		if !running.Has(component, version) {
			return false
		}
	}
	return len(v) > 0
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

// monthTerms narrow a query to documents opened in a column's months. The query
// language knows ages and no dates, so the ends are ages, exact to the minute of
// the drawing.
func monthTerms(starts []time.Time, column int, now time.Time) []string {
	age := func(t time.Time) string {
		return strconv.FormatInt(int64(now.Sub(t)/time.Minute), 10) + "m"
	}
	var terms []string
	if column > 0 {
		terms = append(terms, "age:<="+age(starts[column]))
	}
	if column < len(starts)-1 {
		terms = append(terms, "age:>"+age(starts[column+1]))
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
