package dlq

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Reading says what is known of a document's bytes: were they, when the entry
// was replayed or the source asked, still those that failed?
type Reading string

// The readings. ReadingUnknown is never shown or counted as unchanged.
const (
	ReadingUnchanged    Reading = "unchanged"
	ReadingChanged      Reading = "changed"
	ReadingMaybeChanged Reading = "maybe_changed" // the tag moved, but tags of this kind also move when the bytes do not
	ReadingGone         Reading = "gone"          // the source answers that the document no longer exists
	ReadingUnknown      Reading = "unknown"
)

// Grade names the evidence that a reading rests on.
type Grade string

// The grades, strongest first. An unchanged of GradeWeakETag or
// GradeLastModified makes a verdict presumed.
const (
	GradeDigest       Grade = "digest"
	GradeStrongETag   Grade = "strong_etag"
	GradeWeakETag     Grade = "weak_etag"
	GradeLastModified Grade = "last_modified"
	GradeStatus       Grade = "status" // the answer's status alone: 404 or 410
	GradeNone         Grade = "none"   // goes with ReadingUnknown
)

// Evidence is a reading, what it rests on, and what a person should know
// before relying on it.
type Evidence struct {
	Bytes   Reading  `json:"bytes"`
	Grade   Grade    `json:"grade"`
	Caveats []string `json:"caveats"` // short sentences; an empty list in JSON, never null
}

// MarshalJSON writes an absent list of caveats as an empty one, so that a
// reader never has to tell null from nothing.
func (e Evidence) MarshalJSON() ([]byte, error) {
	type plain Evidence
	if e.Caveats == nil {
		e.Caveats = []string{}
	}
	return json.Marshal(plain(e))
}

// Because adds caveats, leaving out empty ones and those that stand there
// already.
func (e Evidence) Because(caveats ...string) Evidence {
	kept := append([]string{}, e.Caveats...)
	for _, c := range caveats {
		if c != "" && !slices.Contains(kept, c) {
			kept = append(kept, c)
		}
	}
	e.Caveats = kept
	return e
}

func evidenceOf(bytes Reading, grade Grade, caveats ...string) Evidence {
	return Evidence{Bytes: bytes, Grade: grade}.Because(caveats...)
}

// UnknownBytes is the evidence where nothing can be said, with why.
func UnknownBytes(caveats ...string) Evidence {
	return evidenceOf(ReadingUnknown, GradeNone, caveats...)
}

// GoneBytes is the evidence of a source that answers 404 or 410.
func GoneBytes(caveats ...string) Evidence {
	return evidenceOf(ReadingGone, GradeStatus, caveats...)
}

// Validators are what is known of one state of a document, raw as the source
// gave it: quotes and W/ included. Empty means absent.
type Validators struct {
	ETag         string // or any other version that the source names, such as version:11
	LastModified string // an HTTP date, or RFC 3339
	SHA256       string // 64 hex digits over the bytes
}

// The digest of no bytes at all, as SHA-256 and as MD5: a document that is
// empty is worth saying.
const (
	emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	emptyMD5    = "d41d8cd98f00b204e9800998ecf8427e"
)

const (
	caveatEmpty       = "The document is empty: this is the digest of no bytes."
	caveatAlarm       = "Alarm: the source gave the same tag for different bytes, so its tags cannot be relied on."
	caveatTagMoved    = "The tag moved although the bytes are the same."
	caveatTimeMoved   = "The modification time moved although the tag did not."
	caveatBadDigest   = "A digest is not 64 hex digits and was not used."
	caveatNothingHeld = "Neither a tag nor a modification time is known on both sides."
)

// CompareBytes reads the bytes from the strongest evidence that both sides
// have: digests, then tags of the kind, then modification times. Equal tags
// over different digests read changed and carry an alarm.
func CompareBytes(kind string, stored, current Validators) Evidence {
	var caveats []string
	a, b := strings.TrimSpace(stored.SHA256), strings.TrimSpace(current.SHA256)
	if a != "" && b != "" {
		if isHex(a, 64) && isHex(b, 64) {
			return compareDigests(kind, stored, current)
		}
		caveats = append(caveats, caveatBadDigest)
	}

	times := func() Evidence { return compareTimes(stored.LastModified, current.LastModified) }
	if kindNamed(kind).name == kindLastModified {
		// A source that is read by its time may have had it taken for its tag.
		return compareTimes(firstText(stored.LastModified, stored.ETag), firstText(current.LastModified, current.ETag)).Because(caveats...)
	}
	if noText(stored.ETag) && noText(current.ETag) {
		if noText(stored.LastModified) || noText(current.LastModified) {
			return UnknownBytes(append(caveats, caveatNothingHeld)...)
		}
		return times().Because(caveats...)
	}

	tags := CompareTags(kind, &stored.ETag, &current.ETag)
	if tags.Bytes == ReadingUnknown {
		caveats = append(caveats, tags.Caveats...)
		if noText(stored.LastModified) || noText(current.LastModified) {
			return UnknownBytes(caveats...)
		}
		return times().Because(caveats...)
	}
	if tags.Bytes == ReadingUnchanged && times().Bytes == ReadingMaybeChanged {
		caveats = append(caveats, caveatTimeMoved)
	}
	return tags.Because(caveats...)
}

// compareDigests compares two well-formed SHA-256 digests and says what the
// tags beside them are worth.
func compareDigests(kind string, stored, current Validators) Evidence {
	a, b := strings.ToLower(strings.TrimSpace(stored.SHA256)), strings.ToLower(strings.TrimSpace(current.SHA256))
	tags := CompareTags(kind, &stored.ETag, &current.ETag)
	byTag := tags.Grade == GradeStrongETag || tags.Grade == GradeWeakETag
	if a != b {
		e := evidenceOf(ReadingChanged, GradeDigest)
		if tags.Bytes == ReadingUnchanged && byTag {
			e = e.Because(caveatAlarm)
		}
		return e
	}
	e := evidenceOf(ReadingUnchanged, GradeDigest)
	if a == emptySHA256 {
		e = e.Because(caveatEmpty)
	}
	if byTag && (tags.Bytes == ReadingChanged || tags.Bytes == ReadingMaybeChanged) {
		e = e.Because(caveatTagMoved)
	}
	return e
}

// SourceNow is what a source answered when it was asked what its document is
// now. It is stored with the entry; it holds no header but the validators, and
// no secret.
type SourceNow struct {
	Status       int           `json:"status,omitempty"`        // the HTTP status; 0 where nothing answered
	ETag         string        `json:"etag,omitempty"`          // raw, or the value at the policy's JSON pointer
	LastModified string        `json:"last_modified,omitempty"` // raw
	Length       int64         `json:"length"`                  // bytes; -1 where the source does not say
	SHA256       string        `json:"sha256,omitempty"`        // only where the bytes were fetched, 64 lower-case hex digits
	AskedAt      time.Time     `json:"asked_at"`
	Took         time.Duration `json:"took"` // nanoseconds
	Failure      ProbeFailure  `json:"failure,omitempty"`
	Sentence     string        `json:"sentence,omitempty"` // for a person: why nothing, or only this, is known
}

// Validators are the answer as one side of a comparison.
func (n SourceNow) Validators() Validators {
	return Validators{ETag: n.ETag, LastModified: n.LastModified, SHA256: n.SHA256}
}

// Gone says whether the source answered that the document does not exist:
// 404 or 410 (RFC 9110 §15.5.5, §15.5.11).
func (n SourceNow) Gone() bool { return n.Failure == "" && (n.Status == 404 || n.Status == 410) }

// Silent says whether the source could not be asked just now, and may answer in a
// while.
func (n SourceNow) Silent() bool {
	return n.Failure == ProbeUnreachable || n.Failure == ProbeTimeout || n.Failure == ProbeUnavailable
}

// ProbeFailure names why a source could not be read. Empty: it could.
type ProbeFailure string

// The failures of a probe. Each leaves the bytes unknown.
const (
	ProbeNotConfigured ProbeFailure = "not_configured" // the source's policy has no probe, or it cannot be used as it stands
	ProbeRefused       ProbeFailure = "refused"        // our own guard: the address may not be reached
	ProbeUnreachable   ProbeFailure = "unreachable"    // no connection, no such host, TLS
	ProbeTimeout       ProbeFailure = "timeout"        // no answer within the budget
	ProbeRedirect      ProbeFailure = "redirect"       // a 3xx, never followed
	ProbeDenied        ProbeFailure = "denied"         // 401, 403, 407: the source does not let us see
	ProbeUnavailable   ProbeFailure = "unavailable"    // 429, 5xx: the source cannot say now
	ProbeUnexpected    ProbeFailure = "unexpected"     // any other status that says nothing of the document
	ProbeNoValidator   ProbeFailure = "no_validator"   // answered, without what the policy asks for
	ProbeTooLarge      ProbeFailure = "too_large"      // headers or body over the budget
	ProbeAborted       ProbeFailure = "aborted"        // we broke off: a shutdown, or whoever asked went away
	ProbeMalformed     ProbeFailure = "malformed"      // not HTTP, not JSON, encoded without being asked
)
