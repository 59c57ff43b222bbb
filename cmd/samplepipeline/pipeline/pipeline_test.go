package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

const testSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// started is a pipeline that runs until the test ends or stop is called.
type started struct {
	t      *testing.T
	base   string
	cancel context.CancelFunc
	ended  chan error
}

func start(t *testing.T, o *office, data string) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	s := &started{t: t, cancel: cancel, ended: make(chan error, 1)}
	go func() {
		s.ended <- Run(ctx, Options{ServerURL: o.URL, Token: "t", Secrets: []string{testSecret}, Data: data, Now: func() time.Time { return fixedNow },
			Retry: client.Retry{Budget: -1}}, write)
		_ = write.Close() // whoever waits for the address learns that none comes
	}()
	if _, err := fmt.Fscanf(read, "pipeline listening on %s\n", &s.base); err != nil {
		t.Fatalf("the pipeline did not start: %v, %v", err, <-s.ended)
	}
	t.Cleanup(s.stop)
	return s
}

func (s *started) stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	if err := <-s.ended; err != nil {
		s.t.Errorf("the pipeline ended with: %v", err)
	}
}

func (s *started) post(path string, body any, into any) int {
	s.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.Post(s.base+path, "application/json", bytes.NewReader(b))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.answer(res, into)
}

func (s *started) get(path string, into any) int {
	s.t.Helper()
	res, err := http.Get(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.answer(res, into)
}

func (s *started) answer(res *http.Response, into any) int {
	s.t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			s.t.Fatalf("%v in %s", err, b)
		}
	}
	return res.StatusCode
}

func (s *started) commits() []commitRow {
	s.t.Helper()
	var out struct{ Items []commitRow }
	s.get("/control/committed", &out)
	return out.Items
}

// withDefect gives the ids of the planned documents with a defect, in order.
func withDefect(d Defect) []string {
	var ids []string
	for _, doc := range planDocuments(1, fixedNow) {
		if doc.Defect == d {
			ids = append(ids, doc.ID)
		}
	}
	return ids
}

func count(failing bool) int {
	n := 0
	for _, doc := range planDocuments(1, fixedNow) {
		if (doc.Defect != defectNone) == failing {
			n++
		}
	}
	return n
}

func TestThePipelineFromFirstSyncToRedrive(t *testing.T) {
	whole := t
	o := newOffice(t)
	data := t.TempDir()
	p := start(whole, o, data)
	failing := count(true)
	o.await("every failing document to be parked", func() bool { return len(o.parked) == failing })
	o.await("what runs to be announced", func() bool { return len(o.deployments) >= 12 })

	t.Run("an envelope pins the bytes, the code and the moment", func(t *testing.T) {
		id := withDefect(DefectTrailer)[0]
		o.mu.Lock()
		e, payload := o.parked["leases/"+id], o.payloads["leases/"+id]
		o.mu.Unlock()
		var plan Document
		for _, doc := range planDocuments(1, fixedNow) {
			if doc.ID == id {
				plan = doc
			}
		}
		if e.ContentHash != digestOf(payload) || e.PayloadSHA256 != e.ContentHash || !strings.HasPrefix(e.SourceVersion, `"`) {
			t.Errorf("bytes: content_hash %s, payload_sha256 %s, source_version %s", e.ContentHash, e.PayloadSHA256, e.SourceVersion)
		}
		if e.ParserVersion != oldParserVersion || e.ConnectorVersion == "" || e.ChunkerVersion == "" || e.ProcessingVersion == "" {
			t.Errorf("code: %+v", e.ComponentVersions())
		}
		if e.IngestSeq == nil || e.CursorAtArrival == "" || !e.FirstSeenAt.Equal(plan.First) || !e.LastSeenAt.Equal(plan.Last) || *e.Attempts != plan.Attempts {
			t.Errorf("moment: seq %v, cursor %q, first %v, last %v, attempts %v; want %v to %v, %d", e.IngestSeq, e.CursorAtArrival, e.FirstSeenAt, e.LastSeenAt, *e.Attempts, plan.First, plan.Last, plan.Attempts)
		}
	})

	t.Run("only good documents are committed, each once", func(t *testing.T) {
		rows := p.commits()
		if len(rows) != count(false) {
			t.Errorf("%d keys are committed, want %d", len(rows), count(false))
		}
		for _, row := range rows {
			if row.Count != 1 {
				t.Errorf("%s/%s was posted %d times", row.Source, row.DocID, row.Count)
			}
		}
	})

	t.Run("a redrive that is not signed with the secret is refused", func(t *testing.T) {
		id := withDefect(DefectTrailer)[0]
		if got := o.deliver(p.base, "rd-forged", map[string]any{"type": "dead_letter.redrive", "redrive_id": "rd-forged", "source": "leases", "doc_id": id}, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); got != http.StatusUnauthorized {
			t.Errorf("answered %d, want 401", got)
		}
		if got := p.post("/redrive", map[string]any{"type": "dead_letter.redrive", "redrive_id": "rd-forged"}, nil); got != http.StatusUnauthorized {
			t.Errorf("unsigned: answered %d, want 401", got)
		}
	})

	t.Run("under the old parser a replay fails as before", func(t *testing.T) {
		id := withDefect(DefectTrailer)[0]
		out := redriven(o, p, "rd-old", "leases", id, nil)
		if out.Result != dlq.OutcomeFailed || out.ErrorType != "pipeline.DamagedPDFError" || out.ParserVersion != oldParserVersion || out.StackTrace == "" {
			t.Errorf("got %+v", out)
		}
	})

	t.Run("the newer parser is announced when it is switched to", func(t *testing.T) {
		var answer struct{ Announced bool }
		p.post("/control/parser", map[string]string{"version": "new"}, &answer)
		want := `{"source":"leases","component":"parser","version":"` + newParserVersion + `","stopped":["` + oldParserVersion + `"]}`
		o.mu.Lock()
		defer o.mu.Unlock()
		if !answer.Announced || !contains(o.deployments, want) {
			t.Errorf("announced %v, deployments %v", answer.Announced, o.deployments)
		}
	})

	t.Run("under the new parser it is committed, and once only", func(t *testing.T) {
		id := withDefect(DefectTrailer)[0]
		out := redriven(o, p, "rd-new", "leases", id, nil)
		if out.Result != dlq.OutcomeCommitted || out.ParserVersion != newParserVersion || out.PayloadSHA256 != out.ContentHash || out.SourceVersion == "" {
			t.Errorf("got %+v", out)
		}
		if again := redriven(o, p, "rd-again", "leases", id, nil); again.Result != dlq.OutcomeSkipped {
			t.Errorf("another redrive of the same bytes: %s, want skipped", again.Result)
		}
	})

	t.Run("a second delivery of one redrive reports the same outcome", func(t *testing.T) {
		id := withDefect(DefectDecimalComma)[0]
		first := redriven(o, p, "rd-twice", "change-orders", id, nil)
		for s := (status{Queue: queueCounts{Unreported: 1}}); s.Queue.Unreported > 0; {
			p.get("/control/status", &s) // until the first report is noted
		}
		second := redriven(o, p, "rd-twice", "change-orders", id, nil)
		if first.Result != dlq.OutcomeCommitted || second.Result != first.Result || !second.At.Equal(*first.At) {
			t.Errorf("first %+v\nsecond %+v", first, second)
		}
	})

	t.Run("one defect behind another comes out as another failure", func(t *testing.T) {
		out := redriven(o, p, "rd-next", "leases", withDefect(DefectTrailerAndTerm)[0], nil)
		if out.Result != dlq.OutcomeFailed || out.ErrorType != "pipeline.RuleError" || out.ValidationOutput == nil {
			t.Errorf("got %+v", out)
		}
	})

	t.Run("equal bytes under two ids commit once", func(t *testing.T) {
		a, b := twins(t)
		first := redriven(o, p, "rd-twin-a", "submittals", a, nil)
		second := redriven(o, p, "rd-twin-b", "submittals", b, nil)
		if first.Result != dlq.OutcomeCommitted || second.Result != dlq.OutcomeSkipped || first.ContentHash != second.ContentHash {
			t.Errorf("first %s, second %s", first.Result, second.Result)
		}
	})

	t.Run("a corrected document has another version, and supersedes the copy", func(t *testing.T) {
		id := withDefect(DefectNegative)[0]
		var edit struct{ Before, After string }
		p.post("/control/edit", map[string]string{"source": "submittals", "doc_id": id}, &edit)
		if edit.Before == edit.After || edit.After == "" {
			t.Errorf("the version went from %q to %q", edit.Before, edit.After)
		}
		out := redriven(o, p, "rd-source", "submittals", id, func(b map[string]any) { b["mode"] = "source" })
		if out.Result != dlq.OutcomeCommitted || out.SourceVersion != edit.After {
			t.Errorf("from the source: got %s of %q, want committed of %q", out.Result, out.SourceVersion, edit.After)
		}
		if old := redriven(o, p, "rd-late", "submittals", id, nil); old.Result != dlq.OutcomeSuperseded {
			t.Errorf("the copy afterwards: %s, want superseded", old.Result)
		} else if old.ErrorType != "" || old.ErrorClass != "" || old.ValidationOutput != nil {
			t.Errorf("what did not decide is reported as its error: %+v", old)
		}
	})

	t.Run("a document that is gone at its source fails, and says so", func(t *testing.T) {
		id := withDefect(DefectTruncated)[0]
		if got := p.post("/control/delete", map[string]string{"source": "rent-rolls", "doc_id": id}, nil); got != http.StatusOK {
			t.Fatalf("delete answered %d", got)
		}
		out := redriven(o, p, "rd-gone", "rent-rolls", id, func(b map[string]any) { b["mode"] = "source" })
		if out.Result != dlq.OutcomeFailed || out.ErrorType != "pipeline.SourceGoneError" || out.PayloadSHA256 != "" {
			t.Errorf("got %+v", out)
		}
	})

	t.Run("a copy whose digest differs is never parsed", func(t *testing.T) {
		id := withDefect(DefectTextNumber)[0]
		out := redriven(o, p, "rd-corrupt", "rent-rolls", id, func(b map[string]any) { b["payload_sha256"] = strings.Repeat("0", 64) })
		if out.Result != dlq.OutcomeFailed || out.ErrorClass != string(dlq.ClassTransient) || out.PayloadSHA256 != "" {
			t.Errorf("got %+v", out)
		}
	})

	t.Run("a corrected document passes an ordinary sync, and its entry is told", func(t *testing.T) {
		id := withDefect(DefectTotal)[0]
		p.post("/control/edit", map[string]string{"source": "change-orders", "doc_id": id}, nil)
		p.post("/control/sync", map[string]string{"source": "change-orders", "doc_id": id}, nil)
		o.await("the outcome without a redrive", func() bool {
			last := o.outcomes[len(o.outcomes)-1]
			return last.DocID == id && last.RedriveID == "" && last.Result == dlq.OutcomeCommitted
		})
	})

	t.Run("a sync leaves to the queue what failed and did not change, under a newer parser too", func(t *testing.T) {
		o.mu.Lock()
		before := o.parks
		o.mu.Unlock()
		var answer struct{ Tried int }
		p.post("/control/sync", nil, &answer)
		if answer.Tried != 0 || o.parks != before {
			t.Errorf("%d documents were tried, %d parked; want none", answer.Tried, o.parks-before)
		}
	})

	t.Run("an erased document leaves nothing behind", func(t *testing.T) {
		id := withDefect(DefectTrailer)[0]
		if got := o.deliver(p.base, "er-1", map[string]any{"type": "dead_letter.erased", "erasure_id": "er-1", "source": "leases", "doc_id": id}, testSecret); got != http.StatusAccepted {
			t.Fatalf("answered %d, want 202", got)
		}
		for _, row := range p.commits() {
			if row.DocID == id {
				t.Error("the commit is still there")
			}
		}
	})

	t.Run("the page's forms lead back to the page, and its numbers are those of the status", func(t *testing.T) {
		ask := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := ask.PostForm(p.base+"/control/edit", url.Values{"source": {"submittals"}, "doc_id": {withDefect(DefectMissingColumn)[0]}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" {
			t.Errorf("answered %d to %q, want 303 to /", res.StatusCode, res.Header.Get("Location"))
		}
		var s status
		p.get("/control/status", &s)
		res, err = http.Get(p.base + "/")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<dt>Failed</dt><dd>" + fmt.Sprint(s.Documents[stateFailed]) + "</dd>", newParserVersion, ">corrected<"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page does not show %q", want)
			}
		}
	})

	t.Run("a request that cannot be done says why", func(t *testing.T) {
		for path, want := range map[string]int{"/control/parser": http.StatusUnprocessableEntity, "/control/edit": http.StatusNotFound, "/control/delete": http.StatusNotFound} {
			var answer struct{ Error string }
			if got := p.post(path, map[string]string{"version": "newest", "source": "leases", "doc_id": "LS-0"}, &answer); got != want || answer.Error == "" {
				t.Errorf("%s: answered %d with %q, want %d and a sentence", path, got, answer.Error, want)
			}
		}
	})

	t.Run("a stranger's page cannot press the buttons", func(t *testing.T) {
		for name, change := range map[string]func(*http.Request){
			"another origin":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"a name pointed here": func(r *http.Request) { r.Host = "rebound.example" },
		} {
			req, err := http.NewRequest(http.MethodPost, p.base+"/control/parser", strings.NewReader(`{"version":"old"}`))
			if err != nil {
				t.Fatal(err)
			}
			change(req)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%s: answered %d, want 403", name, res.StatusCode)
			}
		}
	})

	t.Run("outcomes that could not be reported survive a restart", func(t *testing.T) {
		id := withDefect(DefectTrailer)[1]
		o.mu.Lock()
		o.down = true
		reported := len(o.outcomes)
		o.mu.Unlock()
		o.redrive(p.base, "rd-restart", "leases", id, func(b map[string]any) { b["mode"] = "source" })
		p.stop()
		o.mu.Lock()
		o.down = false
		o.mu.Unlock()
		p = start(whole, o, data)
		o.await("the outcome after the restart", func() bool {
			return len(o.outcomes) > reported && o.outcomes[len(o.outcomes)-1].RedriveID == "rd-restart"
		})
		var s status
		p.get("/control/status", &s)
		if s.Parser.Name != "new" {
			t.Errorf("after the restart the %s parser runs", s.Parser.Name)
		}
	})

	for _, row := range p.commits() {
		if row.Count != 1 {
			t.Errorf("%s/%s was posted %d times", row.Source, row.DocID, row.Count)
		}
	}
}

func TestAPipelineThatLostItsMemoryAsksBeforeItFailsAgain(t *testing.T) {
	o := newOffice(t)
	for _, doc := range planDocuments(1, fixedNow) {
		if doc.Defect != defectNone {
			o.skip[doc.Source+"/"+doc.ID] = true
		}
	}
	p := start(t, o, t.TempDir())
	for committed := 0; committed < count(false); {
		var s status
		p.get("/control/status", &s)
		committed = s.Documents[stateCommitted]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.parks != 0 {
		t.Errorf("%d documents failed and were parked again although the server said to skip them", o.parks)
	}
}

func TestFailuresWaitInTheSpoolWhileTheServerIsAway(t *testing.T) {
	o := newOffice(t)
	o.down = true
	data := t.TempDir()
	p := start(t, o, data)
	// With the fixed clock the server stays away for good after the first refusal.
	o.await("the first document to be refused", func() bool { return o.refused > 0 })
	for s := (status{Syncing: true}); s.Syncing || s.Documents[stateNew] > 0; {
		p.get("/control/status", &s)
	}
	if spooled, _ := filepath.Glob(filepath.Join(data, "spool", "*", "*.ndjson")); len(spooled) == 0 {
		t.Fatal("nothing is in the spool")
	}
	p.stop()
	o.mu.Lock()
	o.down = false
	o.mu.Unlock()
	start(t, o, data)
	o.await("the spool to arrive", func() bool { return len(o.parked) == count(true) })
}

// redriven delivers a redrive and waits for its outcome.
func redriven(o *office, p *started, redriveID, source, id string, change func(map[string]any)) client.Outcome {
	o.t.Helper()
	o.mu.Lock()
	before := len(o.outcomes)
	o.mu.Unlock()
	if got := o.redrive(p.base, redriveID, source, id, change); got != http.StatusAccepted {
		o.t.Fatalf("redrive %s: answered %d, want 202", redriveID, got)
	}
	var out client.Outcome
	o.await("the outcome of "+redriveID, func() bool {
		for _, one := range o.outcomes[before:] {
			if one.RedriveID == redriveID {
				out = one
				return true
			}
		}
		return false
	})
	return out
}

// twins gives the two documents that were planned with the same content.
func twins(t *testing.T) (string, string) {
	t.Helper()
	seen := map[uint64]string{}
	for _, doc := range planDocuments(1, fixedNow) {
		if other, ok := seen[doc.Seed]; ok {
			return other, doc.ID
		}
		seen[doc.Seed] = doc.ID
	}
	t.Fatal("no two documents have the same content")
	return "", ""
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}
