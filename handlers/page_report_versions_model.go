package handlers

import (
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/reports"
)

const (
	versionsReportPath = "/reports/versions"
	reportRowsShown    = 20    // a sheet of paper
	reportRowsMost     = 1_000 // a page
)

// newVersionReport shapes the report of versions.
func newVersionReport(f versionReportFacts, now time.Time) reports.Versions {
	a := f.ask
	what := "Documents that are stuck now"
	if a.all {
		what = "Every document that failed, settled ones too"
	}
	what += a.narrowedTo()
	m := reports.Versions{Months: []string{"earlier"}, Frame: reports.Frame{
		Title:  "Versions",
		Lead:   what + ", by the versions that they failed under and the month in which they first failed. Results of low confidence are no failures and not in it. As of " + now.UTC().Format("2 Jan 2006 15:04") + " UTC.",
		Action: versionsReportPath, Kinds: reportKinds(versionsReportPath), Filters: versionReportFilters(f, now),
		Files: []components.Link{{Text: "CSV", Href: a.address(versionsReportPath+".csv", "", "")}},
	}}
	if f.more {
		m.Notices = append(m.Notices, components.Notice{Tone: components.Deadline, Title: "This is not all.", Text: "Only the first " + grouped(reportCellsMost) + " figures were read, those of the newest months. Choose a source, or fewer months."})
	}
	months := a.months()
	for _, month := range months {
		name := month.Format("Jan")
		if len(months) > 11 || month.Year() != a.to.Year() {
			name = month.Format("Jan 06")
		}
		m.Months = append(m.Months, name)
	}
	if len(f.rows) == 0 {
		m.Empty = emptyVersionReport(f)
		return m
	}
	shownRows := reportRowsShown
	if a.everyRow {
		shownRows = reportRowsMost
	}
	sum := reports.VersionsRow{Cells: make([]components.Link, len(m.Months))}
	columns := make([]int64, len(m.Months))
	var total, gone int64
	for i, r := range f.rows {
		total += r.total
		if len(r.gone) > 0 {
			gone += r.total
		}
		cells := append([]int64{r.earlier}, r.months...)
		for j, n := range cells {
			columns[j] += n
		}
		if i < shownRows {
			m.Rows = append(m.Rows, newVersionReportRow(r, cells, a))
		}
	}
	for i, n := range columns {
		sum.Cells[i].Text = grouped(n)
	}
	sum.Total.Text = grouped(total)
	m.Sum = &sum
	if left := len(f.rows) - len(m.Rows); left > 0 {
		m.More = components.Link{Text: grouped(left) + " of " + counted(len(f.rows), "row is", "rows are") + " not shown, and are in the sum and in the file."}
		if !a.everyRow {
			m.More.Text += " Show them"
			m.More.Href = a.address(versionsReportPath, "rows", "all")
		}
	}
	switch {
	case gone == 0 || a.running != "":
	case gone == total:
		m.Sentence = components.Link{Text: "All " + grouped(total) + " failed under versions that are not running now.", Href: a.address(versionsReportPath, "running", "no")}
	default:
		m.Sentence = components.Link{Text: grouped(gone) + " of " + grouped(total) + " failed under versions that are not running now.", Href: a.address(versionsReportPath, "running", "no")}
	}
	return m
}

func newVersionReportRow(r versionReportRow, cells []int64, a versionReportAsk) reports.VersionsRow {
	row := reports.VersionsRow{Source: components.Link{Text: titleOf(r.source), Href: sourceHref(r.source)}, ErrorType: shownLine(r.errorType, 80), Versions: shownLine(allVersions(r.versions), 160), State: runsTag(r.versions, r.runs, r.gone)}
	if r.errorType == "" {
		row.ErrorType = components.PlainText("no exception type")
	}
	terms, exact := exactVersionTerms(r.source, r.versions, r.others)
	exact = exact && r.errorType != "" // no term says that there is none
	terms = append(terms, "type:"+dlq.QuoteValue(r.errorType), "-reason:low_confidence")
	if a.contentType != "" {
		terms = append(terms, "content:"+dlq.QuoteValue(a.contentType))
	}
	if a.all {
		terms = append(terms, "-status:erased")
	} else {
		terms = append(terms, "status:parked")
	}
	link := func(n int64, more ...string) components.Link {
		if !exact || n == 0 {
			return components.Link{Text: grouped(n)}
		}
		return cellLink(n, strings.Join(slices.Concat(terms, more), " "))
	}
	ends := append(a.months(), a.to.AddDate(0, 1, 0))
	var start time.Time
	for i, n := range cells {
		row.Cells = append(row.Cells, link(n, openedIn(start, ends[i])...))
		start = ends[i]
	}
	row.Total = link(r.total, openedIn(time.Time{}, ends[len(ends)-1])...)
	return row
}

// runsTag says in words whether a set of versions runs now.
func runsTag(v dlq.Versions, runs bool, gone []string) components.Tag {
	switch {
	case runs:
		return components.Tag{Text: "runs now", Tone: components.CodeSame}
	case len(gone) > 0 && len(v) > 1:
		return components.Tag{Text: "not running now", Tone: components.Quiet, Title: "another " + componentNames(strings.Join(gone, ", ")) + " runs now"}
	case len(gone) > 0:
		return components.Tag{Text: "not running now", Tone: components.Quiet}
	}
	return components.Tag{}
}

func emptyVersionReport(f versionReportFacts) *components.Empty {
	a := f.ask
	e := &components.Empty{Title: "Nothing is stuck here", Text: "No document matches the filters."}
	if len(a.sources)+len(a.owner)+len(a.contentType)+len(a.running) > 0 {
		e.Title, e.Links = "No document matches", []components.Link{{Text: "Without filters", Href: versionsReportPath}}
	} else if !a.all {
		e.Text = "Nothing that failed up to " + a.to.Format("January 2006") + " is stuck now."
		e.Links = []components.Link{{Text: "Settled ones too", Href: a.address(versionsReportPath, "of", "all")}}
	}
	return e
}

// versionReportFilters are the fields over the report; the address holds them.
func versionReportFilters(f versionReportFacts, now time.Time) []components.Input {
	a := f.ask
	choose := func(name, label, now string, options ...components.Option) components.Input {
		in := components.Input{Name: name, Label: label, Kind: components.InputSelect}
		for _, o := range options {
			o.On = o.Value == now
			in.Options = append(in.Options, o)
		}
		return in
	}
	asked := ""
	if len(a.sources) > 0 {
		asked = a.sources[0]
	}
	sources, owners := []components.Option{{Label: "any"}}, []components.Option{{Label: "any"}}
	seen := map[string]bool{}
	for _, s := range f.sources {
		sources = append(sources, components.Option{Value: s.Name(), Label: titleOf(s.Name())})
		if o := s.Policy.Owner; o != "" && !seen[o] {
			seen[o] = true
			owners = append(owners, components.Option{Value: o, Label: ownerWord(o)})
		}
	}
	slices.SortFunc(owners[1:], func(x, y components.Option) int { return strings.Compare(x.Value, y.Value) })
	months := monthOptions(now, a.to, a.to, a.to, a.from)
	of, running := "stuck", a.running
	if a.all {
		of = "all"
	}
	return []components.Input{
		choose("source", "Source", asked, sources...),
		choose("owner", "Owner", a.owner, owners...),
		{Name: "content", Label: "Content type", Value: a.contentType, Placeholder: "any", Autocomplete: "off"},
		choose("of", "Documents", of, components.Option{Value: "stuck", Label: "stuck now"}, components.Option{Value: "all", Label: "all that failed"}),
		choose("running", "Versions", running, components.Option{Label: "any"}, components.Option{Value: "no", Label: "not running now"}, components.Option{Value: "yes", Label: "running now"}),
		choose("from", "From", a.from.Format("2006-01"), months...),
		choose("to", "To", a.to.Format("2006-01"), months...),
	}
}

// narrowedTo says of what a report is alone: on paper the form above it is gone.
func (a versionReportAsk) narrowedTo() string {
	var parts []string
	if len(a.sources) > 0 {
		parts = append(parts, "of "+counted(len(a.sources), "source", "sources")+" only, "+shownLine(strings.Join(a.sources, ", "), 120).String())
	}
	if a.owner != "" {
		parts = append(parts, "owned by "+shownLine(a.owner, 80).String())
	}
	if a.contentType != "" {
		parts = append(parts, "of type "+shownLine(a.contentType, 80).String())
	}
	switch a.running {
	case "yes":
		parts = append(parts, "failed under what runs now")
	case "no":
		parts = append(parts, "failed under what no longer runs")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}
