package redrive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dlo/dlq"
)

// How a question about many documents is asked: no source is hurried by somebody
// who wants to know before a redrive.
const (
	asksAtOnce    = 8   // over all sources
	asksOfHost    = 4   // of one host
	asksPerSecond = 20  // of one host
	asksLooked    = 200 // waiting documents of an operation that one round looks at
)

// AskStore is what an asker needs of the store.
type AskStore interface {
	OpenOperations(ctx context.Context) ([]dlq.Operation, error)
	Items(ctx context.Context, operationID string, state dlq.ItemState, outcome dlq.OutcomeResult, after int64, limit int) ([]dlq.Item, error)
	Source(ctx context.Context, name string) (dlq.Source, error)
	Entry(ctx context.Context, by dlq.Actor, dlqID string) (dlq.Entry, error)
	Attempt(ctx context.Context, id int64) (dlq.Attempt, error)
	SaveProbe(ctx context.Context, entryID, attemptID int64, said dlq.SourceNow, reading dlq.Evidence) error
	// Asked records what came of one question; a reading, or why there was none.
	Asked(ctx context.Context, i dlq.Item, reading dlq.Reading, why dlq.LeftOut) error
}

// Asker carries operations forward that only ask sources what their documents are
// now. What was asked when the program ends is asked again: a question changes
// nothing.
type Asker struct {
	Store   AskStore
	Prober  Prober
	Reading Reading
	Clock   func() time.Time
	Report  func(error)
	Poll    time.Duration // how long to wait where nothing is to be asked; 1 s by default

	pace   pace
	places places
}

// Run asks until the context ends.
func (a *Asker) Run(ctx context.Context) {
	poll := a.Poll
	if poll <= 0 {
		poll = time.Second
	}
	for ctx.Err() == nil {
		did, err := a.RunOnce(ctx)
		if err != nil && ctx.Err() == nil {
			a.Report(err)
		}
		wait := poll
		if did > 0 && err == nil {
			wait = time.Second / asksPerSecond
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// RunOnce asks about the next documents, waits for the answers, and says how many
// documents it was done with.
func (a *Asker) RunOnce(ctx context.Context) (int, error) {
	operations, err := a.Store.OpenOperations(ctx)
	if err != nil {
		return 0, fmt.Errorf("find what is to be asked: %w", err)
	}
	if a.places.most == 0 {
		a.places.most, a.places.mostHost = asksAtOnce, asksOfHost
	}
	did := 0
	var errs []error
	for _, o := range operations {
		if o.Kind != dlq.OperationProbe || o.State != dlq.OperationRunning {
			continue
		}
		n, err := a.round(ctx, o)
		did += n
		if err != nil {
			errs = append(errs, fmt.Errorf("ask for operation %s: %w", o.ID, err))
		}
	}
	return did, errors.Join(errs...)
}

// round asks about as many documents of one operation as there are places now.
func (a *Asker) round(ctx context.Context, o dlq.Operation) (int, error) {
	items, err := a.Store.Items(ctx, o.ID, dlq.ItemWaiting, "", 0, asksLooked)
	if err != nil {
		return 0, err
	}
	var asks sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	began := 0
	for _, i := range items {
		src, why, err := a.sourceOf(ctx, i)
		if err != nil {
			errs = append(errs, err)
			break
		}
		if why != "" {
			began++
			if err := a.Store.Asked(ctx, i, "", why); err != nil {
				errs = append(errs, err)
			}
			continue
		}
		host := hostOf(src.Policy.Probe.URL)
		if a.places.take(host, 1) == 0 {
			continue // another round's
		}
		if got, _ := a.pace.take(host, asksPerSecond, 1, a.Clock()); got == 0 {
			a.places.giveBack(host, 1)
			continue
		}
		began++
		asks.Go(func() {
			defer a.places.giveBack(host, 1)
			if err := a.ask(ctx, src, i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	asks.Wait()
	return began, errors.Join(errs...)
}

func (a *Asker) sourceOf(ctx context.Context, i dlq.Item) (dlq.Source, dlq.LeftOut, error) {
	if i.Source == "" {
		return dlq.Source{}, dlq.LeftNotFound, nil
	}
	src, err := a.Store.Source(ctx, i.Source)
	if err == nil && !src.Policy.Probe.Configured() {
		return src, dlq.LeftNoProbe, nil
	}
	return src, "", err
}

func (a *Asker) ask(ctx context.Context, src dlq.Source, i dlq.Item) error {
	e, err := a.Store.Entry(ctx, dlq.Policy("question before a redrive"), i.DLQID)
	switch {
	case dlq.KindOf(err) == dlq.KindNotFound:
		return a.Store.Asked(ctx, i, "", dlq.LeftNotFound)
	case err != nil:
		return err
	case e.Status == dlq.StatusErased:
		return a.Store.Asked(ctx, i, "", dlq.LeftErased)
	case e.Status == dlq.StatusResolved:
		return a.Store.Asked(ctx, i, "", dlq.LeftResolved)
	}
	failed, err := a.Store.Attempt(ctx, e.EvidenceID)
	if err != nil {
		return fmt.Errorf("find the failure that is asked about: %w", err)
	}
	stored := recorded(failed)
	said := a.Prober.Ask(ctx, src.Policy.Probe, e.Source, e.DocID)
	if ctx.Err() != nil {
		return ctx.Err() // what was broken off says nothing of the source
	}
	reading := a.Reading(src.Policy.Probe.Kind, stored, said)
	if err := a.Store.SaveProbe(ctx, e.ID, e.EvidenceID, said, reading); err != nil {
		return err
	}
	return a.Store.Asked(ctx, i, reading.Bytes, "")
}

// Ask starts an operation that asks the sources about what a redrive would take,
// and acts on none of it. It needs no reason, and may be started by whoever may
// note. The errors are those of Start.
func (p *Planner) Ask(ctx context.Context, by dlq.Actor, entries []string, query string, expect int64) (dlq.Operation, error) {
	return p.Start(ctx, by, Request{Kind: dlq.OperationProbe, Entries: entries, Query: query, Expect: expect, Reason: "asked before a redrive", asks: true})
}
