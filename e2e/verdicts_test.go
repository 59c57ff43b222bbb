package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// verdictRow is a row of the table of verdicts, with a document for which it came
// true.
type verdictRow struct {
	bytes, code, outcome string // of the redrive; "" for whatever it is
	verdict              string
	presumed             bool
	words                string // on the document's page

	by    string // which pipeline said it
	entry string // the document's dlq_id
}

// verdictStand is a server with the sample pipeline, and with a pipeline that takes
// whatever it is sent and lets the test say what came of it.
type verdictStand struct {
	*demo
	t       *testing.T
	office  *api
	partner string // address of the other pipeline
	rows    []verdictRow

	mu     sync.Mutex
	queued map[string]string // redrive by document, of the other pipeline
	parked int
}

// TestEveryVerdictIsReached reaches every row of the table of verdicts through the
// running server: by the sample pipeline where it can come to that, and else by a
// pipeline that says less, or other things.
func TestEveryVerdictIsReached(t *testing.T) {
	d := startServed(t)
	s := &verdictStand{demo: d, t: t, office: d.api(t), queued: map[string]string{}}
	s.startPartner()
	s.bySamplePipelineUnderTheOlderParser()
	s.byPartner()
	d.control(t, "parser", map[string]string{"version": "new"})
	s.bySamplePipelineUnderTheNewerParser()

	b := d.signIn(t, "reviewer")
	reached := map[string]bool{}
	for _, row := range s.rows {
		reached[row.verdict] = true
		var e entry
		s.office.must(http.MethodGet, "/dead-letters/"+row.entry, nil, &e)
		r := e.Redrives[0]
		v := r.Verdict
		if r.Outcome != row.outcome || v.Name != row.verdict || v.Presumed != row.presumed || (row.bytes != "" && v.Bytes != row.bytes) || (row.code != "" && v.Code != row.code) {
			t.Errorf("%s: bytes %s, code %s, %s is %q, presumed %t; want bytes %s, code %s, %s: %q, presumed %t",
				row.by, v.Bytes, v.Code, r.Outcome, v.Name, v.Presumed, row.bytes, row.code, row.outcome, row.verdict, row.presumed)
		}
		b.open(d.address + "/entries/" + row.entry)
		if !strings.Contains(b.text(), row.words) {
			t.Errorf("%s: the page of a document that is %q does not say %q", row.by, row.verdict, row.words)
		}
	}
	for _, name := range []string{"fixed_by_code", "transient", "fixed_at_source", "undetermined", "inconclusive", "still_broken", "unmoved", "next_defect", "unstable", "still_failing",
		"already_committed", "superseded", "unconfirmed", "no_outcome", "unattributed", ""} {
		if !reached[name] {
			t.Errorf("no document came to the verdict %q", name)
		}
	}
	b.quiet(d.address)
}

// startServed starts a server as an operator does, with the sample pipeline as a
// program of its own, and one reviewer.
func startServed(t *testing.T) *demo {
	t.Helper()
	chromium(t) // before a server is started for nobody
	data := t.TempDir()
	server := start(t, listening, nil, dloBinary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--outbound-allow", "127.0.0.1")
	token := newToken(t, data, "pipeline", "ingest,outcome,read,act,admin")
	pipeline := start(t, "pipeline listening on ", []string{"DLO_PIPELINE_SERVER=" + server.address, "DLO_PIPELINE_TOKEN=" + token, "DLO_PIPELINE_SECRET=" + chaosSecret,
		"DLO_PIPELINE_DATA=" + filepath.Join(data, "pipeline"), "DLO_PIPELINE_LISTEN=127.0.0.1:0"}, pipelineBinary)
	applyPipelineSources(t, newAPI(t, server.address, token), pipeline.address, chaosSecret)
	d := &demo{process: server, data: data, pipeline: pipeline.address, passwords: map[string]string{}}
	d.addUser(t, "reviewer")
	d.awaitFirstSync(t)
	return d
}

// reach notes a row that a document came to, once its redrive has an outcome.
func (s *verdictStand) reach(dlqID string, row verdictRow) {
	s.t.Helper()
	row.entry = dlqID
	var e entry
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the document is %+v", e)
		}
	}()
	eventually(s.t, row.by+" came to "+row.outcome, func() bool {
		e = entry{}
		s.office.must(http.MethodGet, "/dead-letters/"+dlqID, nil, &e)
		return len(e.Redrives) > 0 && e.Redrives[0].Outcome != ""
	})
	s.rows = append(s.rows, row)
}

// redrive sends one document back, and gives the operation.
func (s *verdictStand) redrive(dlqID, mode string) string {
	s.t.Helper()
	var o operationStand
	s.office.must(http.MethodPost, "/redrives", map[string]any{"entries": []string{dlqID}, "reason": "for the table", "mode": mode}, &o)
	return o.ID
}

// id is the dlq_id of a document of the sample pipeline.
func (s *verdictStand) id(doc pipelineDocument) string {
	s.t.Helper()
	return entryOf(s.office, doc).DLQID
}

// policy changes a source's policy by fields, as its owner would.
func (s *verdictStand) policy(source string, redrive, outcomes map[string]any) (restore func()) {
	s.t.Helper()
	var was struct {
		Policy map[string]any `json:"policy"`
	}
	raw := map[string]any{}
	s.office.must(http.MethodGet, "/sources/"+source, nil, &raw)
	was.Policy = raw
	if p, ok := raw["policy"].(map[string]any); ok {
		was.Policy = p
	}
	put := func(redrive, outcomes map[string]any) {
		next := map[string]any{"name": source}
		for _, part := range []string{"owner", "redrive", "probe", "outcomes", "retention", "poison_threshold", "confidence_floor", "limits", "alerts", "runbook"} {
			if v, ok := was.Policy[part]; ok {
				next[part] = v
			}
		}
		for part, fields := range map[string]map[string]any{"redrive": redrive, "outcomes": outcomes} {
			changed := map[string]any{}
			if old, ok := next[part].(map[string]any); ok {
				for k, v := range old {
					if k != "has_secret" && k != "signed" {
						changed[k] = v
					}
				}
			}
			for k, v := range fields {
				changed[k] = v
			}
			next[part] = changed
		}
		s.office.must(http.MethodPut, "/sources/"+source, next, nil)
	}
	put(redrive, outcomes)
	return func() { put(nil, nil) }
}

func (s *verdictStand) bySamplePipelineUnderTheOlderParser() {
	t := s.t
	const by = "the sample pipeline"

	encrypted := s.documents(t, "encrypted")
	id := s.id(encrypted[0])
	s.redrive(id, "held")
	s.reach(id, verdictRow{bytes: "unchanged", code: "same", outcome: "failed", verdict: "unmoved", words: "Failed again, nothing changed", by: by})

	term := s.documents(t, "term ends before start")[0]
	id = s.id(term)
	s.control(t, "edit", map[string]string{"source": term.Source, "doc_id": term.DocID})
	s.redrive(id, "auto")
	s.reach(id, verdictRow{bytes: "changed", code: "same", outcome: "committed", verdict: "fixed_at_source", words: "New document passed", by: by})

	changed := encrypted[1] // by somebody who did not take the password off
	id = s.id(changed)
	path := filepath.Join(s.data, "pipeline", "documents", changed.Source, changed.DocID+".pdf")
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(bytes, "% saved again\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	s.redrive(id, "auto")
	s.reach(id, verdictRow{bytes: "changed", code: "same", outcome: "failed", verdict: "still_failing", words: "Changed document still fails", by: by})

	// A source that says nothing of its redrives, and meets a document in a sync.
	trailer := s.documents(t, "trailer without root")[0]
	id = s.id(trailer)
	s.control(t, "outcomes", map[string]string{"source": "leases", "mode": "silent"})
	s.redrive(id, "held")
	s.awaitSent(id)
	s.control(t, "sync", map[string]string{"source": trailer.Source, "doc_id": trailer.DocID})
	s.reach(id, verdictRow{outcome: "unattributed", verdict: "unattributed", words: "Failed in an ordinary sync", by: by})
	s.control(t, "outcomes", map[string]string{"source": "leases", "mode": "reported"})

	// One that never answers, with little patience.
	s.control(t, "outcomes", map[string]string{"source": "rent-rolls", "mode": "silent"})
	restore := s.policy("rent-rolls", nil, map[string]any{"mode": "reported", "timeout": "1s"})
	numbers := s.documents(t, "number typed as text")
	id = s.id(numbers[0])
	s.redrive(id, "held")
	s.reach(id, verdictRow{outcome: "no_outcome", verdict: "no_outcome", words: "No answer", by: by})
	restore()
	restore = s.policy("rent-rolls", nil, map[string]any{"mode": "assumed", "timeout": "1s"})
	id = s.id(numbers[1])
	s.redrive(id, "held")
	s.reach(id, verdictRow{outcome: "assumed", verdict: "unconfirmed", words: "Sent, never confirmed", by: by})
	restore()
	s.control(t, "outcomes", map[string]string{"source": "rent-rolls", "mode": "reported"})

	// A newer version got in, and nobody told the server.
	total := s.documents(t, "total is not the sum")[0]
	id = s.id(total)
	s.control(t, "outcomes", map[string]string{"source": "change-orders", "mode": "silent"})
	s.control(t, "edit", map[string]string{"source": total.Source, "doc_id": total.DocID})
	s.control(t, "sync", map[string]string{"source": total.Source, "doc_id": total.DocID})
	s.control(t, "outcomes", map[string]string{"source": "change-orders", "mode": "reported"})
	if e := entryOf(s.office, total); e.Status == "parked" {
		s.redrive(id, "held")
		s.reach(id, verdictRow{outcome: "superseded", verdict: "superseded", words: "A newer version got in", by: by})
	}

	// A target that refuses, and an operation that is cancelled before anything is sent.
	restore = s.policy("submittals", map[string]any{"url": s.partner + "/refuses"}, nil)
	id = s.id(s.documents(t, "negative quantity")[0])
	s.redrive(id, "held")
	s.reach(id, verdictRow{outcome: "undelivered", verdict: "", words: "Not delivered", by: by})
	restore()
	s.office.must(http.MethodPost, "/sources/submittals/pause", map[string]string{"reason": "for the table"}, nil)
	id = s.id(s.documents(t, "missing column")[0])
	o := s.redrive(id, "held")
	s.office.must(http.MethodPost, "/operations/"+o+"/cancel", map[string]string{"reason": "not after all"}, nil)
	s.reach(id, verdictRow{outcome: "cancelled", verdict: "", words: "Cancelled", by: by})
	s.office.must(http.MethodPost, "/sources/submittals/resume", nil, nil)
}

func (s *verdictStand) bySamplePipelineUnderTheNewerParser() {
	t := s.t
	const by = "the sample pipeline, newer parser"

	commas := s.documents(t, "decimal comma")
	id := s.id(commas[0])
	s.redrive(id, "held")
	s.reach(id, verdictRow{bytes: "unchanged", code: "moved", outcome: "committed", verdict: "fixed_by_code", words: "New code fixed it", by: by})

	id = s.id(commas[1])
	s.control(t, "edit", map[string]string{"source": commas[1].Source, "doc_id": commas[1].DocID})
	s.redrive(id, "source")
	s.reach(id, verdictRow{bytes: "changed", code: "moved", outcome: "committed", verdict: "undetermined", words: "Both changed, cannot tell", by: by})

	id = s.id(s.documents(t, "encrypted")[3])
	s.redrive(id, "held")
	s.reach(id, verdictRow{bytes: "unchanged", code: "moved", outcome: "failed", verdict: "still_broken", words: "New code still fails", by: by})

	id = s.id(s.documents(t, "trailer, then term")[0])
	s.redrive(id, "held")
	s.reach(id, verdictRow{bytes: "unchanged", code: "moved", outcome: "failed", verdict: "next_defect", words: "Past this error, failed on another", by: by})

	// Committed in a sync that nobody reported: the pipeline says that it has it.
	comma := commas[2]
	id = s.id(comma)
	s.control(t, "outcomes", map[string]string{"source": "change-orders", "mode": "silent"})
	s.control(t, "sync", map[string]string{"source": comma.Source, "doc_id": comma.DocID})
	s.control(t, "outcomes", map[string]string{"source": "change-orders", "mode": "reported"})
	s.redrive(id, "held")
	s.reach(id, verdictRow{outcome: "skipped", verdict: "already_committed", words: "Was already committed", by: by})
}

// startPartner starts the other pipeline: it takes whatever comes, and names no
// versions by itself.
func (s *verdictStand) startPartner() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var d struct {
			RedriveID string `json:"redrive_id"`
			DocID     string `json:"doc_id"`
		}
		body, err := io.ReadAll(r.Body)
		if r.URL.Path == "/refuses" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if err != nil || json.Unmarshal(body, &d) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.queued[d.DocID] = d.RedriveID
		s.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	}))
	s.t.Cleanup(server.Close)
	s.partner = server.URL
	s.office.must(http.MethodPut, "/sources/partner", map[string]any{"name": "partner", "redrive": map[string]any{"url": server.URL}}, nil)
}

// byPartner reaches what the sample pipeline never comes to: it always names its
// versions and the digest of what it read, and the same code does the same.
func (s *verdictStand) byPartner() {
	const by = "another pipeline"
	for _, c := range []struct {
		park   map[string]any // beside what every document has
		held   bool
		report map[string]any
		row    verdictRow
	}{
		{nil, true, map[string]any{"result": "committed"},
			verdictRow{bytes: "unchanged", code: "unknown", outcome: "committed", verdict: "fixed_by_code", presumed: true, words: "Passes now; version not reported"}},
		{map[string]any{"parser_version": "7"}, true, map[string]any{"result": "committed", "parser_version": "7"},
			verdictRow{bytes: "unchanged", code: "same", outcome: "committed", verdict: "transient", words: "Passed, nothing changed"}},
		{map[string]any{"parser_version": "7"}, false, map[string]any{"result": "committed", "parser_version": "8"},
			verdictRow{bytes: "unknown", code: "moved", outcome: "committed", verdict: "inconclusive", words: "Cannot tell if the document changed"}},
		{nil, true, map[string]any{"result": "failed", "error_type": "PartnerError", "error_message": "no"},
			verdictRow{bytes: "unchanged", code: "unknown", outcome: "failed", verdict: "still_broken", presumed: true, words: "Still fails; version not reported"}},
		{map[string]any{"parser_version": "7"}, true, map[string]any{"result": "failed", "error_type": "QuiteOtherError", "parser_version": "7"},
			verdictRow{bytes: "unchanged", code: "same", outcome: "failed", verdict: "unstable", words: "Failed differently, nothing changed"}},
		{nil, true, map[string]any{"result": "failed", "error_type": "PartnerError", "error_message": "no", "error_class": "transient"},
			verdictRow{bytes: "unchanged", outcome: "failed", verdict: "still_failing", words: "Failed for another reason"}},
		{nil, true, map[string]any{"result": "failed", "error_type": "QuiteOtherError", "error_class": "resource_fatal"},
			verdictRow{bytes: "unchanged", outcome: "failed", verdict: "still_failing", words: "Failed for another reason"}},
		{nil, true, map[string]any{"result": "failed"},
			verdictRow{bytes: "unchanged", outcome: "failed", verdict: "still_failing", words: "Failed for another reason"}},
		{map[string]any{"parser_version": "7"}, true, map[string]any{"result": "failed", "error_type": "QuiteOtherError", "parser_version": "8"},
			verdictRow{bytes: "unchanged", code: "moved", outcome: "failed", verdict: "next_defect", words: "Past this error, failed on another"}},
		{nil, true, map[string]any{"result": "skipped"},
			verdictRow{outcome: "skipped", verdict: "already_committed", words: "Was already committed"}},
		{nil, true, map[string]any{"result": "superseded"},
			verdictRow{outcome: "superseded", verdict: "superseded", words: "A newer version got in"}},
	} {
		s.parked++
		doc := fmt.Sprintf("partner-%d", s.parked)
		envelope := map[string]any{"source": "partner", "doc_id": doc, "error_type": "PartnerError", "error_message": "no"}
		if c.held {
			envelope["payload"] = "the text of " + doc
		} else {
			envelope["content_hash"] = fmt.Sprintf("%064x", s.parked)
		}
		for k, v := range c.park {
			envelope[k] = v
		}
		var parked struct {
			DLQID string `json:"dlq_id"`
		}
		s.office.must(http.MethodPost, "/dead-letters", envelope, &parked)
		s.redrive(parked.DLQID, "auto")
		var redriveID string
		eventually(s.t, "the other pipeline was sent "+doc, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			redriveID = s.queued[doc]
			return redriveID != ""
		})
		c.report["redrive_id"], c.report["at"] = redriveID, time.Now().UTC().Format(time.RFC3339Nano)
		s.office.must(http.MethodPost, "/outcomes", c.report, nil)
		c.row.by = fmt.Sprintf("%s that said %v of %s", by, c.report["result"], doc)
		s.reach(parked.DLQID, c.row)
	}
}

// awaitSent waits until a document's redrive was taken by its pipeline.
func (s *verdictStand) awaitSent(dlqID string) {
	s.t.Helper()
	eventually(s.t, "it was sent", func() bool {
		var e struct {
			Redrives []struct {
				State string `json:"state"`
			} `json:"redrives"`
		}
		s.office.must(http.MethodGet, "/dead-letters/"+dlqID, nil, &e)
		return len(e.Redrives) > 0 && e.Redrives[0].State == "delivered"
	})
}
