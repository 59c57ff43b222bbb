package handlers

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/views/components"
)

func TestAFixIsDeclaredTestedAndWithdrawnWithoutAScript(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	var cohort string
	for _, doc := range []string{"1", "2"} {
		cohort = s.park(`"source":"wiki","doc_id":"` + doc + `","error_type":"PDFSyntaxError","parser_version":"pdf@1","content_hash":"` + strings.Repeat("a", 63) + doc + `"`).Cohort
	}
	if _, _, err := s.store.PutSource(t.Context(), dlq.Policy("test"), withTargetPolicy("wiki")); err != nil {
		t.Fatal(err)
	}
	path := "/cohorts/" + cohort
	if p := v.get(path); !strings.Contains(p.body, "Nobody has said what fixes this.") || !strings.Contains(p.body, path+"/fix") {
		t.Error("the page offers no declaration")
	}
	if p := v.get(path + "/fix"); p.status != http.StatusOK || !strings.Contains(p.body, `<option value="pdf@1">parser</option>`) || !strings.Contains(p.body, `value="parser"`) {
		t.Errorf("the form: %d, or it offers no versions", p.status)
	}
	p := v.post(path+"/fix", "component", "parser", "version", "", "note", "kept", "link", "ftp://x")
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "1 to 512 characters expected.") || !strings.Contains(p.body, "An address that begins with https://") || !strings.Contains(p.body, "kept") {
		t.Errorf("a form with faults: %d", p.status)
	}
	for _, bad := range []string{"a\x00b", "\xff"} {
		if p := v.post(path+"/fix", "component", "parser", "version", bad); p.status != http.StatusUnprocessableEntity {
			t.Errorf("version %q: %d", bad, p.status)
		}
	}
	p = v.post(path+"/fix", "component", "parser", "version", "pdf@2", "note", "<b>reads</b> it")
	if p.status != http.StatusSeeOther || !strings.HasPrefix(p.location, path+"#fix-") {
		t.Fatalf("declared: %d to %q", p.status, p.location)
	}
	if p := v.get(path); !strings.Contains(p.body, "declared, not deployed") || strings.Contains(p.body, "<b>reads</b>") || !strings.Contains(p.body, "2 stuck documents failed under versions it replaces") {
		t.Error("the page does not say where the fix stands, or draws its note")
	}

	// Its deployment is registered by hand, on the source's page.
	if _, _, err := s.store.Deploy(t.Context(), dlq.Policy("test"), "wiki", dlq.DeploymentReport{Component: "parser", Version: "pdf@2"}); err != nil {
		t.Fatal(err)
	}
	page := v.get(path)
	if !strings.Contains(page.body, "Test the fix: pdf@2 is live") || !strings.Contains(page.body, "deployed the fix: pdf@2 runs in wiki") {
		t.Error("the page does not lead with the test of the fix")
	}
	// The bar asks for it, of what the fix is for.
	if !strings.Contains(page.body, "Does pdf@2 fix it?") || !strings.Contains(page.body, `action="`+path+`/redrive"`) || !strings.Contains(page.body, `name="expect" value="2"`) {
		t.Error("the page has no button for what the fix is for")
	}

	fix := regexp.MustCompile(path + `/fix/([0-9A-Z]+)/withdraw`).FindStringSubmatch(page.body)
	if fix == nil {
		t.Fatal("the fix cannot be withdrawn")
	}
	if p := v.get(fix[0]); p.status != http.StatusOK || !strings.Contains(p.body, "Withdraw pdf@2") {
		t.Errorf("the form that withdraws: %d", p.status)
	}
	if p := v.post(fix[0], "reason", "a\x00"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("a reason with NUL: %d", p.status)
	}
	v.post(fix[0], "reason", "it was another defect")
	page = v.get(path)
	if !strings.Contains(page.body, "withdrew pdf@2") || !strings.Contains(page.body, "it was another defect") || strings.Contains(page.body, "Test the fix") {
		t.Error("the page does not say that it was withdrawn, or still proposes it")
	}
}

func withTargetPolicy(name string) dlq.SourcePolicy {
	p := dlq.DefaultPolicy(name)
	p.Redrive.URL = "https://pipeline.example.com/redrive"
	return p
}

func TestWhoMayNotDecideSeesAFixAndDeclaresNone(t *testing.T) {
	s := newSite(t)
	cohort := s.park(`"source":"memos","doc_id":"1","error_type":"PDFSyntaxError","parser_version":"pdf@1"`).Cohort
	s.park(`"source":"leases","doc_id":"2","error_type":"PDFSyntaxError","parser_version":"pdf@1"`)
	if _, _, err := s.store.DeclareFix(t.Context(), dlq.Policy("test"), cohort, dlq.FixDeclaration{Component: "parser", Version: "pdf@2"}); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"memos", "leases"} {
		if _, _, err := s.store.Deploy(t.Context(), dlq.Policy("test"), source, dlq.DeploymentReport{Component: "parser", Version: "pdf@2"}); err != nil {
			t.Fatal(err)
		}
	}
	v := s.signIn(dlq.RoleAnalyst, "leases")
	p := v.get("/cohorts/" + cohort)
	if !strings.Contains(p.body, "1 stuck document failed under versions it replaces") || !strings.Contains(p.body, "runs in leases") {
		t.Error("the analyst is not told of their part")
	}
	if strings.Contains(p.body, "memos") {
		t.Error("the page names a source that they may not know of")
	}
	if strings.Contains(p.body, "Declare a fix") || strings.Contains(p.body, "/withdraw") {
		t.Error("the analyst is offered what they may not do")
	}
	if p := v.post("/cohorts/"+cohort+"/fix", "component", "parser", "version", "3"); p.status != http.StatusForbidden {
		t.Errorf("declared by an analyst: %d", p.status)
	}
	if p := v.get("/reports/versions"); p.status != http.StatusOK || strings.Contains(p.body, "memos") || !strings.Contains(p.body, "PDFSyntaxError") {
		t.Errorf("the report of who sees one source: %d, or it names another", p.status)
	}
	if p := v.get("/reports/versions.csv?source=memos"); p.status != http.StatusOK || strings.Count(p.body, "\n") != 1 {
		t.Errorf("the file for a source that is not theirs: %d %q", p.status, p.body)
	}
}

func TestAFixSaysWhatHappenedUnderIt(t *testing.T) {
	fact := func(in ...dlq.FixIn) cohortFacts {
		f := oneCohortFacts()
		f.fixes = []dlq.Fix{{ID: "01F", CohortID: "01KB", DeclaredOn: "01KB", Component: "parser", Version: "pdf@3", Sources: in}}
		return f
	}
	live := noon.Add(-24 * time.Hour)
	got, refuted := passed(), passed()
	got.OutcomeVersions = dlq.Versions{"parser": "pdf@3"}
	refuted.OutcomeVersions = got.OutcomeVersions
	refuted.Outcome, refuted.FailedCohort, refuted.OutcomeCohort = dlq.OutcomeFailed, "01KB", "01KB"
	for _, c := range []struct {
		name    string
		in      []dlq.FixIn
		replays []dlq.Redrive
		heading string
		tag     string
		notices []string
		leads   bool
	}{
		{"declared", []dlq.FixIn{{Source: "wiki", Replaced: 3, Versions: []string{"pdf@1"}}}, nil, "pdf@3", "declared, not deployed", nil, false},
		{"live", []dlq.FixIn{{Source: "wiki", Replaced: 3, Versions: []string{"pdf@1"}, Since: live}}, nil, "Test the fix: pdf@3 is live", "live", nil, true},
		{"partly", []dlq.FixIn{{Source: "wiki", Replaced: 3, Versions: []string{"pdf@1"}, Since: live}, {Source: "leases", Replaced: 1}}, nil, "Test the fix: pdf@3 is live", "live in 1 of 2 sources", nil, true},
		{"tested", []dlq.FixIn{{Source: "wiki", Replaced: 3, Versions: []string{"pdf@1"}, Since: live}}, []dlq.Redrive{got}, "Redrive the rest: pdf@3 got past this error in 1 of 1 test", "live", nil, true},
		{"failed a test", []dlq.FixIn{{Source: "wiki", Replaced: 3, Under: 1, Versions: []string{"pdf@1"}, Since: live}}, []dlq.Redrive{got, refuted}, "Look first: pdf@3 got past this error in 1 of 2 tests", "live, and failed for some", []string{"1 failed under the fix itself."}, true},
		{"came back", []dlq.FixIn{{Source: "wiki", Under: 3, Returned: 2, Since: live}}, nil, "pdf@3", "live, and failed for some", []string{"It came back after the fix.", "3 failed under the fix itself."}, false},
		{"rolled back after it failed", []dlq.FixIn{{Source: "wiki", Under: 3}}, nil, "pdf@3", "failed, not running now", []string{"3 failed under the fix itself."}, false},
	} {
		f := fact(c.in...)
		f.replays = c.replays
		m := newFixes(f)
		x := m.Rows[0]
		var notices []string
		for _, n := range x.Notices {
			notices = append(notices, n.Title)
		}
		if x.Heading != c.heading || x.State.Text != c.tag || !slices.Equal(notices, c.notices) || m.Leads != c.leads {
			t.Errorf("%s: %q [%s] %q leads %v", c.name, x.Heading, x.State.Text, notices, m.Leads)
		}
	}
	f := fact(dlq.FixIn{Source: "wiki", Replaced: 3, Unsaid: 12, Versions: []string{"pdf@1"}, Since: live})
	x := newFixes(f).Rows[0]
	if len(x.Do) != 1 || x.Do[0].Key != "r" || x.Do[0].Href != confirmHref(dlq.OperationRedrive, "cohort:01KB status:parked parser:pdf@1 source:wiki", 3, "/cohorts/01KB") || x.Facts[1].Text != "12 do not say" {
		t.Errorf("got %+v, %+v", x.Do, x.Facts)
	}
	asked := f
	asked.prove.proofs = dlq.CohortProof{Parked: 3, Proofs: []dlq.Proof{{State: dlq.ProofNone, Covers: 3, Step: dlq.VersionStep{Moved: []dlq.ComponentMove{{Component: "parser", From: "pdf@1", To: []string{"pdf@3"}}}}}}}
	if m := newFixes(asked); m.Leads || len(m.Rows[0].Do) != 0 || m.Rows[0].Heading != "Test the fix: pdf@3 is live" {
		t.Errorf("the bar asks about the fix already, and here it leads again: %+v", m)
	}
	f.known.byName["wiki"] = dlq.Source{Policy: dlq.DefaultPolicy("wiki")}
	if x := newFixes(f).Rows[0]; len(x.Do) != 0 || x.Cannot == "" {
		t.Errorf("without a target: %+v, %q", x.Do, x.Cannot)
	}
}

func TestTheSentenceReadsWhatIsNearTheBegin(t *testing.T) {
	first := noon.AddDate(0, 0, -10)
	at := func(component, version, source string, before time.Duration) deployed {
		return deployed{Deployment: dlq.Deployment{Component: component, Version: version, StartedAt: first.Add(-before)}, Source: source}
	}
	rolled, again := at("parser", "pdf@1", "wiki", 4*time.Minute), at("parser", "pdf@1", "wiki", 30*time.Second)
	rolled.Beside, again.Again = true, true
	for _, c := range []struct {
		name       string
		near       []deployed
		registered time.Time
		last       time.Time
		sources    []string
		limited    bool
		want       string
	}{
		{"one", []deployed{at("mapper", "mapper@2.5.0", "wiki", 4*time.Minute)}, first.AddDate(0, 0, -9), noon, []string{"wiki"}, false, "Started 4 min after mapper@2.5.0 was deployed."},
		{"several", []deployed{at("mapper", "mapper@2.5.0", "wiki", 4*time.Minute), at("connector", "c@2", "wiki", time.Hour)}, first.AddDate(0, 0, -9), noon, []string{"wiki"}, false, "Started 4 min after mapper@2.5.0 was deployed; 1 other deployment was in the two days before it."},
		{"rolling", []deployed{rolled}, first.AddDate(0, 0, -9), noon, []string{"wiki"}, false, "Started 4 min after pdf@1 was deployed beside another version."},
		{"a rollback", []deployed{again}, first.AddDate(0, 0, -9), noon, []string{"wiki"}, false, "Started less than a minute after pdf@1 was deployed again."},
		{"one of several sources", []deployed{at("mapper", "mapper@2.5.0", "wiki", time.Hour)}, first.AddDate(0, 0, -9), noon, []string{"wiki", "leases"}, false, "Started 1 h after mapper@2.5.0 was deployed in wiki."},
		{"a clock that is behind", []deployed{at("parser", "pdf@1", "wiki", -2*time.Minute)}, first.AddDate(0, 0, -9), noon, []string{"wiki"}, false, "Started 2 min before pdf@1 was registered, under which documents failed: clocks differ, or the report came late."},
		{"older than the register", nil, first.Add(time.Hour), noon, []string{"wiki"}, false, "Started on 19 Nov 2026, before anything was registered."},
		{"nothing near", nil, first.AddDate(0, 0, -9), noon, []string{"wiki"}, false, "Started on 19 Nov 2026; no deployment is near its start."},
		{"known to the day", []deployed{at("mapper", "mapper@2.5.0", "wiki", 25*time.Hour)}, first.AddDate(0, 0, -9), noon, []string{"wiki"}, true, "Started the day after mapper@2.5.0 was deployed."},
		{"and stopped", []deployed{at("mapper", "mapper@2.5.0", "wiki", 4*time.Minute), at("mapper", "mapper@2.5.1", "wiki", -50*time.Hour)}, first.AddDate(0, 0, -9), first.Add(49 * time.Hour), []string{"wiki"}, false, "Started 4 min after mapper@2.5.0 was deployed. Stopped after mapper@2.5.1 was deployed: none came for 7 d."},
	} {
		f := oneCohortFacts()
		f.cohort.FirstSeen, f.cohort.LastSeen, f.cohort.Sources = first, c.last, c.sources
		f.near, f.registered = c.near, c.registered
		f.months = []dlq.VersionMonth{{Source: "wiki", Versions: dlq.Versions{"parser": "pdf@1"}, Month: first, Entries: 1}}
		if c.limited {
			f.by.Sources = []string{"wiki"}
		}
		if got := arrivalsSentence(f); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestArrivalsAlongTheStreamSayWhatWasLookedAt(t *testing.T) {
	f := oneCohortFacts()
	if a := newArrivals(f); len(a.Axes) != 0 {
		t.Errorf("offered without a place: %+v", a.Axes)
	}
	place := func(h int, seq int64) dlq.Place {
		return dlq.Place{At: noon.Add(time.Duration(h) * time.Hour), Seq: &seq}
	}
	f.placed = []dlq.SourcePlaces{{Source: "wiki", Places: []dlq.Place{place(1, 100), place(2, 140), {At: noon}}}, {Source: "leases", Places: []dlq.Place{place(1, 9)}}}
	f.axis = axisSeq
	f.deployments = []deployed{{Deployment: dlq.Deployment{Component: "parser", Version: "pdf@3", StartedAt: noon.Add(90 * time.Minute)}, Source: "wiki"}, {Deployment: dlq.Deployment{Component: "parser", Version: "pdf@4", StartedAt: noon.Add(30 * time.Minute)}, Source: "leases"}}
	a := newArrivals(f)
	if a.About != "along ingest_seq of wiki" || a.Chart.First != "100" || a.Chart.Last != "140" || len(a.Chart.Marks) != 1 || a.Chart.Marks[0] != (components.Mark{At: len(a.Chart.Values) - 1, Text: "pdf@3"}) || len(a.Marks) != 1 {
		t.Errorf("%q %+v %+v", a.About, a.Chart, a.Marks)
	}
	if want := "Looked at: 4 of 409 stuck documents, those that got stuck first and those that did last. 1 says no ingest_seq. A deployment stands where the first document failed after it."; a.Looks != want {
		t.Errorf("%q", a.Looks)
	}
	f.axisOf = "leases"
	if a := newArrivals(f); a.Chart.First != "9" || a.Marks[0].Version.String() != "pdf@4" {
		t.Errorf("of the other source: %+v", a)
	}
	f.axis = axisCursor
	if a := newArrivals(f); a.None == "" {
		t.Errorf("without a cursor: %+v", a.Chart)
	}
}

func TestANumberOfASetOfVersionsOpensThatSetAlone(t *testing.T) {
	set := func(pairs ...string) dlq.Versions {
		v := dlq.Versions{}
		for i := 0; i+1 < len(pairs); i += 2 {
			v[pairs[i]] = pairs[i+1]
		}
		return v
	}
	for _, c := range []struct {
		name   string
		v      dlq.Versions
		others []dlq.Versions
		want   string
		exact  bool
	}{
		{"alone", set("parser", "1"), []dlq.Versions{set("parser", "1"), set("parser", "2")}, "source:wiki parser:1", true},
		{"others name more", set("parser", "1"), []dlq.Versions{set("parser", "1", "chunker", "2"), set("parser", "1", "chunker", "3"), set("parser", "2", "embedder", "9")}, "source:wiki parser:1 -chunker:2,3", true},
		{"none is named", set(), []dlq.Versions{set("parser", "1"), set("connector", "4", "parser", "1")}, "source:wiki -connector:4 -parser:1", true},
		{"others name what has no key", set("parser", "1"), []dlq.Versions{set("parser", "1", "ocr", "5")}, "source:wiki parser:1", false},
		{"it names what has no key", set("parser", "1", "ocr", "5"), []dlq.Versions{set("parser", "1", "ocr", "6")}, "source:wiki parser:1", false},
		{"a quote", set("parser", `1"`), nil, `source:wiki parser:"1"`, false},
	} {
		terms, exact := exactVersionTerms("wiki", c.v, c.others)
		if got := strings.Join(terms, " "); got != c.want || exact != c.exact {
			t.Errorf("%s: %q %v, want %q", c.name, got, exact, c.want)
		}
	}
}

func TestTheReportLeadsWithWhatNoLongerRuns(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleManager)
	s.park(`"source":"wiki","doc_id":"1","error_type":"PDFSyntaxError","parser_version":"pdf@1"`)
	s.park(`"source":"wiki","doc_id":"2","error_type":"PDFSyntaxError","parser_version":"pdf@1","versions":{"embedder":"7"}`)
	s.park(`"source":"wiki","doc_id":"3","error_type":"KeyError","parser_version":"pdf@2"`)
	if _, _, err := s.store.Deploy(t.Context(), dlq.Policy("test"), "wiki", dlq.DeploymentReport{Component: "parser", Version: "pdf@2"}); err != nil {
		t.Fatal(err)
	}
	if p := v.get("/reports"); p.location != "/reports/versions" {
		t.Errorf("reports lead to %q", p.location)
	}
	p := v.get("/reports/versions")
	if p.status != http.StatusOK || !strings.Contains(p.body, "2 of 3 failed under versions that are not running now.") {
		t.Fatalf("%d, or the finding is missing", p.status)
	}
	// Every number opens exactly its rows.
	found := 0
	for _, m := range regexp.MustCompile(`<a href="(/entries\?[^"]*)">([0-9]+)</a>`).FindAllStringSubmatch(p.body, -1) {
		u, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
		if err != nil {
			t.Fatal(err)
		}
		q, bad := dlq.ParseQuery(u.Query().Get("q"))
		if len(bad) > 0 {
			t.Errorf("%s cannot be read", m[1])
			continue
		}
		n, err := s.store.CountEntries(t.Context(), dlq.Policy("test"), q)
		if err != nil || grouped(n) != m[2] {
			t.Errorf("%q finds %d, and the number says %s: %v", q.Text, n, m[2], err)
		}
		found++
	}
	if found != 6 {
		t.Errorf("%d numbers of three rows lead anywhere", found)
	}
	if p := v.get("/reports/versions?running=no&of=all&from=2026-01"); strings.Contains(p.body, "KeyError") || !strings.Contains(p.body, "PDFSyntaxError") {
		t.Error("the filter of versions does not filter")
	}
	if p := v.get("/reports/versions?owner=nobody@example.com"); !strings.Contains(p.body, "No document matches") {
		t.Error("an owner of nothing has a report")
	}
	if p := v.get("/reports/versions?from=x"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("a month that is none: %d", p.status)
	}
	if p := v.get("/reports/versions.csv"); p.status != http.StatusOK || !strings.Contains(p.body, "wiki,KeyError,pdf@2,runs now") {
		t.Errorf("the file: %d %q", p.status, p.body)
	}
}

func TestASourceShowsWhatRunsWhatRanAndWhatNobodyRegistered(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleManager)
	s.park(`"source":"wi'ki","doc_id":"1","error_type":"PDFSyntaxError","parser_version":"pdf@1"`)
	path := "/sources/wi%27ki"
	if p := v.get(path); !strings.Contains(p.body, "Seen, not registered") || !strings.Contains(p.body, `&#34;component&#34;:&#34;parser&#34;,&#34;version&#34;:&#34;pdf@1&#34;`) || !strings.Contains(p.body, `wi&#39;\&#39;&#39;ki`) {
		t.Error("the page does not say what was seen, or how to register it")
	}
	for _, c := range []struct {
		fields []string
		status int
		want   string
	}{
		{[]string{"component", "", "version", "1"}, http.StatusUnprocessableEntity, "1 to 128 characters expected, such as parser."},
		{[]string{"component", "parser", "version", "1", "at", "yesterday"}, http.StatusUnprocessableEntity, "A day and a time in UTC expected"},
		{[]string{"component", "parser", "version", "1\x00"}, http.StatusUnprocessableEntity, "without NUL"},
		{[]string{"component", "parser", "stopped", "1,\xff"}, http.StatusUnprocessableEntity, "without NUL"},
		{[]string{"component", "parser", "version", "2"}, http.StatusSeeOther, ""},
		{[]string{"component", "parser", "version", "1", "at", "2026-11-01 09:00"}, http.StatusSeeOther, ""},
		{[]string{"component", "parser", "version", "3", "rolling", "1"}, http.StatusSeeOther, ""},
	} {
		s.clock.move(time.Minute)
		if p := v.post(path+"/deployments", c.fields...); p.status != c.status || !strings.Contains(p.body, c.want) {
			t.Errorf("%q: %d", c.fields, p.status)
		}
	}
	p := v.get(path)
	for _, want := range []string{"1 Nov 2026 09:00 UTC", "beside another", "manager@example.com", "What ran when"} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	src, err := s.store.Source(t.Context(), "wi'ki")
	if err != nil {
		t.Fatal(err)
	}
	if running, err := s.store.Running(t.Context(), src.ID); err != nil || !slices.Equal(running["parser"], []string{"2", "3"}) {
		t.Errorf("runs %v, %v", running, err)
	}
}
