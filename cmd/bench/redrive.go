package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/outbound"
	"dlo/connectors/payload"
	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
)

const (
	prepareRate  = 15_000                 // P10, entries a second
	prepareP99   = 250 * time.Millisecond // P10, of an arrival's acknowledgement meanwhile
	queueRate    = 500                    // redrives a second: what a queue's own redrive does at most
	redriveTimes = 10.0                   // P11, times that
	redriven     = "redriven"             // the source that is redriven; arrivals are of others
)

type redriveBench struct {
	scale
	Idle bool `help:"Without arrivals meanwhile: what the redrive alone costs. The bounds stay."`
}

// Run prepares a redrive of everything in a source (P10) and drains it to a target
// on loopback whose answer is its outcome (P11), both while 256 producers record
// what arrives as fast as it is taken.
func (b redriveBench) Run(ctx context.Context) error {
	entries := 20_000
	if b.Scale == "full" {
		entries = 100_000
	}
	var prepared, sent float64
	var p99 time.Duration
	err := withStore(ctx, db.Options{Clock: time.Now}, func(store *db.Store) error {
		bench, err := newDrain(ctx, store)
		if err != nil {
			return err
		}
		defer bench.close()
		if err := bench.park(ctx, entries); err != nil {
			return err
		}
		idle := b.Idle
		load := startLoad(ctx, store, idle)
		began := time.Now()
		o, err := bench.start(ctx)
		if err != nil {
			return errors.Join(err, load.stop())
		}
		prepared, p99 = float64(entries)/time.Since(began).Seconds(), load.p99()
		fmt.Printf("prepared %d entries in %.1f s: %.0f a second, meanwhile %.0f arrivals a second, p99 of an acknowledgement %d ms\n",
			entries, time.Since(began).Seconds(), prepared, load.rate(), p99.Milliseconds())
		load.reset()
		began = time.Now()
		if err := bench.drain(ctx, o.ID); err != nil {
			return errors.Join(err, load.stop())
		}
		sent = float64(entries) / time.Since(began).Seconds()
		fmt.Printf("redrove %d entries in %.1f s: %.0f a second, meanwhile %.0f arrivals a second, p99 of an acknowledgement %d ms\n",
			entries, time.Since(began).Seconds(), sent, load.rate(), load.p99().Milliseconds())
		return errors.Join(load.stop(), bench.verify(ctx, o.ID, entries))
	})
	if err != nil {
		return err
	}
	times := sent / queueRate
	fmt.Printf("P10 %.0f entries a second are prepared (at least %d), with a p99 of arrivals of %d ms (at most %d)\n", prepared, prepareRate, p99.Milliseconds(), prepareP99.Milliseconds())
	fmt.Printf("P11 redrive is %.1f times %d a second (at least %.1f)\n", times, queueRate, redriveTimes)
	if prepared < prepareRate || p99 > prepareP99 || times < redriveTimes {
		return fmt.Errorf("redrive: below its bound")
	}
	return nil
}

// drain is a source full of what is parked, with a target on loopback.
type drain struct {
	store    *db.Store
	blobs    string
	payloads payload.Store
	digest   string
	target   *httptest.Server
	got      atomic.Int64
	runner   *redrive.Runner
	failures atomic.Pointer[error]
}

const heldDocument = "a document of which a copy is held, and checked before each redrive\n"

func newDrain(ctx context.Context, store *db.Store) (*drain, error) {
	d := &drain{store: store}
	var err error
	if d.blobs, err = os.MkdirTemp("", "dlo-bench-blobs-"); err != nil {
		return nil, err
	}
	if d.payloads, err = payload.Open("file:" + d.blobs); err != nil {
		return nil, err
	}
	text := bytes.Repeat([]byte(heldDocument), 60) // 4 KB
	if _, err = d.payloads.Put(ctx, bytes.NewReader(text), 1<<20); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	d.digest = hex.EncodeToString(sum[:])
	d.target = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d.got.Add(1)
		w.WriteHeader(http.StatusOK)
	}))
	p := dlq.DefaultPolicy(redriven)
	p.Redrive.URL, p.Redrive.Rate, p.Redrive.Concurrency = d.target.URL, 10_000, 10_000
	p.Outcomes.Mode = dlq.OutcomesResponse
	if _, _, err := store.PutSource(ctx, dlq.Policy("bench"), p); err != nil {
		return nil, err
	}
	for component, version := range map[string]string{"parser": "parser@next", "connector": "connector@3"} {
		if _, err := store.RecordDeployment(ctx, dlq.Policy("bench"), redriven, component, version, nil); err != nil {
			return nil, err
		}
	}
	loopback, err := outbound.ParseAllow("127.0.0.0/8")
	if err != nil {
		return nil, err
	}
	sender := outbound.New(outbound.Options{Allow: loopback, IdlePerHost: 256, Timeout: 30 * time.Second})
	d.runner = redrive.NewRunner(redrive.Options{Store: store, Sender: webhook.New(sender, time.Now), Payloads: d.payloads, Reading: probe.Read, Clock: time.Now, Owner: "bench", Grace: 10 * time.Second,
		Report: func(err error) { d.failures.CompareAndSwap(nil, &err) }})
	return d, nil
}

func (d *drain) close() {
	d.target.Close()
	_ = d.payloads.Close()
	_ = os.RemoveAll(d.blobs)
}

// park parks entries: of every other one a copy is held, of the rest the pipeline
// has to fetch the document itself.
func (d *drain) park(ctx context.Context, entries int) error {
	const slice = 500
	for from := 0; from < entries; from += slice {
		list := make([]dlq.Arrival, 0, slice)
		for n := from; n < min(from+slice, entries); n++ {
			a := arrival(n)
			a.Envelope.Source, a.EventKey = redriven, fmt.Sprintf("redriven-%d", n)
			a.Envelope.ContentHash = fmt.Sprintf("%064x", 1<<40+n)
			if n%2 == 0 {
				a.Envelope.PayloadSHA256, a.Held, a.HeldBytes = d.digest, true, 4096
			} else {
				a.Envelope.PayloadURI = "https://wiki.example.com/" + a.Envelope.DocID
			}
			list = append(list, a)
		}
		if _, err := d.store.RecordArrivals(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

func (d *drain) start(ctx context.Context) (dlq.Operation, error) {
	planner := &redrive.Planner{Store: d.store, Clock: time.Now}
	by := dlq.Actor{Kind: dlq.ActorPerson, ID: "bench", Name: "bench", Role: dlq.RoleReviewer}
	return planner.Start(ctx, by, redrive.Request{Kind: dlq.OperationRedrive, Query: "source:" + redriven, Expect: redrive.NotSaid, Reason: "bench", AcceptUnknown: true, Canary: []int{}, PauseShare: 1, Returns: true})
}

// drain lets a runner work until its operation has ended.
func (d *drain) drain(ctx context.Context, operationID string) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { d.runner.Run(ctx) })
	defer running.Wait()
	defer stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if err := d.failures.Load(); err != nil {
			return *err
		}
		o, err := d.store.Operation(ctx, operationID)
		if err != nil {
			return err
		}
		switch o.State {
		case dlq.OperationRunning:
		case dlq.OperationDone:
			return nil
		default:
			return fmt.Errorf("the operation is %s: %s", o.State, o.Why)
		}
	}
}

// verify holds what the target got against what the store says of it.
func (d *drain) verify(ctx context.Context, operationID string, entries int) error {
	outcomes, err := d.store.OutcomeCounts(ctx, operationID)
	if err != nil {
		return err
	}
	if got := d.got.Load(); got != int64(entries) || outcomes[dlq.OutcomeCommitted] != int64(entries) {
		return fmt.Errorf("of %d entries the target got %d, and %d count as committed", entries, got, outcomes[dlq.OutcomeCommitted])
	}
	return nil
}

// load is producers that record what arrives as fast as it is taken.
type load struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
	failed atomic.Pointer[error]

	mu    sync.Mutex
	began time.Time
	took  []time.Duration
}

func startLoad(ctx context.Context, store *db.Store, idle bool) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel, began: time.Now()}
	if idle {
		return l
	}
	var next atomic.Int64
	for range producers {
		l.all.Go(func() {
			for ctx.Err() == nil {
				a := arrival(int(next.Add(1)))
				began := time.Now()
				_, err := store.RecordArrival(ctx, a)
				took := time.Since(began)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					l.failed.CompareAndSwap(nil, &err)
					return
				}
				l.mu.Lock()
				l.took = append(l.took, took)
				l.mu.Unlock()
			}
		})
	}
	time.Sleep(300 * time.Millisecond) // until the writer is as busy as it gets
	l.reset()
	return l
}

func (l *load) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began, l.took = time.Now(), nil
}

func (l *load) rate() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(len(l.took)) / time.Since(l.began).Seconds()
}

func (l *load) p99() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.took))
	return sorted[len(sorted)*99/100]
}

func (l *load) stop() error {
	l.cancel()
	l.all.Wait()
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}
