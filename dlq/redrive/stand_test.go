package redrive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/payload"
	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/fingerprint"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
)

var (
	reviewer = dlq.Actor{Kind: dlq.ActorPerson, ID: "p1", Name: "reviewer@example.com", Role: dlq.RoleReviewer}
	pipeline = dlq.Actor{Kind: dlq.ActorToken, ID: "t1", Name: "pipeline", Scopes: []dlq.Scope{dlq.ScopeIngest, dlq.ScopeOutcome}}
	secret   = "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// standTime is when tests begin.
var standTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// stand is a whole dead letter office with a store, a payload store and a target.
type stand struct {
	t        *testing.T
	ctx      context.Context
	clock    *clock
	store    *db.Store
	payloads payload.Store
	blobs    string
	target   *target
	policy   dlq.SourcePolicy
	o        redrive.Options
	seq      int
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{t: t, ctx: context.Background(), clock: &clock{now: standTime}}
	dir := t.TempDir()
	var err error
	s.store, err = db.Open(s.ctx, db.Options{Path: filepath.Join(dir, "dlo.db"), Key: make([]byte, 32), Clock: s.clock.Now, Synchronous: "OFF"})
	s.must(err)
	t.Cleanup(func() { s.store.Close() })
	s.blobs = filepath.Join(dir, "blobs")
	s.payloads, err = payload.Open("file:" + s.blobs)
	s.must(err)
	t.Cleanup(func() { s.payloads.Close() })
	s.target = newTarget(t)
	s.policy = dlq.DefaultPolicy("wiki")
	s.policy.Redrive.URL, s.policy.Redrive.Secret = s.target.URL+"/redrive", secret
	s.policy.Redrive.Rate = 1000
	s.put(s.policy)
	s.o = redrive.Options{Store: s.store, Sender: webhook.New(&http.Client{}, s.clock.Now), Payloads: s.payloads, Clock: s.clock.Now, Owner: "test", Reading: probe.Read,
		Jitter: func() float64 { return 1 }, Report: func(error) {}}
	return s
}

func (s *stand) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) put(p dlq.SourcePolicy) {
	s.t.Helper()
	_, _, err := s.store.PutSource(s.ctx, reviewer, p)
	s.must(err)
}

// digest is the SHA-256 of a text, which is what test documents are made of.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// park parks a document whose bytes are the text, which is stored. More fields
// of the envelope come as JSON.
func (s *stand) park(docID, text, more string) string {
	s.t.Helper()
	_, err := s.payloads.Put(s.ctx, bytes.NewReader([]byte(text)), 1<<20)
	s.must(err)
	return s.arrive(docID, text, true, more)
}

// parkUnheld parks a document whose bytes only the source has.
func (s *stand) parkUnheld(docID, text, more string) string {
	s.t.Helper()
	return s.arrive(docID, text, false, more)
}

func (s *stand) arrive(docID, text string, held bool, more string) string {
	s.t.Helper()
	fields := map[string]any{"source": "wiki", "doc_id": docID, "payload_sha256": digest(text), "error_type": "ValueError", "parser_version": "2.4.1"}
	if more != "" {
		s.must(json.Unmarshal([]byte(more), &fields))
	}
	body, err := json.Marshal(fields)
	s.must(err)
	e, err := dlq.ParseEnvelope(body, s.clock.Now())
	s.must(err)
	now := s.clock.Now()
	if e.LastSeenAt == nil {
		e.LastSeenAt = &now
	}
	if e.FirstSeenAt == nil {
		e.FirstSeenAt = e.LastSeenAt
	}
	s.seq++
	receipt, err := s.store.RecordArrival(s.ctx, dlq.Arrival{Envelope: e, ReceivedAt: now, EventKey: fmt.Sprint(s.seq), Held: held, HeldBytes: int64(len(text)), Actor: pipeline,
		Fingerprint: fingerprint.OfEnvelope(e)})
	s.must(err)
	return receipt.DLQID
}

func (s *stand) planner() *redrive.Planner {
	return &redrive.Planner{Store: s.store, Clock: s.clock.Now}
}

func (s *stand) reporter() *redrive.Reporter {
	return &redrive.Reporter{Store: s.store, Clock: s.clock.Now}
}

func (s *stand) start(ids ...string) dlq.Operation {
	s.t.Helper()
	return s.ask(redrive.Request{Entries: ids})
}

// ask starts a request, with what a test of something else need not say.
func (s *stand) ask(r redrive.Request) dlq.Operation {
	s.t.Helper()
	if r.Kind == "" {
		r.Kind = dlq.OperationRedrive
	}
	if r.Expect == 0 {
		r.Expect = redrive.NotSaid
	}
	r.Reason = "the parser was fixed"
	o, err := s.planner().Start(s.ctx, reviewer, r)
	s.must(err)
	return o
}

// run lets a runner work until nothing is left to do at this time.
func (s *stand) run() {
	s.t.Helper()
	r := redrive.NewRunner(s.o)
	for range 1000 {
		did, err := r.RunOnce(s.ctx)
		s.must(err)
		if did == 0 {
			return
		}
	}
	s.t.Fatal("the runner finds something to do for ever")
}

func (s *stand) entry(id string) dlq.Entry {
	s.t.Helper()
	e, err := s.store.Entry(s.ctx, reviewer, id)
	s.must(err)
	return e
}

func (s *stand) status(id string) dlq.Status { return s.entry(id).Status }

// redrives are an entry's, newest first.
func (s *stand) redrives(id string) []dlq.Redrive {
	s.t.Helper()
	list, err := s.store.RedrivesOf(s.ctx, s.entry(id).ID, 100)
	s.must(err)
	return list
}

func (s *stand) redrive(id string) dlq.Redrive {
	s.t.Helper()
	list := s.redrives(id)
	if len(list) == 0 {
		s.t.Fatalf("%s was never redriven", id)
	}
	return list[0]
}

func (s *stand) operation(id string) dlq.Operation {
	s.t.Helper()
	o, err := s.store.Operation(s.ctx, id)
	s.must(err)
	return o
}

func (s *stand) leftOut(o dlq.Operation) map[dlq.LeftOut]int64 {
	s.t.Helper()
	m, err := s.store.LeftOutCounts(s.ctx, o.ID)
	s.must(err)
	return m
}

// delivered is one delivery as a target received it.
type delivered struct {
	header http.Header
	raw    []byte
	body   map[string]any
}

func (d delivered) text(name string) string {
	s, _ := d.body[name].(string)
	return s
}

// target is a pipeline that remembers what it was sent, and answers as told.
type target struct {
	*httptest.Server
	mu       sync.Mutex
	received []delivered
	answer   http.HandlerFunc
}

func newTarget(t *testing.T) *target {
	g := &target{answer: answer(202, "")}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		d := delivered{header: r.Header.Clone(), raw: raw}
		_ = json.Unmarshal(raw, &d.body)
		g.mu.Lock()
		g.received = append(g.received, d)
		reply := g.answer
		g.mu.Unlock()
		reply(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *target) answers(h http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = h
}

func (g *target) got() []delivered {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]delivered(nil), g.received...)
}

// answer is a handler with a status, a body, and headers as name and value.
func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// inTurn answers with one handler after the other, and then with the last.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[min(n, len(handlers)-1)]
		n++
		mu.Unlock()
		h(w, r)
	}
}
