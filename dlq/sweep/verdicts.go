package sweep

import (
	"context"
	"time"
)

// VerdictStore judges the redrives of before verdicts were kept.
type VerdictStore interface {
	JudgeOlder(ctx context.Context, limit int) (int, error)
}

// Verdicts judges what was settled under an older version of the program, so that
// its replays count in proofs. Once that is done there is nothing to do.
func Verdicts(store VerdictStore) Step {
	return Step{Name: "verdicts", Every: Often, Do: func(ctx context.Context, _ time.Time) (int, string, error) {
		n, err := bySlices(ctx, store.JudgeOlder)
		return n, counted(n, "older redrive was judged", "older redrives were judged"), err
	}}
}
