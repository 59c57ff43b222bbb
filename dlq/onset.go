package dlq

import (
	"cmp"
	"slices"
	"time"
)

// How near a deployment must be to be named beside the begin or the end of a
// defect. Near says no more than near: after is not because of.
const (
	NearDeployment = 48 * time.Hour
	onsetSkew      = 10 * time.Minute // by which a failure may come before the report of what it failed under
	rollingTail    = time.Hour        // for which old workers may fail on after a deployment
	quietFor       = 24 * time.Hour   // without arrivals before a defect is said to have stopped
)

// OnsetKind says what the register knows of the begin of a defect.
type OnsetKind string

// The kinds of onset.
const (
	OnsetUnknown        OnsetKind = ""                // there is no first failure
	OnsetAfter          OnsetKind = "after"           // shortly after a deployment
	OnsetWith           OnsetKind = "with"            // shortly before the report of a version that failures name: clocks differ, or the report came late
	OnsetBeforeRegister OnsetKind = "before_register" // before anything was registered
	OnsetAlone          OnsetKind = "alone"           // no deployment near it
)

// Onset is what stands near the begin of a defect.
type Onset struct {
	Kind   OnsetKind
	At     SourceDeployment // of after and with
	Gap    time.Duration    // between it and the first failure, not negative; whole days where the failure is known to the day
	Others int              // further deployments in the same window
}

// Beginning is what is known of the begin of a defect: when its first failure
// was, and what was deployed round it in the sources that it is in.
type Beginning struct {
	First      time.Time
	ToTheDay   bool      // First is known to the day alone
	Registered time.Time // when the register of those sources begins; zero: it is empty
	Near       []SourceDeployment
	// FailedUnder says whether documents of the defect failed under a version.
	FailedUnder func(SourceDeployment) bool
}

// Onset reads a begin. Of several deployments before it those count first under
// which documents failed, and of these the last.
func (b Beginning) Onset() Onset {
	if b.First.IsZero() {
		return Onset{}
	}
	first, day := b.First.UTC(), 24*time.Hour
	gap := func(d SourceDeployment) time.Duration {
		if b.ToTheDay {
			return first.Truncate(day).Sub(d.StartedAt.UTC().Truncate(day))
		}
		return first.Sub(d.StartedAt)
	}
	var before []SourceDeployment
	var with *SourceDeployment
	for i, d := range b.Near {
		switch g := gap(d); {
		case g >= 0 && g <= NearDeployment:
			before = append(before, d)
		case g < 0 && -g <= onsetSkew && b.FailedUnder(d) && (with == nil || d.StartedAt.Before(with.StartedAt)):
			with = &b.Near[i]
		}
	}
	if with != nil && !slices.ContainsFunc(before, b.FailedUnder) {
		return Onset{Kind: OnsetWith, At: *with, Gap: -gap(*with), Others: len(before)}
	}
	if len(before) > 0 {
		at := slices.MinFunc(before, func(x, y SourceDeployment) int {
			if fx, fy := b.FailedUnder(x), b.FailedUnder(y); fx != fy {
				if fx {
					return -1
				}
				return 1
			}
			return cmp.Or(y.StartedAt.Compare(x.StartedAt), cmp.Compare(x.Source, y.Source), cmp.Compare(x.Component, y.Component), cmp.Compare(x.Version, y.Version))
		})
		return Onset{Kind: OnsetAfter, At: at, Gap: gap(at), Others: len(before) - 1}
	}
	if b.Registered.IsZero() || first.Before(b.Registered) {
		return Onset{Kind: OnsetBeforeRegister}
	}
	return Onset{Kind: OnsetAlone}
}

// Stopped finds the deployment near which a defect's arrivals ended: none came
// for a day after it, and the last came at most two days before it, or within
// the hour in which old workers may fail on. False where there is none, or
// where it is too early to tell.
func Stopped(last, now time.Time, near []SourceDeployment) (SourceDeployment, bool) {
	var found SourceDeployment
	ok := false
	for _, d := range near {
		gap := d.StartedAt.Sub(last)
		if gap < -rollingTail || gap > NearDeployment || now.Sub(d.StartedAt) < quietFor || now.Sub(last) < quietFor {
			continue
		}
		if !ok || d.StartedAt.Before(found.StartedAt) {
			found, ok = d, true
		}
	}
	return found, ok && !last.IsZero()
}
