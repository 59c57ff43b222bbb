package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/outbound"
	"dlo/dlq"
	"dlo/dlq/redrive"
)

type targetCommand struct {
	Check targetCheckCommand `cmd:"" help:"Send marked test redrives to a target, and say whether it keeps the promises."`
}

type targetCheckCommand struct {
	URL           string        `arg:"" help:"The redrive target, as it stands in the source's policy."`
	SecretFile    string        `help:"File with the secret that signs (whsec_…); without one the redrives are unsigned." placeholder:"FILE"`
	OutboundAllow string        `help:"What may be reached beside public addresses, as of serve." placeholder:"LIST"`
	ReplyListen   string        `help:"Address to listen on for outcomes that the target reports to reply_to; without one only its answers count." placeholder:"HOST:PORT"`
	Wait          time.Duration `default:"10s" help:"How long to wait for reported outcomes."`
	JSON          bool          `name:"json" help:"Print what was found as JSON."`
}

// Help says what kong prints under the command's flags.
func (targetCheckCommand) Help() string {
	return `Each redrive says "test": true in its body and Dlo-Test: true in its header: answer it with
{"result":"committed|skipped|superseded"} as of a document, and commit nothing.

Exit codes: 0 every promise is kept, 1 one is broken, 2 the target could not be checked, 3 none is
broken, but it did not tell enough.`
}

// exitCode ends the program with a number of its own, after its output has said
// why.
type exitCode struct {
	error
	code int
}

func (e exitCode) ExitCode() int { return e.code }
func (e exitCode) Unwrap() error { return e.error }

// Run checks the target, prints what was found, and ends with the exit code of it.
func (c targetCheckCommand) Run(ctx context.Context) error {
	check, closeAll, err := c.prepare()
	if err != nil {
		return exitCode{err, 2}
	}
	report := check.Run(ctx)
	if err := closeAll(); err != nil {
		return exitCode{fmt.Errorf("stop listening: %w", err), 2}
	}
	if c.JSON {
		err = c.printJSON(os.Stdout, report)
	} else {
		err = c.printText(os.Stdout, report)
	}
	if err != nil {
		return exitCode{fmt.Errorf("print what was found: %w", err), 2}
	}
	switch code := codeOf(report); code {
	case 0:
		return nil
	default:
		return exitCode{errFaults, code}
	}
}

func codeOf(r redrive.TargetReport) int {
	switch {
	case r.Unchecked != "":
		return 2
	case r.Count(redrive.PromiseBroken) > 0:
		return 1
	case r.Count(redrive.PromiseUnknown) > 0:
		return 3
	}
	return 0
}

func (c targetCheckCommand) prepare() (*redrive.TargetCheck, func() error, error) {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return nil, nil, errors.New("an http or https address without user information expected")
	}
	allow, err := outbound.ParseAllow(c.OutboundAllow)
	if err != nil {
		return nil, nil, fmt.Errorf("--outbound-allow %q: %w", c.OutboundAllow, err)
	}
	check := &redrive.TargetCheck{Clock: time.Now, URL: c.URL,
		Sender: webhook.New(outbound.New(outbound.Options{Allow: allow, ConnectTimeout: 3 * time.Second, Timeout: webhook.Timeout}), time.Now)}
	if c.SecretFile != "" {
		b, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--secret-file: %w", err)
		}
		if check.Secret = strings.TrimSpace(string(b)); !dlq.ValidSecret(check.Secret) {
			return nil, nil, fmt.Errorf("--secret-file %s: %w", c.SecretFile, dlq.ErrSecret)
		}
	}
	if c.ReplyListen == "" {
		return check, func() error { return nil }, nil
	}
	heard, err := listenForOutcomes(c.ReplyListen, c.Wait)
	if err != nil {
		return nil, nil, fmt.Errorf("--reply-listen %q: %w", c.ReplyListen, err)
	}
	check.ReplyTo, check.Heard = heard.replyTo, heard.wait
	return check, heard.server.Close, nil
}

// shownTarget is the target without what an address may hold of secrets.
func (c targetCheckCommand) shownTarget() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (c targetCheckCommand) printJSON(w io.Writer, r redrive.TargetReport) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Target string `json:"target"`
		Kept   bool   `json:"kept"` // every promise
		redrive.TargetReport
	}{c.shownTarget(), codeOf(r) == 0, r})
}

func (c targetCheckCommand) printText(w io.Writer, r redrive.TargetReport) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", c.shownTarget())
	if r.Unchecked != "" {
		why := r.Unchecked
		if strings.Contains(why, "--outbound-allow") { // the words are those of a server
			why = "only public addresses on ports 80 and 443 may be reached; open this one with --outbound-allow"
		}
		fmt.Fprintf(&out, "It could not be checked: %s.\n", why)
	}
	for _, p := range r.Promises {
		fmt.Fprintf(&out, "%-8s  %s\n          %s\n", p.State, p.Name, p.Says)
	}
	if len(r.Promises) > 0 {
		fmt.Fprintf(&out, "\n%d of %d promises are kept, %d broken, %d not told. %d test redrives were sent; no document was.\n", r.Count(redrive.PromiseKept), len(r.Promises), r.Count(redrive.PromiseBroken), r.Count(redrive.PromiseUnknown), len(r.Deliveries))
	}
	if r.Count(redrive.PromiseUnknown) > 0 {
		fmt.Fprintf(&out, "What is not told can be: answer with {\"result\":…}, or let this command listen with --reply-listen.\n")
	}
	if c.SecretFile == "" && r.Unchecked == "" {
		fmt.Fprintf(&out, "The redrives were unsigned; with --secret-file the check also says whether forgeries are refused.\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// heardOutcomes are the outcomes of test redrives that a target reports.
type heardOutcomes struct {
	server  *http.Server
	replyTo string
	most    time.Duration

	mu    sync.Mutex
	told  map[string]dlq.OutcomeResult
	newer chan struct{} // closed and made anew whenever something is told
}

func listenForOutcomes(address string, most time.Duration) (*heardOutcomes, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	h := &heardOutcomes{replyTo: "http://" + listener.Addr().String() + "/api/v1/outcomes", most: most, told: map[string]dlq.OutcomeResult{}, newer: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/outcomes", h.take)
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}
	go func() { _ = h.server.Serve(listener) }() // it ends when the server is closed
	return h, nil
}

// take keeps a report. Who sends it is not asked: the ids of test redrives are
// random, and nothing but this check's answer hangs on them.
func (h *heardOutcomes) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, dlq.MaxEnvelope))
	if err != nil {
		http.Error(w, "the report is too long", http.StatusRequestEntityTooLarge)
		return
	}
	o, err := dlq.ParseOutcome(body, time.Now())
	if err != nil || o.RedriveID == "" {
		http.Error(w, "an outcome with the redrive_id expected", http.StatusUnprocessableEntity)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, told := h.told[o.RedriveID]; !told && len(h.told) < 1000 { // the first settles a redrive, as on the server
		h.told[o.RedriveID] = o.Result
	}
	close(h.newer)
	h.newer = make(chan struct{})
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"applied":true}`)
}

// wait answers once all are told, or the time is over.
func (h *heardOutcomes) wait(ctx context.Context, ids []string) map[string]dlq.OutcomeResult {
	ctx, cancel := context.WithTimeout(ctx, h.most)
	defer cancel()
	for {
		out := map[string]dlq.OutcomeResult{}
		h.mu.Lock()
		newer := h.newer
		missing := false
		for _, id := range ids {
			if result, ok := h.told[id]; ok {
				out[id] = result
			} else {
				missing = true
			}
		}
		h.mu.Unlock()
		if !missing {
			return out
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return out
		}
	}
}
