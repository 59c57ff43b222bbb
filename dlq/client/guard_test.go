package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dlo/dlq"
)

// parkedHere keeps what was parked, and can refuse it.
type parkedHere struct {
	envelopes []dlq.Envelope
	payloads  []string // "none" where none came
	err       error
}

func (p *parkedHere) Park(_ context.Context, e dlq.Envelope, payload io.Reader) (Parked, error) {
	if p.err != nil {
		return Parked{}, p.err
	}
	text := "none"
	if payload != nil {
		b, err := io.ReadAll(payload)
		if err != nil {
			return Parked{}, err
		}
		text = string(b)
	}
	p.envelopes, p.payloads = append(p.envelopes, e), append(p.payloads, text)
	return Parked{DLQID: "01J", Status: "parked"}, nil
}

// ruleError is an error of a pipeline that knows its own class.
type ruleError struct{}

func (ruleError) Error() string                  { return "the term ends before it starts" }
func (ruleError) FailureClass() dlq.FailureClass { return dlq.ClassPermanentInput }

func fails(err error) func(context.Context, *Attempt) error {
	return func(context.Context, *Attempt) error { return err }
}

// TestTheTaxonomyAtEachCount is the table of docs/domain.md, Why it failed: each
// class at each count of the queue, with deliveries that were given back.
func TestTheTaxonomyAtEachCount(t *testing.T) {
	cause := errors.New("why")
	wrapped := func(err error) error { return fmt.Errorf("while it was read: %w", err) }
	type back = Returned
	const done, again, parked = ActDone, ActRedeliver, ActParked
	for _, c := range []struct {
		name    string
		err     error
		guard   *Guard
		count   int
		back    back
		want    Action
		class   dlq.FailureClass
		started bool // the handler was called
	}{
		{"nothing wrong", nil, &Guard{}, 1, back{}, done, "", true},
		{"nothing wrong, later", nil, &Guard{}, 4, back{3, 0}, done, "", true},

		{"transient 1", wrapped(Transient(cause)), &Guard{}, 1, back{}, again, dlq.ClassTransient, true},
		{"transient 2", Transient(cause), &Guard{}, 2, back{1, 0}, again, dlq.ClassTransient, true},
		{"transient 5, the last second try is left", Transient(cause), &Guard{}, 5, back{4, 0}, again, dlq.ClassTransient, true},
		{"transient 6, exhausted", Transient(cause), &Guard{}, 6, back{5, 0}, parked, dlq.ClassTransient, true},
		{"transient 6 of up to 8", Transient(cause), &Guard{TransientTries: 8}, 6, back{5, 0}, again, dlq.ClassTransient, true},
		{"transient 8 of up to 8", Transient(cause), &Guard{TransientTries: 8}, 8, back{7, 0}, again, dlq.ClassTransient, true},
		{"transient 9 of up to 8", Transient(cause), &Guard{TransientTries: 8}, 9, back{8, 0}, parked, dlq.ClassTransient, true},
		{"transient never under 5", Transient(cause), &Guard{TransientTries: 1}, 5, back{4, 0}, again, dlq.ClassTransient, true},
		{"transient never over 8", Transient(cause), &Guard{TransientTries: 50}, 9, back{8, 0}, parked, dlq.ClassTransient, true},
		{"transient, one death between", Transient(cause), &Guard{}, 4, back{2, 0}, again, dlq.ClassTransient, true},
		{"transient 6 after four that met an open circuit", Transient(cause), &Guard{}, 6, back{5, 4}, again, dlq.ClassTransient, true},
		{"a connection was reset", wrapped(syscall.ECONNRESET), &Guard{}, 1, back{}, again, dlq.ClassTransient, true},
		{"a time-out", wrapped(context.DeadlineExceeded), &Guard{}, 1, back{}, again, dlq.ClassTransient, true},
		{"the source answers 503", Answered(503, cause), &Guard{}, 5, back{4, 0}, again, dlq.ClassTransient, true},
		{"the source answers 429", Answered(429, cause), &Guard{}, 6, back{5, 0}, parked, dlq.ClassTransient, true},

		{"ambiguous 1", wrapped(Parse(cause)), &Guard{}, 1, back{}, again, dlq.ClassAmbiguousParse, true},
		{"ambiguous 2", Parse(cause), &Guard{}, 2, back{1, 0}, parked, dlq.ClassAmbiguousParse, true},
		{"ambiguous 2 after a death", Parse(cause), &Guard{}, 2, back{}, parked, dlq.ClassAmbiguousParse, true},
		{"ambiguous 3 after an open circuit", Parse(cause), &Guard{}, 2, back{1, 1}, again, dlq.ClassAmbiguousParse, true},
		{"ambiguous 3 after a stop and a try", Parse(cause), &Guard{}, 3, back{2, 1}, parked, dlq.ClassAmbiguousParse, true},
		{"the outermost class wins", Parse(wrapped(Transient(cause))), &Guard{}, 2, back{1, 0}, parked, dlq.ClassAmbiguousParse, true},
		{"no class 1", cause, &Guard{}, 1, back{}, again, "", true},
		{"no class 2", cause, &Guard{}, 2, back{1, 0}, parked, "", true},

		{"permanent 1, encrypted", wrapped(Encrypted(cause)), &Guard{}, 1, back{}, parked, dlq.ClassPermanentInput, true},
		{"permanent 1, unsupported", Unsupported(cause), &Guard{}, 1, back{}, parked, dlq.ClassPermanentInput, true},
		{"permanent 1, by the error's own word", wrapped(ruleError{}), &Guard{}, 1, back{}, parked, dlq.ClassPermanentInput, true},
		{"permanent 3", Encrypted(cause), &Guard{}, 3, back{2, 0}, parked, dlq.ClassPermanentInput, true},
		{"contract 1", wrapped(Contract(cause)), &Guard{}, 1, back{}, parked, dlq.ClassDownstreamContract, true},
		{"contract 2", Contract(cause), &Guard{}, 2, back{1, 0}, parked, dlq.ClassDownstreamContract, true},

		{"one death", nil, &Guard{}, 2, back{}, done, "", true},
		{"two deaths", nil, &Guard{}, 3, back{}, parked, dlq.ClassResourceFatal, false},
		{"three deaths", nil, &Guard{}, 4, back{}, parked, dlq.ClassResourceFatal, false},
		{"two given back are no deaths", nil, &Guard{}, 3, back{2, 0}, done, "", true},
		{"one given back, one death", nil, &Guard{}, 3, back{1, 0}, done, "", true},
		{"one given back, two deaths", nil, &Guard{}, 4, back{1, 0}, parked, dlq.ClassResourceFatal, false},
		{"five given back, two deaths", nil, &Guard{}, 8, back{5, 0}, parked, dlq.ClassResourceFatal, false},
		{"given back before any work, two deaths", nil, &Guard{}, 5, back{2, 2}, parked, dlq.ClassResourceFatal, false},
		{"more given back than delivered", nil, &Guard{}, 3, back{9, 9}, done, "", true},
		{"the strict reading, no death", nil, &Guard{FatalAfter: 1}, 1, back{}, done, "", true},
		{"the strict reading, one death", nil, &Guard{FatalAfter: 1}, 2, back{}, parked, dlq.ClassResourceFatal, false},
		{"the strict reading, one given back", nil, &Guard{FatalAfter: 1}, 2, back{1, 0}, done, "", true},

		{"a queue that does not count, first", Parse(cause), &Guard{}, 0, back{}, again, dlq.ClassAmbiguousParse, true},
		{"a queue that does not count, second", Parse(cause), &Guard{}, 0, back{1, 0}, parked, dlq.ClassAmbiguousParse, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, parker, tries := context.Background(), &parkedHere{}, &MemoryTries{}
			guard := c.guard
			guard.Park, guard.Tries = parker, tries
			d := Delivery{ID: "m1", ReceiveCount: c.count, Source: "leases", DocID: "LS-1"}
			for i := range c.back.Deliveries {
				if err := tries.Return(ctx, d.key(), i >= c.back.Untried); err != nil {
					t.Fatal(err)
				}
			}
			started := false
			got := guard.Handle(ctx, d, nil, func(context.Context, *Attempt) error {
				started = true
				return c.err
			})
			if got.Do != c.want || started != c.started || (c.want != again && c.want != done && got.Class != c.class) {
				t.Fatalf("got %s as %q, the handler called: %v; want %s as %q, %v\n%s", got.Do, got.Class, started, c.want, c.class, c.started, got.Why)
			}
			if got.Acknowledge() == (c.want == again) {
				t.Errorf("acknowledge: %v", got.Acknowledge())
			}
			after, _ := tries.Load(ctx, d.key())
			if c.want == again {
				if got.After <= 0 || len(parker.envelopes) > 0 {
					t.Errorf("given back for %s, and %d parked", got.After, len(parker.envelopes))
				}
				if want := min(c.back.Deliveries, max(c.count-1, 0)); c.count > 0 && after.Deliveries != want+1 {
					t.Errorf("%d deliveries are known as given back, want %d", after.Deliveries, want+1)
				}
				return
			}
			if after != (Returned{}) {
				t.Errorf("a settled message leaves %+v behind", after)
			}
			if c.want == parked && (len(parker.envelopes) != 1 || parker.envelopes[0].ErrorClass != string(c.class)) {
				t.Errorf("parked %+v", parker.envelopes)
			}
		})
	}
}

func TestADocumentThatKillsItsWorkersIsParkedWithoutBeingOpened(t *testing.T) {
	parker := &parkedHere{}
	guard := Guard{Park: parker}
	d := Delivery{ID: "m1", ReceiveCount: 3, Source: "rent-rolls", DocID: "RR-9", Envelope: dlq.Envelope{ParserVersion: "p@1", Filename: "a.xlsx"}, Open: Bytes([]byte("raw"))}
	got := guard.Handle(context.Background(), d, nil, fails(errors.New("never called")))
	var none *NoAnswerError
	if got.Do != ActParked || !errors.As(got.Err, &none) || none.Deliveries != 2 {
		t.Fatalf("got %+v", got)
	}
	e := parker.envelopes[0]
	if e.ErrorType != "client.NoAnswerError" || e.ErrorMessage != "two deliveries ended without an answer" || e.StackTrace != "" || e.Reason != "exception" {
		t.Errorf("the dead letter says %q, %q, %q, and a trace of %d bytes", e.Reason, e.ErrorType, e.ErrorMessage, len(e.StackTrace))
	}
	if *e.Attempts != 2 || e.ParserVersion != "p@1" || e.Filename != "a.xlsx" || e.Source != "rent-rolls" || e.DocID != "RR-9" || e.EventID != "m1" || parker.payloads[0] != "raw" {
		t.Errorf("%d attempts, %+v, payload %q", *e.Attempts, e, parker.payloads[0])
	}
	d.Open = func(context.Context) (io.ReadCloser, error) { return nil, errors.New("the source is away") }
	if got := guard.Handle(context.Background(), d, nil, fails(nil)); got.Do != ActParked || parker.payloads[1] != "none" {
		t.Errorf("without bytes: got %+v with %q", got, parker.payloads[1])
	}
}

func TestWhatCouldNotBeParkedIsNotAcknowledgedAndKeepsItsCount(t *testing.T) {
	ctx, parker := context.Background(), &parkedHere{err: &Error{Status: 503, RetryAfter: time.Hour}}
	guard := Guard{Park: parker}
	deliver := func(count int, err error) Decision {
		return guard.Handle(ctx, Delivery{ID: "m1", ReceiveCount: count, Source: "s", DocID: "d"}, nil, fails(err))
	}
	for count, err := range map[int]error{1: Encrypted(errors.New("why")), 2: Contract(errors.New("why"))} {
		if got := deliver(count, err); got.Do != ActRedeliver || got.Acknowledge() || got.After < time.Hour || got.Err == nil {
			t.Errorf("delivery %d: got %+v", count, got)
		}
	}
	// Two deaths, and the office away: refused before any work at each delivery,
	// until it can be parked.
	guard = Guard{Park: parker}
	for count := 3; count < 6; count++ {
		if got := deliver(count, errors.New("never called")); got.Do != ActRedeliver || got.Class != dlq.ClassResourceFatal {
			t.Fatalf("delivery %d: got %+v", count, got)
		}
	}
	parker.err = nil
	if got := deliver(6, errors.New("never called")); got.Do != ActParked || got.Class != dlq.ClassResourceFatal || *parker.envelopes[0].Attempts != 5 {
		t.Errorf("got %+v, %+v", got, parker.envelopes)
	}
}

func TestALongDocumentIsParkedBeforeItsDownload(t *testing.T) {
	parker := &parkedHere{}
	guard := Guard{Park: parker, Limit: 100}
	length, headErr := int64(101), error(nil)
	head := func(context.Context) (int64, error) { return length, headErr }
	called := 0
	handle := func() Decision {
		d := Delivery{ReceiveCount: 1, Source: "s", DocID: "d", Open: func(context.Context) (io.ReadCloser, error) {
			t.Error("a long document was opened")
			return nil, io.EOF
		}}
		return guard.Handle(context.Background(), d, head, func(context.Context, *Attempt) error { called++; return nil })
	}
	got := handle()
	if got.Do != ActParked || got.Class != dlq.ClassPermanentInput || called != 0 || parker.envelopes[0].ErrorType != "client.TooLongError" || parker.payloads[0] != "none" {
		t.Errorf("got %+v, %d calls, %+v", got, called, parker.envelopes)
	}
	for _, c := range []struct {
		length int64
		err    error
	}{{100, nil}, {-1, nil}, {500, errors.New("405")}} {
		length, headErr = c.length, c.err
		if got := handle(); got.Do != ActDone {
			t.Errorf("%d bytes, %v: got %+v", c.length, c.err, got)
		}
	}
	if called != 3 {
		t.Errorf("the handler was called %d times, want 3", called)
	}
}

func TestAPanicIsAnExceptionWithItsStack(t *testing.T) {
	parker := &parkedHere{}
	guard := Guard{Park: parker}
	var lines []string
	panics := func(context.Context, *Attempt) error { fmt.Print(lines[3]); return nil }
	d := Delivery{ReceiveCount: 1, Source: "s", DocID: "d"}
	if got := guard.Handle(context.Background(), d, nil, panics); got.Do != ActRedeliver {
		t.Fatalf("the first time: got %+v", got)
	}
	d.ReceiveCount = 2
	if got := guard.Handle(context.Background(), d, nil, panics); got.Do != ActParked {
		t.Fatalf("the second time: got %+v", got)
	}
	e := parker.envelopes[0]
	if e.Reason != "exception" || e.ErrorClass != "ambiguous_parse" || e.ErrorType != "runtime.boundsError" || !strings.Contains(e.ErrorMessage, "out of range") || !strings.Contains(e.StackTrace, "guard_test.go") {
		t.Errorf("got %q, %q, %q, %q\n%s", e.Reason, e.ErrorClass, e.ErrorType, e.ErrorMessage, e.StackTrace)
	}
	d.ReceiveCount = 1
	got := guard.Handle(context.Background(), d, nil, func(context.Context, *Attempt) error { panic(Contract(errors.New("why"))) })
	if got.Do != ActParked || got.Class != dlq.ClassDownstreamContract {
		t.Errorf("a panic with an error that knows its class: got %+v", got)
	}
}

func TestAHandlersOwnWordsAndBytesAreParked(t *testing.T) {
	parker := &parkedHere{}
	guard := Guard{Park: parker, Describe: func(err error, e *dlq.Envelope) {
		var low ruleError
		if errors.As(err, &low) {
			e.Stage, e.Reason, e.ValidationOutput = "validate", "validation", "term_order"
		}
	}}
	got := guard.Handle(context.Background(), Delivery{ReceiveCount: 1, Source: "s", DocID: "d", RedriveID: "rd-1"}, nil, func(_ context.Context, a *Attempt) error {
		a.Open, a.Envelope.SourceVersion = Bytes([]byte("the bytes")), `"7"`
		return ruleError{}
	})
	e := parker.envelopes[0]
	if got.Do != ActParked || e.Stage != "validate" || e.Reason != "validation" || e.SourceVersion != `"7"` || e.RedriveID != "rd-1" || parker.payloads[0] != "the bytes" {
		t.Errorf("got %+v, %+v, %q", got, e, parker.payloads[0])
	}
}

func TestHostileTextsNeverKeepADocumentFromBeingParked(t *testing.T) {
	parker := &parkedHere{}
	guard := Guard{Park: parker, Describe: func(_ error, e *dlq.Envelope) {
		e.ErrorType, e.Stage = "a\x00b\xff"+strings.Repeat("é", 900), "\x00"
		e.StackTrace, e.ValidationOutput = strings.Repeat("\x01", 300<<10), strings.Repeat("\x02", 2<<20)
	}}
	if got := guard.Handle(context.Background(), Delivery{ReceiveCount: 1, Source: "s", DocID: "d"}, nil, fails(Encrypted(errors.New(strings.Repeat("\x03\xff", 1<<20))))); got.Do != ActParked {
		t.Fatalf("got %+v", got)
	}
	b, err := parker.envelopes[0].MarshalJSON()
	if err != nil || len(b) > dlq.MaxEnvelope {
		t.Fatalf("an envelope of %d bytes, %v", len(b), err)
	}
	if _, err := dlq.ParseEnvelope(b, time.Now()); err != nil {
		t.Errorf("the envelope would be refused: %v", err)
	}
}

func TestAConsumerThatStopsSaysNothingAboutTheDocument(t *testing.T) {
	parker, tries := &parkedHere{}, &MemoryTries{}
	guard := Guard{Park: parker, Tries: tries}
	d := Delivery{ID: "m", ReceiveCount: 2, Source: "s", DocID: "d"}
	ctx, stop := context.WithCancel(context.Background())
	got := guard.Handle(ctx, d, nil, func(ctx context.Context, _ *Attempt) error {
		stop()
		return ctx.Err()
	})
	back, _ := tries.Load(ctx, d.key())
	if got.Do != ActRedeliver || got.After != 0 || back != (Returned{1, 1}) {
		t.Errorf("got %+v, and %+v is remembered", got, back)
	}
	// What is known by then is known.
	if got := guard.Handle(ctx, Delivery{ID: "n", ReceiveCount: 1, Source: "s", DocID: "d"}, nil, fails(nil)); got.Do != ActRedeliver {
		t.Errorf("a delivery after the stop: got %+v", got)
	}
}

func TestTriesThatCannotBeReadPoisonNobody(t *testing.T) {
	parker := &parkedHere{}
	guard := Guard{Park: parker, Tries: brokenTries{}}
	for count, want := range map[int]Action{1: ActDone, 2: ActDone, 3: ActRedeliver, 9: ActRedeliver} {
		if got := guard.Handle(context.Background(), Delivery{ID: "m", ReceiveCount: count, Source: "s", DocID: "d"}, nil, fails(nil)); got.Do != want {
			t.Errorf("delivery %d: got %+v, want %s", count, got, want)
		}
	}
	if len(parker.envelopes) > 0 {
		t.Error("a document was parked for want of a count")
	}
}

type brokenTries struct{}

func (brokenTries) Load(context.Context, string) (Returned, error) {
	return Returned{}, errors.New("away")
}
func (brokenTries) Return(context.Context, string, bool) error { return errors.New("away") }
func (brokenTries) Forget(context.Context, string) error       { return errors.New("away") }

func TestDelaysGrowAndAreSpread(t *testing.T) {
	g := Guard{First: time.Second, Max: 20 * time.Second}
	for worked, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 6: 20 * time.Second, 400: 20 * time.Second} {
		for range 50 {
			if got := g.delay(worked); got < want/2 || got > want {
				t.Fatalf("after %d: %s, want %s to %s", worked, got, want/2, want)
			}
		}
	}
}

func TestAnOpenCircuitGivesBackWithoutADeath(t *testing.T) {
	var asked atomic.Int64
	answer := atomic.Value{}
	answer.Store(`{"state":"open","since":"2026-02-11T09:42:13Z","why":"a spike"}`)
	office := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/circuits/my source" {
			t.Errorf("asked for %q", r.URL.Path)
		}
		asked.Add(1)
		if answer.Load() == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(answer.Load().(string)))
	}))
	t.Cleanup(office.Close)
	c, err := New(Config{URL: office.URL, Retry: Retry{Budget: -1}})
	if err != nil {
		t.Fatal(err)
	}
	now, parker, tries := time.Now(), &parkedHere{}, &MemoryTries{}
	guard := Guard{Client: c, Park: parker, Tries: tries, Now: func() time.Time { return now }}
	handle := func(id string, count int) Decision {
		return guard.Handle(context.Background(), Delivery{ID: id, ReceiveCount: count, Source: "my source", DocID: id}, nil, fails(nil))
	}
	for count := 1; count <= 20; count++ {
		if got := handle("a", count); got.Do != ActRedeliver || got.After < 30*time.Second {
			t.Fatalf("delivery %d: got %+v", count, got)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times within ten seconds, want once", asked.Load())
	}
	if got := guard.Handle(context.Background(), Delivery{ID: "rd", ReceiveCount: 1, Source: "my source", RedriveID: "rd"}, nil, fails(nil)); got.Do != ActDone {
		t.Errorf("a redrive under an open circuit: got %+v", got)
	}
	answer.Store(`{"state":"closed"}`)
	now = now.Add(time.Minute)
	if got := handle("a", 21); got.Do != ActDone {
		t.Errorf("after the circuit was closed: got %+v", got)
	}

	// A server that serves no circuits, and one that is away.
	answer.Store("")
	now = now.Add(time.Minute)
	if got := handle("b", 1); got.Do != ActDone {
		t.Errorf("a server without circuits: got %+v", got)
	}
	office.Close()
	now = now.Add(time.Minute)
	if got := handle("c", 1); got.Do != ActDone {
		t.Errorf("a server that is away: got %+v", got)
	}
}
