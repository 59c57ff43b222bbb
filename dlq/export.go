package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ExportedRow is an entry as it is handed out, a line of NDJSON. It is the row
// of a list, and an envelope as well: parked elsewhere, it becomes the same
// failure there, known by our id.
type ExportedRow struct {
	DLQID        string            `json:"dlq_id"`
	Source       string            `json:"source"`
	DocID        string            `json:"doc_id"`
	SenderID     string            `json:"sender_id,omitempty"`
	Status       Status            `json:"status"`
	Resolution   Resolution        `json:"resolution,omitempty"`
	Marks        []Mark            `json:"marks"`
	Reason       Reason            `json:"reason"`
	ErrorClass   FailureClass      `json:"error_class"`
	ErrorType    string            `json:"error_type"`
	ErrorMessage string            `json:"error_message"`
	StackTrace   string            `json:"stack_trace,omitempty"`
	TraceURI     string            `json:"stack_trace_uri,omitempty"`
	Validation   json.RawMessage   `json:"validation_output,omitempty"`
	Confidence   *float64          `json:"confidence,omitempty"`
	Stage        string            `json:"stage,omitempty"`
	Connector    string            `json:"connector_version,omitempty"`
	Parser       string            `json:"parser_version,omitempty"`
	Chunker      string            `json:"chunker_version,omitempty"`
	Embedder     string            `json:"embedder_version,omitempty"`
	Processing   string            `json:"processing_version,omitempty"`
	Versions     map[string]string `json:"versions,omitempty"` // of any other component
	Cohort       string            `json:"cohort"`
	Fingerprint  string            `json:"fingerprint"`
	Attempts     int64             `json:"attempts"`
	Arrivals     int64             `json:"arrivals"`
	RedriveCount int64             `json:"redrive_count"`
	SameFailures int               `json:"same_failures"`
	FirstSeen    time.Time         `json:"first_seen"`
	OpenedAt     time.Time         `json:"opened_at"`
	LastSeen     time.Time         `json:"last_seen"`
	ExpiresAt    time.Time         `json:"expires_at"`
	Owner        string            `json:"owner,omitempty"`
	Ticket       string            `json:"ticket,omitempty"`
	ContentHash  string            `json:"content_hash,omitempty"`
	PayloadSHA   string            `json:"payload_sha256,omitempty"`
	PayloadBytes *int64            `json:"payload_bytes,omitempty"`
	PayloadURI   string            `json:"payload_uri,omitempty"`
	PayloadState CopyState         `json:"payload_state"`
	ContentType  string            `json:"content_type,omitempty"`
	Filename     string            `json:"filename,omitempty"`
	SourceTag    string            `json:"source_version,omitempty"`
	SourceURL    string            `json:"source_url,omitempty"`
	SourceMoved  *time.Time        `json:"source_updated_at,omitempty"`
	Cursor       string            `json:"cursor_at_arrival,omitempty"`
	IngestSeq    *int64            `json:"ingest_seq,omitempty"`
	Indexed      string            `json:"indexed_version,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`

	extra map[string]any
}

// NewExportedRow makes the row of an entry and the attempt that is its current
// evidence, with its long texts.
func NewExportedRow(e Entry, a Attempt) ExportedRow {
	r := ExportedRow{DLQID: e.DLQID, Source: e.Source, DocID: e.DocID, SenderID: e.SenderID, Status: e.Status, Resolution: e.Resolution, Marks: slices.Clone(e.Marks),
		Reason: e.Reason, ErrorClass: e.ErrorClass, ErrorType: e.ErrorType, ErrorMessage: a.Detail.Message, StackTrace: a.Detail.Trace, TraceURI: a.Detail.TraceURI, Validation: exportedValidation(a.Detail.Validation),
		Confidence: a.Confidence, Stage: e.Stage, Processing: a.Processing, Cohort: e.CohortID, Fingerprint: e.Fingerprint, Attempts: e.Attempts, Arrivals: e.Arrivals, RedriveCount: e.RedrivesTotal, SameFailures: e.SameFailures,
		FirstSeen: e.FirstSeen, OpenedAt: e.OpenedAt, LastSeen: e.LastSeen, ExpiresAt: e.ExpiresAt, Owner: e.Owner, Ticket: e.Ticket, ContentHash: e.ContentHash, PayloadSHA: e.PayloadSHA256,
		PayloadURI: a.PayloadURI, PayloadState: e.Copy, ContentType: e.ContentType, Filename: e.Filename, SourceTag: a.SourceVersion, SourceURL: a.SourceURL, Cursor: a.Cursor,
		IngestSeq: a.IngestSeq, Indexed: a.IndexedVersion, Labels: a.Detail.Labels, extra: a.Detail.Extra}
	if r.Marks == nil {
		r.Marks = []Mark{}
	}
	if r.ErrorMessage == "" {
		r.ErrorMessage = e.Message
	}
	if e.PayloadBytes >= 0 {
		r.PayloadBytes = &e.PayloadBytes
	}
	if !a.SourceUpdatedAt.IsZero() {
		r.SourceMoved = &a.SourceUpdatedAt
	}
	for component, version := range e.Versions {
		switch component {
		case "connector":
			r.Connector = version
		case "parser":
			r.Parser = version
		case "chunker":
			r.Chunker = version
		case "embedder":
			r.Embedder = version
		default:
			if r.Versions == nil {
				r.Versions = map[string]string{}
			}
			r.Versions[component] = version
		}
	}
	return r
}

// exportedValidation is validation output as it was sent: JSON as JSON, else a
// text.
func exportedValidation(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if trimmed := strings.TrimSpace(text); (trimmed[:min(1, len(trimmed))] == "[" || trimmed[:min(1, len(trimmed))] == "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return quoted
}

// MarshalJSON writes the row with the fields that no name takes beside the named
// ones.
func (r ExportedRow) MarshalJSON() ([]byte, error) {
	type plain ExportedRow
	b, err := json.Marshal(plain(r))
	if err != nil || len(r.extra) == 0 {
		return b, err
	}
	more, err := json.Marshal(r.extra)
	if err != nil {
		return nil, err
	}
	var named, extra map[string]json.RawMessage
	if err := json.Unmarshal(b, &named); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(more, &extra); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) { // two exports are equal
		if _, taken := named[name]; taken || name == "" {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(b[:len(b)-1], ',')
		b = append(append(append(b, key...), ':'), extra[name]...)
		b = append(b, '}')
	}
	return b, nil
}

// ExportColumns are the columns of an export as CSV, in their order.
var ExportColumns = []string{"dlq_id", "status", "resolution", "source", "doc_id", "sender_id", "reason", "error_class", "error_type", "error_message", "stage", "content_type", "filename",
	"connector_version", "parser_version", "chunker_version", "embedder_version", "versions", "processing_version", "cohort", "fingerprint", "attempts", "arrivals", "redrive_count", "same_failures",
	"first_seen", "opened_at", "last_seen", "expires_at", "owner", "ticket", "marks", "content_hash", "payload_sha256", "payload_bytes", "payload_state", "payload_uri",
	"source_version", "source_url", "source_updated_at", "cursor_at_arrival", "ingest_seq", "indexed_version", "confidence", "labels"}

// cells are the row's values for ExportColumns. The long texts are left to
// NDJSON.
func (r ExportedRow) cells() []string {
	marks := make([]string, len(r.Marks))
	for i, m := range r.Marks {
		marks[i] = string(m)
	}
	moment := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	optional := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	moved, confidence := "", ""
	if r.SourceMoved != nil {
		moved = moment(*r.SourceMoved)
	}
	if r.Confidence != nil {
		confidence = strconv.FormatFloat(*r.Confidence, 'f', -1, 64)
	}
	return []string{r.DLQID, string(r.Status), string(r.Resolution), r.Source, r.DocID, r.SenderID, string(r.Reason), string(r.ErrorClass), r.ErrorType, r.ErrorMessage, r.Stage, r.ContentType, r.Filename,
		r.Connector, r.Parser, r.Chunker, r.Embedder, pairs(r.Versions), r.Processing, r.Cohort, r.Fingerprint, strconv.FormatInt(r.Attempts, 10), strconv.FormatInt(r.Arrivals, 10), strconv.FormatInt(r.RedriveCount, 10), strconv.Itoa(r.SameFailures),
		moment(r.FirstSeen), moment(r.OpenedAt), moment(r.LastSeen), moment(r.ExpiresAt), r.Owner, r.Ticket, strings.Join(marks, " "), r.ContentHash, r.PayloadSHA, optional(r.PayloadBytes), string(r.PayloadState), r.PayloadURI,
		r.SourceTag, r.SourceURL, moved, r.Cursor, optional(r.IngestSeq), r.Indexed, confidence, pairs(r.Labels)}
}

func pairs(m map[string]string) string {
	var parts []string
	for name, value := range m {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// ExportFormat is how an export is written.
type ExportFormat string

// The formats, by the ending of their files' names.
const (
	ExportNDJSON ExportFormat = "ndjson" // everything, a JSON object a line
	ExportCSV    ExportFormat = "csv"    // RFC 4180, without the long texts
)

// ExportTo writes rows to w, page by page. CSV begins with a line of the
// columns' names, also where no row follows: the first page may be empty.
func ExportTo(w io.Writer, format ExportFormat) func([]ExportedRow) error {
	if format == ExportCSV {
		lines, headed := NewCSV(w), false
		return func(page []ExportedRow) error {
			if !headed {
				headed = true
				_ = lines.Row(ExportColumns...) // its error stays with the writer
			}
			for _, row := range page {
				_ = lines.Row(row.cells()...)
			}
			return lines.Flush()
		}
	}
	rows := json.NewEncoder(w)
	rows.SetEscapeHTML(false)
	return func(page []ExportedRow) error {
		for _, row := range page {
			if err := rows.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// ExportDetail is what the trail keeps of an export: which query by its digest,
// because what was typed may speak of a document, and how much it was.
func ExportDetail(format ExportFormat, q Query, rows int64, whole bool) map[string]any {
	sum := sha256.Sum256([]byte(q.Text))
	return map[string]any{"format": format, "query_sha256": hex.EncodeToString(sum[:]), "rows": rows, "whole": whole}
}
