package dlq

import (
	"slices"
	"strings"
	"time"
)

// Status is where an entry stands. It is one column, moved only by guarded
// updates along Moves.
type Status string

// The six states.
const (
	StatusParked      Status = "parked"
	StatusRedriving   Status = "redriving"
	StatusQuarantined Status = "quarantined"
	StatusArchived    Status = "archived"
	StatusResolved    Status = "resolved"
	StatusErased      Status = "erased"
)

// Statuses lists every state.
var Statuses = []Status{StatusParked, StatusRedriving, StatusQuarantined, StatusArchived, StatusResolved, StatusErased}

// Valid says whether the state is one of Statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses, s) }

// Open says whether the document is still stuck: parked, redriving,
// quarantined or archived.
func (s Status) Open() bool {
	return s == StatusParked || s == StatusRedriving || s == StatusQuarantined || s == StatusArchived
}

// Moves are the guarded moves of the status column: from each state, the
// states that some event leads to. The store refuses any other.
var Moves = map[Status][]Status{
	StatusParked:      {StatusRedriving, StatusQuarantined, StatusArchived, StatusResolved, StatusErased},
	StatusRedriving:   {StatusParked, StatusQuarantined, StatusResolved, StatusErased},
	StatusQuarantined: {StatusParked, StatusArchived, StatusResolved, StatusErased},
	StatusArchived:    {StatusParked, StatusResolved, StatusErased},
	StatusResolved:    {StatusParked, StatusErased},
	StatusErased:      {StatusParked},
}

// MayMove says whether any event leads from one state to the other.
func MayMove(from, to Status) bool { return slices.Contains(Moves[from], to) }

// Resolution says how a resolved entry was settled.
type Resolution string

// The resolutions.
const (
	ResolvedCommitted  Resolution = "committed"
	ResolvedSkipped    Resolution = "skipped"    // the key was committed already
	ResolvedSuperseded Resolution = "superseded" // a newer version of the document got in
	ResolvedAssumed    Resolution = "assumed"    // silence, where the source's policy says so
)

// Mark is something about an entry that its state does not say.
type Mark string

// The marks.
const (
	MarkReturned     Mark = "returned"      // failed again after it was resolved
	MarkLate         Mark = "late"          // resolved by an outcome that came after we had given up on it
	MarkNoOutcome    Mark = "no_outcome"    // a redrive was taken and never answered
	MarkAssumed      Mark = "assumed"       // resolved by silence
	MarkNotExhausted Mark = "not_exhausted" // transient, and parked before its tries were spent
	MarkPresumed     Mark = "presumed"      // an arrival was taken as a redrive's failure without naming it
)

// Marks is a set of marks, kept sorted.
type Marks []Mark

// ParseMarks reads what String wrote.
func ParseMarks(s string) Marks {
	if s == "" {
		return nil
	}
	var m Marks
	for _, part := range strings.Split(s, ",") {
		m = append(m, Mark(part))
	}
	return m
}

func (m Marks) String() string {
	parts := make([]string, len(m))
	for i, mark := range m {
		parts[i] = string(mark)
	}
	return strings.Join(parts, ",")
}

// Has says whether the mark is set.
func (m Marks) Has(mark Mark) bool { return slices.Contains(m, mark) }

// With gives the set with the mark.
func (m Marks) With(mark Mark) Marks {
	if m.Has(mark) {
		return m
	}
	out := append(slices.Clone(m), mark)
	slices.Sort(out)
	return out
}

// Without gives the set without the marks.
func (m Marks) Without(marks ...Mark) Marks {
	return slices.DeleteFunc(slices.Clone(m), func(have Mark) bool { return slices.Contains(marks, have) })
}

// Position is a place in a source's timeline, by which one event is newer than
// another.
type Position struct {
	IngestSeq  *int64    // the connector's sequence number, where it has one
	LastSeen   time.Time // when it happened, by the sender
	ReceivedAt time.Time // when we received it
}

// Newer says whether p comes after q: by a greater ingest_seq where both have
// one; equal or missing, by a later last_seen_at; equal, by the later receipt.
func (p Position) Newer(q Position) bool {
	if p.IngestSeq != nil && q.IngestSeq != nil && *p.IngestSeq != *q.IngestSeq {
		return *p.IngestSeq > *q.IngestSeq
	}
	if !p.LastSeen.Equal(q.LastSeen) {
		return p.LastSeen.After(q.LastSeen)
	}
	return p.ReceivedAt.After(q.ReceivedAt)
}

// NotOlder says whether p does not come before q, by ingest_seq where both have
// one, else by time. It is what an outcome without a redrive is held against.
func (p Position) NotOlder(q Position) bool {
	if p.IngestSeq != nil && q.IngestSeq != nil {
		return *p.IngestSeq >= *q.IngestSeq
	}
	return !p.LastSeen.Before(q.LastSeen)
}

// Expiry at the start of an episode: the entry's time to live from its opening,
// and at least seven days from now, so that nothing leaves unseen.
func (r RetentionPolicy) Expiry(openedAt, now time.Time) time.Time {
	return later(openedAt.Add(r.EntryTTL.Std()), now.Add(7*24*time.Hour))
}

// RenewedExpiry is the expiry after a restore, a release, or an arrival on an
// archived entry: what it was, and at least 30 days or the time to live.
func (r RetentionPolicy) RenewedExpiry(expiresAt, now time.Time) time.Time {
	return later(expiresAt, now.Add(min(r.EntryTTL.Std(), 30*24*time.Hour)))
}

// Extended is the expiry after an extension by a span: counted from the later
// of now and what it was, at most to the longest time to live since opening.
// The error names the last date allowed.
func (r RetentionPolicy) Extended(openedAt, expiresAt, now time.Time, by time.Duration) (time.Time, error) {
	return r.ExtendedTo(openedAt, expiresAt, now, later(now, expiresAt).Add(by))
}

// ExtendedTo is Extended with a date in place of a span.
func (r RetentionPolicy) ExtendedTo(openedAt, expiresAt, now, until time.Time) (time.Time, error) {
	last := openedAt.Add(r.MaxTTL.Std())
	if !until.After(expiresAt) || !until.After(now) {
		return time.Time{}, Invalid("an extension only makes it later", Fault{"/until", "a time after " + expiresAt.UTC().Format(time.RFC3339) + " expected"})
	}
	if until.After(last) {
		return time.Time{}, Invalid("this source keeps an entry for at most "+r.MaxTTL.String()+"; the last date allowed is "+last.UTC().Format("2 Jan 2006"),
			Fault{"/until", "at most " + last.UTC().Format(time.RFC3339) + " expected"})
	}
	return until, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
