package dlq

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what sort of error a caller is looking at, so that one place can
// turn it into a status, a page or an exit code. Zero is an internal fault.
type Kind string

// The kinds of error. Their HTTP statuses are decided in web/errors.go alone.
const (
	KindInvalid         Kind = "invalid"          // a field is wrong: 422, with every fault named
	KindMalformed       Kind = "malformed"        // not JSON, a duplicate key, too deep: 400
	KindNotFound        Kind = "not_found"        // 404, also for what the caller may not know of
	KindConflict        Kind = "conflict"         // the state does not allow it: 409
	KindUnauthenticated Kind = "unauthenticated"  // no or unknown credentials: 401
	KindForbidden       Kind = "forbidden"        // known, but not allowed: 403
	KindTooLarge        Kind = "too_large"        // 413
	KindUnsupported     Kind = "unsupported_type" // content type or encoding: 415
	KindTooMany         Kind = "too_many"         // slow down: 429 with Retry-After
	KindUnavailable     Kind = "unavailable"      // cannot be done now: 503 with Retry-After
	KindGone            Kind = "gone"             // used up or expired: 410
	KindInternal        Kind = "internal"         // 500
)

// Fault is one thing wrong with an input, by JSON pointer (RFC 6901).
type Fault struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Error is a kind and a sentence that a person can act on. Cause is for the
// log and never for the person.
type Error struct {
	Kind       Kind
	Message    string
	Faults     []Fault
	RetryAfter time.Duration // set for KindTooMany and KindUnavailable
	Cause      error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap gives the cause, so that errors.Is and errors.As see through.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an error of a kind with a sentence for a person.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Because returns the error with its cause, which is for the log alone.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// Invalid makes a KindInvalid error that names every fault.
func Invalid(message string, faults ...Fault) *Error {
	return &Error{Kind: KindInvalid, Message: message, Faults: faults}
}

// KindOf gives the kind of the outermost *Error in the chain, else
// KindInternal. Nil has no kind and gives "".
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}
