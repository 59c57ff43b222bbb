package client

import (
	"errors"

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

// ClassOf gives the class of the outermost classified error in the chain, and
// "" where none was classified. A server error and an unreachable server (see
// Error and UnreachableError) are transient without being told.
func ClassOf(err error) dlq.FailureClass {
	var c *ClassifiedError
	if errors.As(err, &c) {
		return c.Class
	}
	if retryable(err) {
		return dlq.ClassTransient
	}
	return ""
}

func classified(class dlq.FailureClass, err error) error {
	if err == nil {
		return nil
	}
	return &ClassifiedError{class, err}
}
