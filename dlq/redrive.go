package dlq

import "time"

// CopyState says what we hold of a document's bytes.
type CopyState string

// What may be held of a document.
const (
	CopyHeld    CopyState = "held"
	CopyNever   CopyState = "never"   // no bytes were ever sent
	CopyExpired CopyState = "expired" // its time to live is over
	CopyCorrupt CopyState = "corrupt" // its digest no longer agrees
)

// RedriveState is where one redrive's delivery stands.
type RedriveState string

// The states of a redrive. Pending, claimed and delivered are in flight: at
// most one of them per key, by the schema.
const (
	RedrivePending   RedriveState = "pending"   // to be sent, or to be sent again
	RedriveClaimed   RedriveState = "claimed"   // a dispatcher holds its lease
	RedriveDelivered RedriveState = "delivered" // the target took it; the clock of its outcome runs
	RedriveSettled   RedriveState = "settled"   // it has an outcome
)

// Redrive is one entry's way back to its pipeline, with all that a verdict
// will need: the bytes, the code and the moment of each send.
type Redrive struct {
	ID          string
	OperationID string
	EntryID     int64
	DLQID       string
	Source      string
	DocID       string
	ContentHash string
	Mode        Mode // as asked
	// AcceptUnknown sends the stored copy although nothing can be told of the
	// document at its source.
	AcceptUnknown bool
	Sent          Mode // as sent: held or source; empty before the first send
	State         RedriveState

	// The bytes at the send.
	FailedAttempt int64     // the attempt whose failure is replayed
	FailedCohort  string    // the cohort that it was in when it was asked for
	FailedSHA256  string    // the digest of the bytes that failed, where it is known
	PayloadSHA256 string    // what was sent, verified on read; empty where the source is read
	PayloadURI    string    //
	SourceVersion string    // as of the failing attempt
	Probe         SourceNow // what the source said at dispatch; zero where it was not asked
	Bytes         Evidence  // what that said of the bytes

	// The code at the send.
	FailedUnder Versions
	Running     Running

	// The moment of the send.
	CreatedAt  time.Time
	SentAt     time.Time // first delivery begun
	AcceptedAt time.Time // the target took it
	DueAt      time.Time // an outcome is overdue after this
	Deliveries int
	NextAt     time.Time
	GiveUpAt   time.Time // the budget of its deliveries ends
	LastStatus int       // of the target's last answer; 0 where none came
	LastError  string    // in words
	LastBody   string    // the first 4 KiB of a refusal

	// The lease of the dispatcher that sends it.
	LeaseOwner string
	LeaseEpoch int64
	LeaseUntil time.Time

	Outcome         OutcomeResult
	OutcomeAt       time.Time
	OutcomeSeq      *int64
	OutcomeVersion  string // source_version that the outcome names
	OutcomeSHA256   string
	OutcomeVersions Versions
	OutcomeAttempt  int64  // the failure's attempt
	OutcomeCohort   string // in which it failed
	OutcomeClass    FailureClass
	OutcomeUnnamed  bool // it failed without error fields
	Presumed        bool
	Late            OutcomeResult // one that came after it was settled otherwise
	SettledAt       time.Time
}

// InFlight says whether the redrive has no outcome yet.
func (r Redrive) InFlight() bool { return r.State != RedriveSettled }

// Choice is what a redrive sends, or why it does not.
type Choice struct {
	Send    Mode // held or source
	Pointer bool // with the payload_uri alone, because nothing is held here
	LeftOut LeftOut
}

// BytesQuestion is what decides which bytes a redrive sends.
type BytesQuestion struct {
	Mode          Mode
	Copy          CopyState
	HasPointer    bool // a payload_uri is known
	HasProbe      bool
	Now           Reading // what the probe said; meaningless without a probe
	AcceptUnknown bool
}

// Choose decides which bytes a redrive sends. Held and source force one, and
// leave nothing out for what the probe says. Auto wants the stored copy where
// the document is unchanged, because that tests the code, and the current
// document where it changed; a document that is gone at its source is left out,
// because a replay would resurrect it, and one of which nothing can be told is
// left out unless the reviewer accepts it.
func (q BytesQuestion) Choose() Choice {
	switch q.Mode {
	case ModeHeld:
		return q.held()
	case ModeSource:
		return q.source()
	}
	if q.Copy == CopyCorrupt {
		return Choice{LeftOut: LeftPayloadCorrupt}
	}
	if !q.HasProbe {
		if q.Copy == CopyHeld {
			return q.held()
		}
		return q.source()
	}
	switch q.Now {
	case ReadingGone:
		return Choice{LeftOut: LeftGoneAtSource}
	case ReadingUnchanged:
		if q.Copy == CopyHeld {
			return q.held()
		}
		return q.source()
	case ReadingChanged, ReadingMaybeChanged:
		return q.source()
	}
	if !q.AcceptUnknown {
		return Choice{LeftOut: LeftCannotTellChanged}
	}
	if q.Copy == CopyHeld {
		return q.held()
	}
	return q.source()
}

func (q BytesQuestion) held() Choice {
	switch q.Copy {
	case CopyHeld:
		return Choice{Send: ModeHeld}
	case CopyExpired:
		return Choice{LeftOut: LeftPayloadExpired}
	case CopyCorrupt:
		return Choice{LeftOut: LeftPayloadCorrupt}
	}
	return Choice{LeftOut: LeftNoPayload}
}

func (q BytesQuestion) source() Choice {
	return Choice{Send: ModeSource, Pointer: q.HasPointer && q.Copy != CopyHeld}
}

// Backoff is how long a delivery waits after n failures: from first, doubling,
// at most max. The caller adds jitter, and honours a target's Retry-After.
func (r RetryPolicy) Backoff(failures int) time.Duration {
	wait := r.First.Std()
	for i := 1; i < failures && wait < r.Max.Std(); i++ {
		wait *= 2
	}
	return min(wait, r.Max.Std())
}

// DueSource is a source with deliveries that are due, and how many redrives of
// it have no outcome yet.
type DueSource struct {
	Name     string
	Due      int64
	InFlight int64
}
