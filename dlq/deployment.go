package dlq

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a report of a deployment.
const (
	MaxComponent   = 128 // characters of a component's name
	MaxVersion     = 512 // characters of a version
	maxStopped     = 100 // versions that one report names as stopped
	deploymentSkew = 5 * time.Minute
)

// DeploymentReport is what somebody said of one component of one source: a
// version runs from a moment on, or some no longer do, or both.
type DeploymentReport struct {
	Component string
	Version   string    // empty: it only says what stopped
	Stopped   []string  // nil: every other version did; empty: the others run on, as in a rolling deploy
	At        time.Time // zero: the moment of its receipt
	Actor     string
}

// Check names every fault of a report that is received now.
func (r DeploymentReport) Check(now time.Time) error {
	var faults []Fault
	fault := func(pointer, detail string) { faults = append(faults, Fault{Pointer: pointer, Detail: detail}) }
	if n := utf8.RuneCountInString(r.Component); n < 1 || n > MaxComponent {
		fault("/component", fmt.Sprintf("1 to %d characters expected, such as parser", MaxComponent))
	} else if !plain(r.Component) {
		fault("/component", "text in UTF-8 without NUL expected")
	}
	if n := utf8.RuneCountInString(r.Version); n > MaxVersion || (n == 0 && len(r.Stopped) == 0) {
		fault("/version", fmt.Sprintf("1 to %d characters expected, or stopped", MaxVersion))
	} else if !plain(r.Version) {
		fault("/version", "text in UTF-8 without NUL expected")
	}
	if len(r.Stopped) > maxStopped {
		fault("/stopped", fmt.Sprintf("at most %d versions expected, got %d", maxStopped, len(r.Stopped)))
	} else {
		for i, v := range r.Stopped {
			if n := utf8.RuneCountInString(v); n < 1 || n > MaxVersion || !plain(v) {
				fault(fmt.Sprintf("/stopped/%d", i), fmt.Sprintf("1 to %d characters of UTF-8 without NUL expected", MaxVersion))
			}
		}
	}
	if r.At.After(now.Add(deploymentSkew)) {
		fault("/at", "a moment that is not in the future expected; report a deployment when it happens")
	} else if !r.At.IsZero() && r.At.UnixMilli() <= 0 {
		fault("/at", "a moment after 1970 expected")
	}
	if len(faults) > 0 {
		return Invalid("the deployment was not understood", faults...)
	}
	return nil
}

// plain says whether a text can be kept and shown: UTF-8 without NUL.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Settle gives the report its moment: that of its receipt where it names none,
// or one that a clock ahead of ours named.
func (r DeploymentReport) Settle(now time.Time) DeploymentReport {
	if r.At.IsZero() || r.At.After(now) {
		r.At = now
	}
	r.At = r.At.UTC().Truncate(time.Millisecond)
	return r
}

// Ran gives when which version of one component of one source ran: from those
// that run at a moment and the reports from that moment on, in the order of
// their moments. It is a set and no order of versions: several may run, and one
// may come back. A version that was replaced in the millisecond in which it
// began never ran.
func Ran(running []Deployment, reports []DeploymentReport) []Deployment {
	out := slices.Clone(running)
	for _, r := range reports {
		runs := false
		for i := range out {
			d := &out[i]
			switch {
			case !d.StoppedAt.IsZero():
			case d.Version == r.Version:
				runs = true
			case r.Stopped == nil || slices.Contains(r.Stopped, d.Version):
				d.StoppedAt = r.At
			}
		}
		if r.Version != "" && !runs {
			out = append(out, Deployment{Component: r.Component, Version: r.Version, StartedAt: r.At, Actor: r.Actor})
		}
	}
	return slices.DeleteFunc(out, func(d Deployment) bool { return !d.StoppedAt.IsZero() && !d.StoppedAt.After(d.StartedAt) })
}

// SeenVersion is a version that failures of a source named, with how many
// documents stand under it.
type SeenVersion struct {
	Component string
	Version   string
	Documents int64
	Parked    int64
}
