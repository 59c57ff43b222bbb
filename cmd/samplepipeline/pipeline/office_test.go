package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

// office is a dead letter office that keeps what the pipeline tells it.
type office struct {
	*httptest.Server
	t *testing.T

	mu          sync.Mutex
	down        bool
	parked      map[string]dlq.Envelope // by source/doc_id
	parks       int
	refused     int               // calls to park while it was down
	payloads    map[string][]byte // by source/doc_id
	outcomes    []client.Outcome
	deployments []string
	skip        map[string]bool // look-ups that are advised to skip
	changed     chan struct{}   // one note whenever something came
}

func newOffice(t *testing.T) *office {
	o := &office{t: t, parked: map[string]dlq.Envelope{}, payloads: map[string][]byte{}, skip: map[string]bool{}, changed: make(chan struct{}, 100_000)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/dead-letters", o.park)
	mux.HandleFunc("POST /api/v1/dead-letters/lookup", o.lookup)
	mux.HandleFunc("POST /api/v1/outcomes", o.outcome)
	mux.HandleFunc("POST /api/v1/deployments", o.deployed)
	mux.HandleFunc("GET /copy/{source}/{doc_id}", o.copy)
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.down {
			if r.URL.Path == "/api/v1/dead-letters" {
				o.refused++
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			o.changed <- struct{}{}
			return
		}
		mux.ServeHTTP(w, r)
		o.changed <- struct{}{}
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *office) park(w http.ResponseWriter, r *http.Request) {
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var envelope, payload []byte
	if kind == "multipart/form-data" {
		parts := multipart.NewReader(r.Body, params["boundary"])
		for {
			part, err := parts.NextPart()
			if err != nil {
				break
			}
			b, _ := io.ReadAll(part)
			if part.FormName() == "envelope" {
				envelope = b
			} else {
				payload = b
			}
		}
	} else {
		envelope, _ = io.ReadAll(r.Body)
	}
	if kind == "application/x-ndjson" {
		for i, line := range bytes.Split(bytes.TrimSpace(envelope), []byte("\n")) {
			e := o.keep(line, nil)
			fmt.Fprintf(w, `{"line":%d,"status":201,"entry":{"dlq_id":"01J","doc_id":%q}}`+"\n", i+1, e.DocID)
		}
		return
	}
	e := o.keep(envelope, payload)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"dlq_id":"01J","source":%q,"doc_id":%q,"status":"parked","created":true}`, e.Source, e.DocID)
}

func (o *office) keep(envelope, payload []byte) dlq.Envelope {
	e, err := dlq.ParseEnvelope(envelope, fixedNow)
	if err != nil {
		o.t.Errorf("an envelope is not valid: %v\n%s", err, envelope)
	}
	o.parks++
	o.parked[e.Source+"/"+e.DocID] = e
	o.payloads[e.Source+"/"+e.DocID] = payload
	return e
}

func (o *office) lookup(w http.ResponseWriter, r *http.Request) {
	var docs []map[string]any
	if err := json.NewDecoder(r.Body).Decode(&docs); err != nil {
		o.t.Error(err)
	}
	items := []map[string]any{}
	for _, d := range docs {
		advice := "try"
		if o.skip[fmt.Sprintf("%v/%v", d["source"], d["doc_id"])] {
			advice = "skip"
		}
		items = append(items, map[string]any{"status": "parked", "advice": advice})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
}

func (o *office) outcome(w http.ResponseWriter, r *http.Request) {
	var out client.Outcome
	if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
		o.t.Error(err)
	}
	o.outcomes = append(o.outcomes, out)
	_, _ = io.WriteString(w, `{"applied":true,"status":"resolved"}`)
}

func (o *office) deployed(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	o.deployments = append(o.deployments, string(b))
	_, _ = io.WriteString(w, "{}")
}

func (o *office) copy(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write(o.payloads[r.PathValue("source")+"/"+r.PathValue("doc_id")])
}

// await waits until the office has seen what the test waits for.
func (o *office) await(what string, seen func() bool) {
	o.t.Helper()
	late := time.After(30 * time.Second)
	for {
		o.mu.Lock()
		ok := seen()
		o.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-o.changed:
		case <-late:
			o.t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// redrive signs and delivers a redrive of a parked document, and gives the status.
func (o *office) redrive(base, redriveID, source, id string, change func(map[string]any)) int {
	o.t.Helper()
	o.mu.Lock()
	e := o.parked[source+"/"+id]
	o.mu.Unlock()
	body := map[string]any{"type": "dead_letter.redrive", "redrive_id": redriveID, "source": source, "doc_id": id, "content_hash": e.ContentHash,
		"payload_sha256": e.PayloadSHA256, "payload_url": o.URL + "/copy/" + source + "/" + id, "mode": "held", "source_version": e.SourceVersion, "ingest_seq": e.IngestSeq}
	if change != nil {
		change(body)
	}
	return o.deliver(base, redriveID, body, testSecret)
}

func (o *office) deliver(base, id string, event map[string]any, secret string) int {
	o.t.Helper()
	body, err := json.Marshal(event)
	if err != nil {
		o.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, base+"/redrive", bytes.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	sign(o.t, req, id, body, secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
