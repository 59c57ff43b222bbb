package handlers

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/db"
	"dlo/dlq"
	"dlo/web"
)

// pathFor fills the parameters of a route with what exists nowhere.
func pathFor(r route) string {
	return strings.NewReplacer(":sha256", digestOf("nowhere"), ":id", "01JNOWHERE", ":name", "nowhere").Replace(r.path)
}

func bodyFor(r route) any {
	if r.method == get {
		return nil
	}
	return "{}"
}

func TestEveryRouteTakesTheScopesThatItSaysAndNoOther(t *testing.T) {
	a := newAPI(t)
	for _, r := range a.handlers.apiRoutes() {
		if r.door == open {
			continue
		}
		o, found := a.contract.find(r.method, pathFor(r))
		if !found {
			t.Errorf("%s %s is not described", r.method, r.path)
			continue
		}
		for _, scope := range dlq.Scopes {
			answer := a.do(apiCall{method: r.method, path: pathFor(r), scope: scope, body: bodyFor(r)})
			if allowed := slices.Contains(apiScopes(o), scope); allowed != (answer.status != http.StatusForbidden) {
				t.Errorf("%s %s with the scope %s was answered %d", r.method, r.path, scope, answer.status)
			}
			if answer.status == http.StatusInternalServerError {
				t.Errorf("%s %s with the scope %s: %s", r.method, r.path, scope, answer.body)
			}
		}
	}
}

// These stand here by themselves, so that a mistake in the table of scopes and
// in the description alike is still found.
func TestWhatEachScopeMayNot(t *testing.T) {
	a := newAPI(t)
	id := a.park(obj{"source": "wiki", "doc_id": "1", "payload": "x"}).DLQID
	for scope, calls := range map[dlq.Scope][]string{
		dlq.ScopeIngest:  {"GET " + apiDeadLetters, "GET " + apiDeadLetters + "/" + id, "GET " + apiDeadLetters + "/" + id + "/payload", "POST " + apiDeadLetters + "/" + id + "/probe", "POST /api/v1/outcomes", "GET /api/v1/sources", "GET /api/v1/cohorts"},
		dlq.ScopeOutcome: {"POST " + apiDeadLetters, "GET " + apiDeadLetters, "POST /api/v1/redrives"},
		dlq.ScopeRead:    {"GET /api/v1/audit", "POST " + apiDeadLetters, "POST " + apiDeadLetters + "/" + id + "/notes", "POST " + apiDeadLetters + "/" + id + "/probe", "POST /api/v1/redrives", "PUT /api/v1/sources/wiki", "POST /api/v1/pause"},
		dlq.ScopeAct:     {"GET /api/v1/audit", "PUT /api/v1/sources/wiki", "GET " + apiDeadLetters, "POST " + apiDeadLetters, "POST /api/v1/outcomes"},
		dlq.ScopeAdmin:   {"POST " + apiDeadLetters, "POST /api/v1/redrives", "GET " + apiDeadLetters},
	} {
		for _, call := range calls {
			method, path, _ := strings.Cut(call, " ")
			var body any
			if method != get {
				body = "{}"
			}
			a.do(apiCall{method: method, path: path, scope: scope, body: body}).problem(http.StatusForbidden, dlq.KindForbidden)
		}
	}
}

func TestWithoutAGoodTokenNothingIsSaid(t *testing.T) {
	a := newAPI(t)
	good := a.token(dlq.ScopeRead, "")
	other, _, _ := web.NewToken()
	for name, c := range map[string]apiCall{
		"no token":            {},
		"in the address":      {path: "?token=" + good},
		"there and beside it": {path: "?access_token=" + good, token: good},
		"in a cookie":         {header: http.Header{"Cookie": {"token=" + good + "; sid=" + good}}},
		"basic":               {header: http.Header{"Authorization": {"Basic " + good}}},
		"two tokens":          {header: http.Header{"Authorization": {"Bearer " + good, "Bearer " + good}}},
		"another secret":      {token: good[:len(good)-4] + "AAAA"},
		"half of it":          {token: good[:30]},
		"an unknown one":      {token: other},
		"nonsense":            {token: "dlo_'; drop table token; --_x"},
	} {
		t.Run(name, func(t *testing.T) {
			c.method, c.path = http.MethodGet, apiDeadLetters+c.path
			a.do(c).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
		})
	}
	if log := a.log.String(); strings.Contains(log, good) || strings.Contains(log, good[len(good)-20:]) {
		t.Error("a token stands in the log")
	}
}

func TestARevokedOrExpiredTokenEndsAtOnce(t *testing.T) {
	a := newAPI(t)
	plain, id, hash := web.NewToken()
	token := dlq.Token{ID: id, Name: "short", Hash: hex.EncodeToString(hash), Scopes: []dlq.Scope{dlq.ScopeRead}, ExpiresAt: apiStart.Add(time.Hour)}
	if err := a.store.AddToken(t.Context(), dlq.Policy("a test"), token); err != nil {
		t.Fatal(err)
	}
	call := apiCall{method: http.MethodGet, path: apiDeadLetters, token: plain}
	a.do(call).want(http.StatusOK)
	a.clock.forward(time.Hour)
	a.do(call).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)

	read := a.token(dlq.ScopeRead, "")
	a.do(apiCall{method: http.MethodGet, path: apiDeadLetters, token: read}).want(http.StatusOK)
	if err := a.store.RevokeToken(t.Context(), dlq.Policy("a test"), "read@"); err != nil {
		t.Fatal(err)
	}
	a.do(apiCall{method: http.MethodGet, path: apiDeadLetters, token: read}).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
}

func TestATokenOfOneSourceFindsNothingOfAnother(t *testing.T) {
	a := newAPI(t)
	a.putSource("leases", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	mine := a.park(obj{"source": "wiki", "doc_id": "1", "error_type": "WikiError", "payload": "the same bytes"})
	theirs := a.park(obj{"source": "leases", "doc_id": "1", "error_type": "LeaseError", "payload": "the same bytes", "error_class": "downstream_contract"})
	operation := a.post("/api/v1/redrives", dlq.ScopeAct, obj{"entries": []string{theirs.DLQID}, "reason": "a secret plan"}).want(http.StatusAccepted).object()["id"].(string)

	entry, cohort := apiDeadLetters+"/"+theirs.DLQID, "/api/v1/cohorts/"+theirs.Cohort
	act := obj{"reason": "x", "grant": "one", "days": 1}
	for _, c := range []apiCall{
		{method: get, path: entry, scope: dlq.ScopeRead},
		{method: get, path: entry + "/payload", scope: dlq.ScopeRead},
		{method: post, path: entry + "/probe", scope: dlq.ScopeAct},
		{method: post, path: entry + "/quarantine", scope: dlq.ScopeAct, body: act},
		{method: post, path: entry + "/release", scope: dlq.ScopeAct, body: act},
		{method: post, path: entry + "/extend", scope: dlq.ScopeAct, body: act},
		{method: post, path: entry + "/archive", scope: dlq.ScopeAct, body: act},
		{method: post, path: entry + "/restore", scope: dlq.ScopeAct, body: act},
		{method: post, path: entry + "/assign", scope: dlq.ScopeAct, body: obj{"owner": "me@example.com"}},
		{method: post, path: entry + "/notes", scope: dlq.ScopeAct, body: obj{"note": "x"}},
		{method: get, path: cohort, scope: dlq.ScopeRead},
		{method: get, path: "/api/v1/cohorts/" + theirs.Fingerprint, scope: dlq.ScopeRead},
		{method: post, path: cohort + "/assign", scope: dlq.ScopeAct, body: obj{"owner": "me@example.com"}},
		{method: post, path: cohort + "/notes", scope: dlq.ScopeAct, body: obj{"note": "x"}},
		{method: get, path: "/api/v1/operations/" + operation, scope: dlq.ScopeRead},
		{method: get, path: "/api/v1/operations/" + operation + "/items", scope: dlq.ScopeRead},
		{method: post, path: "/api/v1/operations/" + operation + "/pause", scope: dlq.ScopeAct},
		{method: post, path: "/api/v1/operations/" + operation + "/resume", scope: dlq.ScopeAct},
		{method: post, path: "/api/v1/operations/" + operation + "/cancel", scope: dlq.ScopeAct},
		{method: get, path: "/api/v1/sources/leases", scope: dlq.ScopeRead},
		{method: put, path: "/api/v1/sources/leases", scope: dlq.ScopeAdmin, body: obj{}},
		{method: post, path: "/api/v1/sources/leases/pause", scope: dlq.ScopeAct},
		{method: post, path: "/api/v1/sources/leases/resume", scope: dlq.ScopeAct},
		{method: get, path: apiLookup + "?source=leases&doc_id=1", scope: dlq.ScopeIngest},
	} {
		c.source = "wiki"
		a.do(c).problem(http.StatusNotFound, dlq.KindNotFound)
	}

	bound := func(path string, scope dlq.Scope) apiAnswer {
		return a.do(apiCall{method: get, path: path, scope: scope, source: "wiki"}).want(http.StatusOK)
	}
	for path, want := range map[string]int{apiDeadLetters: 1, apiDeadLetters + "?q=source:leases": 0, "/api/v1/cohorts": 1, "/api/v1/operations": 0, "/api/v1/sources": 1, "/api/v1/alerts": 0} {
		if got := len(bound(path, dlq.ScopeRead).items()); got != want {
			t.Errorf("GET %s lists %d, want %d", path, got, want)
		}
	}
	if linked := bound(apiDeadLetters+"/"+mine.DLQID, dlq.ScopeRead).object()["linked"].([]any); len(linked) != 0 {
		t.Errorf("the entry of the same bytes in another source is shown: %v", linked)
	}
	for _, row := range bound("/api/v1/audit?limit=500", dlq.ScopeAdmin).items() {
		if row["source"] != "wiki" {
			t.Errorf("the audit trail shows %v", row)
		}
	}
	if got := a.entry(theirs.DLQID); got["owner"] != nil || got["status"] != "redriving" {
		t.Errorf("the other source's document was touched: %v", got)
	}
}

func TestATokenOfOneSourceActsOnNothingOfAnother(t *testing.T) {
	a := newAPI(t)
	for _, source := range []string{"wiki", "leases"} {
		a.putSource(source, obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	}
	theirs := a.park(obj{"source": "leases", "doc_id": "1", "payload": "x"})
	mine := a.park(obj{"source": "wiki", "doc_id": "1", "payload": "x"})
	bound := func(path string, body obj) apiAnswer {
		return a.do(apiCall{method: post, path: path, scope: dlq.ScopeAct, source: "wiki", body: body})
	}
	for _, id := range []string{theirs.DLQID, "01JNOWHERE"} { // no difference may be seen
		for path, body := range map[string]obj{"/api/v1/redrives": {"entries": []string{id}, "reason": "x"}, "/api/v1/operations": {"kind": "archive", "entries": []string{id}, "reason": "x"}} {
			o := bound(path, body).want(http.StatusAccepted).object()
			items := a.do(apiCall{method: get, path: "/api/v1/operations/" + o["id"].(string) + "/items", scope: dlq.ScopeRead}).want(http.StatusOK).items()
			if o["state"] != "done" || o["left_out"].(obj)["not_found"] != 1.0 || items[0]["source"] != "" || items[0]["doc_id"] != "" {
				t.Errorf("POST %s for %s was answered %v with the items %v", path, id, o, items)
			}
		}
	}
	unseen := a.post("/api/v1/operations", dlq.ScopeAct, obj{"kind": "archive", "entries": []string{"01JNOWHERE"}, "reason": "a secret plan"}).want(http.StatusAccepted).object()
	a.do(apiCall{method: get, path: "/api/v1/operations/" + unseen["id"].(string), scope: dlq.ScopeRead, source: "wiki"}).problem(http.StatusNotFound, dlq.KindNotFound)
	bound("/api/v1/operations", obj{"kind": "archive", "query": "status:parked", "expect": 1, "reason": "x"}).want(http.StatusAccepted)
	if got := a.entry(theirs.DLQID)["status"]; got != "parked" {
		t.Errorf("the other source's document is %v", got)
	}
	if got := a.entry(mine.DLQID)["status"]; got != "archived" {
		t.Errorf("its own document is %v", got)
	}
	bound("/api/v1/pause", obj{"reason": "x"}).problem(http.StatusForbidden, dlq.KindForbidden)
	bound("/api/v1/resume", obj{"reason": "x"}).problem(http.StatusForbidden, dlq.KindForbidden)

	park := func(envelope obj) apiAnswer {
		return a.do(apiCall{method: post, path: apiDeadLetters, scope: dlq.ScopeIngest, source: "wiki", body: envelope})
	}
	if r := apiInto[dlq.Receipt](park(obj{"doc_id": "9"}).want(http.StatusCreated)); r.Source != "wiki" {
		t.Errorf("a letter without a source was parked under %q", r.Source)
	}
	park(obj{"source": "leases", "doc_id": "9"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := a.do(apiCall{method: post, path: "/api/v1/outcomes", scope: dlq.ScopeOutcome, source: "wiki", body: obj{"source": "leases", "doc_id": "1", "result": "committed"}}).want(http.StatusAccepted).object(); got["applied"] != false || got["dlq_id"] != nil {
		t.Errorf("an outcome of another source was answered %v", got)
	}
	a.do(apiCall{method: post, path: "/api/v1/deployments", scope: dlq.ScopeOutcome, source: "wiki", body: obj{"source": "leases", "component": "parser", "version": "1"}}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
}

// The answer for bytes that another source sent before must not say so.
func TestTwoSourcesThatParkTheSameBytesLearnNothingOfEachOther(t *testing.T) {
	a := newAPI(t)
	park := func(source string) obj {
		return a.do(apiCall{method: post, path: apiDeadLetters, scope: dlq.ScopeIngest, source: source, body: obj{"doc_id": "1", "payload": "shared bytes", "error_type": source + "Error"}}).want(http.StatusCreated).object()
	}
	first, second := park("leases"), park("wiki")
	for _, field := range []string{"dlq_id", "source", "cohort", "fingerprint", "url"} {
		delete(first, field)
		delete(second, field)
	}
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("the first was answered %v, the second %v", first, second)
	}
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{"/api", "/api/v1", "/api/v1/nothing", "/api/v2/dead-letters", apiDeadLetters + "/1/nothing", "/api/v1/%2e%2e/dead-letters"} {
		a.get(path, dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound)
	}
	for _, c := range []apiCall{{method: http.MethodDelete, path: apiDeadLetters}, {method: http.MethodPatch, path: "/api/v1/sources/wiki"}, {method: post, path: "/api/v1/audit"}, {method: put, path: "/api/v1/pause"}} {
		answer := a.do(c)
		answer.problem(http.StatusMethodNotAllowed, "method_not_allowed")
		if answer.header.Get("Allow") == "" {
			t.Errorf("%s: the answer does not say which methods there are", answer.call)
		}
	}
}

func TestEveryGETAnswersHEAD(t *testing.T) {
	a := newAPI(t)
	id := a.park(obj{"source": "wiki", "doc_id": "1", "payload": "x"}).DLQID
	for _, path := range []string{apiDeadLetters, apiDeadLetters + "/" + id, apiDeadLetters + "/" + id + "/payload", "/api/v1/openapi.yaml", "/healthz"} {
		head := a.do(apiCall{method: http.MethodHead, path: path, scope: dlq.ScopeRead}).want(http.StatusOK)
		full := a.get(path, dlq.ScopeRead).want(http.StatusOK)
		if len(head.body) != 0 || head.header.Get("Content-Type") != full.header.Get("Content-Type") {
			t.Errorf("HEAD %s has %d bytes of type %q", path, len(head.body), head.header.Get("Content-Type"))
		}
	}
	a.do(apiCall{method: http.MethodHead, path: apiDeadLetters}).want(http.StatusUnauthorized)
}

func TestAnswersAreForNobodyElse(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{apiDeadLetters, "/api/v1/nothing", "/healthz"} {
		h := a.get(path, dlq.ScopeRead).header
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Server") != "" {
			t.Errorf("GET %s has the headers %v", path, h)
		}
	}
}

// While another connection holds the database, the writer waits: one record is
// with it and one in the queue, and the others must be told at once.
func TestAFullQueueSaysWhenToComeBack(t *testing.T) {
	a := newAPIWith(t, db.Options{Queue: 1, BatchMost: 1}, apiPayloadLimit)
	token := a.token(dlq.ScopeIngest, "")
	other, err := sql.Open("sqlite", "file:"+filepath.Join(a.folder, "dlo.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "begin immediate"); err != nil {
		t.Fatal(err)
	}
	const asked = 6
	answers := make(chan apiAnswer, asked)
	var all sync.WaitGroup
	for i := range asked {
		all.Go(func() {
			answers <- a.do(apiCall{method: post, path: apiDeadLetters, token: token, body: obj{"source": "wiki", "doc_id": fmt.Sprint(i)}})
		})
	}
	stored := 0
	for i := range asked {
		answer := <-answers
		if i == 0 { // refused, for nothing can be stored yet, and not because the wait was over
			if p := answer.problem(http.StatusServiceUnavailable, dlq.KindUnavailable); !strings.Contains(p.Detail, "too much is being written") {
				t.Errorf("the refusal says %q", p.Detail)
			}
			if answer.header.Get("Retry-After") == "" {
				t.Error("the refusal does not say when to come back")
			}
			if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), "rollback"); err != nil {
				t.Fatal(err)
			}
		}
		if answer.status == http.StatusCreated {
			stored++
		}
	}
	all.Wait()
	if got := len(a.get(apiDeadLetters, dlq.ScopeRead).items()); got != stored || stored == 0 {
		t.Errorf("%d are stored, and %d were acknowledged", got, stored)
	}
}

// Many clients write the colon of a fingerprint as %3A, and all of them the
// slash in a source's name as %2F.
func TestAParameterOfThePathMayBePercentEncoded(t *testing.T) {
	a := newAPI(t)
	receipt := a.park(obj{"source": "wiki:north/1 ü", "doc_id": "1"})
	for _, path := range []string{
		"/api/v1/cohorts/" + strings.Replace(receipt.Fingerprint, ":", "%3A", 1),
		"/api/v1/sources/wiki:north%2F1%20%C3%BC",
		"/api/v1/sources/%77iki%3anorth%2f1%20%c3%bc",
	} {
		a.get(path, dlq.ScopeRead).want(http.StatusOK)
	}
	a.do(apiCall{method: put, path: "/api/v1/sources/wiki%3Anorth%2F1%20%C3%BC", scope: dlq.ScopeAdmin, body: obj{"owner": "a@example.com"}}).want(http.StatusOK)
}
