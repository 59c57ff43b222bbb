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
	OperationAssign     OperationKind = "assign"
	OperationDispose    OperationKind = "dispose"
)

// OperationKinds lists the kinds that can be asked for, in the order of screens.
var OperationKinds = []OperationKind{OperationRedrive, OperationQuarantine, OperationRelease, OperationExtend, OperationArchive, OperationRestore, OperationAssign, OperationDispose}

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
	Canary        []int   // sizes of the steps before the rest, as asked for
	Sizes         []int64 // of its steps as they were taken, the rest last; empty while it is prepared
	Step          int     // the one that is under way, from 1
	StepAt        time.Time
	StepWaiting   int64         // items of the steps so far that were not taken yet
	AskAt         time.Time     // a canary that has no outcome by then is asked about
	GoOn          bool          // it takes the next step by itself
	Asks          OperationAsks // what it waits for while it is paused
	PauseShare    float64       // of failed deliveries among the last; 0: DefaultPauseShare
	StopShare     float64       // of failures among what is settled; 0: DefaultStopShare
	BaseSettled   int64         // settled, and failed, when somebody resumed it after it had stopped
	BaseFailed    int64
	SameStops     bool            // it stops at the first failure in the same cohort
	Returns       bool            // paused for its target, it goes on by itself when that answers
	TryAt         time.Time       // paused for its target: when that is tried next
	CohortID      string          // that it is about, where it is about one
	Proof         *Forecast       // what was known when it was started; nil where it is about no cohort
	Owner, Ticket string          // of an assignment
	Disposition   *NewDisposition // of a disposition
	Days          int             // of an extension
	Until         time.Time       // of an extension, in place of Days
	Grant         Grant           // of a release
	Total         int64           // items
	Counts        map[ItemState]int64
	Unsent        int64 // of those in flight: no delivery of them was begun
	CreatedAt     time.Time
	UpdatedAt     time.Time
	EndedAt       time.Time
}

// DefaultStopShare is the share of failures of any kind at which a redrive stops,
// once StopLeast of its documents are settled.
const (
	DefaultStopShare = 0.2
	StopLeast        = 20
)

// A redrive pauses when so many deliveries in a row fail, or such a share of the
// last ones: then the target is down, and not the documents.
const (
	PauseInARow       = 5
	PauseOfLast       = 50
	DefaultPauseShare = 0.2
)

// OperationAsks is what a paused operation waits for.
type OperationAsks string

// What an operation can wait for.
const (
	AsksNothing OperationAsks = ""
	AsksPerson  OperationAsks = "person"   // somebody paused it
	AsksStep    OperationAsks = "step"     // a step is settled, and somebody wants to look before the next
	AsksTimeOut OperationAsks = "time_out" // a canary has no outcome after its time
	AsksTarget  OperationAsks = "target"   // its target does not answer, or is gone
)

// Forecast is what a proof said when an operation was started, kept so that what
// was achieved can be held against it.
type Forecast struct {
	State  ProofState  `json:"state"`
	Step   VersionStep `json:"step"`
	Passed int64       `json:"passed"`
	Of     int64       `json:"of"`
	Covers int64       `json:"covers"`
	Low    int64       `json:"low"`
	High   int64       `json:"high"`
}

// OperationStep is one step of an operation: how many of its items stand where.
type OperationStep struct {
	Step   int // from 1; the last is the rest
	Counts map[ItemState]int64
	// Outcomes are those of the settled items.
	Outcomes map[OutcomeResult]int64
}

// Items is how many there are in the step.
func (s OperationStep) Items() int64 {
	var n int64
	for _, state := range ItemStates {
		n += s.Counts[state]
	}
	return n
}

// Rest is the number of the last step.
func (o Operation) Rest() int { return max(1, len(o.Sizes)) }

// Next is how many documents the next step would send; 0 where there is none.
func (o Operation) Next() int64 {
	if o.Step < 1 || o.Step >= len(o.Sizes) {
		return 0
	}
	return o.Sizes[o.Step]
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
	Step        int   // that it goes in, from 1
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

	// What a preview says beside: the rules do not look at it.
	Bytes  int64     // of the payload of its newest failure, or else of the stored copy; -1: not known
	Probed bool      // its source can be asked
	Said   Reading   // of what its source said last of the current evidence; empty: it was not asked since
	SaidAt time.Time // when it was asked
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
