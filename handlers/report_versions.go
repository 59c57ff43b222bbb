package handlers

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
)

// The report of versions: source × error type × failed under × month. What it is
// asked for and how its cells become rows is the same for page, JSON and CSV.

const (
	reportCellsMost  = 20_000 // that one report reads
	reportMonthsMost = 36
	reportMonths     = 6 // columns where nobody asked for others
)

// versionReportAsk is what stands in the address of the report.
type versionReportAsk struct {
	sources     []string
	owner       string
	contentType string
	all         bool   // every document that ever failed, not the stuck ones alone
	running     string // yes, no or empty: any
	from, to    time.Time
	everyRow    bool // of the page
}

// readVersionReport reads the address.
func readVersionReport(params url.Values, now time.Time) (versionReportAsk, error) {
	a := versionReportAsk{owner: strings.TrimSpace(params.Get("owner")), contentType: strings.TrimSpace(params.Get("content")), running: params.Get("running"), everyRow: params.Get("rows") == "all"}
	var faults []dlq.Fault
	fault := func(name, detail string) { faults = append(faults, dlq.Fault{Pointer: "/" + name, Detail: detail}) }
	for _, name := range params["source"] {
		if name = strings.TrimSpace(name); name != "" {
			a.sources = append(a.sources, name)
		}
	}
	if len(a.sources) > 50 {
		fault("source", "at most 50 sources expected")
	}
	for name, text := range map[string]string{"owner": a.owner, "content": a.contentType, "source": strings.Join(a.sources, " ")} {
		if len(text) > 8192 || strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			fault(name, "text in UTF-8 without NUL expected")
		}
	}
	switch params.Get("of") {
	case "", "stuck":
	case "all":
		a.all = true
	default:
		fault("of", "stuck or all expected")
	}
	if a.running != "" && a.running != "yes" && a.running != "no" {
		fault("running", "yes or no expected")
	}
	month := func(name string) time.Time {
		text := params.Get(name)
		if text == "" {
			return time.Time{}
		}
		t, err := time.Parse("2006-01", text)
		if err != nil || t.Year() < 1970 {
			fault(name, "a month expected, such as 2026-11")
		}
		return t
	}
	a.from, a.to = month("from"), month("to")
	if len(faults) == 0 {
		this := monthStart(now)
		if a.to.IsZero() {
			a.to = this
		}
		if a.from.IsZero() {
			a.from = a.to.AddDate(0, 1-reportMonths, 0)
		}
		switch n := len(a.months()); {
		case a.from.After(a.to):
			fault("from", "a month that is not after the last expected")
		case n > reportMonthsMost:
			fault("from", "at most 36 months expected")
		}
	}
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(x, y dlq.Fault) int { return strings.Compare(x.Pointer, y.Pointer) })
		return a, dlq.Invalid("the report was not understood", faults...)
	}
	return a, nil
}

func monthStart(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// months are the first days of the report's columns, one more than can be asked
// for at most.
func (a versionReportAsk) months() []time.Time {
	var out []time.Time
	for m := a.from; !m.After(a.to) && len(out) <= reportMonthsMost; m = m.AddDate(0, 1, 0) {
		out = append(out, m)
	}
	return out
}

// versionReportRow is one source, error type and set of versions.
type versionReportRow struct {
	source    string
	errorType string
	versions  dlq.Versions
	runs      bool     // every component of it runs now
	known     bool     // the register can tell
	gone      []string // components that run in another version now
	earlier   int64
	months    []int64
	total     int64
	others    []dlq.Versions // other sets of the same source, to tell it from
}

// versionReportFacts is the report as it was read.
type versionReportFacts struct {
	ask     versionReportAsk
	sources []dlq.Source // that the viewer may know of
	rows    []versionReportRow
	more    bool // cells beyond those that were read
}

// readReport reads the report.
func (h *Handlers) readReport(ctx context.Context, by dlq.Actor, a versionReportAsk) (versionReportFacts, error) {
	f := versionReportFacts{ask: a}
	known, err := h.sourcesFor(ctx, by, nil)
	if err != nil {
		return f, err
	}
	f.sources = known.list
	q := dlq.VersionReportQuery{Sources: a.sources, ContentType: a.contentType, All: a.all, From: a.from, To: a.to}
	if a.owner != "" {
		q.Sources = []string{}
		for _, s := range known.list {
			if s.Policy.Owner == a.owner && (len(a.sources) == 0 || slices.Contains(a.sources, s.Name())) {
				q.Sources = append(q.Sources, s.Name())
			}
		}
	}
	cells, more, err := h.Store.VersionReport(ctx, by, q, reportCellsMost)
	if err != nil {
		return f, err
	}
	running, err := h.Store.RunningIn(ctx, by)
	if err != nil {
		return f, err
	}
	f.more = more
	f.rows = versionReportRows(cells, running, a)
	return f, nil
}

// versionReportRows makes rows of cells, those of most documents first.
func versionReportRows(cells []dlq.VersionReportCell, running map[string]dlq.Running, a versionReportAsk) []versionReportRow {
	months := a.months()
	type key struct{ source, errorType, versions string }
	index := map[key]*versionReportRow{}
	sets := map[string]map[string]dlq.Versions{}
	for _, c := range cells {
		k := key{c.Source, c.ErrorType, c.Versions.Canonical()}
		if sets[c.Source] == nil {
			sets[c.Source] = map[string]dlq.Versions{}
		}
		sets[c.Source][k.versions] = c.Versions
		r := index[k]
		if r == nil {
			r = &versionReportRow{source: c.Source, errorType: c.ErrorType, versions: c.Versions, months: make([]int64, len(months))}
			r.runs, r.known, r.gone = runsWords(c.Versions, running[c.Source])
			index[k] = r
		}
		r.total += c.Documents
		if at := slices.IndexFunc(months, c.Month.Equal); at >= 0 {
			r.months[at] += c.Documents
		} else {
			r.earlier += c.Documents
		}
	}
	var rows []versionReportRow
	for _, r := range index {
		if a.running == "yes" && !r.runs || a.running == "no" && len(r.gone) == 0 {
			continue
		}
		for _, name := range sortedKeys(sets[r.source]) {
			r.others = append(r.others, sets[r.source][name])
		}
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(x, y versionReportRow) int {
		return cmp.Or(cmp.Compare(y.total, x.total), cmp.Compare(x.source, y.source), cmp.Compare(x.errorType, y.errorType), cmp.Compare(x.versions.Canonical(), y.versions.Canonical()))
	})
	return rows
}

// address writes what was asked for, with one thing of it changed; an empty value
// takes it out.
func (a versionReportAsk) address(path, name, value string) string {
	v := url.Values{}
	set := func(key, text string) {
		if text != "" {
			v.Set(key, text)
		}
	}
	for _, s := range a.sources {
		v.Add("source", s)
	}
	set("owner", a.owner)
	set("content", a.contentType)
	if a.all {
		v.Set("of", "all")
	}
	set("running", a.running)
	v.Set("from", a.from.Format("2006-01"))
	v.Set("to", a.to.Format("2006-01"))
	if name != "" {
		v.Del(name)
		set(name, value)
	}
	return path + "?" + v.Encode()
}
