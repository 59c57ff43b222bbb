package dlq

import (
	"encoding/json"
	"time"
)

// Limits of an envelope. What is over a text limit is cut and marked, never
// refused for length alone; what is over the others is a fault.
const (
	MaxEnvelope   = 1 << 20   // bytes of one envelope
	MaxText       = 256 << 10 // bytes kept of trace, validation output and message, each
	MaxPayload    = 256 << 20 // bytes of a payload, by default
	MaxBatch      = 64 << 20  // bytes of a batch of envelopes
	maxSource     = 128       // characters
	maxDocID      = 512       // characters
	maxShort      = 512       // characters of a version, a type, a stage, an id
	maxLong       = 4096      // characters of an address, a file name, a cursor
	maxComponents = 64
	maxLabels     = 64
)

// Reason says which of the three ways an entry came here.
type Reason string

// The reasons.
const (
	ReasonException     Reason = "exception"
	ReasonValidation    Reason = "validation"
	ReasonLowConfidence Reason = "low_confidence" // in review: no failure, outside depth
)

// Envelope is what a pipeline sends to park a document. The field names are
// those of the HTTP API; ParseEnvelope reads the aliases too. Pointers are nil
// where the sender said nothing.
type Envelope struct {
	Source string `json:"source,omitempty"`
	DocID  string `json:"doc_id,omitempty"`

	ContentHash     string `json:"content_hash,omitempty"` // the pipeline's idempotency key, 64 lower-case hex digits
	PayloadURI      string `json:"payload_uri,omitempty"`
	Payload         string `json:"payload,omitempty"`          // the bytes inline
	PayloadEncoding string `json:"payload_encoding,omitempty"` // "" (UTF-8 text) or "base64"
	PayloadSHA256   string `json:"payload_sha256,omitempty"`
	PayloadBytes    *int64 `json:"payload_bytes,omitempty"`
	ContentType     string `json:"content_type,omitempty"`
	Filename        string `json:"filename,omitempty"`

	SourceVersion   string     `json:"source_version,omitempty"` // as the source gave it, W/ and quotes included
	SourceURL       string     `json:"source_url,omitempty"`
	SourceUpdatedAt *time.Time `json:"source_updated_at,omitempty"`
	CursorAtArrival string     `json:"cursor_at_arrival,omitempty"`
	IngestSeq       *int64     `json:"ingest_seq,omitempty"`

	ConnectorVersion  string            `json:"connector_version,omitempty"`
	ParserVersion     string            `json:"parser_version,omitempty"`
	ChunkerVersion    string            `json:"chunker_version,omitempty"`
	EmbedderVersion   string            `json:"embedder_version,omitempty"`
	ProcessingVersion string            `json:"processing_version,omitempty"`
	Versions          map[string]string `json:"versions,omitempty"` // any other component

	Stage            string   `json:"stage,omitempty"`
	Reason           string   `json:"reason,omitempty"`
	ErrorClass       string   `json:"error_class,omitempty"`
	ErrorType        string   `json:"error_type,omitempty"`
	ErrorMessage     string   `json:"error_message,omitempty"`
	StackTrace       string   `json:"stack_trace,omitempty"`
	StackTraceURI    string   `json:"stack_trace_uri,omitempty"`
	ValidationOutput any      `json:"validation_output,omitempty"` // a string, or any JSON
	Confidence       *float64 `json:"confidence,omitempty"`        // 0 to 1

	Attempts     *int       `json:"attempts,omitempty"`      // deliveries spent, at least 1
	RedriveCount *int       `json:"redrive_count,omitempty"` // at least 0
	FirstSeenAt  *time.Time `json:"first_seen_at,omitempty"`
	LastSeenAt   *time.Time `json:"last_seen_at,omitempty"`

	IndexedVersion string            `json:"indexed_version,omitempty"` // what the index still holds, if anything
	EventID        string            `json:"event_id,omitempty"`
	RedriveID      string            `json:"redrive_id,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	SenderID       string            `json:"dlq_id,omitempty"` // the sender's own id; never ours

	Extra map[string]any `json:"-"` // the fields that no name above takes
}

// MarshalJSON writes the envelope with its extra fields beside the named ones.
func (e Envelope) MarshalJSON() ([]byte, error) {
	type plain Envelope
	b, err := json.Marshal(plain(e))
	if err != nil || len(e.Extra) == 0 {
		return b, err
	}
	// Raw, because a sequence number past 2^53 would not survive a float64.
	var named map[string]json.RawMessage
	if err := json.Unmarshal(b, &named); err != nil {
		return nil, err
	}
	all := make(map[string]any, len(named)+len(e.Extra))
	for k, v := range named {
		all[k] = v
	}
	for k, v := range e.Extra {
		if _, taken := all[k]; !taken {
			all[k] = v
		}
	}
	return json.Marshal(all)
}

// ComponentVersions gives the versions of every component that handled the
// document, by component: connector, parser, chunker, embedder, and the others
// by the name that the sender gave. Absent components have no key.
func (e Envelope) ComponentVersions() Versions {
	v := Versions{}
	for name, version := range e.Versions {
		v.set(name, version)
	}
	v.set("connector", e.ConnectorVersion)
	v.set("parser", e.ParserVersion)
	v.set("chunker", e.ChunkerVersion)
	v.set("embedder", e.EmbedderVersion)
	return v
}

// ValidationText gives the validation output as text: a string as it is,
// anything else as indented JSON with its numbers as they were written.
func (e Envelope) ValidationText() string {
	switch v := e.ValidationOutput.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return ""
		}
		return string(b)
	}
}

// RejectedEnvelope is what was refused, kept as it came.
type RejectedEnvelope struct {
	ID         int64
	Source     string
	ReceivedAt time.Time
	Actor      string
	Body       []byte // up to MaxEnvelope of it
	Bytes      int64  // how many it had
	Problem    string // JSON of the answer
}
