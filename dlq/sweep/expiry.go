package sweep

import (
	"context"
	"time"
)

// ExpiringStore archives parked entries whose time is over. What an operation
// has reserved waits.
type ExpiringStore interface {
	ArchiveExpired(ctx context.Context, limit int) (int, error)
}

// Expiry archives the entries whose time is over.
func Expiry(store ExpiringStore) Step {
	return Step{Name: "expiry", Every: Minute, ByAge: true, Do: func(ctx context.Context, _ time.Time) (int, string, error) {
		n, err := bySlices(ctx, store.ArchiveExpired)
		return n, counted(n, "document went to the archive: its time was over", "documents went to the archive: their time was over"), err
	}}
}
