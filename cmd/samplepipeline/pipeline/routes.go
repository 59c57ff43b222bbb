package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

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

// takeRedrive takes a delivery of the server: 202 as soon as it is on disk.
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
	switch event {
	case client.EventRedrive:
		var redrive client.Redrive
		if redrive, err = verifier.Redrive(r.Header, body); err == nil && redrive.Test {
			p.judgeTest(w, r, redrive)
			return
		}
		err = p.queueRedrive(r, verifier, body)
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
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// badDelivery is one that is signed and cannot be worked on.
type badDelivery struct{ error }

func (p *Pipeline) queueRedrive(r *http.Request, v client.Verifier, body []byte) error {
	redrive, err := v.Redrive(r.Header, body)
	if err != nil {
		return &badDelivery{err}
	}
	if redrive.Source == "" || redrive.DocID == "" {
		return &badDelivery{errors.New("a redrive names its source and doc_id")}
	}
	if err := p.store.enqueue(r.Context(), redrive.RedriveID, body, p.now()); err != nil {
		return err
	}
	wake(p.redriveCame)
	p.wakeReporter()
	return nil
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
	Version string `json:"version"`
	Source  string `json:"source"`
	DocID   string `json:"doc_id"`
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
		return controlRequest{Version: values.Get("version"), Source: values.Get("source"), DocID: values.Get("doc_id")}, true, nil
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
