package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func TestHowOutcomesAreLearntIsChosenInOneForm(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	policy := func() dlq.OutcomePolicy {
		t.Helper()
		src, err := s.store.Source(t.Context(), "wiki")
		if err != nil {
			t.Fatal(err)
		}
		return src.Policy.Outcomes
	}
	manager := s.signIn(dlq.RoleManager)
	if p := manager.get("/sources/wiki/outcomes"); p.status != http.StatusOK || strings.Count(p.body, `name="mode"`) != 4 {
		t.Fatalf("the form: %d with %d ways", p.status, strings.Count(p.body, `name="mode"`))
	}
	post := "/sources/wiki/outcomes"
	// The button of the banner sends the way alone, and the index has no address yet.
	if p := manager.post(post, "mode", "check"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "{doc_id}") || policy().Mode != dlq.OutcomesReported {
		t.Errorf("without an address: %d, %s", p.status, policy().Mode)
	}
	if p := manager.post(post, "mode", "check", "check_url", "https://index.example.com/doc/{doc_id}", "check_from", "json:/version", "check_seq_from", "json:/seq", "timeout", "2h"); p.status != http.StatusSeeOther {
		t.Errorf("with an address: %d", p.status)
	}
	if o := policy(); o.Mode != dlq.OutcomesCheck || o.CheckURL != "https://index.example.com/doc/{doc_id}" || o.CheckFrom != "json:/version" || o.CheckSeqFrom != "json:/seq" || o.Timeout.Std() != 2*time.Hour {
		t.Errorf("kept is %+v", o)
	}
	for name, fields := range map[string][]string{
		"another way":  {"mode", "guess"},
		"a bad span":   {"mode", "reported", "timeout", "soon"},
		"for ever":     {"mode", "reported", "timeout", "forever"},
		"a NUL":        {"mode", "check", "check_url", "https://index.example.com/\x00{doc_id}?\xff"},
		"a bad header": {"mode", "check", "check_from", "header:a b"},
	} {
		if p := manager.post(post, fields...); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Nothing was changed.") {
			t.Errorf("%s: %d", name, p.status)
		}
	}
	if p := manager.post(post, "mode", "assumed"); p.status != http.StatusSeeOther || policy().Mode != dlq.OutcomesAssumed || policy().CheckFrom != "json:/version" {
		t.Errorf("the way alone: %d, kept is %+v", p.status, policy())
	}
	reviewer := s.signIn(dlq.RoleReviewer)
	if p := reviewer.get("/sources/wiki/outcomes"); p.status != http.StatusForbidden {
		t.Errorf("a reviewer reads the form: %d", p.status)
	}
	if p := reviewer.post(post, "mode", "reported"); p.status != http.StatusForbidden || policy().Mode != dlq.OutcomesAssumed {
		t.Errorf("a reviewer posts it: %d", p.status)
	}
	stranger := s.signIn(dlq.RoleAdmin, "leases")
	if p := stranger.post(post, "mode", "reported"); p.status != http.StatusNotFound {
		t.Errorf("a manager of another source: %d", p.status)
	}
}

func TestTheBannerLeadsToWhoCanChoose(t *testing.T) {
	f := bareSource()
	if l := outcomesLink(f.source, f.by); l.Href != "/sources/wiki/outcomes" {
		t.Errorf("a manager is led to %s", l.Href)
	}
	f.by.Role = dlq.RoleAnalyst
	if l := outcomesLink(f.source, f.by); l.Href != "/sources/wiki" || !strings.Contains(l.Text, "manager") {
		t.Errorf("an analyst is led to %+v", l)
	}
}

func TestWhatTheIndexSaidStandsOnTheDocument(t *testing.T) {
	f := entryFacts{source: dlq.Source{Policy: dlq.DefaultPolicy("wiki")}}
	if w := indexWords(f); w != "" {
		t.Errorf("a source that reports: %q", w)
	}
	f.source.Policy.Outcomes.Mode = dlq.OutcomesCheck
	if w := indexWords(f); w != " The index is asked next." {
		t.Errorf("before the first question: %q", w)
	}
	f.checked = dlq.IndexChecked{Times: 3, Said: "the index holds another version than was sent"}
	if w := indexWords(f); w != " The index was asked 3 times. The index holds another version than was sent." {
		t.Errorf("after three: %q", w)
	}
}
