package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"dlo/dlq"
)

// byStatus says what a status means for the document (RFC 9110 §15). A 2xx
// passes on; 404 and 410 get their sentence and are no failure.
func byStatus(now dlq.SourceNow) dlq.SourceNow {
	s := now.Status
	switch {
	case s >= 200 && s <= 299:
		return now
	case s == http.StatusNotFound:
		now.Sentence = "The source answers 404: the document is gone, or hidden from us."
		return now
	case s == http.StatusGone:
		now.Sentence = "The source answers 410: the document is gone for good."
		return now
	case s == http.StatusUnauthorized || s == http.StatusForbidden || s == http.StatusProxyAuthRequired:
		return with(now, dlq.ProbeDenied, fmt.Sprintf("The source answers %d: it does not let us see the document. Check the probe's credentials.", s))
	case s == http.StatusNotModified:
		return with(now, dlq.ProbeUnexpected, "The source answers 304, though it was given nothing to compare with.")
	case s >= 300 && s <= 399:
		return with(now, dlq.ProbeRedirect, fmt.Sprintf("The source answers with a redirect (%d), which is never followed. Set the probe's address to where the document is.", s))
	case s == http.StatusRequestTimeout || s == http.StatusTooManyRequests || s >= 500 && s <= 599:
		return with(now, dlq.ProbeUnavailable, fmt.Sprintf("The source answers %d: it cannot say now.", s))
	}
	return with(now, dlq.ProbeUnexpected, fmt.Sprintf("The source answers %d, which says nothing of the document.", s))
}

// failure says why there is no answer. The error's own text stays out of it: it
// may hold the address, and with it the document's id.
func (q *question) failure(err error) dlq.SourceNow {
	none := dlq.SourceNow{Length: -1}

	// The guard is known by a method, because it lives where this package must
	// not look.
	var refusal interface {
		error
		Refused() bool
	}
	if errors.As(err, &refusal) && refusal.Refused() {
		return with(none, dlq.ProbeRefused, "Our own guard refuses the probe's address: "+refusal.Error()+".")
	}
	if errors.Is(err, context.Canceled) {
		return with(none, dlq.ProbeAborted, "The question was given up before the source answered.")
	}
	var netErr net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout() {
		return with(none, dlq.ProbeTimeout, "The source did not answer in time.")
	}
	var (
		dns     *net.DNSError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		op      *net.OpError
	)
	switch {
	case errors.As(err, &dns):
		return with(none, dlq.ProbeUnreachable, "The source's host has no address.")
	case errors.As(err, &verify), errors.As(err, &unknown):
		return with(none, dlq.ProbeUnreachable, "The source's certificate cannot be trusted.")
	case errors.As(err, &record), errors.As(err, &alert):
		return with(none, dlq.ProbeUnreachable, "No TLS connection to the source could be made.")
	case errors.Is(err, syscall.ECONNREFUSED):
		return with(none, dlq.ProbeUnreachable, "Nothing listens at the source's address.")
	case errors.As(err, &op) && op.Op == "dial":
		return with(none, dlq.ProbeUnreachable, "No connection to the source's address could be made.")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.As(err, &op):
		return with(none, dlq.ProbeUnreachable, "The connection to the source broke before its answer was complete.")
	}
	return with(none, dlq.ProbeMalformed, "The source's answer cannot be read as HTTP, or its headers are longer than 16 KiB.")
}
