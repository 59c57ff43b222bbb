package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"

	"dlo/dlq"
)

// Parked is what became of one envelope: either the entry that the server
// stored it under, or Spooled, with nothing else set, when it lies on this
// machine's disk and is sent later.
type Parked struct {
	DLQID       string `json:"dlq_id"`
	Source      string `json:"source"`
	DocID       string `json:"doc_id"`
	Status      string `json:"status"`
	Created     bool   `json:"created"` // parked for the first time
	Attempts    int    `json:"attempts"`
	Arrivals    int    `json:"arrivals"`
	Cohort      string `json:"cohort"`
	Fingerprint string `json:"fingerprint"`
	URL         string `json:"url"` // the entry's page, below the server's address

	Spooled bool `json:"-"`
}

// Park hands over one failed document: the envelope, and its bytes where they
// are at hand (nil: none). The bytes are read once, up to the end, and sent as a
// multipart stream; their digest and length are put into the envelope, and a
// digest already there that differs is an error.
//
// When the server does not answer, or not with success after the budget, and
// there is a spool, the document is written to it and Spooled is set: it is on
// disk when Park returns. For Retry.Max after that, Park spools at once: a server
// that is away must not cost the budget again for every document. What the server refuses for its content (*Error with
// faults) is returned, never spooled. A nil error means that the document is
// safe and its message may be acknowledged; any error means that it is not.
func (c *Client) Park(ctx context.Context, e dlq.Envelope, payload io.Reader) (Parked, error) {
	e = c.dated(e)
	if payload == nil {
		return c.parkAlone(ctx, e)
	}
	held, err := hold(payload, c.spool.dir)
	if err != nil {
		return Parked{}, fmt.Errorf("park %s/%s: read the payload: %w", e.Source, e.DocID, err)
	}
	defer held.Close()
	if e.PayloadSHA256 != "" && e.PayloadSHA256 != held.sha256 {
		return Parked{}, fmt.Errorf("park %s/%s: the payload's digest is %s, and the envelope claims another", e.Source, e.DocID, held.sha256)
	}
	e.PayloadSHA256, e.PayloadBytes = held.sha256, &held.size
	parked, err := c.unlessAway(func() (Parked, error) { return c.sendWithPayload(ctx, e, held) })
	if !c.spoolable(ctx, err) {
		return parked, err
	}
	if spoolErr := c.spool.add(e, held); spoolErr != nil {
		return Parked{}, errors.Join(err, spoolErr)
	}
	return Parked{Spooled: true}, nil
}

func (c *Client) parkAlone(ctx context.Context, e dlq.Envelope) (Parked, error) {
	parked, err := c.unlessAway(func() (Parked, error) { return c.send(ctx, e) })
	if !c.spoolable(ctx, err) {
		return parked, err
	}
	if spoolErr := c.spool.addAll([]dlq.Envelope{e}); spoolErr != nil {
		return Parked{}, errors.Join(err, spoolErr)
	}
	return Parked{Spooled: true}, nil
}

// errAway stands for a call that was not made, because the one before it found
// nobody.
var errAway = &UnreachableError{Method: http.MethodPost, Path: "/dead-letters", Err: errors.New("it was away a moment ago")}

// unlessAway makes a call, and notes when nobody answers. Without a spool every
// call is made.
func (c *Client) unlessAway(call func() (Parked, error)) (Parked, error) {
	if c.spool.dir == "" {
		return call()
	}
	if c.now().UnixMilli() < c.away.Load() {
		return Parked{}, errAway
	}
	parked, err := call()
	if retryable(err) {
		c.away.Store(c.now().Add(c.retry.Max).UnixMilli())
	}
	return parked, err
}

// spoolable says whether a failed call leaves a document to the spool. A caller
// that gave up keeps the document too: it cannot know if its context ended
// while the server was busy.
func (c *Client) spoolable(ctx context.Context, err error) bool {
	return err != nil && c.spool.dir != "" && (retryable(err) || ctx.Err() != nil)
}

// dated gives an envelope a time of its own, so that sending it twice, as after
// a lost answer, is one arrival.
func (c *Client) dated(e dlq.Envelope) dlq.Envelope {
	if e.LastSeenAt == nil && e.EventID == "" {
		now := c.now().UTC()
		if e.FirstSeenAt != nil && e.FirstSeenAt.After(now) {
			now = *e.FirstSeenAt
		}
		e.LastSeenAt = &now
	}
	return e
}

func (c *Client) send(ctx context.Context, e dlq.Envelope) (Parked, error) {
	r, err := jsonRequest(http.MethodPost, "/dead-letters", e)
	if err != nil {
		return Parked{}, err
	}
	var parked Parked
	_, err = c.call(ctx, r, &parked)
	return parked, err
}

func (c *Client) sendWithPayload(ctx context.Context, e dlq.Envelope, p *heldPayload) (Parked, error) {
	r, err := multipartRequest(e, p)
	if err != nil {
		return Parked{}, err
	}
	var parked Parked
	_, err = c.call(ctx, r, &parked)
	return parked, err
}

// multipartRequest frames the envelope and the payload. The frame is made once,
// so that its length is known and the payload itself is streamed.
func multipartRequest(e dlq.Envelope, p *heldPayload) (request, error) {
	envelope, err := json.Marshal(e)
	if err != nil {
		return request{}, fmt.Errorf("park %s/%s: write the envelope: %w", e.Source, e.DocID, err)
	}
	var head, tail bytes.Buffer
	w := multipart.NewWriter(&head)
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="envelope"`},
		"Content-Type":        {"application/json"},
	})
	if err != nil {
		return request{}, err
	}
	if _, err := part.Write(envelope); err != nil {
		return request{}, err
	}
	disposition := `form-data; name="payload"`
	if e.Filename != "" {
		disposition = multipart.FileContentDisposition("payload", e.Filename)
	}
	if _, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {disposition},
		"Content-Type":        {"application/octet-stream"},
	}); err != nil {
		return request{}, err
	}
	fmt.Fprintf(&tail, "\r\n--%s--\r\n", w.Boundary())
	return request{
		method: http.MethodPost, path: "/dead-letters", contentType: w.FormDataContentType(),
		body: func() (io.Reader, int64, error) {
			payload, err := p.Open()
			if err != nil {
				return nil, 0, err
			}
			body := io.MultiReader(bytes.NewReader(head.Bytes()), payload, bytes.NewReader(tail.Bytes()))
			return body, int64(head.Len()) + p.size + int64(tail.Len()), nil
		},
	}, nil
}

// Line is what became of one envelope of a batch: Parked with a 2xx Status, or
// Err. Status 0 is one that was spooled.
type Line struct {
	Status int
	Parked Parked
	Err    *Error
}

// ParkBatch parks many envelopes in one call, and answers for each, in order.
// Payloads go inline (Payload and PayloadEncoding), or are named by digest after
// PutPayload. A good envelope is stored though others are refused: look at each
// line's Err. When the server cannot be reached all are spooled; an error means
// that none is safe.
func (c *Client) ParkBatch(ctx context.Context, envelopes []dlq.Envelope) ([]Line, error) {
	if len(envelopes) == 0 {
		return nil, nil
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	dated := make([]dlq.Envelope, len(envelopes))
	for i, e := range envelopes {
		dated[i] = c.dated(e)
		if err := encoder.Encode(dated[i]); err != nil {
			return nil, fmt.Errorf("park a batch: write envelope %d: %w", i+1, err)
		}
	}
	lines, err := c.sendLines(ctx, body.Bytes(), len(dated))
	if !c.spoolable(ctx, err) {
		return lines, err
	}
	if spoolErr := c.spool.addAll(dated); spoolErr != nil {
		return nil, errors.Join(err, spoolErr)
	}
	lines = make([]Line, len(dated))
	for i := range lines {
		lines[i].Parked.Spooled = true
	}
	return lines, nil
}

// sendLines posts NDJSON and reads an answer for each of its n lines.
func (c *Client) sendLines(ctx context.Context, ndjson []byte, n int) ([]Line, error) {
	r := request{method: http.MethodPost, path: "/dead-letters", contentType: "application/x-ndjson", body: bytesBody(ndjson), limit: 64 << 20}
	_, answer, err := c.exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	lines := make([]Line, n)
	decoder := json.NewDecoder(bytes.NewReader(answer))
	for i := range lines {
		var line struct {
			Line    int    `json:"line"`
			Status  int    `json:"status"`
			Entry   Parked `json:"entry"`
			Problem *struct {
				Type   string      `json:"type"`
				Title  string      `json:"title"`
				Detail string      `json:"detail"`
				Errors []dlq.Fault `json:"errors"`
			} `json:"problem"`
		}
		if err := decoder.Decode(&line); err != nil {
			return nil, &UnreachableError{r.method, r.path, fmt.Errorf("the answer ends after %d of %d lines: %w", i, n, err)}
		}
		if line.Line != i+1 {
			return nil, fmt.Errorf("park a batch: the answer's line %d is about line %d", i+1, line.Line)
		}
		lines[i] = Line{Status: line.Status, Parked: line.Entry}
		if line.Status < 200 || line.Status > 299 {
			lines[i].Err = &Error{Method: r.method, Path: r.path, Status: line.Status, Title: http.StatusText(line.Status)}
			if p := line.Problem; p != nil {
				lines[i].Err.Type, lines[i].Err.Title, lines[i].Err.Detail, lines[i].Err.Faults = p.Type, p.Title, p.Detail, p.Errors
			}
		}
	}
	return lines, nil
}

// PutPayload stores bytes ahead of the envelopes that name them, and gives their
// SHA-256 in hex.
func (c *Client) PutPayload(ctx context.Context, payload io.Reader) (string, error) {
	held, err := hold(payload, c.spool.dir)
	if err != nil {
		return "", fmt.Errorf("store a payload: read it: %w", err)
	}
	defer held.Close()
	return held.sha256, c.putHeld(ctx, held)
}

func (c *Client) putHeld(ctx context.Context, held *heldPayload) error {
	_, err := c.call(ctx, request{
		method: http.MethodPut, path: "/payloads/" + held.sha256, contentType: "application/octet-stream",
		body: func() (io.Reader, int64, error) {
			r, err := held.Open()
			return r, held.size, err
		},
	}, nil)
	return err
}
