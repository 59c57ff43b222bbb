package dlq

import "time"

// AlertRule names the condition that an alert is about.
type AlertRule string

// The rules whose alerts are raised in the transaction of what causes them.
const (
	AlertPoison           AlertRule = "poison"              // an entry reached the poison threshold
	AlertContract         AlertRule = "downstream_contract" // parsed, then refused by what comes after
	AlertOperationStopped AlertRule = "operation_stopped"   // by the stop rule
	AlertOperationPaused  AlertRule = "operation_paused"    // the target is down
	AlertTargetGone       AlertRule = "target_gone"         // it answered 410
	AlertLooksTransient   AlertRule = "looks_transient"     // a cohort passes when nothing changed
	AlertPayloadCorrupt   AlertRule = "payload_corrupt"     // a stored copy no longer has its digest
)

// TransientQuiet is how long nothing of a cohort must have failed or been replayed
// until the alert that it looks transient is over: whoever dead-letters it has
// learned to wait, or nobody sends it any more.
const TransientQuiet = 14 * 24 * time.Hour

// AlertState is where an alert stands.
type AlertState string

// The states of an alert.
const (
	AlertFiring       AlertState = "firing"
	AlertAcknowledged AlertState = "acknowledged"
	AlertResolved     AlertState = "resolved"
)

// Alert is one condition that somebody should know of: identity and counts,
// never content. There is one alert for one condition, however often it holds.
type Alert struct {
	ID             string
	Rule           AlertRule
	Subject        string // what it is about, by which the same condition is known again
	State          AlertState
	SourceID       int64
	Source         string
	CohortID       string
	EntryID        int64
	DLQID          string
	OperationID    string
	Value, Limit   int64
	Why            string
	Since          time.Time
	UpdatedAt      time.Time
	AcknowledgedBy string
	ResolvedAt     time.Time
}
