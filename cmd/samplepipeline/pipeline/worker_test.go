package pipeline

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

// await asks the pipeline for its status until it is as wanted.
func (s *started) await(what string, good func(status) bool) status {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var now status
		s.get("/control/status", &now)
		if good(now) {
			return now
		}
	}
	s.t.Fatalf("in a minute there was not %s", what)
	return status{}
}

func TestADocumentThatExhaustsItsWorkersMemoryEndsAsResourceFatal(t *testing.T) {
	o := newOffice(t)
	p := start(t, o, t.TempDir())
	id := withDefect(DefectLastColumn)[0]
	o.await("every failing document to be parked", func() bool { return len(o.parked) == count(true) })

	o.mu.Lock()
	e, payload := o.parked["rent-rolls/"+id], o.payloads["rent-rolls/"+id]
	o.mu.Unlock()
	if e.ErrorClass != string(dlq.ClassResourceFatal) || e.ErrorType != "client.NoAnswerError" || e.ErrorMessage != "two deliveries ended without an answer" || e.StackTrace != "" || e.Stage != "" {
		t.Errorf("parked as %q, %q, %q, stage %q, with a trace of %d bytes", e.ErrorClass, e.ErrorType, e.ErrorMessage, e.Stage, len(e.StackTrace))
	}
	if *e.Attempts != 2 || e.ContentHash != digestOf(payload) || len(payload) == 0 || e.Versions[componentWorker] != "192MiB" {
		t.Errorf("%d attempts, %d bytes of payload, versions %v", *e.Attempts, len(payload), e.Versions)
	}
	if s := p.await("the end of the sync", func(s status) bool { return !s.Syncing && s.Documents[stateNew] == 0 }); s.Workers.Deaths != 2 {
		t.Errorf("%d workers died, want 2; documents %v", s.Workers.Deaths, s.Documents)
	}

	t.Run("a redrive under the same limit kills two more, and says so", func(t *testing.T) {
		out := redriven(o, p, "rd-small", "rent-rolls", id, nil)
		if out.Result != dlq.OutcomeFailed || out.ErrorClass != string(dlq.ClassResourceFatal) || out.StackTrace != "" || out.Versions[componentWorker] != "192MiB" {
			t.Errorf("got %+v", out)
		}
		if s := p.await("a status", func(status) bool { return true }); s.Workers.Deaths != 4 {
			t.Errorf("%d workers died, want 4", s.Workers.Deaths)
		}
	})
	t.Run("after the limit changed it passes", func(t *testing.T) {
		if got := p.post("/control/memory", map[string]string{"memory": "large"}, nil); got != http.StatusOK {
			t.Fatalf("answered %d", got)
		}
		o.mu.Lock()
		announced := contains(o.deployments, `{"source":"rent-rolls","component":"worker","version":"768MiB","stopped":["192MiB"]}`)
		o.mu.Unlock()
		if out := redriven(o, p, "rd-large", "rent-rolls", id, nil); out.Result != dlq.OutcomeCommitted || out.Versions[componentWorker] != "768MiB" || !announced {
			t.Errorf("got %+v, announced: %v", out, announced)
		}
	})
	t.Run("a limit that is not known changes nothing", func(t *testing.T) {
		if got := p.post("/control/memory", map[string]string{"memory": "endless"}, nil); got != http.StatusUnprocessableEntity {
			t.Errorf("answered %d, want 422", got)
		}
	})
}

func TestAWorkerKilledInTheMiddleOfItsWorkCostsNothing(t *testing.T) {
	o := newOffice(t)
	p := start(t, o, t.TempDir())
	o.await("every failing document to be parked", func() bool { return len(o.parked) == count(true) })
	p.await("the end of the sync", func(s status) bool { return !s.Syncing })
	p.post("/control/parser", map[string]string{"version": "new"}, nil)
	p.post("/control/slow", map[string]any{"source": "leases", "milliseconds": 30_000}, nil)
	id := withDefect(DefectTrailer)[3]
	deaths := p.await("a status", func(status) bool { return true }).Workers.Deaths
	if got := o.redrive(p.base, "rd-killed", "leases", id, nil); got != http.StatusAccepted {
		t.Fatalf("answered %d", got)
	}
	at := p.await("a worker with the document", func(s status) bool { return len(s.Workers.Working) == 1 && s.Workers.Working[0].DocID == id }).Workers.Working[0]
	p.post("/control/slow", map[string]any{"milliseconds": 0}, nil)
	process, err := os.FindProcess(at.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	var out client.Outcome
	o.await("the outcome", func() bool {
		for _, one := range o.outcomes {
			if one.RedriveID == "rd-killed" {
				out = one
			}
		}
		return out.RedriveID != ""
	})
	if s := p.await("a status", func(status) bool { return true }); out.Result != dlq.OutcomeCommitted || s.Workers.Deaths != deaths+1 {
		t.Errorf("after one death: %s, %d deaths; want committed, %d", out.Result, s.Workers.Deaths, deaths+1)
	}
	for _, row := range p.commits() {
		if row.Count != 1 {
			t.Errorf("%s was committed %d times", row.DocID, row.Count)
		}
	}
}

func TestAPipelineThatStopsGivesItsWorkBackUncounted(t *testing.T) {
	o := newOffice(t)
	data := t.TempDir()
	p := start(t, o, data)
	o.await("every failing document to be parked", func() bool { return len(o.parked) == count(true) })
	p.await("the end of the sync", func(s status) bool { return !s.Syncing })
	p.post("/control/parser", map[string]string{"version": "new"}, nil)
	id := withDefect(DefectTrailer)[4]
	p.post("/control/slow", map[string]any{"source": "leases", "milliseconds": 30_000}, nil)
	o.redrive(p.base, "rd-stopped", "leases", id, func(b map[string]any) { b["mode"] = "source" })
	for range 3 { // three stops are not three deaths
		p.await("a worker with the document", func(s status) bool { return len(s.Workers.Working) == 1 })
		p.stop()
		p = start(t, o, data)
	}
	p.await("a worker with the document", func(s status) bool { return len(s.Workers.Working) == 1 })
	p.post("/control/slow", map[string]any{"milliseconds": 0}, nil)
	p.stop()
	start(t, o, data)
	o.await("the outcome", func() bool {
		last := len(o.outcomes) - 1
		return last >= 0 && o.outcomes[last].RedriveID == "rd-stopped" && o.outcomes[last].Result == dlq.OutcomeCommitted
	})
}

func TestASourceCanAnswerInTheResponseOrKeepSilent(t *testing.T) {
	o := newOffice(t)
	p := start(t, o, t.TempDir())
	o.await("every failing document to be parked", func() bool { return len(o.parked) == count(true) })
	p.await("the end of the sync", func(s status) bool { return !s.Syncing })
	p.post("/control/parser", map[string]string{"version": "new"}, nil)

	for mode, want := range map[string]int{"response": http.StatusOK, "silent": http.StatusAccepted} {
		p.post("/control/outcomes", map[string]string{"source": "leases", "mode": mode}, nil)
		id := withDefect(DefectTrailer)[map[string]int{"response": 5, "silent": 6}[mode]]
		if got := o.redrive(p.base, "rd-"+mode, "leases", id, nil); got != want {
			t.Errorf("%s: answered %d, want %d", mode, got, want)
		}
	}
	p.await("both to be done", func(s status) bool { return s.Queue.Waiting == 0 && s.Queue.Done == 2 })
	p.post("/control/outcomes", map[string]string{"mode": "reported"}, nil)
	redriven(o, p, "rd-reported", "leases", withDefect(DefectTrailer)[7], nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.outcomes) != 1 {
		t.Errorf("%d outcomes were reported, want that of the third alone: %+v", len(o.outcomes), o.outcomes)
	}
	for _, bad := range []map[string]string{{"mode": "by post"}, {"mode": "silent", "source": "wiki"}} {
		if got := p.post("/control/outcomes", bad, nil); got != http.StatusUnprocessableEntity {
			t.Errorf("%v: answered %d, want 422", bad, got)
		}
	}
	if got := p.post("/control/slow", map[string]int{"milliseconds": -1}, nil); got != http.StatusUnprocessableEntity {
		t.Errorf("a negative time: answered %d, want 422", got)
	}
}

func TestTheResponseCarriesTheOutcome(t *testing.T) {
	o := newOffice(t)
	p := start(t, o, t.TempDir())
	o.await("every failing document to be parked", func() bool { return len(o.parked) == count(true) })
	p.post("/control/outcomes", map[string]string{"mode": "response"}, nil)
	id := withDefect(DefectEncrypted)[0]
	body := []byte(`{"type":"dead_letter.redrive","redrive_id":"rd-body","source":"leases","doc_id":"` + id + `","mode":"source"}`)
	r, err := http.NewRequest(http.MethodPost, p.base+"/redrive", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	sign(t, r, "rd-body", body, testSecret)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	var out client.Outcome
	if p.answer(res, &out) != http.StatusOK || out.Result != dlq.OutcomeFailed || out.RedriveID != "rd-body" || out.ErrorType != "pipeline.EncryptedPDFError" {
		t.Errorf("answered %d with %+v", res.StatusCode, out)
	}
}

func TestFramesAreBounded(t *testing.T) {
	var pipe bytes.Buffer
	if err := writeFrame(&pipe, job{DocID: "LS-1"}); err != nil {
		t.Fatal(err)
	}
	var j job
	if err := readFrame(&pipe, &j); err != nil || j.DocID != "LS-1" {
		t.Errorf("got %+v, %v", j, err)
	}
	if err := readFrame(bytes.NewReader([]byte{0xff, 0, 0, 0}), &j); err == nil {
		t.Error("a frame of four gigabytes was begun")
	}
	if err := writeFrame(httptest.NewRecorder(), answer{Err: string(make([]byte, maxFrame))}); err == nil {
		t.Error("a frame that nobody would read was written")
	}
}
