package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"

	"dlo/dlq"
)

// ClassifiedError is an error that knows its class in the taxonomy of failures.
// Its text is that of the error it wraps.
type ClassifiedError struct {
	Class dlq.FailureClass
	Err   error
}

func (e *ClassifiedError) Error() string { return e.Err.Error() }

// Unwrap gives the error that was classified.
func (e *ClassifiedError) Unwrap() error { return e.Err }

// FailureClass gives the class. Any error of a chain may have this method: a
// pipeline's own error types need no wrapping then.
func (e *ClassifiedError) FailureClass() dlq.FailureClass { return e.Class }

// Encrypted says that the document cannot be read without a key: permanent_input.
func Encrypted(err error) error { return classified(dlq.ClassPermanentInput, err) }

// Unsupported says that no reader for such a document exists: permanent_input.
func Unsupported(err error) error { return classified(dlq.ClassPermanentInput, err) }

// Parse says that a parser raised: ambiguous_parse. Whether the document or the
// parser is at fault is not known yet.
func Parse(err error) error { return classified(dlq.ClassAmbiguousParse, err) }

// Contract says that what came after parsing would not take the result, as a
// chunk over the window: downstream_contract.
func Contract(err error) error { return classified(dlq.ClassDownstreamContract, err) }

// Transient says that the environment failed, and waiting can help: transient.
func Transient(err error) error { return classified(dlq.ClassTransient, err) }

// Answered classifies by the status that a source answered with: 408, 425, 429
// and 5xx are transient, and any other leaves the error as it is.
func Answered(status int, err error) error {
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		return Transient(err)
	}
	return err
}

// ClassOf gives the class of the outermost error of the chain that knows its
// own. Where none does, what the environment says is transient without being
// told: a time-out, a connection that was refused or reset, a server's error and
// an unreachable server (see Error and UnreachableError). Else it is "".
func ClassOf(err error) dlq.FailureClass {
	var c interface{ FailureClass() dlq.FailureClass }
	if errors.As(err, &c) {
		return c.FailureClass()
	}
	if retryable(err) || environmental(err) {
		return dlq.ClassTransient
	}
	return ""
}

// environmental says whether the world around failed, and not the document.
func environmental(err error) bool {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	for _, sign := range []error{context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ECONNABORTED,
		syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

func classified(class dlq.FailureClass, err error) error {
	if err == nil {
		return nil
	}
	return &ClassifiedError{class, err}
}
