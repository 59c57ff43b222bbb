package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dlo/dlq"
)

func TestWhoMayNoteAssignsAndDecidesOfAllThatMatch(t *testing.T) {
	s := newSite(t)
	ids := s.three()
	v := s.signIn(dlq.RoleAnalyst)
	confirm := func(action string) answered {
		p := v.get("/confirm/" + action + "?all=1&expect=3&back=/entries&q=" + url.QueryEscape("source:wiki status:parked"))
		if p.status != http.StatusOK || !strings.Contains(p.body, map[string]string{"assign": "Assign 3", "dispose": "Set it on 3 documents"}[action]) || strings.Contains(p.body, "Analysts cannot") {
			t.Fatalf("the confirmation of %s: %d", action, p.status)
		}
		return p
	}
	p := v.post("/confirm/do", append(confirmFields(confirm("assign").body), "owner", "parsers@example.com", "ticket", "OPS-7", "reason", "their parser")...)
	if p.status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/operations/") {
		t.Fatalf("assigning: %d %q", p.status, p.location)
	}
	page := v.get(p.location)
	for _, says := range []string{"Assign: 3 documents", "3 documents assigned.", "parsers@example.com", "OPS-7", "their parser"} {
		if !strings.Contains(page.body, says) {
			t.Errorf("the operation's page does not say %q", says)
		}
	}
	if e := s.entry(ids[2]); e.Owner != "parsers@example.com" || e.Ticket != "OPS-7" {
		t.Errorf("a document is looked after by %q, %q", e.Owner, e.Ticket)
	}
	fields := append(confirmFields(confirm("dispose").body), "disposition", "needs_code", "until", "code", "date", "2020-01-01")
	if p := v.post("/confirm/do", append(fields, "reason", "")...); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `value="needs_code" checked`) {
		t.Errorf("without a reason: %d, or what was chosen is not kept", p.status)
	}
	p = v.post("/confirm/do", append(fields, "reason", "the parser has to learn it")...)
	if p.status != http.StatusSeeOther {
		t.Fatalf("deciding: %d", p.status)
	}
	if page := v.get(p.location); !strings.Contains(page.body, "needs code until the code changes") || !strings.Contains(page.body, "3 documents decided.") {
		t.Error("the operation's page does not say what was decided")
	}
	if e := s.entry(ids[0]); e.Disposition != dlq.DispositionNeedsCode {
		t.Errorf("nothing was decided: %q", e.Disposition)
	}
	if p := v.post("/confirm/do", append(confirmFields(confirm("dispose").body), "disposition", takeOff, "reason", "it learnt it")...); p.status != http.StatusSeeOther {
		t.Fatalf("taking off: %d", p.status)
	}
	if e := s.entry(ids[0]); e.Disposition != dlq.DispositionNone {
		t.Errorf("it still says %q", e.Disposition)
	}
}

func TestOneTickedDocumentIsDecidedOfAtOnce(t *testing.T) {
	s := newSite(t)
	id := s.three()[1]
	v := s.signIn(dlq.RoleReviewer)
	page := v.get("/confirm/dispose?expect=3&back=/entries/" + id + "&q=source:wiki&id=" + id)
	p := v.post("/confirm/do", append(confirmFields(page.body), "disposition", "waiting", "until", "date", "date", "2030-01-01", "reason", "the vendor knows")...)
	if p.status != http.StatusSeeOther || p.location != "/entries/"+id {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	if e := s.entry(id); e.Disposition != dlq.DispositionWaiting {
		t.Errorf("nothing was decided: %q", e.Disposition)
	}
	if page := v.get("/entries/" + id); !strings.Contains(page.body, "Decided: waiting until") {
		t.Error("the page does not say what was decided")
	}
}

func TestWhoMayNotDecideStopsOnlyWhatTheyCouldStart(t *testing.T) {
	s := newSite(t)
	ids := s.three()
	reviewer, analyst := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleAnalyst)
	p := reviewer.post("/confirm/do", "action", "redrive", "id", ids[0], "id", ids[1], "mode", "held", "reason", "fix deployed")
	if got := analyst.post(p.location + "/cancel"); got.status != http.StatusForbidden {
		t.Errorf("an analyst cancelled a redrive: %d", got.status)
	}
	assigned, err := s.store.CreateOperation(t.Context(), dlq.Operation{Kind: dlq.OperationAssign, Owner: "x", Reason: "r", Expect: -1, Actor: dlq.Policy("test")})
	if err == nil {
		_, err = s.store.AddItems(t.Context(), assigned, 1, ids)
	}
	if err == nil {
		_, err = s.store.StartOperation(t.Context(), assigned.ID, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	href := operationHref(assigned.ID)
	if page := analyst.get(href); !strings.Contains(page.body, href+"/cancel") {
		t.Error("the button is not there")
	}
	if got := analyst.post(href + "/cancel"); got.status != http.StatusSeeOther {
		t.Errorf("an analyst cannot cancel an assignment: %d", got.status)
	}
	if o, err := s.store.Operation(t.Context(), assigned.ID); err != nil || o.State != dlq.OperationCancelled {
		t.Errorf("it is %s, %v", o.State, err)
	}
}
