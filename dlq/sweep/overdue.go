package sweep

import (
	"context"
	"fmt"
	"time"
)

// OverdueStore settles redrives whose outcome is overdue, as each source's
// policy says.
type OverdueStore interface {
	SettleOverdue(ctx context.Context, limit int) (parked, assumed int, err error)
}

// Overdue settles the redrives that nobody told the outcome of in time: parked
// again, or assumed to be committed.
func Overdue(store OverdueStore) Step {
	return Step{Name: "overdue outcomes", Every: Often, ByAge: true, Do: func(ctx context.Context, _ time.Time) (int, string, error) {
		parked, assumed := 0, 0
		n, err := bySlices(ctx, func(ctx context.Context, limit int) (int, error) {
			p, a, err := store.SettleOverdue(ctx, limit)
			parked, assumed = parked+p, assumed+a
			return p + a, err
		})
		return n, fmt.Sprintf("%s without an outcome in time: %d parked again, %d assumed to be committed", counted(n, "redrive", "redrives"), parked, assumed), err
	}}
}
