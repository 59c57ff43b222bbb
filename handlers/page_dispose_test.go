package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func TestADispositionStandsOnPagesAndListsUntilItIsTakenOff(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	for _, c := range []struct{ page, list string }{{"/entries/" + r.DLQID, "/entries?q=status:parked"}, {"/cohorts/" + r.Cohort, "/cohorts"}} {
		if p := v.get(c.page); !strings.Contains(p.body, c.page+"/dispose") {
			t.Fatalf("%s does not lead to the form", c.page)
		}
		if p := v.get(c.page + "/dispose"); p.status != http.StatusOK || !strings.Contains(p.body, "Needs code") || !strings.Contains(p.body, `name="date"`) {
			t.Fatalf("the form: %d", p.status)
		}
		if p := v.post(c.page+"/dispose", "asked", "1", "disposition", "waiting", "until", "date", "date", "2026-12-24", "reason", "the <b>vendor</b>"); p.status != http.StatusSeeOther || p.location != c.page {
			t.Fatalf("got %d %q", p.status, p.location)
		}
		p := v.get(c.page)
		for _, want := range []string{"Waiting until 24 Dec 2026.", "the &lt;b&gt;vendor&lt;/b&gt;", "Decided: waiting until 24 Dec 2026. It is still counted as it was.", "Take off", "decided: waiting until 24 Dec 2026"} {
			if !strings.Contains(p.body, want) {
				t.Errorf("%s does not say %q", c.page, want)
			}
		}
		if p := v.get(c.list); !strings.Contains(p.body, ">waiting</span>") {
			t.Errorf("%s has no chip", c.list)
		}
		if p := v.get(c.page + "/dispose"); !strings.Contains(p.body, `value="2026-12-24"`) {
			t.Error("the form forgets what stands")
		}
		if p := v.post(c.page + "/dispose"); p.status != http.StatusSeeOther {
			t.Fatalf("taking it off: %d", p.status)
		}
		if p := v.get(c.page); !strings.Contains(p.body, "needs a decision again.") || strings.Contains(p.body, "Waiting until 24 Dec 2026.") || !strings.Contains(p.body, "took off “waiting”") {
			t.Errorf("%s still shows it", c.page)
		}
	}
}

func TestADispositionThatEndedSaysWhyUnderActivity(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A","parser_version":"pdf@1"`)
	v.get("/cohorts/" + r.Cohort)
	v.post("/cohorts/"+r.Cohort+"/dispose", "asked", "1", "disposition", "needs_code", "until", "code")
	s.clock.move(time.Minute)
	if _, err := s.store.RecordDeployment(t.Context(), dlq.Policy("test"), "wiki", "parser", "pdf@2", nil); err != nil {
		t.Fatal(err)
	}
	if p := v.get("/cohorts/" + r.Cohort); !strings.Contains(p.body, "ended “needs code”: other code was deployed. It needs a decision again") {
		t.Error("the page does not say why it ended")
	}
}

func TestADispositionFormNamesItsFaultsInPlace(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	path := "/entries/" + r.DLQID + "/dispose"
	v.get(path)
	for want, fields := range map[string][]string{
		"Choose what it needs.": {"asked", "1"},
		"A date such as 2026-12-24 expected, or a time in RFC 3339.": {"asked", "1", "disposition", "needs_code", "until", "date", "date", "<script>"},
		"A date that is still to come expected.":                     {"asked", "1", "disposition", "needs_code", "until", "date", "date", "2020-01-01"},
		"At most 2000 characters expected.":                          {"asked", "1", "disposition", "needs_code", "reason", strings.Repeat("x", 2001)},
		"Text in UTF-8 without NUL expected.":                        {"asked", "1", "disposition", "needs_code", "reason", "a\x00"},
	} {
		p := v.post(path, fields...)
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, want) || strings.Contains(p.body, "value=\"<script>") {
			t.Errorf("%v: %d, without %q", fields[2:], p.status, want)
		}
	}
	if p := v.post(path, "asked", "1", "disposition", "needs_code", "date", "nonsense"); p.status != http.StatusSeeOther {
		t.Errorf("a date that was not asked for stands in the way: %d", p.status)
	}
}

func TestWhoMayOnlyLookOrSeesAnotherSourceDisposesOfNothing(t *testing.T) {
	s := newSite(t)
	r := s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	auditor, stranger := s.signIn(dlq.RoleAuditor), s.signIn(dlq.RoleReviewer, "leases")
	for _, path := range []string{"/entries/" + r.DLQID + "/dispose", "/cohorts/" + r.Cohort + "/dispose"} {
		if p, q := auditor.get(path), auditor.post(path, "disposition", "needs_code"); p.status != http.StatusForbidden || q.status != http.StatusForbidden {
			t.Errorf("an auditor: %d, %d", p.status, q.status)
		}
		if p, q := stranger.get(path), stranger.post(path, "disposition", "needs_code"); p.status != http.StatusNotFound || q.status != http.StatusNotFound {
			t.Errorf("somebody of another source: %d, %d", p.status, q.status)
		}
	}
}
