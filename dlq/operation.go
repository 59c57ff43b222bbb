package dlq

import (
	"slices"
	"time"
)

// OperationKind is what a bulk action does to each of its entries.
type OperationKind string

// The kinds of operation.
const (
	OperationRedrive    OperationKind = "redrive"
	OperationQuarantine OperationKind = "quarantine"
	OperationRelease    OperationKind = "release"
	OperationExtend     OperationKind = "extend"
	OperationArchive    OperationKind = "archive"
	OperationRestore    OperationKind = "restore"
)

// OperationKinds lists the kinds that there are.
var OperationKinds = []OperationKind{OperationRedrive, OperationQuarantine, OperationRelease, OperationExtend, OperationArchive, OperationRestore}

// Valid says whether the kind is one of OperationKinds.
func (k OperationKind) Valid() bool { return slices.Contains(OperationKinds, k) }

// OperationState is where an operation stands.
type OperationState string

// The states of an operation.
const (
	OperationPreparing OperationState = "preparing" // its membership is being written
	OperationRunning   OperationState = "running"
	OperationPaused    OperationState = "paused"
	OperationStopped   OperationState = "stopped" // by the stop rule
	OperationCancelled OperationState = "cancelled"
	OperationDone      OperationState = "done"
)

// OperationMoves are the guarded moves of an operation's state.
var OperationMoves = map[OperationState][]OperationState{
	OperationPreparing: {OperationRunning, OperationCancelled, OperationDone},
	OperationRunning:   {OperationPaused, OperationStopped, OperationCancelled, OperationDone},
	OperationPaused:    {OperationRunning, OperationCancelled, OperationDone},
	OperationStopped:   {OperationRunning, OperationCancelled, OperationDone},
}

// MayMoveOperation says whether an operation may go from one state to the other.
func MayMoveOperation(from, to OperationState) bool { return slices.Contains(OperationMoves[from], to) }

// Ended says whether nothing will happen to it any more.
func (s OperationState) Ended() bool { return s == OperationCancelled || s == OperationDone }

// ItemState is where one entry of an operation stands.
type ItemState string

// The states of an item.
const (
	ItemWaiting   ItemState = "waiting"
	ItemInFlight  ItemState = "in_flight"
	ItemSettled   ItemState = "settled"
	ItemLeftOut   ItemState = "left_out"
	ItemCancelled ItemState = "cancelled"
)

// ItemStates lists the states of an item in the order of their counts.
var ItemStates = []ItemState{ItemWaiting, ItemInFlight, ItemSettled, ItemLeftOut, ItemCancelled}

// LeftOut is why an entry of an operation was not acted upon.
type LeftOut string

// The reasons to leave an entry out.
const (
	LeftQuarantined       LeftOut = "quarantined"
	LeftNoIdentity        LeftOut = "no_identity"
	LeftNoTarget          LeftOut = "no_target"
	LeftNoPayload         LeftOut = "no_payload"
	LeftPayloadExpired    LeftOut = "payload_expired"
	LeftPayloadCorrupt    LeftOut = "payload_corrupt"
	LeftInFlight          LeftOut = "in_flight"
	LeftArchived          LeftOut = "archived"
	LeftResolved          LeftOut = "resolved"
	LeftErased            LeftOut = "erased"
	LeftNotFound          LeftOut = "not_found"
	LeftOnHold            LeftOut = "on_hold"
	LeftGoneAtSource      LeftOut = "gone_at_source"
	LeftCannotTellChanged LeftOut = "cannot_tell_if_changed"
	// LeftState is for the other kinds of operation: the entry's state does
	// not allow the action, or no longer does.
	LeftState LeftOut = "wrong_state"
	// LeftPastLimit is for an extension past the longest time to live.
	LeftPastLimit LeftOut = "past_max_ttl"
)

// Operation is a bulk action as a durable object: its membership frozen when it
// was asked for, and every item with what came of it.
type Operation struct {
	ID            string
	Kind          OperationKind
	State         OperationState
	Why           string // in words: why it is paused, stopped, or ended
	Query         string // the filter that chose the entries, or empty
	Expect        int64  // rows that matched when it was confirmed; -1 where nobody said
	Reason        string // typed by the person
	Actor         Actor
	Mode          Mode
	AcceptUnknown bool
	Concurrency   int     // 0: the source's
	Rate          float64 // 0: the source's
	Canary        []int   // sizes of the steps before the rest
	Step          int
	StopShare     float64
	Days          int       // of an extension
	Until         time.Time // of an extension, in place of Days
	Grant         Grant     // of a release
	Total         int64     // items
	Counts        map[ItemState]int64
	Unsent        int64 // of those in flight: no delivery of them was begun
	CreatedAt     time.Time
	UpdatedAt     time.Time
	EndedAt       time.Time
}

// Grant says how an entry is released from quarantine.
type Grant string

// The grants.
const (
	GrantOne   Grant = "one"   // one more replay
	GrantReset Grant = "reset" // counted anew
)

// Valid says whether the grant is one of the two.
func (g Grant) Valid() bool { return g == GrantOne || g == GrantReset }

// Item is one entry of an operation.
type Item struct {
	OperationID string
	Position    int64 // in the operation, from 1
	EntryID     int64
	DLQID       string
	Source      string
	DocID       string
	State       ItemState
	Why         LeftOut
	RedriveID   string
	Outcome     OutcomeResult
	Verdict     VerdictName
}

// Candidate is what the rules need to know of an entry to decide whether a
// redrive may take it.
type Candidate struct {
	Status       Status
	HasKey       bool
	HasTarget    bool
	InFlight     bool // waiting or in flight in another operation, or its key is
	Registered   bool // its key is in the register of commits
	SameFailures int
	Grant        bool
	Threshold    int
	Mode         Mode
	Copy         CopyState
}

// Eligibility is what a redrive that is asked for does to an entry.
type Eligibility struct {
	LeftOut    LeftOut // empty: it goes
	Quarantine bool    // it is at the threshold without a grant: quarantined instead
	Skip       bool    // its key is committed already: resolved without a dispatch
}

// Ask decides what becomes of an entry for which a redrive is asked: the row
// "redrive asked" of the table of states and events.
func (c Candidate) Ask() Eligibility {
	switch c.Status {
	case StatusQuarantined:
		return Eligibility{LeftOut: LeftQuarantined}
	case StatusArchived:
		return Eligibility{LeftOut: LeftArchived}
	case StatusResolved:
		return Eligibility{LeftOut: LeftResolved}
	case StatusErased:
		return Eligibility{LeftOut: LeftErased}
	case StatusRedriving:
		return Eligibility{LeftOut: LeftInFlight}
	}
	switch {
	case c.InFlight:
		return Eligibility{LeftOut: LeftInFlight}
	case c.SameFailures >= c.Threshold && !c.Grant:
		return Eligibility{LeftOut: LeftQuarantined, Quarantine: true}
	case !c.HasKey:
		return Eligibility{LeftOut: LeftNoIdentity}
	case c.Registered:
		return Eligibility{Skip: true}
	case !c.HasTarget:
		return Eligibility{LeftOut: LeftNoTarget}
	case c.Mode == ModeHeld && c.Copy == CopyNever:
		return Eligibility{LeftOut: LeftNoPayload}
	case c.Mode == ModeHeld && c.Copy == CopyExpired:
		return Eligibility{LeftOut: LeftPayloadExpired}
	case c.Mode != ModeSource && c.Copy == CopyCorrupt:
		return Eligibility{LeftOut: LeftPayloadCorrupt}
	}
	return Eligibility{}
}
