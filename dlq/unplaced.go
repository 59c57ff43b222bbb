package dlq

import "time"

// UnplacedOutcome is a reported outcome that belonged to nothing here when it
// came. It is kept as it was told; the same report sent again is looked at anew.
type UnplacedOutcome struct {
	ReceivedAt    time.Time
	Source, DocID string // as the report or its token named them; may be empty
	RedriveID     string
	ContentHash   string
	Result        OutcomeResult
	Why           string
	Actor         string // who told it
}
