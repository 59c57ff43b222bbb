package handlers

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/layout"
)

func paramsOf(t *testing.T, query string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheHomePageAsksForWhatItsAddressSays(t *testing.T) {
	yes, no := true, false
	for query, want := range map[string]dlq.CohortQuery{
		"":                              {Review: &no, Open: true, Sort: dlq.CohortsByNeed},
		"show=review&sort=parked":       {Review: &yes, Open: true, Sort: dlq.CohortsByDepth},
		"show=quarantine&sort=nonsense": {Status: dlq.StatusQuarantined, Sort: dlq.CohortsByNeed},
		"show=archive&sort=oldest":      {Status: dlq.StatusArchived, Sort: dlq.CohortsByAge},
		"show=nonsense&source=wiki":     {Review: &no, Open: true, Source: "wiki", Sort: dlq.CohortsByNeed},
		"class=transient&text=no+%2F+x": {Review: &no, Open: true, Class: "transient", Words: []string{"no / x"}, Sort: dlq.CohortsByNeed},
		"new=1000&back=2000":            {Review: &no, Open: true, New: time.UnixMilli(1000).UTC(), Back: time.UnixMilli(2000).UTC(), Sort: dlq.CohortsByNeed},
		"new=-1&back=x":                 {Review: &no, Open: true, Sort: dlq.CohortsByNeed},
	} {
		got, bad := cohortQueryOf(paramsOf(t, query))
		if (got.Review == nil) != (want.Review == nil) || got.Review != nil && *got.Review != *want.Review || len(bad) > 0 {
			t.Errorf("%q asks for review %v, %v", query, got.Review, bad)
		}
		got.Review, want.Review = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q asks for %+v, want %+v", query, got, want)
		}
	}
	got, _ := cohortQueryOf(paramsOf(t, "q=root+class:transient+age:>30d+-word"))
	if !reflect.DeepEqual(got.Words, []string{"root"}) || len(got.Having.Terms) != 3 || !got.Narrows() {
		t.Errorf("got %+v", got)
	}
	if _, bad := cohortQueryOf(paramsOf(t, "q=bogus:1")); len(bad) != 1 {
		t.Errorf("got %v", bad)
	}
}

func TestTotalsLeadAndOpenTheirRows(t *testing.T) {
	totals := dlq.Totals{Stuck: 2842, InReview: 533, Quarantined: 17, Redriving: 1, Cohorts: 38, Oldest: noon.Add(-94 * 24 * time.Hour), OldestSource: "wiki", Expiring: 57, NetWeek: 126, Since: noon.Add(-7 * 24 * time.Hour)}
	if got := cohortsHeading(totals); got != "38 problems behind 2,842 stuck documents" {
		t.Errorf("got %q", got)
	}
	if got := cohortsHeading(dlq.Totals{Stuck: 1, Cohorts: 1}); got != "1 problem behind 1 stuck document" {
		t.Errorf("got %q", got)
	}
	if got := cohortsHeading(dlq.Totals{}); got != "Nothing is stuck" {
		t.Errorf("got %q", got)
	}
	want := []components.Stat{
		{Value: "2,842", Label: "stuck now, +126 this week", Href: entriesHref("status:parked -reason:low_confidence")},
		{Value: "94 d", Label: "oldest, wiki", Href: "/entries?q=status%3Aparked&sort=oldest"},
		{Value: "57", Label: "leave within 7 days", Href: entriesHref("status:parked expires:<7d"), Tone: components.Deadline},
		{Value: "17", Label: "in quarantine, to decide", Href: "/quarantine", Tone: components.Held},
		{Value: "1", Label: "being redriven", Href: entriesHref("status:redriving"), Tone: components.Info},
		{Value: "533", Label: "low confidence, in review", Href: entriesHref("status:parked reason:low_confidence")},
	}
	got := totalStats(totals, noon)
	if len(got) != len(want) {
		t.Fatalf("%d stats, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("stat %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if got := totalStats(dlq.Totals{NetWeek: -5, Since: noon.Add(-90 * 24 * time.Hour)}, noon); len(got) != 1 || got[0].Label != "stuck now, −5 this week" || got[0].Tone != components.Good {
		t.Errorf("got %+v", got)
	}
	// All of a history that is shorter than a week is of this week: a net would
	// say the total once more.
	if got := totalStats(dlq.Totals{Stuck: 5, NetWeek: 5, Since: noon.Add(-72 * time.Hour)}, noon); got[0].Label != "stuck now, counted since "+dateOf(noon.Add(-72*time.Hour)) {
		t.Errorf("got %q", got[0].Label)
	}
}

func oneCohort() dlq.Cohort {
	return dlq.Cohort{
		ID: "01KB", Fingerprints: []string{"f1:7f3a19c2d0e14b55"}, ErrorType: "PDFSyntaxError", Template: "No /Root object", Frame: "pdfdocument.py · __init__", Sources: []string{"wiki"},
		Counts: map[dlq.Status]int64{dlq.StatusParked: 409, dlq.StatusQuarantined: 3, dlq.StatusResolved: 61}, Expiring: 31, Oldest: noon.Add(-94 * 24 * time.Hour), Daily: []int64{1, 2, 3},
		FirstSeen: noon.Add(-100 * 24 * time.Hour), LastSeen: noon.Add(-time.Hour), Arrivals: 1000,
		FailedUnder: []dlq.VersionCount{{Source: "wiki", Versions: dlq.Versions{"parser": "pdf@1"}, Parked: 393}, {Source: "wiki", Versions: dlq.Versions{"parser": "pdf@2"}, Parked: 16}},
	}
}

func knownWiki() knownSources {
	policy := dlq.DefaultPolicy("wiki")
	policy.Owner, policy.Redrive.URL = "search@example.com", "https://pipeline.example.com/redrive"
	s := dlq.Source{ID: 1, Policy: policy}
	return knownSources{list: []dlq.Source{s}, byName: map[string]dlq.Source{"wiki": s}, running: map[string]dlq.Running{"wiki": {"parser": {"pdf@3"}}}}
}

func TestARowOfTheHomePage(t *testing.T) {
	f := cohortsFacts{params: url.Values{}, rows: []dlq.Cohort{oneCohort()}, known: knownWiki(), now: noon, by: reviewer}
	r := newCohortList(f).Rows[0]
	if r.Href != "/cohorts/01KB" || r.Type.String() != "PDFSyntaxError" || r.Source.Href != "/sources/wiki" || r.Owner != "search" {
		t.Errorf("got %+v", r)
	}
	if r.Under.String() != "pdf@1" || r.RunsNow.String() != "pdf@3 runs now" || !r.Moved {
		t.Errorf("got %q → %q %v", r.Under, r.RunsNow, r.Moved)
	}
	if r.Stuck.Text != "409" || r.Stuck.Href != entriesHref("cohort:01KB status:parked") {
		t.Errorf("got %+v", r.Stuck)
	}
	if r.Oldest != "94 d" || r.Expiring.Text != "31 leave soon" || r.Expiring.Href != entriesHref("cohort:01KB status:parked expires:<7d") {
		t.Errorf("got %q %+v", r.Oldest, r.Expiring)
	}
	if r.Next.Text != "Decide" || r.NextTone != components.Held || r.Next.Href != entriesHref("cohort:01KB status:quarantined") {
		t.Errorf("got %+v %q", r.Next, r.NextWhy)
	}
	if len(r.Tags) != 1 || r.Tags[0].Text != "3 in quarantine" {
		t.Errorf("got %+v", r.Tags)
	}
	f.params = url.Values{"show": {"quarantine"}}
	if r := newCohortList(f).Rows[0]; r.Stuck.Text != "3" || r.Stuck.Href != entriesHref("cohort:01KB status:quarantined") || len(r.Tags) != 0 {
		t.Errorf("in quarantine: %+v %+v", r.Stuck, r.Tags)
	}
}

func TestFiltersAreLinksThatKeepTheRest(t *testing.T) {
	f := cohortsFacts{params: paramsOf(t, "source=wiki&sort=oldest&after=x&from=50"), known: knownWiki(), classes: []string{"transient"}, totals: dlq.Totals{Quarantined: 17}}
	f.known.list = append(f.known.list, dlq.Source{Policy: dlq.SourcePolicy{Name: "leases"}})
	chips := map[string]components.Chip{}
	for _, c := range cohortFilters(f, viewOf(f.params)) {
		chips[c.Text] = c
	}
	for text, want := range map[string]components.Chip{
		"In the queue": {Text: "In the queue", Href: "/cohorts?sort=oldest&source=wiki", On: true},
		"Quarantine":   {Text: "Quarantine", Count: "17", Href: "/cohorts?show=quarantine&sort=oldest&source=wiki"},
		"wiki":         {Text: "wiki", Href: "/cohorts?sort=oldest", On: true, Drop: true},
		"leases":       {Text: "leases", Href: "/cohorts?sort=oldest&source=leases"},
		"transient":    {Text: "transient", Href: "/cohorts?class=transient&sort=oldest&source=wiki"},
	} {
		if chips[text] != want {
			t.Errorf("%s: %+v, want %+v", text, chips[text], want)
		}
	}
	for _, o := range cohortOrderChips(f) {
		if o.On != (o.Text == "Stuck longest") {
			t.Errorf("%s is on: %v", o.Text, o.On)
		}
	}
}

func TestTheCohortsPagerSaysOfHowMany(t *testing.T) {
	f := cohortsFacts{params: url.Values{}, rows: make([]dlq.Cohort, 50), next: "9-01K", matching: 312, all: 312}
	if p := cohortPager(f); p.Summary != "1 to 50 of 312 cohorts" || p.Next.Href != "/cohorts?after=9-01K&from=50" || p.Prev.Href != "" {
		t.Errorf("got %+v", p)
	}
	f = cohortsFacts{params: paramsOf(t, "sort=oldest&after=9-01K&from=50"), rows: make([]dlq.Cohort, 3), matching: 53, all: 53}
	if p := cohortPager(f); p.Summary != "51 to 53 of 53 cohorts" || p.Next.Href != "" || p.Prev.Href != "/cohorts?sort=oldest" {
		t.Errorf("got %+v", p)
	}
	f = cohortsFacts{params: url.Values{}, rows: make([]dlq.Cohort, 1), matching: 1, all: 1}
	if p := cohortPager(f); p.Summary != "1 cohort" {
		t.Errorf("got %+v", p)
	}
	f = cohortsFacts{params: paramsOf(t, "source=wiki"), rows: make([]dlq.Cohort, 7), matching: 7, all: 38}
	if p := cohortPager(f); p.Summary != "7 of 38 cohorts" {
		t.Errorf("got %+v", p)
	}
	f = cohortsFacts{params: paramsOf(t, "source=wiki"), rows: make([]dlq.Cohort, 50), next: "x", matching: 70, all: 380}
	if p := cohortPager(f); p.Summary != "1 to 50 of 70 that match" {
		t.Errorf("got %+v", p)
	}
}

func TestNumbersOfAPartSayOfWhat(t *testing.T) {
	c := oneCohort()
	c.Whole = map[dlq.Status]int64{dlq.StatusParked: 4912}
	f := cohortsFacts{params: paramsOf(t, "source=wiki&q=class:transient+age:>30d"), rows: []dlq.Cohort{c}, known: knownWiki(), now: noon, by: reviewer, documents: 409, allOf: 4912, matching: 1, all: 38}
	f.query, f.bad = cohortQueryOf(f.params)
	l := newCohortList(f)
	if l.Note != "The numbers are of the documents that match: 409 of 4,912 stuck. A cohort is listed if one document matches the whole query; terms about single documents narrow no number." {
		t.Errorf("got %q", l.Note)
	}
	if r := l.Rows[0]; r.StuckOf != "of 4,912" || r.Stuck.Href != entriesHref("cohort:01KB status:parked source:wiki class:transient") {
		t.Errorf("got %q, %q", r.StuckOf, r.Stuck.Href)
	}
	if l.Bulk.Query != "source:wiki class:transient" {
		t.Errorf("an action would be taken on more than the numbers say: %q", l.Bulk.Query)
	}
	if l.Search.Value != "class:transient age:>30d" || len(l.Search.Keep) != 1 || l.Search.Clear != "/cohorts?source=wiki" {
		t.Errorf("got %+v", l.Search)
	}
	f.params = paramsOf(t, "q=bogus:1")
	f.query, f.bad = cohortQueryOf(f.params)
	f.rows = nil
	if l := newCohortList(f); l.Search.Problem == nil || l.Search.Problem.Term != "bogus:1" || l.Empty.Title != "Nothing was looked for" {
		t.Errorf("got %+v, %+v", l.Search.Problem, l.Empty)
	}
}

func TestWhatCameSinceSomebodyLookedLeadsToItsRows(t *testing.T) {
	since := noon.Add(-3 * time.Hour)
	if newSince(dlq.SinceLook{}, noon, "") != nil || newSince(dlq.SinceLook{Since: since}, noon, "") != nil {
		t.Error("nothing came, and a strip says so")
	}
	one := []dlq.Operation{{ID: "01A", State: dlq.OperationStopped}}
	m := newSince(dlq.SinceLook{Since: since, New: 2, Back: 1, Stopped: one, Alerts: 3}, noon, "token")
	at := strconv.FormatInt(since.UnixMilli(), 10)
	want := []components.Link{{Text: "2 new cohorts", Href: "/cohorts?new=" + at}, {Text: "1 cohort came back", Href: "/cohorts?back=" + at}, {Text: "1 operation stopped", Href: "/operations/01A"}, {Text: "3 new alerts", Href: "/alerts?since=" + at}}
	if !slices.Equal(m.Links, want) || m.Title != "Since you last looked, 3 h ago" || m.Seen.Fields[0].Value != strconv.FormatInt(noon.UnixMilli(), 10) || m.CSRF != "token" {
		t.Errorf("got %+v", m)
	}
	two := append(one, dlq.Operation{ID: "01B", State: dlq.OperationPaused})
	if m := newSince(dlq.SinceLook{Since: since, Stopped: two}, noon, ""); len(m.Links) != 1 || m.Links[0] != (components.Link{Text: "2 operations stopped or paused", Href: "/operations?state=open"}) {
		t.Errorf("got %+v", m.Links)
	}
}

func TestCohortsAreActedOnByWhoMayDecide(t *testing.T) {
	f := cohortsFacts{params: url.Values{}, rows: make([]dlq.Cohort, 2), by: reviewer}
	b := cohortBulk(f, cohortViews[0])
	if len(b.Actions) != 4 || b.Actions[0].Href != "/cohorts/selected/redrive" || b.AllLabel != "" || b.Why != "" {
		t.Errorf("got %+v", b)
	}
	if b := cohortBulk(f, cohortViews[2]); len(b.Actions) != 1 || b.Actions[0].Label != "Restore" {
		t.Errorf("got %+v", b)
	}
	f.by = analyst
	if b := cohortBulk(f, cohortViews[0]); len(b.Actions) != 0 || !strings.HasPrefix(b.Why, "Analysts cannot redrive") {
		t.Errorf("got %+v", b)
	}
}

func TestNothingToShowSaysWhich(t *testing.T) {
	for query, want := range map[string]string{
		"": "Every document got through", "show=quarantine": "Nothing is in quarantine", "show=archive": "The archive is empty", "show=review": "Nothing is in review",
		"source=x": "No cohort matches", "after=9-x": "The list ends here",
	} {
		f := cohortsFacts{params: paramsOf(t, query)}
		if got := newCohortList(f).Empty; got == nil || got.Title != want {
			t.Errorf("%q: %+v, want %q", query, got, want)
		}
	}
}

func TestThePillCountsWhatCameSince(t *testing.T) {
	old := dlq.Cohort{FirstSeen: noon.Add(-time.Hour), LastSeen: noon.Add(-time.Minute)}
	again := dlq.Cohort{FirstSeen: noon.Add(-time.Hour), LastSeen: noon.Add(time.Minute)}
	fresh := dlq.Cohort{FirstSeen: noon.Add(time.Second), LastSeen: noon.Add(time.Minute)}
	for _, c := range []struct {
		latest []dlq.Cohort
		want   string
	}{
		{[]dlq.Cohort{old}, ""},
		{[]dlq.Cohort{again, old}, "New failures in 1 cohort"},
		{[]dlq.Cohort{fresh, old}, "1 new cohort"},
		{[]dlq.Cohort{fresh, again, again}, "1 new cohort, 2 with new failures"},
	} {
		got, any := newFresh(c.latest, noon, "/cohorts")
		if got.Text != c.want || any != (c.want != "") {
			t.Errorf("%q, want %q", got.Text, c.want)
		}
	}
	many := make([]dlq.Cohort, freshLooked)
	for i := range many {
		many[i] = again
	}
	if got, _ := newFresh(many, noon, "/cohorts"); got.Text != "New failures in 20 cohorts or more" {
		t.Errorf("the limit is silent: %q", got.Text)
	}
}

func TestAnEmptyInstallShowsNoSecret(t *testing.T) {
	m := newFirst(layout.Model{}, "https://dlo.example.com", false)
	if !strings.Contains(m.First.Command.Text, "$DLO_TOKEN") || !strings.Contains(m.First.Command.Text, "https://dlo.example.com/api/v1/dead-letters") {
		t.Errorf("got %q", m.First.Command.Text)
	}
	for _, l := range m.First.Links {
		if l.Href == "/settings/tokens" {
			t.Error("somebody is led to a page that they may not open")
		}
	}
}
