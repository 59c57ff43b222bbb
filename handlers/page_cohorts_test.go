package handlers

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func TestAnEmptyInstallWaitsAndBecomesTheList(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	if p := v.get("/cohorts"); !strings.Contains(p.body, "Waiting for the first document") || !strings.Contains(p.body, siteAddress+"/api/v1/dead-letters") {
		t.Errorf("got %d", p.status)
	}
	if p := v.get("/cohorts?wait=1", "HX-Request", "true"); p.status != http.StatusNoContent {
		t.Errorf("while it waits: %d", p.status)
	}
	s.park(`"source":"wiki","doc_id":"1","error_type":"ParseError"`)
	if p := v.get("/cohorts?wait=1", "HX-Request", "true"); p.status != http.StatusOK || !strings.Contains(p.body, `id="main"`) || !strings.Contains(p.body, "1 problem behind 1 stuck document") {
		t.Errorf("after the first document: %d", p.status)
	}
}

// hostile is what a stranger may send in any text.
const hostile = `\"><script>alert(1)</script><img src=x onerror=alert(1) hx-get=/logout hx-trigger=load>\u202e`

var sentValue = regexp.MustCompile(` value="[^"]*"`)

func TestTextsOfStrangersStayTexts(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	r := s.park(`"source":"wi<b>ki` + hostile + `","doc_id":"d` + hostile + `","error_type":"T` + hostile + `","error_message":"m` + hostile + `","error_class":"c` + hostile + `","filename":"f` + hostile + `","parser_version":"p` + hostile + `","stage":"s` + hostile + `"`)
	for _, path := range []string{"/cohorts", "/cohorts?source=" + url.QueryEscape("x\"><script>"), "/cohorts?class=%3Cscript%3E&text=%22%3E%3Cscript%3E", "/cohorts/" + r.Cohort, "/entries?q=", "/entries?q=" + url.QueryEscape(`age:"><script>alert(1)</script>`), "/entries?q=" + url.QueryEscape(`"<script>alert(1)</script>"`)} {
		p := v.get(path)
		for _, bad := range []string{"<script>alert", "<img src=x", "wi<b>"} {
			if p.status >= 500 || strings.Contains(p.body, bad) {
				t.Errorf("%s (%d) has the stranger's %s", path, p.status, bad)
			}
		}
		// What a field sends has to be what it is; what is looked at has not.
		if visible := sentValue.ReplaceAllString(p.body, ""); strings.Contains(visible, "\u202e") {
			t.Errorf("%s shows what turns its neighbours round", path)
		}
	}
}

func TestAFingerprintLeadsToItsCohort(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"ParseError"`)
	if p := v.get("/cohorts/" + r.Fingerprint); p.status != http.StatusFound || p.location != "/cohorts/"+r.Cohort {
		t.Errorf("got %d %q", p.status, p.location)
	}
	if p := v.get("/cohorts/01K00000000000000000000000"); p.status != http.StatusNotFound {
		t.Errorf("an unknown cohort: %d", p.status)
	}
}

func TestWhatIsOfAnotherSourceIsNotFound(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer, "leases")
	wiki := s.park(`"source":"wiki","doc_id":"secret-wiki-document","error_type":"WikiError"`)
	s.park(`"source":"leases","doc_id":"L-1","error_type":"LeaseError"`)
	v.get("/cohorts")
	for _, p := range []answered{v.get("/cohorts/" + wiki.Cohort), v.get("/cohorts/" + wiki.Fingerprint), v.get("/cohorts/" + wiki.Cohort + "/assign"), v.post("/cohorts/"+wiki.Cohort+"/notes", "note", "x"), v.post("/cohorts/"+wiki.Cohort+"/assign", "owner", "x")} {
		if p.status != http.StatusNotFound {
			t.Errorf("got %d", p.status)
		}
	}
	for _, path := range []string{"/cohorts", "/cohorts?show=archive", "/entries?q=", "/entries?q=source:wiki"} {
		if p := v.get(path); p.status != http.StatusOK || strings.Contains(p.body, "secret-wiki-document") || strings.Contains(p.body, "WikiError") {
			t.Errorf("%s (%d) tells of another source", path, p.status)
		}
	}
}

func TestThePillWaitsUntilSomethingIsNew(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	s.park(`"source":"wiki","doc_id":"1","error_type":"ParseError"`)
	drawn := strconv.FormatInt(noon.UnixMilli(), 10)
	if p := v.get("/cohorts/fresh?since=" + drawn); p.status != http.StatusNoContent {
		t.Errorf("nothing is new: %d", p.status)
	}
	s.clock.move(time.Minute)
	s.park(`"source":"wiki","doc_id":"2","error_type":"OtherError"`)
	if p := v.get("/cohorts/fresh?since=" + drawn); p.status != http.StatusOK || !strings.Contains(p.body, "1 new cohort") || !strings.Contains(p.body, `id="fresh"`) {
		t.Errorf("got %d %s", p.status, p.body)
	}
	if p := v.get("/cohorts/fresh?since=x"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("got %d", p.status)
	}
}

func TestChosenCohortsBecomeOneCountedQuery(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	a := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	b := s.park(`"source":"wiki","doc_id":"2","error_type":"B"`)
	s.park(`"source":"wiki","doc_id":"3","error_type":"B"`)
	s.park(`"source":"wiki","doc_id":"4","error_type":"C"`)
	p := v.get("/cohorts/selected/redrive?id=" + a.Cohort + "&id=" + b.Cohort + "&back=/cohorts%3Fsort=oldest")
	u, err := url.Parse(p.location)
	if err != nil || p.status != http.StatusFound || u.Path != "/confirm" {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	for name, want := range map[string]string{"action": "redrive", "q": "cohort:" + a.Cohort + "," + b.Cohort + " status:parked", "expect": "3", "back": "/cohorts?sort=oldest"} {
		if got := u.Query().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if p := v.get("/cohorts/selected/redrive"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("nothing is chosen: %d", p.status)
	}
	if p := v.get("/cohorts/selected/erase?id=" + a.Cohort); p.status != http.StatusNotFound {
		t.Errorf("an action that there is not: %d", p.status)
	}
}

func TestANoteStaysWithTheCohort(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	path := "/cohorts/" + r.Cohort
	if p := v.post(path+"/notes", "note", "  Ask the **vendor** <script>  "); p.status != http.StatusSeeOther || p.location != path+"#activity" {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	p := v.get(path)
	if !strings.Contains(p.body, "<strong>vendor</strong>") || !strings.Contains(p.body, "Ask the **vendor** &lt;script&gt;") || !strings.Contains(p.body, "Your note is kept with the cohort.") {
		t.Error("the note, or that it was kept, is not on the page")
	}
	if row := s.trail()[0]; row.Action != "note.added" || row.CohortID != r.Cohort || strings.Contains(row.Detail, "vendor") {
		t.Errorf("got %+v", row)
	}
	for _, note := range []string{"", "   ", strings.Repeat("x", 17<<10)} {
		if p := v.post(path+"/notes", "note", note); p.status != http.StatusUnprocessableEntity {
			t.Errorf("a note of %d bytes: %d", len(note), p.status)
		}
	}
}

func TestAnOwnerIsGivenAndTakenAway(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	path := "/cohorts/" + r.Cohort
	if p := v.get(path + "/assign"); p.status != http.StatusOK || !strings.Contains(p.body, `id="confirm"`) {
		t.Fatalf("the form: %d", p.status)
	}
	if p := v.post(path+"/assign", "owner", " search@example.com ", "ticket", "https://tickets.example.com/1"); p.status != http.StatusSeeOther || p.location != path {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	if p := v.get(path); !strings.Contains(p.body, "owner search@example.com") || !strings.Contains(p.body, `href="https://tickets.example.com/1"`) {
		t.Error("neither owner nor ticket is on the page")
	}
	if p := v.post(path+"/assign", "owner", strings.Repeat("x", 201)); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "At most 200 characters expected.") {
		t.Errorf("too long: %d", p.status)
	}
	v.get(path + "/assign")
	v.post(path+"/assign", "owner", "", "ticket", "")
	if p := v.get(path); !strings.Contains(p.body, "owner nobody") || !strings.Contains(p.body, "Nobody has the cohort now.") {
		t.Error("the owner is still there")
	}
}

func TestAnAuditorChangesNothing(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAuditor)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	path := "/cohorts/" + r.Cohort
	p := v.get(path)
	if p.status != http.StatusOK || strings.Contains(p.body, path+"/notes") || strings.Contains(p.body, path+"/assign") {
		t.Errorf("an auditor is offered what is refused: %d", p.status)
	}
	for _, p := range []answered{v.post(path+"/notes", "note", "x"), v.post(path+"/assign", "owner", "x"), v.get(path + "/assign")} {
		if p.status != http.StatusForbidden {
			t.Errorf("got %d", p.status)
		}
	}
}

func TestTheListOfDocumentsSaysWhatItShows(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	s.park(`"source":"wiki","doc_id":"stuck-1","error_type":"A"`)
	s.park(`"source":"wiki","doc_id":"review-1","reason":"low_confidence","confidence":0.5`)
	p := v.get("/entries")
	if p.status != http.StatusFound || p.location != "/entries?q="+url.QueryEscape(usualQuery) {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	p = v.get(p.location)
	if !strings.Contains(p.body, "stuck-1") || strings.Contains(p.body, "review-1") || !strings.Contains(p.body, `value="`+usualQuery+`"`) {
		t.Errorf("got %d", p.status)
	}
	if p := v.get("/entries?q=source:wiki&source=leases&status=&sort=oldest"); p.status != http.StatusFound || p.location != "/entries?q=source%3Aleases&sort=oldest" {
		t.Errorf("the filter form: %d %q", p.status, p.location)
	}
	if p := v.get("/entries?q=age:soon"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "<mark>age:soon</mark>") || strings.Contains(p.body, "stuck-1") {
		t.Errorf("a bad term: %d", p.status)
	}
	if p := v.get("/entries?q=age:soon", "HX-Request", "true", "HX-Boosted", "true"); p.status != http.StatusOK {
		t.Errorf("a bad term that htmx would not show: %d", p.status)
	}
	if p := v.get("/entries?q=&after=nonsense"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("a made-up place to go on from: %d", p.status)
	}
	if p := v.get("/entries?q=&sort=nonsense"); p.status != http.StatusOK {
		t.Errorf("a made-up order: %d", p.status)
	}
}

var (
	rowID    = regexp.MustCompile(`name="id" value="([^"]+)"`)
	nextLink = regexp.MustCompile(`rel="next" href="([^"]+)"`)
)

func TestPagingShowsEveryDocumentOnce(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	for i := range 120 {
		s.park(fmt.Sprintf(`"source":"wiki","doc_id":"d%d","error_type":"A"`, i))
	}
	for _, sort := range []string{"", "oldest", "expires", "attempts"} {
		seen := map[string]int{}
		path := "/entries?q=status:parked&sort=" + sort
		for pages := 0; path != "" && pages < 10; pages++ {
			p := v.get(path)
			for _, m := range rowID.FindAllStringSubmatch(p.body, -1) {
				seen[m[1]]++
			}
			if !strings.Contains(p.body, "of 120") {
				t.Fatalf("%s does not say how many there are", path)
			}
			path = ""
			if m := nextLink.FindStringSubmatch(p.body); m != nil {
				path = html.UnescapeString(m[1])
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("sorted by %q, %s stands %d times", sort, id, n)
			}
		}
		if len(seen) != 120 {
			t.Errorf("sorted by %q, %d of 120 were shown", sort, len(seen))
		}
	}
}

var pageLink = regexp.MustCompile(`(?:href|formaction)="([^"]+)"`)

// Every number opens the rows behind it, so every link that the pages draw has
// to lead somewhere, for each role that sees it.
func TestEveryLinkOfThesePagesLeadsSomewhere(t *testing.T) {
	s := newSite(t)
	policy := dlq.DefaultPolicy("wiki")
	policy.Redrive.URL, policy.Runbook, policy.Owner = "https://pipeline.example.com/redrive", "Ask.", "search@example.com"
	if _, _, err := s.store.PutSource(t.Context(), dlq.Policy("test"), policy); err != nil {
		t.Fatal(err)
	}
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A","parser_version":"pdf@1","connector_version":"c@1","error_class":"ambiguous_parse"`)
	s.park(`"source":"leases","doc_id":"2","error_type":"B","parser_version":"pdf@1","error_class":"my class, with a comma"`)
	s.park(`"source":"wiki","doc_id":"3","reason":"low_confidence","confidence":0.5`)
	if _, err := s.store.RecordDeployment(t.Context(), dlq.Policy("test"), "wiki", "parser", "pdf@2", nil); err != nil {
		t.Fatal(err)
	}
	for _, role := range []dlq.Role{dlq.RoleAnalyst, dlq.RoleReviewer, dlq.RoleAuditor, dlq.RoleAdmin} {
		v := s.signIn(role)
		followed := map[string]bool{}
		for _, path := range []string{"/cohorts", "/cohorts?show=review", "/cohorts?show=archive", "/cohorts/" + r.Cohort, "/entries?q=" + url.QueryEscape(usualQuery), "/entries?q="} {
			p := v.get(path)
			if p.status != http.StatusOK {
				t.Fatalf("%s %s: %d", role, path, p.status)
			}
			for _, m := range pageLink.FindAllStringSubmatch(p.body, -1) {
				to, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
				if to == "" || strings.HasPrefix(to, "/confirm/") || strings.HasPrefix(to, "/cohorts/selected/") || strings.HasPrefix(to, "/api/") || followed[to] {
					continue // a place of the same page, or the target of a form
				}
				followed[to] = true
				if q := v.get(to); q.status >= 400 {
					t.Errorf("%s: %s leads to %s: %d", role, path, to, q.status)
				}
			}
		}
		if len(followed) < 30 {
			t.Errorf("%s followed %d links only", role, len(followed))
		}
	}
}
