package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
)

// Error is an answer of the server that is not a success, read from its
// application/problem+json (RFC 9457). Faults names every field that is wrong.
type Error struct {
	Method, Path string // without the query, which may name documents
	Status       int
	Type         string
	Title        string
	Detail       string
	Faults       []dlq.Fault
	RetryAfter   time.Duration // what the server asked for, else 0
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dlo answered %d to %s %s", e.Status, e.Method, e.Path)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	} else if e.Title != "" {
		b.WriteString(": " + e.Title)
	}
	for _, f := range e.Faults {
		fmt.Fprintf(&b, "; %s: %s", f.Pointer, f.Detail)
	}
	return b.String()
}

// Kind gives the kind of error that the status stands for.
func (e *Error) Kind() dlq.Kind {
	switch e.Status {
	case http.StatusBadRequest:
		return dlq.KindMalformed
	case http.StatusUnauthorized:
		return dlq.KindUnauthenticated
	case http.StatusForbidden:
		return dlq.KindForbidden
	case http.StatusNotFound:
		return dlq.KindNotFound
	case http.StatusConflict:
		return dlq.KindConflict
	case http.StatusGone:
		return dlq.KindGone
	case http.StatusRequestEntityTooLarge:
		return dlq.KindTooLarge
	case http.StatusUnsupportedMediaType:
		return dlq.KindUnsupported
	case http.StatusUnprocessableEntity:
		return dlq.KindInvalid
	case http.StatusTooManyRequests:
		return dlq.KindTooMany
	case http.StatusServiceUnavailable:
		return dlq.KindUnavailable
	}
	return dlq.KindInternal
}

// UnreachableError is a call that got no answer, or only part of one. Whether
// the server acted on it is not known; every call of this package may be made
// again.
type UnreachableError struct {
	Method, Path string
	Err          error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("dlo did not answer %s %s: %v", e.Method, e.Path, e.Err)
}

// Unwrap gives what the network said.
func (e *UnreachableError) Unwrap() error { return e.Err }

// unreachable keeps the address, which may name documents, out of the error.
func unreachable(r request, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &UnreachableError{r.method, pathOnly(r.path), err}
}

// retryable says whether the same call can succeed later without being changed.
func retryable(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var away *UnreachableError
	if errors.As(err, &away) {
		return true
	}
	var answered *Error
	return errors.As(err, &answered) && (answered.Status == http.StatusTooManyRequests || answered.Status >= 500)
}

func problemOf(r request, res *http.Response, body []byte, now time.Time) *Error {
	e := &Error{Method: r.method, Path: pathOnly(r.path), Status: res.StatusCode, RetryAfter: retryAfter(res.Header.Get("Retry-After"), now)}
	e.read(res.Header.Get("Content-Type"), body)
	if e.Title == "" {
		e.Title = http.StatusText(res.StatusCode)
	}
	return e
}

// read takes the fields of a problem+json body; any other body, as a proxy's
// page, is not repeated.
func (e *Error) read(contentType string, body []byte) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "application/problem+json" {
		return
	}
	var p struct {
		Type   string      `json:"type"`
		Title  string      `json:"title"`
		Detail string      `json:"detail"`
		Errors []dlq.Fault `json:"errors"`
	}
	if json.Unmarshal(body, &p) == nil {
		e.Type, e.Title, e.Detail, e.Faults = p.Type, p.Title, p.Detail, p.Errors
	}
}

// retryAfter reads seconds or a date (RFC 9110 §10.2.3); what is neither, or in
// the past, is 0.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 86_400)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

func pathOnly(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}
