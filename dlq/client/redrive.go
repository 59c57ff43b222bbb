package client

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"dlo/dlq"
)

// The types of event that are delivered to a redrive URL.
const (
	EventRedrive = "dead_letter.redrive"
	EventErased  = "dead_letter.erased"
)

// Redrive is one document that came back to be processed again. The same one
// may be delivered twice, under the same RedriveID; ContentHash is the key under
// which its commit must be unique.
type Redrive struct {
	RedriveID     string `json:"redrive_id"`
	DLQID         string `json:"dlq_id"`
	Source        string `json:"source"`
	DocID         string `json:"doc_id"`
	ContentHash   string `json:"content_hash"`
	PayloadSHA256 string `json:"payload_sha256"`
	PayloadURL    string `json:"payload_url"` // signed and short-lived, for these bytes alone; "" if they are not held
	PayloadURI    string `json:"payload_uri"` // the pipeline's own pointer
	Mode          string `json:"mode"`        // "held": the bytes that failed; "source": read the document anew

	SourceVersion   string `json:"source_version"` // for the version guard
	IngestSeq       *int64 `json:"ingest_seq"`     // for the version guard
	CursorAtArrival string `json:"cursor_at_arrival"`
	RedriveCount    int    `json:"redrive_count"`
	Attempts        int    `json:"attempts"`
	ReplyTo         string `json:"reply_to"`

	// Test says that somebody checks the target, and that this is no document:
	// answer what would come of it, and commit nothing.
	Test bool `json:"test"`
}

// Erasure tells the pipeline that a document was erased, so that it lets go of
// what it holds.
type Erasure struct {
	ErasureID string `json:"erasure_id"`
	Source    string `json:"source"`
	DocID     string `json:"doc_id"`
	DLQID     string `json:"dlq_id"`
}

// ErrSignature is the error of a delivery that is not proven to come from the
// server: answer 401 and do nothing.
var ErrSignature = errors.New("client: the delivery's signature is not valid")

// Verifier checks deliveries as Standard Webhooks 1.0 has it: the header
// webhook-signature holds, separated by blanks, one or more v1 signatures, each
// the base64 of HMAC-SHA256 over webhook-id, webhook-timestamp and the body,
// joined by full stops.
//
// It does not remember ids. A delivery is repeated with the same id when its
// answer was lost, so the place to notice is the pipeline's queue, where the
// redrive_id is unique.
type Verifier struct {
	Secrets []string         // whsec_ and base64 of 24 to 64 bytes; several while one is replaced
	Now     func() time.Time // default time.Now
}

// Event verifies a delivery and gives its type: EventRedrive, EventErased, or
// one that a later server sends, which is answered 2xx and left alone.
func (v Verifier) Event(header http.Header, body []byte) (string, error) {
	if err := v.verify(header, body); err != nil {
		return "", err
	}
	var event struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return "", fmt.Errorf("client: the delivery is signed, and not JSON: %w", err)
	}
	return event.Type, nil
}

// Redrive verifies a delivery and reads it as a redrive.
func (v Verifier) Redrive(header http.Header, body []byte) (Redrive, error) {
	var r Redrive
	err := v.read(header, body, EventRedrive, &r)
	if err == nil && r.RedriveID == "" {
		return Redrive{}, errors.New("client: the redrive has no redrive_id")
	}
	return r, err
}

// Erasure verifies a delivery and reads it as an erasure.
func (v Verifier) Erasure(header http.Header, body []byte) (Erasure, error) {
	var e Erasure
	return e, v.read(header, body, EventErased, &e)
}

func (v Verifier) read(header http.Header, body []byte, want string, into any) error {
	got, err := v.Event(header, body)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("client: a delivery of type %q is not a %s", got, want)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("client: read a delivery of type %q: %w", got, err)
	}
	return nil
}

// VerifyRedrive verifies a delivery with the secrets, by the system's clock, and
// reads it as a redrive. body must be the bytes as they came. An error that is
// ErrSignature means that nobody knows who sent it.
func VerifyRedrive(header http.Header, body []byte, secrets ...string) (Redrive, error) {
	return Verifier{Secrets: secrets}.Redrive(header, body)
}

func (v Verifier) verify(header http.Header, body []byte) error {
	now := time.Now()
	if v.Now != nil {
		now = v.Now()
	}
	if len(v.Secrets) == 0 {
		return errors.New("client: no webhook secret is given, so no delivery can be verified")
	}
	for _, secret := range v.Secrets {
		if !dlq.ValidSecret(secret) {
			return fmt.Errorf("client: %w", dlq.ErrSecret)
		}
	}
	at, err := dlq.CheckSignature(header, body, v.Secrets, now)
	switch age := now.Sub(at).Abs(); {
	case err == nil:
		return nil
	case at.IsZero():
		return fmt.Errorf("%w: webhook-id or webhook-timestamp is missing", ErrSignature)
	case age > dlq.SignatureTolerance:
		return fmt.Errorf("%w: its timestamp is more than %s from this machine's clock", ErrSignature, dlq.SignatureTolerance)
	}
	return fmt.Errorf("%w: no signature fits", ErrSignature)
}

// Sign signs a message of the pipeline's own with a secret, as deliveries are
// signed: it sets webhook-id, webhook-timestamp and webhook-signature. A report
// that is signed so needs no token where it names a redrive of the secret's
// source. The id is the message's, and stays the same when it is sent again.
func Sign(h http.Header, secret, id string, now time.Time, body []byte) error {
	signature, err := dlq.Signature(secret, id, now, body)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	h.Set("webhook-signature", signature)
	return nil
}

// ErrDigest says that bytes are not those whose digest was given.
var ErrDigest = errors.New("client: the payload's digest differs from the one that was given")

// Payload opens the stored copy that a redrive names. The digest is checked
// while it is read: the reader gives ErrDigest in place of io.EOF if it differs,
// so nothing may be committed before its end. The caller closes it.
func (c *Client) Payload(ctx context.Context, r Redrive) (io.ReadCloser, error) {
	u, err := url.Parse(r.PayloadURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("client: redrive %s names no address to fetch its payload from", r.RedriveID)
	}
	want, err := hex.DecodeString(r.PayloadSHA256)
	if err != nil || len(want) != sha256.Size {
		return nil, fmt.Errorf("client: redrive %s names no digest of its payload", r.RedriveID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.PayloadURL, nil)
	if err != nil {
		return nil, fmt.Errorf("client: make the request for the payload of %s: %w", r.RedriveID, err)
	}
	// The link is its own permission; the token stays at home.
	res, err := c.http.Do(req)
	asked := request{method: http.MethodGet, path: "(payload)"}
	if err != nil {
		return nil, unreachable(asked, err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		answer, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // what there is of the reason
		return nil, problemOf(asked, res, answer, c.now())
	}
	return &verifiedReader{body: res.Body, digest: sha256.New(), want: want}, nil
}

// ReadPayload fetches the stored copy that a redrive names, whole and verified,
// if it is at most limit bytes long.
func (c *Client) ReadPayload(ctx context.Context, r Redrive, limit int64) ([]byte, error) {
	body, err := c.Payload(ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("client: fetch the payload of %s: %w", r.RedriveID, err)
	}
	if n > limit {
		return nil, dlq.Errorf(dlq.KindTooLarge, "the payload of %s is longer than %d bytes", r.RedriveID, limit)
	}
	return out.Bytes(), nil
}

type verifiedReader struct {
	body   io.ReadCloser
	digest hash.Hash
	want   []byte
}

func (v *verifiedReader) Read(p []byte) (int, error) {
	n, err := v.body.Read(p)
	v.digest.Write(p[:n])
	if errors.Is(err, io.EOF) && !hmac.Equal(v.digest.Sum(nil), v.want) {
		return n, ErrDigest
	}
	return n, err
}

func (v *verifiedReader) Close() error { return v.body.Close() }
