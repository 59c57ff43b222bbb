package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dlo/dlq"
)

// health remembers how the last deliveries of each operation went. When they fail,
// the target is down, and not the documents: the operation pauses, and one delivery
// at a time tries whether it answers again. It is kept in memory: after a restart
// the deliveries are looked at anew.
type health struct {
	mu   sync.Mutex
	last map[string]*deliveries
}

// deliveries are the last of one operation.
type deliveries struct {
	failed [dlq.PauseOfLast]bool // a ring
	n      int                   // how many there were
	row    int                   // that failed, the last ones in a row
	tried  int                   // how often the target was tried while it was down
	down   bool                  // its operation is paused for it, or was a moment ago
	at     time.Time
}

// heard records how a delivery went, and says why its operation has to pause, if
// it has to. The share is of failures among the last deliveries, once there are so
// many.
func (h *health) heard(operationID string, failed bool, share float64, now time.Time) (why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.of(operationID)
	d.failed[d.n%dlq.PauseOfLast], d.at = failed, now
	d.n++
	if !failed {
		d.row, d.tried = 0, 0
	} else {
		d.row++
	}
	if d.row >= dlq.PauseInARow {
		return fmt.Sprintf("%d deliveries in a row failed: the target is down, and not the documents", d.row)
	}
	bad := 0
	for _, f := range d.failed {
		if f {
			bad++
		}
	}
	if share = cmp.Or(share, dlq.DefaultPauseShare); d.n >= dlq.PauseOfLast && float64(bad) > share*dlq.PauseOfLast {
		return fmt.Sprintf("%d of the last %d deliveries failed: the target is down, and not the documents", bad, dlq.PauseOfLast)
	}
	return ""
}

// isDown notes that an operation is paused for its target, from now on.
func (h *health) isDown(operationID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(operationID).down = true
}

func (h *health) wasDown(operationID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	d, ok := h.last[operationID]
	return ok && d.down
}

// forget begins anew with an operation that goes on.
func (h *health) forget(operationID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.last, operationID)
}

// again is how long to wait before the target of a paused operation is tried
// again: from the first time, doubling, up to a quarter of an hour.
func (h *health) again(operationID string, first time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.of(operationID)
	wait := min(first<<min(d.tried, 10), lastTry)
	d.tried++
	return wait
}

const (
	firstTry = 30 * time.Second
	lastTry  = 15 * time.Minute
)

// maxHealth is when the operations that were not heard of for a day are forgotten.
const maxHealth = 1000

func (h *health) of(operationID string) *deliveries {
	if h.last == nil {
		h.last = map[string]*deliveries{}
	}
	if d, ok := h.last[operationID]; ok {
		return d
	}
	if len(h.last) >= maxHealth {
		newest := time.Time{}
		for _, d := range h.last {
			if d.at.After(newest) {
				newest = d.at
			}
		}
		for id, d := range h.last {
			if newest.Sub(d.at) > 24*time.Hour {
				delete(h.last, id)
			}
		}
	}
	d := &deliveries{}
	h.last[operationID] = d
	return d
}

// heard looks at how a delivery of an operation went: what that does if too many
// fail, and, of one that is paused for its target, whether that answers again. The
// operation is read again only where something follows: most deliveries go well.
func (r *Runner) heard(ctx context.Context, o dlq.Operation, failed bool) error {
	now := r.o.Clock()
	down := r.health.wasDown(o.ID)
	why := ""
	if !down {
		if why = r.health.heard(o.ID, failed, o.PauseShare, now); why == "" {
			return nil
		}
	}
	o, err := r.o.Store.Operation(ctx, o.ID)
	if err != nil {
		return fmt.Errorf("find its operation: %w", err)
	}
	if o.State == dlq.OperationPaused && o.Asks == dlq.AsksTarget {
		if failed { // the next try is set already, be this the one before or something that was on its way
			return nil
		}
		r.health.forget(o.ID)
		return r.o.Store.TriedTarget(ctx, o.ID, true, time.Time{})
	}
	if down { // somebody resumed it
		r.health.forget(o.ID)
		why = r.health.heard(o.ID, failed, o.PauseShare, now)
	}
	if why == "" || o.State != dlq.OperationRunning {
		return nil
	}
	r.health.forget(o.ID)
	wait := r.health.again(o.ID, r.o.FirstTry)
	r.health.isDown(o.ID)
	return r.o.Store.PauseForTarget(ctx, o.ID, why, now.Add(wait))
}

// tryTargets sends one delivery of each operation that is paused because its
// target was down, when its time has come.
func (r *Runner) tryTargets(ctx, sendCtx context.Context) (started int, err error) {
	operations, err := r.o.Store.TryingOperations(ctx)
	if err != nil {
		return 0, fmt.Errorf("find targets to try: %w", err)
	}
	for _, o := range operations {
		later := r.o.Clock().Add(r.health.again(o.ID, r.o.FirstTry))
		r.health.isDown(o.ID)
		// The next try is set before this one, so that a try that is lost is made again.
		if err := r.o.Store.TriedTarget(ctx, o.ID, false, later); err != nil {
			return started, fmt.Errorf("set the next try of operation %s: %w", o.ID, err)
		}
		claimed, err := r.o.Store.ClaimTry(ctx, o.ID, r.o.Owner, r.o.SendTimeout+6*time.Minute)
		if err != nil {
			return started, fmt.Errorf("try the target of operation %s: %w", o.ID, err)
		}
		if claimed == nil {
			continue
		}
		record := context.WithoutCancel(ctx) // from here on it is ours, stop or no stop
		src, err := r.o.Store.Source(record, claimed.Source)
		if err != nil {
			return started, errors.Join(err, r.giveBack(record, *claimed, claimed.NextAt))
		}
		started++
		r.sends.Add(1)
		go func() {
			defer r.sends.Done()
			defer r.Wake()
			if err := r.deliver(ctx, sendCtx, src, *claimed, readAhead{}); err != nil {
				r.o.Report(fmt.Errorf("deliver redrive %s: %w", claimed.ID, err))
			}
		}()
	}
	return started, nil
}
