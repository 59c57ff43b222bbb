package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

func TestSigningInLeadsToWhereOneWasGoing(t *testing.T) {
	s := newSite(t)
	s.person("reviewer@example.com", dlq.RoleReviewer)
	v := s.visitor()
	if p := v.get("/cohorts?sort=oldest"); p.status != http.StatusSeeOther && p.status != http.StatusFound || !strings.HasPrefix(p.location, "/login?next=") {
		t.Fatalf("nobody is signed in: %d %q", p.status, p.location)
	} else if p := v.get(p.location); p.status != http.StatusOK || !strings.Contains(p.body, `name="next" value="/cohorts?sort=oldest"`) {
		t.Fatalf("the form forgets where one was going: %d", p.status)
	}
	p := v.post("/login", "email", " Reviewer@Example.com ", "password", sitePassword, "next", "/cohorts?sort=oldest")
	if p.status != http.StatusSeeOther || p.location != "/cohorts?sort=oldest" {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	if p := v.get("/cohorts"); p.status != http.StatusOK {
		t.Errorf("signed in, and yet: %d", p.status)
	}
	if p := v.get("/login"); p.location != "/" {
		t.Errorf("who is signed in is asked again: %d %q", p.status, p.location)
	}
	if row := s.trail()[0]; row.Action != "person.signed_in" || row.ActorName != "reviewer@example.com" {
		t.Errorf("got %+v", row)
	}
}

func TestSigningInNeverLeavesTheSite(t *testing.T) {
	s := newSite(t)
	s.person("reviewer@example.com", dlq.RoleReviewer)
	for _, next := range []string{"//evil.example", `/\evil.example`, "https://evil.example", "/%2f%2fevil.example", "javascript:alert(1)"} {
		v := s.visitor()
		v.get("/login")
		if p := v.post("/login", "email", "reviewer@example.com", "password", sitePassword, "next", next); p.location != "/" {
			t.Errorf("%q leads to %q", next, p.location)
		}
	}
}

func TestAWrongPasswordAndAnUnknownAddressLookTheSame(t *testing.T) {
	s := newSite(t)
	s.person("reviewer@example.com", dlq.RoleReviewer)
	gone := s.person("gone@example.com", dlq.RoleReviewer)
	gone.Disabled = true
	if err := s.store.ChangePerson(t.Context(), dlq.Policy("test"), gone); err != nil {
		t.Fatal(err)
	}
	for email, password := range map[string]string{"reviewer@example.com": "wrong", "nobody@example.com": sitePassword, "gone@example.com": sitePassword, "": ""} {
		v := s.visitor()
		v.get("/login")
		p := v.post("/login", "email", email, "password", password)
		if p.status != http.StatusUnauthorized || !strings.Contains(p.body, "That address and password do not fit together.") {
			t.Errorf("%q: %d", email, p.status)
		}
		if p := v.get("/cohorts"); p.status == http.StatusOK {
			t.Errorf("%q is signed in", email)
		}
	}
}

func TestTheTrailKeepsNoAddressThatNobodyHas(t *testing.T) {
	s := newSite(t)
	known := s.person("reviewer@example.com", dlq.RoleReviewer)
	v := s.visitor()
	v.get("/login")
	v.post("/login", "email", "a-secret-in-the-wrong-field@example.com", "password", "x")
	row := s.trail()[0]
	if row.Action != "person.sign_in_failed" || strings.Contains(row.Detail+row.ActorName+row.ActorID, "secret") {
		t.Errorf("got %+v", row)
	}
	v.post("/login", "email", "reviewer@example.com", "password", "x")
	if row := s.trail()[0]; !strings.Contains(row.Detail, known.ID) {
		t.Errorf("it is not said whose account was tried: %+v", row)
	}
}

func TestGuessingIsSlowedDown(t *testing.T) {
	s := newSite(t)
	s.person("reviewer@example.com", dlq.RoleReviewer)
	v := s.visitor()
	v.get("/login")
	var last answered
	for range 20 {
		last = v.post("/login", "email", "reviewer@example.com", "password", "wrong")
		if last.status == http.StatusTooManyRequests {
			break
		}
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Fatalf("20 guesses, and still %d", last.status)
	}
	if p := v.post("/login", "email", "reviewer@example.com", "password", sitePassword); p.status != http.StatusTooManyRequests {
		t.Errorf("the right password got through the throttle: %d", p.status)
	}
}

func TestAFormThatCameTooLateLeadsBackToItsPage(t *testing.T) {
	for _, c := range []struct{ path, form, want string }{
		{"/confirm/do", "action=redrive&q=cohort%3A01K+status%3Aparked&back=%2Fcohorts%2F01K&expect=3&reason=secret", "/confirm?action=redrive&back=%2Fcohorts%2F01K&q=cohort%3A01K+status%3Aparked"},
		{"/confirm/do", "action=extend&id=01J&days=7&back=%2Fentries%2F01J", "/confirm?action=extend&back=%2Fentries%2F01J&id=01J"},
		{"/confirm/do", "action=nonsense&back=%2Fentries%2F01J", "/entries/01J"},
		{"/confirm/do", "action=redrive&id=01J&back=%2F%2Fevil.example", "/confirm?action=redrive&back=%2F&id=01J"},
		{"/entries/01J/notes", "note=secret", "/entries/01J"},
		{"/entries/01J/probe", "fetch=1", "/entries/01J"},
		{"/cohorts/01K/notes", "note=secret", "/cohorts/01K"},
		{"/cohorts/01K/assign", "owner=x", "/cohorts/01K/assign"},
		{"/operations/01K/pause", "", "/operations/01K"},
		{"/pause", "", "/operations"},
		{"/sources/wiki/policy", "x=secret", "/sources/wiki/policy"},
		{"/sources/wiki/pause", "", "/sources/wiki"},
		{"/sources/wi%2Fki/pause", "", "/sources/wi%2Fki"},
		{"/alerts/01A/acknowledge", "", "/alerts"},
		{"/settings/users/01P/password", "password=secret", "/settings/users"},
		{"/entries/01J/notes", "back=https%3A%2F%2Fevil.example", "/entries/01J"},
		{"/logout", "", "/"},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got := afterForm(echo.New().NewContext(r, httptest.NewRecorder()))
		if got != c.want {
			t.Errorf("%s with %s leads to %q, want %q", c.path, c.form, got, c.want)
		}
		if strings.Contains(got, "secret") {
			t.Errorf("%s puts what was typed into an address: %q", c.path, got)
		}
	}
}

func TestTheSignInPageSaysThatALateFormDidNothing(t *testing.T) {
	v := newSite(t).visitor()
	if p := v.get("/login?ended=1&next=%2Fcohorts%2F01K"); !strings.Contains(p.body, "Your session ended; nothing was done.") || !strings.Contains(p.body, `name="next" value="/cohorts/01K"`) {
		t.Errorf("got %d %s", p.status, p.body)
	}
	if p := v.get("/login"); strings.Contains(p.body, "Your session ended") {
		t.Error("a session ended that there never was")
	}
}

func TestAFormWithoutAnySessionLeadsToTheSignInPage(t *testing.T) {
	s := newSite(t)
	dlqID := s.three()[0]
	if p := s.visitor().post("/entries/"+dlqID+"/notes", "note", "x"); p.status != http.StatusSeeOther || p.location != "/login?ended=1&next=%2Fentries%2F"+dlqID {
		t.Errorf("%d to %q", p.status, p.location)
	}
}

func TestSigningOutEndsTheSessionForCopiesToo(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	copied := s.visitor()
	for name, value := range v.cookies {
		copied.cookies[name] = value
	}
	if p := copied.get("/cohorts"); p.status != http.StatusOK {
		t.Fatalf("the copy does not work to begin with: %d", p.status)
	}
	p := v.post("/logout")
	if p.status != http.StatusSeeOther || p.location != "/login" || p.header.Get("Clear-Site-Data") == "" {
		t.Errorf("got %d %q %v", p.status, p.location, p.header)
	}
	if row := s.trail()[0]; row.Action != "person.signed_out" || row.ActorName != "reviewer@example.com" {
		t.Errorf("got %+v", row)
	}
	if p := copied.get("/cohorts"); p.status == http.StatusOK {
		t.Error("a copied cookie outlives signing out")
	}
}

func TestFormsOfPagesNeedTheirToken(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	before := len(s.trail())
	for _, path := range []string{"/logout", "/cohorts/" + r.Cohort + "/notes", "/cohorts/" + r.Cohort + "/assign", "/login", "/setup/x"} {
		if p := v.post(path, "csrf", "made up", "note", "x", "owner", "x"); p.status != http.StatusForbidden {
			t.Errorf("%s without its token: %d", path, p.status)
		}
	}
	if after := len(s.trail()); after != before {
		t.Errorf("%d rows were added to the trail", after-before)
	}
}

func TestTheSetupLinkWorksOnce(t *testing.T) {
	s := newSite(t)
	if err := s.store.PutSetupLink(t.Context(), SetupLinkHash("the-token"), 15*time.Minute); err != nil {
		t.Fatal(err)
	}
	v := s.visitor()
	if p := v.get("/setup/another"); p.status != http.StatusNotFound {
		t.Errorf("a made-up link: %d", p.status)
	}
	if p := v.get("/setup/the-token"); p.status != http.StatusOK || !strings.Contains(p.body, `action="/setup/the-token"`) {
		t.Fatalf("the link: %d", p.status)
	}
	if p := v.post("/setup/the-token", "email", "not an address", "password", "short"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "name@example.com is expected") || strings.Contains(p.body, `value="short"`) {
		t.Errorf("what is wrong is not said in place: %d", p.status)
	}
	p := v.post("/setup/the-token", "email", "Admin@Example.com", "password", sitePassword)
	if p.status != http.StatusSeeOther || p.location != "/cohorts" {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	if p := v.get("/cohorts"); p.status != http.StatusOK || !strings.Contains(p.body, "Your account is made") || !strings.Contains(p.body, "admin@example.com") {
		t.Errorf("not signed in, or not told so: %d", p.status)
	}
	other := s.visitor()
	if p := other.get("/setup/the-token"); p.status != http.StatusGone {
		t.Errorf("the used link: %d", p.status)
	}
	v.get("/cohorts")
	if p := v.post("/setup/the-token", "email", "second@example.com", "password", sitePassword); p.status != http.StatusGone {
		t.Errorf("the used link took a second account: %d", p.status)
	}
	people, err := s.store.People(t.Context())
	if err != nil || len(people) != 1 || people[0].Role != dlq.RoleAdmin {
		t.Errorf("got %+v, %v", people, err)
	}
}

func TestASetupLinkEnds(t *testing.T) {
	s := newSite(t)
	if err := s.store.PutSetupLink(t.Context(), SetupLinkHash("t"), 15*time.Minute); err != nil {
		t.Fatal(err)
	}
	s.clock.move(16 * time.Minute)
	if p := s.visitor().get("/setup/t"); p.status != http.StatusGone {
		t.Errorf("after 16 minutes: %d", p.status)
	}
}

func TestTheBareAddressLeadsHome(t *testing.T) {
	s := newSite(t)
	v := s.visitor()
	if p := v.get("/"); p.location != "/cohorts" {
		t.Errorf("got %d %q", p.status, p.location)
	}
	if p := v.get("/favicon.ico"); p.status != http.StatusNoContent {
		t.Errorf("got %d", p.status)
	}
	if p := v.get("/static/app.css"); p.status != http.StatusNotFound {
		t.Errorf("an asset without its hash: %d", p.status)
	}
}
