package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"dlo/dlq"
)

// Guard stands round the handler of a queue's consumer and gets the taxonomy of
// failures right: how often a document may be tried, what is worth a second
// delivery, and what is parked at once. It is safe for concurrent use. Set
// Client; every other field may stay zero.
//
// Its one reading of the queue's counter: ReceiveCount is 1 on the first
// delivery. A failure with n second tries is parked after the work when
// ReceiveCount ≥ n+1. A delivery that ended without an answer (the process died,
// and the queue noticed) is what is left of ReceiveCount when those that the
// guard gave back are taken off; after FatalAfter of them the document is parked
// as resource_fatal before any work.
type Guard struct {
	Client *Client // parks, and says whether a source's circuit is open
	Park   Parker  // where dead letters go instead of to Client; nil: to Client

	// Tries remembers what was given back. Nil is the memory of this guard, which
	// a process that dies takes along: where several workers share a queue, or
	// where a worker can die, use FileTries or the pipeline's own table.
	Tries Tries

	Limit          int64         // bytes of the longest document that is worked on; 0: any
	FatalAfter     int           // deaths after which a document is not tried again, default 2. 1 is the strict reading, under which a rolling deploy parks documents too
	TransientTries int           // second tries of a transient failure: 5 to 8, default 5
	First, Max     time.Duration // delay of the second delivery, default 5 s, doubled for each more up to Max, default 10 min; half of it is chance
	CircuitFor     time.Duration // for how long an answer about a circuit holds, default 10 s
	CircuitWait    time.Duration // delay of a delivery that met an open circuit, default 1 min

	// Describe adds to a dead letter what only the pipeline can read off its own
	// errors: the stage, a stack, the rules that failed. Class, type and message are
	// there already. Nil adds nothing.
	Describe func(err error, e *dlq.Envelope)

	Now func() time.Time // default time.Now

	mu       sync.Mutex // guards what follows
	memory   *MemoryTries
	circuits map[string]circuitSeen
}

// Parker takes a dead letter. A nil error means that it is safe and its message
// may be acknowledged; *Client is one.
type Parker interface {
	Park(ctx context.Context, e dlq.Envelope, payload io.Reader) (Parked, error)
}

// Delivery is one message as the queue delivered it.
type Delivery struct {
	ID           string // the message's own id, the same at each delivery; "": source and document serve
	ReceiveCount int    // 1 on the first delivery. 0 is a queue that does not count: then deaths cannot be seen
	Source       string
	DocID        string
	RedriveID    string // of a message that is a redrive

	// Envelope is what is known before the work: versions, position, file name. A
	// document that is parked without being opened has nothing else to say.
	Envelope dlq.Envelope

	// Open gives the document's bytes to a dead letter that is parked before any
	// work, so that a copy of them is kept. It must not parse. Nil, or an error:
	// parked without bytes. It is never called for a document over the limit.
	Open func(context.Context) (io.ReadCloser, error)
}

// Attempt is the work on one delivery. The handler fills in what it learns on
// the way; a failure parks what is there by then.
type Attempt struct {
	Delivery Delivery
	Envelope dlq.Envelope // begins as the delivery's
	Open     func(context.Context) (io.ReadCloser, error)
}

// Action is what to do with a message.
type Action string

// The three answers.
const (
	ActDone      Action = "done"      // processed: acknowledge
	ActParked    Action = "parked"    // parked or spooled: acknowledge
	ActRedeliver Action = "redeliver" // give back, and deliver again after Decision.After
)

// Decision is what to do with a message, and why.
type Decision struct {
	Do     Action
	After  time.Duration    // of ActRedeliver
	Class  dlq.FailureClass // of a failure; "" where none was classified
	Why    string           // a sentence for the log; nothing of the document stands in it
	Parked Parked           // of ActParked
	Err    error            // what the handler returned, and what went wrong beside it; it never changes Do
}

// Acknowledge says whether the message may be acknowledged. What could neither
// be processed nor parked may not.
func (d Decision) Acknowledge() bool { return d.Do == ActDone || d.Do == ActParked }

// NoAnswerError is what is known of a document whose deliveries ended without an
// answer. There is no trace: the process died, and nothing survived to write one.
type NoAnswerError struct{ Deliveries int }

func (e *NoAnswerError) Error() string {
	if e.Deliveries == 1 {
		return "one delivery ended without an answer"
	}
	words := []string{"no", "one", "two", "three", "four", "five", "six"}
	if e.Deliveries < len(words) {
		return words[e.Deliveries] + " deliveries ended without an answer"
	}
	return fmt.Sprintf("%d deliveries ended without an answer", e.Deliveries)
}

// FailureClass gives resource_fatal.
func (*NoAnswerError) FailureClass() dlq.FailureClass { return dlq.ClassResourceFatal }

// TooLongError is a document over the limit. It was not downloaded.
type TooLongError struct{ Length, Limit int64 } // bytes

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the document has %d bytes, and at most %d are worked on", e.Length, e.Limit)
}

// FailureClass gives permanent_input.
func (*TooLongError) FailureClass() dlq.FailureClass { return dlq.ClassPermanentInput }

// PanicError is a panic of the handler, with the stack of where it arose.
type PanicError struct {
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprint(e.Value) }

// Unwrap gives the value if it was an error, as runtime errors are.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// StackTrace gives the stack as the runtime prints it.
func (e *PanicError) StackTrace() string {
	return fmt.Sprintf("panic: %v [recovered]\n\n%s", e.Value, e.Stack)
}

// Handle decides over one delivery: it checks the count before any work, asks
// the source's circuit, asks head for the document's length in bytes (nil, an
// error or a negative length: not known), runs process, and parks what is not
// worth another delivery. A message is never to be acknowledged that was neither
// processed nor parked.
//
// A panic of process is a failure like any other. One in a goroutine that process
// started takes the program along, and is a death.
func (g *Guard) Handle(ctx context.Context, d Delivery, head func(context.Context) (int64, error), process func(context.Context, *Attempt) error) Decision {
	w, err := g.begin(ctx, d)
	if err != nil {
		return w.giveBack(ctx, false, g.delay(1), Decision{Err: err, Why: "the deliveries that were given back cannot be read, so deaths cannot be told from them"})
	}
	if ctx.Err() != nil {
		return w.giveBack(ctx, false, 0, Decision{Err: ctx.Err(), Why: "the consumer stops"})
	}
	if deaths := w.deaths(); deaths >= g.fatalAfter() {
		w.worked-- // this delivery does no work
		return w.park(ctx, &NoAnswerError{deaths}, "parked before any work, because earlier deliveries ended without an answer")
	}
	if wait := g.circuitWait(ctx, d); wait > 0 {
		return w.giveBack(ctx, false, wait, Decision{Why: "the circuit of the source is open"})
	}
	if head != nil && g.Limit > 0 {
		// A source that cannot say is asked for the document itself, whose error says more.
		if length, err := head(ctx); err == nil && length > g.Limit {
			w.attempt.Open = nil
			return w.park(ctx, &TooLongError{length, g.Limit}, "parked before the download, because it is over the limit")
		}
	}
	err = run(ctx, process, &w.attempt)
	if err == nil {
		return w.end(ctx, Decision{Do: ActDone, Why: "processed"})
	}
	return w.failed(ctx, err)
}

// run calls the handler, and makes a panic an error.
func run(ctx context.Context, process func(context.Context, *Attempt) error, a *Attempt) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, string(debug.Stack())}
		}
	}()
	return process(ctx, a)
}

// work is one delivery under the guard, with what its counter says.
type work struct {
	guard   *Guard
	attempt Attempt
	tries   Tries
	key     string
	count   int      // deliveries, this one included
	back    Returned // of the earlier ones
	worked  int      // deliveries on which work began, this one included
}

func (g *Guard) begin(ctx context.Context, d Delivery) (*work, error) {
	w := &work{guard: g, attempt: Attempt{Delivery: d, Envelope: d.Envelope, Open: d.Open}, tries: g.remembered(), key: d.key(), count: d.ReceiveCount}
	e := &w.attempt.Envelope
	e.Source, e.DocID, e.RedriveID = d.Source, d.DocID, d.RedriveID
	if e.EventID == "" {
		e.EventID = d.ID
	}
	if w.count == 1 {
		// What was kept is of another message. If it cannot be forgotten, it can hide a
		// death later, and no more.
		_ = w.tries.Forget(ctx, w.key)
		w.worked = 1
		return w, nil
	}
	back, err := w.tries.Load(ctx, w.key)
	if w.count <= 0 { // the queue does not count, so what was given back does
		w.count = back.Deliveries + 1
	}
	back.Deliveries = min(max(back.Deliveries, 0), w.count-1)
	back.Untried = min(max(back.Untried, 0), back.Deliveries)
	w.back, w.worked = back, w.count-back.Untried
	if err != nil && w.count <= g.fatalAfter() {
		err = nil // too few to be wrong about
	}
	return w, err
}

// key names the message in Tries.
func (d Delivery) key() string {
	if d.ID != "" {
		return "message\n" + d.Source + "\n" + d.ID
	}
	return "document\n" + d.Source + "\n" + d.DocID
}

// deaths are the earlier deliveries that ended without an answer.
func (w *work) deaths() int { return w.count - 1 - w.back.Deliveries }

// failed decides over what the handler returned.
func (w *work) failed(ctx context.Context, err error) Decision {
	class := ClassOf(err)
	if ctx.Err() != nil && (class == "" || class == dlq.ClassTransient) {
		// The consumer was stopped in the middle of the work, which says nothing
		// about the document.
		return w.giveBack(ctx, false, 0, Decision{Err: err, Why: "the consumer stops"})
	}
	e := w.guard.envelope(w, err)
	if tries := w.guard.secondTries(class, e); w.worked <= tries {
		return w.giveBack(ctx, true, max(w.guard.delay(w.worked), waitAsked(err)), Decision{Class: class, Err: err, Why: fmt.Sprintf("it failed, and %d of %d second tries are left", tries-w.worked+1, tries)})
	}
	return w.parkEnvelope(ctx, e, class, err, "parked, because another delivery would not help")
}

// secondTries is how many deliveries after the first can help. A failure of no
// class of the taxonomy is taken as a parser's, unless rules or a confidence say
// that the document was read.
func (g *Guard) secondTries(class dlq.FailureClass, e dlq.Envelope) int {
	switch class {
	case dlq.ClassTransient:
		if g.TransientTries <= 0 {
			return 5
		}
		return min(max(g.TransientTries, 5), 8)
	case dlq.ClassPermanentInput, dlq.ClassDownstreamContract:
		return 0
	case "":
		if e.Reason == string(dlq.ReasonValidation) || e.Reason == string(dlq.ReasonLowConfidence) {
			return 0
		}
	}
	return 1
}

func (w *work) park(ctx context.Context, err error, why string) Decision {
	return w.parkEnvelope(ctx, w.guard.envelope(w, err), ClassOf(err), err, why)
}

// parkEnvelope hands the dead letter over. One that cannot be handed over now is
// given back, whatever the count says: it is decided over again at the next
// delivery.
func (w *work) parkEnvelope(ctx context.Context, e dlq.Envelope, class dlq.FailureClass, err error, why string) Decision {
	if ctx.Err() != nil {
		stopped, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		ctx = stopped
	}
	parked, parkErr := w.send(ctx, e)
	if parkErr != nil {
		return w.giveBack(ctx, true, max(w.guard.delay(w.back.Deliveries+1), waitAsked(parkErr)),
			Decision{Class: class, Err: errors.Join(err, fmt.Errorf("park the document: %w", parkErr)), Why: "it could be neither parked nor spooled, so it is not acknowledged"})
	}
	return w.end(ctx, Decision{Do: ActParked, Class: class, Err: err, Parked: parked, Why: why})
}

// send parks with the document's bytes where they can be had, and without them
// where the server takes none so long.
func (w *work) send(ctx context.Context, e dlq.Envelope) (Parked, error) {
	var parker Parker = w.guard.Client
	if w.guard.Park != nil {
		parker = w.guard.Park
	} else if w.guard.Client == nil {
		return Parked{}, errors.New("client: the guard has neither a Client nor a Parker")
	}
	if w.attempt.Open == nil {
		return parker.Park(ctx, e, nil)
	}
	payload, err := w.attempt.Open(ctx)
	if err != nil {
		return parker.Park(ctx, e, nil)
	}
	defer payload.Close()
	parked, err := parker.Park(ctx, e, payload)
	var answered *Error
	if errors.As(err, &answered) && answered.Kind() == dlq.KindTooLarge {
		return parker.Park(ctx, e, nil)
	}
	return parked, err
}

// giveBack notes that this delivery had an answer, so that it is not taken for a
// death, before the queue is told. tried is false where no work began.
func (w *work) giveBack(ctx context.Context, tried bool, after time.Duration, d Decision) Decision {
	d.Do, d.After = ActRedeliver, after
	if err := w.tries.Return(context.WithoutCancel(ctx), w.key, tried); err != nil {
		d.Err = errors.Join(d.Err, fmt.Errorf("remember that the delivery was given back: %w", err))
	}
	return d
}

// end forgets what was kept of a message that is about to be acknowledged.
func (w *work) end(ctx context.Context, d Decision) Decision {
	if err := w.tries.Forget(context.WithoutCancel(ctx), w.key); err != nil {
		d.Err = errors.Join(d.Err, fmt.Errorf("forget what was given back: %w", err))
	}
	return d
}

// delay is how long the next delivery waits after this many that were worked on.
func (g *Guard) delay(worked int) time.Duration {
	first, longest := g.First, g.Max
	if first <= 0 {
		first = 5 * time.Second
	}
	if longest <= 0 {
		longest = 10 * time.Minute
	}
	delay := min(first, longest)
	for range max(worked, 1) - 1 {
		if delay = min(delay*2, longest); delay == longest {
			break
		}
	}
	return delay/2 + rand.N(delay/2+1) // so that a fleet does not come back as one
}

// waitAsked is how long a server asked to be left alone.
func waitAsked(err error) time.Duration {
	var answered *Error
	if errors.As(err, &answered) {
		return answered.RetryAfter
	}
	return 0
}

func (g *Guard) fatalAfter() int {
	if g.FatalAfter <= 0 {
		return 2
	}
	return g.FatalAfter
}

func (g *Guard) now() time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return g.Now()
}

func (g *Guard) remembered() Tries {
	if g.Tries != nil {
		return g.Tries
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory == nil {
		g.memory = &MemoryTries{Now: g.Now}
	}
	return g.memory
}
