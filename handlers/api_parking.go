package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/dlq/intake"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

const (
	typeJSON      = "application/json"
	typeNDJSON    = "application/x-ndjson"
	typeMultipart = "multipart/form-data"
)

// uploadTime is how long a body may take that holds a document or a batch.
const uploadTime = 10 * time.Minute

// park is POST /dead-letters in its three content types.
func (h *Handlers) park(c echo.Context) error {
	if err := web.CheckContentType(c, typeJSON, typeNDJSON, typeMultipart); err != nil {
		return err
	}
	media, params, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil {
		return dlq.Errorf(dlq.KindUnsupported, "a content type expected")
	}
	switch media {
	case typeNDJSON:
		return h.parkBatch(c)
	case typeMultipart:
		return h.parkParts(c, params["boundary"])
	}
	body, err := readEnvelope(c.Request().Body)
	if err != nil {
		return err
	}
	return h.parkOne(c, intake.Parcel{Body: body})
}

func (h *Handlers) parkOne(c echo.Context, p intake.Parcel) error {
	by, _ := web.ActorOf(c)
	receipt, err := h.Intake.Receive(c.Request().Context(), by, p)
	if err != nil {
		return err
	}
	return web.JSON(c, createdOr(http.StatusOK, receipt), receipt)
}

func createdOr(status int, r dlq.Receipt) int {
	if r.Created {
		return http.StatusCreated
	}
	return status
}

// readEnvelope reads one envelope's bytes. One byte more than is allowed is
// read, so that the limit is told by the parser, which names it.
func readEnvelope(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, dlq.MaxEnvelope+1))
	if err != nil {
		return nil, bodyError(err)
	}
	return body, nil
}

// bodyError says what it means that a body could not be read to its end.
func bodyError(err error) error {
	var e *dlq.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &e):
		return err
	case errors.As(err, &tooLarge):
		return dlq.Errorf(dlq.KindTooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return dlq.Errorf(dlq.KindMalformed, "the body ended early; nothing was stored").Because(err)
	}
	return dlq.Errorf(dlq.KindMalformed, "the body could not be read to its end; nothing was stored").Because(err)
}

const partsMost = 10

// parkParts reads the parts envelope and payload, in any order. The bytes are
// stored while they come in; an envelope that is then refused leaves bytes
// that nobody holds, and the sweep takes them after a day.
func (h *Handlers) parkParts(c echo.Context, boundary string) error {
	if boundary == "" {
		return dlq.Errorf(dlq.KindMalformed, "multipart/form-data with a boundary expected")
	}
	if err := web.ExtendDeadlines(c, uploadTime, uploadTime); err != nil {
		return err
	}
	parts := multipart.NewReader(c.Request().Body, boundary)
	var p intake.Parcel
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return bodyError(err)
		}
		if n == partsMost {
			return dlq.Errorf(dlq.KindMalformed, "at most %d parts expected", partsMost)
		}
		if err := h.takePart(c, part, &p); err != nil {
			return err
		}
	}
	if p.Body == nil {
		return dlq.Invalid("the envelope is missing", dlq.Fault{Pointer: "/envelope", Detail: "a part named envelope, holding JSON, expected"})
	}
	return h.parkOne(c, p)
}

func (h *Handlers) takePart(c echo.Context, part *multipart.Part, p *intake.Parcel) error {
	switch part.FormName() {
	case "envelope":
		if p.Body != nil {
			return dlq.Errorf(dlq.KindMalformed, "one part named envelope expected, got another")
		}
		body, err := readEnvelope(part)
		p.Body = body
		return err
	case "payload":
		if p.Payload != nil {
			return dlq.Errorf(dlq.KindMalformed, "one part named payload expected, got another")
		}
		stored, err := h.Intake.StorePayload(c.Request().Context(), part)
		if err != nil {
			return payloadError(err)
		}
		p.Payload, p.Filename = &stored, part.FileName()
		if media := part.Header.Get("Content-Type"); media != "application/octet-stream" {
			p.ContentType = media
		}
		return nil
	}
	return dlq.Errorf(dlq.KindMalformed, "parts named envelope and payload expected")
}

// payloadError keeps errors with a kind, and reads the others as the body's.
func payloadError(err error) error {
	if dlq.KindOf(err) != dlq.KindInternal {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*http.MaxBytesError)) {
		return bodyError(err)
	}
	return err
}

// batchLines is how many envelopes of a batch share a commit, and batchCommitTime
// how long that may take.
const (
	batchLines      = 256
	batchCommitTime = 30 * time.Second
)

type batchAnswer struct {
	Line    int          `json:"line"`
	Status  int          `json:"status"`
	Entry   *dlq.Receipt `json:"entry,omitempty"`
	Problem *web.Problem `json:"problem,omitempty"`
}

// parkBatch answers a line for each line, in order. The answer is gathered
// before any of it is sent, because many clients do not read while they write.
// Of a batch that breaks off, the lines that came whole are stored: whoever
// sends it again, with event_id or last_seen_at in it, has them counted once.
func (h *Handlers) parkBatch(c echo.Context) error {
	if err := web.ExtendDeadlines(c, uploadTime, uploadTime); err != nil {
		return err
	}
	answer := newSpool()
	defer answer.Close()
	if c.Request().ContentLength > dlq.MaxBatch {
		return dlq.Errorf(dlq.KindTooLarge, "a batch has at most %d bytes, and this one has %d; nothing was stored", dlq.MaxBatch, c.Request().ContentLength)
	}
	by, _ := web.ActorOf(c)
	lines := web.NewLines(http.MaxBytesReader(c.Response(), c.Request().Body, dlq.MaxBatch), dlq.MaxEnvelope)
	var parcels []intake.Parcel
	var numbers []int
	flush := func() error {
		if len(parcels) == 0 {
			return nil
		}
		// The lines that came whole are stored, also where the sender is gone by
		// now, or its body broke off behind them.
		ctx, stop := context.WithTimeout(context.WithoutCancel(c.Request().Context()), batchCommitTime)
		defer stop()
		results := h.Intake.ReceiveBatch(ctx, by, parcels)
		for i, r := range results {
			a := batchAnswer{Line: numbers[i]}
			if r.Err != nil {
				p := web.ProblemOf(r.Err, web.RequestID(c))
				a.Status, a.Problem = p.Status, &p
			} else {
				a.Status, a.Entry = createdOr(http.StatusOK, r.Receipt), &r.Receipt
			}
			if err := answer.line(a); err != nil {
				return err
			}
		}
		parcels, numbers = parcels[:0], numbers[:0]
		return nil
	}
	for lines.Next() {
		line := lines.Line()
		if line.Err != nil {
			if err := flush(); err != nil {
				return err
			}
			p := web.ProblemOf(line.Err, web.RequestID(c))
			if err := answer.line(batchAnswer{Line: line.Number, Status: p.Status, Problem: &p}); err != nil {
				return err
			}
			continue
		}
		parcels, numbers = append(parcels, intake.Parcel{Body: line.Bytes}), append(numbers, line.Number)
		if len(parcels) == batchLines {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := lines.Err(); err != nil {
		return bodyError(err)
	}
	return answer.send(c)
}

// spool gathers an answer in memory, and past a size in a temporary file.
type spool struct {
	memory bytes.Buffer
	file   *os.File
}

const spoolMemory = 4 << 20

func newSpool() *spool { return &spool{} }

func (s *spool) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.memory.Write(append(b, '\n'))
	if s.memory.Len() < spoolMemory {
		return nil
	}
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "dlo-answer-*"); err != nil {
			return err
		}
	}
	_, err = s.memory.WriteTo(s.file)
	return err
}

func (s *spool) send(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderContentType, typeNDJSON)
	c.Response().WriteHeader(http.StatusOK)
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(c.Response(), s.file); err != nil {
			return err
		}
	}
	_, err := s.memory.WriteTo(c.Response())
	return err
}

func (s *spool) Close() {
	if s.file == nil {
		return
	}
	_ = s.file.Close() // it is thrown away
	_ = os.Remove(s.file.Name())
}

// putPayload is PUT /payloads/{sha256}: bytes before their envelope.
func (h *Handlers) putPayload(c echo.Context) error {
	digest := c.Param("sha256")
	if !dlq.IsSHA256(digest) {
		return dlq.Invalid("the address does not name a payload", dlq.Fault{Pointer: "/payload_sha256", Detail: "64 lower-case hex digits expected in the address"})
	}
	if coding := c.Request().Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return dlq.Errorf(dlq.KindUnsupported, "the bytes themselves expected, without Content-Encoding: the digest is that of what arrives")
	}
	if err := web.ExtendDeadlines(c, uploadTime, uploadTime); err != nil {
		return err
	}
	stored, err := h.Intake.StoreNamedPayload(c.Request().Context(), c.Request().Body, digest)
	if err != nil {
		return payloadError(err)
	}
	status := http.StatusCreated
	if stored.Existed {
		status = http.StatusOK
	}
	return web.JSON(c, status, map[string]any{"payload_sha256": stored.SHA256, "payload_bytes": stored.Bytes})
}
