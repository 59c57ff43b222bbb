package sweep

import (
	"context"
	"fmt"
	"time"

	"dlo/dlq"
)

// CancelledStore finishes what cancelling an operation leaves behind.
type CancelledStore interface {
	// CancelledOperations lists the cancelled operations of which something
	// still waits or was not sent, oldest first.
	CancelledOperations(ctx context.Context, limit int) ([]dlq.Operation, error)
	// StepOperation marks the next waiting items of a cancelled operation as
	// such, and parks again what came back unsent.
	StepOperation(ctx context.Context, id string, limit int) (dlq.Operation, error)
}

// Cancelled finishes cancelled operations. Their entries were free at once,
// because the reservation is the operation's state; this only marks the items,
// and takes back what a delivery held when it was cancelled.
func Cancelled(store CancelledStore) Step {
	return Step{Name: "cancelled operations", Every: Often, Do: func(ctx context.Context, _ time.Time) (int, string, error) {
		operations, err := store.CancelledOperations(ctx, slice)
		if err != nil {
			return 0, "", err
		}
		did := 0
		for _, o := range operations {
			n, err := finish(ctx, store, o)
			did += n
			if err != nil {
				return did, "", fmt.Errorf("finish operation %s: %w", o.ID, err)
			}
		}
		return did, counted(did, "item of a cancelled operation was given up", "items of cancelled operations were given up"), nil
	}}
}

func finish(ctx context.Context, store CancelledStore, o dlq.Operation) (int, error) {
	open := func(o dlq.Operation) int { return int(o.Counts[dlq.ItemWaiting] + o.Counts[dlq.ItemInFlight]) }
	before := open(o)
	for range rounds {
		was := open(o)
		after, err := store.StepOperation(ctx, o.ID, slice)
		if err != nil {
			return before - was, err
		}
		o = after
		if open(o) == was || o.Counts[dlq.ItemWaiting] == 0 || ctx.Err() != nil {
			break // what is in flight has been sent, and keeps its outcome
		}
	}
	return before - open(o), nil
}
