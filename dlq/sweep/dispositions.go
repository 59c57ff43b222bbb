package sweep

import (
	"context"
	"time"
)

// DispositionStore ends the dispositions that a date, a deployment or the number
// of documents brought to an end.
type DispositionStore interface {
	EndDispositions(ctx context.Context, limit int) (int, error)
}

// Dispositions ends what was decided until something that has come. It runs
// often, because what ends needs a decision again.
func Dispositions(store DispositionStore) Step {
	return Step{Name: "dispositions", Every: Often, ByAge: true, Do: func(ctx context.Context, _ time.Time) (int, string, error) {
		n, err := bySlices(ctx, store.EndDispositions)
		return n, counted(n, "disposition is over: what it stood on needs a decision again", "dispositions are over: what they stood on needs a decision again"), err
	}}
}
