package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"dlo/dlq"
)

// Bytes gives an Open for a document that is in memory.
func Bytes(raw []byte) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
}

// envelope writes the dead letter of a failed attempt, in such a form that no
// text of the document can make the server refuse it.
func (g *Guard) envelope(w *work, err error) dlq.Envelope {
	e := w.attempt.Envelope
	if e.Reason == "" {
		e.Reason = string(dlq.ReasonException)
	}
	e.ErrorClass, e.ErrorType, e.ErrorMessage = string(ClassOf(err)), typeOf(err), err.Error()
	var panicked *PanicError
	if e.ErrorClass == "" && errors.As(err, &panicked) {
		e.ErrorClass = string(dlq.ClassAmbiguousParse) // something raised, if not as it should
	}
	var stack interface{ StackTrace() string }
	if e.StackTrace == "" && errors.As(err, &stack) {
		e.StackTrace = stack.StackTrace()
	}
	if e.Attempts == nil {
		spent := max(w.worked, 1)
		e.Attempts = &spent
	}
	if e.LastSeenAt == nil {
		last := g.now().UTC()
		if e.FirstSeenAt != nil && e.FirstSeenAt.After(last) {
			last = *e.FirstSeenAt
		}
		e.LastSeenAt = &last
	}
	if g.Describe != nil {
		g.Describe(err, &e)
	}
	return bounded(e)
}

// typeOf gives the Go type of the first error of the chain that says what went
// wrong, past those that only add a class or a sentence.
func typeOf(err error) string {
	for {
		var inner error
		switch e := err.(type) {
		case *ClassifiedError:
			inner = e.Err
		case *PanicError:
			if inner = e.Unwrap(); inner == nil {
				return "panic"
			}
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				inner = all[0]
			}
		default:
			if fmt.Sprintf("%T", err) == "*fmt.wrapError" {
				inner = errors.Unwrap(err)
			}
		}
		if inner == nil {
			return strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
		}
		err = inner
	}
}

// maxNamed is how many characters a type or a stage may have.
const maxNamed = 512

// bounded makes an envelope one that is taken: names without NUL and not too
// long, texts cut in their middle, all of it together under the limit.
func bounded(e dlq.Envelope) dlq.Envelope {
	e.ErrorType, e.Stage, e.ErrorClass = named(e.ErrorType), named(e.Stage), named(e.ErrorClass)
	e.ErrorMessage, e.StackTrace = strings.ToValidUTF8(e.ErrorMessage, "\uFFFD"), strings.ToValidUTF8(e.StackTrace, "\uFFFD")
	dlq.CutTexts(&e)
	// A text of control characters is six times as long in JSON.
	for most := dlq.MaxText / 2; most > 1<<10; most /= 2 {
		if b, err := json.Marshal(e); err != nil || len(b) <= dlq.MaxEnvelope-1<<10 {
			break
		}
		e.StackTrace, e.ErrorMessage = ends(e.StackTrace, most), ends(e.ErrorMessage, most)
		if text := e.ValidationText(); len(text) > most {
			e.ValidationOutput = ends(text, most)
		}
	}
	return e
}

func named(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if utf8.RuneCountInString(s) > maxNamed {
		s = string([]rune(s)[:maxNamed])
	}
	return s
}

// ends keeps the beginning and the end of a text, most bytes together.
func ends(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/2], "") + "\n… cut here …\n" + strings.ToValidUTF8(s[len(s)-most/2:], "")
}
