// Package regroup moves documents behind a decision about their grouping: a
// split that a person made, or a new version of the fingerprint. It reads
// failures slice by slice, makes their fingerprints anew from the texts that were
// kept, and hands each slice to the store. Which member a failure belongs to is
// decided there, by the same rules as for one that arrives.
package regroup

import (
	"context"
	"fmt"
	"time"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
)

// Store is what regrouping needs of the database.
type Store interface {
	MovingSplits(ctx context.Context) ([]dlq.GroupingRule, error)
	SplitWork(ctx context.Context, ruleID string) ([]int64, error)
	RegroupAttempts(ctx context.Context, entryIDs, members []int64) ([]dlq.RegroupAttempt, error)
	SplitMembers(ctx context.Context, ruleID string) ([]int64, error)
	MoveSplit(ctx context.Context, ruleID string, placed []dlq.Placed, upTo int64) (moved int64, goesOn bool, err error)
	FinishSplit(ctx context.Context, ruleID string) error
}

// slice is how many documents one transaction moves: about 50 ms of the writer.
const slice = 100

// Runner moves the documents of splits. One runner serves a database.
type Runner struct {
	store  Store
	report func(error) // is told what went wrong; the work goes on at the next turn
	wake   chan struct{}
}

// NewRunner makes a runner.
func NewRunner(store Store, report func(error)) *Runner {
	return &Runner{store: store, report: report, wake: make(chan struct{}, 1)}
}

// Wake says that a split was made. It never blocks.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// often is how long a split that another process made waits at most.
const often = 5 * time.Second

// Run moves what is to be moved until the context ends. What it had not moved
// by then it goes on with at the next start.
func (r *Runner) Run(ctx context.Context) {
	for {
		if _, err := r.RunOnce(ctx); err != nil && ctx.Err() == nil {
			r.report(fmt.Errorf("regroup: %w", err))
		}
		timer := time.NewTimer(often)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-r.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// RunOnce moves the documents of every split that is not done, and answers how
// many moved.
func (r *Runner) RunOnce(ctx context.Context) (int64, error) {
	splits, err := r.store.MovingSplits(ctx)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, s := range splits {
		moved, err := r.split(ctx, s)
		total += moved
		if err != nil {
			return total, fmt.Errorf("move the documents of split %s: %w", s.ID, err)
		}
	}
	return total, nil
}

func (r *Runner) split(ctx context.Context, s dlq.GroupingRule) (int64, error) {
	members, err := r.store.SplitMembers(ctx, s.ID)
	if err != nil {
		return 0, err
	}
	work, err := r.store.SplitWork(ctx, s.ID)
	if err != nil {
		return 0, err
	}
	var total int64
	for len(work) > 0 {
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
		ids := work[:min(len(work), slice)]
		work = work[len(ids):]
		attempts, err := r.store.RegroupAttempts(ctx, ids, members)
		if err != nil {
			return total, err
		}
		moved, goesOn, err := r.store.MoveSplit(ctx, s.ID, place(attempts), ids[len(ids)-1])
		total += moved
		if err != nil || !goesOn {
			return total, err
		}
	}
	return total, r.store.FinishSplit(ctx, s.ID)
}

// place makes the fingerprints of failures anew.
func place(attempts []dlq.RegroupAttempt) []dlq.Placed {
	out := make([]dlq.Placed, len(attempts))
	for i, a := range attempts {
		out[i] = dlq.Placed{RegroupAttempt: a, Now: fingerprint.OfEnvelope(a.Envelope)}
	}
	return out
}
