package handlers

import (
	"context"

	"dlo/dlq"
)

// arrivedMost is up to how many documents a page counts that match an operation's
// filter and are not in it.
const arrivedMost = 10_000

// readRest reads what an operation leaves behind, for its whole page alone: what
// asks for itself again does not count it anew each time.
func (h *Handlers) readRest(ctx context.Context, f *operationFacts) error {
	f.arrived = -1
	o := f.operation
	if o.Query != "" && o.State != dlq.OperationPreparing {
		if err := h.countArrived(ctx, f); err != nil {
			return err
		}
	}
	if o.Kind != dlq.OperationRedrive || !o.State.Ended() {
		return nil
	}
	for _, outcome := range stuckStands {
		n := f.outcomes[outcome]
		if outcome == dlq.OutcomeCancelled {
			n = o.Counts[dlq.ItemCancelled]
		}
		if n == 0 {
			continue
		}
		q, bad := dlq.ParseQuery(stuckQuery(o.ID, string(outcome)))
		if len(bad) > 0 {
			return dlq.QueryError(bad)
		}
		parked, err := h.Store.CountEntries(ctx, f.by, q)
		if err != nil {
			return err
		}
		f.stuck = append(f.stuck, stuckChoice{string(outcome), parked})
	}
	return nil
}

// countArrived counts what matches the operation's filter now and is not in it.
// What names the one who asks finds other documents for another, and is not
// counted for them.
func (h *Handlers) countArrived(ctx context.Context, f *operationFacts) error {
	q, bad := dlq.ParseQuery(arrivedQuery(f.operation))
	if len(bad) > 0 {
		return nil // the language has moved on since, and the page says what was asked
	}
	for _, t := range q.Terms {
		if t.Key == "owner" && f.by.Name != f.operation.Actor.Name {
			for _, v := range t.Values {
				if v == "me" {
					return nil
				}
			}
		}
	}
	members, err := h.Store.FirstMembers(ctx, f.by, q, arrivedMost+1)
	f.arrived = int64(len(members))
	return err
}
