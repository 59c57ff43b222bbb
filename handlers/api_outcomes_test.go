package handlers

import (
	"net/http"
	"slices"
	"testing"

	"dlo/dlq"
)

const apiOutcomes = "/api/v1/outcomes"

// redriven parks a document and gives the id of its redrive, which no
// dispatcher sends here.
func (a *apiServer) redriven(docID string) (dlqID, redriveID string) {
	a.t.Helper()
	dlqID = a.park(obj{"source": "wiki", "doc_id": docID, "payload": "document " + docID, "error_type": "PDFSyntaxError", "parser_version": "pdf@1", "last_seen_at": "2026-03-01T10:00:00Z"}).DLQID
	a.post(apiRedrives, dlq.ScopeAct, obj{"entries": []string{dlqID}, "reason": "x"}).want(http.StatusAccepted)
	return dlqID, a.entry(dlqID)["redrives"].([]any)[0].(obj)["redrive_id"].(string)
}

func TestAnOutcomeIsFoundByRedriveByKeyAndByDocument(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	for docID, report := range map[string]func(redriveID string) obj{
		"1": func(id string) obj { return obj{"redrive_id": id, "result": "committed"} },
		"2": func(string) obj { return obj{"content_hash": digestOf("document 2"), "result": "skipped"} },
		"3": func(string) obj { return obj{"source": "wiki", "doc_id": "3", "result": "superseded"} },
	} {
		dlqID, redriveID := a.redriven(docID)
		body := report(redriveID)
		got := a.post(apiOutcomes, dlq.ScopeOutcome, body).want(http.StatusOK).object()
		if got["applied"] != true || got["dlq_id"] != dlqID || got["status"] != "resolved" {
			t.Errorf("document %s: the outcome was answered %v", docID, got)
		}
		if entry := a.entry(dlqID); entry["resolution"] != body["result"] {
			t.Errorf("document %s was resolved as %v, want %v", docID, entry["resolution"], body["result"])
		}
	}
}

func TestAFailedOutcomeIsAnAttemptAndAtTheThresholdPoison(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}, "poison_threshold": 2})
	dlqID, redriveID := a.redriven("1")
	failed := obj{"redrive_id": redriveID, "result": "failed", "error_type": "PDFSyntaxError", "parser_version": "pdf@2"}
	if got := a.post(apiOutcomes, dlq.ScopeOutcome, failed).want(http.StatusOK).object(); got["status"] != "parked" {
		t.Errorf("after the first failure it is %v", got["status"])
	}
	a.post(apiRedrives, dlq.ScopeAct, obj{"entries": []string{dlqID}, "reason": "again"}).want(http.StatusAccepted)
	failed["redrive_id"] = a.entry(dlqID)["redrives"].([]any)[0].(obj)["redrive_id"]
	if got := a.post(apiOutcomes, dlq.ScopeOutcome, failed).want(http.StatusOK).object(); got["status"] != "quarantined" {
		t.Errorf("at the threshold it is %v", got["status"])
	}
	entry := a.entry(dlqID)
	history := entry["history"].([]any)
	if entry["same_failures"] != 2.0 || entry["attempts"] != 3.0 || len(history) != 3 || history[0].(obj)["kind"] != "outcome" {
		t.Errorf("the entry is %v", entry)
	}
	alerts := a.get("/api/v1/alerts", dlq.ScopeRead).want(http.StatusOK).items()
	if len(alerts) != 1 || alerts[0]["rule"] != "poison" || alerts[0]["state"] != "firing" || alerts[0]["dlq_id"] != dlqID || alerts[0]["value"] != 2.0 {
		t.Errorf("the alerts are %v", alerts)
	}
}

func TestAnOutcomeOfNothingThatIsKnownIsKept(t *testing.T) {
	a := newAPI(t)
	report := obj{"redrive_id": "01JNOWHERE", "result": "committed", "at": "2026-03-01T10:00:00Z"}
	for range 2 {
		if got := a.post(apiOutcomes, dlq.ScopeOutcome, report).want(http.StatusAccepted).object(); got["applied"] != false || got["why"] == "" {
			t.Errorf("an outcome of nothing here was answered %v", got)
		}
	}
	id := a.park(obj{"source": "wiki", "doc_id": "1", "last_seen_at": "2026-03-01T12:00:00Z"}).DLQID
	old := obj{"source": "wiki", "doc_id": "1", "result": "committed", "at": "2026-03-01T11:00:00Z"}
	if got := a.post(apiOutcomes, dlq.ScopeOutcome, old).want(http.StatusAccepted).object(); got["applied"] != false || got["dlq_id"] != id || got["status"] != "parked" {
		t.Errorf("an outcome that is older than the failure was answered %v", got)
	}
}

func TestEveryFaultOfAnOutcomeIsNamed(t *testing.T) {
	a := newAPI(t)
	for _, c := range []struct {
		body obj
		want []string
	}{
		{obj{"result": "committed"}, []string{"/redrive_id"}},
		{obj{"doc_id": "1", "result": "committed"}, []string{"/source"}},
		{obj{"redrive_id": "1", "result": "lost"}, []string{"/result"}},
		{obj{"redrive_id": "1", "result": "committed", "error_type": "E", "stack_trace": "x"}, []string{"/error_type", "/stack_trace"}},
		{obj{"content_hash": "abc", "result": 1, "at": "soon", "ingest_seq": 1.5}, []string{"/at", "/content_hash", "/ingest_seq", "/result"}},
	} {
		if got := pointersOf(a.post(apiOutcomes, dlq.ScopeOutcome, c.body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, c.want) {
			t.Errorf("%v is refused at %q, want %q", c.body, got, c.want)
		}
	}
	a.post(apiOutcomes, dlq.ScopeOutcome, `{"result":"committed","result":"failed"}`).problem(http.StatusBadRequest, dlq.KindMalformed)
	a.do(apiCall{method: post, path: apiOutcomes, scope: dlq.ScopeOutcome, contentType: "text/plain", body: "x"}).problem(http.StatusUnsupportedMediaType, dlq.KindUnsupported)
}

func TestManyOutcomesAreAnsweredLineByLine(t *testing.T) {
	a := newAPI(t)
	a.park(obj{"source": "wiki", "doc_id": "1", "last_seen_at": "2026-03-01T10:00:00Z"})
	lines := a.do(apiCall{method: post, path: apiOutcomes, scope: dlq.ScopeOutcome, contentType: typeNDJSON,
		body: "{\"source\":\"wiki\",\"doc_id\":\"1\",\"result\":\"committed\"}\n{\"result\":\"lost\"}\n\n{\"redrive_id\":\"x\",\"result\":\"skipped\"}\n{\"redrive_id\"\n"}).want(http.StatusOK).lines()
	want := [][2]float64{{1, 200}, {2, 422}, {4, 202}, {5, 400}}
	if len(lines) != len(want) {
		t.Fatalf("%d lines were answered: %v", len(lines), lines)
	}
	for i, w := range want {
		if lines[i]["line"] != w[0] || lines[i]["status"] != w[1] {
			t.Errorf("answer %d is %v, want line and status %v", i, lines[i], w)
		}
	}
}
