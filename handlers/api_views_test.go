package handlers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
)

func TestViewsAreKeptListedAndDeleted(t *testing.T) {
	a := newAPI(t)
	a.park(failureOf("1", "PDFSyntaxError", "x"))
	made := a.post("/api/v1/views", dlq.ScopeAct, obj{"name": "Old ones", "query": "source:wiki age:>30d", "sort": "oldest", "shared": true}).want(http.StatusCreated).object()
	if made["list"] != "documents" || made["query"] != "source:wiki age:>30d" || made["sort"] != "oldest" || made["mine"] != true || !strings.HasSuffix(made["url"].(string), "/views/"+made["id"].(string)) {
		t.Errorf("got %v", made)
	}
	a.post("/api/v1/views", dlq.ScopeAct, obj{"name": "poison", "list": "cohorts", "filters": obj{"show": "quarantine", "source": "gone"}}).want(http.StatusCreated)
	a.post("/api/v1/views", dlq.ScopeAct, obj{"name": "OLD ones"}).problem(http.StatusConflict, dlq.KindConflict)
	rows := a.get("/api/v1/views", dlq.ScopeRead).want(http.StatusOK).items()
	if len(rows) != 1 || rows[0]["name"] != "Old ones" || rows[0]["mine"] != false {
		t.Errorf("another token is shown %v", rows)
	}
	for pointer, body := range map[string]obj{
		"/name": {"name": " "}, "/list": {"name": "x", "list": "sources"}, "/q": {"name": "x", "query": "age:soon"}, "/query": {"name": "x", "list": "cohorts", "filters": obj{"a": "b\x00"}},
	} {
		if got := pointersOf(a.post("/api/v1/views", dlq.ScopeAct, body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%v is refused at %v", body, got)
		}
	}
	path := "/api/v1/views/" + made["id"].(string)
	a.do(apiCall{method: http.MethodDelete, path: path, scope: dlq.ScopeAct, source: "leases"}).problem(http.StatusNotFound, dlq.KindNotFound)
	a.do(apiCall{method: http.MethodDelete, path: path, scope: dlq.ScopeAct}).want(http.StatusOK)
	a.do(apiCall{method: http.MethodDelete, path: path, scope: dlq.ScopeAct}).problem(http.StatusNotFound, dlq.KindNotFound)
}
