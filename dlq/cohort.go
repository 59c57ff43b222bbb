package dlq

import (
	"strings"
	"time"
)

// Fingerprint is the stable key of a failure, with what it is made of. The
// rules that make one are in dlq/fingerprint.
type Fingerprint struct {
	Algorithm  string // f1
	Digest     string
	Mode       string // trace, message, validation, confidence, none
	Confidence string // high, medium, low
	Language   string
	Type       string
	RootType   string
	Template   string
	Frames     []Frame // those used, innermost first
	Canonical  string

	// Not part of the digest and not kept: by these a person can split what the
	// digest puts together.
	Deeper []Frame  // the frames behind those used, at most three
	Rules  []string // failed validation rules with their templated paths, sorted
	// Former is what older algorithms make of the same failure, newest first: a
	// digest that nobody has seen joins the cohort that one of these is in.
	Former []Fingerprint
}

// String is the fingerprint as people and programs write it: f1:7f3a19c2….
func (f Fingerprint) String() string { return f.Algorithm + ":" + f.Digest }

// Frame is one normalised stack frame: a function, and the unit (file, class or
// package) that it is in.
type Frame struct {
	Function string `json:"function"`
	Unit     string `json:"unit"`
}

// String is the frame as screens show it. Where a unit is a package's path and
// the function begins with its name, the function says it all.
func (f Frame) String() string {
	switch {
	case f.Unit != "" && strings.HasPrefix(f.Function, f.Unit[strings.LastIndexByte(f.Unit, '/')+1:]+"."):
		return f.Function
	case f.Unit == "":
		return f.Function
	case f.Function == "":
		return f.Unit
	}
	return f.Unit + " · " + f.Function
}

// Cohort is the entries of one defect. Its id is stable; fingerprints are its
// members, so that notes, owner and proof outlive merges, splits and a new
// algorithm.
type Cohort struct {
	ID           string
	Review       bool // of low-confidence results: in review, no failures
	Confidence   string
	Fingerprints []string
	Part         string // which part of another cohort it is, in words; empty for a whole one
	ErrorType    string
	Template     string
	Frame        string
	Owner        string
	Ticket       string
	Runbook      string
	Disposition  Disposition
	Sources      []string // in which its entries are, most first
	Counts       map[Status]int64
	Arrivals     int64
	FirstSeen    time.Time
	LastSeen     time.Time
	Oldest       time.Time // opening of the oldest parked entry; zero without one
	Expiring     int64     // parked entries that leave within seven days
	FailedUnder  []VersionCount
	Daily        []int64 // arrivals of the last 30 days, oldest first
	// Whole has the counts of all of its entries that the viewer may see, where
	// Counts has those of the cells that were asked for. Nil: they are the same.
	Whole    map[Status]int64
	Standing CohortStanding
}

// Parked is how many of its entries are stuck now.
func (c Cohort) Parked() int64 { return c.Counts[StatusParked] }

// VersionCount is how many parked entries failed under a set of versions.
type VersionCount struct {
	Source   string
	Versions Versions
	Parked   int64
}

// Arrival is one accepted failure on its way into the store: the envelope after
// its aliases and defaults are settled, what it groups under, and what is known
// of its bytes.
type Arrival struct {
	Envelope    Envelope
	Fingerprint Fingerprint
	ReceivedAt  time.Time
	EventKey    string // by which the same event is known again; empty: never a duplicate
	Held        bool   // the bytes of Envelope.PayloadSHA256 are in the payload store
	HeldBytes   int64
	KeyCheck    KeyCheck
	Cut         map[string]int // original length in bytes of each text that was cut
	Actor       Actor
}

// KeyCheck says what a content hash was found to be, when the bytes were at hand.
type KeyCheck string

// What a key can be found to be.
const (
	KeyUnchecked   KeyCheck = ""              // bytes or processing version were not at hand
	KeyBytes       KeyCheck = "bytes"         // sha256(bytes)
	KeyVersioned   KeyCheck = "bytes_version" // sha256(bytes ‖ processing_version)
	KeyUnexplained KeyCheck = "unexplained"   // neither: not verifiable
	KeyFromPayload KeyCheck = "payload"       // none was given; the payload's digest serves
)

// Receipt is what a pipeline is told of what it parked.
type Receipt struct {
	DLQID       string `json:"dlq_id"`
	Source      string `json:"source"`
	DocID       string `json:"doc_id"`
	Status      Status `json:"status"`
	Created     bool   `json:"created"`
	Attempts    int64  `json:"attempts"`
	Arrivals    int64  `json:"arrivals"`
	Cohort      string `json:"cohort"`
	Fingerprint string `json:"fingerprint"`
	URL         string `json:"url"`
	Duplicate   bool   `json:"duplicate,omitempty"`
}

// Entry is one document that is stuck, as screens and the API show it.
type Entry struct {
	ID            int64
	DLQID         string
	Source        string
	DocID         string
	Status        Status
	Resolution    Resolution
	Marks         Marks
	CohortID      string
	Fingerprint   string
	Reason        Reason
	ErrorClass    FailureClass
	ErrorType     string
	Message       string // head of the error message
	Stage         string
	ContentType   string
	Filename      string
	Versions      Versions
	Episode       int64
	Attempts      int64
	Arrivals      int64
	RedrivesTotal int64
	SameFailures  int
	Granted       bool
	FirstSeen     time.Time
	OpenedAt      time.Time
	LastSeen      time.Time
	ExpiresAt     time.Time
	SettledAt     time.Time
	IngestSeq     *int64
	ContentHash   string
	KeyCheck      KeyCheck
	PayloadSHA256 string // of the current evidence
	PayloadBytes  int64  // -1 where nobody said
	Copy          CopyState
	HeldSHA256    string
	CopyOfAttempt int64 // the attempt that brought the held copy
	CopyExpires   time.Time
	EvidenceID    int64 // the attempt that is the current evidence
	SenderID      string
	Owner         string
	Ticket        string
	Disposition   Disposition
	Version       int64
}

// CopyIsCurrent says whether the held copy is of the current evidence.
func (e Entry) CopyIsCurrent() bool { return e.Copy == CopyHeld && e.CopyOfAttempt == e.EvidenceID }

// Attempt is one failure in an entry's history.
type Attempt struct {
	ID              int64
	Kind            string // arrival, outcome
	Why             ArrivalWhy
	Episode         int64
	RedriveID       string
	CohortID        string
	Fingerprint     string
	Reason          Reason
	ErrorClass      FailureClass
	ErrorType       string
	Stage           string
	ContentType     string
	Versions        Versions
	Attempts        int64
	ReceivedAt      time.Time
	FirstSeen       time.Time
	LastSeen        time.Time
	IngestSeq       *int64
	SourceVersion   string
	SourceUpdatedAt time.Time
	Cursor          string
	SourceURL       string
	PayloadSHA256   string
	PayloadBytes    int64
	PayloadURI      string
	Filename        string
	Confidence      *float64
	Processing      string
	IndexedVersion  string
	Actor           string
	Detail          AttemptDetail // only where it was asked for
}

// Sequence is the attempt's number within its entry, from 1.
func (a Attempt) Sequence() int64 { return a.ID & (1<<20 - 1) }

// AttemptDetail is what is long and read seldom.
type AttemptDetail struct {
	Message      string            `json:"message,omitempty"`
	Trace        string            `json:"trace,omitempty"`
	TraceURI     string            `json:"trace_uri,omitempty"`
	Validation   string            `json:"validation,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Extra        map[string]any    `json:"extra,omitempty"`
	Cut          map[string]int    `json:"cut,omitempty"`
	RedriveCount *int              `json:"redrive_count,omitempty"`
}

// EntrySort names an order of a list of entries.
type EntrySort string

// The orders.
const (
	SortLastSeen EntrySort = "last_seen" // newest failure first
	SortOldest   EntrySort = "oldest"    // longest stuck first
	SortExpires  EntrySort = "expires"   // leaving soonest first
	SortAttempts EntrySort = "attempts"  // most attempts first
)

// EntrySorts lists the orders.
var EntrySorts = []EntrySort{SortLastSeen, SortOldest, SortExpires, SortAttempts}

// Note is what a person wrote about an entry or a cohort, in Markdown.
type Note struct {
	Author    string
	WrittenAt time.Time
	Body      string
}

// Totals are the figures that lead every page: totals, never a rate.
type Totals struct {
	Stuck        int64 // parked, low confidence aside: the depth
	InReview     int64 // of low confidence
	Quarantined  int64
	Redriving    int64
	Archived     int64
	Cohorts      int64
	Oldest       time.Time
	OldestSource string
	Expiring     int64     // within seven days
	NetWeek      int64     // what depth gained in seven days
	Since        time.Time // the day of the first arrival that is counted; zero without one
}

// VersionMonth counts the entries of a cohort that failed under a set of
// versions and were opened in a month.
type VersionMonth struct {
	Source   string
	Versions Versions
	Month    time.Time // its first day
	Entries  int64
	Parked   int64
}

// FilterChoices are the values that a list of entries can be filtered by.
type FilterChoices struct {
	Classes, Types, Parsers, ContentTypes []string
}
