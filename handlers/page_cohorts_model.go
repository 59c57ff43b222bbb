package handlers

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/cohorts"
	"dlo/views/components"
	"dlo/views/layout"
)

// cohortView is one of the sets of cohorts that the home page can show: by the
// state of their documents, one of which each cohort must have. What is in the
// queue is stuck, on its way, or waits in quarantine for a decision; the number
// in the table is of the stuck, and tags say the rest.
type cohortView struct {
	name   string // in the address; empty for the usual one
	text   string
	status dlq.Status // whose number stands in the table
	head   string     // over that number
	review bool
	count  func(dlq.Totals) int64 // of documents, for the chip
}

var cohortViews = []cohortView{
	{"", "In the queue", dlq.StatusParked, "Stuck", false, nil},
	{"quarantine", "Quarantine", dlq.StatusQuarantined, "In quarantine", false, func(t dlq.Totals) int64 { return t.Quarantined }},
	{"archive", "Archive", dlq.StatusArchived, "Archived", false, func(t dlq.Totals) int64 { return t.Archived }},
	{"review", "Low confidence", dlq.StatusParked, "In review", true, func(t dlq.Totals) int64 { return t.InReview }},
}

// viewOf reads which set is asked for; anything else is the usual one.
func viewOf(params url.Values) cohortView {
	for _, v := range cohortViews {
		if v.name == params.Get("show") {
			return v
		}
	}
	return cohortViews[0]
}

// cohortOrders are the orders of the list; the first is the usual one.
var cohortOrders = []struct {
	sort dlq.CohortSort
	text string
}{
	{dlq.CohortsByNeed, "Needs a decision"},
	{dlq.CohortsByDepth, "Most stuck"},
	{dlq.CohortsByAge, "Stuck longest"},
	{dlq.CohortsByExpiry, "Leaves soonest"},
	{dlq.CohortsByArrivals, "Most failures"},
	{dlq.CohortsByLastSeen, "Latest failure"},
}

// cohortSortOf reads which order is asked for; anything else is the usual one.
func cohortSortOf(params url.Values) dlq.CohortSort {
	for _, o := range cohortOrders {
		if string(o.sort) == params.Get("sort") {
			return o.sort
		}
	}
	return cohortOrders[0].sort
}

// viewQuery is the set alone, without what narrows it.
func viewQuery(v cohortView) dlq.CohortQuery {
	switch v.name {
	case "quarantine", "archive":
		// Low confidence has no quarantine of its own, but a document of it may
		// be archived: both kinds are shown there.
		return dlq.CohortQuery{Status: v.status}
	}
	return dlq.CohortQuery{Review: &v.review, Open: true}
}

// cohortQueryOf is what the address asks of the cohorts.
func cohortQueryOf(params url.Values) (dlq.CohortQuery, []dlq.BadTerm) {
	q := viewQuery(viewOf(params))
	q.Source, q.Class, q.Sort = params.Get("source"), params.Get("class"), cohortSortOf(params)
	q.New, q.Back = momentOf(params, "new"), momentOf(params, "back")
	if text := params.Get("text"); text != "" {
		q.Words = []string{text}
	}
	having, bad := dlq.ParseQuery(params.Get("q"))
	return q.WithQuery(having), bad
}

// momentOf reads a moment of the address, in milliseconds since 1970.
func momentOf(params url.Values, name string) time.Time {
	ms, err := strconv.ParseInt(params.Get(name), 10, 64)
	if err != nil || ms <= 0 || ms > maxMoment {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

const maxMoment = 253402300799000 // the end of the year 9999

// cohortsFacts is all that the home page is made from.
type cohortsFacts struct {
	frame     layout.Model
	params    url.Values
	query     dlq.CohortQuery
	bad       []dlq.BadTerm // of the query; then nothing was looked for
	rows      []dlq.Cohort
	next      string
	unknown   []dlq.UnknownValue // values of the query that nothing ever had
	matching  int64              // cohorts of the list
	documents int64              // their documents in the state that is shown
	all       int64              // cohorts of the set, whatever narrows it
	allOf     int64              // their documents
	totals    dlq.Totals
	since     dlq.SinceLook
	csrf      string
	known     knownSources
	classes   []string
	now       time.Time
	by        dlq.Actor
	views     components.Views
	lost      bool // the address names a place that this list does not have
}

// filtered says whether anything narrows the set.
func (f cohortsFacts) filtered() bool {
	for _, name := range cohortFilterNames {
		if f.params.Get(name) != "" {
			return true
		}
	}
	return false
}

var (
	cohortFilterNames = []string{"source", "class", "text", "q", "new", "back"}
	cohortParams      = append([]string{"show", "sort"}, cohortFilterNames...)
)

// newCohortsPage is the home page.
func newCohortsPage(f cohortsFacts) cohorts.Model {
	return cohorts.Model{Layout: f.frame, Heading: cohortsHeading(f.totals), Stats: totalStats(f.totals, f.now), Since: newSince(f.since, f.now, f.csrf), List: newCohortList(f)}
}

func cohortsHeading(t dlq.Totals) string {
	if t.Stuck == 0 && t.Cohorts == 0 {
		return "Nothing is stuck"
	}
	return counted(t.Cohorts, "problem", "problems") + " behind " + counted(t.Stuck, "stuck document", "stuck documents")
}

// totalStats is the line of totals: what is stuck comes first, never a rate.
func totalStats(t dlq.Totals, now time.Time) []components.Stat {
	week := "no change this week"
	switch {
	case t.Since.IsZero():
		week = "nothing was counted yet"
	case now.Sub(t.Since) < 7*24*time.Hour: // all of it is of this week
		week = "counted since " + dateOf(t.Since)
	case t.NetWeek > 0:
		week = "+" + grouped(t.NetWeek) + " this week"
	case t.NetWeek < 0:
		week = "−" + grouped(-t.NetWeek) + " this week"
	}
	stats := []components.Stat{{Value: grouped(t.Stuck), Label: "stuck now, " + week, Href: entriesHref("status:parked -reason:low_confidence")}}
	if t.Stuck == 0 {
		stats[0].Tone = components.Good
	}
	if !t.Oldest.IsZero() {
		stats = append(stats, components.Stat{Value: span(now.Sub(t.Oldest)), Label: "oldest, " + titleOf(t.OldestSource), Href: "/entries?" + queryAndSort("status:parked", string(dlq.SortOldest))})
	}
	if t.Expiring > 0 {
		stats = append(stats, components.Stat{Value: grouped(t.Expiring), Label: verb(t.Expiring, "leaves", "leave") + " within 7 days", Href: entriesHref("status:parked expires:<7d"), Tone: components.Deadline})
	}
	if t.Quarantined > 0 {
		stats = append(stats, components.Stat{Value: grouped(t.Quarantined), Label: "in quarantine, to decide", Href: "/quarantine", Tone: components.Held})
	}
	if t.Redriving > 0 {
		stats = append(stats, components.Stat{Value: grouped(t.Redriving), Label: "being redriven", Href: entriesHref("status:redriving"), Tone: components.Info})
	}
	if t.InReview > 0 {
		stats = append(stats, components.Stat{Value: grouped(t.InReview), Label: "low confidence, in review", Href: entriesHref("status:parked reason:low_confidence")})
	}
	return stats
}

func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// href is the home page with one thing of it changed, from its first page.
func (f cohortsFacts) href(name, value string) string {
	v := url.Values{}
	for _, keep := range cohortParams {
		if have := f.params.Get(keep); have != "" && keep != name {
			v.Set(keep, have)
		}
	}
	if value != "" {
		v.Set(name, value)
	}
	if len(v) == 0 {
		return "/cohorts"
	}
	return "/cohorts?" + v.Encode()
}

func newCohortList(f cohortsFacts) cohorts.List {
	view := viewOf(f.params)
	l := cohorts.List{Views: f.views, Filters: cohortFilters(f, view), Search: cohortSearch(f), Orders: cohortOrderChips(f), Heads: cohortHeads(f, view), Note: cohortNote(f), Pager: cohortPager(f), Bulk: cohortBulk(f, view)}
	l.Hints = append(newHints(f.query.Having, f.unknown, f.by, func(q string) string { return f.href("q", q) }), newSortHint(f.params, dlq.CohortSorts, "what needs a decision first")...)
	if len(f.rows) == 0 {
		l.Empty = noCohorts(f, view)
		return l
	}
	for _, c := range f.rows {
		l.Rows = append(l.Rows, newCohortRow(c, f, view))
	}
	return l
}

// cohortFilters are the sets, the sources and the classes, each a link.
func cohortFilters(f cohortsFacts, view cohortView) []components.Chip {
	var chips []components.Chip
	for _, v := range cohortViews {
		chip := components.Chip{Text: v.text, Href: f.href("show", v.name), On: v.name == view.name}
		if v.count != nil {
			chip.Count = countOrNothing(v.count(f.totals))
		}
		chips = append(chips, chip)
	}
	toggle := func(name, value, text string) components.Chip {
		if f.params.Get(name) == value {
			return components.Chip{Text: text, Href: f.href(name, ""), On: true, Drop: true}
		}
		return components.Chip{Text: text, Href: f.href(name, value)}
	}
	if len(f.known.list) > 1 || f.params.Get("source") != "" {
		names := make([]string, 0, len(f.known.list))
		for _, s := range f.known.list {
			names = append(names, s.Name())
		}
		for _, name := range withAsked(names, f.params.Get("source")) {
			chips = append(chips, toggle("source", name, titleOf(name)))
		}
	}
	for _, class := range withAsked(f.classes, f.params.Get("class")) {
		chips = append(chips, toggle("class", class, shownLine(class, 40).String()))
	}
	chips = append(chips, proofChips(f)...)
	if text := f.params.Get("text"); text != "" {
		chips = append(chips, toggle("text", text, "“"+shownLine(text, 40).String()+"”"))
	}
	for _, c := range []struct{ name, text string }{{"new", "New since "}, {"back", "Came back since "}} {
		if at := momentOf(f.params, c.name); !at.IsZero() {
			chips = append(chips, toggle(c.name, f.params.Get(c.name), c.text+at.Format("2 Jan 15:04 UTC")))
		}
	}
	return chips
}

// withAsked is a list of choices that has what was asked for, whatever it is.
func withAsked(choices []string, asked string) []string {
	if asked == "" || slices.Contains(choices, asked) {
		return choices
	}
	return append(slices.Clone(choices), asked)
}

func cohortOrderChips(f cohortsFacts) []components.Chip {
	var chips []components.Chip
	for i, o := range cohortOrders {
		value := string(o.sort)
		if i == 0 {
			value = ""
		}
		chips = append(chips, components.Chip{Text: o.text, Href: f.href("sort", value), On: cohortSortOf(f.params) == o.sort})
	}
	return chips
}

func cohortHeads(f cohortsFacts, view cohortView) cohorts.Heads {
	heads := cohorts.Heads{
		Cohort: components.Sort{Text: "Cohort"}, Source: components.Sort{Text: "Source, owner"}, Failed: components.Sort{Text: "Failed under"},
		Stuck: components.Sort{Text: view.head, Num: true, Href: f.href("sort", string(dlq.CohortsByDepth))}, Arrivals: components.Sort{Text: "30 days"},
		Oldest: components.Sort{Text: "Oldest", Num: true, Href: f.href("sort", string(dlq.CohortsByAge))}, Proof: components.Sort{Text: "Proof"}, Next: components.Sort{Text: "Next step", Href: f.href("sort", "")},
	}
	switch cohortSortOf(f.params) {
	case dlq.CohortsByDepth:
		heads.Stuck.Dir = "descending"
	case dlq.CohortsByAge:
		heads.Oldest.Dir = "descending" // the greatest age first
	case dlq.CohortsByNeed:
		heads.Next.Dir = "descending"
	}
	return heads
}

func newCohortRow(c dlq.Cohort, f cohortsFacts, view cohortView) cohorts.Row {
	s := situationOf(c, f.known, f.now)
	next := nextStep(s)
	narrowed := append([]string{"status:" + string(view.status)}, narrowingTerms(f.query)...)
	row := cohorts.Row{
		Check:    components.Check{Name: "id", Value: c.ID, Label: "Select " + titleOf(cohortTitle(c))},
		Href:     cohortHref(c.ID),
		Type:     shownLine(cohortTitle(c), 120),
		Template: shownLine(c.Template, 240),
		Frame:    shownLine(c.Frame, 160),
		Source:   cohortSource(c),
		Owner:    ownerHead(cohortOwner(c, f.known)),
		Stuck:    components.Link{Text: grouped(c.Counts[view.status]), Href: entriesHref(cohortQuery(c.ID, narrowed...))},
		Arrivals: components.Sparkline{Values: ints(c.Daily), Label: arrivalsLabel(c.Daily)},
		Oldest:   oldestWords(c, f.now),
		Proof:    rowProve(c),
		Next:     components.Link{Text: next.verb, Href: stepHref(next, c, s.source)},
		NextWhy:  next.why,
		NextTone: next.tone,
	}
	if len(c.FailedUnder) > 0 {
		under := c.FailedUnder[0]
		row.Under = underWords(under.Versions, f.known.running[under.Source])
		row.RunsNow, row.Moved = runsNow(under.Versions, f.known.running[under.Source])
	}
	if whole, known := c.Whole[view.status]; known && whole != c.Counts[view.status] {
		row.StuckOf = "of " + grouped(whole)
	}
	if c.Expiring > 0 {
		row.Expiring = components.Tag{Text: grouped(c.Expiring) + " " + verb(c.Expiring, "leaves", "leave") + " soon", Tone: components.Deadline, Title: "within 7 days",
			Href: entriesHref(cohortQuery(c.ID, "status:parked", "expires:<7d"))}
	}
	if c.Standing.Alerts > 0 {
		row.Tags = append(row.Tags, components.Tag{Text: "alert", Tone: components.Bad, Href: "/alerts"})
	}
	if n := c.Counts[dlq.StatusRedriving]; n > 0 && view.status == dlq.StatusParked {
		row.Tags = append(row.Tags, components.Tag{Text: grouped(n) + " being redriven", Tone: components.Info, Href: entriesHref(cohortQuery(c.ID, "status:redriving"))})
	}
	if c.Review {
		row.Tags = append(row.Tags, components.Tag{Text: "low confidence", Tone: components.Quiet})
	}
	if tag := partTag(c, f.by); tag.Text != "" {
		row.Tags = append(row.Tags, tag)
	}
	if tag := dispositionTag(c.Disposition); tag.Text != "" {
		row.Tags = append(row.Tags, tag)
	}
	if n := c.Counts[dlq.StatusQuarantined]; n > 0 && view.status != dlq.StatusQuarantined {
		row.Tags = append(row.Tags, components.Tag{Text: grouped(n) + " in quarantine", Tone: components.Held, Href: entriesHref(cohortQuery(c.ID, "status:quarantined"))})
	}
	return row
}

// cohortSource is the one source of a cohort, or how many it has.
func cohortSource(c dlq.Cohort) components.Link {
	switch len(c.Sources) {
	case 0:
		return components.Link{Text: "none now"}
	case 1:
		return components.Link{Text: titleOf(c.Sources[0]), Href: sourceHref(c.Sources[0])}
	}
	return components.Link{Text: counted(len(c.Sources), "source", "sources"), Href: cohortHref(c.ID)}
}

// cohortOwner is who has the cohort, else who owns its first source.
func cohortOwner(c dlq.Cohort, known knownSources) string {
	if c.Owner != "" || len(c.Sources) == 0 {
		return c.Owner
	}
	return known.owner(c.Sources[0])
}

func arrivalsLabel(daily []int64) string {
	if len(daily) == 0 {
		return "No arrivals are known"
	}
	return "Arrivals a day over " + counted(len(daily), "day", "days") + ": " + grouped(sumOf(daily)) + " in all, " + grouped(slices.Max(daily)) + " at most, " + grouped(daily[len(daily)-1]) + " today"
}

func cohortPager(f cohortsFacts) components.Pager {
	p := components.Pager{}
	if len(f.rows) == 0 {
		return p
	}
	from := pageFrom(f.params.Get("from"))
	if f.params.Get("after") == "" {
		from = 0
	}
	to := from + int64(len(f.rows))
	total := max(f.matching, to)
	of := counted(total, "cohort", "cohorts")
	if f.filtered() && f.all > total {
		of = grouped(total) + " of " + counted(f.all, "cohort", "cohorts")
	}
	p.Summary = of
	if f.next != "" || from > 0 {
		p.Summary = grouped(from+1) + " to " + grouped(to) + " of " + of
		if f.filtered() && f.all > total {
			p.Summary = grouped(from+1) + " to " + grouped(to) + " of " + grouped(total) + " that match"
		}
	}
	if f.next != "" {
		p.Next = components.Link{Text: "Next page", Href: joinQuery(f.href("", ""), url.Values{"after": {f.next}, "from": {strconv.FormatInt(to, 10)}})}
	}
	if from > 0 {
		p.Prev = components.Link{Text: "First page", Href: f.href("", "")}
	}
	return p
}

// joinQuery adds parameters to an address of ours.
func joinQuery(href string, more url.Values) string {
	for i := range len(href) {
		if href[i] == '?' {
			return href + "&" + more.Encode()
		}
	}
	return href + "?" + more.Encode()
}

// cohortBulk acts on whole cohorts: on those of their documents that the action
// can be taken on.
func cohortBulk(f cohortsFacts, view cohortView) components.Bulk {
	b := components.Bulk{FormID: "bulk", Noun: "cohorts", Shown: grouped(len(f.rows)), Query: strings.Join(narrowingTerms(f.query), " "), Back: f.href("", "")}
	if !f.by.May(dlq.MayDecide) {
		b.Why = roleCannot(f.by.Role)
		return b
	}
	statuses := []dlq.Status{view.status}
	if view.name == "" || view.name == "review" {
		statuses = []dlq.Status{dlq.StatusParked}
	}
	for _, kind := range kindsFor(statuses) {
		a := bulkAction("/cohorts/selected", kind, actionWords[kind])
		if kind == dlq.OperationRedrive {
			a.Tone, a.Key = components.Primary, "r"
		}
		b.Actions = append(b.Actions, a)
	}
	return b
}

// noCohorts says why there is nothing to show: everything got through, or
// nothing matches.
func noCohorts(f cohortsFacts, view cohortView) *components.Empty {
	if f.lost {
		return noSuchPlace(f.href("", ""))
	}
	if f.params.Get("after") != "" {
		return &components.Empty{Title: "The list ends here", Text: "What stood on this page has moved meanwhile.", Links: []components.Link{{Text: "First page", Href: f.href("", "")}}}
	}
	if f.filtered() {
		everything := cohortsFacts{params: url.Values{"show": {view.name}}}.href("", "")
		switch {
		case len(f.bad) > 0:
			return &components.Empty{Title: "Nothing was looked for", Text: "A term of the query was not understood; it stands above, with what was expected."}
		case f.all > 0:
			return &components.Empty{Title: "No cohort matches", Text: sentenceStart(counted(f.all, "cohort is", "cohorts are")) + " hidden by the filters. Take one out to see more.", Links: []components.Link{{Text: "Show all " + grouped(f.all), Href: everything}}}
		}
		return &components.Empty{Title: "No cohort matches", Text: "Take a filter out to see more.", Links: []components.Link{{Text: "Show all", Href: everything}}}
	}
	switch view.name {
	case "quarantine":
		return &components.Empty{Title: "Nothing is in quarantine", Text: "Documents come here when they failed the same way after each replay."}
	case "archive":
		return &components.Empty{Title: "The archive is empty", Text: "Documents come here when their time in the queue is over, or when somebody archives them."}
	case "review":
		return &components.Empty{Title: "Nothing is in review", Text: "Results under their source's confidence floor come here. They are no failures."}
	}
	return &components.Empty{Title: "Every document got through", Text: "New failures appear here.", Links: []components.Link{{Text: "See what was resolved", Href: entriesHref("status:resolved")}}}
}

// newFirst is an install that never had a document: how to park one. The token
// is shown once, where it is made, so the command takes it from there.
func newFirst(frame layout.Model, publicURL string, mayMakeTokens bool) cohorts.Model {
	m := cohorts.Model{Layout: frame, First: &cohorts.First{
		Title: "Waiting for the first document",
		Text:  "Make a token where this server runs, then park a document where your pipeline gives up.",
		Command: components.Code{ID: "first-command", Label: "Commands that park a document", Text: `DLO_TOKEN=$(dlo token create pipeline --scope ingest | tail -n 1)
curl -H "Authorization: Bearer $DLO_TOKEN" \
  -F 'envelope={"source":"wiki","doc_id":"42","error_type":"ParseError","error_message":"no /Root object"};type=application/json' \
  -F payload=@broken.pdf ` + publicURL + `/api/v1/dead-letters`},
		TokenNote: "The token may park documents and look them up, nothing else. It is shown once; dlo token revoke ends it.",
		Poll:      "/cohorts?wait=1",
	}}
	if mayMakeTokens {
		m.First.Links = append(m.First.Links, components.Link{Text: "Make a token here", Href: "/settings/tokens"})
	}
	m.First.Links = append(m.First.Links, components.Link{Text: "Read the API", Href: "/api/v1/openapi.yaml"})
	return m
}

// freshLooked is how many of the cohorts that failed last the pill looks at.
const freshLooked = 20

// newFresh says what came since a list was drawn: new cohorts, and older ones
// with new failures. False: nothing did.
func newFresh(latest []dlq.Cohort, drawn time.Time, href string) (components.Fresh, bool) {
	var fresh, again int
	for _, c := range latest {
		switch {
		case c.FirstSeen.After(drawn):
			fresh++
		case c.LastSeen.After(drawn):
			again++
		}
	}
	f := components.Fresh{Poll: freshPoll(drawn), Href: href}
	more := ""
	if fresh+again >= freshLooked {
		more = " or more"
	}
	switch {
	case fresh > 0 && again > 0:
		f.Text = counted(fresh, "new cohort", "new cohorts") + ", " + grouped(again) + more + " with new failures"
	case fresh > 0:
		f.Text = counted(fresh, "new cohort", "new cohorts") + more
	case again > 0:
		f.Text = "New failures in " + counted(again, "cohort", "cohorts") + more
	default:
		return f, false
	}
	return f, true
}

func freshPoll(drawn time.Time) string {
	return "/cohorts/fresh?since=" + strconv.FormatInt(drawn.UnixMilli(), 10)
}
