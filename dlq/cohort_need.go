package dlq

import "time"

// Need is what a cohort needs of somebody. The home page is ordered by it, and
// its next step says it in words: NeedOf decides for both, and a test holds the
// store's order to it.
type Need int

// The needs, the most urgent first.
const (
	NeedLook     Need = iota // an alert fires, it came back after its fix, it floods, or a redrive of it stopped
	NeedTest                 // a declared fix runs now, and nothing was sent since
	NeedProven               // a fix is proven, and what it covers was not redriven
	NeedDeadline             // some leave within seven days
	NeedVerdict              // some wait in quarantine for a decision
	NeedNothing              // no decision: by size
	NeedDecided              // somebody decided what stands: after all that was not
)

// ExpiresSoon is how long before an entry leaves somebody should decide.
const ExpiresSoon = 7 * 24 * time.Hour

// CohortStanding is what decides whether a cohort needs somebody.
type CohortStanding struct {
	Alerts     int64     // that fire on it, and not on one of its documents
	NextExpiry time.Time // when the first of its parked entries leaves; zero without one
	LastSent   time.Time // when a redrive of it was last sent; zero: never
	Fixes      []FixStanding
	Proof      CohortProof // of its parked entries that are counted
	Redrive    *Operation  // the newest redrive about it that has not ended and that the viewer may see; nil without one
}

// Stopped says that the newest redrive about it was stopped, and that nobody
// resumed or cancelled it.
func (s CohortStanding) Stopped() bool {
	return s.Redrive != nil && s.Redrive.State == OperationStopped
}

// Proven says that a fix is proven for most of what is stuck, and that no redrive
// of it goes by itself: there is none, or it waits for somebody to send the next
// step.
func (s CohortStanding) Proven() bool {
	p := s.Proof.Shown()
	if p.State != ProofProven || p.Covers == 0 {
		return false
	}
	return s.Redrive == nil || s.Redrive.State == OperationPaused && s.Redrive.Asks == AsksStep
}

// FixStanding is where a declared fix of a cohort stands.
type FixStanding struct {
	Component, Version string
	Runs               bool      // now, somewhere
	Since              time.Time // it has run where it covers something, at the latest
	Covers             int64     // parked entries that failed under another version of the component, of sources in which it runs: with any, the fix is live
	Returned           int64     // parked entries that failed under this version itself
	Untested           bool      // it is live, and nothing of the cohort was sent since
}

// DeclaredFix is a version of which somebody said that it fixes a cohort.
type DeclaredFix struct{ Component, Version string }

// RunningVersion is a version that runs now in a source.
type RunningVersion struct {
	Source, Component, Version string
	Since                      time.Time
}

// Stands holds a declared fix against what is stuck and what runs. It is live
// where its version runs now in one of the cohort's sources and entries are
// parked there that failed under another version of that component; it is
// untested where it is live somewhere without a redrive sent since.
func (f DeclaredFix) Stands(under []VersionCount, running []RunningVersion, lastSent time.Time) FixStanding {
	out := FixStanding{Component: f.Component, Version: f.Version}
	for _, u := range under {
		if u.Versions[f.Component] == f.Version {
			out.Returned += u.Parked
		}
	}
	for _, r := range running {
		if r.Component != f.Component || r.Version != f.Version {
			continue
		}
		var covers int64
		for _, u := range under {
			if v, named := u.Versions[f.Component]; named && u.Source == r.Source && v != f.Version {
				covers += u.Parked
			}
		}
		if out.Runs = true; covers == 0 {
			continue
		}
		out.Covers += covers
		out.Untested = out.Untested || lastSent.Before(r.Since)
		if r.Since.After(out.Since) {
			out.Since = r.Since
		}
	}
	return out
}

// A flood is at least FloodTimes as many arrivals today as on a mean day of
// those before, and at least FloodLeast.
const (
	FloodTimes = 5
	FloodLeast = 20
)

// Flood says whether the last of the days, today, has many more arrivals than
// those before.
func Flood(daily []int64) bool {
	if len(daily) == 0 {
		return false
	}
	today, before := daily[len(daily)-1], daily[:len(daily)-1]
	var sum int64
	for _, n := range before {
		sum += n
	}
	return today >= FloodLeast && today*int64(len(before)) >= FloodTimes*sum
}

// NeedOf says what a cohort needs: the first that holds.
func NeedOf(c Cohort, now time.Time) Need {
	s := c.Standing
	if c.Disposition != DispositionNone {
		return NeedDecided
	}
	if s.Alerts > 0 || Flood(c.Daily) || s.Stopped() {
		return NeedLook
	}
	for _, f := range s.Fixes {
		if f.Returned > 0 {
			return NeedLook
		}
	}
	for _, f := range s.Fixes {
		if f.Untested {
			return NeedTest
		}
	}
	switch {
	case s.Proven():
		return NeedProven
	case !s.NextExpiry.IsZero() && s.NextExpiry.Before(now.Add(ExpiresSoon)):
		return NeedDeadline
	case c.Counts[StatusQuarantined] > 0:
		return NeedVerdict
	}
	return NeedNothing
}
