package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/dlq/client"
)

// ledgerTarget is a pipeline that keeps a ledger: what it was sent, and what that
// did. It keeps the promises of a pipeline and no others: one commit a key, and an
// outcome that is reported until the server has answered.
type ledgerTarget struct {
	*httptest.Server
	verifier client.Verifier
	office   *api
	outcomes chan map[string]any
	ended    sync.WaitGroup
	quit     chan struct{}

	mu       sync.Mutex
	receipts map[string]int    // deliveries by redrive
	redrives map[string]string // document of each redrive
	effects  map[string]int    // commits by key
	commits  map[string]int    // commits by document
	refused  []string
	reported int
	received func(client.Redrive)      // called with each delivery, before it is answered
	answers  func(client.Redrive) bool // whether the outcome stands in the answer; nil: never
	fails    func(client.Redrive) bool // whether the document fails again; nil: never
}

func newLedgerTarget(t *testing.T, office *api, secret string) *ledgerTarget {
	g := &ledgerTarget{verifier: client.Verifier{Secrets: []string{secret}}, office: office, outcomes: make(chan map[string]any, 200_000), quit: make(chan struct{}),
		receipts: map[string]int{}, redrives: map[string]string{}, effects: map[string]int{}, commits: map[string]int{}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.take))
	for range 4 {
		g.ended.Go(g.report)
	}
	t.Cleanup(func() {
		close(g.quit)
		g.ended.Wait()
		g.Close()
	})
	return g
}

func (g *ledgerTarget) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it broke off: nothing was taken
	}
	d, err := g.verifier.Redrive(r.Header, body)
	if err == nil && r.Header.Get("Idempotency-Key") != d.ContentHash {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		g.mu.Lock()
		g.refused = append(g.refused, err.Error())
		g.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	g.mu.Lock()
	received := g.received
	g.mu.Unlock()
	if received != nil {
		received(d)
	}
	outcome := g.work(d)
	if g.answers != nil && g.answers(d) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(outcome) // a server that is gone asks again
		return
	}
	w.WriteHeader(http.StatusAccepted)
	g.outcomes <- outcome
}

// work commits a document once a key, and gives the outcome.
func (g *ledgerTarget) work(d client.Redrive) map[string]any {
	o := map[string]any{"redrive_id": d.RedriveID, "parser_version": "2"}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.receipts[d.RedriveID]++
	g.redrives[d.RedriveID] = d.DocID
	switch {
	case g.fails != nil && g.fails(d):
		o["result"], o["error_type"], o["error_message"] = "failed", "OtherError", "fails still"
	default:
		o["result"] = "committed"
		if g.effects[d.ContentHash] == 0 {
			g.effects[d.ContentHash]++
			g.commits[d.DocID]++
		}
	}
	return o
}

// report reports outcomes, each until it was answered.
func (g *ledgerTarget) report() {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-g.quit:
			return
		case o := <-g.outcomes:
			for {
				status, err := g.office.call(http.MethodPost, "/outcomes", o, nil)
				if err == nil {
					break
				}
				if status >= 400 && status < 500 && status != http.StatusTooManyRequests {
					g.mu.Lock()
					g.refused = append(g.refused, err.Error())
					g.mu.Unlock()
					break
				}
				select {
				case <-g.quit:
					return
				case <-again.C:
				}
			}
			g.mu.Lock()
			g.reported++
			g.mu.Unlock()
		}
	}
}

// look reads the ledger.
func (g *ledgerTarget) look(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

var chaosSecret = "whsec_" + strings.Repeat("QUJD", 8)

// applyLedgerSource gives a source a ledger as its target.
func applyLedgerSource(office *api, name string, g *ledgerTarget) {
	office.t.Helper()
	office.must(http.MethodPut, "/sources/"+name, map[string]any{"name": name,
		"redrive":  map[string]any{"url": g.URL, "secret": chaosSecret, "rate": 2000, "concurrency": 32, "retry": map[string]any{"budget": "1h", "first": "50ms", "max": "200ms"}},
		"outcomes": map[string]any{"mode": "reported", "timeout": "24h"}}, nil)
}
