package redrive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"dlo/dlq"
)

// RunStore is what the runner needs of the store.
type RunStore interface {
	OpenOperations(ctx context.Context) ([]dlq.Operation, error)
	Operation(ctx context.Context, id string) (dlq.Operation, error)
	StepOperation(ctx context.Context, id string, limit int) (dlq.Operation, error)

	// DueSources lists the sources with deliveries that are due, without those
	// that are paused.
	DueSources(ctx context.Context) ([]dlq.DueSource, error)
	// InFlight counts the redrives of each source that have no outcome yet.
	InFlight(ctx context.Context) (map[string]int64, error)
	Source(ctx context.Context, name string) (dlq.Source, error)
	RedriveSecrets(ctx context.Context, name string) ([]string, error)
	// Replayed reads what deliveries need to know of their entries, by redrive.
	Replayed(ctx context.Context, redrives []dlq.Redrive) (map[string]dlq.Replayed, error)
	Attempt(ctx context.Context, id int64) (dlq.Attempt, error)
	SaveProbe(ctx context.Context, entryID, attemptID int64, said dlq.SourceNow, reading dlq.Evidence) error

	// Whatever is recorded of a claimed redrive changes something only under
	// the lease epoch that it was claimed with.
	ClaimRedrives(ctx context.Context, source, owner string, lease time.Duration, limit int) ([]dlq.Redrive, error)
	BeginDelivery(ctx context.Context, r dlq.Redrive) (bool, error)
	DeliveryTaken(ctx context.Context, r dlq.Redrive, status int, sentence, body string) error
	DeliveryFailed(ctx context.Context, r dlq.Redrive, status int, sentence, body string, next time.Time) error
	Undelivered(ctx context.Context, r dlq.Redrive, status int, sentence, body string) error
	LeaveOut(ctx context.Context, r dlq.Redrive, why dlq.LeftOut) error
	// Defer puts a canary back whose document is not known to be unchanged.
	Defer(ctx context.Context, r dlq.Redrive) (bool, error)
	// PauseForTarget, TryingOperations, ClaimTry and TriedTarget are for a target
	// that is down.
	PauseForTarget(ctx context.Context, id, why string, tryAt time.Time) error
	TryingOperations(ctx context.Context) ([]dlq.Operation, error)
	ClaimTry(ctx context.Context, operationID, owner string, lease time.Duration) (*dlq.Redrive, error)
	TriedTarget(ctx context.Context, id string, answers bool, tryAt time.Time) error
	TargetGone(ctx context.Context, r dlq.Redrive, status int, sentence string) error
	// DeliverySettled records an answer that says what came of the redrive.
	DeliverySettled(ctx context.Context, by dlq.Actor, r dlq.Redrive, status int, o dlq.Outcome, fp *dlq.Fingerprint) error
}

// Payloads checks the stored copy before it is named in a delivery. Its error's
// kind says why it cannot be sent: KindConflict, it no longer has its digest;
// KindNotFound, it is not there; anything else, not now.
type Payloads interface {
	Verify(ctx context.Context, sha256 string) (size int64, err error)
}

// PayloadLinks makes links to the stored copy on this server: signed, for those
// bytes alone, and void after a time. An empty link says that the server does
// not know under which address it is reached.
type PayloadLinks interface {
	Link(sha256 string, expires time.Time) string
}

// Sender sends a delivery once. Its error is for the log; the answer says the
// same in words.
type Sender interface {
	Send(ctx context.Context, d dlq.Delivery) (dlq.Answer, error)
}

// Prober asks a source what its document is now. What goes wrong is said in the
// answer.
type Prober interface {
	Ask(ctx context.Context, policy dlq.ProbePolicy, source, docID string) dlq.SourceNow
}

// Reading holds what a source says now against what was recorded with a failure.
type Reading func(kind string, stored dlq.Validators, now dlq.SourceNow) dlq.Evidence

// Options are what a runner works with. Store, Sender, Payloads and Clock must
// be there; the zero value of any other is fine.
type Options struct {
	Store    RunStore
	Sender   Sender
	Payloads Payloads
	Links    PayloadLinks
	Prober   Prober  // without one no source is asked
	Reading  Reading // goes with Prober
	Clock    func() time.Time
	Jitter   func() float64 // from 0 up to 1; random by default
	Report   func(error)    // what went wrong beside a delivery; dropped by default

	Owner       string        // of leases: this process, in words
	ReplyTo     string        // the address that takes outcomes; empty where it is not known
	Poll        time.Duration // how long to wait without being woken; 1 s by default
	Grace       time.Duration // how long a send may go on when the runner is to stop; 0: it is cut off
	MaxSends    int           // deliveries under way at once; 1,024 by default
	MaxHost     int           // the same to one target host, over all sources and operations; 512 by default
	SendTimeout time.Duration // how long the sender takes at most; 30 s by default
	FirstTry    time.Duration // after how long a target that is down is tried first; 30 s by default
}

// Runner carries operations forward: it takes their next entries, claims what is
// due under a lease, sends it, and records what came back. One runner serves a
// database; should two ever run, leases and their epochs keep them apart.
type Runner struct {
	o      Options
	wake   chan struct{} // the claims
	steps  chan struct{} // the operations
	sends  sync.WaitGroup
	pace   pace
	places places
	health health
	turn   int // which due source is served first
}

// NewRunner makes a runner.
func NewRunner(o Options) *Runner {
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.MaxSends <= 0 {
		o.MaxSends = 1024
	}
	if o.MaxHost <= 0 {
		o.MaxHost = 512
	}
	if o.SendTimeout <= 0 {
		o.SendTimeout = 30 * time.Second
	}
	if o.FirstTry <= 0 {
		o.FirstTry = firstTry
	}
	return &Runner{o: o, wake: make(chan struct{}, 1), steps: make(chan struct{}, 1), places: places{most: o.MaxSends, mostHost: o.MaxHost}}
}

// Wake says that there may be work: an operation was started or resumed, an
// outcome came. It never blocks.
func (r *Runner) Wake() {
	wake(r.wake)
	wake(r.steps)
}

func wake(sleeper chan<- struct{}) {
	select {
	case sleeper <- struct{}{}:
	default:
	}
}

// Run works until the context ends. Then it claims nothing more, gives back what
// it has not begun to send, lets sends finish for the grace that they have, and
// returns when the last of them has been recorded.
func (r *Runner) Run(ctx context.Context) {
	sendCtx, finish := r.begin(ctx)
	defer finish()
	// Each waits for commits of its own: one after the other, they would take turns
	// in leaving the target without work.
	var stepping sync.WaitGroup
	defer stepping.Wait()
	stepping.Go(func() {
		r.again(ctx, r.steps, func() (int, time.Duration, error) {
			did, err := r.step(ctx)
			if did > 0 {
				wake(r.wake)
			}
			return did, r.o.Poll, err
		})
	})
	r.again(ctx, r.wake, func() (int, time.Duration, error) {
		started, wait, claimErr := r.claim(ctx, sendCtx)
		tried, tryErr := r.tryTargets(ctx, sendCtx)
		return started + tried, wait, errors.Join(claimErr, tryErr)
	})
}

// again does rounds until the context ends. It rests when there was nothing to do,
// and for a moment in any case: a round for each delivery that ends would cost more
// than the delivery.
func (r *Runner) again(ctx context.Context, woken <-chan struct{}, round func() (did int, wait time.Duration, err error)) {
	for ctx.Err() == nil {
		did, wait, err := round()
		if err != nil && ctx.Err() == nil {
			r.o.Report(err)
		}
		if did == 0 || err != nil {
			rest(ctx, woken, wait)
		}
		rest(ctx, nil, breath)
	}
}

const breath = 3 * time.Millisecond

// RunOnce does one round, waits for its deliveries, and answers how many entries
// it took and deliveries it made. Nothing left to do now is 0.
func (r *Runner) RunOnce(ctx context.Context) (did int, err error) {
	sendCtx, finish := r.begin(ctx)
	defer finish()
	stepped, stepErr := r.step(ctx)
	started, _, claimErr := r.claim(ctx, sendCtx)
	tried, tryErr := r.tryTargets(ctx, sendCtx)
	return stepped + started + tried, errors.Join(stepErr, claimErr, tryErr)
}

// begin gives the context under which deliveries are sent, which outlives the
// runner's by its grace, and what waits for them to end.
func (r *Runner) begin(ctx context.Context) (sendCtx context.Context, finish func()) {
	sendCtx, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if r.o.Grace <= 0 {
			cutOff()
			return
		}
		timer := time.AfterFunc(r.o.Grace, cutOff)
		<-sendCtx.Done()
		timer.Stop()
	})
	return sendCtx, func() {
		r.sends.Wait()
		stop()
		cutOff()
	}
}

func rest(ctx context.Context, woken <-chan struct{}, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C:
	}
}

// How many entries of one operation are in flight, and how many one transaction
// takes.
const (
	window    = 3 * FirstStep
	stepSlice = 400
)

// step takes the next entries of running operations. One that fails does not
// hold up the others.
func (r *Runner) step(ctx context.Context) (int, error) {
	operations, err := r.o.Store.OpenOperations(ctx)
	if err != nil {
		return 0, fmt.Errorf("find running operations: %w", err)
	}
	did := 0
	var errs []error
	for _, o := range operations {
		if o.State != dlq.OperationRunning || o.Kind == dlq.OperationProbe {
			continue
		}
		n, err := r.stepOne(ctx, o)
		did += n
		if err != nil {
			errs = append(errs, fmt.Errorf("step operation %s: %w", o.ID, err))
		}
	}
	return did, errors.Join(errs...)
}

func (r *Runner) stepOne(ctx context.Context, o dlq.Operation) (int, error) {
	waiting, inFlight := o.Counts[dlq.ItemWaiting], o.Counts[dlq.ItemInFlight]
	if waiting == 0 && inFlight > 0 {
		return 0, nil
	}
	if inCanary := o.Kind == dlq.OperationRedrive && o.Step < o.Rest(); inCanary && o.StepWaiting == 0 && inFlight > 0 && (o.AskAt.IsZero() || r.o.Clock().Before(o.AskAt)) {
		return 0, nil // its step is on its way, and has time
	}
	limit := stepSlice
	if o.Kind == dlq.OperationRedrive {
		limit = room(o, inFlight)
	}
	if limit == 0 {
		return 0, nil
	}
	after, err := r.o.Store.StepOperation(ctx, o.ID, limit)
	if err != nil {
		return 0, err
	}
	took := int(waiting - after.Counts[dlq.ItemWaiting])
	if after.State == dlq.OperationRunning && after.Step != o.Step {
		took++ // the next step has begun
	}
	return took, nil
}

// room is how many more entries of an operation may go now. Its own concurrency
// bounds its entries without an outcome; without one they are taken by slices
// until the window is full.
func room(o dlq.Operation, inFlight int64) int {
	most := int64(window)
	if o.Concurrency > 0 {
		most = min(most, int64(o.Concurrency))
	}
	return int(max(0, min(stepSlice, most-inFlight)))
}

// claim claims what is due and starts to send it. The sources take turns in
// being first, so that a busy one cannot keep the others from the last places.
func (r *Runner) claim(ctx, sendCtx context.Context) (int, time.Duration, error) {
	due, err := r.o.Store.DueSources(ctx)
	if err != nil {
		return 0, r.o.Poll, fmt.Errorf("find what is due: %w", err)
	}
	if len(due) == 0 {
		return 0, r.o.Poll, nil
	}
	flights, err := r.flightsByHost(ctx)
	if err != nil {
		return 0, r.o.Poll, err
	}
	started, wait := 0, r.o.Poll
	var errs []error
	r.turn++
	for i := range due {
		d := due[(i+r.turn)%len(due)]
		n, again, err := r.claimOf(ctx, sendCtx, d, flights)
		started += n
		if again > 0 {
			wait = min(wait, again)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("claim deliveries of %s: %w", d.Name, err))
		}
	}
	return started, wait, errors.Join(errs...)
}

// flightsByHost counts the redrives without an outcome by the host of their target:
// a concurrency bounds what a host has on its hands, whatever sources and operations
// it came from.
func (r *Runner) flightsByHost(ctx context.Context) (map[string]int64, error) {
	bySource, err := r.o.Store.InFlight(ctx)
	if err != nil {
		return nil, fmt.Errorf("count what is in flight: %w", err)
	}
	out := map[string]int64{}
	for name, n := range bySource {
		src, err := r.o.Store.Source(ctx, name)
		if err != nil {
			return nil, err
		}
		out[hostOf(src.Policy.Redrive.URL)] += n
	}
	return out, nil
}

func (r *Runner) claimOf(ctx, sendCtx context.Context, d dlq.DueSource, flights map[string]int64) (started int, again time.Duration, err error) {
	src, err := r.o.Store.Source(ctx, d.Name)
	if err != nil {
		return 0, 0, err
	}
	policy := src.Policy.Redrive
	host := hostOf(policy.URL)
	n := r.places.take(host, min(int(d.Due), policy.Concurrency-int(d.InFlight), policy.Concurrency-int(flights[host])))
	if n == 0 {
		return 0, 0, nil // a delivery that ends wakes the runner
	}
	paced, again := r.pace.take("source "+d.Name, policy.Rate, n, r.o.Clock())
	r.places.giveBack(host, n-paced)
	if paced == 0 {
		return 0, again, nil
	}
	claimed, err := r.o.Store.ClaimRedrives(ctx, d.Name, r.o.Owner, r.leaseOf(src), paced)
	r.places.giveBack(host, paced-len(claimed))
	r.pace.giveBack("source "+d.Name, paced-len(claimed))
	flights[host] += int64(len(claimed))
	ahead := r.readAhead(ctx, claimed)
	for _, c := range claimed {
		r.sends.Add(1)
		go func() {
			defer r.sends.Done()
			defer r.Wake()
			defer r.places.giveBack(host, 1)
			if err := r.inItsTurn(ctx, sendCtx, src, c, ahead); err != nil {
				r.o.Report(fmt.Errorf("deliver redrive %s: %w", c.ID, err))
			}
		}()
	}
	return len(claimed), again, err
}

// readAhead is what was read for all that was claimed together. What is missing
// is read by each for itself, and fails for that one alone.
type readAhead struct {
	operations map[string]dlq.Operation
	replayed   map[string]dlq.Replayed
	secrets    map[string][]string // by source
}

func (r *Runner) readAhead(ctx context.Context, claimed []dlq.Redrive) readAhead {
	ahead := readAhead{operations: map[string]dlq.Operation{}, secrets: map[string][]string{}}
	var err error
	if len(claimed) > 0 {
		ahead.replayed, err = r.o.Store.Replayed(ctx, claimed)
	}
	for _, c := range claimed {
		if _, ok := ahead.operations[c.OperationID]; !ok && err == nil {
			ahead.operations[c.OperationID], err = r.o.Store.Operation(ctx, c.OperationID)
		}
		if _, ok := ahead.secrets[c.Source]; !ok && err == nil {
			ahead.secrets[c.Source], err = r.o.Store.RedriveSecrets(ctx, c.Source)
		}
	}
	if err != nil { // whatever it is, those that need it say so
		return readAhead{}
	}
	return ahead
}

func (r *Runner) operation(ctx context.Context, id string, ahead readAhead) (dlq.Operation, error) {
	if o, ok := ahead.operations[id]; ok {
		return o, nil
	}
	o, err := r.o.Store.Operation(ctx, id)
	if err != nil {
		return o, fmt.Errorf("find its operation: %w", err)
	}
	return o, nil
}

// inItsTurn delivers a redrive, or gives it back until its operation's own rate
// lets it through.
func (r *Runner) inItsTurn(ctx, sendCtx context.Context, src dlq.Source, c dlq.Redrive, ahead readAhead) error {
	record := context.WithoutCancel(ctx)
	o, err := r.operation(record, c.OperationID, ahead)
	if err != nil {
		return err
	}
	if o.Rate > 0 {
		now := r.o.Clock()
		if got, wait := r.pace.take("operation "+o.ID, o.Rate, 1, now); got == 0 {
			r.pace.giveBack("source "+c.Source, 1)
			return r.giveBack(record, c, now.Add(max(wait, time.Millisecond))) // rows know no less
		}
	}
	return r.deliver(ctx, sendCtx, src, c, ahead)
}

// leaseOf is longer than everything that is done under it: the question to the
// source, reading the stored copy, and the send.
func (r *Runner) leaseOf(src dlq.Source) time.Duration {
	lease := r.o.SendTimeout + 45*time.Second
	if src.Policy.Probe.Fetch == dlq.FetchAlways {
		lease += 5 * time.Minute
	}
	return lease
}

func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return u.Host
}
