package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// lookupQuestion is what a pipeline asks before it tries a document again.
type lookupQuestion struct {
	Source           string            `json:"source"`
	DocID            string            `json:"doc_id"`
	SourceVersion    string            `json:"source_version"`
	PayloadSHA256    string            `json:"payload_sha256"`
	ConnectorVersion string            `json:"connector_version"`
	ParserVersion    string            `json:"parser_version"`
	ChunkerVersion   string            `json:"chunker_version"`
	EmbedderVersion  string            `json:"embedder_version"`
	Versions         map[string]string `json:"versions"`
}

func (q lookupQuestion) versions() dlq.Versions {
	return dlq.Envelope{ConnectorVersion: q.ConnectorVersion, ParserVersion: q.ParserVersion, ChunkerVersion: q.ChunkerVersion, EmbedderVersion: q.EmbedderVersion, Versions: q.Versions}.ComponentVersions()
}

type lookupAnswer struct {
	Source string     `json:"source"`
	DocID  string     `json:"doc_id"`
	DLQID  string     `json:"dlq_id,omitempty"`
	Status string     `json:"status"`
	Advice dlq.Advice `json:"advice,omitempty"`
	Why    string     `json:"why,omitempty"`
}

// lookup is GET /dead-letters/lookup, for one document.
func (h *Handlers) lookup(c echo.Context) error {
	q := lookupQuestion{Source: c.QueryParam("source"), DocID: c.QueryParam("doc_id"), SourceVersion: c.QueryParam("source_version"), PayloadSHA256: c.QueryParam("payload_sha256"),
		ConnectorVersion: c.QueryParam("connector_version"), ParserVersion: c.QueryParam("parser_version"), ChunkerVersion: c.QueryParam("chunker_version"), EmbedderVersion: c.QueryParam("embedder_version"),
		Versions: map[string]string{}}
	for name, values := range c.QueryParams() {
		if component, ok := strings.CutPrefix(name, "versions."); ok && component != "" {
			q.Versions[component] = values[0]
		}
	}
	by, _ := web.ActorOf(c)
	answer, err := h.answerLookup(c.Request().Context(), by, q, "")
	if err != nil {
		return err
	}
	if answer.Status == "absent" {
		return dlq.Errorf(dlq.KindNotFound, "this document is not here")
	}
	return web.JSON(c, http.StatusOK, answer)
}

const lookupMost = 1000

// lookupBatch is POST /dead-letters/lookup, for up to a thousand.
func (h *Handlers) lookupBatch(c echo.Context) error {
	var questions []lookupQuestion
	if err := web.ReadJSON(c, &questions); err != nil {
		return err
	}
	if len(questions) > lookupMost {
		return dlq.Invalid("too much at once", dlq.Fault{Pointer: "", Detail: fmt.Sprintf("at most %d questions expected, got %d", lookupMost, len(questions))})
	}
	by, _ := web.ActorOf(c)
	answers := make([]lookupAnswer, len(questions))
	for i, q := range questions {
		var err error
		if answers[i], err = h.answerLookup(c.Request().Context(), by, q, fmt.Sprintf("/%d", i)); err != nil {
			return err
		}
	}
	return web.JSON(c, http.StatusOK, map[string]any{"items": answers})
}

func (h *Handlers) answerLookup(ctx context.Context, by dlq.Actor, q lookupQuestion, at string) (lookupAnswer, error) {
	if q.Source == "" && len(by.Sources) == 1 {
		q.Source = by.Sources[0]
	}
	var faults []dlq.Fault
	if q.Source == "" {
		faults = append(faults, dlq.Fault{Pointer: at + "/source", Detail: "a source expected"})
	}
	if q.DocID == "" {
		faults = append(faults, dlq.Fault{Pointer: at + "/doc_id", Detail: "a document id expected"})
	}
	if q.PayloadSHA256 != "" && !dlq.IsSHA256(q.PayloadSHA256) {
		faults = append(faults, dlq.Fault{Pointer: at + "/payload_sha256", Detail: "64 lower-case hex digits expected"})
	}
	if len(faults) > 0 {
		return lookupAnswer{}, dlq.Invalid("the question was not understood", faults...)
	}
	answer := lookupAnswer{Source: q.Source, DocID: q.DocID, Status: "absent"}
	e, err := h.Store.EntryByDoc(ctx, by, q.Source, q.DocID)
	if dlq.KindOf(err) == dlq.KindNotFound {
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	src, err := h.Store.Source(ctx, q.Source)
	if err != nil {
		return answer, err
	}
	running, err := h.Store.Running(ctx, src.ID)
	if err != nil {
		return answer, err
	}
	failed, err := h.Store.Attempt(ctx, e.EvidenceID)
	if err != nil {
		return answer, err
	}
	stored := dlq.Validators{ETag: failed.SourceVersion, SHA256: failed.PayloadSHA256}
	asked := dlq.Validators{ETag: q.SourceVersion, SHA256: q.PayloadSHA256}
	document := dlq.CompareBytes(src.Policy.Probe.Kind, stored, asked)
	code, _ := dlq.CompareCode(e.Versions, q.versions(), running)
	answer.DLQID, answer.Status = e.DLQID, string(e.Status)
	answer.Advice, answer.Why = dlq.Advise(e.Status, document.Bytes, code)
	return answer, nil
}
