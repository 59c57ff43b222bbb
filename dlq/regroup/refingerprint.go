package regroup

import (
	"context"
	"fmt"
	"strings"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
)

// RefingerprintStore is what a move to a new version of the fingerprint needs of
// the database.
type RefingerprintStore interface {
	EntriesAfter(ctx context.Context, after int64, limit int) ([]int64, error)
	RegroupAttempts(ctx context.Context, entryIDs, members []int64) ([]dlq.RegroupAttempt, error)
	MovingRefingerprint(ctx context.Context) (dlq.Refingerprinting, bool, error)
	BeginRefingerprint(ctx context.Context, by dlq.Actor, plan dlq.RegroupPlan) error
	MoveRefingerprint(ctx context.Context, run string, placed []dlq.Placed, upTo int64) error
	FinishRefingerprint(ctx context.Context, run string) error
}

// Preview finds out what the newest of the algorithms would do to the grouping,
// and changes nothing. It reads every document's texts once.
func Preview(ctx context.Context, store RefingerprintStore, algorithms fingerprint.Algorithms) (dlq.RegroupPlan, error) {
	plan := dlq.RegroupPlan{To: algorithms.Newest().Name}
	pairs := map[dlq.RegroupPair]int64{}
	made := map[string]dlq.Fingerprint{}
	err := eachDocument(ctx, store, 0, func(attempts []dlq.RegroupAttempt, _ int64) error {
		for _, a := range attempts {
			if !a.Current || isOf(a, plan.To) {
				continue
			}
			plan.Documents++
			plan.From = algorithmOf(a.Root)
			if unreadable(a) {
				plan.Unreadable++
				continue
			}
			now := algorithms.OfEnvelope(a.Envelope)
			now.Former = nil
			made[now.Digest] = now
			pairs[dlq.RegroupPair{Cohort: a.RootCohort, Root: a.Root, Digest: now.Digest}]++
		}
		return nil
	})
	plan.Digests = dlq.PlanRegroup(pairs, made)
	return plan, err
}

// Begin makes what a plan names. Refingerprint then moves the documents.
func Begin(ctx context.Context, store RefingerprintStore, by dlq.Actor, plan dlq.RegroupPlan) error {
	return store.BeginRefingerprint(ctx, by, plan)
}

// Refingerprint moves documents to the newest of the algorithms, if a move was
// begun, and goes on where it was stopped. It answers how it stands.
func Refingerprint(ctx context.Context, store RefingerprintStore, algorithms fingerprint.Algorithms) (dlq.Refingerprinting, error) {
	run, found, err := store.MovingRefingerprint(ctx)
	if err != nil || !found {
		return run, err
	}
	if to := algorithms.Newest().Name; run.To != to {
		return run, fmt.Errorf("a move to fingerprint %s was begun, and this program groups by %s", run.To, to)
	}
	err = eachDocument(ctx, store, run.After, func(attempts []dlq.RegroupAttempt, upTo int64) error {
		var placed []dlq.Placed
		for _, a := range attempts {
			if !isOf(a, run.To) && !unreadable(a) {
				placed = append(placed, dlq.Placed{RegroupAttempt: a, Now: algorithms.OfEnvelope(a.Envelope)})
			}
		}
		return store.MoveRefingerprint(ctx, run.ID, placed, upTo)
	})
	if err != nil {
		return run, err
	}
	return run, store.FinishRefingerprint(ctx, run.ID)
}

// eachDocument reads every document after one, a slice at a time.
func eachDocument(ctx context.Context, store RefingerprintStore, after int64, do func(attempts []dlq.RegroupAttempt, upTo int64) error) error {
	for {
		ids, err := store.EntriesAfter(ctx, after, slice)
		if err != nil || len(ids) == 0 {
			return err
		}
		after = ids[len(ids)-1]
		attempts, err := store.RegroupAttempts(ctx, ids, nil)
		if err != nil {
			return err
		}
		if err := do(attempts, after); err != nil {
			return err
		}
	}
}

func algorithmOf(fp string) string {
	name, _, _ := strings.Cut(fp, ":")
	return name
}

func isOf(a dlq.RegroupAttempt, algorithm string) bool { return algorithmOf(a.Root) == algorithm }

// unreadable says that nothing is left to make a fingerprint from. Such a
// document keeps the one that it has.
func unreadable(a dlq.RegroupAttempt) bool {
	e := a.Envelope
	return e.StackTrace == "" && e.ErrorMessage == "" && e.ValidationOutput == nil && e.Confidence == nil
}
