package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

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

func TestAnAddressToSignInUnderIsBareAndVisible(t *testing.T) {
	for email, want := range map[string]bool{
		"reviewer@example.com": true, "größe@example.com": true,
		"": false, "reviewer": false, "@example.com": false, "reviewer@": false, "a b@example.com": false, "Reviewer <reviewer@example.com>": false,
		"rev\u200biewer@example.com": false, "reviewer\u202e@example.com": false, strings.Repeat("a", 243) + "@example.com": false,
	} {
		if got := validEmail(email); got != want {
			t.Errorf("%q: %v", email, got)
		}
	}
}
