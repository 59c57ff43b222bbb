package handlers

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

// failing parks documents of a source that failed under a version of the parser,
// and answers their cohort.
func (a *apiServer) failing(source, parser string, docs ...string) string {
	a.t.Helper()
	cohort := ""
	for _, doc := range docs {
		cohort = a.park(obj{"source": source, "doc_id": doc, "error_type": "PDFSyntaxError", "error_message": "No /Root object!", "parser_version": parser, "content_type": "application/pdf"}).Cohort
	}
	return cohort
}

func TestADeploymentOfADeclaredFixProposesItsRedrive(t *testing.T) {
	a := newAPI(t)
	cohort := a.failing("wiki", "1", "1", "2", "3")
	a.failing("leases", "1", "4")
	path := "/api/v1/cohorts/" + cohort + "/fix"
	declared := a.post(path, dlq.ScopeAct, obj{"component": "parser", "version": "2", "note": "reads the update", "link": "https://git.example.com/c/1"}).want(http.StatusCreated).object()
	if declared["state"] != "declared" || declared["replaced"] != 4.0 || declared["redrive"] != nil || declared["declared_by"] != "act@" {
		t.Errorf("declared: %v", declared)
	}
	a.post(path, dlq.ScopeAct, obj{"component": "parser", "version": "2", "note": "reads the update", "link": "https://git.example.com/c/1"}).want(http.StatusOK)

	answer := a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{"source": "wiki", "component": "parser", "version": "2"}).want(http.StatusOK).object()
	proposals := answer["proposals"].([]any)
	if len(proposals) != 1 || answer["changed"] != true {
		t.Fatalf("proposed: %v", answer)
	}
	p := proposals[0].(obj)
	if p["cohort"] != cohort || p["documents"] != 3.0 || p["query"] != "cohort:"+cohort+" status:parked -parser:2 source:wiki" || p["url"] != "/cohorts/"+cohort {
		t.Errorf("proposed: %v", p)
	}
	// What is proposed can be asked for as it stands.
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	a.post("/api/v1/redrives", dlq.ScopeAct, obj{"query": p["query"], "expect": p["documents"], "reason": "fix deployed"}).want(http.StatusAccepted)

	shown := a.get("/api/v1/cohorts/"+cohort, dlq.ScopeRead).want(http.StatusOK).object()["fixes"].([]any)[0].(obj)
	if shown["state"] != "partly_live" || len(shown["sources"].([]any)) != 2 {
		t.Errorf("shown: %v", shown)
	}
	theirs := a.do(apiCall{method: http.MethodGet, path: path, scope: dlq.ScopeRead, source: "leases"}).want(http.StatusOK).items()[0]
	if theirs["replaced"] != 1.0 || theirs["state"] != "declared" || len(theirs["sources"].([]any)) != 1 {
		t.Errorf("who sees one source is told %v", theirs)
	}
	withdrawn := a.post(path+"/"+declared["id"].(string)+"/withdraw", dlq.ScopeAct, obj{"reason": "another defect"}).want(http.StatusOK).object()
	if withdrawn["state"] != "withdrawn" || withdrawn["withdrawn_by"] != "act@" {
		t.Errorf("withdrawn: %v", withdrawn)
	}
	a.clock.forward(time.Minute)
	if got := a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{"source": "wiki", "component": "parser", "version": "2"}).object(); len(got["proposals"].([]any)) != 0 || got["changed"] != false {
		t.Errorf("after it was withdrawn: %v", got)
	}
}

func TestAFixThatCannotBeIsRefusedWithEachFault(t *testing.T) {
	a := newAPI(t)
	cohort := a.failing("wiki", "1", "1")
	path := "/api/v1/cohorts/" + cohort + "/fix"
	p := a.post(path, dlq.ScopeAct, obj{"component": "", "version": "a\x00b", "note": strings.Repeat("n", 2001), "link": "javascript:alert(1)"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := pointersOf(p); !slices.Equal(got, []string{"/component", "/version", "/note", "/link"}) {
		t.Errorf("the faults are named at %q", got)
	}
	a.post(path, dlq.ScopeAct, obj{"component": "parser", "version": "1", "who": "x"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	a.do(apiCall{method: http.MethodPost, path: path, scope: dlq.ScopeAct, source: "leases", body: obj{"component": "parser", "version": "2"}}).problem(http.StatusNotFound, dlq.KindNotFound)
	a.post("/api/v1/cohorts/01NONE/fix", dlq.ScopeAct, obj{"component": "parser", "version": "2"}).problem(http.StatusNotFound, dlq.KindNotFound)
	a.post(path+"/01NONE/withdraw", dlq.ScopeAct, nil).problem(http.StatusNotFound, dlq.KindNotFound)
	a.post(path+"/01NONE/withdraw", dlq.ScopeAct, obj{"reason": "a\x00"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
}

func TestADeploymentMayBeToldLateAndIsListed(t *testing.T) {
	a := newAPI(t)
	a.failing("wiki", "0", "1")
	deploy := func(version, at string) obj {
		t.Helper()
		return a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{"source": "wiki", "component": "parser", "version": version, "at": at}).want(http.StatusOK).object()
	}
	deploy("3", "2026-03-02T09:00:00Z")
	if got := deploy("2", "2026-03-02T09:00:00+01:00"); got["running"].(obj)["parser"].([]any)[0] != "3" || got["changed"] != true {
		t.Errorf("a late report of an older version: %v", got)
	}
	if got := deploy("2", "2026-03-02T08:00:00Z"); got["changed"] != false {
		t.Errorf("told twice: %v", got)
	}
	first := a.get("/api/v1/sources/wiki/deployments?limit=1", dlq.ScopeRead).want(http.StatusOK).object()
	row := first["items"].([]any)[0].(obj)
	if row["version"] != "3" || row["from"] != "2026-03-02T09:00:00Z" || row["until"] != nil || row["by"] != "outcome@" {
		t.Errorf("the newest: %v", row)
	}
	if seen := first["not_registered"].([]any); len(seen) != 1 || seen[0].(obj)["version"] != "0" || seen[0].(obj)["parked"] != 1.0 {
		t.Errorf("not registered: %v", seen)
	}
	second := a.get("/api/v1/sources/wiki/deployments?limit=1&cursor="+first["next"].(string), dlq.ScopeRead).want(http.StatusOK).object()
	if row := second["items"].([]any)[0].(obj); row["version"] != "2" || row["until"] != "2026-03-02T09:00:00Z" || second["next"] != "" {
		t.Errorf("the one before: %v", second)
	}
	a.get("/api/v1/sources/wiki/deployments?cursor=x", dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	a.do(apiCall{method: http.MethodGet, path: "/api/v1/sources/wiki/deployments", scope: dlq.ScopeRead, source: "leases"}).problem(http.StatusNotFound, dlq.KindNotFound)
	for name, body := range map[string]obj{
		"/at":        {"source": "wiki", "component": "parser", "version": "1", "at": "2026-03-02"},
		"/stopped/1": {"source": "wiki", "component": "parser", "stopped": []string{"1", ""}},
		"/component": {"source": "wiki", "component": "p\x00", "version": "1"},
	} {
		if got := pointersOf(a.post("/api/v1/deployments", dlq.ScopeOutcome, body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{name}) {
			t.Errorf("%v: the faults are named at %q", body, got)
		}
	}
	if got := pointersOf(a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{"source": "wiki", "component": "parser", "version": "1", "at": "2026-03-03T09:00:00Z"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{"/at"}) {
		t.Errorf("of a day to come: %q", got)
	}
}

func TestTheReportOfVersionsIsJSONAndCSV(t *testing.T) {
	a := newAPI(t)
	a.failing("wiki", "1", "1", "2")
	a.failing("wiki", "=cmd|x", "3")
	a.failing("leases", "1", "4")
	a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{"source": "wiki", "component": "parser", "version": "2"}).want(http.StatusOK)
	report := a.get("/api/v1/reports/versions?from=2026-01", dlq.ScopeRead).want(http.StatusOK).object()
	row := report["items"].([]any)[0].(obj)
	if report["to"] != "2026-03" || len(report["items"].([]any)) != 3 || row["source"] != "wiki" || row["documents"] != 2.0 || row["runs_now"] != false || row["not_running"].([]any)[0] != "parser" || row["months"].(obj)["2026-03"] != 2.0 {
		t.Errorf("%v", report)
	}
	if got := a.get("/api/v1/reports/versions?running=no&source=leases", dlq.ScopeRead).items(); len(got) != 0 {
		t.Errorf("of a source without a register, not running: %v", got)
	}
	theirs := a.do(apiCall{method: http.MethodGet, path: "/api/v1/reports/versions", scope: dlq.ScopeRead, source: "leases"}).items()
	if len(theirs) != 1 || theirs[0]["source"] != "leases" || theirs[0]["runs_now"] != nil {
		t.Errorf("who sees one source is told %v", theirs)
	}
	file := a.get("/api/v1/reports/versions.csv", dlq.ScopeRead).want(http.StatusOK)
	want := "source,error_type,failed_under,runs_now,month,documents\r\nwiki,PDFSyntaxError,parser 1,not running now,2026-03,2\r\nleases,PDFSyntaxError,parser 1,not registered,2026-03,1\r\nwiki,PDFSyntaxError,parser =cmd|x,not running now,2026-03,1\r\n"
	if string(file.body) != want || file.header.Get("Content-Disposition") != `attachment; filename="versions-2025-10-2026-03.csv"` {
		t.Errorf("%q, want %q", file.body, want)
	}
	for query, pointer := range map[string]string{"of=some": "/of", "running=maybe": "/running", "from=2026": "/from", "from=2026-04&to=2026-03": "/from", "from=2020-01": "/from", "source=a%00": "/source", "content=%ff": "/content"} {
		if got := pointersOf(a.get("/api/v1/reports/versions?"+query, dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%s: the faults are named at %q", query, got)
		}
	}
}
