package handlers

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/views/components"
)

// provedThenRedriven is a source of which one document was replayed and passed, and
// then the other three were redriven by a query: one gets in, one fails again, one
// fails on another error.
func (a *apiServer) provedThenRedriven(source string) (operation string) {
	a.t.Helper()
	a.putSource(source, obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	var ids []string
	var cohort string
	for _, doc := range []string{"1", "2", "3", "4"} {
		r := a.park(obj{"source": source, "doc_id": doc, "payload": source + doc, "error_type": "PDFSyntaxError", "parser_version": "pdf@1"})
		cohort, ids = r.Cohort, append(ids, r.DLQID)
	}
	tell := func(doc int, more obj) {
		a.t.Helper()
		redrives := a.entry(ids[doc])["redrives"].([]any)
		outcome := obj{"redrive_id": redrives[0].(obj)["redrive_id"], "result": "committed", "versions": obj{"parser": "pdf@2"}, "payload_sha256": digestOf(source + fmt.Sprint(doc+1))}
		for k, v := range more {
			outcome[k] = v
		}
		a.post("/api/v1/outcomes", dlq.ScopeOutcome, outcome).want(http.StatusOK)
	}
	a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{"source": source, "component": "parser", "version": "pdf@2"}).want(http.StatusOK)
	a.post(apiRedrives, dlq.ScopeAct, obj{"entries": []string{ids[0]}, "reason": "a test"}).want(http.StatusAccepted)
	tell(0, nil)
	o := a.post(apiRedrives, dlq.ScopeAct, obj{"query": "cohort:" + cohort + " source:" + source + " status:parked", "canary": []int{}, "reason": "it works"}).want(http.StatusAccepted).object()
	tell(1, nil)
	tell(2, obj{"result": "failed", "error_type": "Other", "error_class": "ambiguous_parse", "reason": "exception"})
	tell(3, obj{"result": "failed", "error_type": "PDFSyntaxError", "error_class": "ambiguous_parse", "reason": "exception"})
	return o["id"].(string)
}

func TestTheReportOfRedrivesHoldsWhatWasExpectedAgainstWhatCame(t *testing.T) {
	a := newAPI(t)
	operation := a.provedThenRedriven("wiki")
	report := a.get("/api/v1/reports/redrives", dlq.ScopeRead).want(http.StatusOK).object()
	items := report["items"].([]any)
	if report["from"] != "2026-01" || report["to"] != "2026-03" || len(items) != 2 {
		t.Fatalf("%v", report)
	}
	row := items[0].(obj)
	forecast := row["forecast"].(obj)
	if row["operation"] != operation || row["documents"] != 3.0 || row["past_error"] != 2.0 || row["tested"] != 3.0 || forecast["passed"] != 1.0 || forecast["of"] != 1.0 || row["forecast_end"] != "held" || row["error_type"] != "PDFSyntaxError" {
		t.Errorf("%v", row)
	}
	if first := items[1].(obj); first["forecast_end"] != "none" || first["past_error"] != 1.0 {
		t.Errorf("the first, of which nothing was known: %v", first)
	}
	file := a.get("/api/v1/reports/redrives.csv", dlq.ScopeRead).want(http.StatusOK)
	lines := strings.Split(strings.TrimSpace(string(file.body)), "\r\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], operation+",") || !strings.Contains(lines[1], ",proven,1,1,1,3,2,3,held,1,2,0,0,0,0") || file.header.Get("Content-Disposition") != `attachment; filename="redrives-2026-01-2026-03.csv"` {
		t.Errorf("%q", lines)
	}
	if got := a.get("/api/v1/reports/redrives?to=2026-02", dlq.ScopeRead).items(); len(got) != 0 {
		t.Errorf("of the months before: %v", got)
	}
	if got := a.do(apiCall{method: http.MethodGet, path: "/api/v1/reports/redrives", scope: dlq.ScopeRead, source: "leases"}).items(); len(got) != 0 {
		t.Errorf("who sees another source is told of %v", got)
	}
	if got := a.do(apiCall{method: http.MethodGet, path: "/api/v1/reports/redrives", scope: dlq.ScopeRead, source: "wiki"}).items(); len(got) != 2 {
		t.Errorf("who sees that source is told of %v", got)
	}
	for query, pointer := range map[string]string{"from=2026": "/from", "to=x%00": "/to", "from=2026-04&to=2026-03": "/from", "from=2020-01": "/from"} {
		if got := pointersOf(a.get("/api/v1/reports/redrives?"+query, dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%s: the faults are named at %q", query, got)
		}
	}
}

func TestThePageOfTheReportOfRedrives(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	if p := v.get("/reports/redrives"); p.status != http.StatusOK || !strings.Contains(p.body, "No redrive was started in these months") {
		t.Errorf("with nothing: %d", p.status)
	}
	s.halfFixed()
	p := v.get("/reports/redrives")
	if p.status != http.StatusOK || !strings.Contains(p.body, "1 of 1 got past it") || !strings.Contains(p.body, "0 of 1 got past it") || !strings.Contains(p.body, "nothing was known") {
		t.Errorf("%d\n%s", p.status, p.body)
	}
	if !regexp.MustCompile(`href="/reports/redrives.csv\?from=[^"]*"`).MatchString(p.body) || !strings.Contains(v.get("/reports/versions").body, `href="/reports/redrives"`) {
		t.Error("the reports do not lead to one another, or to the file")
	}
}

func TestARowOfTheReportOfRedrives(t *testing.T) {
	proof := &dlq.Forecast{State: dlq.ProofProven, Passed: 3, Of: 3, Covers: 409}
	counts := map[dlq.ItemState]int64{dlq.ItemSettled: 402, dlq.ItemLeftOut: 4, dlq.ItemWaiting: 3}
	r := dlq.RedriveReportRow{Operation: dlq.Operation{ID: "01K", Total: 409, Proof: proof, Counts: counts, State: dlq.OperationRunning}, CohortID: "01C",
		Outcomes: map[dlq.OutcomeResult]int64{dlq.OutcomeCommitted: 396, dlq.OutcomeFailed: 4, dlq.OutcomeNoOutcome: 2}, Past: 2, Again: 1}
	row := newRedriveReportRow(r)
	if row.Expected != "175 to 399 of 399; 3 of 3 had passed" || row.Achieved != "398 of 399 got past it" || row.End.Text != "as expected" || row.Defect.Text != "No exception type" ||
		strings.Join(row.Also, ", ") != "2 failed on another error, 1 failed for another reason, 2 "+outcomeWords[dlq.OutcomeNoOutcome]+", 4 left out, 3 not settled" {
		t.Errorf("%+v", row)
	}
	r = dlq.RedriveReportRow{Operation: dlq.Operation{Total: 1}, Outcomes: map[dlq.OutcomeResult]int64{}}
	if row := newRedriveReportRow(r); row.Expected != "nothing was known" || row.Achieved != "none tested" || row.End.Tone != components.Quiet || row.Defect.Href != "" {
		t.Errorf("%+v", row)
	}
}
