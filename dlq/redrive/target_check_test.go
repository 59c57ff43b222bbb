package redrive_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/outbound"
	"dlo/dlq"
	"dlo/dlq/client"
	"dlo/dlq/redrive"
)

// pipelineOf is a target with habits: the good one has none of them.
type pipelineOf struct {
	takesForgeries bool // does not check signatures
	commitsTwice   bool // looks for the key, and commits without holding it
	forgetsVersion bool // lets an older version in
	refusesAgain   bool // answers 400 to what it knows
	answersNothing bool // 202, and tells nobody
	conflicts      bool // 409 in place of skipped
	busy           bool // 503 to the second delivery

	mu        sync.Mutex
	committed map[string]bool
	newest    map[string]int64
	unmarked  int
	reports   map[string]dlq.OutcomeResult
}

func (p *pipelineOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d, err := client.VerifyRedrive(r.Header, body, secret)
	if err != nil && !p.takesForgeries {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if err != nil {
		_ = json.Unmarshal(body, &d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !d.Test || r.Header.Get(webhook.TestHeader) != "true" {
		p.unmarked++
	}
	known, older := p.committed[d.ContentHash], *d.IngestSeq < p.newest[d.DocID]
	result := dlq.OutcomeCommitted
	switch {
	case known && p.busy:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case known && p.refusesAgain:
		w.WriteHeader(http.StatusBadRequest)
		return
	case known && p.conflicts:
		w.WriteHeader(http.StatusConflict)
		return
	case known && !p.commitsTwice:
		result = dlq.OutcomeSkipped
	case older && !p.forgetsVersion:
		result = dlq.OutcomeSuperseded
	}
	if result == dlq.OutcomeCommitted {
		p.committed[d.ContentHash] = true
		p.newest[d.DocID] = max(p.newest[d.DocID], *d.IngestSeq)
	}
	if p.answersNothing {
		if p.reports[d.RedriveID] == "" {
			p.reports[d.RedriveID] = result
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"redrive_id": d.RedriveID, "result": result})
}

func (p *pipelineOf) check(t *testing.T, change func(*redrive.TargetCheck)) redrive.TargetReport {
	t.Helper()
	p.committed, p.newest, p.reports = map[string]bool{}, map[string]int64{}, map[string]dlq.OutcomeResult{}
	server := httptest.NewServer(p)
	defer server.Close()
	c := &redrive.TargetCheck{Sender: webhook.New(&http.Client{}, time.Now), Clock: time.Now, URL: server.URL, Secret: secret}
	if change != nil {
		change(c)
	}
	return c.Run(context.Background())
}

func states(r redrive.TargetReport) string {
	var out []string
	for _, p := range r.Promises {
		out = append(out, string(p.State))
	}
	return strings.Join(out, ", ")
}

func TestATargetIsHeldToWhatItPromises(t *testing.T) {
	for name, c := range map[string]struct {
		target *pipelineOf
		want   string // signature, takes, commits once, supersedes
	}{
		"a good one":                    {&pipelineOf{}, "kept, kept, kept, kept"},
		"a good one that answers 409":   {&pipelineOf{conflicts: true}, "kept, kept, kept, kept"},
		"it takes forgeries":            {&pipelineOf{takesForgeries: true}, "broken, kept, kept, kept"},
		"it commits twice":              {&pipelineOf{commitsTwice: true}, "kept, kept, broken, kept"},
		"it lets an older version in":   {&pipelineOf{forgetsVersion: true}, "kept, kept, kept, broken"},
		"it refuses what it knows":      {&pipelineOf{refusesAgain: true}, "kept, broken, not told, kept"},
		"it takes and tells nobody":     {&pipelineOf{answersNothing: true}, "kept, kept, not told, not told"},
		"it is busy at the second":      {&pipelineOf{busy: true}, "kept, not told, not told, kept"},
		"it takes all, and checks none": {&pipelineOf{takesForgeries: true, commitsTwice: true, forgetsVersion: true}, "broken, kept, broken, broken"},
	} {
		r := c.target.check(t, nil)
		if got := states(r); got != c.want || r.Unchecked != "" {
			t.Errorf("%s: %s, want %s: %+v", name, got, c.want, r.Promises)
		}
		if c.target.unmarked > 0 {
			t.Errorf("%s: %d deliveries are not marked as tests", name, c.target.unmarked)
		}
		for _, p := range r.Promises {
			if p.Says == "" || strings.Contains(p.Says, "127.0.0.1") || strings.Contains(p.Says, "whsec_") {
				t.Errorf("%s: %s says %q", name, p.Name, p.Says)
			}
		}
	}
}

func TestOutcomesThatAreReportedAreListenedFor(t *testing.T) {
	p := &pipelineOf{answersNothing: true}
	r := p.check(t, func(c *redrive.TargetCheck) {
		c.Heard = func(_ context.Context, ids []string) map[string]dlq.OutcomeResult {
			p.mu.Lock()
			defer p.mu.Unlock()
			out := map[string]dlq.OutcomeResult{}
			for _, id := range ids {
				out[id] = p.reports[id]
			}
			return out
		}
	})
	if got := states(r); got != "kept, kept, kept, kept" {
		t.Errorf("%s: %+v", got, r.Promises)
	}
}

func TestATargetThatCannotBeReachedIsNotChecked(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]*redrive.TargetCheck{
		"nothing listens":       {Sender: webhook.New(&http.Client{}, time.Now), URL: gone.URL},
		"our own guard refuses": {Sender: webhook.New(outbound.New(outbound.Options{}), time.Now), URL: "http://10.0.0.5/redrive"},
	} {
		c.Clock = time.Now
		if r := c.Run(context.Background()); r.Unchecked == "" || len(r.Promises) > 0 || len(r.Deliveries) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestWithoutASecretNothingIsSaidOfSignatures(t *testing.T) {
	p := &pipelineOf{takesForgeries: true}
	if r := p.check(t, func(c *redrive.TargetCheck) { c.Secret = "" }); states(r) != "kept, kept, kept" {
		t.Errorf("%s: %+v", states(r), r.Promises)
	}
}
