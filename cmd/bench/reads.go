package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dlo/db"
	"dlo/dlq"
)

const (
	growthMost = 1.5 // P5
	readRounds = 200
)

type readsBench struct{ scale }

// read is one question that a screen asks.
type read struct {
	name string
	ask  func(ctx context.Context, store *db.Store) error
}

// Run measures how the reads of the cohort list and the cohort page grow with
// ten times the entries, at the median.
func (b readsBench) Run(ctx context.Context) error {
	smallSize, largeSize := b.entries()
	worst := 0.0
	err := withStore(ctx, db.Options{}, func(store *db.Store) error {
		if err := fill(ctx, store, 0, smallSize); err != nil {
			return err
		}
		small, err := medians(ctx, store)
		if err != nil {
			return err
		}
		if err := fill(ctx, store, smallSize, largeSize); err != nil {
			return err
		}
		large, err := medians(ctx, store)
		if err != nil {
			return err
		}
		for i, r := range reads() {
			growth := float64(large[i]) / float64(small[i])
			worst = max(worst, growth)
			fmt.Printf("  %-12s %8s with %d entries, %8s with %d: %.2f times\n", r.name, small[i].Round(time.Microsecond), smallSize, large[i].Round(time.Microsecond), largeSize, growth)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("P5 the slowest to grow takes %.2f times as long with ten times the entries (at most %.1f)\n", worst, growthMost)
	if worst > growthMost {
		return fmt.Errorf("reads: above its bound")
	}
	return nil
}

func reads() []read {
	by := dlq.Policy("bench")
	return []read{
		{"cohort list", func(ctx context.Context, store *db.Store) error {
			list, _, err := store.Cohorts(ctx, by, dlq.CohortQuery{Open: true}, "", 50)
			return atLeastOne(len(list), err)
		}},
		{"cohort page", func(ctx context.Context, store *db.Store) error {
			list, _, err := store.Cohorts(ctx, by, dlq.CohortQuery{Open: true}, "", 1)
			if err := atLeastOne(len(list), err); err != nil {
				return err
			}
			if _, err := store.VersionMonths(ctx, by, list[0].ID); err != nil {
				return err
			}
			q, _ := dlq.ParseQuery("status:parked cohort:" + list[0].ID)
			entries, _, err := store.Entries(ctx, by, q, dlq.SortLastSeen, "", 50)
			return atLeastOne(len(entries), err)
		}},
		{"look-up", func(ctx context.Context, store *db.Store) error {
			_, err := store.EntryByDoc(ctx, by, "source-1", "document-1")
			return err
		}},
	}
}

func atLeastOne(n int, err error) error {
	if err == nil && n == 0 {
		err = fmt.Errorf("nothing was found to measure")
	}
	return err
}

// medians asks each question often, in turn, so that noise falls on all alike.
func medians(ctx context.Context, store *db.Store) ([]time.Duration, error) {
	questions := reads()
	took := make([][]time.Duration, len(questions))
	for round := range readRounds + 10 {
		for i, q := range questions {
			began := time.Now()
			if err := q.ask(ctx, store); err != nil {
				return nil, fmt.Errorf("%s: %w", q.name, err)
			}
			if round >= 10 { // the first rounds warm the caches
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	out := make([]time.Duration, len(questions))
	for i, t := range took {
		slices.Sort(t)
		out[i] = t[len(t)/2]
	}
	return out, nil
}
