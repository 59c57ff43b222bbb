package handlers

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/connectors/outbound"
	"dlo/connectors/payload"
	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/intake"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
	"dlo/docs"
	"dlo/static"
	"dlo/web"
)

// apiServer is the whole server on a loopback port, as the program wires it,
// but for the clock and the pages.
type apiServer struct {
	t        *testing.T
	url      string
	addr     string
	store    *db.Store
	payloads payload.Store
	folder   string // of the data
	guard    *outbound.Guard
	links    SignedLinks
	handlers *Handlers
	clock    *apiClock
	log      *apiLog
	contract *apiContract
	client   *http.Client      // its own, so that it can let go of its connections
	tokens   map[string]string // by their scopes and source
}

// apiStart is the moment at which every test begins.
var apiStart = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

const apiPayloadLimit = 1 << 20 // bytes, so that a test can go over it

type apiClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *apiClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *apiClock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// apiLog gathers what the server logs.
type apiLog struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *apiLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *apiLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// newAPI starts a server with an empty database. It is stopped, and waited
// for, when the test ends.
func newAPI(t *testing.T) *apiServer { return newAPIWith(t, db.Options{}, apiPayloadLimit) }

func newAPIWith(t *testing.T, o db.Options, payloadLimit int64) *apiServer {
	t.Helper()
	a := &apiServer{t: t, folder: t.TempDir(), clock: &apiClock{now: apiStart}, log: &apiLog{}, guard: outbound.NewGuard(), client: &http.Client{Transport: &http.Transport{}}, contract: apiContractOf(t), tokens: map[string]string{}}
	o.Path, o.Key, o.Clock = filepath.Join(a.folder, "dlo.db"), bytes.Repeat([]byte{7}, 32), a.clock.Now
	o.Synchronous = "OFF" // what a power cut does is another test's claim
	var plans plans
	plans.watch(&o)
	var err error
	if a.store, err = db.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if a.payloads, err = payload.Open("file:" + filepath.Join(a.folder, "blobs")); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.addr = listener.Addr().String()
	a.url = "http://" + a.addr
	server := a.wire(payloadLimit)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		a.client.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		plans.hold(t, a.store)
		if err := a.store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
		if err := a.payloads.Close(); err != nil {
			t.Errorf("close the payload store: %v", err)
		}
	})
	return a
}

func (a *apiServer) wire(payloadLimit int64) *web.Server {
	a.t.Helper()
	base, err := url.Parse(a.url)
	if err != nil {
		a.t.Fatal(err)
	}
	a.links = SignedLinks{Key: []byte("a key for the links of a test"), Base: base}
	noSecrets := func(string, string) (string, error) { return "", errors.New("there is no secret of this name") }
	prober := probe.New(a.guard.Client(outbound.Options{ConnectTimeout: 3 * time.Second}), noSecrets, a.clock.Now, payloadLimit)
	sessions, err := web.NewSessions(web.SessionsConfig{Rows: apiNoSessions{}, People: a.store.Person, PublicURL: base, Now: a.clock.Now})
	if err != nil {
		a.t.Fatal(err)
	}
	assets, err := web.NewAssets(static.FS, static.URL)
	if err != nil {
		a.t.Fatal(err)
	}
	server, err := web.NewServer(web.ServerConfig{Listen: a.addr, PublicURL: base, Log: slog.New(slog.NewJSONHandler(a.log, nil)), ShutdownGrace: 5 * time.Second})
	if err != nil {
		a.t.Fatal(err)
	}
	wake := func() {}
	a.handlers = &Handlers{Store: a.store, Intake: intake.New(a.store, a.payloads, a.clock.Now, payloadLimit),
		Redrives: &redrive.Planner{Store: a.store, Clock: a.clock.Now, Wake: wake}, Outcomes: &redrive.Reporter{Store: a.store, Clock: a.clock.Now, Wake: wake},
		Prober: prober, Payloads: a.payloads, Links: a.links, Sessions: sessions, Assets: assets, PublicURL: base, Now: a.clock.Now, MaxFetch: payloadLimit, OpenAPI: docs.OpenAPI, Wake: wake}
	a.handlers.Register(server.Echo, a.findToken)
	return server
}

// findToken is what the program does between store and web.
func (a *apiServer) findToken(ctx context.Context, id string) (web.Token, bool, error) {
	t, found, err := a.store.Token(ctx, id)
	if err != nil || !found {
		return web.Token{}, false, err
	}
	hash, err := hex.DecodeString(t.Hash)
	out := web.Token{ID: t.ID, Name: t.Name, Hash: hash, Scopes: t.Scopes, ExpiresAt: t.ExpiresAt, Revoked: !t.RevokedAt.IsZero()}
	if t.Source != "" {
		out.Sources = []string{t.Source}
	}
	return out, true, err
}

// apiNoSessions is the store of sessions where nobody signs in.
type apiNoSessions struct{}

func (apiNoSessions) Session(context.Context, string) (web.SessionRow, bool, error) {
	return web.SessionRow{}, false, nil
}
func (apiNoSessions) PutSession(context.Context, web.SessionRow, int) error { return nil }
func (apiNoSessions) TouchSession(context.Context, string, time.Time, []byte) error {
	return nil
}
func (apiNoSessions) DeleteSession(context.Context, string) error    { return nil }
func (apiNoSessions) DeleteSessionsOf(context.Context, string) error { return nil }

// token gives a token of a scope, bound to a source where one is named.
func (a *apiServer) token(scope dlq.Scope, source string) string {
	a.t.Helper()
	key := string(scope) + "@" + source
	if plain, ok := a.tokens[key]; ok {
		return plain
	}
	plain, id, hash := web.NewToken()
	t := dlq.Token{ID: id, Name: key, Hash: hex.EncodeToString(hash), Scopes: []dlq.Scope{scope}, Source: source}
	if err := a.store.AddToken(a.t.Context(), dlq.Policy("a test"), t); err != nil {
		a.t.Fatal(err)
	}
	a.tokens[key] = plain
	return plain
}

// apiCall is one request to the server.
type apiCall struct {
	method, path string
	body         any    // JSON of it; []byte, string and io.Reader as they are, the last without a length
	contentType  string // application/json where there is a body
	scope        dlq.Scope
	source       string // that the token is bound to
	token        string // in place of scope
	header       http.Header
}

// apiAnswer is what came back.
type apiAnswer struct {
	t      *testing.T
	call   string
	status int
	header http.Header
	body   []byte
}

// do sends a request, and holds the answer to the contract.
func (a *apiServer) do(c apiCall) apiAnswer {
	a.t.Helper()
	var body io.Reader
	var sent []byte
	switch b := c.body.(type) {
	case nil:
	case []byte:
		sent = b
	case string:
		sent = []byte(b)
	case io.Reader:
		body = b
	default:
		var err error
		if sent, err = json.Marshal(b); err != nil {
			a.t.Fatal(err)
		}
	}
	if body == nil && c.body != nil {
		body = bytes.NewReader(sent)
	}
	req, err := http.NewRequestWithContext(a.t.Context(), c.method, a.url+c.path, body)
	if err != nil {
		a.t.Fatal(err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	if c.contentType == "" && c.body != nil {
		c.contentType = typeJSON
	}
	if c.contentType != "" {
		req.Header.Set("Content-Type", c.contentType)
	}
	if c.token == "" && c.scope != "" {
		c.token = a.token(c.scope, c.source)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	answer := apiAnswer{t: a.t, call: c.method + " " + c.path, status: res.StatusCode, header: res.Header, body: got}
	a.contract.hold(a.t, req, sent, answer)
	return answer
}

func (a *apiServer) get(path string, scope dlq.Scope) apiAnswer {
	a.t.Helper()
	return a.do(apiCall{method: http.MethodGet, path: path, scope: scope})
}

func (a *apiServer) post(path string, scope dlq.Scope, body any) apiAnswer {
	a.t.Helper()
	return a.do(apiCall{method: http.MethodPost, path: path, scope: scope, body: body})
}

// obj is a JSON object.
type obj = map[string]any

// park parks a document and answers its receipt.
func (a *apiServer) park(envelope obj) dlq.Receipt {
	a.t.Helper()
	answer := a.post("/api/v1/dead-letters", dlq.ScopeIngest, envelope)
	if answer.status != http.StatusCreated && answer.status != http.StatusOK {
		a.t.Fatalf("parking was answered %d: %s", answer.status, answer.body)
	}
	return apiInto[dlq.Receipt](answer)
}

// entry reads an entry as an unbound reader sees it.
func (a *apiServer) entry(dlqID string) obj {
	a.t.Helper()
	return a.get("/api/v1/dead-letters/"+dlqID, dlq.ScopeRead).want(http.StatusOK).object()
}

// source puts a policy.
func (a *apiServer) putSource(name string, policy obj) {
	a.t.Helper()
	answer := a.do(apiCall{method: http.MethodPut, path: "/api/v1/sources/" + name, scope: dlq.ScopeAdmin, body: policy})
	if answer.status != http.StatusOK && answer.status != http.StatusCreated {
		a.t.Fatalf("the policy of %s was answered %d: %s", name, answer.status, answer.body)
	}
}

// want fails the test unless the status is the one expected.
func (r apiAnswer) want(status int) apiAnswer {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s was answered %d, want %d: %s", r.call, r.status, status, apiHead(r.body))
	}
	return r
}

func apiHead(b []byte) string {
	if len(b) > 500 {
		return string(b[:500]) + "…"
	}
	return string(b)
}

func (r apiAnswer) object() obj {
	r.t.Helper()
	return apiInto[obj](r)
}

// items are the rows of a list.
func (r apiAnswer) items() []obj {
	r.t.Helper()
	var list struct{ Items []obj }
	r.into(&list)
	return list.Items
}

func (r apiAnswer) into(dst any) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, dst); err != nil {
		r.t.Fatalf("%s: %v in %s", r.call, err, apiHead(r.body))
	}
}

func apiInto[T any](r apiAnswer) T {
	r.t.Helper()
	var v T
	r.into(&v)
	return v
}

// lines are the lines of an NDJSON answer.
func (r apiAnswer) lines() []obj {
	r.t.Helper()
	var out []obj
	for line := range strings.Lines(string(r.body)) {
		var o obj
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			r.t.Fatalf("%s: %v in line %q", r.call, err, line)
		}
		out = append(out, o)
	}
	return out
}

// problem reads an error, and fails the test unless it is one of the status
// and the kind.
func (r apiAnswer) problem(status int, kind dlq.Kind) web.Problem {
	r.t.Helper()
	r.want(status)
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		r.t.Errorf("%s: the error is of type %q", r.call, got)
	}
	p := apiInto[web.Problem](r)
	if p.Kind != kind || p.Status != status {
		r.t.Errorf("%s: the problem says %s and %d, want %s and %d", r.call, p.Kind, p.Status, kind, status)
	}
	return p
}

// pointers are the places that a problem names.
func pointersOf(p web.Problem) []string {
	out := []string{}
	for _, f := range p.Errors {
		out = append(out, f.Pointer)
	}
	return out
}

// part is one part of a multipart body.
type part struct{ name, filename, contentType, body string }

// multipartBody writes parts, and gives the content type that goes with them.
func multipartBody(t *testing.T, parts ...part) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name=%q`, p.name)
		if p.filename != "" {
			disposition += fmt.Sprintf(`; filename=%q`, p.filename)
		}
		h.Set("Content-Disposition", disposition)
		if p.contentType != "" {
			h.Set("Content-Type", p.contentType)
		}
		out, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, p.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// allow opens a loopback address to what the server sends, as its start would.
func (a *apiServer) allow(rawURL string) {
	a.t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		a.t.Fatal(err)
	}
	addr, err := netip.ParseAddrPort(u.Host)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := a.guard.AllowOwn(addr); err != nil {
		a.t.Fatal(err)
	}
}
