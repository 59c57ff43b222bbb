package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dlo/db"
	"dlo/dlq"
)

const (
	producers   = 256
	commitShare = 0.50 // P1
	commitTimes = 5.0  // P2
)

type commitBench struct{ scale }

// rounds is how often everything is measured: a disk's speed of syncing changes
// from one moment to the next, so the ratios are of one round, and the median
// round counts.
const rounds = 3

// Run measures durable group commit at 256 producers against the same work in
// one transaction without syncing (P1), and against one record at a time (P2).
func (b commitBench) Run(ctx context.Context) error {
	records := 20_000
	if b.Scale == "full" {
		records = 100_000
	}
	var shares, times []float64
	for range rounds {
		grouped, err := rate(ctx, db.Options{}, records, recordConcurrently)
		if err != nil {
			return err
		}
		unsynced, err := rate(ctx, db.Options{Synchronous: "OFF"}, records, recordTogether)
		if err != nil {
			return err
		}
		single, err := rate(ctx, db.Options{}, records, recordOneByOne)
		if err != nil {
			return err
		}
		fmt.Printf("records/s: %.0f in group commit of %d producers, %.0f in one transaction not synced, %.0f one by one\n", grouped, producers, unsynced, single)
		shares, times = append(shares, grouped/unsynced), append(times, grouped/single)
	}
	share, more := median(shares), median(times)
	fmt.Printf("P2 group commit is %.1f times one by one (at least %.1f)\n", more, commitTimes)
	fmt.Printf("P1 group commit reaches %.0f %% of not syncing (at least %.0f %%)\n", 100*share, 100*commitShare)
	if share < commitShare || more < commitTimes {
		return fmt.Errorf("commit: below its bound")
	}
	return nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// rate gives how many records a second are recorded in a fresh store. The
// arrivals are made before the clock runs.
func rate(ctx context.Context, o db.Options, records int, record func(context.Context, *db.Store, []dlq.Arrival) error) (float64, error) {
	arrivals := make([]dlq.Arrival, records)
	for n := range arrivals {
		arrivals[n] = arrival(n)
	}
	var took time.Duration
	err := withStore(ctx, o, func(store *db.Store) error {
		began := time.Now()
		err := record(ctx, store, arrivals)
		took = time.Since(began)
		return err
	})
	return float64(records) / took.Seconds(), err
}

func recordTogether(ctx context.Context, store *db.Store, arrivals []dlq.Arrival) error {
	_, err := store.RecordArrivals(ctx, arrivals)
	return err
}

func recordOneByOne(ctx context.Context, store *db.Store, arrivals []dlq.Arrival) error {
	for _, a := range arrivals {
		if _, err := store.RecordArrival(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func recordConcurrently(ctx context.Context, store *db.Store, arrivals []dlq.Arrival) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range producers {
		all.Go(func() {
			for failed.Load() == nil {
				n := next.Add(1) - 1
				if n >= int64(len(arrivals)) {
					return
				}
				if _, err := store.RecordArrival(ctx, arrivals[n]); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
