// Package sweep does what time alone brings about: entries expire, outcomes are
// overdue, bytes lose their last holder, sessions end. It knows when each step
// is to be done and says what it did; the rules behind a step, and the
// transaction that it is done in, belong to the store.
package sweep

import (
	"context"
	"fmt"
	"time"
)

// How often the steps are done.
const (
	Often  = 5 * time.Second // what people wait for
	Minute = time.Minute
	Hourly = time.Hour // what has to look at everything
)

// Step is one thing that time brings about.
type Step struct {
	Name  string
	Every time.Duration
	// Do does what is due at the time, and answers how much that was, and in a
	// sentence what. Nothing to do is 0, and the sentence is then not read.
	Do func(ctx context.Context, now time.Time) (did int, sentence string, err error)
	// ByAge says that it does what is due because time has passed, so that a clock
	// that jumped would do all of it at once. It waits when that is seen.
	ByAge bool
}

// Result is what a step did.
type Result struct {
	Name     string
	Did      int
	Sentence string
	Err      error // the step did not finish; what it did before stands
}

// Runner does the steps, one after the other, each at its own interval. One
// runner serves a database.
type Runner struct {
	Steps  []Step
	Clock  func() time.Time // what time it is for the steps; the intervals follow the machine's own clock
	Report func(Result)     // is told of whatever was done or failed; may be nil
	Swept  SweptStore       // may be nil: then a clock is not held to the last sweep before the start
}

// RunOnce does every step once, whether or not it is due, and answers for each
// in its order. A step that fails holds up none after it.
func (r *Runner) RunOnce(ctx context.Context, now time.Time) []Result {
	results := make([]Result, 0, len(r.Steps))
	for _, s := range r.Steps {
		if ctx.Err() != nil {
			return results
		}
		results = append(results, s.do(ctx, now))
	}
	return results
}

func (s Step) do(ctx context.Context, now time.Time) Result {
	did, sentence, err := s.Do(ctx, now)
	if err != nil {
		err = fmt.Errorf("sweep %s: %w", s.Name, err)
	}
	if did == 0 {
		sentence = "nothing to do"
	}
	return Result{Name: s.Name, Did: did, Sentence: sentence, Err: err}
}

// Run does each step at once and then at its interval, until the context ends.
func (r *Runner) Run(ctx context.Context) {
	if len(r.Steps) == 0 {
		return
	}
	next := make([]time.Time, len(r.Steps))
	clock := r.keep(ctx)
	for ctx.Err() == nil {
		held := clock.holds(ctx)
		for i, s := range r.Steps {
			if time.Now().Before(next[i]) || ctx.Err() != nil {
				continue
			}
			if held && s.ByAge {
				next[i] = time.Now().Add(s.Every)
				continue
			}
			result := s.do(ctx, r.Clock())
			next[i] = time.Now().Add(s.Every) // from its end: a slow step never overtakes itself
			if r.Report != nil && ctx.Err() == nil && (result.Did > 0 || result.Err != nil) {
				r.Report(result)
			}
		}
		restUntil(ctx, next)
	}
}

func restUntil(ctx context.Context, next []time.Time) {
	first := next[0]
	for _, t := range next[1:] {
		if t.Before(first) {
			first = t
		}
	}
	timer := time.NewTimer(time.Until(first))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// A step works in slices, each a transaction of its own, so that arrivals are
// not held up; and it leaves the rest for its next time, so that the steps after
// it are not either.
const (
	slice  = 200
	rounds = 50
)

// bySlices calls do until it does less than a slice.
func bySlices(ctx context.Context, do func(ctx context.Context, limit int) (int, error)) (int, error) {
	total := 0
	for range rounds {
		n, err := do(ctx, slice)
		total += n
		if err != nil || n < slice || ctx.Err() != nil {
			return total, err
		}
	}
	return total, nil
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
