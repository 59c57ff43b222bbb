package handlers

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/connectors/payload"
	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/intake"
	"dlo/dlq/redrive"
	"dlo/static"
	"dlo/web"
)

// site is the real thing behind its routes: store, payloads, sessions, server;
// only the clock is ours.
type site struct {
	t        *testing.T
	store    *db.Store
	handlers *Handlers
	handler  http.Handler
	clock    *clock
	plans    plans
}

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

const siteAddress = "https://dlo.example.com"

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, clock: &clock{at: noon}}
	o := db.Options{Path: filepath.Join(t.TempDir(), "dlo.db"), Key: make([]byte, 32), Clock: s.clock.now}
	s.plans.watch(&o)
	var err error
	if s.store, err = db.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.plans.hold(t, s.store)
		s.store.Close()
	})
	payloads, err := payload.Open("file:" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { payloads.Close() })
	base, err := url.Parse(siteAddress)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := web.NewSessions(web.SessionsConfig{Rows: siteSessions{s.store}, People: s.store.Person, PublicURL: base, Now: s.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	assets, err := web.NewAssets(static.FS, static.URL)
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.NewServer(web.ServerConfig{PublicURL: base, Pages: ErrorPages(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.handlers = &Handlers{
		Store: s.store, Intake: intake.New(s.store, payloads, s.clock.now, 1<<20), Redrives: &redrive.Planner{Store: s.store, Clock: s.clock.now},
		Payloads: payloads, Sessions: sessions, Passwords: sitePasswords(), Throttle: web.NewLoginThrottle(siteThrottle{s.store}, s.clock.now),
		Assets: assets, PublicURL: base, Now: s.clock.now, MaxFetch: 1 << 20, Wake: func() {},
	}
	s.handlers.Register(server.Echo, func(context.Context, string) (web.Token, bool, error) { return web.Token{}, false, nil })
	s.handler = server.Handler()
	return s
}

// sitePasswords is one hasher for all tests: making one hashes once.
var sitePasswords = sync.OnceValue(web.NewPasswords)

type siteSessions struct{ store *db.Store }

func (r siteSessions) Session(ctx context.Context, hash string) (web.SessionRow, bool, error) {
	v, found, err := r.store.Session(ctx, hash)
	return web.SessionRow{Hash: v.Hash, UserID: v.PersonID, Data: v.Data, CreatedAt: v.CreatedAt, SeenAt: v.SeenAt}, found, err
}

func (r siteSessions) PutSession(ctx context.Context, row web.SessionRow, keep int) error {
	return r.store.PutSession(ctx, db.Session{Hash: row.Hash, PersonID: row.UserID, Data: row.Data, CreatedAt: row.CreatedAt, SeenAt: row.SeenAt}, keep)
}

func (r siteSessions) TouchSession(ctx context.Context, hash string, seenAt time.Time, data []byte) error {
	return r.store.TouchSession(ctx, hash, seenAt, data)
}

func (r siteSessions) DeleteSession(ctx context.Context, hash string) error {
	return r.store.DeleteSession(ctx, hash)
}

func (r siteSessions) DeleteSessionsOf(ctx context.Context, id string) error {
	return r.store.DeleteSessionsOf(ctx, id)
}

type siteThrottle struct{ store *db.Store }

func (r siteThrottle) Throttle(ctx context.Context, key string) (web.ThrottleRow, bool, error) {
	failures, at, found, err := r.store.Throttle(ctx, key)
	return web.ThrottleRow{Key: key, Failures: failures, At: at}, found, err
}

func (r siteThrottle) PutThrottle(ctx context.Context, row web.ThrottleRow) error {
	return r.store.PutThrottle(ctx, row.Key, row.Failures, row.At)
}

func (r siteThrottle) DeleteThrottle(ctx context.Context, key string) error {
	return r.store.DeleteThrottle(ctx, key)
}

// visitor is a browser without a script: it keeps cookies, follows nothing by
// itself, and sends the token of the form that it saw last.
type visitor struct {
	site    *site
	cookies map[string]string
	token   string
}

func (s *site) visitor() *visitor { return &visitor{site: s, cookies: map[string]string{}} }

// answered is what came back.
type answered struct {
	status   int
	location string
	body     string
	header   http.Header
}

var formToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (v *visitor) do(r *http.Request) answered {
	v.site.t.Helper()
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	v.site.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		} else {
			v.cookies[c.Name] = c.Value
		}
	}
	p := answered{w.Code, w.Header().Get("Location"), w.Body.String(), w.Header()}
	if m := formToken.FindStringSubmatch(p.body); m != nil {
		v.token = html.UnescapeString(m[1])
	}
	return p
}

func (v *visitor) get(path string, headers ...string) answered {
	v.site.t.Helper()
	r := httptest.NewRequest(http.MethodGet, siteAddress+path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return v.do(r)
}

// post sends a form with the token that the visitor saw last; fields are name
// and value in turn, and one named csrf replaces the token.
func (v *visitor) post(path string, fields ...string) answered {
	v.site.t.Helper()
	form := url.Values{"csrf": {v.token}}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "csrf" {
			form.Del("csrf")
		}
		form.Add(fields[i], fields[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, siteAddress+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.do(r)
}

const sitePassword = "four unusual words here"

// sitePasswordHash is the hash of everybody's password, made once: hashing is
// slow on purpose.
var sitePasswordHash = func() func(testing.TB) string {
	var once sync.Once
	var hash string
	var err error
	return func(t testing.TB) string {
		t.Helper()
		once.Do(func() { hash, err = sitePasswords().Hash(context.Background(), sitePassword) })
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
}()

// person adds somebody, and signIn gives them a browser.
func (s *site) person(email string, role dlq.Role, sources ...string) dlq.Person {
	s.t.Helper()
	hash := sitePasswordHash(s.t)
	p, err := s.store.AddPerson(s.t.Context(), dlq.Policy("test"), dlq.Person{Email: email, Role: role, Sources: sources}, hash)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *site) signIn(role dlq.Role, sources ...string) *visitor {
	s.t.Helper()
	email := fmt.Sprintf("%s@example.com", role)
	s.person(email, role, sources...)
	v := s.visitor()
	v.get("/login")
	if p := v.post("/login", "email", email, "password", sitePassword); p.status != http.StatusSeeOther {
		s.t.Fatalf("sign in as %s: %d", role, p.status)
	}
	v.get("/cohorts") // for the token of its forms
	return v
}

// park parks a document as a pipeline would; fields are JSON without braces.
func (s *site) park(fields string) dlq.Receipt {
	s.t.Helper()
	r, err := s.handlers.Intake.Receive(s.t.Context(), dlq.Actor{Kind: dlq.ActorToken, Scopes: dlq.Scopes, Name: "pipeline"}, intake.Parcel{Body: []byte("{" + fields + "}")})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// trail is the audit trail, newest first.
func (s *site) trail() []dlq.AuditRow {
	s.t.Helper()
	rows, err := s.store.AuditTrail(s.t.Context(), 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	return rows
}
