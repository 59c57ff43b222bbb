package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"syscall"

	"dlo/dlq"
)

func unusable(sentence string) dlq.Answer { return dlq.Answer{Refused: true, Trouble: sentence} }

// trouble says in words why no answer came. An address may hold a token, so
// none is repeated.
func trouble(err error) dlq.Answer {
	var refusal interface{ Refused() bool }
	if errors.As(err, &refusal) && refusal.Refused() {
		return unusable("the target's address may not be reached from here; an administrator opens it with --outbound-allow when the server starts")
	}
	return dlq.Answer{Trouble: inWords(err)}
}

func inWords(err error) string {
	var timeout interface{ Timeout() bool }
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.Is(err, context.Canceled):
		return "the server stopped while it was being sent"
	case errors.As(err, &dns):
		return "the target's name was not found"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the target did not answer within " + Timeout.String()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at the target's address"
	case errors.As(err, &record), errors.As(err, &certificate), errors.As(err, &unknown):
		return "the target's TLS could not be trusted"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the target closed the connection without an answer"
	}
	return "the target could not be reached"
}

// withoutAddress takes the address out of an error of net/http.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
