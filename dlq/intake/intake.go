// Package intake accepts failures: it validates an envelope with the source's
// policy, keeps the bytes before the record, fingerprints the failure, and hands
// it to the store, which answers once it is durable. What it refuses it keeps as
// a rejected envelope. What an arrival does to its entry is decided in dlq.
package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
)

// Store is what intake needs of the database.
type Store interface {
	Source(ctx context.Context, name string) (dlq.Source, error)
	RecordArrivals(ctx context.Context, arrivals []dlq.Arrival) ([]dlq.Receipt, error)
	RememberPayload(ctx context.Context, sha256 string, size int64) error
	KeepRejected(ctx context.Context, by dlq.Actor, source string, body []byte, problem string) error
	PayloadIsSound(ctx context.Context, sha256 string) error
}

// Payloads is what intake needs of the payload store.
type Payloads interface {
	Put(ctx context.Context, r io.Reader, limit int64) (dlq.StoredPayload, error)
	PutExpecting(ctx context.Context, r io.Reader, sha256 string, limit int64) (dlq.StoredPayload, error)
	// Renew says whether bytes are held, and keeps them from being swept as
	// orphans until the arrival that names them is recorded.
	Renew(ctx context.Context, sha256 string) (size int64, ok bool, err error)
	Open(ctx context.Context, sha256 string) (io.ReadSeekCloser, int64, error)
}

// Intake accepts failures. It is safe for concurrent use.
type Intake struct {
	store    Store
	payloads Payloads
	now      func() time.Time
	limit    int64 // bytes of a payload
	// Fingerprints are the algorithms by which failures are grouped: those of
	// this program, unless somebody who moves to another sets them before the
	// first failure is accepted.
	Fingerprints fingerprint.Algorithms
}

// New makes an intake that takes payloads of at most limit bytes.
func New(store Store, payloads Payloads, now func() time.Time, limit int64) *Intake {
	return &Intake{store, payloads, now, limit, fingerprint.Shipped}
}

// StorePayload keeps bytes that come before, or beside, their envelope.
func (in *Intake) StorePayload(ctx context.Context, r io.Reader) (dlq.StoredPayload, error) {
	stored, err := in.payloads.Put(ctx, r, in.limit)
	if err != nil {
		return stored, err
	}
	return stored, in.remember(ctx, stored)
}

// StoreNamedPayload keeps bytes whose digest was announced; others are refused.
func (in *Intake) StoreNamedPayload(ctx context.Context, r io.Reader, digest string) (dlq.StoredPayload, error) {
	stored, err := in.payloads.PutExpecting(ctx, r, digest, in.limit)
	if err != nil {
		return stored, err
	}
	return stored, in.remember(ctx, stored)
}

func (in *Intake) remember(ctx context.Context, stored dlq.StoredPayload) error {
	if err := in.store.RememberPayload(ctx, stored.SHA256, stored.Bytes); err != nil {
		return err
	}
	return in.store.PayloadIsSound(ctx, stored.SHA256)
}

// Parcel is one envelope as it came, with the bytes that came beside it.
type Parcel struct {
	Body    []byte
	Payload *dlq.StoredPayload // stored already; nil without
	// Filename and ContentType are what the sender said of the bytes beside
	// the envelope. What the envelope says goes before.
	Filename, ContentType string
	// Source is whose document it is where the envelope does not say.
	Source string
	// Repeatable says that a body which says neither an event's id nor when it
	// happened is the same event wherever it comes again: the line of a file that
	// is imported twice, and not a pipeline that failed twice in the same way.
	Repeatable bool
}

// Result is what became of one parcel: a receipt, or why not.
type Result struct {
	Receipt dlq.Receipt
	Err     error
}

// Receive accepts one envelope. A refusal is an error of KindMalformed,
// KindInvalid or KindTooLarge, and is kept.
func (in *Intake) Receive(ctx context.Context, by dlq.Actor, p Parcel) (dlq.Receipt, error) {
	results := in.ReceiveBatch(ctx, by, []Parcel{p})
	return results[0].Receipt, results[0].Err
}

// ReceiveBatch accepts several envelopes in their order. What is good among them
// is recorded in one commit, though others are refused.
func (in *Intake) ReceiveBatch(ctx context.Context, by dlq.Actor, parcels []Parcel) []Result {
	results := make([]Result, len(parcels))
	var arrivals []dlq.Arrival
	var at []int
	for i, p := range parcels {
		a, err := in.prepare(ctx, by, p)
		if err != nil {
			results[i].Err = in.refuse(ctx, by, a.Envelope.Source, p.Body, err)
			continue
		}
		arrivals, at = append(arrivals, a), append(at, i)
	}
	if len(arrivals) == 0 {
		return results
	}
	receipts, err := in.store.RecordArrivals(ctx, arrivals)
	for n, i := range at {
		if err != nil {
			results[i].Err = err
		} else {
			results[i].Receipt = receipts[n]
		}
	}
	return results
}

// refuse keeps what is refused because of itself, and not because of us.
func (in *Intake) refuse(ctx context.Context, by dlq.Actor, source string, body []byte, refusal error) error {
	var e *dlq.Error
	if !errors.As(refusal, &e) || (e.Kind != dlq.KindMalformed && e.Kind != dlq.KindInvalid && e.Kind != dlq.KindTooLarge) {
		return refusal
	}
	if source == "" && len(by.Sources) == 1 {
		source = by.Sources[0]
	}
	problem, err := json.Marshal(struct {
		Detail string      `json:"detail"`
		Errors []dlq.Fault `json:"errors,omitempty"`
	}{e.Message, e.Faults})
	if err != nil {
		return fmt.Errorf("write a refusal: %w", err)
	}
	if err := in.store.KeepRejected(ctx, by, source, body, string(problem)); err != nil {
		return err
	}
	return refusal
}

// prepare settles everything about an arrival that needs no transaction. Its
// envelope is filled as far as it was understood, also beside an error.
func (in *Intake) prepare(ctx context.Context, by dlq.Actor, p Parcel) (dlq.Arrival, error) {
	now := in.now().UTC().Truncate(time.Millisecond)
	e, err := dlq.ParseEnvelope(p.Body, now)
	a := dlq.Arrival{Envelope: e, ReceivedAt: now, Actor: by}
	if err != nil && dlq.KindOf(err) != dlq.KindInvalid {
		return a, err
	}
	if a.Envelope.Source == "" {
		a.Envelope.Source = p.Source
	}
	bindSource(&a.Envelope, by)
	describe(&a.Envelope, p)
	if err := in.checkFields(ctx, a.Envelope, by, p, err); err != nil {
		return a, err
	}
	sent := a.Envelope // as it was sent: what is found out of its bytes is no part of the event
	if err := in.takePayload(ctx, &a, p.Payload); err != nil {
		return a, err
	}
	sent.Payload, sent.PayloadEncoding, sent.PayloadSHA256 = "", "", a.Envelope.PayloadSHA256
	if a.Envelope.DocID == "" { // a pipeline without ids is known by its bytes
		a.Envelope.DocID = "sha256:" + a.Envelope.PayloadSHA256
	}
	if a.EventKey, err = eventKey(sent); err != nil {
		return a, err
	}
	if a.EventKey == "" && p.Repeatable {
		a.EventKey = bodyKey(p.Body)
	}
	fillTimes(&a.Envelope, now)
	if a.KeyCheck, err = in.checkKey(ctx, a); err != nil {
		return a, err
	}
	a.Fingerprint = in.Fingerprints.OfEnvelope(a.Envelope)
	if a.Envelope.ErrorType == "" {
		a.Envelope.ErrorType = shorten(a.Fingerprint.Type, 512)
	}
	a.Cut = dlq.CutTexts(&a.Envelope)
	return a, nil
}

func describe(e *dlq.Envelope, p Parcel) {
	if e.Filename == "" {
		e.Filename = shorten(p.Filename, 1024)
	}
	if e.ContentType == "" {
		e.ContentType = shorten(p.ContentType, 256)
	}
}

func (in *Intake) policy(ctx context.Context, source string) (dlq.SourcePolicy, error) {
	src, err := in.store.Source(ctx, source)
	if dlq.KindOf(err) == dlq.KindNotFound {
		return dlq.DefaultPolicy(source), nil
	}
	return src.Policy, err
}

// bindSource fills in whose document it is: a token that is bound to one source
// need not name it.
func bindSource(e *dlq.Envelope, by dlq.Actor) {
	if e.Source == "" && len(by.Sources) == 1 {
		e.Source = by.Sources[0]
	}
}

// checkFields adds to the faults that the parser found those that need the
// token and the source's policy, so that a sender is told all of them at once.
func (in *Intake) checkFields(ctx context.Context, e dlq.Envelope, by dlq.Actor, p Parcel, parsed error) error {
	var faults []dlq.Fault
	var invalid *dlq.Error
	if errors.As(parsed, &invalid) {
		faults = invalid.Faults
	}
	told := func(pointer string) bool {
		return slices.ContainsFunc(faults, func(f dlq.Fault) bool { return f.Pointer == pointer })
	}
	add := func(pointer, detail string) {
		if !told(pointer) {
			faults = append(faults, dlq.Fault{Pointer: pointer, Detail: detail})
		}
	}
	switch {
	case e.Source == "":
		add("/source", "a source expected, because this token is not bound to one")
	case !dlq.ValidSourceName(e.Source):
		add("/source", "1 to 128 characters without control characters expected")
	case !by.SeesSource(e.Source):
		add("/source", "the source that the token is bound to expected, or none")
	}
	if e.DocID == "" && e.PayloadSHA256 == "" && e.Payload == "" && p.Payload == nil && !told("/payload_sha256") {
		add("/doc_id", "a document id expected, or the bytes, or payload_sha256")
	}
	if dlq.Reason(e.Reason) == dlq.ReasonLowConfidence && e.Confidence != nil {
		policy, err := in.policy(ctx, e.Source)
		if err != nil {
			return err
		}
		if *e.Confidence >= policy.ConfidenceFloor {
			add("/confidence", fmt.Sprintf("under the source's floor of %g expected, got %g", policy.ConfidenceFloor, *e.Confidence))
		}
	}
	return dlq.EnvelopeFaults(faults)
}

// takePayload settles the digest, and whether the bytes are held: those beside
// the envelope, those in it, or those that were stored before it.
func (in *Intake) takePayload(ctx context.Context, a *dlq.Arrival, beside *dlq.StoredPayload) error {
	e := &a.Envelope
	inline, has := e.InlinePayload()
	switch {
	case beside != nil && has:
		return dlq.Invalid("the bytes came twice", dlq.Fault{Pointer: "/payload", Detail: "bytes in the envelope or in a part of their own expected, not both"})
	case has:
		stored, err := in.payloads.Put(ctx, bytes.NewReader(inline), in.limit)
		if err != nil {
			return err
		}
		if err := in.store.PayloadIsSound(ctx, stored.SHA256); err != nil {
			return err
		}
		beside = &stored
	}
	e.Payload, e.PayloadEncoding = "", ""
	if beside == nil {
		if e.PayloadSHA256 == "" {
			return nil
		}
		size, held, err := in.payloads.Renew(ctx, e.PayloadSHA256)
		if err != nil || !held {
			return err
		}
		return in.held(a, size)
	}
	if e.PayloadSHA256 != "" && e.PayloadSHA256 != beside.SHA256 {
		return dlq.Invalid("the bytes are not those that the envelope names", dlq.Fault{Pointer: "/payload_sha256", Detail: "the bytes that came have the digest " + beside.SHA256})
	}
	e.PayloadSHA256 = beside.SHA256
	return in.held(a, beside.Bytes)
}

func (in *Intake) held(a *dlq.Arrival, size int64) error {
	if claimed := a.Envelope.PayloadBytes; claimed != nil && *claimed != size {
		return dlq.Invalid("the bytes are not as many as the envelope says", dlq.Fault{Pointer: "/payload_bytes", Detail: fmt.Sprintf("%d bytes came, and %d were announced", size, *claimed)})
	}
	a.Held, a.HeldBytes, a.Envelope.PayloadBytes = true, size, &size
	return nil
}

// fillTimes gives an arrival the times that its sender left out.
func fillTimes(e *dlq.Envelope, now time.Time) {
	if e.LastSeenAt == nil {
		last := now
		if e.FirstSeenAt != nil && e.FirstSeenAt.After(now) {
			last = *e.FirstSeenAt
		}
		e.LastSeenAt = &last
	}
	if e.FirstSeenAt == nil {
		first := *e.LastSeenAt
		e.FirstSeenAt = &first
	}
}

// eventKey is by which the same event is known again: the sender's event id;
// else, where it says when it happened, the whole envelope and its bytes. The
// two never meet, because their first letters differ.
func eventKey(e dlq.Envelope) (string, error) {
	h := sha256.New()
	switch {
	case e.EventID != "":
		io.WriteString(h, "event\x00"+e.EventID)
	case e.LastSeenAt != nil:
		b, err := json.Marshal(e)
		if err != nil {
			return "", fmt.Errorf("write the envelope: %w", err)
		}
		v, err := dlq.DecodeValue(b, 64)
		if err != nil {
			return "", fmt.Errorf("read the envelope: %w", err)
		}
		io.WriteString(h, "envelope\x00")
		h.Write(dlq.CanonicalJSON(v))
	default:
		return "", nil
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16]), nil
}

// bodyKey is by which a body is known again that says nothing of its event. Its
// first letter keeps it apart from the keys of eventKey.
func bodyKey(body []byte) string {
	h := sha256.New()
	io.WriteString(h, "body\x00")
	h.Write(body)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// checkKey finds out what a content hash is, where the bytes are held: the
// digest of the bytes, or of the bytes followed by the processing version.
func (in *Intake) checkKey(ctx context.Context, a dlq.Arrival) (dlq.KeyCheck, error) {
	e := a.Envelope
	switch {
	case e.ContentHash == "":
		return dlq.KeyFromPayload, nil
	case e.ContentHash == e.PayloadSHA256:
		return dlq.KeyBytes, nil
	case !a.Held || e.ProcessingVersion == "":
		return dlq.KeyUnchecked, nil
	}
	r, _, err := in.payloads.Open(ctx, e.PayloadSHA256)
	if kind := dlq.KindOf(err); kind == dlq.KindConflict || kind == dlq.KindNotFound {
		return dlq.KeyUnchecked, nil // a damaged copy is found at its reading; the failure is kept all the same
	}
	if err != nil {
		return dlq.KeyUnchecked, err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return dlq.KeyUnchecked, fmt.Errorf("read the stored copy: %w", err)
	}
	io.WriteString(h, e.ProcessingVersion)
	if hex.EncodeToString(h.Sum(nil)) == e.ContentHash {
		return dlq.KeyVersioned, nil
	}
	return dlq.KeyUnexplained, nil
}

func shorten(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes])
}
