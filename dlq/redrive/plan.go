package redrive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
)

// FirstStep is how many entries the transaction that ends a preparation takes
// at most. An operation with a concurrency of its own takes no more than that.
const FirstStep = 500

// A slice of the membership is one transaction, and arrivals wait behind it: its
// size follows how long the last one took.
const (
	sliceTime  = 50 * time.Millisecond
	firstSlice = 200
	leastSlice = 10
	mostSlice  = 5000
)

// PlanStore is what starting an operation needs of the store.
type PlanStore interface {
	// Members lists the ids of what a query matches, in one snapshot.
	Members(ctx context.Context, by dlq.Actor, q dlq.Query) ([]string, error)
	Entry(ctx context.Context, by dlq.Actor, dlqID string) (dlq.Entry, error)
	RedrivesOf(ctx context.Context, entryID int64, limit int) ([]dlq.Redrive, error)
	Operation(ctx context.Context, id string) (dlq.Operation, error)
	// WaitsIn finds the redrive that has an entry reserved and has not taken it yet.
	WaitsIn(ctx context.Context, entryID int64) (dlq.Operation, bool, error)
	SeesOperation(ctx context.Context, by dlq.Actor, o dlq.Operation) (bool, error)
	Items(ctx context.Context, operationID string, state dlq.ItemState, outcome dlq.OutcomeResult, after int64, limit int) ([]dlq.Item, error)

	// Cohort finds a cohort by its id or by a fingerprint of it, and CohortProofs
	// concludes what its replays prove.
	Cohort(ctx context.Context, by dlq.Actor, id string) (dlq.Cohort, error)
	CohortProofs(ctx context.Context, by dlq.Actor, cohorts []dlq.Cohort) (map[string]dlq.CohortProof, error)

	CreateOperation(ctx context.Context, o dlq.Operation) (dlq.Operation, error)
	// AddItems says how long its own work took, without waiting for others.
	AddItems(ctx context.Context, o dlq.Operation, position int, dlqIDs []string) (time.Duration, error)
	Strata(ctx context.Context, operationID string) ([]dlq.ItemStratum, error)
	PlanSteps(ctx context.Context, operationID string, plan dlq.StepPlan) error
	StartOperation(ctx context.Context, id string, limit int) (dlq.Operation, error)
	NextStep(ctx context.Context, by dlq.Actor, id string, rest bool, reason string, limit int) (dlq.Operation, error)
	SetGoOn(ctx context.Context, by dlq.Actor, id string, goOn, returns *bool) (dlq.Operation, error)
	MoveOperation(ctx context.Context, by dlq.Actor, id string, to dlq.OperationState, why string) (dlq.Operation, error)
}

// Planner starts operations.
type Planner struct {
	Store PlanStore
	Clock func() time.Time
	Wake  func() // tells the runner that there is work; may be nil
}

// Start freezes the membership of a request and starts it: when it returns, the
// first step has been taken. A request for one entry that is on its way already
// answers the operation that sent it.
//
// The errors are KindForbidden; KindInvalid with every fault, those of a query
// included; and KindConflict, with both numbers, where what matches now is not
// what the person saw, or where the one entry is on its way in an operation that
// the caller may not know of.
func (p *Planner) Start(ctx context.Context, by dlq.Actor, req Request) (dlq.Operation, error) {
	if !by.May(req.Kind.Needs()) {
		return dlq.Operation{}, dlq.Errorf(dlq.KindForbidden, "you may not decide what becomes of documents here")
	}
	if err := req.check(p.Clock()); err != nil {
		return dlq.Operation{}, err
	}
	members, err := p.members(ctx, by, req)
	if err != nil {
		return dlq.Operation{}, err
	}
	if req.Expect >= 0 && int64(len(members)) != req.Expect {
		return dlq.Operation{}, dlq.Errorf(dlq.KindConflict, "%d matched when you looked, %d match now; nothing was sent", req.Expect, len(members))
	}
	single := req.Kind == dlq.OperationRedrive && len(req.Entries) > 0 && len(members) == 1
	if single {
		running, found, err := p.flightOf(ctx, by, members[0])
		if err != nil {
			return dlq.Operation{}, err
		}
		if found {
			return p.shown(ctx, by, running)
		}
	}
	o, err := p.start(ctx, by, req, members)
	if err != nil || !single {
		return o, err
	}
	return p.orTheOneBefore(ctx, by, o, members[0])
}

func (p *Planner) start(ctx context.Context, by dlq.Actor, req Request, members []string) (dlq.Operation, error) {
	asked := req.operation(by)
	if err := p.about(ctx, by, &asked); err != nil {
		return dlq.Operation{}, err
	}
	o, err := p.Store.CreateOperation(ctx, asked)
	if err != nil {
		return dlq.Operation{}, fmt.Errorf("create the operation: %w", err)
	}
	id := o.ID
	if err = p.addItems(ctx, o, members); err == nil {
		err = p.planSteps(ctx, o)
	}
	if err == nil {
		o, err = p.Store.StartOperation(ctx, id, firstStep(o))
	}
	if err != nil {
		// Without this it would keep its entries from others until the next start.
		_, moveErr := p.Store.MoveOperation(context.WithoutCancel(ctx), by, id, dlq.OperationCancelled, "its membership could not be written; nothing was done")
		return dlq.Operation{}, fmt.Errorf("prepare operation %s: %w", id, errors.Join(err, moveErr))
	}
	p.wake()
	return o, nil
}

// about finds the cohort that a redrive is about, if its query names one and no
// other, and notes what is known of it, so that what is achieved can be held
// against that.
func (p *Planner) about(ctx context.Context, by dlq.Actor, o *dlq.Operation) error {
	if o.Kind != dlq.OperationRedrive || o.Query == "" {
		return nil
	}
	q, _ := dlq.ParseQuery(o.Query)
	id, named := "", 0
	for _, t := range q.Terms {
		if t.Key == "cohort" {
			id, named = t.Values[0], named+len(t.Values)
			if t.Negated {
				named++
			}
		}
	}
	if named != 1 {
		return nil
	}
	cohort, err := p.Store.Cohort(ctx, by, id)
	if kind := dlq.KindOf(err); kind == dlq.KindNotFound || kind == dlq.KindInvalid {
		return nil // a beginning that names several
	}
	if err != nil {
		return fmt.Errorf("find the cohort that is redriven: %w", err)
	}
	proofs, err := p.Store.CohortProofs(ctx, by, []dlq.Cohort{cohort})
	if err != nil {
		return fmt.Errorf("find what is known of the cohort: %w", err)
	}
	shown := proofs[cohort.ID].Shown()
	o.CohortID = cohort.ID
	o.Proof = &dlq.Forecast{State: shown.State, Step: shown.Step, Passed: shown.Passed, Of: shown.Of, Covers: shown.Covers, Low: shown.Low, High: shown.High}
	return nil
}

// planSteps chooses the canaries of a redrive.
func (p *Planner) planSteps(ctx context.Context, o dlq.Operation) error {
	if o.Kind != dlq.OperationRedrive || len(o.Canary) == 0 {
		return nil
	}
	items, err := p.Store.Strata(ctx, o.ID)
	if err != nil {
		return err
	}
	return p.Store.PlanSteps(ctx, o.ID, dlq.PlanSteps(items, o.Canary, o.ID))
}

// Next sends the next step of a redrive, also while the one before has no outcome
// yet; with rest, everything that is left. Without a proof that asks for a reason.
// The errors are KindForbidden, KindNotFound, KindInvalid, and KindConflict where
// there is no step to take.
func (p *Planner) Next(ctx context.Context, by dlq.Actor, id string, rest bool, reason string) (dlq.Operation, error) {
	o, err := p.decide(ctx, by, id)
	if err != nil {
		return o, err
	}
	if rest && strings.TrimSpace(reason) == "" {
		proven, err := p.proven(ctx, by, o)
		if err != nil {
			return o, err
		}
		if !proven {
			return o, dlq.Invalid("steps can be skipped with a proof, or with a reason; nothing was sent", dlq.Fault{Pointer: "/reason", Detail: "why the steps between can be skipped expected: nothing is proven yet"})
		}
	}
	if n := utf8.RuneCountInString(reason); n > maxReason {
		return o, dlq.Invalid("the request was not understood; nothing was sent", dlq.Fault{Pointer: "/reason", Detail: fmt.Sprintf("at most %d characters expected", maxReason)})
	}
	o, err = p.Store.NextStep(ctx, by, id, rest, reason, firstStep(o))
	if err == nil {
		p.wake()
	}
	return o, err
}

// GoOn says whether a redrive takes its next steps by itself, and whether it goes
// on by itself when a target that was down answers again. Nil leaves as it is.
func (p *Planner) GoOn(ctx context.Context, by dlq.Actor, id string, steps, target *bool) (dlq.Operation, error) {
	o, err := p.decide(ctx, by, id)
	if err != nil {
		return o, err
	}
	o, err = p.Store.SetGoOn(ctx, by, id, steps, target)
	if err == nil {
		p.wake()
	}
	return o, err
}

func (p *Planner) decide(ctx context.Context, by dlq.Actor, id string) (dlq.Operation, error) {
	if !by.May(dlq.MayDecide) {
		return dlq.Operation{}, dlq.Errorf(dlq.KindForbidden, "you may not decide what becomes of documents here")
	}
	o, err := p.Store.Operation(ctx, id)
	if err != nil {
		return o, err
	}
	sees, err := p.Store.SeesOperation(ctx, by, o)
	if err == nil && !sees {
		err = dlq.Errorf(dlq.KindNotFound, "there is no such operation")
	}
	return o, err
}

func (p *Planner) proven(ctx context.Context, by dlq.Actor, o dlq.Operation) (bool, error) {
	if o.CohortID == "" {
		return false, nil
	}
	cohort, err := p.Store.Cohort(ctx, by, o.CohortID)
	if err != nil {
		return false, err
	}
	proofs, err := p.Store.CohortProofs(ctx, by, []dlq.Cohort{cohort})
	return proofs[cohort.ID].Shown().State == dlq.ProofProven, err
}

func (p *Planner) wake() {
	if p.Wake != nil {
		p.Wake()
	}
}

// firstStep is how many entries go at once. With a concurrency of its own, an
// operation never has more entries in flight than that, from the first on.
func firstStep(o dlq.Operation) int {
	if o.Kind == dlq.OperationRedrive && o.Concurrency > 0 {
		return min(FirstStep, o.Concurrency)
	}
	return FirstStep
}

func (p *Planner) members(ctx context.Context, by dlq.Actor, req Request) ([]string, error) {
	if len(req.Entries) > 0 {
		return distinct(req.Entries), nil
	}
	q, bad := dlq.ParseQuery(req.Query)
	if len(bad) > 0 {
		return nil, dlq.QueryError(bad)
	}
	members, err := p.Store.Members(ctx, by, q)
	if err != nil {
		return nil, fmt.Errorf("read what the query matches: %w", err)
	}
	return members, nil
}

func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// addItems writes the membership in slices, each as large as arrivals can wait
// for. What counts is the work of a slice alone: under load most of its time is
// waiting for its turn, and smaller slices would only wait more often.
func (p *Planner) addItems(ctx context.Context, o dlq.Operation, members []string) error {
	size, position := firstSlice, 1
	for len(members) > 0 {
		slice := members[:min(size, len(members))]
		took, err := p.Store.AddItems(ctx, o, position, slice)
		if err != nil {
			return err
		}
		size = nextSlice(size, took)
		members, position = members[len(slice):], position+len(slice)
	}
	return nil
}

// nextSlice is the size of the slice after one that took a time.
func nextSlice(size int, took time.Duration) int {
	switch {
	case took > sliceTime:
		size = int(int64(size) * int64(sliceTime) / int64(took))
	case took < sliceTime/2:
		size *= 2
	}
	return min(max(size, leastSlice), mostSlice)
}

// flightOf finds the operation that an entry is on its way in.
func (p *Planner) flightOf(ctx context.Context, by dlq.Actor, dlqID string) (dlq.Operation, bool, error) {
	e, err := p.Store.Entry(ctx, by, dlqID)
	if dlq.KindOf(err) == dlq.KindNotFound {
		return dlq.Operation{}, false, nil // an item that is left out as such
	}
	if err != nil || e.Status != dlq.StatusRedriving {
		return dlq.Operation{}, false, err
	}
	redrives, err := p.Store.RedrivesOf(ctx, e.ID, 1)
	if err != nil || len(redrives) == 0 || !redrives[0].InFlight() {
		return dlq.Operation{}, false, err
	}
	o, err := p.Store.Operation(ctx, redrives[0].OperationID)
	return o, err == nil, err
}

// shown answers an operation to whoever may know of it. To others that it exists
// is said, because the entry's own state says so, and nothing more.
func (p *Planner) shown(ctx context.Context, by dlq.Actor, o dlq.Operation) (dlq.Operation, error) {
	sees, err := p.Store.SeesOperation(ctx, by, o)
	if err != nil {
		return dlq.Operation{}, err
	}
	if !sees {
		return dlq.Operation{}, dlq.Errorf(dlq.KindConflict, "it is on its way already; nothing was sent")
	}
	return o, nil
}

// orTheOneBefore answers another's operation where it was quicker with the same
// one entry, and the caller may know of it. Ours stays, done, with that entry left
// out as in flight.
func (p *Planner) orTheOneBefore(ctx context.Context, by dlq.Actor, ours dlq.Operation, dlqID string) (dlq.Operation, error) {
	if ours.Counts[dlq.ItemLeftOut] == 0 {
		return ours, nil
	}
	items, err := p.Store.Items(ctx, ours.ID, dlq.ItemLeftOut, "", 0, 1)
	if err != nil || len(items) == 0 || items[0].Why != dlq.LeftInFlight {
		return ours, err
	}
	theirs, found, err := p.flightOf(ctx, by, dlqID)
	if err == nil && !found { // theirs has reserved it, and takes it in a moment
		theirs, found, err = p.Store.WaitsIn(ctx, items[0].EntryID)
	}
	if err == nil && !found { // that moment was now
		theirs, found, err = p.flightOf(ctx, by, dlqID)
	}
	if err != nil || !found {
		return ours, err
	}
	sees, err := p.Store.SeesOperation(ctx, by, theirs)
	if err != nil || !sees {
		return ours, err
	}
	return theirs, nil
}
