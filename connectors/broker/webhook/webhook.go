// Package webhook carries redrives to pipelines over HTTP: it writes the body,
// signs it as Standard Webhooks 1.0 has it, sends it once, and says what came
// back. When to send, what an answer means and whether to try again is left to
// its callers, and which addresses may be reached to the client it is given.
package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
)

// Timeout is how long one delivery may take, the answer's body included.
const Timeout = 30 * time.Second

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 10

// TestHeader marks a delivery that must be judged and not committed, as the
// field test of its body does.
const TestHeader = "Dlo-Test"

// EventRedrive is the type of a redrive's delivery.
const EventRedrive = "dead_letter.redrive"

// Sender sends deliveries. It is safe for concurrent use.
type Sender struct {
	client *http.Client
	now    func() time.Time
}

// New makes a sender. The client decides what may be reached; redirects and
// cookies are turned off here whatever it says, because a redirect would carry
// a signed delivery to somebody whom nobody named.
func New(client *http.Client, now func() time.Time) *Sender {
	c := *client
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{client: &c, now: now}
}

// redrive is the body of a delivery. Every field is there, empty or not, so
// that a reader never has to tell absent from empty; only ingest_seq, reply_to
// and what is said of bytes can have nothing to say.
type redrive struct {
	Type            string   `json:"type"`
	RedriveID       string   `json:"redrive_id"`
	DLQID           string   `json:"dlq_id"`
	Source          string   `json:"source"`
	DocID           string   `json:"doc_id"`
	ContentHash     string   `json:"content_hash"`
	PayloadSHA256   string   `json:"payload_sha256"`
	PayloadURL      string   `json:"payload_url"`
	PayloadURI      string   `json:"payload_uri"`
	Mode            dlq.Mode `json:"mode"`
	SourceVersion   string   `json:"source_version"`
	IngestSeq       *int64   `json:"ingest_seq"`
	CursorAtArrival string   `json:"cursor_at_arrival"`
	RedriveCount    int64    `json:"redrive_count"`
	Attempts        int64    `json:"attempts"`
	ReplyTo         string   `json:"reply_to"`
	Test            bool     `json:"test,omitempty"` // of a check of the target alone
}

// Send sends a delivery once. The error is for the log and comes with an answer
// that says in words why there is none; it is nil whenever the target answered,
// whatever it said.
func (s *Sender) Send(ctx context.Context, d dlq.Delivery) (dlq.Answer, error) {
	body, err := json.Marshal(redrive{EventRedrive, d.RedriveID, d.DLQID, d.Source, d.DocID, d.ContentHash, d.PayloadSHA256, d.PayloadURL, d.PayloadURI, d.Mode,
		d.SourceVersion, d.IngestSeq, d.CursorAtArrival, d.RedriveCount, d.Attempts, d.ReplyTo, d.Test})
	if err != nil {
		return unusable("the delivery could not be written"), fmt.Errorf("write the body of redrive %s: %w", d.RedriveID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return unusable("the target's address cannot be used"), fmt.Errorf("make the request of redrive %s: %w", d.RedriveID, withoutAddress(err))
	}
	if err := s.sign(req.Header, d, body); err != nil {
		return unusable("the target's secret is not whsec_ and the base64 of 24 to 64 bytes; set it again"), fmt.Errorf("sign redrive %s: %w", d.RedriveID, err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return trouble(err), fmt.Errorf("deliver redrive %s: %w", d.RedriveID, withoutAddress(err))
	}
	defer res.Body.Close()
	a := dlq.Answer{Status: res.StatusCode, RetryAfter: retryAfter(res.Header.Get("Retry-After"), s.now())}
	a.Body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	a.BrokenOff = err != nil
	return a, nil
}

// sign sets the headers of a delivery. The key is bare, as the pipelines that
// this was made for read it, and not the quoted string of the draft for the
// Idempotency-Key header.
func (s *Sender) sign(h http.Header, d dlq.Delivery, body []byte) error {
	now := s.now()
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "dlo")
	h.Set("Idempotency-Key", d.ContentHash)
	h.Set("Webhook-Id", d.RedriveID)
	h.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	h.Set("Traceparent", traceparent(d))
	if d.Test {
		h.Set(TestHeader, "true")
	}
	var signatures []string
	for _, secret := range d.Secrets {
		signature, err := Sign(secret, d.RedriveID, now, body)
		if err != nil {
			return err
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) > 0 {
		h.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
	return nil
}

// traceparent gives a redrive one trace and each of its tries a span, by W3C
// Trace Context: made from the id, so that a try after a restart joins the
// trace of the one before it.
func traceparent(d dlq.Delivery) string {
	trace := sha256.Sum256([]byte(d.RedriveID))
	span := sha256.Sum256([]byte(d.RedriveID + "." + strconv.Itoa(d.Try)))
	return "00-" + hex.EncodeToString(trace[:16]) + "-" + hex.EncodeToString(span[:8]) + "-01"
}

// retryAfter reads the header by RFC 9110 §10.2.3: seconds, or a date. What is
// neither, or has passed, says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}
