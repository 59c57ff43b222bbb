package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// The life of a session.
const (
	SessionIdle     = 30 * time.Minute // without a request
	SessionAbsolute = 12 * time.Hour   // since signing in
	SessionsPerUser = 5                // the one unused for longest goes

	// touchEvery spares the database a write per request; the idle time is
	// exact to this much.
	touchEvery = time.Minute
)

// SessionRow is a signed-in session as it is stored.
type SessionRow struct {
	Hash      string // the key: SHA-256 of the id in the cookie, 64 hex digits
	UserID    string
	Data      []byte // JSON, opaque to the store
	CreatedAt time.Time
	SeenAt    time.Time
}

// SessionRows is where sessions are kept. Rows whose CreatedAt is older than
// SessionAbsolute may be deleted at any time.
type SessionRows interface {
	// Session gives a row, and false where there is none.
	Session(ctx context.Context, hash string) (SessionRow, bool, error)
	// PutSession adds a row and, in the same transaction, deletes those of its
	// user that were seen least recently until keep are left.
	PutSession(ctx context.Context, row SessionRow, keep int) error
	// TouchSession sets SeenAt and Data of a row that is there. One that is
	// gone stays gone, and that is no error: signing out wins.
	TouchSession(ctx context.Context, hash string, seenAt time.Time, data []byte) error
	DeleteSession(ctx context.Context, hash string) error
	// DeleteSessionsOf ends every session of a user.
	DeleteSessionsOf(ctx context.Context, userID string) error
}

// People finds who a session belongs to. It is asked at every request, so that
// a new role or a disabled person counts at once.
type People func(ctx context.Context, userID string) (dlq.Person, bool, error)

// Sessions is a sessions.Store whose cookie carries a random id and nothing
// else, so that signing out truly ends a session: a cookie that was copied
// before finds no row. The rows hold hashes, so that a copied database signs
// nobody in.
//
// There is no row for somebody who has not signed in. Their forms are
// protected by a short-lived random id in a cookie of its own and a token
// that only this process can make for it; see CSRFToken.
type Sessions struct {
	rows   SessionRows
	people People
	https  bool
	now    func() time.Time
	seed   []byte // signs the tokens of those who have not signed in
	origin *http.CrossOriginProtection
}

var _ sessions.Store = (*Sessions)(nil)

// SessionsConfig is what NewSessions needs.
type SessionsConfig struct {
	Rows   SessionRows
	People People
	// PublicURL is the address that people use, as the server's. With https
	// the cookies are Secure and have the __Host- prefix.
	PublicURL *url.URL
	Now       func() time.Time // nil: time.Now
}

// NewSessions makes the session store.
func NewSessions(cfg SessionsConfig) (*Sessions, error) {
	s := &Sessions{rows: cfg.Rows, people: cfg.People, now: cfg.Now, seed: make([]byte, 32), origin: http.NewCrossOriginProtection()}
	rand.Read(s.seed)
	if s.now == nil {
		s.now = time.Now
	}
	if cfg.PublicURL != nil {
		s.https = cfg.PublicURL.Scheme == "https"
		// A proxy may rewrite Host; the site's own origin is no stranger then.
		if err := s.origin.AddTrustedOrigin(cfg.PublicURL.Scheme + "://" + cfg.PublicURL.Host); err != nil {
			return nil, fmt.Errorf("public URL %s: %w", cfg.PublicURL, err)
		}
	}
	return s, nil
}

// CookieName is the name of the session's cookie. With the __Host- prefix
// browsers accept it from this host alone, over https, for the whole site.
func (s *Sessions) CookieName() string { return s.prefixed("sid") }

func (s *Sessions) prefixed(name string) string {
	if s.https {
		return "__Host-" + name
	}
	return name
}

func (s *Sessions) options(maxAge int) *sessions.Options {
	return &sessions.Options{Path: "/", MaxAge: maxAge, Secure: s.https, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// rowKey is where a session's Values hold its row; no name of the application
// can be equal to it.
type rowKey struct{}

// Get gives the request's session and loads it the first time; part of
// sessions.Store.
func (s *Sessions) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(s, name)
}

// New loads the session that the request's cookie names. An id that is not
// known, has expired or was never issued here gives an empty session and no
// error: an id is never adopted. An error is the store's. Part of
// sessions.Store.
func (s *Sessions) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	session.Options = s.options(0)
	session.IsNew = true
	cookie, err := r.Cookie(name)
	if err != nil || !validID(cookie.Value) {
		return session, nil
	}
	row, found, err := s.rows.Session(r.Context(), hashID(cookie.Value))
	if err != nil {
		return session, fmt.Errorf("load the session: %w", err)
	}
	if !found {
		return session, nil
	}
	now := s.now()
	if now.Sub(row.SeenAt) > SessionIdle || now.Sub(row.CreatedAt) > SessionAbsolute {
		if err := s.rows.DeleteSession(r.Context(), row.Hash); err != nil {
			return session, fmt.Errorf("end an expired session: %w", err)
		}
		return session, nil
	}
	if err := decodeSession(row.Data, session.Values); err != nil {
		return session, fmt.Errorf("load the session: %w", err)
	}
	session.ID = cookie.Value
	session.IsNew = false
	session.Values[rowKey{}] = row
	return session, nil
}

// Save stores what a session's Values hold, or ends the session if its MaxAge
// is negative. It neither creates a session nor brings back one that was ended
// meanwhile: SignIn alone makes sessions. Part of sessions.Store.
func (s *Sessions) Save(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	row, ok := session.Values[rowKey{}].(SessionRow)
	if session.Options.MaxAge < 0 {
		s.expireCookie(w, session.Name())
		if !ok {
			return nil
		}
		if err := s.rows.DeleteSession(r.Context(), row.Hash); err != nil {
			return fmt.Errorf("end the session: %w", err)
		}
		return nil
	}
	if !ok {
		return fmt.Errorf("save a session that nobody has signed in to")
	}
	data, err := encodeSession(session.Values)
	if err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	row.Data, row.SeenAt = data, s.now()
	if err := s.rows.TouchSession(r.Context(), row.Hash, row.SeenAt, row.Data); err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	session.Values[rowKey{}] = row
	return nil
}

const (
	sessionKey = "web.session"
	endedKey   = "web.session ended"
)

// Middleware loads the session of every request and, if somebody is signed in,
// sets the person and the actor. It refuses nobody: Require does.
func (s *Sessions) Middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		session, err := s.Get(c.Request(), s.CookieName())
		if err != nil {
			return err
		}
		row, ok := session.Values[rowKey{}].(SessionRow)
		if !ok {
			if _, err := c.Request().Cookie(s.CookieName()); err == nil {
				c.Set(endedKey, true)
				s.expireCookie(c.Response(), s.CookieName())
			}
			return next(c)
		}
		person, found, err := s.people(c.Request().Context(), row.UserID)
		if err != nil {
			return fmt.Errorf("find who is signed in: %w", err)
		}
		if !found || person.Disabled {
			c.Set(endedKey, true)
			session.Options = s.options(-1)
			if err := session.Save(c.Request(), c.Response()); err != nil {
				return err
			}
			return next(c)
		}
		switch {
		case session.Values[roleValue] != string(person.Role):
			// Another role is another trust: the id from before must not have it.
			session, err = s.replace(c, session, person)
		case s.now().Sub(row.SeenAt) >= touchEvery:
			err = session.Save(c.Request(), c.Response())
			if dlq.KindOf(err) == dlq.KindUnavailable {
				err = nil // reading goes on while nothing can be written; the next request tries again
			}
		}
		if err != nil {
			return err
		}
		s.use(c, session, person)
		return next(c)
	}
}

// PersonOf gives who is signed in.
func PersonOf(c echo.Context) (dlq.Person, bool) {
	person, ok := c.Request().Context().Value(personKey).(dlq.Person)
	return person, ok
}

// SignIn starts a session for the person, with an id that did not exist
// before, and ends the one that the request came with.
func (s *Sessions) SignIn(c echo.Context, person dlq.Person) error {
	session, err := s.Get(c.Request(), s.CookieName())
	if err != nil {
		return err
	}
	if row, ok := session.Values[rowKey{}].(SessionRow); ok {
		if err := s.rows.DeleteSession(c.Request().Context(), row.Hash); err != nil {
			return fmt.Errorf("end the session from before: %w", err)
		}
	}
	clear(session.Values)
	session.Values[roleValue] = string(person.Role)
	session.Values[confirmedValue] = s.now().UTC().Format(time.RFC3339)
	if err := s.create(c, session, person.ID, s.now()); err != nil {
		return err
	}
	s.expireCookie(c.Response(), s.prefixed(formCookie))
	s.use(c, session, person)
	return nil
}

// SignOut ends the request's session and has the browser forget its pages.
func (s *Sessions) SignOut(c echo.Context) error {
	session, err := s.Get(c.Request(), s.CookieName())
	if err != nil {
		return err
	}
	session.Options = s.options(-1)
	ClearSiteData(c)
	return session.Save(c.Request(), c.Response())
}

// SignOutEverywhere ends every session of a person: for a new password, and
// when an account is disabled.
func (s *Sessions) SignOutEverywhere(ctx context.Context, userID string) error {
	if err := s.rows.DeleteSessionsOf(ctx, userID); err != nil {
		return fmt.Errorf("end the sessions of %s: %w", userID, err)
	}
	return nil
}

// Confirm notes that the signed-in person has just given their password again.
func (s *Sessions) Confirm(c echo.Context) error {
	session, ok := c.Get(sessionKey).(*sessions.Session)
	if !ok {
		return dlq.Errorf(dlq.KindUnauthenticated, "Sign in first.")
	}
	session.Values[confirmedValue] = s.now().UTC().Format(time.RFC3339)
	return session.Save(c.Request(), c.Response())
}

// ConfirmedWithin says whether the signed-in person gave their password in
// the last d, signing in included.
func (s *Sessions) ConfirmedWithin(c echo.Context, d time.Duration) bool {
	session, ok := c.Get(sessionKey).(*sessions.Session)
	if !ok {
		return false
	}
	text, _ := session.Values[confirmedValue].(string)
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && s.now().Sub(at) <= d
}

// replace moves a session to a new id. Its absolute end stays where it was.
func (s *Sessions) replace(c echo.Context, session *sessions.Session, person dlq.Person) (*sessions.Session, error) {
	row := session.Values[rowKey{}].(SessionRow)
	if err := s.rows.DeleteSession(c.Request().Context(), row.Hash); err != nil {
		return nil, fmt.Errorf("renew the session: %w", err)
	}
	session.Values[roleValue] = string(person.Role)
	return session, s.create(c, session, row.UserID, row.CreatedAt)
}

// create gives the session a new id, a row and a cookie.
func (s *Sessions) create(c echo.Context, session *sessions.Session, userID string, createdAt time.Time) error {
	data, err := encodeSession(session.Values)
	if err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	session.ID = newID()
	session.IsNew = false
	session.Options = s.options(0)
	row := SessionRow{Hash: hashID(session.ID), UserID: userID, Data: data, CreatedAt: createdAt, SeenAt: s.now()}
	if err := s.rows.PutSession(c.Request().Context(), row, SessionsPerUser); err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	session.Values[rowKey{}] = row
	http.SetCookie(c.Response(), sessions.NewCookie(s.CookieName(), session.ID, session.Options))
	return nil
}

func (s *Sessions) use(c echo.Context, session *sessions.Session, person dlq.Person) {
	c.Set(sessionKey, session)
	r := c.Request()
	c.SetRequest(r.WithContext(context.WithValue(r.Context(), personKey, person)))
	SetActor(c, person.Actor())
}

func (s *Sessions) expireCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, sessions.NewCookie(name, "", s.options(-1)))
}

// newID is 256 bits from the system's generator, 43 characters of base64url.
func newID() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

func validID(id string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(id)
	return err == nil && len(raw) == 32
}

func hashID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}
