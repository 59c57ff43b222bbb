package handlers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
)

const apiSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8G"

func TestAPolicyIsReplacedWholeAndSecretsAreKeptAndNeverShown(t *testing.T) {
	a := newAPI(t)
	put := func(body obj) apiAnswer {
		return a.do(apiCall{method: put, path: "/api/v1/sources/wiki", scope: dlq.ScopeAdmin, body: body})
	}
	first := put(obj{"owner": "search-platform@example.com", "poison_threshold": 5, "limits": obj{"quota_bytes": "1GiB"}, "retention": obj{"entry_ttl": "1d12h"},
		"redrive": obj{"url": "https://pipeline.example.com/redrive", "secret": apiSecret, "rate": 7.5}, "alerts": obj{"url": "https://router.example.com/alerts", "secret": apiSecret}}).want(http.StatusCreated).object()
	if first["signed"] != true || first["poison_threshold"] != 5.0 || first["retention"].(obj)["entry_ttl"] != "1d12h" || first["limits"].(obj)["quota_bytes"] != "1GiB" {
		t.Errorf("the policy is %v", first)
	}
	second := put(obj{"name": "wiki", "redrive": obj{"url": "https://pipeline.example.com/redrive"}}).want(http.StatusOK).object()
	if second["signed"] != true || second["poison_threshold"] != 3.0 || second["owner"] != nil || second["redrive"].(obj)["rate"] != 50.0 {
		t.Errorf("what was left out is not the default, or the secret is gone: %v", second)
	}
	if kept, err := a.store.RedriveSecrets(t.Context(), "wiki"); err != nil || len(kept) != 1 || kept[0] != apiSecret {
		t.Errorf("the secret was not kept: %v", err)
	}
	for _, answer := range []apiAnswer{a.get("/api/v1/sources", dlq.ScopeRead), a.get("/api/v1/sources/wiki", dlq.ScopeRead), a.get("/api/v1/audit?limit=500", dlq.ScopeAdmin)} {
		if strings.Contains(string(answer.want(http.StatusOK).body), "whsec_") {
			t.Errorf("%s shows a secret", answer.call)
		}
	}
	if strings.Contains(a.log.String(), "whsec_") {
		t.Error("the log holds a secret")
	}
	a.get("/api/v1/sources/nowhere", dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound)
}

func TestEveryFaultOfAPolicyIsNamed(t *testing.T) {
	a := newAPI(t)
	put := func(body any) apiAnswer {
		return a.do(apiCall{method: put, path: "/api/v1/sources/wiki", scope: dlq.ScopeAdmin, body: body})
	}
	p := put(obj{"redrive": obj{"url": "ftp://x", "secret": "hunter2", "mode": "both", "rate": 0, "concurrency": 0, "retry": obj{"first": "0s"}},
		"probe": obj{"url": "https://wiki.example.com/doc", "etag_from": "cookie:x", "fetch": "often", "headers": obj{"Authorization": "Bearer abc"}}, "outcomes": obj{"mode": "check", "timeout": "0s"},
		"retention": obj{"entry_ttl": "1s", "max_ttl": "1ms"}, "poison_threshold": 0, "confidence_floor": 2, "limits": obj{"depth": -1}, "alerts": obj{"url": "javascript:alert(1)"}, "runbook": strings.Repeat("x", 16<<10+1)}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	want := []string{"/alerts/url", "/confidence_floor", "/limits/depth", "/outcomes/check_url", "/outcomes/timeout", "/poison_threshold", "/probe/etag_from", "/probe/fetch", "/probe/headers/Authorization", "/probe/url",
		"/redrive/concurrency", "/redrive/mode", "/redrive/rate", "/redrive/retry", "/redrive/secret", "/redrive/url", "/retention/entry_ttl", "/retention/max_ttl", "/runbook"}
	got := pointersOf(p)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the faults are named at\n%q, want\n%q", got, want)
	}
	if p := put(obj{"posion_threshold": 5}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid); len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Pointer+p.Errors[0].Detail, "posion_threshold") {
		t.Errorf("a misspelt field is answered %v", p.Errors)
	}
	if p := put(obj{"name": "leases"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid); !slices.Equal(pointersOf(p), []string{"/name"}) {
		t.Errorf("another name is refused at %q", pointersOf(p))
	}
	put(obj{"retention": obj{"entry_ttl": "soon"}}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	put(`{"owner":"a","owner":"b"}`).problem(http.StatusBadRequest, dlq.KindMalformed)
	a.do(apiCall{method: http.MethodPut, path: "/api/v1/sources/wiki", scope: dlq.ScopeAdmin, body: "name: wiki", contentType: "application/yaml"}).problem(http.StatusUnsupportedMediaType, dlq.KindUnsupported)
	a.get("/api/v1/sources/wiki", dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound) // nothing of it was kept
}

func TestTheFirstLetterMakesItsSourceWithTheDefaults(t *testing.T) {
	a := newAPI(t)
	a.park(obj{"source": "new", "doc_id": "1"})
	got := a.get("/api/v1/sources/new", dlq.ScopeRead).want(http.StatusOK).object()
	redrive := got["redrive"].(obj)
	if redrive["url"] != nil || redrive["mode"] != "auto" || got["retention"].(obj)["record_ttl"] != "forever" || got["signed"] != false || got["last_arrival_at"] != "2026-03-02T10:00:00Z" {
		t.Errorf("the source is %v", got)
	}
}

func TestADeploymentReplacesWhatRanUnlessItIsRolling(t *testing.T) {
	a := newAPI(t)
	deploy := func(body obj) []any {
		t.Helper()
		body["source"], body["component"] = "wiki", "parser"
		running := a.post("/api/v1/deployments", dlq.ScopeOutcome, body).want(http.StatusOK).object()["running"].(obj)
		parser, _ := running["parser"].([]any)
		return parser
	}
	for _, step := range []struct {
		body obj
		want []any
	}{
		{obj{"version": "pdf@1"}, []any{"pdf@1"}},
		{obj{"version": "pdf@2"}, []any{"pdf@2"}},
		{obj{"version": "pdf@3", "stopped": []string{}}, []any{"pdf@2", "pdf@3"}},
		{obj{"stopped": []string{"pdf@2"}}, []any{"pdf@3"}},
		{obj{"version": "pdf@1"}, []any{"pdf@1"}}, // a rollback
	} {
		if got := deploy(step.body); !slices.Equal(got, step.want) {
			t.Errorf("after %v runs %v, want %v", step.body, got, step.want)
		}
	}
	if got := a.get("/api/v1/sources/wiki", dlq.ScopeRead).object()["running"].(obj)["parser"].([]any); !slices.Equal(got, []any{"pdf@1"}) {
		t.Errorf("the source shows %v", got)
	}
	p := a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := pointersOf(p); !slices.Equal(got, []string{"/source", "/component", "/version"}) {
		t.Errorf("the faults are named at %q", got)
	}
}

func TestRedrivesPauseForASourceAndForAll(t *testing.T) {
	a := newAPI(t)
	a.park(obj{"source": "wiki", "doc_id": "1"})
	if got := a.post("/api/v1/sources/wiki/pause", dlq.ScopeAct, obj{"reason": "a migration"}).want(http.StatusOK).object(); got["paused"] != true || got["paused_by"] != "act@" {
		t.Errorf("the source says %v, %v", got["paused"], got["paused_by"])
	}
	if got := a.post("/api/v1/sources/wiki/resume", dlq.ScopeAct, nil).want(http.StatusOK).object(); got["paused"] != false {
		t.Errorf("the source says %v", got["paused"])
	}
	a.post("/api/v1/sources/nowhere/pause", dlq.ScopeAct, nil).problem(http.StatusNotFound, dlq.KindNotFound)
	a.post("/api/v1/pause", dlq.ScopeAct, obj{"reason": "an incident"}).want(http.StatusOK)
	if by, err := a.store.Paused(t.Context()); err != nil || by != "act@" {
		t.Errorf("all redrives are paused by %q, %v", by, err)
	}
	a.post("/api/v1/resume", dlq.ScopeAct, nil).want(http.StatusOK)
	if by, err := a.store.Paused(t.Context()); err != nil || by != "" {
		t.Errorf("all redrives are still paused by %q, %v", by, err)
	}
}
