package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dlo/dlq/client"
)

// routes are all addresses of the pipeline. What changes it is for this machine
// alone; redrives are for whoever can sign them; documents are for everybody.
func (p *Pipeline) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs/{source}/{doc_id}", p.folder.serveDocument) // HEAD too
	mux.HandleFunc("POST /redrive", p.takeRedrive)

	local := http.NewServeMux()
	local.HandleFunc("GET /{$}", p.showPage)
	local.HandleFunc("GET /page.css", showStyle)
	local.HandleFunc("GET /control/status", p.showStatus)
	local.HandleFunc("GET /control/documents", p.listDocuments)
	local.HandleFunc("GET /control/committed", p.listCommitted)
	local.HandleFunc("POST /control/parser", p.control(p.controlParser))
	local.HandleFunc("POST /control/memory", p.control(p.controlMemory))
	local.HandleFunc("POST /control/outcomes", p.control(p.controlOutcomes))
	local.HandleFunc("POST /control/slow", p.control(p.controlSlow))
	local.HandleFunc("POST /control/edit", p.control(p.controlEdit))
	local.HandleFunc("POST /control/delete", p.control(p.controlDelete))
	local.HandleFunc("POST /control/sync", p.control(p.controlSync))
	guarded := thisMachineOnly(http.NewCrossOriginProtection().Handler(local))
	mux.Handle("/control/", guarded)
	mux.Handle("/page.css", guarded)
	mux.Handle("/{$}", guarded)
	return mux
}

// thisMachineOnly lets in what comes from a loopback address and names one: the
// second half keeps a web page out whose name was pointed at this machine.
func thisMachineOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !from.Addr().Unmap().IsLoopback() || !namesLoopback(r.Host) {
			http.Error(w, "this part of the pipeline is for its own machine, by a loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func namesLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "localhost" || (err == nil && ip.IsLoopback())
}

// maxDelivery is how long the body of a delivery may be, in bytes.
const maxDelivery = 64 << 10

// responseTime is how long the answer to a redrive waits for the outcome, where it
// stands in it. The server waits 30 s.
const responseTime = 20 * time.Second

// takeRedrive takes a delivery of the server: 202 as soon as it is on disk or, for
// a source that answers in the response, 200 with what came of it.
func (p *Pipeline) takeRedrive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		http.Error(w, fmt.Sprintf("a delivery has at most %d bytes", maxDelivery), http.StatusRequestEntityTooLarge)
		return
	}
	verifier := client.Verifier{Secrets: p.options.Secrets, Now: p.now}
	event, err := verifier.Event(r.Header, body)
	if err != nil {
		p.log.Warn("a delivery was refused", "error", err)
		http.Error(w, "the delivery is not signed with the secret that the pipeline knows", http.StatusUnauthorized)
		return
	}
	var outcome *client.Outcome
	switch event {
	case client.EventRedrive:
		var redrive client.Redrive
		if redrive, err = verifier.Redrive(r.Header, body); err == nil && redrive.Test {
			p.judgeTest(w, r, redrive)
			return
		}
		outcome, err = p.queueRedrive(r, verifier, body)
	case client.EventErased:
		err = p.eraseDocument(r, verifier, body)
	}
	var bad *badDelivery
	switch {
	case errors.As(err, &bad):
		http.Error(w, bad.Error(), http.StatusUnprocessableEntity)
	case err != nil:
		p.log.Error("a delivery could not be taken", "error", err)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the delivery could not be stored; send it again", http.StatusServiceUnavailable)
	case outcome != nil:
		answerJSON(w, http.StatusOK, outcome)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// badDelivery is one that is signed and cannot be worked on.
type badDelivery struct{ error }

// queueRedrive puts a redrive into the queue. It gives the outcome where the
// source answers in the response.
func (p *Pipeline) queueRedrive(r *http.Request, v client.Verifier, body []byte) (*client.Outcome, error) {
	redrive, err := v.Redrive(r.Header, body)
	if err != nil {
		return nil, &badDelivery{err}
	}
	if redrive.Source == "" || redrive.DocID == "" {
		return nil, &badDelivery{errors.New("a redrive names its source and doc_id")}
	}
	outcomes := p.ways.of(redrive.Source).Outcomes
	if err := p.store.enqueueRedrive(r.Context(), redrive, body, outcomes == outcomesReported, p.queueNow()); err != nil {
		return nil, err
	}
	wake(p.workCame)
	p.wakeReporter()
	if outcomes != outcomesResponse {
		return nil, nil
	}
	ctx, done := context.WithTimeout(r.Context(), responseTime)
	defer done()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		o, found, err := p.store.outcomeOf(ctx, redrive.RedriveID)
		if err != nil || found {
			return &o, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.New("the outcome is not known yet") // 503: the second delivery finds it
		case <-look.C:
		}
	}
}

func (p *Pipeline) eraseDocument(r *http.Request, v client.Verifier, body []byte) error {
	erasure, err := v.Erasure(r.Header, body)
	if err != nil {
		return &badDelivery{err}
	}
	p.log.Info("a document was erased", "erasure_id", erasure.ErasureID, "dlq_id", erasure.DLQID)
	return p.store.erase(r.Context(), erasure.Source, erasure.DocID)
}

// controlRequest is the body of every POST to /control, as JSON or as a form.
type controlRequest struct {
	Version      string `json:"version"`
	Source       string `json:"source"`
	DocID        string `json:"doc_id"`
	Memory       string `json:"memory"`       // small, large
	Mode         string `json:"mode"`         // of outcomes: reported, response, silent
	Milliseconds int    `json:"milliseconds"` // that a worker waits before a document
}

// readControl reads a request; fromPage says that one of the page's forms sent
// it. The body decides, not its content type: curl -d calls everything a form.
func readControl(w http.ResponseWriter, r *http.Request) (asked controlRequest, fromPage bool, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		return controlRequest{}, false, &badRequest{fmt.Errorf("a request has at most %d bytes", maxDelivery)}
	}
	body = bytes.TrimSpace(body)
	form := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	if form && !bytes.HasPrefix(body, []byte("{")) {
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return controlRequest{}, true, &badRequest{errors.New("the form is not understood")}
		}
		asked = controlRequest{Version: values.Get("version"), Source: values.Get("source"), DocID: values.Get("doc_id"), Memory: values.Get("memory"), Mode: values.Get("mode")}
		if text := values.Get("milliseconds"); text != "" {
			asked.Milliseconds, err = strconv.Atoi(text)
			if err != nil {
				return controlRequest{}, true, &badRequest{fmt.Errorf("a whole number of milliseconds expected")}
			}
		}
		return asked, true, nil
	}
	if len(body) > 0 && json.Unmarshal(body, &asked) != nil {
		return controlRequest{}, false, &badRequest{errors.New("the body is not the JSON of a request")}
	}
	return asked, false, nil
}

// control reads a request, does it, and answers: JSON to a program, and to the
// page's forms the page again.
func (p *Pipeline) control(do func(*http.Request, controlRequest) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var answer any
		asked, fromPage, err := readControl(w, r)
		if err == nil {
			answer, err = do(r, asked)
		}
		var bad *badRequest
		switch {
		case errors.As(err, &bad):
			answerError(w, http.StatusUnprocessableEntity, bad.Error())
		case errors.Is(err, fs.ErrNotExist):
			answerError(w, http.StatusNotFound, "the source has no such document")
		case err != nil:
			p.log.Error("a request to the control surface failed", "path", r.URL.Path, "error", err)
			answerError(w, http.StatusBadGateway, err.Error())
		case fromPage:
			http.Redirect(w, r, "/", http.StatusSeeOther)
		default:
			answerJSON(w, http.StatusOK, answer)
		}
	}
}

// badRequest is a request that says something that cannot be done.
type badRequest struct{ error }

func answerJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, "the answer could not be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a caller that went away needs no answer
}

func answerError(w http.ResponseWriter, status int, sentence string) {
	answerJSON(w, status, map[string]string{"error": sentence})
}
