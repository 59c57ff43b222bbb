package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dlo/dlq"
)

// Outcome is what came of one document: of a redrive (RedriveID), or of an
// ordinary run that committed what had failed before. One of RedriveID,
// ContentHash, or Source with DocID must be there; give all that are known. The
// versions are what makes a replay proof of something: name every component.
// Result is
// one of dlq.ReportableOutcomes, and the error fields, as of an envelope, are for
// a failed one.
type Outcome struct {
	RedriveID   string `json:"redrive_id,omitempty"`
	ContentHash string `json:"content_hash,omitempty"`
	Source      string `json:"source,omitempty"`
	DocID       string `json:"doc_id,omitempty"`

	Result        dlq.OutcomeResult `json:"result"`
	At            *time.Time        `json:"at,omitempty"`
	IngestSeq     *int64            `json:"ingest_seq,omitempty"`
	SourceVersion string            `json:"source_version,omitempty"` // of the bytes that were processed
	PayloadSHA256 string            `json:"payload_sha256,omitempty"`

	ConnectorVersion  string            `json:"connector_version,omitempty"`
	ParserVersion     string            `json:"parser_version,omitempty"`
	ChunkerVersion    string            `json:"chunker_version,omitempty"`
	EmbedderVersion   string            `json:"embedder_version,omitempty"`
	ProcessingVersion string            `json:"processing_version,omitempty"`
	Versions          map[string]string `json:"versions,omitempty"`

	Stage            string   `json:"stage,omitempty"`
	Reason           string   `json:"reason,omitempty"`
	ErrorClass       string   `json:"error_class,omitempty"`
	ErrorType        string   `json:"error_type,omitempty"`
	ErrorMessage     string   `json:"error_message,omitempty"`
	StackTrace       string   `json:"stack_trace,omitempty"`
	ValidationOutput any      `json:"validation_output,omitempty"`
	Confidence       *float64 `json:"confidence,omitempty"`
}

// Applied is what the server did with an outcome. Not applied, and no error, is
// one that was kept because its document is not known here.
type Applied struct {
	Applied bool   `json:"applied"`
	DLQID   string `json:"dlq_id"`
	Status  string `json:"status"` // of the entry now
	Why     string `json:"why"`
}

// Outcome reports one outcome. Reporting it again changes nothing.
func (c *Client) Outcome(ctx context.Context, o Outcome) (Applied, error) {
	r, err := jsonRequest(http.MethodPost, "/outcomes", o)
	if err != nil {
		return Applied{}, err
	}
	var applied Applied
	_, err = c.call(ctx, r, &applied)
	return applied, err
}

// OutcomeLine is the answer to one outcome of many: Applied, or Err.
type OutcomeLine struct {
	Applied Applied
	Err     *Error
}

// Outcomes reports many outcomes in one call, and answers for each, in order.
// An error means that none is known to be recorded; report all again.
func (c *Client) Outcomes(ctx context.Context, outcomes []Outcome) ([]OutcomeLine, error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	for i, o := range outcomes {
		if err := encoder.Encode(o); err != nil {
			return nil, fmt.Errorf("report outcomes: write outcome %d: %w", i+1, err)
		}
	}
	r := request{method: http.MethodPost, path: "/outcomes", contentType: "application/x-ndjson", body: bytesBody(body.Bytes()), limit: 16 << 20}
	_, answer, err := c.exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	return readOutcomeLines(answer, len(outcomes), r)
}

func readOutcomeLines(answer []byte, n int, r request) ([]OutcomeLine, error) {
	lines := make([]OutcomeLine, n)
	decoder := json.NewDecoder(bytes.NewReader(answer))
	for i := range lines {
		var line struct {
			Applied
			Status  json.RawMessage `json:"status"` // a number of HTTP, or the entry's state
			Outcome *Applied        `json:"outcome"`
			Problem json.RawMessage `json:"problem"`
		}
		if err := decoder.Decode(&line); err != nil {
			return nil, &UnreachableError{r.method, r.path, errors.Join(fmt.Errorf("the answer ends after %d of %d lines", i, n), err)}
		}
		if len(line.Problem) > 0 {
			lines[i].Err = &Error{Method: r.method, Path: r.path}
			_ = json.Unmarshal(line.Status, &lines[i].Err.Status)
			lines[i].Err.read("application/problem+json", line.Problem)
			continue
		}
		if line.Outcome != nil {
			lines[i].Applied = *line.Outcome
			continue
		}
		lines[i].Applied = line.Applied
		_ = json.Unmarshal(line.Status, &lines[i].Applied.Status) // a number is not the entry's state
	}
	return lines, nil
}

// Deployed registers that a version of a component runs now for a source, and
// that the stopped ones do not any more. Call it at every start: what runs now is
// what a replay is compared with.
func (c *Client) Deployed(ctx context.Context, source, component, version string, stopped ...string) error {
	r, err := jsonRequest(http.MethodPost, "/deployments", struct {
		Source    string   `json:"source"`
		Component string   `json:"component"`
		Version   string   `json:"version"`
		Stopped   []string `json:"stopped,omitempty"`
	}{source, component, version, stopped})
	if err != nil {
		return err
	}
	_, err = c.call(ctx, r, nil)
	return err
}
