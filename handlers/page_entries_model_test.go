package handlers

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/views/components"
)

func TestTheFilterFormIsPutIntoTheQuery(t *testing.T) {
	for _, c := range []struct {
		name, params, want string
	}{
		{"a value is added", "q=age:>30d&source=wiki", "age:>30d source:wiki"},
		{"a value replaces its key", "q=source:wiki+age:>30d&source=leases", "age:>30d source:leases"},
		{"an empty one takes it out", "q=source:wiki+age:>30d&source=", "age:>30d"},
		{"what the form showed changes nothing", "q=status:open+-reason:low_confidence&status=open", "status:open -reason:low_confidence"},
		{"nor does a list that it showed", "q=source:wiki,leases&source=wiki,leases", "source:wiki,leases"},
		{"negated terms are left alone", "q=-class:transient&class=", "-class:transient"},
		{"and beside a positive one too", "q=-class:transient+class:a&class=b", "-class:transient class:b"},
		{"an age is a comparison", "q=&age=30d", "age:>30d"},
		{"an age stays as it was", "q=age:>30d&age=30d", "age:>30d"},
		{"quotes are kept", `q="no+root"+type:A&type="My+Error"`, `"no root" type:"My Error"`},
		{"several at once", "q=source:wiki&source=leases&status=archived&class=transient&type=&parser=&age=", "source:leases status:archived class:transient"},
		{"a bad term stays in its place", "q=age:soon+source:wiki&source=leases", "age:soon source:wiki"},
	} {
		params, err := url.ParseQuery(strings.ReplaceAll(c.params, ">", "%3E"))
		if err != nil {
			t.Fatal(err)
		}
		if got := narrowed(params); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSendingTheFilterFormUntouchedChangesNothing(t *testing.T) {
	for _, text := range []string{usualQuery, "source:wiki,leases age:>=12h", `type:"a, b" class:x`, "age:<7d", "", "-source:wiki status:parked,archived", "parser:pdf@1 \"free text\""} {
		q, bad := dlq.ParseQuery(text)
		if len(bad) > 0 {
			t.Fatalf("%q: %v", text, bad)
		}
		params := url.Values{}
		for _, in := range newFilters(q, nil, dlq.FilterChoices{}) {
			value := in.Value
			for _, o := range in.Options {
				if o.On {
					value = o.Value
				}
			}
			params.Set(in.Name, value)
		}
		if got := narrowed(params); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestChoicesHoldWhatTheQueryAsksFor(t *testing.T) {
	q, _ := dlq.ParseQuery("source:gone")
	in := choiceOf(q, "source", "Source", []string{"wiki", "with space"}, nil)
	var values []string
	for _, o := range in.Options {
		values = append(values, o.Value)
		if o.On != (o.Value == "gone") {
			t.Errorf("%q is chosen: %v", o.Value, o.On)
		}
	}
	if want := []string{"", "wiki", `"with space"`, "gone"}; !slices.Equal(values, want) {
		t.Errorf("got %q, want %q", values, want)
	}
}

func TestTermsAreSaidInWords(t *testing.T) {
	for text, want := range map[string]string{
		"source:wiki":        "source: wiki",
		"source:wiki,leases": "source: wiki or leases",
		"-class:transient":   "not class: transient",
		"age:>30d":           "stuck for more than 30 days",
		"age:<1d":            "stuck for less than 1 day",
		"age:>=12h":          "stuck for at least 12h",
		"expires:<7d":        "leaves within 7 days",
		"attempts:>10":       "attempts: over 10",
		"redrives:2":         "redrives: 2",
		"status:parked":      "status: stuck",
		`"no root"`:          "“no root”",
	} {
		q, bad := dlq.ParseQuery(text)
		if len(bad) > 0 {
			t.Fatalf("%q: %v", text, bad)
		}
		if got := termWords(q.Terms[0]); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestEachTermRemovesItself(t *testing.T) {
	q, _ := dlq.ParseQuery(`source:wiki "two words" age:>30d`)
	chips := termChips(q, func(q string) string { return q })
	for i, want := range []string{`"two words" age:>30d`, "source:wiki age:>30d", `source:wiki "two words"`} {
		if chips[i].Href != want || !chips[i].Drop {
			t.Errorf("chip %d leads to %q, want %q", i, chips[i].Href, want)
		}
	}
}

func TestABadTermIsNamedInItsPlace(t *testing.T) {
	text := "source:wiki age:soon sta:x"
	_, bad := dlq.ParseQuery(text)
	p := newProblemTerm(text, bad)
	if p.Before != "source:wiki " || p.Term != "age:soon" || p.After != " sta:x" {
		t.Errorf("got %q %q %q", p.Before, p.Term, p.After)
	}
	if !strings.Contains(p.Sentence, "a comparison and a span") || !strings.Contains(p.Sentence, "1 other term was not understood") {
		t.Errorf("got %q", p.Sentence)
	}
	if p.Try[0].Href != entriesHref("source:wiki sta:x") || p.Try[1].Href != entriesHref(`source:wiki "age:soon" sta:x`) {
		t.Errorf("got %+v", p.Try)
	}
}

func TestTheHelpIsOfTheLanguageThatIsRead(t *testing.T) {
	for _, line := range queryHelp() {
		if _, bad := dlq.ParseQuery(line.Term); len(bad) > 0 {
			t.Errorf("%s cannot be read: %v", line.Term, bad)
		}
	}
	for _, chip := range quickSearches(dlq.Totals{}) {
		u, _ := url.Parse(chip.Href)
		if _, bad := dlq.ParseQuery(u.Query().Get("q")); len(bad) > 0 {
			t.Errorf("%s cannot be read: %v", chip.Text, bad)
		}
	}
}

func TestStatesThatAQueryLetsThrough(t *testing.T) {
	for text, want := range map[string][]dlq.Status{
		"":                                  dlq.Statuses,
		"status:parked":                     {dlq.StatusParked},
		"status:open":                       {dlq.StatusParked, dlq.StatusRedriving, dlq.StatusQuarantined, dlq.StatusArchived},
		"-status:open":                      {dlq.StatusResolved, dlq.StatusErased},
		"status:open -status:archived":      {dlq.StatusParked, dlq.StatusRedriving, dlq.StatusQuarantined},
		"status:resolved,archived":          {dlq.StatusArchived, dlq.StatusResolved},
		"status:parked status:resolved":     nil,
		"source:status status:erased \"x\"": {dlq.StatusErased},
	} {
		q, bad := dlq.ParseQuery(text)
		if len(bad) > 0 {
			t.Fatal(bad)
		}
		if got := statusesOf(q); !slices.Equal(got, want) {
			t.Errorf("%q lets through %v, want %v", text, got, want)
		}
	}
}

// A button that cannot work in a state is not there, and one that can is: the
// table of the screens is held against the rule itself.
func TestButtonsAreThoseThatTheRuleAllows(t *testing.T) {
	retention := dlq.DefaultPolicy("wiki").Retention
	for _, status := range dlq.Statuses {
		offered := kindsFor([]dlq.Status{status})
		for _, kind := range dlq.OperationKinds {
			if kind.Marks() {
				continue // whatever the state but erased
			}
			works := status == dlq.StatusParked
			if kind != dlq.OperationRedrive {
				standing := dlq.Standing{Status: status, OpenedAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(time.Hour)}
				effect, err := standing.Act(dlq.Action{Kind: kind, Days: 7, Grant: dlq.GrantOne}, retention, noon)
				if err != nil && dlq.KindOf(err) != dlq.KindConflict {
					t.Fatal(err)
				}
				works = err == nil && effect.Changes
			}
			if got := slices.Contains(offered, kind); got != works {
				t.Errorf("%s of a document that is %s: offered %v, works %v", kind, status, got, works)
			}
		}
	}
}

func listOf(by dlq.Actor, query string, total int64, rows ...dlq.Entry) entryList {
	q, bad := dlq.ParseQuery(query)
	if len(bad) > 0 {
		panic(errors.New(bad[0].Expected))
	}
	return entryList{id: "entries", path: "/entries", params: url.Values{"q": {query}}, query: q, rows: rows, total: total, now: noon, by: by, cohort: true}
}

var (
	reviewer = dlq.Person{ID: "1", Email: "reviewer@example.com", Role: dlq.RoleReviewer}.Actor()
	analyst  = dlq.Person{ID: "2", Email: "analyst@example.com", Role: dlq.RoleAnalyst}.Actor()
	auditor  = dlq.Person{ID: "3", Email: "auditor@example.com", Role: dlq.RoleAuditor}.Actor()
)

func TestTheBarCarriesTheNumberThatWasSeen(t *testing.T) {
	b := entryBulk(listOf(reviewer, "status:parked", 2842, dlq.Entry{}))
	if b.Expect != "2842" || b.Query != "status:parked" || b.AllLabel != "all 2,842 that match" || b.Back != "/entries?q=status%3Aparked" {
		t.Errorf("got %+v", b)
	}
	if b := entryBulk(listOf(reviewer, "status:parked", 1, dlq.Entry{})); b.AllLabel != "" {
		t.Errorf("everything is on the page, and yet: %q", b.AllLabel)
	}
}

func TestTheBarHasOnlyWhatTheRoleMayDo(t *testing.T) {
	labels := func(b components.Bulk) string {
		var out []string
		for _, a := range b.Actions {
			out = append(out, a.Label)
		}
		return strings.Join(out, ", ")
	}
	row := dlq.Entry{}
	for _, c := range []struct {
		by    dlq.Actor
		query string
		want  string
		why   bool
	}{
		{reviewer, "status:parked", "Redrive, Quarantine, Keep longer, Archive, Assign, Set a disposition", false},
		{reviewer, "status:quarantined", "Release, Keep longer, Archive, Assign, Set a disposition", false},
		{reviewer, "status:archived", "Restore, Assign, Set a disposition", false},
		{reviewer, "status:resolved", "Assign", false},
		{analyst, "status:parked", "Assign, Set a disposition", true},
		{auditor, "status:parked", "", true},
	} {
		b := entryBulk(listOf(c.by, c.query, 1, row))
		if got := labels(b); got != c.want || (b.Why != "") != c.why {
			t.Errorf("%s, %s: %q (%q), want %q", c.by.Role, c.query, got, b.Why, c.want)
		}
	}
}

func TestThePagerSaysWhereItStands(t *testing.T) {
	l := listOf(reviewer, "status:parked", 120, make([]dlq.Entry, 50)...)
	l.next = "abc"
	if p := entryPager(l); p.Summary != "1 to 50 of 120" || p.Prev.Href != "" || p.Next.Href != "/entries?after=abc&q=status%3Aparked&from=50" {
		t.Errorf("got %+v", p)
	}
	l.from, l.next, l.rows = 100, "", l.rows[:20]
	l.params.Set("after", "abc")
	l.params.Set("from", "100")
	if p := entryPager(l); p.Summary != "101 to 120 of 120" || p.Prev.Href != "/entries?q=status%3Aparked" || p.Next.Href != "" {
		t.Errorf("got %+v", p)
	}
	for _, s := range []string{"", "x", "-1", "99999999999999999999"} {
		if got := pageFrom(s); got != 0 {
			t.Errorf("pageFrom(%q) = %d", s, got)
		}
	}
}

func TestAHeadingThatSortsLeadsBackWhenPressedAgain(t *testing.T) {
	l := listOf(reviewer, "status:parked", 1, dlq.Entry{})
	if got := entryHeads(l).Leaves; got.Href != "/entries?q=status%3Aparked&sort=expires" || got.Dir != "" {
		t.Errorf("got %+v", got)
	}
	l.sort = dlq.SortExpires
	l.params.Set("sort", "expires")
	if got := entryHeads(l).Leaves; got.Href != "/entries?q=status%3Aparked" || got.Dir != "ascending" {
		t.Errorf("got %+v", got)
	}
}

func TestARowIsSafeToLookAt(t *testing.T) {
	e := dlq.Entry{ID: 7, DLQID: "01J", Source: "wi\u202eki", DocID: "a\u200bb", Message: "one\ntwo", Status: dlq.StatusRedriving, OpenedAt: noon, ExpiresAt: noon.Add(72 * time.Hour), CohortID: "01K", Attempts: 1234}
	l := listOf(reviewer, "", 1, e)
	l.probes = map[int64]dlq.Evidence{7: {Bytes: dlq.ReadingChanged, Grade: dlq.GradeStrongETag}}
	r := newListedEntry(e, l)
	if r.Source != "wi[U+202E]ki" || !r.DocID[1].Chip || r.Message.String() != "one two" {
		t.Errorf("got %q %+v %q", r.Source, r.DocID, r.Message)
	}
	if r.State.Text != "redriving" || r.Attempts != "1,234" || r.Leaves.Text != "in 3 d" || r.Now.Text != "changed · strong tag" || r.Type.String() != "No exception type" {
		t.Errorf("got %+v", r)
	}
	l.probes = nil
	if r := newListedEntry(e, l); r.Now.Text != "not asked yet" {
		t.Errorf("got %+v", r.Now)
	}
}

func TestAnEmptyListSaysWhy(t *testing.T) {
	empty := func(text string) string {
		return newEntriesPage(entriesFacts{text: text, list: listOf(reviewer, text, 0)}).Table.Empty.Title
	}
	if got := empty(usualQuery); got != "Nothing is stuck" {
		t.Errorf("got %q", got)
	}
	if got := empty("source:none"); got != "No document matches" {
		t.Errorf("got %q", got)
	}
	text := "age:soon"
	_, bad := dlq.ParseQuery(text)
	m := newEntriesPage(entriesFacts{text: text, bad: bad, list: listOf(reviewer, "", 0)})
	if m.Problem == nil || m.Query != text || m.Filters[0].Value != text || m.Table.Empty == nil {
		t.Errorf("got %+v", m)
	}
}
