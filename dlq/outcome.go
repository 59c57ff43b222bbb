package dlq

import (
	"slices"
	"time"
)

// OutcomeResult is what came of a redrive.
type OutcomeResult string

// The outcomes. A pipeline reports the first four; the others are what we
// conclude ourselves.
const (
	OutcomeCommitted    OutcomeResult = "committed"
	OutcomeSkipped      OutcomeResult = "skipped"      // the key was committed already
	OutcomeSuperseded   OutcomeResult = "superseded"   // a newer version of the document got in
	OutcomeFailed       OutcomeResult = "failed"       //
	OutcomeUnattributed OutcomeResult = "unattributed" // it failed in an ordinary sync meanwhile
	OutcomeAssumed      OutcomeResult = "assumed"      // silence, where the policy says so
	OutcomeNoOutcome    OutcomeResult = "no_outcome"   // nothing in time
	OutcomeUndelivered  OutcomeResult = "undelivered"  // the target never took it
	OutcomeCancelled    OutcomeResult = "cancelled"    //
)

// ReportableOutcomes are those that a pipeline may report.
var ReportableOutcomes = []OutcomeResult{OutcomeCommitted, OutcomeSkipped, OutcomeSuperseded, OutcomeFailed}

// Reportable says whether a pipeline may report it.
func (o OutcomeResult) Reportable() bool { return slices.Contains(ReportableOutcomes, o) }

// Success says whether the document got in, by this redrive or before it.
func (o OutcomeResult) Success() bool {
	return o == OutcomeCommitted || o == OutcomeSkipped || o == OutcomeSuperseded
}

func (o OutcomeResult) resolution() Resolution {
	switch o {
	case OutcomeCommitted:
		return ResolvedCommitted
	case OutcomeSkipped:
		return ResolvedSkipped
	case OutcomeSuperseded:
		return ResolvedSuperseded
	case OutcomeAssumed:
		return ResolvedAssumed
	}
	return ""
}

// Outcome is what a pipeline reports of a redrive, or of a document that it
// committed without one. It is named by RedriveID, or by ContentHash, or by
// Source and DocID.
type Outcome struct {
	RedriveID     string
	ContentHash   string
	Source, DocID string
	Result        OutcomeResult
	At            time.Time // when it happened; the receipt, if the sender said nothing
	IngestSeq     *int64
	SourceVersion string
	PayloadSHA256 string
	Versions      Versions
	Failure       *Envelope      // the error fields of a failed one; nil when it names none
	Told          bool           // the pipeline said so itself, and it was not concluded from a status
	Cut           map[string]int // original length in bytes of each of its texts that was cut
}

// OutcomeEffect says what an outcome does to an entry.
type OutcomeEffect struct {
	Applied      bool
	Why          string // for the sender, when it was not applied
	Status       Status
	Resolution   Resolution
	Marks        Marks
	SameFailures int
	Poisoned     bool
	SettleFlight bool // the redrive in flight is settled by it
	Attempt      bool // a failure of a replay: appended to the history as an attempt
	Register     bool // its key enters the register of commits
	History      bool // appended to the history alone
	Contradicts  bool // it says otherwise than what resolved the entry: shown, not applied
}

// Settle decides what an outcome does, by the rows on outcomes of the table of
// states and events. late says that the redrive it names has been settled
// already; unnamed, that it belongs to no redrive of ours at all. sameCohort is
// whether a failure falls into the cohort of the current evidence.
func (s Standing) Settle(result OutcomeResult, at Position, late, unnamed, sameCohort bool, threshold int) OutcomeEffect {
	e := OutcomeEffect{Status: s.Status, Marks: s.Marks, SameFailures: s.SameFailures}
	switch {
	case s.Status == StatusErased && unnamed:
		e.Why = "the document was erased here, and no redrive of it is known by this report"
		return e
	case s.Status == StatusErased:
		e.Applied = result != OutcomeFailed && result != OutcomeSuperseded
		e.Register = result == OutcomeCommitted || result == OutcomeSkipped
		e.SettleFlight = !late && !unnamed
		e.Why = "the entry was erased; the outcome is kept without content"
		return e
	case unnamed:
		return s.settleUnnamed(e, result, at)
	case late:
		return s.settleLate(e, result, at)
	case s.Status != StatusRedriving:
		return s.settleLate(withFlight(e), result, at)
	}
	e.Applied, e.SettleFlight = true, true
	e.Marks = e.Marks.Without(MarkNoOutcome)
	if result == OutcomeFailed {
		e.Attempt = true
		e.SameFailures = NextSameFailures(s.SameFailures, sameCohort, s.Code)
		e.Status, e.Poisoned = afterFailure(e.SameFailures, threshold)
		return e
	}
	e.Status = StatusResolved
	e.Resolution = result.resolution()
	e.Register = result == OutcomeCommitted || result == OutcomeSkipped
	if result == OutcomeAssumed {
		e.Marks = e.Marks.With(MarkAssumed)
	}
	return e
}

func withFlight(e OutcomeEffect) OutcomeEffect {
	e.SettleFlight = true
	return e
}

func (s Standing) settleLate(e OutcomeEffect, result OutcomeResult, at Position) OutcomeEffect {
	if result == OutcomeFailed || result == OutcomeSuperseded {
		e.Applied, e.History = true, true
		if e.Contradicts = s.Status == StatusResolved; e.Contradicts {
			e.Applied, e.Why = false, "the document was resolved before; this is kept in its history and changes nothing"
		}
		return e
	}
	e.Register = true
	if s.Status == StatusResolved {
		e.Applied = true
		return e
	}
	if (s.Status == StatusParked || s.Status == StatusRedriving) && !at.NotOlder(s.Evidence) {
		e.Register = false
		e.History = true
		e.Why = "a newer failure of the same document stands"
		return e
	}
	e.Applied = true
	e.Status = StatusResolved
	e.Resolution = result.resolution()
	e.Marks = e.Marks.With(MarkLate).Without(MarkNoOutcome)
	return e
}

func (s Standing) settleUnnamed(e OutcomeEffect, result OutcomeResult, at Position) OutcomeEffect {
	if result == OutcomeFailed {
		e.Why = "a failure without a redrive is parked with POST /dead-letters"
		return e
	}
	if s.Status == StatusResolved {
		e.Applied = true
		e.Register = result == OutcomeCommitted || result == OutcomeSkipped
		return e
	}
	if !at.NotOlder(s.Evidence) {
		e.History = true
		e.Why = "it is older than the failure that stands"
		return e
	}
	e.Applied = true
	e.Status = StatusResolved
	e.Resolution = ResolvedSuperseded
	e.Register = result == OutcomeCommitted || result == OutcomeSkipped
	e.SettleFlight = s.Status == StatusRedriving
	return e
}

// Silence decides what happens when no outcome came in time: with assumed
// silence resolves, else the entry is parked again and marked.
func (s Standing) Silence(mode OutcomeMode) OutcomeEffect {
	if mode == OutcomesAssumed {
		return s.Settle(OutcomeAssumed, Position{}, false, false, false, 1)
	}
	return OutcomeEffect{Applied: true, SettleFlight: true, Status: StatusParked, Marks: s.Marks.With(MarkNoOutcome), SameFailures: s.SameFailures}
}

// OutcomeReceipt is what a pipeline is told of an outcome that it reported.
type OutcomeReceipt struct {
	Applied bool   `json:"applied"`
	DLQID   string `json:"dlq_id,omitempty"`
	Status  Status `json:"status,omitempty"`
	Why     string `json:"why,omitempty"`
}
