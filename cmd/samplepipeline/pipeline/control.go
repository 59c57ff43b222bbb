package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"time"
)

// status is what GET /control/status answers.
type status struct {
	Parser    parserStatus   `json:"parser"`
	Server    string         `json:"server"`
	Syncing   bool           `json:"syncing"`
	Documents map[string]int `json:"documents"` // by state: committed, failed, in review, new, gone
	Queue     queueCounts    `json:"queue"`
	Workers   workersStatus  `json:"workers"`
	Sources   map[string]way `json:"sources"`
}

type workersStatus struct {
	Memory  memorySetting `json:"memory"`
	Deaths  int64         `json:"deaths"` // workers that ended without an answer, since the start
	Working []workingOn   `json:"working"`
}

func (p *Pipeline) workers() workersStatus {
	s := workersStatus{Memory: *p.memory.Load(), Deaths: p.deaths.Load(), Working: []workingOn{}}
	for i := range p.working {
		if at := p.working[i].Load(); at != nil {
			s.Working = append(s.Working, *at)
		}
	}
	return s
}

type parserStatus struct {
	Name    string `json:"name"` // old or new
	Version string `json:"version"`
}

// documentRow is a document as the page and GET /control/documents show it.
type documentRow struct {
	Source        string `json:"source"`
	DocID         string `json:"doc_id"`
	Defect        Defect `json:"defect,omitempty"` // as it was made; it may have been corrected since
	State         string `json:"state"`            // new, committed, failed, in review, gone
	SourceVersion string `json:"source_version"`   // now
	Corrected     bool   `json:"corrected"`        // the file is not the one that was made broken
	ErrorType     string `json:"error_type,omitempty"`
	ErrorMessage  string `json:"error_message,omitempty"`
	IngestSeq     int64  `json:"ingest_seq"`
	ParserVersion string `json:"parser_version,omitempty"` // that it was last tried with
}

const stateNew, stateGone = "new", "gone"

func (p *Pipeline) showStatus(w http.ResponseWriter, r *http.Request) {
	s, err := p.status(r)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	answerJSON(w, http.StatusOK, s)
}

func (p *Pipeline) status(r *http.Request) (status, error) {
	rows, err := p.rows(r)
	if err != nil {
		return status{}, err
	}
	queue, err := p.store.queueCounts(r.Context())
	if err != nil {
		return status{}, err
	}
	s := status{Parser: parserStatus{p.parser().name, p.parser().version}, Server: p.options.ServerURL, Syncing: p.busy.Load(),
		Documents: map[string]int{stateCommitted: 0, stateFailed: 0, stateInReview: 0, stateNew: 0, stateGone: 0}, Queue: queue,
		Workers: p.workers(), Sources: p.ways.all()}
	for _, row := range rows {
		s.Documents[row.State]++
	}
	return s, nil
}

func (p *Pipeline) listDocuments(w http.ResponseWriter, r *http.Request) {
	rows, err := p.rows(r)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"items": rows})
}

func (p *Pipeline) listCommitted(w http.ResponseWriter, r *http.Request) {
	rows, err := p.store.commits(r.Context())
	if err != nil {
		p.failed(w, r, err)
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"items": rows})
}

// rows joins what the sources have with what the pipeline knows of it.
func (p *Pipeline) rows(r *http.Request) ([]documentRow, error) {
	states, err := p.store.documents(r.Context())
	if err != nil {
		return nil, err
	}
	known := map[string]documentState{}
	for _, s := range states {
		known[s.Source+"/"+s.DocID] = s
	}
	rows := []documentRow{}
	for _, source := range sourceNames {
		ids, err := p.folder.list(source)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			row := documentRow{Source: source, DocID: id, State: stateNew}
			doc, err := p.folder.read(source, id)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			row.SourceVersion = doc.version()
			if plan, ok := p.folder.planned(source, id); ok {
				row.Defect, row.Corrected = plan.Defect, doc.Modified.After(plan.First)
			}
			rows = append(rows, row.with(known[source+"/"+id]))
			delete(known, source+"/"+id)
		}
	}
	for _, s := range known {
		rows = append(rows, documentRow{Source: s.Source, DocID: s.DocID, State: stateGone}.with(documentState{
			State: stateGone, IngestSeq: s.IngestSeq, ParserVersion: s.ParserVersion, ErrorType: s.ErrorType, ErrorMessage: s.ErrorMessage}))
	}
	slices.SortStableFunc(rows, func(a, b documentRow) int {
		return slices.Compare([]string{a.Source, a.DocID}, []string{b.Source, b.DocID})
	})
	return rows, nil
}

func (row documentRow) with(s documentState) documentRow {
	if s.State == "" {
		return row
	}
	row.State, row.IngestSeq, row.ParserVersion = s.State, s.IngestSeq, s.ParserVersion
	row.ErrorType, row.ErrorMessage = s.ErrorType, s.ErrorMessage
	return row
}

// controlParser switches the parser: {"version":"new"}.
func (p *Pipeline) controlParser(r *http.Request, asked controlRequest) (any, error) {
	if _, err := parserNamed(asked.Version); err != nil {
		return nil, &badRequest{err}
	}
	announced, err := p.switchParser(r.Context(), asked.Version)
	if err != nil {
		return nil, err
	}
	return map[string]any{"parser": parserStatus{p.parser().name, p.parser().version}, "announced": announced}, nil
}

// controlMemory changes how much memory a worker has: {"memory":"large"}.
func (p *Pipeline) controlMemory(r *http.Request, asked controlRequest) (any, error) {
	if _, err := memoryNamed(asked.Memory); err != nil {
		return nil, &badRequest{err}
	}
	announced, err := p.switchMemory(r.Context(), asked.Memory)
	if err != nil {
		return nil, err
	}
	return map[string]any{"memory": p.memory.Load(), "announced": announced}, nil
}

// controlOutcomes changes how a source, or with none every source, lets the server
// know what came of a redrive: {"source":"leases","mode":"response"}.
func (p *Pipeline) controlOutcomes(r *http.Request, asked controlRequest) (any, error) {
	if !slices.Contains(outcomeWays, asked.Mode) {
		return nil, &badRequest{fmt.Errorf("mode %q is not known: reported, response or silent expected", asked.Mode)}
	}
	err := p.ways.change(r.Context(), p.store, asked.Source, func(w *way) { w.Outcomes = asked.Mode })
	return map[string]any{"sources": p.ways.all()}, err
}

// controlSlow makes the workers wait before each document of a source, or with
// none of every source: {"source":"leases","milliseconds":800}, 0 for no more.
func (p *Pipeline) controlSlow(r *http.Request, asked controlRequest) (any, error) {
	if asked.Milliseconds < 0 || asked.Milliseconds > maxSlow {
		return nil, &badRequest{fmt.Errorf("0 to %d milliseconds expected", maxSlow)}
	}
	err := p.ways.change(r.Context(), p.store, asked.Source, func(w *way) { w.SlowMS = asked.Milliseconds })
	return map[string]any{"sources": p.ways.all()}, err
}

// controlEdit corrects a document at its source.
func (p *Pipeline) controlEdit(_ *http.Request, asked controlRequest) (any, error) {
	before, err := p.folder.read(asked.Source, asked.DocID)
	if err != nil {
		return nil, err
	}
	after, err := p.folder.correct(asked.Source, asked.DocID)
	if err != nil {
		return nil, err
	}
	return map[string]string{"source": asked.Source, "doc_id": asked.DocID, "before": before.version(), "after": after.version(),
		"payload_sha256": after.SHA256}, nil
}

// controlDelete deletes a document at its source.
func (p *Pipeline) controlDelete(_ *http.Request, asked controlRequest) (any, error) {
	if err := p.folder.remove(asked.Source, asked.DocID); err != nil {
		return nil, err
	}
	return map[string]string{"source": asked.Source, "doc_id": asked.DocID, "state": stateGone}, nil
}

// controlSync runs an ordinary sync: of one document, whatever is known of it; of
// one source; or, with an empty request, of all.
func (p *Pipeline) controlSync(r *http.Request, asked controlRequest) (any, error) {
	ctx, done := context.WithTimeout(r.Context(), 2*time.Minute)
	defer done()
	if asked.DocID != "" {
		if err := p.syncOne(ctx, asked.Source, asked.DocID); err != nil {
			return nil, err
		}
		state, _, err := p.store.document(r.Context(), asked.Source, asked.DocID)
		return state, err
	}
	sources := sourceNames
	if asked.Source != "" {
		if !slices.Contains(sourceNames, asked.Source) {
			return nil, &badRequest{fmt.Errorf("source %q is not known", asked.Source)}
		}
		sources = []string{asked.Source}
	}
	n, err := p.syncAll(ctx, sources)
	if err != nil {
		return nil, err
	}
	return map[string]int{"tried": n}, nil
}

func (p *Pipeline) failed(w http.ResponseWriter, r *http.Request, err error) {
	p.log.Error("a request failed", "path", r.URL.Path, "error", err)
	answerError(w, http.StatusInternalServerError, "the pipeline could not read its own state; its log says why")
}
