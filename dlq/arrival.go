package dlq

import "time"

// Standing is what the rules need to know of an entry to decide what an event
// does to it.
type Standing struct {
	Status       Status
	Evidence     Position // of the current evidence
	Settled      Position // of the settling outcome, when resolved; of the erasure, when erased
	CohortID     string   // of the current evidence
	Marks        Marks
	SameFailures int
	Grant        bool // one more replay was granted at the poison threshold
	OpenedAt     time.Time
	ExpiresAt    time.Time
	Blocked      bool     // erased, and re-parking is blocked
	Flight       *Flight  // the redrive in flight, when redriving
	Code         Code     // filled by the caller for a replay's failure: did the code move
	Named        *Settled // the redrive that the event names, when it is not in flight
}

// Flight is a redrive without an outcome yet.
type Flight struct {
	RedriveID string
	Sent      bool      // at least one delivery was begun
	SentAt    time.Time // of the first delivery
}

// Settled is a redrive that has an outcome already.
type Settled struct {
	RedriveID string
	Outcome   OutcomeResult
	AttemptID int64 // of the failure that settled it, if one did
	Reported  bool  // that failure was reported as an outcome, and not parked
}

// ArrivalEffect says what an arrival does to an entry.
type ArrivalEffect struct {
	Status          Status // after it
	ReplaceEvidence bool
	NewEpisode      bool
	Renew           bool          // the expiry is renewed
	Failure         ReplayFailure // what it says of the redrive in flight
	LeaveRegister   bool          // its key leaves the register of commits
	CountOnly       bool          // blocked: counted, nothing stored
	SameAttempt     bool          // the failure of a redrive that its outcome reported already
	Marks           Marks         // after it
	SameFailures    int           // after it
	Poisoned        bool          // the threshold was reached by it
	Why             ArrivalWhy    // for the history
}

// ReplayFailure says how an arrival bears on the redrive in flight.
type ReplayFailure string

// The ways in which an arrival bears on a redrive.
const (
	NoReplay        ReplayFailure = ""             // not at all
	ReplayNamed     ReplayFailure = "named"        // it names the redrive: its failure
	ReplayPresumed  ReplayFailure = "presumed"     // taken as its failure, from a pipeline that never names one
	ReplayUnrelated ReplayFailure = "unattributed" // an ordinary failure after the send; settles it without a judgement
)

// ArrivalWhy is one word for what an arrival did, kept with the attempt.
type ArrivalWhy string

// What an arrival did.
const (
	ArrivalParked   ArrivalWhy = "parked"   // first, or into a new episode
	ArrivalReplaced ArrivalWhy = "evidence" // newer: evidence replaced
	ArrivalHistory  ArrivalWhy = "history"  // not newer, or late: appended only
	ArrivalFailed   ArrivalWhy = "failed"   // a replay's failure
)

// Arrive decides what an arrival does: the first row of the table of states and
// events, with the rules on what is newer, on attribution and on poison.
//
// redriveID is the one that the arrival names, echoes whether this pipeline has
// ever named one, sameCohort whether it failed in the cohort of the current
// evidence, and threshold the source's poison threshold.
func (s Standing) Arrive(at Position, redriveID string, echoes, sameCohort bool, threshold int) ArrivalEffect {
	e := ArrivalEffect{Status: s.Status, Marks: s.Marks, SameFailures: s.SameFailures, Why: ArrivalHistory}
	if s.Named != nil && s.Named.RedriveID == redriveID && redriveID != "" {
		e.SameAttempt = s.Named.Outcome == OutcomeFailed && s.Named.Reported
		return e
	}
	switch s.Status {
	case StatusErased:
		switch {
		case s.Blocked:
			e.CountOnly = true
		case at.Newer(s.Settled):
			e.startEpisode(s.Marks)
		}
		return e
	case StatusResolved:
		if at.Newer(s.Settled) {
			e.startEpisode(s.Marks.With(MarkReturned))
			e.LeaveRegister = true
		}
		return e
	case StatusRedriving:
		return s.arriveInFlight(e, at, redriveID, echoes, sameCohort, threshold)
	}
	if !at.Newer(s.Evidence) {
		return e
	}
	e.ReplaceEvidence = true
	e.Why = ArrivalReplaced
	if s.Status == StatusArchived {
		e.Status = StatusParked
		e.Renew = true
	}
	return e
}

func (e *ArrivalEffect) startEpisode(marks Marks) {
	e.Status = StatusParked
	e.NewEpisode = true
	e.ReplaceEvidence = true
	e.Why = ArrivalParked
	e.Marks = marks.Without(MarkLate, MarkNoOutcome, MarkAssumed, MarkNotExhausted, MarkPresumed)
	e.SameFailures = 0
}

func (s Standing) arriveInFlight(e ArrivalEffect, at Position, redriveID string, echoes, sameCohort bool, threshold int) ArrivalEffect {
	named := redriveID != "" && s.Flight != nil && redriveID == s.Flight.RedriveID
	if !named && !at.Newer(s.Evidence) {
		return e
	}
	afterSend := s.Flight != nil && s.Flight.Sent && at.LastSeen.After(s.Flight.SentAt)
	switch {
	case named:
		e.Failure = ReplayNamed
	case redriveID == "" && !echoes && afterSend:
		e.Failure = ReplayPresumed
		e.Marks = e.Marks.With(MarkPresumed)
	case afterSend:
		e.Failure = ReplayUnrelated
		e.Status = StatusParked
		e.ReplaceEvidence = true
		e.Why = ArrivalReplaced
		return e
	default:
		return e
	}
	e.Why = ArrivalFailed
	e.ReplaceEvidence = true
	e.Marks = e.Marks.Without(MarkNoOutcome)
	e.SameFailures = NextSameFailures(s.SameFailures, sameCohort, s.Code)
	e.Status, e.Poisoned = afterFailure(e.SameFailures, threshold)
	return e
}

// NextSameFailures counts a replay's failure. In the same cohort it counts one
// more. In another, on changed code, it starts again at one; on the same or
// unknown code it counts on, because only the code could have made it another
// failure.
func NextSameFailures(have int, sameCohort bool, code Code) int {
	if !sameCohort && code == CodeMoved {
		return 1
	}
	return have + 1
}

func afterFailure(sameFailures, threshold int) (Status, bool) {
	if sameFailures >= threshold {
		return StatusQuarantined, true
	}
	return StatusParked, false
}

// FirstMarks are the marks of an entry at the start of an episode.
func FirstMarks(class FailureClass, attempts int) Marks {
	if class.Known() && !class.Exhausted(attempts) {
		return Marks{MarkNotExhausted}
	}
	return nil
}
