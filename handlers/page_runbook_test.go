package handlers

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"dlo/dlq"
)

var seenField = regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`)

func TestARunbookOfACohortIsWrittenByWhoMayAndStandsOverItsSources(t *testing.T) {
	s := newSite(t)
	policy := dlq.DefaultPolicy("wiki")
	policy.Runbook = "Ask the **wiki** team."
	if _, _, err := s.store.PutSource(t.Context(), dlq.Policy("test"), policy); err != nil {
		t.Fatal(err)
	}
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	page, form := "/cohorts/"+r.Cohort, "/cohorts/"+r.Cohort+"/runbook"
	reviewer, analyst := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleAnalyst)
	if p := analyst.get(page); strings.Contains(p.body, form) {
		t.Error("an analyst is offered what is refused")
	}
	if p, q := analyst.get(form), analyst.post(form, "runbook", "x"); p.status != http.StatusForbidden || q.status != http.StatusForbidden {
		t.Errorf("an analyst: %d, %d", p.status, q.status)
	}
	if p := s.signIn(dlq.RoleManager, "leases").get(form); p.status != http.StatusNotFound {
		t.Errorf("somebody of another source: %d", p.status)
	}
	if p := reviewer.get(page); !strings.Contains(p.body, form) {
		t.Fatal("the page does not lead to the form")
	}
	seen := seenField.FindStringSubmatch(reviewer.get(form).body)[1]
	if p := reviewer.post(form, "seen", seen, "runbook", "Restart the *parser* <script>.\r\n"); p.status != http.StatusSeeOther || p.location != page {
		t.Fatalf("got %d %q", p.status, p.location)
	}
	p := reviewer.get(page)
	own, sources := strings.Index(p.body, "Restart the <em>parser</em>"), strings.Index(p.body, "Ask the <strong>wiki</strong> team.")
	if own < 0 || sources < own || strings.Contains(p.body, "<script>.") || !strings.Contains(p.body, "changed the runbook") {
		t.Errorf("own at %d, the source's at %d", own, sources)
	}
	if p := reviewer.post(form, "seen", seen, "runbook", "mine"); p.status != http.StatusConflict || !strings.Contains(p.body, "somebody changed the runbook while you wrote") && !strings.Contains(p.body, "Somebody changed the runbook while you wrote") || !strings.Contains(p.body, ">mine</textarea>") {
		t.Errorf("written over another's: %d", p.status)
	}
	seen = seenField.FindStringSubmatch(reviewer.get(form).body)[1]
	for _, bad := range []string{"a\x00b", strings.Repeat("x", 17<<10)} {
		if p := reviewer.post(form, "seen", seen, "runbook", bad); p.status != http.StatusUnprocessableEntity {
			t.Errorf("%.5q: %d", bad, p.status)
		}
	}
	if p := reviewer.post(form, "seen", seen, "runbook", ""); p.status != http.StatusSeeOther {
		t.Errorf("taken away: %d", p.status)
	}
	if p := reviewer.get(page); strings.Contains(p.body, "Restart the") {
		t.Error("it still stands")
	}
	if row := s.trail()[0]; row.Action != "cohort.runbook" || strings.Contains(row.Detail, "Restart") {
		t.Errorf("the trail says %+v", row)
	}
}

func TestATicketThatWouldRunAScriptIsRefused(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	v.get("/cohorts/" + r.Cohort + "/assign")
	for _, bad := range []string{"javascript:alert(1)", "data:text/html,x", "//evil.example.com", "a\x00"} {
		if p := v.post("/cohorts/"+r.Cohort+"/assign", "owner", "me", "ticket", bad); p.status != http.StatusUnprocessableEntity || strings.Contains(p.body, `href="`+bad) {
			t.Errorf("of a cohort, %q: %d", bad, p.status)
		}
		if p := v.post("/confirm/do", "action", "assign", "id", r.DLQID, "owner", "me", "ticket", bad, "back", "/entries/"+r.DLQID); p.status != http.StatusUnprocessableEntity {
			t.Errorf("of a document, %q: %d", bad, p.status)
		}
	}
	if p := v.post("/confirm/do", "action", "assign", "id", r.DLQID, "owner", "me", "ticket", "https://tickets.example.com/1", "back", "/entries/"+r.DLQID); p.status != http.StatusSeeOther {
		t.Fatalf("got %d", p.status)
	}
	if p := v.get("/entries/" + r.DLQID); !strings.Contains(p.body, `href="https://tickets.example.com/1"`) || !strings.Contains(p.body, "owner me") || !strings.Contains(p.body, "assigned it to me") {
		t.Error("owner and ticket are not on the page of the document, or not in its activity")
	}
}

func TestANoteThatIsNotKeptIsNotLost(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	for _, page := range []string{"/cohorts/" + r.Cohort, "/entries/" + r.DLQID} {
		v.get(page)
		long := "begins " + strings.Repeat("x", 17<<10)
		if p := v.post(page+"/notes", "note", long); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, ">begins xxx") || !strings.Contains(p.body, "16 KiB of Markdown expected.") || !strings.Contains(p.body, `action="`+page+`/notes"`) {
			t.Errorf("%s: %d", page, p.status)
		}
		if p := v.post(page+"/notes", "note", "a\x00b"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Text in UTF-8 without NUL expected.") {
			t.Errorf("%s with NUL: %d", page, p.status)
		}
		if p := v.post(page+"/notes", "note", strings.Repeat(">", 40)); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "nested more than 32 deep") {
			t.Errorf("%s with what cannot be drawn: %d", page, p.status)
		}
	}
}
