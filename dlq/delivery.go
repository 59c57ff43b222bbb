package dlq

import "time"

// Delivery is one redrive as its pipeline sees it: where it goes, under which
// key its commit must be unique, and which bytes it is about. The bytes
// themselves never travel with it.
type Delivery struct {
	URL string // the source's redrive target
	// Secrets sign it, each whsec_ and base64, the present one first: two while
	// one is replaced, none for an unsigned delivery.
	Secrets []string
	// Test marks a delivery that must be judged and not committed.
	Test bool

	RedriveID     string // the same over every try, so that a second try is known as one
	DLQID         string
	Source        string
	DocID         string
	ContentHash   string // the idempotency key
	Mode          Mode   // as sent: held or source
	PayloadSHA256 string // under held: of the bytes that are sent
	PayloadURL    string // under held: a link to them, signed and short-lived
	PayloadURI    string // the pipeline's own pointer, where it gave one

	// The attempt that is replayed, for the pipeline's version guard.
	SourceVersion   string
	IngestSeq       *int64
	CursorAtArrival string

	RedriveCount int64 // redrives of this entry, this one included
	Attempts     int64 // deliveries that its failures have spent
	ReplyTo      string
	Try          int // of this redrive, from 1
}

// Answer is what came back for a delivery. Its judgement is not here: what an
// answer means is a rule of redriving, not of the transport.
type Answer struct {
	Status     int           // of HTTP; 0 where no answer came
	RetryAfter time.Duration // as the target asked; 0 where it did not
	Body       []byte        // at most its first 64 KiB
	BrokenOff  bool          // the status came, and the body did not to its end
	Refused    bool          // nothing was sent: the address may not be reached, or cannot be used
	Trouble    string        // for a person, why no answer came; holds no address and nothing secret
}
