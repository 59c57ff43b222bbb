package redrive

import (
	"fmt"
	"time"
	"unicode/utf8"

	"dlo/dlq"
)

// Limits of a request.
const (
	MaxEntries  = 10_000 // named one by one; a query may match more
	maxReason   = 2000   // characters
	maxCanaries = 20
	maxPace     = 10_000 // of rate, a second, and of concurrency
)

// NotSaid is an Expect that nobody gave.
const NotSaid = -1

// Request asks for something to be done to many entries.
type Request struct {
	Kind    dlq.OperationKind
	Entries []string // dlq_ids; or else
	Query   string   // in the query language of the screens
	Expect  int64    // how many the person saw; NotSaid where nobody looked
	Reason  string   // typed, 1 to 2000 characters

	// Of a redrive. An empty Mode is that of each entry's source, since one
	// operation may hold entries of several. Rate and Concurrency of 0 are the
	// source's; they never lift its limits, they only lower them. A query goes in
	// the steps of DefaultCanary unless Canary says otherwise, empty for none;
	// entries that are named go at once unless it says so. With GoOn the next step
	// is taken when one is settled; else somebody asks for it. With Returns a
	// redrive that was paused because its target was down goes on by itself.
	Mode          dlq.Mode
	AcceptUnknown bool
	Rate          float64 // deliveries a second
	Concurrency   int     // entries without an outcome yet
	Canary        []int
	GoOn          bool
	StopShare     float64 // of failures at which it stops; 0: dlq.DefaultStopShare
	PauseShare    float64 // of failed deliveries at which it pauses; 0: dlq.DefaultPauseShare, 1: only when none is taken
	Returns       bool

	Days  int       // of an extension, or else a date
	Until time.Time // of an extension
	Grant dlq.Grant // of a release

	Owner, Ticket string              // of an assignment; empty takes away
	Disposition   *dlq.NewDisposition // of a disposition; the zero value takes off what stands

	asks bool // it only asks the sources; see Planner.Ask
}

// DefaultCanary are the sizes of the steps in which a query is redriven before the
// rest.
var DefaultCanary = []int{1, 5, 25, 100}

// check names every fault of the request.
func (r Request) check(now time.Time) error {
	var faults []dlq.Fault
	add := func(pointer, format string, args ...any) {
		faults = append(faults, dlq.Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	faults = append(faults, r.checkKind()...)
	switch {
	case len(r.Entries) == 0 && r.Query == "":
		add("/entries", "entries or a query expected")
	case len(r.Entries) > 0 && r.Query != "":
		add("/query", "either entries or a query expected, not both")
	case len(r.Entries) > MaxEntries:
		add("/entries", "at most %d entries can be named one by one, got %d; a query has no limit", MaxEntries, len(r.Entries))
	}
	for i, id := range r.Entries {
		if id == "" || utf8.RuneCountInString(id) > 128 {
			add(fmt.Sprintf("/entries/%d", i), "a dlq_id expected")
			break // one is enough to say what is wrong with ten thousand
		}
	}
	if n := utf8.RuneCountInString(r.Reason); n < 1 || n > maxReason {
		add("/reason", "1 to %d characters expected, got %d", maxReason, n)
	}
	faults = append(faults, r.checkRedrive()...)
	faults = append(faults, r.checkAction(now)...)
	faults = append(faults, r.checkMarks(now)...)
	if len(faults) > 0 {
		return dlq.Invalid("the request was not understood; nothing was done", faults...)
	}
	return nil
}

func (r Request) checkRedrive() []dlq.Fault {
	var faults []dlq.Fault
	add := func(pointer, detail string) { faults = append(faults, dlq.Fault{Pointer: pointer, Detail: detail}) }
	if r.Mode != "" && !r.Mode.Valid() {
		add("/mode", "auto, held or source expected")
	}
	if !(r.Rate >= 0 && r.Rate <= maxPace) {
		add("/rate", "0 to 10000 deliveries a second expected; 0 is the source's")
	}
	if r.Concurrency < 0 || r.Concurrency > maxPace {
		add("/concurrency", "0 to 10000 expected; 0 is the source's")
	}
	if !(r.StopShare >= 0 && r.StopShare <= 1) {
		add("/stop_share", "a share from 0 to 1 expected")
	}
	if !(r.PauseShare >= 0 && r.PauseShare <= 1) {
		add("/pause_share", "a share from 0 to 1 expected")
	}
	if len(r.Canary) > maxCanaries {
		add("/canary", "at most 20 steps expected")
	}
	for _, n := range r.Canary {
		if n < 1 {
			add("/canary", "steps of at least 1 entry expected")
			break
		}
	}
	return faults
}

func (r Request) checkAction(now time.Time) []dlq.Fault {
	switch {
	case r.Kind == dlq.OperationRelease && !r.Grant.Valid():
		return []dlq.Fault{{Pointer: "/grant", Detail: "one or reset expected"}}
	case r.Kind != dlq.OperationExtend:
		return nil
	case r.Until.IsZero() && (r.Days < 1 || r.Days > 36500):
		return []dlq.Fault{{Pointer: "/days", Detail: "1 to 36500 days, or a date in until, expected"}}
	case !r.Until.IsZero() && !r.Until.After(now):
		return []dlq.Fault{{Pointer: "/until", Detail: "a date in the future expected"}}
	}
	return nil
}

func (r Request) operation(by dlq.Actor) dlq.Operation {
	canary := r.Canary
	if canary == nil && r.Kind == dlq.OperationRedrive && r.Query != "" {
		canary = DefaultCanary
	}
	o := dlq.Operation{Kind: r.Kind, Query: r.Query, Expect: r.Expect, Reason: r.Reason, Actor: by, Mode: r.Mode, AcceptUnknown: r.AcceptUnknown,
		Concurrency: r.Concurrency, Rate: r.Rate, Canary: canary, GoOn: r.GoOn, StopShare: r.StopShare, PauseShare: r.PauseShare, Returns: r.Returns, Days: r.Days, Until: r.Until, Grant: r.Grant}
	r.mark(&o)
	return o
}
