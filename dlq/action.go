package dlq

import "time"

// Action is what a person or a token does to one entry without redriving it.
type Action struct {
	Kind   OperationKind // quarantine, release, extend, archive, restore
	Reason string        // typed by the person
	Days   int           // of an extension
	Until  time.Time     // of an extension, in place of Days
	Grant  Grant         // of a release
}

// ActionEffect is what an action does to an entry.
type ActionEffect struct {
	Changes      bool // false: it is so already
	Status       Status
	ExpiresAt    time.Time
	Granted      bool
	SameFailures int
}

// Act decides what an action does: the rows quarantine, release, extend, archive
// and restore of the table of states and events. A conflict's sentence names the
// state that does not allow it.
func (s Standing) Act(a Action, r RetentionPolicy, now time.Time) (ActionEffect, error) {
	e := ActionEffect{Changes: true, Status: s.Status, ExpiresAt: s.ExpiresAt, Granted: s.Grant, SameFailures: s.SameFailures}
	switch a.Kind {
	case OperationExtend:
		if !s.Status.Open() || s.Status == StatusArchived {
			return e, s.conflict("extended")
		}
		until, err := s.extension(a, r, now)
		e.ExpiresAt = until
		return e, err
	case OperationQuarantine:
		switch s.Status {
		case StatusParked:
			e.Status = StatusQuarantined
		case StatusQuarantined:
			e.Changes = false
		default:
			return e, s.conflict("quarantined")
		}
	case OperationRelease:
		if s.Status != StatusQuarantined {
			return e, s.conflict("released")
		}
		e.Status = StatusParked
		e.ExpiresAt = r.RenewedExpiry(s.ExpiresAt, now)
		switch a.Grant {
		case GrantReset:
			e.SameFailures = 0
		case GrantOne:
			e.Granted = true
		default:
			return e, Invalid("a release needs a grant", Fault{"/grant", "one or reset expected"})
		}
	case OperationArchive:
		switch s.Status {
		case StatusParked, StatusQuarantined:
			e.Status = StatusArchived
		case StatusArchived:
			e.Changes = false
		default:
			return e, s.conflict("archived")
		}
	case OperationRestore:
		switch s.Status {
		case StatusArchived:
			e.Status = StatusParked
			e.ExpiresAt = r.RenewedExpiry(s.ExpiresAt, now)
		case StatusParked:
			e.Changes = false
		default:
			return e, s.conflict("restored")
		}
	default:
		return e, Errorf(KindInvalid, "there is no action %q", shorten(string(a.Kind), 40))
	}
	return e, nil
}

func (s Standing) extension(a Action, r RetentionPolicy, now time.Time) (time.Time, error) {
	switch {
	case !a.Until.IsZero():
		return r.ExtendedTo(s.OpenedAt, s.ExpiresAt, now, a.Until)
	case a.Days >= 1 && a.Days <= 36500:
		return r.Extended(s.OpenedAt, s.ExpiresAt, now, time.Duration(a.Days)*24*time.Hour)
	}
	return time.Time{}, Invalid("an extension needs a span or a date", Fault{"/days", "1 to 36500 days, or a date in until, expected"})
}

// inWords says what a state is, for a sentence that ends in what cannot be done.
var inWords = map[Status]string{
	StatusParked:      "parked",
	StatusRedriving:   "on its way to the pipeline, with no outcome yet",
	StatusQuarantined: "in quarantine; release it first",
	StatusArchived:    "in the archive; restore it first",
	StatusResolved:    "resolved",
	StatusErased:      "erased",
}

func (s Standing) conflict(done string) error {
	return Errorf(KindConflict, "this document cannot be %s: it is %s", done, inWords[s.Status])
}
