package sweep

import (
	"context"
	"time"
)

// TextStore reads documents into its text index, a slice at a time.
type TextStore interface {
	// IndexText reads at most limit documents, and says how many it read,
	// whether there are more, and for how long the writer was held up.
	IndexText(ctx context.Context, limit int) (did int, more bool, took time.Duration, err error)
}

const (
	textEvery    = 500 * time.Millisecond // while nothing waits
	textSlice    = 35 * time.Millisecond  // of the writer's time and the commit; arrivals wait for it
	textLeast    = 10                     // documents of a slice
	textMost     = 500
	textFirst    = 100
	textFailWait = 10 * time.Second // after an error
)

// TextIndexer feeds the text index beside arrivals, in slices that are short for
// the writer. It reads until nothing is left, and looks again soon.
type TextIndexer struct {
	Store  TextStore
	Report func(error) // of what went wrong; may be nil

	limit int
}

// Run feeds the index until the context ends.
func (x *TextIndexer) Run(ctx context.Context) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		next := textEvery
		if _, err := x.RunOnce(ctx); err != nil && ctx.Err() == nil {
			next = textFailWait
			if x.Report != nil {
				x.Report(err)
			}
		}
		wait.Reset(next)
	}
}

// RunOnce reads what the index has not read, and says how many documents that
// were.
func (x *TextIndexer) RunOnce(ctx context.Context) (int, error) {
	if x.limit == 0 {
		x.limit = textFirst
	}
	all := 0
	for ctx.Err() == nil {
		did, more, took, err := x.Store.IndexText(ctx, x.limit)
		all += did
		if err != nil || !more {
			return all, err
		}
		switch {
		case took > textSlice:
			x.limit = max(x.limit/2, textLeast)
		case took < textSlice/2:
			x.limit = min(x.limit*2, textMost)
		}
	}
	return all, ctx.Err()
}

// Text feeds the index once, for a sweep by hand.
func Text(store TextStore) Step {
	x := &TextIndexer{Store: store}
	return Step{Name: "text index", Every: Minute, Do: func(ctx context.Context, _ time.Time) (int, string, error) {
		n, err := x.RunOnce(ctx)
		return n, counted(n, "document was read into the text index", "documents were read into the text index"), err
	}}
}
