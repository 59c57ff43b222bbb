package handlers

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

// withTarget gives a source somewhere to send redrives.
func (s *site) withTarget(name string) {
	s.t.Helper()
	p := dlq.DefaultPolicy(name)
	p.Redrive.URL = "https://pipeline.example.com/redrive"
	if _, _, err := s.store.PutSource(s.t.Context(), dlq.Policy("test"), p); err != nil {
		s.t.Fatal(err)
	}
}

// three parks three documents of wiki that can be redriven, and one of leases.
func (s *site) three() []string {
	s.t.Helper()
	s.withTarget("wiki")
	var ids []string
	for _, doc := range []string{"1", "2", "3"} {
		ids = append(ids, s.park(`"source":"wiki","doc_id":"`+doc+`","payload":"bytes of `+doc+`","error_type":"ParseError","error_message":"no root","parser_version":"2022"`).DLQID)
	}
	s.park(`"source":"leases","doc_id":"9","payload":"of a lease","error_type":"Other","error_message":"elsewhere"`)
	return ids
}

func (s *site) entry(id string) dlq.Entry {
	s.t.Helper()
	e, err := s.store.Entry(s.t.Context(), dlq.Policy("test"), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// confirmFields are the hidden fields of the confirmation's form.
func confirmFields(body string) []string {
	_, form, _ := strings.Cut(body, `id="confirm-form"`)
	form, _, _ = strings.Cut(form, "</form>")
	var fields []string
	for _, m := range hiddenField.FindAllStringSubmatch(form, -1) {
		if m[1] != "csrf" {
			fields = append(fields, m[1], html.UnescapeString(m[2]))
		}
	}
	return fields
}

func TestOneDocumentIsRedrivenFromItsPageAndBack(t *testing.T) {
	s := newSite(t)
	id := s.three()[0]
	v := s.signIn(dlq.RoleReviewer)
	page := v.get("/confirm?action=redrive&id=" + id + "&back=/entries/" + id)
	if page.status != http.StatusOK || !strings.Contains(page.body, "https://pipeline.example.com/redrive") {
		t.Fatalf("the confirmation does not say where it goes: %d", page.status)
	}
	fields := append(confirmFields(page.body), "mode", "held", "reason", "fix deployed")
	p := v.post("/confirm/do", fields...)
	if p.status != http.StatusSeeOther || p.location != "/entries/"+id {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	if e := s.entry(id); e.Status != dlq.StatusRedriving {
		t.Errorf("it is %s", e.Status)
	}
	if page := v.get(p.location); !strings.Contains(page.body, "wiki / 1 is on its way.") || !strings.Contains(page.body, `href="/operations/`) {
		t.Error("the page does not say what happened, with the operation")
	}
	// The same button in another tab.
	if p := v.post("/confirm/do", fields...); p.status != http.StatusSeeOther {
		t.Fatalf("second click: %d", p.status)
	}
	if page := v.get("/entries/" + id); !strings.Contains(page.body, "was on its way already; nothing was sent twice") {
		t.Error("the second click is not answered calmly")
	}
	if list, err := s.store.Operations(t.Context(), "", 10); err != nil || len(list) != 1 {
		t.Errorf("%d operations, %v", len(list), err)
	}
}

func TestAllThatMatchIsWhatWasSeenOrNothing(t *testing.T) {
	s := newSite(t)
	s.three()
	v := s.signIn(dlq.RoleReviewer)
	page := v.get("/confirm?action=redrive&back=/entries&q=" + url.QueryEscape("source:wiki status:parked"))
	if !strings.Contains(page.body, "Redrive 3") || !strings.Contains(page.body, "source:wiki status:parked") {
		t.Fatal("the confirmation does not repeat the filter and the number")
	}
	fields := append(confirmFields(page.body), "mode", "auto", "reason", "fix deployed")
	s.park(`"source":"wiki","doc_id":"4","payload":"more","error_type":"ParseError","error_message":"no root"`)
	p := v.post("/confirm/do", fields...)
	if p.status != http.StatusConflict || !strings.Contains(p.body, "3 matched when you looked, 4 match now.") || !strings.Contains(p.body, "Nothing was done.") {
		t.Fatalf("got %d", p.status)
	}
	if list, _ := s.store.Operations(t.Context(), "", 10); len(list) != 0 {
		t.Fatal("something was started")
	}
	page = v.get("/confirm?action=redrive&back=/entries&q=" + url.QueryEscape("source:wiki status:parked"))
	p = v.post("/confirm/do", append(confirmFields(page.body), "mode", "auto", "reason", "fix deployed")...)
	if p.status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/operations/") {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	if page := v.get(p.location); page.status != http.StatusOK || !strings.Contains(page.body, "Redrive of 4 documents started.") || !strings.Contains(page.body, "fix deployed") {
		t.Error("the operation's page does not say what was started and why")
	}
}

func TestABarWithoutASelectionMeansNothingAndNeverEverything(t *testing.T) {
	s := newSite(t)
	ids := s.three()
	v := s.signIn(dlq.RoleReviewer)
	if p := v.get("/confirm/redrive?q=source:wiki&expect=3"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("nothing ticked: %d", p.status)
	}
	if p := v.get("/confirm/redrive?q=source:wiki&expect=3&id=" + ids[1]); p.status != http.StatusOK || !strings.Contains(p.body, "wiki / 2") || strings.Contains(p.body, "Redrive 3") {
		t.Errorf("one ticked: %d", p.status)
	}
	if p := v.get("/confirm/redrive?q=source:wiki&expect=3&all=1&id=" + ids[1]); !strings.Contains(p.body, "Redrive 3") {
		t.Errorf("all that match: %d", p.status)
	}
}

func TestAReasonIsAskedForInPlaceAndWhatWasTypedIsKept(t *testing.T) {
	s := newSite(t)
	id := s.three()[0]
	v := s.signIn(dlq.RoleReviewer)
	p := v.post("/confirm/do", "action", "extend", "id", id, "back", "/entries/"+id, "days", "90", "reason", "  ")
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Say why") || !regexp.MustCompile(`value="90" checked`).MatchString(p.body) {
		t.Errorf("got %d", p.status)
	}
	if e := s.entry(id); e.ExpiresAt.After(noon.Add(91 * 24 * time.Hour)) {
		t.Error("it was kept longer all the same")
	}
}

func TestTheSecondClickOnAnActionIsAnsweredCalmly(t *testing.T) {
	s := newSite(t)
	id := s.three()[0]
	v := s.signIn(dlq.RoleReviewer)
	quarantine := []string{"action", "quarantine", "id", id, "back", "/entries/" + id, "reason", "test file"}
	for i, want := range []string{"wiki / 1 is in quarantine.", "wiki / 1 was so already; nothing was changed."} {
		if p := v.post("/confirm/do", quarantine...); p.status != http.StatusSeeOther || p.location != "/entries/"+id {
			t.Fatalf("click %d: %d %q", i+1, p.status, p.location)
		}
		if page := v.get("/entries/" + id); !strings.Contains(page.body, want) {
			t.Errorf("click %d: the page does not say %q", i+1, want)
		}
	}
	release := []string{"action", "release", "grant", "one", "id", id, "back", "/entries/" + id, "reason", "fix deployed"}
	v.post("/confirm/do", release...)
	if p := v.post("/confirm/do", release...); p.status != http.StatusSeeOther {
		t.Fatalf("released twice: %d", p.status)
	}
	if page := v.get("/entries/" + id); !strings.Contains(page.body, "this document cannot be released") && !strings.Contains(page.body, "This document cannot be released") {
		t.Error("the conflict is not said")
	}
}

func TestWhoMayNotDecideSeesTheConfirmationToHandOver(t *testing.T) {
	s := newSite(t)
	id := s.three()[0]
	v := s.signIn(dlq.RoleAnalyst)
	p := v.get("/confirm?action=redrive&id=" + id)
	if p.status != http.StatusOK || !strings.Contains(p.body, "Analysts cannot redrive.") || strings.Contains(p.body, `action="/confirm/do"`) || !strings.Contains(p.body, siteAddress+"/confirm?") {
		t.Errorf("got %d", p.status)
	}
	if p := v.post("/confirm/do", "action", "redrive", "id", id, "reason", "x"); p.status != http.StatusForbidden {
		t.Errorf("and yet it can be done: %d", p.status)
	}
	if p := v.post("/confirm/do", "action", "assign", "id", id, "owner", "team", "back", "/entries/"+id); p.status != http.StatusSeeOther || s.entry(id).Owner != "team" {
		t.Errorf("assigning: %d, owner %q", p.status, s.entry(id).Owner)
	}
}

func TestADecisionNeverLeavesTheSite(t *testing.T) {
	s := newSite(t)
	id := s.three()[0]
	v := s.signIn(dlq.RoleReviewer)
	if p := v.post("/confirm/do", "action", "assign", "id", id, "owner", "x", "back", "//evil.example"); p.location != "/" {
		t.Errorf("it leads to %q", p.location)
	}
}

func TestTheConfirmationSaysWhatIsLeftOutAndWhy(t *testing.T) {
	s := newSite(t)
	ids := s.three()
	v := s.signIn(dlq.RoleReviewer)
	v.post("/confirm/do", "action", "quarantine", "id", ids[0], "reason", "x")
	p := v.get("/confirm?action=redrive&q=" + url.QueryEscape("status:open"))
	for _, want := range []string{"in quarantine; release it first", "its source has no redrive target", "Redrive 2"} {
		if !strings.Contains(p.body, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	p = v.get("/confirm?action=release&q=" + url.QueryEscape("status:open"))
	if !strings.Contains(p.body, "not in quarantine") || !strings.Contains(p.body, "Release 1") {
		t.Error("a release does not say what it leaves out")
	}
	p = v.get("/confirm?action=restore&q=" + url.QueryEscape("status:open"))
	if !strings.Contains(p.body, "There is nothing to do here.") || strings.Contains(p.body, `action="/confirm/do"`) {
		t.Error("a button that cannot work is there")
	}
}

func TestAConfirmationSaysWhatOfManyItLookedAt(t *testing.T) {
	f := confirmFacts{
		choice: choice{action: dlq.OperationRedrive, query: "source:wiki", expect: 12_345}, count: 12_345,
		by: dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleReviewer},
		preview: redrive.Preview{Looked: redrive.PreviewMost, Goes: 4_000, Quarantined: 1, LeftOut: map[dlq.LeftOut]int64{dlq.LeftQuarantined: 900, dlq.LeftArchived: 100},
			Copies: map[dlq.CopyState]int64{dlq.CopyNever: 7}},
	}
	text := func(f confirmFacts) string {
		m := newConfirmPage(f)
		return fmt.Sprint(m.Notices, m.LeftOut, *m.Form, m.Chosen.Count)
	}
	got := text(f)
	for _, want := range []string{"the first 5,000 of these 12,345", "{100 of the first 5,000: in the archive; restore it first }", "7 of the first 5,000 have no copy here", "Redrive what can go of 12,345", "{expect 12345}"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q:\n%s", want, got)
		}
	}
	f.preview.Goes = 0 // of the first nothing goes, and of the rest perhaps much
	if got := text(f); !strings.Contains(got, "Redrive what can go of 12,345") {
		t.Error("there is no button because of what was not looked at")
	}
	f.count, f.preview.Looked, f.preview.Goes = 5_000, redrive.PreviewMost, 4_000
	if got := text(f); strings.Contains(got, "of the first") || !strings.Contains(got, "Redrive 4,000") {
		t.Errorf("all were looked at, and the page says:\n%s", got)
	}
}
