package sweep

import (
	"context"
	"fmt"
	"time"
)

// Forget removes what has had its time and that nobody looks back at, such as
// old sessions: whatever the function removes of those that ended before now.
func Forget(what string, remove func(ctx context.Context, now time.Time) (int, error)) Step {
	return Step{Name: what, Every: Minute, Do: func(ctx context.Context, now time.Time) (int, string, error) {
		n, err := remove(ctx, now)
		return n, fmt.Sprintf("%s: %d removed", what, n), err
	}}
}
