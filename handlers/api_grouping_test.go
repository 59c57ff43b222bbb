package handlers

import (
	"net/http"
	"slices"
	"testing"

	"dlo/dlq"
)

func TestCohortsAreMergedAndComeApartOverTheAPI(t *testing.T) {
	a := newAPI(t)
	stays := a.park(failureOf("1", "PDFSyntaxError", "no object")).Cohort
	goes := a.park(failureOf("2", "PDFEncryptionError", "no key"))
	a.post("/api/v1/cohorts/"+stays+"/merge", dlq.ScopeRead, obj{"cohorts": []string{goes.Fingerprint}, "reason": "the same defect"}).problem(http.StatusForbidden, dlq.KindForbidden)
	rule := a.post("/api/v1/cohorts/"+stays+"/merge", dlq.ScopeAct, obj{"cohorts": []string{goes.Fingerprint}, "reason": "the same defect"}).want(http.StatusOK).object()
	if rule["kind"] != "merge" || rule["state"] != "done" || rule["cohort"] != stays || !slices.Equal(rule["cohorts"].([]any), []any{goes.Cohort}) {
		t.Fatalf("the rule is %v", rule)
	}
	merged := a.get("/api/v1/cohorts/"+goes.Cohort, dlq.ScopeRead).want(http.StatusOK).object()
	if merged["id"] != stays || merged["parked"] != 2.0 || len(merged["rules"].([]any)) != 1 {
		t.Errorf("the merged cohort is %v", merged)
	}
	if again := a.park(failureOf("3", "PDFEncryptionError", "no key")); again.Cohort != stays {
		t.Error("a new failure did not follow the merge")
	}
	a.post("/api/v1/cohorts/"+stays+"/merge", dlq.ScopeAct, obj{"cohorts": []string{stays}, "reason": "x"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	a.post("/api/v1/cohorts/"+stays+"/merge", dlq.ScopeAct, obj{"cohorts": []string{goes.Cohort}, "reason": "x"}).problem(http.StatusConflict, dlq.KindConflict)
	a.post("/api/v1/cohorts/"+stays+"/undo", dlq.ScopeAct, obj{}).want(http.StatusOK)
	if apart := a.get("/api/v1/cohorts/"+goes.Cohort, dlq.ScopeRead).want(http.StatusOK).object(); apart["id"] != goes.Cohort || apart["parked"] != 2.0 {
		t.Errorf("after the undo it is %v", apart)
	}
	a.post("/api/v1/cohorts/"+stays+"/undo", dlq.ScopeAct, obj{}).problem(http.StatusConflict, dlq.KindConflict)
}

func TestASplitNamesWhereEachValueGoes(t *testing.T) {
	a := newAPI(t)
	old, fresh := failureOf("1", "PDFSyntaxError", "no object"), failureOf("2", "PDFSyntaxError", "no object")
	fresh["parser_version"] = "pdf@2"
	cohort := a.park(old).Cohort
	a.park(fresh)
	for body, pointer := range map[*obj]string{
		{"by": "colour", "values": []string{"x"}, "reason": "r"}:  "/by",
		{"by": "version", "values": []string{"x"}, "reason": "r"}: "/by",
		{"by": "version:parser", "reason": "r"}:                   "/values",
		{"by": "version:parser", "values": []string{"pdf@2"}}:     "/reason",
	} {
		if got := pointersOf(a.post("/api/v1/cohorts/"+cohort+"/split", dlq.ScopeAct, *body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%v is refused at %q", *body, got)
		}
	}
	a.post("/api/v1/cohorts/"+cohort+"/split", dlq.ScopeAct, obj{"by": "version:parser", "values": []string{"pdf@2"}, "reason": "r", "grouping": 7}).problem(http.StatusConflict, dlq.KindConflict)
	rule := a.post("/api/v1/cohorts/"+cohort+"/split", dlq.ScopeAct, obj{"by": "version:parser", "values": []string{"pdf@2"}, "reason": "r", "grouping": 1}).want(http.StatusOK).object()
	value := rule["values"].([]any)[0].(obj)
	if rule["by"] != "version:parser" || rule["state"] != "moving" || value["value"] != "pdf@2" || value["cohort"] == cohort {
		t.Errorf("the rule is %v", rule)
	}
	fresh["doc_id"] = "3"
	if r := a.park(fresh); r.Cohort != value["cohort"] {
		t.Error("a new failure did not follow the split")
	}
	a.post("/api/v1/cohorts/01JNOWHERE/split", dlq.ScopeAct, obj{"by": "template", "values": []string{"x"}, "reason": "r"}).problem(http.StatusNotFound, dlq.KindNotFound)
}
