package handlers

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"dlo/dlq"
	"dlo/views/cohort"
	"dlo/views/components"
)

// arrivalDays is how far the chart of arrivals looks back.
const arrivalDays = 90

// marksMost is how many deployments have their words on the chart: more would
// lie over each other. The table beneath has them all.
const marksMost = 4

// marksListed bounds the table beneath the chart.
const marksListed = 20

// newArrivals is when the failures came, with what was deployed meanwhile, and
// the sentence that reads it.
func newArrivals(f cohortFacts) cohort.Arrivals {
	a := cohort.Arrivals{Axes: arrivalAxes(f)}
	list := newestFirst(f.deployments)
	var marked map[deployed]bool
	if f.axis == axisDay {
		a.About = counted(arrivalDays, "day", "days") + ", with deployments"
		a.Chart, marked = dayArrivals(f, list)
	} else {
		a, marked, list = streamArrivals(f, a, list)
	}
	a.Chart.Sentence = arrivalsSentence(f)
	for i, d := range list {
		if i == marksListed {
			a.More = counted(len(list)-i, "older deployment is", "older deployments are") + " not listed; the source's page has them all."
			break
		}
		a.Marks = append(a.Marks, cohort.Mark{When: moment(d.StartedAt), Version: shownLine(withComponent(d.Component, d.Version), 80), Source: components.Link{Text: titleOf(d.Source), Href: sourceHref(d.Source)}, Words: deploymentWords(d), Marked: marked[d]})
	}
	if f.unread > 0 {
		a.Looks += " Deployments of " + counted(f.unread, "further source", "further sources") + " are not shown."
	}
	return a
}

// deploymentWords say what is not plain about a deployment.
func deploymentWords(d deployed) string {
	switch {
	case d.Again && d.Beside:
		return "again, beside another"
	case d.Again:
		return "again, as before"
	case d.Beside:
		return "beside another"
	}
	return ""
}

// newestFirst are deployments in the order of the table, each once.
func newestFirst(list []deployed) []deployed {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b deployed) int { return b.StartedAt.Compare(a.StartedAt) })
	return slices.Compact(out)
}

// arrivalAxes are the other ways to draw the chart, where documents say where
// they stood.
func arrivalAxes(f cohortFacts) []components.Chip {
	has := func(of func(dlq.Place) bool) bool {
		return slices.ContainsFunc(f.placed, func(p dlq.SourcePlaces) bool { return slices.ContainsFunc(p.Places, of) })
	}
	seq, cursor := has(func(p dlq.Place) bool { return p.Seq != nil }), has(func(p dlq.Place) bool { return p.Cursor != "" })
	if !seq && !cursor && f.axis == axisDay {
		return nil
	}
	chips := []components.Chip{axisChip(f, axisDay, "", "By day")}
	if seq || f.axis == axisSeq {
		chips = append(chips, axisChip(f, axisSeq, "", "By ingest_seq"))
	}
	if cursor || f.axis == axisCursor {
		chips = append(chips, axisChip(f, axisCursor, "", "By cursor"))
	}
	if f.axis != axisDay && len(f.placed) > 1 {
		shown := axisSource(f).Source
		for _, p := range f.placed[:min(len(f.placed), sourcesRead)] {
			chip := axisChip(f, f.axis, p.Source, titleOf(p.Source))
			chip.On = p.Source == shown
			chips = append(chips, chip)
		}
	}
	return chips
}

func axisChip(f cohortFacts, axis arrivalsAxis, of, text string) components.Chip {
	v := url.Values{}
	if axis != axisDay {
		v.Set("arrivals", string(axis))
	}
	if of != "" {
		v.Set("of", of)
	}
	href := cohortHref(f.cohort.ID)
	if len(v) > 0 {
		href += "?" + v.Encode()
	}
	return components.Chip{Text: text, Href: href + "#arrivals-title", On: axis == f.axis && of == ""}
}

// axisSource are the places along whose stream the chart is drawn: a sequence or
// a cursor means something within its source alone.
func axisSource(f cohortFacts) dlq.SourcePlaces {
	for _, p := range f.placed {
		if p.Source == f.axisOf {
			return p
		}
	}
	if len(f.placed) == 0 {
		return dlq.SourcePlaces{}
	}
	return f.placed[0]
}

// dayArrivals is the chart a day.
func dayArrivals(f cohortFacts, list []deployed) (components.DayChart, map[deployed]bool) {
	days := len(f.arrivals)
	c := components.DayChart{Values: ints(f.arrivals)}
	if days == 0 {
		c.Label = "No arrivals are known"
		return c, nil
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
	var marked map[deployed]bool
	c.Marks, marked = deploymentMarks(namedFirst(f, list), days, func(t time.Time) int {
		return int(t.UTC().Truncate(24*time.Hour).Sub(first) / (24 * time.Hour))
	})
	return c, marked
}

// streamArrivals is the chart along a stream of a source.
func streamArrivals(f cohortFacts, a cohort.Arrivals, list []deployed) (cohort.Arrivals, map[deployed]bool, []deployed) {
	p := axisSource(f)
	list = slices.DeleteFunc(list, func(d deployed) bool { return d.Source != p.Source })
	name, count := "ingest_seq", dlq.AlongSequence
	if f.axis == axisCursor {
		name, count = "cursor", dlq.AlongCursor
	}
	bars, at, without := count(p.Places)
	a.About = "along " + name
	if len(f.placed) > 1 {
		a.About += " of " + titleOf(p.Source)
	}
	if len(bars) == 0 {
		a.None = "No document that was looked at says its " + name + "."
		if len(p.Places) == 0 {
			a.None = "Nothing is stuck here now, so there is no document whose " + name + " to look at."
		}
		return a, nil, list
	}
	c := components.DayChart{First: shownLine(bars[0].From, 40).String(), Last: shownLine(bars[len(bars)-1].To, 40).String()}
	most := 0
	for i, b := range bars {
		c.Values = append(c.Values, b.Documents)
		if b.Documents > bars[most].Documents {
			most = i
		}
	}
	c.Label = fmt.Sprintf("Documents of %s along %s, from %s to %s: at most %s, at %s", titleOf(p.Source), name, c.First, c.Last, grouped(bars[most].Documents), shownLine(bars[most].From, 40))
	var marked map[deployed]bool
	c.Marks, marked = deploymentMarks(namedFirst(f, list), len(bars), at)
	a.Chart = c

	looked := 0
	for _, p := range f.placed {
		looked += len(p.Places)
	}
	if stuck := f.cohort.Parked(); int64(looked) < stuck {
		a.Looks = fmt.Sprintf("Looked at: %s of %s, those that got stuck first and those that did last.", grouped(looked), counted(stuck, "stuck document", "stuck documents"))
	} else {
		a.Looks = "Looked at: every stuck document."
	}
	if without > 0 {
		a.Looks += " " + counted(without, "says no", "say no") + " " + name + "."
	}
	if f.axis == axisCursor {
		a.Looks += " Values of the cursor stand in the order in which they came."
	}
	a.Looks += " A deployment stands where the first document failed after it."
	return a, marked, list
}

// namedFirst puts the deployments of components that the failures name before
// the others, so that they have their marks.
func namedFirst(f cohortFacts, list []deployed) []deployed {
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
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b deployed) int {
		switch {
		case named[a.Component] && !named[b.Component]:
			return -1
		case named[b.Component] && !named[a.Component]:
			return 1
		}
		return 0
	})
	return out
}

// deploymentMarks are deployments as marks on the columns of a chart, one mark a
// column, the first of the list before the others; at gives the column of a
// moment. The second answer names those that are marked.
func deploymentMarks(list []deployed, columns int, at func(time.Time) int) (marks []components.Mark, marked map[deployed]bool) {
	on := map[int][]deployed{}
	var order []int
	for _, d := range list {
		column := at(d.StartedAt)
		if column < 0 || column >= columns {
			continue
		}
		if len(on[column]) == 0 {
			order = append(order, column)
		}
		on[column] = append(on[column], d)
	}
	marked = map[deployed]bool{}
	for _, column := range order[:min(len(order), marksMost)] {
		main := slices.MinFunc(on[column], func(a, b deployed) int { return weightOf(a.Component) - weightOf(b.Component) })
		text := shownLine(withComponent(main.Component, main.Version), 40).String()
		if more := len(on[column]) - 1; more > 0 {
			text += " +" + grouped(more)
		}
		marks = append(marks, components.Mark{At: column, Text: text})
		for _, d := range on[column] {
			marked[d] = true
		}
	}
	slices.SortFunc(marks, func(a, b components.Mark) int { return a.At - b.At })
	return marks, marked
}

// arrivalsSentence reads the chart: what was deployed near the first failure and
// near the last, if anything was. Near is not because of, and it says no more.
func arrivalsSentence(f cohortFacts) string {
	c, limited := f.cohort, len(f.by.Sources) > 0
	several := len(c.Sources) > 1
	near := newestFirst(f.near)
	o := dlq.Beginning{First: c.FirstSeen, ToTheDay: limited, Registered: f.registered, Near: near, FailedUnder: func(d deployed) bool {
		return slices.ContainsFunc(f.months, func(m dlq.VersionMonth) bool { return m.Source == d.Source && m.Versions[d.Component] == d.Version })
	}}.Onset()
	words := onsetWords(o, c.FirstSeen, limited, several)
	last := c.LastSeen
	if limited { // known to the day: it may have been at its end
		last = last.Add(24*time.Hour - time.Millisecond)
	}
	if d, ok := dlq.Stopped(last, f.now, near); ok {
		words += fmt.Sprintf(" Stopped after %s was deployed%s: none came for %s.", deploymentName(d), inSource(d, several), span(f.now.Sub(c.LastSeen)))
	}
	return words
}

func onsetWords(o dlq.Onset, first time.Time, toTheDay, several bool) string {
	switch o.Kind {
	case dlq.OnsetAfter:
		words := "Started " + gapWords(o.Gap, toTheDay) + " " + deploymentName(o.At) + deployedWords(o.At) + inSource(o.At, several)
		if o.Others > 0 {
			words += "; " + counted(o.Others, "other deployment was", "other deployments were") + " in the two days before it"
		}
		return words + "."
	case dlq.OnsetWith:
		return "Started " + lasted(o.Gap) + " before " + deploymentName(o.At) + " was registered" + inSource(o.At, several) + ", under which documents failed: clocks differ, or the report came late."
	case dlq.OnsetBeforeRegister:
		return "Started on " + dateOf(first) + ", before anything was registered."
	case dlq.OnsetAlone:
		return "Started on " + dateOf(first) + "; no deployment is near its start."
	}
	return ""
}

// gapWords: "4 min after".
func gapWords(gap time.Duration, toTheDay bool) string {
	if !toTheDay {
		return lasted(gap) + " after"
	}
	switch days := int(gap / (24 * time.Hour)); days {
	case 0:
		return "on the day on which"
	case 1:
		return "the day after"
	default:
		return grouped(days) + " days after"
	}
}

// lasted is a span in words that also fit less than a minute.
func lasted(d time.Duration) string {
	if d < time.Minute {
		return "less than a minute"
	}
	return span(d)
}

func deploymentName(d deployed) string { return versionLine(d.Component, d.Version) }

// versionLine is a version with what it is of, for a sentence.
func versionLine(component, version string) string {
	return shownLine(withComponent(component, version), 60).String()
}

func deployedWords(d deployed) string {
	switch {
	case d.Again && d.Beside:
		return " was deployed again, beside another version"
	case d.Again:
		return " was deployed again"
	case d.Beside:
		return " was deployed beside another version"
	}
	return " was deployed"
}

func inSource(d deployed, several bool) string {
	if !several {
		return ""
	}
	return " in " + titleOf(d.Source)
}
