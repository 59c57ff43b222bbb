package regroup

import (
	"context"
	"slices"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
)

// SeparationStore is what is read to find what tells passed from failed apart.
type SeparationStore interface {
	ValuesStore
	CountedReplays(ctx context.Context, by dlq.Actor, cohortID string, step dlq.VersionStep) ([]dlq.CountedReplay, error)
}

// MostOfASide is how many that passed and how many that failed Separation looks
// at: the newest. Each costs the reading of its texts.
const MostOfASide = 250

// Separation finds by what the failures of a cohort that got past their error with
// a step of versions differ from those that did not: message template, content type
// or the version of a component. Where no replay failed, what arrived under the new
// versions has. False: nothing tells enough.
func Separation(ctx context.Context, store SeparationStore, by dlq.Actor, cohortID string, step dlq.VersionStep) (dlq.Separation, bool, error) {
	replays, err := store.CountedReplays(ctx, by, cohortID, step)
	if err != nil {
		return dlq.Separation{}, false, err
	}
	passed := map[int64]bool{} // by the failure's attempt; a later replay outranks an earlier one
	var entries []int64
	var sides [2]int
	newest := false
	for _, r := range dlq.CountingReplays(replays) {
		side := 0
		if r.Passed {
			side = 1
		}
		if _, known := passed[r.AttemptID]; known {
			continue
		}
		if sides[side] == MostOfASide {
			newest = true
			continue
		}
		sides[side]++
		passed[r.AttemptID] = r.Passed
		if !slices.Contains(entries, r.EntryID) {
			entries = append(entries, r.EntryID)
		}
	}
	if sides[1] == 0 {
		return dlq.Separation{}, false, nil
	}
	attempts, err := store.RegroupAttempts(ctx, entries, nil)
	if err != nil {
		return dlq.Separation{}, false, err
	}
	attempts = slices.DeleteFunc(attempts, func(a dlq.RegroupAttempt) bool { _, asked := passed[a.ID]; return !asked })
	arrived := int64(0)
	if sides[0] == 0 {
		under, more, err := arrivedUnder(ctx, store, by, cohortID, step)
		if err != nil {
			return dlq.Separation{}, false, err
		}
		for _, a := range under {
			if _, replayed := passed[a.ID]; !replayed {
				attempts = append(attempts, a)
				arrived++
			}
		}
		newest = newest || more
	}
	told, attributes := toldApart(attempts, passed, step)
	s, found := dlq.Separate(told, attributes)
	s.Newest, s.Arrived = newest, arrived
	return s, found, nil
}

// arrivedUnder reads the failures of stuck documents that came under the versions
// that a step led to.
func arrivedUnder(ctx context.Context, store SeparationStore, by dlq.Actor, cohortID string, step dlq.VersionStep) (list []dlq.RegroupAttempt, more bool, err error) {
	q, _ := dlq.ParseQuery("status:parked cohort:" + cohortID)
	entries, next, err := store.Entries(ctx, by, q, dlq.SortLastSeen, "", MostLooked)
	if err != nil {
		return nil, false, err
	}
	var ids []int64
	for _, e := range entries {
		if step.Under(e.Versions) {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) > MostOfASide {
		ids, next = ids[:MostOfASide], "more"
	}
	attempts, err := store.RegroupAttempts(ctx, ids, nil)
	return slices.DeleteFunc(attempts, func(a dlq.RegroupAttempt) bool { return !a.Current }), next != "", err
}

// toldApart says of each failure what a split could tell it by. The components of
// the step itself are not among them: they say which side a failure is on.
func toldApart(attempts []dlq.RegroupAttempt, passed map[int64]bool, step dlq.VersionStep) ([]dlq.ToldApart, []dlq.SplitBy) {
	attributes := []dlq.SplitBy{{Attribute: dlq.SplitTemplate}, {Attribute: dlq.SplitContentType}}
	var components []string
	for _, a := range attempts {
		for _, c := range a.Envelope.ComponentVersions().Components() {
			moves := slices.ContainsFunc(step.Moved, func(m dlq.ComponentMove) bool { return m.Component == c })
			if !moves && !slices.Contains(components, c) {
				components = append(components, c)
			}
		}
	}
	slices.Sort(components)
	for _, c := range components {
		attributes = append(attributes, dlq.SplitBy{Attribute: dlq.SplitVersion, Component: c})
	}
	var out []dlq.ToldApart
	for _, a := range attempts {
		made := fingerprint.OfEnvelope(a.Envelope)
		one := dlq.ToldApart{Passed: passed[a.ID], Values: map[dlq.SplitBy]string{}}
		for _, by := range attributes {
			one.Values[by] = by.ValueOf(made, a.Envelope.ComponentVersions(), a.Envelope.ContentType)
		}
		out = append(out, one)
	}
	return out, attributes
}
