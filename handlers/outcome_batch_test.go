package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

func TestABatchOfOutcomesIsAnsweredWhateverStandsInIt(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	first, one := a.redriven("1")
	_, two := a.redriven("2")
	lines := []struct {
		text   string
		status float64
	}{
		{fmt.Sprintf(`{"redrive_id":%q,"result":"failed"}`, two), 200},
		{fmt.Sprintf(`{"redrive_id":%q,"result":"committed"}`, one), 200},
		{fmt.Sprintf(`{"redrive_id":%q,"result":"committed"}`, one), 200}, // twice
		{fmt.Sprintf(`{"redrive_id":%q,"result":"failed"}`, one), 202},    // against itself
		{`{"redrive_id":"01NOWHERE","result":"committed"}`, 202},
		{`{"source":"wiki","doc_id":"unseen","result":"committed"}`, 202},
		{`{"source":"nowhere","doc_id":"1","result":"skipped"}`, 202},
		{`{"redrive_id":"a\u0000b","result":"committed"}`, 422},
		{"{\"redrive_id\":\"a\xffb\",\"result\":\"committed\"}", 400},
		{`{"redrive_id":"` + strings.Repeat("x", 5000) + `","result":"committed"}`, 422},
		{`{"redrive_id":"01K","result":"committed","at":"2099-01-01T00:00:00Z"}`, 422},
		{`{"redrive_id":"01K","result":"committed","ingest_seq":99999999999999999999}`, 422},
		{`[1,2]`, 400},
		{`null`, 400},
		{strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), 400},
		{fmt.Sprintf(`{"redrive_id":%q,"result":"failed","error_type":"E","stack_trace":%q}`, two, strings.Repeat("é\x00", 100_000)), 0}, // said below
	}
	var batch strings.Builder
	for _, l := range lines {
		batch.WriteString(l.text + "\n")
	}
	for round := range 2 {
		got := a.do(apiCall{method: post, path: apiOutcomes, scope: dlq.ScopeOutcome, contentType: typeNDJSON, body: batch.String()}).want(http.StatusOK).lines()
		if len(got) != len(lines) {
			t.Fatalf("%d lines were answered of %d", len(got), len(lines))
		}
		for i, l := range lines {
			status := got[i]["status"].(float64)
			if status >= 500 || l.status != 0 && status != l.status {
				t.Errorf("round %d: %.60q is answered %v, want %v", round+1, l.text, got[i], l.status)
			}
			if got[i]["line"] != float64(i+1) {
				t.Errorf("answer %d names line %v", i+1, got[i]["line"])
			}
		}
	}
	if e := a.entry(first); e["status"] != "resolved" || e["resolution"] != "committed" {
		t.Errorf("the first document is %v %v", e["status"], e["resolution"])
	}
	list, more, err := a.store.UnplacedOutcomes(t.Context(), dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleAdmin}, "wiki", 10)
	if err != nil || more || len(list) < 1 || list[0].DocID != "unseen" {
		t.Errorf("kept of wiki: %+v, %v", list, err)
	}
}

func TestReportsThatBelongToNothingStandOnTheSourcesPage(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	s.park(`"source":"leases","doc_id":"1","error_type":"A"`)
	pipeline := dlq.Actor{Kind: dlq.ActorToken, Scopes: []dlq.Scope{dlq.ScopeOutcome}, Name: "the-pipeline"}
	reporter := redrive.Reporter{Store: s.store, Clock: s.handlers.Now}
	for _, body := range []string{`{"source":"wiki","doc_id":"<b>never seen</b>","result":"committed"}`, `{"redrive_id":"01NAMELESS","result":"skipped"}`} {
		if _, err := reporter.Report(t.Context(), pipeline, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	all := s.signIn(dlq.RoleAnalyst)
	if p := all.get("/sources/wiki"); !strings.Contains(p.body, "&lt;b&gt;never seen&lt;/b&gt;") || !strings.Contains(p.body, "the-pipeline") {
		t.Error("the report is not on its source's page")
	}
	if p := all.get("/sources"); !strings.Contains(p.body, "01NAMELESS") {
		t.Error("a report that names no source is not on the page of all")
	}
	if p := all.get("/sources/leases"); !strings.Contains(p.body, "Every outcome that was reported found its document.") {
		t.Error("a source without such reports does not say so")
	}
	some := s.signIn(dlq.RoleReviewer, "leases")
	if p := some.get("/sources"); strings.Contains(p.body, "01NAMELESS") {
		t.Error("who sees some sources alone is shown a report that may be of any")
	}
}
