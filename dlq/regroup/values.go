package regroup

import (
	"context"
	"slices"
	"strings"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
)

// ValuesStore is what is read to show what a cohort could be split by.
type ValuesStore interface {
	Entries(ctx context.Context, by dlq.Actor, q dlq.Query, sort dlq.EntrySort, after string, limit int) (list []dlq.Entry, next string, err error)
	RegroupAttempts(ctx context.Context, entryIDs, members []int64) ([]dlq.RegroupAttempt, error)
}

// MostLooked is how many documents Values looks at: the newest of those that are
// open. What it counts is of these, and whoever shows it says so.
const MostLooked = 500

// Attribute is one thing that a cohort could be split by: the values that its
// documents have, most first.
type Attribute struct {
	By     dlq.SplitBy
	Values []Value
}

// Value is one value of an attribute and how many of the documents that were
// looked at have it.
type Value struct {
	Text      string
	Documents int
}

// Values finds by what a cohort could be split: for each attribute with more
// than one value, the values of its newest open documents. It answers how many
// it looked at, and whether there are more.
func Values(ctx context.Context, store ValuesStore, by dlq.Actor, cohortID string) (list []Attribute, looked int, more bool, err error) {
	q, _ := dlq.ParseQuery("status:open cohort:" + cohortID)
	entries, next, err := store.Entries(ctx, by, q, dlq.SortLastSeen, "", MostLooked)
	if err != nil {
		return nil, 0, false, err
	}
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	attempts, err := store.RegroupAttempts(ctx, ids, nil)
	if err != nil {
		return nil, 0, false, err
	}
	var current []dlq.RegroupAttempt
	components := []string{}
	for _, a := range attempts {
		if !a.Current {
			continue
		}
		current = append(current, a)
		for _, c := range a.Envelope.ComponentVersions().Components() {
			if !slices.Contains(components, c) {
				components = append(components, c)
			}
		}
	}
	slices.Sort(components)
	return attributesOf(current, components), len(current), next != "", nil
}

func attributesOf(current []dlq.RegroupAttempt, components []string) []Attribute {
	made := make([]dlq.Fingerprint, len(current))
	for i, a := range current {
		made[i] = fingerprint.OfEnvelope(a.Envelope)
	}
	var out []Attribute
	for _, attribute := range dlq.SplitAttributes {
		bys := []dlq.SplitBy{{Attribute: attribute}}
		if attribute == dlq.SplitVersion {
			bys = nil
			for _, c := range components {
				bys = append(bys, dlq.SplitBy{Attribute: attribute, Component: c})
			}
		}
		for _, by := range bys {
			counts := map[string]int{}
			for i, a := range current {
				counts[by.ValueOf(made[i], a.Envelope.ComponentVersions(), a.Envelope.ContentType)]++
			}
			if len(counts) > 1 {
				out = append(out, Attribute{by, mostFirst(counts)})
			}
		}
	}
	return out
}

func mostFirst(counts map[string]int) []Value {
	var out []Value
	for text, n := range counts {
		out = append(out, Value{text, n})
	}
	slices.SortFunc(out, func(a, b Value) int {
		if a.Documents != b.Documents {
			return b.Documents - a.Documents
		}
		return strings.Compare(a.Text, b.Text)
	})
	return out
}
