package handlers

import (
	"net/http"
	"strings"
	"testing"

	"dlo/dlq"
)

const apiOperations = "/api/v1/operations"

func TestManyAreAssignedAndDecidedOfByOneOperation(t *testing.T) {
	a := newAPI(t)
	ids := a.parkWithCopies("wiki", 3)
	a.post("/api/v1/outcomes", dlq.ScopeOutcome, obj{"source": "wiki", "doc_id": "0", "result": "committed"}).want(http.StatusOK)
	o := a.post(apiOperations, dlq.ScopeAct, obj{"kind": "assign", "query": "source:wiki", "expect": 3, "reason": "their parser", "owner": "parsers@example.com", "ticket": "OPS-7"}).want(http.StatusAccepted).object()
	if counts := o["counts"].(obj); o["state"] != "done" || counts["settled"] != 3.0 || o["owner"] != "parsers@example.com" || o["ticket"] != "OPS-7" {
		t.Errorf("the operation is %v", o)
	}
	if e := a.entry(ids[1]); e["owner"] != "parsers@example.com" || e["ticket"] != "OPS-7" {
		t.Errorf("a document is looked after by %v, %v", e["owner"], e["ticket"])
	}
	o = a.post(apiOperations, dlq.ScopeAct, obj{"kind": "dispose", "entries": ids, "reason": "the vendor knows", "disposition": "waiting", "until": "date", "date": "2030-01-01"}).want(http.StatusAccepted).object()
	if o["disposition"] != "waiting" || o["until"] != "date" || o["date"] != "2030-01-01T00:00:00Z" || o["left_out"].(obj)["wrong_state"] != 1.0 {
		t.Errorf("the operation is %v", o)
	}
	if e := a.entry(ids[1]); e["disposition"] != "waiting" {
		t.Errorf("nothing was decided of %v", e["doc_id"])
	}
	a.post(apiOperations, dlq.ScopeAct, obj{"kind": "dispose", "entries": ids, "reason": "they answered", "disposition": ""}).want(http.StatusAccepted)
	if e := a.entry(ids[1]); e["disposition"] != "" {
		t.Errorf("it still says %v", e["disposition"])
	}
}

func TestWhatAnOperationNeedsIsNamedForEachKind(t *testing.T) {
	a := newAPI(t)
	id := a.parkWithCopies("wiki", 1)[0]
	for _, c := range []struct {
		body    obj
		pointer string
		says    string
	}{
		{obj{"kind": "hold"}, "/kind", "cannot be held yet"},
		{obj{"kind": "erase"}, "/kind", "cannot be erased yet"},
		{obj{"kind": "probe"}, "/kind", "expected"},
		{obj{"kind": "assign", "ticket": "javascript:alert(1)"}, "/ticket", "https://"},
		{obj{"kind": "dispose"}, "/disposition", "empty text"},
		{obj{"kind": "dispose", "disposition": "lost"}, "/disposition", "accepted_loss"},
		{obj{"kind": "dispose", "disposition": "waiting", "date": "soon"}, "/date", "2026-12-24"},
		{obj{"kind": "extend", "until": "tomorrow"}, "/until", "RFC 3339"},
	} {
		c.body["entries"], c.body["reason"] = []string{id}, "x"
		p := a.post(apiOperations, dlq.ScopeAct, c.body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != c.pointer || !strings.Contains(p.Errors[0].Detail, c.says) {
			t.Errorf("%v: %+v", c.body, p.Errors)
		}
	}
	for _, text := range []string{"a\x00b", "\xff"} {
		for _, field := range []string{"reason", "owner", "ticket"} {
			body := `{"kind":"assign","entries":["` + id + `"],"reason":"x","owner":"x","` + field + `":"` + strings.ReplaceAll(text, "\x00", `\u0000`) + `"}`
			body = strings.Replace(body, `"`+field+`":"x",`, "", 1)
			if got := a.do(apiCall{method: post, path: apiOperations, scope: dlq.ScopeAct, body: body}); got.status != http.StatusUnprocessableEntity && got.status != http.StatusBadRequest {
				t.Errorf("%s of %q: %d", field, text, got.status)
			}
		}
	}
}

func TestATokenOfOneSourceMarksNothingOfAnother(t *testing.T) {
	a := newAPI(t)
	mine, theirs := a.parkWithCopies("wiki", 1)[0], a.parkWithCopies("leases", 1)[0]
	o := a.do(apiCall{method: post, path: apiOperations, scope: dlq.ScopeAct, source: "wiki", body: obj{"kind": "assign", "entries": []string{mine, theirs}, "reason": "x", "owner": "me"}}).want(http.StatusAccepted).object()
	if o["left_out"].(obj)["not_found"] != 1.0 {
		t.Errorf("the operation is %v", o)
	}
	if a.entry(theirs)["owner"] != nil || a.entry(mine)["owner"] != "me" {
		t.Errorf("owners are %v and %v", a.entry(theirs)["owner"], a.entry(mine)["owner"])
	}
}
