package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dlo/dlq"
)

const (
	termsDropped   = 8 // terms of a query that one is looked for among
	droppedWithin  = 400 * time.Millisecond
	droppedAtLeast = 2 // a query of one term finds everything without it
)

// WithoutTerm finds the terms of a query that matches nothing, each of which alone
// keeps everything out: without it something matches. What cells and states answer
// is counted from the rollup; of any other query one document is looked for. A
// query of more than eight terms is not taken apart, and what is not found within
// the time is not said: nobody asked for it.
func (s *Store) WithoutTerm(ctx context.Context, by dlq.Actor, q dlq.Query) ([]dlq.ExcludingTerm, error) {
	if len(q.Terms) < droppedAtLeast || len(q.Terms) > termsDropped {
		return nil, nil
	}
	within, cancel := context.WithTimeout(ctx, droppedWithin)
	defer cancel()
	var out []dlq.ExcludingTerm
	for i := range q.Terms {
		n, err := s.matchesAny(within, by, q.WithoutTerm(i))
		if err != nil {
			if ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded) {
				return out, nil
			}
			return nil, fmt.Errorf("look for what a term keeps out: %w", err)
		}
		if n != 0 {
			out = append(out, dlq.ExcludingTerm{At: i, Documents: n})
		}
	}
	return out, nil
}

// matchesAny counts what a query matches where the rollup can, and else says with
// -1 that something does.
func (s *Store) matchesAny(ctx context.Context, by dlq.Actor, q dlq.Query) (int64, error) {
	f, err := s.filter(ctx, q, by, false)
	if err != nil {
		return 0, err
	}
	var n int64
	if rolled, whole := f.rolledUp(q, by); whole {
		_, err = s.one(ctx, rolled.countCells(), rolled.args, &n)
		return n, err
	}
	f.said = true // the indexes of moments and of counts begin with the state
	_, err = s.one(ctx, "select -1 from "+f.from()+" where "+f.sql()+" limit 1", f.args, &n)
	return n, err
}
