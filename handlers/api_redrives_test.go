package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/outbound"
	"dlo/dlq"
	"dlo/dlq/client"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
)

const apiRedrives = "/api/v1/redrives"

func (a *apiServer) parkWithCopies(source string, n int) []string {
	a.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = a.park(obj{"source": source, "doc_id": fmt.Sprint(i), "payload": fmt.Sprintf("document %d of %s", i, source), "error_type": "PDFSyntaxError", "parser_version": "pdf@1"}).DLQID
	}
	return ids
}

func TestARedriveGoesOnlyIfAsManyMatchAsSomebodySaw(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	a.parkWithCopies("wiki", 3)
	p := a.post(apiRedrives, dlq.ScopeAct, obj{"query": "source:wiki status:parked", "expect": 2, "reason": "a fix"}).problem(http.StatusConflict, dlq.KindConflict)
	if !strings.Contains(p.Detail, "2 matched") || !strings.Contains(p.Detail, "3 match now") {
		t.Errorf("the refusal does not name both numbers: %s", p.Detail)
	}
	if rows := a.get(apiDeadLetters+"?q=status:redriving", dlq.ScopeRead).items(); len(rows) != 0 {
		t.Errorf("%d documents went all the same", len(rows))
	}
	o := a.post(apiRedrives, dlq.ScopeAct, obj{"query": "source:wiki status:parked", "expect": 3, "reason": "a fix"}).want(http.StatusAccepted).object()
	if counts := o["counts"].(obj); o["state"] != "running" || o["kind"] != "redrive" || counts["in_flight"] != 1.0 || counts["waiting"] != 2.0 || o["query"] != "source:wiki status:parked" || o["actor"] != "act@" {
		t.Errorf("the operation is %v", o)
	}
	if rows := a.get(apiDeadLetters+"?q=status:redriving", dlq.ScopeRead).items(); len(rows) != 1 {
		t.Errorf("when the answer came %d documents were redriving, want the first step's one", len(rows))
	}
	id := o["id"].(string)
	a.post("/api/v1/operations/"+id+"/next", dlq.ScopeAct, obj{"rest": true}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	o = a.post("/api/v1/operations/"+id+"/next", dlq.ScopeAct, obj{"rest": true, "reason": "three are few"}).want(http.StatusOK).object()
	if counts := o["counts"].(obj); counts["in_flight"] != 3.0 || o["step"] != 2.0 || len(o["steps"].([]any)) != 2 {
		t.Errorf("after the rest was asked for: %v", o)
	}
	a.post("/api/v1/operations/"+id+"/next", dlq.ScopeAct, nil).problem(http.StatusConflict, dlq.KindConflict)
	o = a.post("/api/v1/operations/"+id+"/go-on", dlq.ScopeAct, obj{"go_on": false, "returns": true}).want(http.StatusOK).object()
	if o["go_on"] != false {
		t.Errorf("after it was told to wait for somebody: %v", o)
	}
}

func TestWhatIsLeftOutSaysWhy(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	act := func(id, action string) string {
		a.post(apiDeadLetters+"/"+id+"/"+action, dlq.ScopeAct, nil).want(http.StatusOK)
		return id
	}
	ids := a.parkWithCopies("wiki", 5)
	noTarget := a.parkWithCopies("leases", 1)[0]
	noKey := a.park(obj{"source": "wiki", "doc_id": "no key"}).DLQID
	noPayload := a.park(obj{"source": "wiki", "doc_id": "no payload", "content_hash": digestOf("a key")}).DLQID
	a.post("/api/v1/outcomes", dlq.ScopeOutcome, obj{"source": "wiki", "doc_id": "2", "result": "committed"}).want(http.StatusOK)
	a.post(apiRedrives, dlq.ScopeAct, obj{"entries": []string{ids[3]}, "reason": "first"}).want(http.StatusAccepted)
	poisoned := a.park(obj{"source": "wiki", "doc_id": "poisoned", "payload": "p", "redrive_count": 3}).DLQID
	entries := []string{act(ids[0], "quarantine"), act(ids[1], "archive"), ids[2], ids[3], ids[4], noTarget, noKey, noPayload, poisoned, "01JNOWHERE", ids[4]}

	o := a.post(apiRedrives, dlq.ScopeAct, obj{"entries": entries, "mode": "held", "reason": "a fix", "expect": 10}).want(http.StatusAccepted).object()
	want := map[string]float64{"quarantined": 2, "archived": 1, "resolved": 1, "in_flight": 1, "no_target": 1, "no_identity": 1, "no_payload": 1, "not_found": 1}
	left := o["left_out"].(obj)
	for why, n := range want {
		if left[why] != n {
			t.Errorf("%s: %v are left out, want %v", why, left[why], n)
		}
	}
	if counts := o["counts"].(obj); len(left) != len(want) || counts["left_out"] != 9.0 || counts["in_flight"] != 1.0 || o["total"] != 10.0 {
		t.Errorf("the operation is %v", o)
	}
	path := "/api/v1/operations/" + o["id"].(string)
	items := a.get(path+"/items", dlq.ScopeRead).want(http.StatusOK).items()
	if len(items) != 10 || items[0]["why"] != "quarantined" || items[4]["state"] != "in_flight" || items[4]["why"] != "" || items[9]["why"] != "not_found" {
		t.Errorf("the items are %v", items)
	}
	if only := a.get(path+"/items?state=in_flight", dlq.ScopeRead).items(); len(only) != 1 || only[0]["doc_id"] != "4" {
		t.Errorf("in flight are %v", only)
	}
	a.get(path+"/items?state=lost", dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	a.get(path+"/items?cursor=x", dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	var paged []obj
	for cursor, n := "", 0; n < 6; n++ {
		answer := a.get(path+"/items?limit=3&cursor="+cursor, dlq.ScopeRead).want(http.StatusOK)
		paged = append(paged, answer.items()...)
		if cursor = answer.object()["next"].(string); cursor == "" {
			break
		}
	}
	if len(paged) != 10 {
		t.Errorf("on pages of 3 there are %d items", len(paged))
	}
	if got := a.entry(poisoned)["status"]; got != "quarantined" {
		t.Errorf("a document that failed at the threshold is %v", got)
	}
}

func TestWhatARedriveNeedsIsNamed(t *testing.T) {
	a := newAPI(t)
	for _, c := range []struct {
		path string
		body obj
		want []string
	}{
		{apiRedrives, obj{}, []string{"/entries", "/reason"}},
		{apiRedrives, obj{"entries": []string{"1"}, "query": "status:parked", "reason": "x"}, []string{"/query"}},
		{apiRedrives, obj{"query": "status:parked", "reason": "x", "expect": -1}, []string{"/expect"}},
		{apiRedrives, obj{"query": "status:parked", "reason": "x", "mode": "both", "rate": -1, "concurrency": -1, "stop_share": 2, "canary": []int{0}}, []string{"/mode", "/rate", "/concurrency", "/stop_share", "/canary"}},
		{apiRedrives, obj{"query": "colour:red", "reason": "x"}, []string{"/q"}},
		{apiRedrives, obj{"kind": "archive", "query": "status:parked", "reason": "x"}, []string{"/kind"}},
		{apiRedrives, obj{"entries": []string{"1"}, "reason": strings.Repeat("x", 2001)}, []string{"/reason"}},
		{apiRedrives, obj{"entries": []string{"1"}, "reason": "x", "Expect": 1}, []string{"/Expect"}},
		{"/api/v1/operations", obj{"kind": "explode", "query": "status:parked", "reason": "x"}, []string{"/kind"}},
		{"/api/v1/operations", obj{"kind": "release", "query": "status:quarantined", "reason": "x"}, []string{"/grant"}},
		{"/api/v1/operations", obj{"kind": "extend", "query": "status:parked", "reason": "x"}, []string{"/days"}},
	} {
		if got := pointersOf(a.post(c.path, dlq.ScopeAct, c.body).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, c.want) {
			t.Errorf("%v is refused at %q, want %q", c.body, got, c.want)
		}
	}
	if rows := a.get("/api/v1/operations", dlq.ScopeRead).items(); len(rows) != 0 {
		t.Errorf("%d operations were begun", len(rows))
	}
}

func TestAnotherRequestForADocumentOnItsWayIsAnsweredWithItsOperation(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	id := a.parkWithCopies("wiki", 1)[0]
	body := obj{"entries": []string{id}, "reason": "x"}
	first := a.post(apiRedrives, dlq.ScopeAct, body).want(http.StatusAccepted).object()
	second := a.post(apiRedrives, dlq.ScopeAct, body).want(http.StatusAccepted).object()
	if first["id"] != second["id"] {
		t.Errorf("the first is %v, the second %v", first["id"], second["id"])
	}
}

func TestAnOperationPausesResumesAndIsCancelled(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	a.parkWithCopies("wiki", 3)
	o := a.post(apiRedrives, dlq.ScopeAct, obj{"query": "status:parked", "reason": "x", "concurrency": 1}).want(http.StatusAccepted).object()
	if counts := o["counts"].(obj); counts["in_flight"] != 1.0 || counts["waiting"] != 2.0 {
		t.Errorf("with a concurrency of 1 the counts are %v", counts)
	}
	path := "/api/v1/operations/" + o["id"].(string)
	for _, step := range []struct {
		move, state string
		status      int
	}{{"resume", "running", 409}, {"pause", "paused", 200}, {"pause", "paused", 409}, {"resume", "running", 200}, {"cancel", "cancelled", 200}, {"resume", "cancelled", 409}, {"pause", "cancelled", 409}} {
		answer := a.post(path+"/"+step.move, dlq.ScopeAct, nil).want(step.status)
		if step.status == http.StatusConflict {
			if p := answer.problem(http.StatusConflict, dlq.KindConflict); !strings.Contains(p.Detail, step.state) {
				t.Errorf("the refusal of %s does not name the state: %s", step.move, p.Detail)
			}
			continue
		}
		if got := answer.object()["state"]; got != step.state {
			t.Errorf("after %s it is %v, want %s", step.move, got, step.state)
		}
	}
	if rows := a.get(apiDeadLetters+"?q=status:parked", dlq.ScopeRead).items(); len(rows) != 3 {
		t.Errorf("after the cancellation %d documents are parked, want 3", len(rows))
	}
	for range 3 {
		a.post("/api/v1/operations", dlq.ScopeAct, obj{"kind": "extend", "query": "status:parked", "days": 1, "reason": "x"}).want(http.StatusAccepted)
	}
	page := a.get("/api/v1/operations?limit=3", dlq.ScopeRead).want(http.StatusOK)
	rest := a.get("/api/v1/operations?limit=3&cursor="+page.object()["next"].(string), dlq.ScopeRead).want(http.StatusOK)
	if len(page.items()) != 3 || len(rest.items()) != 1 || rest.items()[0]["id"] != o["id"] || rest.object()["next"] != "" {
		t.Errorf("the pages of operations have %d and %d", len(page.items()), len(rest.items()))
	}
	a.get("/api/v1/operations/01JNOWHERE", dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound)
}

func TestActionsOnManyLeaveOutWhatTheirStateForbids(t *testing.T) {
	a := newAPI(t)
	ids := a.parkWithCopies("wiki", 3)
	a.post("/api/v1/outcomes", dlq.ScopeOutcome, obj{"source": "wiki", "doc_id": "0", "result": "committed"}).want(http.StatusOK)
	for _, kind := range []struct {
		body    obj
		settled float64
		left    string
	}{
		{obj{"kind": "quarantine"}, 2, "wrong_state"}, {obj{"kind": "release", "grant": "reset"}, 2, "wrong_state"}, {obj{"kind": "extend", "days": 7}, 2, "wrong_state"},
		{obj{"kind": "extend", "days": 9000}, 0, "past_max_ttl"}, {obj{"kind": "archive"}, 2, "wrong_state"}, {obj{"kind": "restore"}, 2, "wrong_state"},
	} {
		kind.body["entries"], kind.body["reason"], kind.body["expect"] = ids, "x", 3
		o := a.post("/api/v1/operations", dlq.ScopeAct, kind.body).want(http.StatusAccepted).object()
		if counts := o["counts"].(obj); o["state"] != "done" || counts["settled"] != kind.settled || o["left_out"].(obj)[kind.left] == nil {
			t.Errorf("%v ended as %v", kind.body["kind"], o)
		}
	}
}

// pipeline takes redrives as one does: it checks the signature, fetches the
// bytes by the link alone, and answers.
type pipeline struct {
	server *httptest.Server
	took   chan client.Redrive
	bytes  chan string
}

func startPipeline(t *testing.T) *pipeline {
	t.Helper()
	p := &pipeline{took: make(chan client.Redrive, 10), bytes: make(chan string, 10)}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		v := client.Verifier{Secrets: []string{apiSecret}, Now: func() time.Time { return apiStart }}
		redriven, err := v.Redrive(r.Header, body)
		if err != nil {
			t.Errorf("the delivery is not signed as it should be: %v", err)
		}
		if r.Header.Get("Idempotency-Key") != redriven.ContentHash || r.Header.Get("webhook-id") != redriven.RedriveID || r.Header.Get("traceparent") == "" {
			t.Errorf("the delivery has the headers %v", r.Header)
		}
		res, err := http.Get(redriven.PayloadURL)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		document, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		p.bytes <- string(document)
		p.took <- redriven
	}))
	t.Cleanup(p.server.Close)
	return p
}

// dispatch carries operations forward until the test ends.
func (a *apiServer) dispatch() {
	a.t.Helper()
	runner := redrive.NewRunner(redrive.Options{Store: a.store, Sender: webhook.New(a.guard.Client(outbound.Options{Timeout: 10 * time.Second}), a.clock.Now), Payloads: a.payloads, Links: a.links,
		Prober: a.handlers.Prober, Reading: probe.Read, Clock: a.clock.Now, Owner: "a test", ReplyTo: a.url + "/api/v1/outcomes", Poll: 10 * time.Millisecond, Grace: time.Second,
		Report: func(err error) { a.t.Errorf("dispatch: %v", err) }})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { runner.Run(ctx) })
	a.t.Cleanup(func() { stop(); running.Wait() })
}

func TestADocumentGoesBackToItsPipelineAndItsOutcomeIsJudged(t *testing.T) {
	a := newAPI(t)
	p := startPipeline(t)
	a.allow(p.server.URL)
	a.putSource("wiki", obj{"redrive": obj{"url": p.server.URL, "secret": apiSecret}})
	id := a.parkWithCopies("wiki", 1)[0]
	a.dispatch()
	o := a.post(apiRedrives, dlq.ScopeAct, obj{"entries": []string{id}, "reason": "a fix"}).want(http.StatusAccepted).object()
	sent := <-p.took
	if got := <-p.bytes; got != "document 0 of wiki" {
		t.Errorf("by its link the pipeline got %q", got)
	}
	if sent.DLQID != id || sent.Source != "wiki" || sent.DocID != "0" || sent.Mode != "held" || sent.PayloadSHA256 != digestOf("document 0 of wiki") || sent.ReplyTo != a.url+"/api/v1/outcomes" || sent.RedriveCount != 1 {
		t.Errorf("the pipeline got %+v", sent)
	}
	report := obj{"redrive_id": sent.RedriveID, "result": "committed", "parser_version": "pdf@2", "at": apiStart.Format(time.RFC3339)}
	for range 2 { // told twice, it is one
		if got := a.post("/api/v1/outcomes", dlq.ScopeOutcome, report).want(http.StatusOK).object(); got["applied"] != true || got["status"] != "resolved" || got["dlq_id"] != id {
			t.Errorf("the outcome was answered %v", got)
		}
	}
	entry := a.entry(id)
	redrives := entry["redrives"].([]any)
	if entry["status"] != "resolved" || entry["resolution"] != "committed" || entry["redrive_count"] != 1.0 || len(redrives) != 1 {
		t.Fatalf("the entry is %v", entry)
	}
	verdict := redrives[0].(obj)["verdict"].(obj)
	if verdict["name"] != "fixed_by_code" || verdict["bytes"] != "unchanged" || verdict["grade"] != "digest" || verdict["code"] != "moved" || !slices.Equal(verdict["moved"].([]any), []any{"parser"}) {
		t.Errorf("the verdict is %v", verdict)
	}
	item := a.get("/api/v1/operations/"+o["id"].(string)+"/items", dlq.ScopeRead).items()[0]
	if item["state"] != "settled" || item["outcome"] != "committed" || item["verdict"] != "fixed_by_code" || item["redrive_id"] != sent.RedriveID {
		t.Errorf("the item is %v", item)
	}
	done := a.get("/api/v1/operations/"+o["id"].(string), dlq.ScopeRead).object()
	if done["state"] != "done" || done["outcomes"].(obj)["committed"] != 1.0 {
		t.Errorf("the operation is %v", done)
	}
	if cohort := a.get("/api/v1/cohorts/"+entry["cohort"].(string), dlq.ScopeRead).object(); len(cohort["redrives"].([]any)) != 1 {
		t.Errorf("the cohort shows the redrives %v", cohort["redrives"])
	}
}
