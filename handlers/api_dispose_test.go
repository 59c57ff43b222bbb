package handlers

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"dlo/dlq"
)

func TestADispositionIsSetShownAndTakenOff(t *testing.T) {
	a := newAPI(t)
	r := a.park(failureOf("1", "PDFSyntaxError", "x"))
	entry, cohort := "/api/v1/dead-letters/"+r.DLQID, "/api/v1/cohorts/"+r.Cohort
	if got := a.get(entry, dlq.ScopeRead).want(http.StatusOK).object(); got["disposition"] != "" || got["decided"] != nil {
		t.Errorf("nothing was decided: %v, %v", got["disposition"], got["decided"])
	}
	got := a.post(entry+"/dispose", dlq.ScopeAct, obj{"disposition": "needs code", "until": "code", "reason": "parser"}).want(http.StatusOK).object()
	decided := got["decided"].(obj)
	if got["disposition"] != "needs_code" || decided["until"] != "code" || decided["reason"] != "parser" || decided["date"] != nil {
		t.Errorf("got %v, %v", got["disposition"], decided)
	}
	if rows := a.get("/api/v1/dead-letters?q=", dlq.ScopeRead).want(http.StatusOK).items(); rows[0]["disposition"] != "needs_code" {
		t.Errorf("the list says %v", rows[0]["disposition"])
	}
	got = a.post(cohort+"/dispose", dlq.ScopeAct, obj{"disposition": "waiting", "date": "2026-12-24"}).want(http.StatusOK).object()
	if decided := got["decided"].(obj); got["disposition"] != "waiting" || decided["until"] != "date" || decided["date"] != "2026-12-24T00:00:00Z" {
		t.Errorf("got %v", got)
	}
	if rows := a.get("/api/v1/cohorts", dlq.ScopeRead).want(http.StatusOK).items(); rows[0]["disposition"] != "waiting" || rows[0]["parked"] != 1.0 {
		t.Errorf("the list says %v, %v parked", rows[0]["disposition"], rows[0]["parked"])
	}
	if got := a.post(entry+"/dispose", dlq.ScopeAct, obj{"disposition": ""}).want(http.StatusOK).object(); got["disposition"] != "" || got["decided"] != nil {
		t.Errorf("taken off: %v", got)
	}
	a.clock.forward(300 * 24 * time.Hour)
	if _, err := a.store.EndDispositions(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if got := a.get(cohort, dlq.ScopeRead).want(http.StatusOK).object(); got["disposition"] != "" {
		t.Errorf("its date came, and %v stands", got["disposition"])
	}
}

func TestADispositionNamesWhatIsWrongWithIt(t *testing.T) {
	a := newAPI(t)
	r := a.park(failureOf("1", "PDFSyntaxError", "x"))
	for _, path := range []string{"/api/v1/dead-letters/" + r.DLQID + "/dispose", "/api/v1/cohorts/" + r.Cohort + "/dispose"} {
		for pointer, body := range map[string]obj{
			"/disposition": {"disposition": "later"}, "/until": {"disposition": "waiting"}, "/date": {"disposition": "waiting", "date": "soon"}, "/reason": {"disposition": "needs_rule", "reason": "a\x00b"},
		} {
			if got := pointersOf(a.post(path, dlq.ScopeAct, body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{pointer}) {
				t.Errorf("%v is refused at %v", body, got)
			}
		}
		a.post(path, dlq.ScopeRead, obj{"disposition": "needs_code"}).problem(http.StatusForbidden, dlq.KindForbidden)
	}
	a.post("/api/v1/cohorts/none/dispose", dlq.ScopeAct, obj{"disposition": "needs_code"}).problem(http.StatusNotFound, dlq.KindNotFound)
}
