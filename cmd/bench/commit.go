package main

import (
	"context"
	"fmt"
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

// Run measures durable group commit at 256 producers against the same work in
// one transaction without syncing (P1), and against one record at a time (P2).
func (b commitBench) Run(ctx context.Context) error {
	records := 20_000
	if b.Scale == "full" {
		records = 100_000
	}
	grouped, err := rate(ctx, db.Options{}, records, func(store *db.Store, arrivals []dlq.Arrival) error {
		return recordConcurrently(ctx, store, arrivals)
	})
	if err != nil {
		return err
	}
	fmt.Printf("group commit, %d producers, synced: %.0f records/s\n", producers, grouped)
	unsynced, err := rate(ctx, db.Options{Synchronous: "OFF"}, records, func(store *db.Store, arrivals []dlq.Arrival) error {
		_, err := store.RecordArrivals(ctx, arrivals)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("one transaction, not synced: %.0f records/s\n", unsynced)
	single, err := rate(ctx, db.Options{}, min(records/10, 4000), func(store *db.Store, arrivals []dlq.Arrival) error {
		for _, a := range arrivals {
			if _, err := store.RecordArrival(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("one by one, synced: %.0f records/s\n", single)
	share, times := grouped/unsynced, grouped/single
	fmt.Printf("P2 group commit is %.1f times one by one (at least %.1f)\n", times, commitTimes)
	fmt.Printf("P1 group commit reaches %.0f %% of not syncing (at least %.0f %%)\n", 100*share, 100*commitShare)
	if share < commitShare || times < commitTimes {
		return fmt.Errorf("commit: below its bound")
	}
	return nil
}

// rate gives how many records a second are recorded in a fresh store. The
// arrivals are made before the clock runs.
func rate(ctx context.Context, o db.Options, records int, record func(*db.Store, []dlq.Arrival) error) (float64, error) {
	arrivals := make([]dlq.Arrival, records)
	for n := range arrivals {
		arrivals[n] = arrival(n)
	}
	var took time.Duration
	err := withStore(ctx, o, func(store *db.Store) error {
		began := time.Now()
		err := record(store, arrivals)
		took = time.Since(began)
		return err
	})
	return float64(records) / took.Seconds(), err
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
