package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"dlo/dlq"
	"dlo/dlq/probe"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// entryRow is an entry in a list.
type entryRow struct {
	DLQID        string   `json:"dlq_id"`
	Source       string   `json:"source"`
	DocID        string   `json:"doc_id"`
	Status       string   `json:"status"`
	Resolution   string   `json:"resolution,omitempty"`
	Marks        []string `json:"marks"`
	Reason       string   `json:"reason"`
	ErrorClass   string   `json:"error_class"`
	ErrorType    string   `json:"error_type"`
	ErrorMessage string   `json:"error_message"`
	Cohort       string   `json:"cohort"`
	Fingerprint  string   `json:"fingerprint"`
	Attempts     int64    `json:"attempts"`
	Arrivals     int64    `json:"arrivals"`
	RedriveCount int64    `json:"redrive_count"`
	SameFailures int      `json:"same_failures"`
	FirstSeen    apiTime  `json:"first_seen"`
	OpenedAt     apiTime  `json:"opened_at"`
	LastSeen     apiTime  `json:"last_seen"`
	ExpiresAt    apiTime  `json:"expires_at"`
	Owner        string   `json:"owner,omitempty"`
	Ticket       string   `json:"ticket,omitempty"`
	Disposition  string   `json:"disposition"`
}

// apiTime writes a time as RFC 3339 in UTC, and none as null.
type apiTime time.Time

// MarshalJSON writes the time.
func (t apiTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(strconv.Quote(time.Time(t).UTC().Format(time.RFC3339Nano))), nil
}

func newEntryRow(e dlq.Entry) entryRow {
	marks := []string{}
	for _, m := range e.Marks {
		marks = append(marks, string(m))
	}
	return entryRow{DLQID: e.DLQID, Source: e.Source, DocID: e.DocID, Status: string(e.Status), Resolution: string(e.Resolution), Marks: marks, Reason: string(e.Reason), ErrorClass: string(e.ErrorClass),
		ErrorType: e.ErrorType, ErrorMessage: e.Message, Cohort: e.CohortID, Fingerprint: e.Fingerprint, Attempts: e.Attempts, Arrivals: e.Arrivals, RedriveCount: e.RedrivesTotal, SameFailures: e.SameFailures,
		FirstSeen: apiTime(e.FirstSeen), OpenedAt: apiTime(e.OpenedAt), LastSeen: apiTime(e.LastSeen), ExpiresAt: apiTime(e.ExpiresAt), Owner: e.Owner, Ticket: e.Ticket, Disposition: string(e.Disposition)}
}

// entryDetail is an entry by itself.
type entryDetail struct {
	entryRow
	Hold        any           `json:"hold"`
	Decided     *apiDecided   `json:"decided"` // of the disposition; null without one
	ContentHash string        `json:"content_hash,omitempty"`
	KeyCheck    string        `json:"key_check,omitempty"`
	Evidence    apiAttempt    `json:"evidence"`
	Payload     apiPayload    `json:"payload"`
	History     []apiAttempt  `json:"history"`
	Redrives    []apiRedrive  `json:"redrives"`
	Linked      []linkedEntry `json:"linked"`
	Document    *documentNow  `json:"document,omitempty"`
	Notes       []apiNote     `json:"notes"`
	Versions    dlq.Versions  `json:"versions"`
}

type apiPayload struct {
	State     string  `json:"state"` // held, never, expired, corrupt
	SHA256    string  `json:"sha256,omitempty"`
	Bytes     *int64  `json:"bytes,omitempty"`
	Held      string  `json:"held_sha256,omitempty"`
	Current   bool    `json:"of_current_evidence"`
	ExpiresAt apiTime `json:"expires_at"`
}

type apiAttempt struct {
	Sequence        int64             `json:"sequence"`
	Kind            string            `json:"kind"`
	Effect          string            `json:"effect"`
	Episode         int64             `json:"episode"`
	Attempts        int64             `json:"attempts"`
	ReceivedAt      apiTime           `json:"received_at"`
	FirstSeen       apiTime           `json:"first_seen_at"`
	LastSeen        apiTime           `json:"last_seen_at"`
	IngestSeq       *int64            `json:"ingest_seq,omitempty"`
	RedriveID       string            `json:"redrive_id,omitempty"`
	Cohort          string            `json:"cohort"`
	Fingerprint     string            `json:"fingerprint"`
	Reason          string            `json:"reason"`
	ErrorClass      string            `json:"error_class,omitempty"`
	ErrorType       string            `json:"error_type,omitempty"`
	ErrorMessage    string            `json:"error_message,omitempty"`
	StackTrace      string            `json:"stack_trace,omitempty"`
	StackTraceURI   string            `json:"stack_trace_uri,omitempty"`
	Validation      string            `json:"validation_output,omitempty"`
	Cut             map[string]int    `json:"cut,omitempty"` // original length in bytes of each text that was cut
	Confidence      *float64          `json:"confidence,omitempty"`
	Stage           string            `json:"stage,omitempty"`
	ContentType     string            `json:"content_type,omitempty"`
	Filename        string            `json:"filename,omitempty"`
	Versions        dlq.Versions      `json:"versions"`
	Processing      string            `json:"processing_version,omitempty"`
	SourceVersion   string            `json:"source_version,omitempty"`
	SourceUpdatedAt apiTime           `json:"source_updated_at"`
	SourceURL       string            `json:"source_url,omitempty"`
	Cursor          string            `json:"cursor_at_arrival,omitempty"`
	IndexedVersion  string            `json:"indexed_version,omitempty"`
	PayloadSHA256   string            `json:"payload_sha256,omitempty"`
	PayloadURI      string            `json:"payload_uri,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Extra           map[string]any    `json:"extra,omitempty"`
}

func newAPIAttempt(a dlq.Attempt) apiAttempt {
	return apiAttempt{Sequence: a.Sequence(), Kind: a.Kind, Effect: string(a.Why), Episode: a.Episode, Attempts: a.Attempts, ReceivedAt: apiTime(a.ReceivedAt), FirstSeen: apiTime(a.FirstSeen), LastSeen: apiTime(a.LastSeen),
		IngestSeq: a.IngestSeq, RedriveID: a.RedriveID, Cohort: a.CohortID, Fingerprint: a.Fingerprint, Reason: string(a.Reason), ErrorClass: string(a.ErrorClass), ErrorType: a.ErrorType,
		ErrorMessage: a.Detail.Message, StackTrace: a.Detail.Trace, StackTraceURI: a.Detail.TraceURI, Validation: a.Detail.Validation, Cut: a.Detail.Cut, Confidence: a.Confidence, Stage: a.Stage, ContentType: a.ContentType,
		Filename: a.Filename, Versions: a.Versions, Processing: a.Processing, SourceVersion: a.SourceVersion, SourceUpdatedAt: apiTime(a.SourceUpdatedAt), SourceURL: a.SourceURL, Cursor: a.Cursor,
		IndexedVersion: a.IndexedVersion, PayloadSHA256: a.PayloadSHA256, PayloadURI: a.PayloadURI, Labels: a.Detail.Labels, Extra: a.Detail.Extra}
}

type linkedEntry struct {
	DLQID  string `json:"dlq_id"`
	Source string `json:"source"`
	DocID  string `json:"doc_id"`
	Status string `json:"status"`
}

type documentNow struct {
	Said     dlq.SourceNow `json:"said"`
	Evidence dlq.Evidence  `json:"evidence"`
}

type apiRedrive struct {
	RedriveID  string      `json:"redrive_id"`
	Operation  string      `json:"operation"`
	Mode       string      `json:"mode"`
	State      string      `json:"state"`
	SentAt     apiTime     `json:"sent_at"`
	Deliveries int         `json:"deliveries"`
	Outcome    string      `json:"outcome,omitempty"`
	OutcomeAt  apiTime     `json:"outcome_at"`
	Late       string      `json:"late_outcome,omitempty"`
	LastStatus int         `json:"last_status,omitempty"`
	LastError  string      `json:"last_error,omitempty"`
	LastBody   string      `json:"last_body,omitempty"` // the first 4 KiB
	Verdict    dlq.Verdict `json:"verdict"`
}

func newAPIRedrive(r dlq.Redrive) apiRedrive {
	mode := r.Sent
	if mode == "" {
		mode = r.Mode
	}
	return apiRedrive{RedriveID: r.ID, Operation: r.OperationID, Mode: string(mode), State: string(r.State), SentAt: apiTime(r.SentAt), Deliveries: r.Deliveries, Outcome: string(r.Outcome), OutcomeAt: apiTime(r.OutcomeAt),
		Late: string(r.Late), LastStatus: r.LastStatus, LastError: r.LastError, LastBody: r.LastBody, Verdict: r.Verdict()}
}

// page reads limit and cursor.
func page(c echo.Context) (limit int, cursor string, err error) {
	limit = 50
	if v := c.QueryParam("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 500 {
			return 0, "", dlq.Invalid("the list was not understood", dlq.Fault{Pointer: "/limit", Detail: "1 to 500 expected"})
		}
		limit = n
	}
	return limit, c.QueryParam("cursor"), nil
}

// sortBy reads the order of a list; nothing said is the first.
func sortBy[T ~string](c echo.Context, orders ...T) (T, error) {
	v := T(c.QueryParam("sort"))
	if v == "" {
		return orders[0], nil
	}
	if !slices.Contains(orders, v) {
		return v, dlq.Invalid("the list was not understood", dlq.Fault{Pointer: "/sort", Detail: fmt.Sprintf("one of %v expected", orders)})
	}
	return v, nil
}

type listAnswer struct {
	Items any    `json:"items"`
	Next  string `json:"next"`
}

// listEntries is GET /dead-letters.
func (h *Handlers) listEntries(c echo.Context) error {
	by, _ := web.ActorOf(c)
	limit, cursor, err := page(c)
	if err != nil {
		return err
	}
	sort, err := sortBy(c, dlq.EntrySorts...)
	if err != nil {
		return err
	}
	q, bad := dlq.ParseQuery(c.QueryParam("q"))
	if len(bad) > 0 {
		return dlq.QueryError(bad)
	}
	if err := h.Store.TextIsBehind(c.Request().Context(), q); err != nil {
		return err
	}
	list, next, err := h.Store.Entries(c.Request().Context(), by, q, sort, cursor, limit)
	if err != nil {
		return err
	}
	rows := make([]entryRow, len(list))
	for i, e := range list {
		rows[i] = newEntryRow(e)
	}
	unknown, err := h.Store.UnknownValues(c.Request().Context(), by, q)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, hintedList{listAnswer{rows, next}, newQueryHints(unknown, by)})
}

// showEntry is GET /dead-letters/{dlq_id}.
func (h *Handlers) showEntry(c echo.Context) error {
	by, _ := web.ActorOf(c)
	e, err := h.Store.Entry(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.answerEntry(c, by, e)
}

const historyMost = 200 // attempts that one answer holds; the newest

func (h *Handlers) answerEntry(c echo.Context, by dlq.Actor, e dlq.Entry) error {
	d, err := h.entryDetail(c.Request().Context(), by, e)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, d)
}

func (h *Handlers) entryDetail(ctx context.Context, by dlq.Actor, e dlq.Entry) (entryDetail, error) {
	d := entryDetail{entryRow: newEntryRow(e), ContentHash: e.ContentHash, KeyCheck: string(e.KeyCheck), Versions: e.Versions, History: []apiAttempt{}, Redrives: []apiRedrive{}, Linked: []linkedEntry{},
		Payload: apiPayload{State: string(e.Copy), SHA256: e.PayloadSHA256, Held: e.HeldSHA256, Current: e.CopyIsCurrent(), ExpiresAt: apiTime(e.CopyExpires)}}
	if e.PayloadBytes >= 0 {
		d.Payload.Bytes = &e.PayloadBytes
	}
	evidence, err := h.Store.Attempt(ctx, e.EvidenceID)
	if err != nil {
		return d, err
	}
	d.Evidence = newAPIAttempt(evidence)
	history, err := h.Store.Attempts(ctx, e.ID, historyMost)
	if err != nil {
		return d, err
	}
	for _, a := range history {
		d.History = append(d.History, newAPIAttempt(a))
	}
	redrives, err := h.Store.RedrivesOf(ctx, e.ID, historyMost)
	if err != nil {
		return d, err
	}
	for _, r := range redrives {
		d.Redrives = append(d.Redrives, newAPIRedrive(r))
	}
	linked, err := h.Store.Linked(ctx, by, e, 50)
	if err != nil {
		return d, err
	}
	for _, l := range linked {
		d.Linked = append(d.Linked, linkedEntry{l.DLQID, l.Source, l.DocID, string(l.Status)})
	}
	decided, err := h.Store.Disposed(ctx, e.ID, "")
	if err != nil {
		return d, err
	}
	d.Decided = newAPIDecided(decided)
	notes, err := h.Store.Notes(ctx, e.ID, "", historyMost)
	if err != nil {
		return d, err
	}
	d.Notes = newAPINotes(notes)
	said, reading, asked, err := h.Store.LastProbe(ctx, e)
	if asked {
		d.Document = &documentNow{said, reading}
	}
	return d, err
}

// entryPayload is GET /dead-letters/{dlq_id}/payload: the stored copy.
func (h *Handlers) entryPayload(c echo.Context) error {
	by, _ := web.ActorOf(c)
	e, err := h.Store.Entry(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.sendPayload(c, by, e)
}

// sendPayload hands out a stored copy that was checked to its end, after an
// audit row that says so.
func (h *Handlers) sendPayload(c echo.Context, by dlq.Actor, e dlq.Entry) error {
	ctx := c.Request().Context()
	r, _, err := h.openStoredCopy(ctx, e)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := h.Store.Audit(ctx, by, "payload.downloaded", &e, e.Source, map[string]any{"sha256": e.HeldSHA256}); err != nil {
		return err
	}
	if err := web.ExtendDeadlines(c, 0, uploadTime); err != nil {
		return err
	}
	name := e.Filename
	if name == "" {
		name = e.HeldSHA256[:16]
	}
	web.RawDownload(c, name)
	c.Response().WriteHeader(http.StatusOK)
	_, err = io.Copy(c.Response(), r)
	return err
}

// linkedPayload is the short-lived link that a redrive carries.
func (h *Handlers) linkedPayload(c echo.Context) error {
	digest := c.Param("sha256")
	if !dlq.IsSHA256(digest) {
		return dlq.Errorf(dlq.KindNotFound, "there is no such payload")
	}
	if err := h.Links.Check(digest, c.QueryParam("expires"), c.QueryParam("signature"), h.Now()); err != nil {
		return err
	}
	r, _, err := h.Payloads.Open(c.Request().Context(), digest)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := web.ExtendDeadlines(c, 0, uploadTime); err != nil {
		return err
	}
	web.RawDownload(c, digest[:16])
	c.Response().WriteHeader(http.StatusOK)
	_, err = io.Copy(c.Response(), r)
	return err
}

// probeEntry is POST /dead-letters/{dlq_id}/probe.
func (h *Handlers) probeEntry(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var body struct {
		Fetch bool `json:"fetch"`
	}
	if err := readOptionalJSON(c, &body); err != nil {
		return err
	}
	e, err := h.Store.Entry(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	now, reading, err := h.askSource(c, by, e, body.Fetch)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, map[string]any{"dlq_id": e.DLQID, "bytes": reading.Bytes, "grade": reading.Grade, "caveats": reading.Caveats, "said": now})
}

// askSource asks what the document is now, reads the answer against the current
// evidence, and keeps both. The question carries credentials of the source, so who
// had it asked stands in the trail.
func (h *Handlers) askSource(c echo.Context, by dlq.Actor, e dlq.Entry, fetch bool) (dlq.SourceNow, dlq.Evidence, error) {
	ctx := c.Request().Context()
	src, err := h.Store.Source(ctx, e.Source)
	if err != nil {
		return dlq.SourceNow{}, dlq.Evidence{}, err
	}
	failed, err := h.Store.Attempt(ctx, e.EvidenceID)
	if err != nil {
		return dlq.SourceNow{}, dlq.Evidence{}, err
	}
	policy := src.Policy.Probe
	var now dlq.SourceNow
	if fetch {
		if err := web.ExtendDeadlines(c, 0, uploadTime); err != nil {
			return now, dlq.Evidence{}, err
		}
		now, err = h.Prober.Fetch(ctx, policy, e.Source, e.DocID, h.MaxFetch)
	} else {
		now = h.Prober.Ask(ctx, policy, e.Source, e.DocID)
	}
	if err != nil && now.Failure == "" {
		return now, dlq.Evidence{}, err
	}
	reading := probe.Read(policy.Kind, storedValidators(e, failed), now)
	if err := h.Store.SaveProbe(ctx, e.ID, e.EvidenceID, now, reading); err != nil {
		return now, reading, err
	}
	return now, reading, h.Store.Audit(ctx, by, "source.asked", &e, e.Source, map[string]any{"fetch": fetch, "reading": reading.Bytes, "grade": reading.Grade})
}

// storedValidators are what is known of the document as of its failure.
func storedValidators(e dlq.Entry, failed dlq.Attempt) dlq.Validators {
	v := dlq.Validators{ETag: failed.SourceVersion, SHA256: e.PayloadSHA256}
	if !failed.SourceUpdatedAt.IsZero() {
		v.LastModified = failed.SourceUpdatedAt.UTC().Format(http.TimeFormat)
	}
	return v
}

// readOptionalJSON is web.ReadJSON where the body may be empty.
func readOptionalJSON(c echo.Context, dst any) error {
	if c.Request().ContentLength == 0 {
		return nil
	}
	return web.ReadJSON(c, dst)
}
