package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/outbound"
	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
)

type faultsBench struct {
	Deliveries int `default:"100000" help:"Documents that are redriven."`
}

const (
	leastFaults = 0.30 // of all deliveries
	answerTime  = 400 * time.Millisecond
	runnerLives = 3 * time.Second // then it is cut off, and another goes on
)

// Run redrives documents to a target that fails at least three deliveries in ten,
// in every way that one can, and stops the runner again and again. At the end
// nothing may be lost, and nothing committed twice: the target keeps what it has
// committed by the id of the redrive, and counts its effects by the document's key.
func (b faultsBench) Run(ctx context.Context) error {
	return withStore(ctx, db.Options{Clock: time.Now}, func(store *db.Store) error {
		d, err := newDrain(ctx, store)
		if err != nil {
			return err
		}
		defer d.close()
		bad := newFaultyTarget(store)
		defer bad.Close()
		p := dlq.DefaultPolicy(redriven)
		p.Redrive.URL, p.Redrive.Rate, p.Redrive.Concurrency = bad.URL, 10_000, 400
		p.Redrive.Retry = dlq.RetryPolicy{Budget: dlq.Forever, First: dlq.Duration(50 * time.Millisecond), Max: dlq.Duration(400 * time.Millisecond)}
		p.Outcomes.Mode = dlq.OutcomesResponse
		if _, _, err := store.PutSource(ctx, dlq.Policy("bench"), p); err != nil {
			return err
		}
		if err := d.park(ctx, b.Deliveries); err != nil {
			return err
		}
		o, err := d.start(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		lives, err := d.live(ctx, o.ID)
		if err != nil {
			return err
		}
		fmt.Printf("redrove %d documents in %.0f s, over %d stops of the runner\n", b.Deliveries, time.Since(began).Seconds(), lives-1)
		return bad.verify(ctx, store, o.ID, b.Deliveries)
	})
}

// live runs one runner after the other, each cut off in the middle of its sends,
// until the operation has ended.
func (d *drain) live(ctx context.Context, operationID string) (lives int, err error) {
	loopback, err := outbound.ParseAllow("127.0.0.0/8")
	if err != nil {
		return 0, err
	}
	sender := outbound.New(outbound.Options{Allow: loopback, IdlePerHost: 256, Timeout: answerTime})
	for {
		lives++
		runner := redrive.NewRunner(redrive.Options{Store: d.store, Sender: webhook.New(sender, time.Now), Payloads: d.payloads, Reading: probe.Read, Clock: time.Now,
			Owner: fmt.Sprintf("bench %d", lives), FirstTry: 100 * time.Millisecond, Poll: 100 * time.Millisecond})
		life, stop := context.WithTimeout(ctx, runnerLives)
		var running sync.WaitGroup
		running.Go(func() { runner.Run(life) })
		state, err := d.until(life, operationID)
		stop()
		running.Wait()
		if lives%20 == 0 {
			o, err := d.store.Operation(ctx, operationID)
			if err != nil {
				return lives, err
			}
			fmt.Printf("  after %d runners %d are settled, %d wait\n", lives, o.Counts[dlq.ItemSettled], o.Counts[dlq.ItemWaiting])
		}
		if state == dlq.OperationDone || err != nil {
			return lives, err
		}
		if ctx.Err() != nil {
			return lives, ctx.Err()
		}
	}
}

// until waits for the end of an operation, or of the context.
func (d *drain) until(ctx context.Context, operationID string) (dlq.OperationState, error) {
	for {
		o, err := d.store.Operation(context.WithoutCancel(ctx), operationID)
		if err != nil || o.State.Ended() {
			return o.State, err
		}
		if o.State == dlq.OperationPaused && o.Asks != dlq.AsksTarget || o.State == dlq.OperationStopped {
			return o.State, fmt.Errorf("the operation is %s: %s", o.State, o.Why)
		}
		select {
		case <-ctx.Done():
			return o.State, nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// faultyTarget is a pipeline that commits each redrive once, and fails in every
// way on the way there.
type faultyTarget struct {
	*httptest.Server
	reporter *redrive.Reporter

	mu        sync.Mutex
	committed map[string]bool // by the id of the redrive, as a pipeline is told to
	effects   map[string]int  // by the document's key
	sent      int
	faults    map[string]int
}

func newFaultyTarget(store *db.Store) *faultyTarget {
	t := &faultyTarget{committed: map[string]bool{}, effects: map[string]int{}, faults: map[string]int{}, reporter: &redrive.Reporter{Store: store, Clock: time.Now}}
	t.Server = httptest.NewServer(http.HandlerFunc(t.take))
	return t
}

// The faults, by how many of a hundred deliveries have one.
var faultShares = []struct {
	name  string
	share int
}{
	{"500", 7}, {"503 with Retry-After", 3}, {"429 with Retry-After", 5}, {"reset", 6}, {"no answer in time", 2},
	{"reset after the commit", 6}, {"no answer in time after the commit", 2}, {"outcome told before its answer", 4}, {"outcome told twice and again", 4},
}

func (t *faultyTarget) take(w http.ResponseWriter, r *http.Request) {
	var body struct {
		RedriveID   string `json:"redrive_id"`
		ContentHash string `json:"content_hash"`
	}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil || body.RedriveID == "" || body.RedriveID != r.Header.Get("Webhook-Id") || body.ContentHash == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	t.mu.Lock()
	t.sent++
	fault := faultOf(fmt.Sprintf("%s %d", body.RedriveID, t.sent))
	if fault != "" {
		t.faults[fault]++
	}
	t.mu.Unlock()
	switch fault {
	case "500":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "503 with Retry-After", "429 with Retry-After":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusTooManyRequests}[fault[0] == '5'])
		return
	case "reset":
		reset(w)
		return
	case "no answer in time":
		time.Sleep(answerTime + 100*time.Millisecond)
		reset(w)
		return
	}
	again := t.commit(body.RedriveID, body.ContentHash)
	switch fault {
	case "reset after the commit":
		reset(w)
		return
	case "no answer in time after the commit":
		time.Sleep(answerTime + 100*time.Millisecond)
		reset(w)
		return
	case "outcome told before its answer":
		t.tell(body.RedriveID)
	case "outcome told twice and again":
		t.tell(body.RedriveID)
		t.tell(body.RedriveID)
		defer t.tell(body.RedriveID)
	}
	if again {
		w.WriteHeader(http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// commit does what the pipeline is for, once for each redrive.
func (t *faultyTarget) commit(redriveID, key string) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.committed[redriveID] {
		return true
	}
	t.committed[redriveID] = true
	t.effects[key]++
	return false
}

// tell reports the outcome as a pipeline does by itself, beside its answer.
func (t *faultyTarget) tell(redriveID string) {
	by := dlq.Actor{Kind: dlq.ActorToken, ID: "bench", Name: "bench", Scopes: []dlq.Scope{dlq.ScopeOutcome}}
	body, err := json.Marshal(map[string]string{"redrive_id": redriveID, "result": "committed"})
	if err == nil {
		_, err = t.reporter.Report(context.Background(), by, body)
	}
	if err != nil {
		fmt.Println("an outcome was not taken:", err)
	}
}

// reset closes a connection without an answer.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func faultOf(draw string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(draw))
	n := int(h.Sum32() >> 8 % 100)
	for _, f := range faultShares {
		if n -= f.share; n < 0 {
			return f.name
		}
	}
	return ""
}

// verify holds the target's table against the store.
func (t *faultyTarget) verify(ctx context.Context, store *db.Store, operationID string, documents int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	faults, twice := 0, 0
	for _, f := range faultShares {
		fmt.Printf("  %-40s %6d\n", f.name, t.faults[f.name])
		faults += t.faults[f.name]
	}
	for _, n := range t.effects {
		if n > 1 {
			twice++
		}
	}
	outcomes, err := store.OutcomeCounts(ctx, operationID)
	if err != nil {
		return err
	}
	settled := outcomes[dlq.OutcomeCommitted] + outcomes[dlq.OutcomeSkipped]
	share := float64(faults) / float64(t.sent)
	fmt.Printf("%d deliveries of %d documents, %.0f %% of them with a fault; settled as committed %d, as skipped %d\n", t.sent, documents, 100*share, outcomes[dlq.OutcomeCommitted], outcomes[dlq.OutcomeSkipped])
	fmt.Printf("lost %d (at most 0), committed twice %d (at most 0)\n", documents-len(t.effects), twice)
	switch {
	case share < leastFaults:
		return fmt.Errorf("faults: only %.0f %% of the deliveries failed", 100*share)
	case len(t.effects) != documents || twice > 0:
		return fmt.Errorf("faults: %d documents have an effect, %d more than one, of %d", len(t.effects), twice, documents)
	case settled != int64(documents):
		return errors.New("faults: not every document is settled as committed")
	}
	return nil
}
