// Package dlqtest builds the nouns of dlq for tests: each complete and sound
// by itself, so that a test says only what it is about. It leaves opening
// stores to dbtest, and deciding anything to dlq.
package dlqtest

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"dlo/dlq"
)

// Now is the moment at which tests begin: a Sunday noon in UTC.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// The actors that tests act as.
var (
	Reviewer = dlq.Actor{Kind: dlq.ActorPerson, ID: "person-reviewer", Name: "reviewer@example.com", Role: dlq.RoleReviewer}
	Admin    = dlq.Actor{Kind: dlq.ActorPerson, ID: "person-admin", Name: "admin@example.com", Role: dlq.RoleAdmin}
	Pipeline = dlq.Actor{Kind: dlq.ActorToken, ID: "token-pipeline", Name: "pipeline", Scopes: []dlq.Scope{dlq.ScopeIngest, dlq.ScopeOutcome}}
)

// Only gives the actor with its sight limited to some sources.
func Only(a dlq.Actor, sources ...string) dlq.Actor {
	a.Sources = sources
	return a
}

// Digest is the SHA-256 of a text as this program writes digests.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Fingerprint gives the fingerprint of a defect by the defect's name. Equal
// names give equal fingerprints, others give others.
func Fingerprint(defect string) dlq.Fingerprint {
	return dlq.Fingerprint{Algorithm: "f1", Digest: Digest("defect " + defect)[:32], Mode: "trace", Confidence: "high", Language: "python",
		Type: defect, RootType: defect, Template: defect + " in a document", Frames: []dlq.Frame{{Function: "parse", Unit: "pdfdocument"}}, Canonical: "python\n" + defect}
}

// Arrival builds an accepted failure of wiki/1 that happened and was received
// at Now, with what the options change, in their order. It names no bytes, no
// event and no sequence number.
func Arrival(options ...func(*dlq.Arrival)) dlq.Arrival {
	first, last, one := Now, Now, 1
	a := dlq.Arrival{
		Envelope: dlq.Envelope{
			Source: "wiki", DocID: "1", Attempts: &one, FirstSeenAt: &first, LastSeenAt: &last,
			Reason: string(dlq.ReasonException), ErrorClass: string(dlq.ClassAmbiguousParse), ErrorType: "PDFSyntaxError",
			ErrorMessage: "No /Root object! - Is this really a PDF?", ParserVersion: "pdfminer.six@20221105", ContentType: "application/pdf", Stage: "parse",
		},
		Fingerprint: Fingerprint("PDFSyntaxError"), ReceivedAt: Now, Actor: Pipeline,
	}
	for _, option := range options {
		option(&a)
	}
	return a
}

// Of says whose failure it is.
func Of(source, docID string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.Source, a.Envelope.DocID = source, docID }
}

// Doc says which document of the source failed.
func Doc(docID string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.DocID = docID }
}

// Seen says when it failed, first and last, and that it was received then.
func Seen(at time.Time) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) {
		first, last := at, at
		a.Envelope.FirstSeenAt, a.Envelope.LastSeenAt, a.ReceivedAt = &first, &last, at
	}
}

// FirstSeen says when it failed first.
func FirstSeen(at time.Time) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.FirstSeenAt = &at }
}

// Received says when it came to us.
func Received(at time.Time) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.ReceivedAt = at }
}

// Seq gives its place in the connector's sequence.
func Seq(n int64) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.IngestSeq = &n }
}

// Spent says how many deliveries it reports.
func Spent(attempts int) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.Attempts = &attempts }
}

// Event gives the key by which the same event is known again.
func Event(key string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.EventKey = key }
}

// Defect says in which cohort it failed: the type and the fingerprint.
func Defect(name string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) {
		a.Fingerprint, a.Envelope.ErrorType, a.Envelope.ErrorMessage = Fingerprint(name), name, name+" at offset 41827"
	}
}

// Class gives its failure class.
func Class(c dlq.FailureClass) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.ErrorClass = string(c) }
}

// LowConfidence makes it a result under the source's floor: no failure.
func LowConfidence(share float64) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) {
		a.Envelope.Reason, a.Envelope.Confidence = string(dlq.ReasonLowConfidence), &share
		a.Envelope.ErrorClass, a.Envelope.ErrorType, a.Envelope.ErrorMessage = "", "", ""
		a.Fingerprint = Fingerprint("low confidence of " + a.Envelope.Source)
		a.Fingerprint.Mode, a.Fingerprint.Type = "confidence", ""
	}
}

// Named gives the digest and the size of its bytes, which are not held.
func Named(text string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) {
		n := int64(len(text))
		a.Envelope.PayloadSHA256, a.Envelope.PayloadBytes = Digest(text), &n
		a.KeyCheck = dlq.KeyFromPayload
	}
}

// Held is Named for bytes that the payload store has.
func Held(text string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) {
		Named(text)(a)
		a.Held, a.HeldBytes = true, int64(len(text))
	}
}

// Key gives the pipeline's own idempotency key, by a text that it is made of.
func Key(text string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.ContentHash, a.KeyCheck = Digest(text), dlq.KeyUnchecked }
}

// Replay names the redrive whose failure it is.
func Replay(redriveID string) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { a.Envelope.RedriveID = redriveID }
}

// With changes the envelope in whatever way no other option does.
func With(change func(*dlq.Envelope)) func(*dlq.Arrival) {
	return func(a *dlq.Arrival) { change(&a.Envelope) }
}

// Policy is a source's policy with a redrive target, else the default.
func Policy(name string, changes ...func(*dlq.SourcePolicy)) dlq.SourcePolicy {
	p := dlq.DefaultPolicy(name)
	p.Redrive.URL = "https://pipeline.example.com/redrive"
	for _, change := range changes {
		change(&p)
	}
	return p
}
