package handlers

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestReadyFailsWithoutThePayloadFolderAndTheProcessStaysUp(t *testing.T) {
	a := newAPI(t)
	ask := func(path string) apiAnswer { return a.do(apiCall{method: http.MethodGet, path: path}) }
	ask("/readyz").want(http.StatusOK)
	ask("/healthz").want(http.StatusOK)
	if err := os.RemoveAll(filepath.Join(a.folder, "blobs")); err != nil {
		t.Fatal(err)
	}
	a.clock.forward(readyFor)
	answer := ask("/readyz").want(http.StatusServiceUnavailable)
	if answer.header.Get("Retry-After") == "" || strings.Contains(string(answer.body), a.folder) {
		t.Errorf("not ready is told as %q with %v", answer.body, answer.header)
	}
	ask("/healthz").want(http.StatusOK)
	a.post(apiDeadLetters, "ingest", obj{"source": "wiki", "doc_id": "1"}).want(http.StatusCreated) // the record is safe without bytes
	answer = a.post(apiDeadLetters, "ingest", obj{"source": "wiki", "doc_id": "2", "payload": "x"})
	answer.problem(http.StatusServiceUnavailable, "unavailable")
	if strings.Contains(string(answer.body), a.folder) {
		t.Error("the answer names a folder")
	}
}

// countedPayloads is a payload store that counts how often it is looked at, and
// takes a look only when it is let.
type countedPayloads struct {
	Payloads
	looks atomic.Int32
	let   chan struct{}
}

func (p *countedPayloads) Ping(ctx context.Context) error {
	p.looks.Add(1)
	<-p.let
	return p.Payloads.Ping(ctx)
}

func TestAskingWhetherItIsReadyCostsOneLookASecond(t *testing.T) {
	a := newAPI(t)
	payloads := &countedPayloads{Payloads: a.handlers.Payloads, let: make(chan struct{})}
	a.handlers.Payloads = payloads
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { a.do(apiCall{method: http.MethodGet, path: "/readyz"}).want(http.StatusOK) })
	}
	close(payloads.let)
	all.Wait()
	if n := payloads.looks.Load(); n != 1 {
		t.Errorf("20 who asked within a second made it look %d times", n)
	}
	a.clock.forward(readyFor)
	a.do(apiCall{method: http.MethodGet, path: "/readyz"}).want(http.StatusOK)
	if n := payloads.looks.Load(); n != 2 {
		t.Errorf("a second later it has looked %d times", n)
	}
}

func TestAFailureInsideTellsNothingOfTheInside(t *testing.T) {
	a := newAPI(t)
	id := a.park(obj{"source": "wiki", "doc_id": "1"}).DLQID
	if err := os.Truncate(filepath.Join(a.folder, "dlo.db"), 4096); err != nil {
		t.Fatal(err)
	}
	_ = os.Truncate(filepath.Join(a.folder, "dlo.db-wal"), 0) // what it held is then missing
	for _, path := range []string{apiDeadLetters, apiDeadLetters + "/" + id, "/api/v1/cohorts"} {
		answer := a.do(apiCall{method: http.MethodGet, path: path, token: "dlo_aaaaaaaaaaaaaaaa_" + strings.Repeat("A", 43)})
		answer.problem(http.StatusInternalServerError, "internal")
		for _, inside := range []string{"SQLITE", "sqlite", "goroutine", a.folder, "select ", "malformed database"} {
			if strings.Contains(string(answer.body), inside) {
				t.Errorf("%s tells %q: %s", path, inside, answer.body)
			}
		}
	}
	a.do(apiCall{method: http.MethodGet, path: "/healthz"}).want(http.StatusOK)
}
