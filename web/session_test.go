package web

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// memoryRows keeps sessions as SessionRows demands it of a store.
type memoryRows struct {
	mu   sync.Mutex
	rows map[string]SessionRow
	fail error
	full error // of what writes alone
}

func (m *memoryRows) Session(_ context.Context, hash string) (SessionRow, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row, ok := m.rows[hash]
	return row, ok, m.fail
}

func (m *memoryRows) PutSession(_ context.Context, row SessionRow, keep int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[row.Hash] = row
	var own []SessionRow
	for _, r := range m.rows {
		if r.UserID == row.UserID {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, func(a, b SessionRow) int { return b.SeenAt.Compare(a.SeenAt) })
	for _, r := range own[min(keep, len(own)):] {
		delete(m.rows, r.Hash)
	}
	return nil
}

func (m *memoryRows) TouchSession(_ context.Context, hash string, seenAt time.Time, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full != nil {
		return m.full
	}
	if row, ok := m.rows[hash]; ok {
		row.SeenAt, row.Data = seenAt, data
		m.rows[hash] = row
	}
	return nil
}

func (m *memoryRows) DeleteSession(_ context.Context, hash string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, hash)
	return nil
}

func (m *memoryRows) DeleteSessionsOf(_ context.Context, userID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for hash, row := range m.rows {
		if row.UserID == userID {
			delete(m.rows, hash)
		}
	}
	return nil
}

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// office is a site with people who sign in.
type office struct {
	site
	*Sessions
	rows   *memoryRows
	clock  *clock
	mu     sync.Mutex
	people map[string]dlq.Person
	acts   int // how often a form changed something
}

func (o *office) change(id string, f func(*dlq.Person)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	person := o.people[id]
	f(&person)
	o.people[id] = person
}

func newOffice(t *testing.T, publicURL string) *office {
	t.Helper()
	o := &office{rows: &memoryRows{rows: map[string]SessionRow{}}, clock: newClock(), people: map[string]dlq.Person{
		"1": {ID: "1", Email: "analyst@example.com", Role: dlq.RoleAnalyst},
		"2": {ID: "2", Email: "reviewer@example.com", Role: dlq.RoleReviewer},
	}}
	cfg := SessionsConfig{Rows: o.rows, Now: o.clock.now, People: func(_ context.Context, id string) (dlq.Person, bool, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		person, found := o.people[id]
		return person, found, nil
	}}
	server := ServerConfig{Pages: testPages}
	if publicURL != "" {
		cfg.PublicURL, server.PublicURL = mustURL(publicURL), mustURL(publicURL)
	}
	var err error
	if o.Sessions, err = NewSessions(cfg); err != nil {
		t.Fatal(err)
	}
	o.site = startSite(t, server, func(e *echo.Echo) {
		pages := e.Group("", o.Middleware, o.CSRF)
		pages.GET("/login", func(c echo.Context) error { return c.String(200, o.CSRFToken(c)) })
		pages.POST("/login", func(c echo.Context) error {
			o.mu.Lock()
			person := o.people[c.FormValue("id")]
			o.mu.Unlock()
			if err := o.SignIn(c, person); err != nil {
				return err
			}
			return Redirect(c, "/me")
		})
		home := pages.Group("", Require(dlq.MaySee))
		home.GET("/me", func(c echo.Context) error {
			person, _ := PersonOf(c)
			return c.String(200, person.Email)
		})
		home.GET("/token", func(c echo.Context) error { return c.String(200, o.CSRFToken(c)) })
		home.GET("/decide", ok, Require(dlq.MayDecide))
		home.POST("/logout", func(c echo.Context) error {
			if err := o.SignOut(c); err != nil {
				return err
			}
			return Redirect(c, "/login")
		})
		home.GET("/flashes", func(c echo.Context) error {
			flashes, err := Flashes(c)
			if err != nil {
				return err
			}
			return c.JSON(200, flashes)
		})
		home.GET("/confirmed", func(c echo.Context) error {
			if !o.ConfirmedWithin(c, 5*time.Minute) {
				return dlq.Errorf(dlq.KindForbidden, "Give your password again.")
			}
			return ok(c)
		})
		home.POST("/confirm", func(c echo.Context) error {
			if err := o.Confirm(c); err != nil {
				return err
			}
			return ok(c)
		})
		act := func(c echo.Context) error {
			o.mu.Lock()
			o.acts++
			o.mu.Unlock()
			if err := AddFlash(c, Flash{Tone: "good", Text: "Done.", LinkText: "Undo", Link: "/undo"}); err != nil {
				return err
			}
			return ok(c)
		}
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			home.Add(method, "/act", act)
		}
	})
	return o
}

const form = "application/x-www-form-urlencoded"

func (o *office) cookie(answer *http.Response, name string) string {
	for _, cookie := range answer.Cookies() {
		if cookie.Name == name && cookie.Value != "" {
			return name + "=" + cookie.Value
		}
	}
	return ""
}

// signIn gives the cookie of a new session.
func (o *office) signIn(t *testing.T, id string, headers ...string) string {
	t.Helper()
	answer, token := o.send(t, "GET", "/login", "")
	formCookie := o.cookie(answer, o.prefixed("form"))
	headers = append(headers, "Content-Type", form, "Cookie", formCookie)
	answer, body := o.send(t, "POST", "/login", "id="+id+"&csrf="+token, headers...)
	cookie := o.cookie(answer, o.CookieName())
	if answer.StatusCode != 303 || cookie == "" {
		t.Fatalf("signing in: %d %s %v", answer.StatusCode, body, answer.Header)
	}
	return cookie
}

func (o *office) status(t *testing.T, path, cookie string) int {
	t.Helper()
	answer, _ := o.send(t, "GET", path, "", "Cookie", cookie)
	return answer.StatusCode
}

func TestSessionCookieIsARandomIDThatScriptsAndOtherSitesDoNotGet(t *testing.T) {
	for publicURL, pattern := range map[string]string{
		"":                        `^sid=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; SameSite=Lax$`,
		"https://dlo.example.com": `^__Host-sid=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; Secure; SameSite=Lax$`,
	} {
		o := newOffice(t, publicURL)
		answer, token := o.send(t, "GET", "/login", "")
		if got := answer.Header.Values("Set-Cookie"); len(got) != 1 || strings.Contains(got[0], "sid=") || !strings.Contains(got[0], "HttpOnly") {
			t.Errorf("a visitor gets %v, want the form's cookie alone", got)
		}
		if len(o.rows.rows) != 0 {
			t.Error("a visitor's session was stored")
		}
		answer, _ = o.send(t, "POST", "/login", "id=1&csrf="+token, "Content-Type", form, "Cookie", o.cookie(answer, o.prefixed("form")))
		if got := answer.Header.Values("Set-Cookie")[0]; !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("got %q, want %s", got, pattern)
		}
		for hash, row := range o.rows.rows {
			id := strings.SplitN(o.cookie(answer, o.CookieName()), "=", 2)[1]
			if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 || strings.Contains(string(row.Data), id) || strings.Contains(hash, id) {
				t.Errorf("the row tells the id: %q %s", hash, row.Data)
			}
		}
	}
}

func TestSignInAdoptsNoIDAndEndsTheOneFromBefore(t *testing.T) {
	o := newOffice(t, "")
	planted := "sid=" + newID()
	answer, token := o.send(t, "GET", "/login", "")
	formCookie := o.cookie(answer, "form")
	answer, _ = o.send(t, "POST", "/login", "id=1&csrf="+token, "Content-Type", form, "Cookie", formCookie+"; "+planted)
	first := o.cookie(answer, "sid")
	if first == "" || first == planted {
		t.Fatalf("got %q for the planted %q", first, planted)
	}
	if got := o.status(t, "/me", planted); got != 303 {
		t.Errorf("the planted id: %d, want 303 to the login page", got)
	}
	_, token = o.send(t, "GET", "/token", "", "Cookie", first)
	answer, _ = o.send(t, "POST", "/login", "id=2&csrf="+token, "Content-Type", form, "Cookie", first)
	second := o.cookie(answer, "sid")
	if second == "" || second == first || o.status(t, "/me", first) != 303 {
		t.Errorf("the id from before signing in again still works")
	}
	if _, body := o.send(t, "GET", "/me", "", "Cookie", second); body != "reviewer@example.com" {
		t.Errorf("signed in as %q", body)
	}
}

func TestSessionEndsWhenIdleAndAfterTwelveHours(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	for range 30 { // busy for ten hours
		o.clock.pass(20 * time.Minute)
		if got := o.status(t, "/me", cookie); got != 200 {
			t.Fatalf("a busy session: %d at %s", got, o.clock.now())
		}
	}
	for range 8 {
		o.clock.pass(20 * time.Minute)
		o.status(t, "/me", cookie)
	}
	if got := o.status(t, "/me", cookie); got != 303 || len(o.rows.rows) != 0 {
		t.Errorf("after twelve hours: %d with %d rows, want 303 and none", got, len(o.rows.rows))
	}
	cookie = o.signIn(t, "1")
	o.clock.pass(SessionIdle)
	if got := o.status(t, "/me", cookie); got != 200 {
		t.Errorf("after half an hour to the second: %d", got)
	}
	o.clock.pass(SessionIdle + time.Second)
	if got := o.status(t, "/me", cookie); got != 303 || len(o.rows.rows) != 0 {
		t.Errorf("idle for longer: %d with %d rows, want 303 and none", got, len(o.rows.rows))
	}
}

func TestFiveSessionsAtMost(t *testing.T) {
	o := newOffice(t, "")
	var cookies []string
	for range 6 {
		cookies = append(cookies, o.signIn(t, "1"))
		o.clock.pass(time.Second)
	}
	other := o.signIn(t, "2")
	for i, cookie := range append(cookies, other) {
		want := 200
		if i == 0 {
			want = 303
		}
		if got := o.status(t, "/me", cookie); got != want {
			t.Errorf("session %d: %d, want %d", i, got, want)
		}
	}
}

func TestACopiedCookieIsWorthNothingAfterSigningOut(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	_, token := o.send(t, "GET", "/token", "", "Cookie", cookie)
	answer, _ := o.send(t, "POST", "/logout", "csrf="+token, "Content-Type", form, "Cookie", cookie)
	if answer.StatusCode != 303 || answer.Header.Get("Clear-Site-Data") != `"cache", "storage"` || !strings.Contains(answer.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: %d %v", answer.StatusCode, answer.Header)
	}
	if got := o.status(t, "/me", cookie); got != 303 {
		t.Errorf("the copied cookie: %d, want 303", got)
	}
	if answer, _ := o.send(t, "GET", "/me", "", "Cookie", cookie, "HX-Request", "true"); answer.StatusCode != 401 || answer.Header.Get("HX-Redirect") != "/login" {
		t.Errorf("the copied cookie in a fragment: %d", answer.StatusCode)
	}
}

func TestSavingDoesNotBringBackASessionThatWasEnded(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	r, _ := http.NewRequest("GET", "/", nil)
	r.Header.Set("Cookie", cookie)
	session, err := o.Get(r, "sid")
	if err != nil || session.IsNew {
		t.Fatal(err, session)
	}
	if err := o.SignOutEverywhere(context.Background(), "1"); err != nil { // meanwhile
		t.Fatal(err)
	}
	session.AddFlash(Flash{Text: "late"})
	if err := session.Save(r, nil); err != nil {
		t.Fatal(err)
	}
	if got := o.status(t, "/me", cookie); got != 303 {
		t.Errorf("%d, want 303", got)
	}
}

func TestDisabledAndRemovedPeopleAreOutAtOnce(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	o.change("1", func(p *dlq.Person) { p.Disabled = true })
	if got := o.status(t, "/me", cookie); got != 303 {
		t.Errorf("disabled: %d, want 303", got)
	}
	o.change("1", func(p *dlq.Person) { p.Disabled = false })
	if got := o.status(t, "/me", cookie); got != 303 {
		t.Errorf("enabled again: %d: the session was to end, not to pause", got)
	}
}

func TestAnotherRoleCountsAtOnceAndGetsAnotherID(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "2")
	if got := o.status(t, "/decide", cookie); got != 200 {
		t.Fatalf("a reviewer: %d", got)
	}
	o.change("2", func(p *dlq.Person) { p.Role = dlq.RoleAnalyst })
	answer, _ := o.send(t, "GET", "/decide", "", "Cookie", cookie)
	renewed := o.cookie(answer, "sid")
	if answer.StatusCode != 403 || renewed == "" || renewed == cookie {
		t.Errorf("demoted: %d with the cookie %q, want 403 and a new one", answer.StatusCode, renewed)
	}
	if o.status(t, "/me", cookie) != 303 || o.status(t, "/me", renewed) != 200 {
		t.Error("want the old id dead and the new one alive")
	}
	o.clock.pass(SessionAbsolute) // the renewal must not have prolonged the session
	if got := o.status(t, "/me", renewed); got != 303 {
		t.Errorf("%d after twelve hours, want 303", got)
	}
}

func TestForeignCookiesAreNobody(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	for _, foreign := range []string{
		"sid=", "sid=x", "sid=" + strings.Repeat("A", 43), "sid=" + strings.Repeat("A", 5000), "sid=../../etc/passwd", cookie + "A", cookie[:len(cookie)-1],
		"SID" + cookie[3:], "__Host-" + cookie, "sid=" + hashID(strings.TrimPrefix(cookie, "sid=")), "sid=' or 1=1",
	} {
		if got := o.status(t, "/me", foreign); got != 303 {
			t.Errorf("%.60s: %d, want 303", foreign, got)
		}
	}
}

func TestAStoreThatFailsIsAnErrorAndNotAVisitor(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	o.rows.mu.Lock()
	o.rows.fail = errors.New("disk gone")
	o.rows.mu.Unlock()
	if got := o.status(t, "/me", cookie); got != 500 {
		t.Errorf("%d, want 500", got)
	}
}

func TestPagesAreReadWhileNothingCanBeWritten(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	o.rows.mu.Lock()
	o.rows.full = dlq.Errorf(dlq.KindUnavailable, "the disk is full")
	o.rows.mu.Unlock()
	o.clock.pass(2 * touchEvery)
	if got := o.status(t, "/me", cookie); got != 200 {
		t.Errorf("with a full disk: %d, want 200", got)
	}
}

func TestFlashesAreShownOnce(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	_, token := o.send(t, "GET", "/token", "", "Cookie", cookie)
	for range 2 {
		o.send(t, "POST", "/act", "", "Cookie", cookie, "X-CSRF-Token", token)
	}
	one := `{"tone":"good","text":"Done.","link_text":"Undo","link":"/undo"}`
	for _, want := range []string{"[" + one + "," + one + "]", "null"} {
		if _, got := o.send(t, "GET", "/flashes", "", "Cookie", cookie); strings.TrimSpace(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAConfirmationIsGoodForAWhile(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	if got := o.status(t, "/confirmed", cookie); got != 200 {
		t.Errorf("just signed in: %d", got)
	}
	o.clock.pass(6 * time.Minute)
	if got := o.status(t, "/confirmed", cookie); got != 403 {
		t.Errorf("six minutes later: %d, want 403", got)
	}
	_, token := o.send(t, "GET", "/token", "", "Cookie", cookie)
	o.send(t, "POST", "/confirm", "", "Cookie", cookie, "X-CSRF-Token", token)
	if got := o.status(t, "/confirmed", cookie); got != 200 {
		t.Errorf("after confirming: %d", got)
	}
}

func TestASessionKeepsNothingThatCannotBeStored(t *testing.T) {
	for _, values := range []map[any]any{{"n": 1}, {7: "x"}, {"list": []any{"x"}}, {"other": []any{Flash{}}}} {
		if data, err := encodeSession(values); err == nil {
			t.Errorf("%v was stored as %s", values, data)
		}
	}
}
