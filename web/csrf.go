package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"mime"
	"net/http"
	"time"

	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// Where a request carries its token.
const (
	CSRFField  = "csrf"         // of a form
	CSRFHeader = "X-CSRF-Token" // of a script's request, and of multipart forms
)

// formCookie names the cookie of somebody who has not signed in, and formLife
// is how long their form can be sent.
const (
	formCookie = "form"
	formLife   = time.Hour
)

// CSRF refuses every request that could change something unless it comes from
// our own pages. Two checks, because each has a gap: the browser's word about
// where a request comes from (Sec-Fetch-Site, Origin), which old browsers and
// plain http do not give, and a token that only our pages know. It stands
// behind Middleware, on every route that a cookie gives access to.
func (s *Sessions) CSRF(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		switch c.Request().Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions:
			return next(c)
		}
		if err := s.origin.Check(c.Request()); err != nil {
			return dlq.Errorf(dlq.KindForbidden, "This request came from another site and was not carried out.").Because(err)
		}
		sent, err := sentToken(c.Request())
		if err != nil {
			return err
		}
		want, ok := s.wantedTokens(c)
		for _, token := range want {
			if ok && tokenMatches(sent, token) {
				return next(c)
			}
		}
		if c.Get(endedKey) != nil {
			return dlq.Errorf(dlq.KindUnauthenticated, "Your session has ended. Sign in again.")
		}
		return dlq.Errorf(dlq.KindForbidden, "This page is out of date, so nothing was done. Reload it and try again.")
	}
}

// CSRFToken gives the token for the forms of this answer. It looks different
// each time, under a random mask, so that compression reveals nothing of it.
// For a signed-in person it is derived from the session's id. For others it is
// derived from a random id in a cookie of its own and a secret of this
// process, and is good for an hour; so nothing is stored for visitors, and
// after a restart their form must be loaded again.
func (s *Sessions) CSRFToken(c echo.Context) string {
	if session, ok := c.Get(sessionKey).(*sessions.Session); ok {
		return maskToken(sessionToken(session.ID))
	}
	id, ok := s.formID(c.Request())
	if !ok {
		id = newID()
		http.SetCookie(c.Response(), sessions.NewCookie(s.prefixed(formCookie), id, s.options(int(formLife.Seconds()))))
		c.Request().AddCookie(&http.Cookie{Name: s.prefixed(formCookie), Value: id}) // a second form on the page has the same
	}
	return maskToken(s.formToken(id, s.hour()))
}

// wantedTokens are those that the request may carry.
func (s *Sessions) wantedTokens(c echo.Context) ([][]byte, bool) {
	if session, ok := c.Get(sessionKey).(*sessions.Session); ok {
		return [][]byte{sessionToken(session.ID)}, true
	}
	id, ok := s.formID(c.Request())
	if !ok {
		return nil, false
	}
	return [][]byte{s.formToken(id, s.hour()), s.formToken(id, s.hour()-1)}, true
}

func (s *Sessions) formID(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(s.prefixed(formCookie))
	if err != nil || !validID(cookie.Value) {
		return "", false
	}
	return cookie.Value, true
}

func (s *Sessions) hour() int64 { return s.now().Unix() / int64(formLife.Seconds()) }

func (s *Sessions) formToken(id string, hour int64) []byte {
	mac := hmac.New(sha256.New, s.seed)
	mac.Write([]byte("form token\x00"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(hour)))
	mac.Write([]byte(id))
	return mac.Sum(nil)
}

func sessionToken(id string) []byte {
	mac := hmac.New(sha256.New, []byte(id))
	mac.Write([]byte("session token"))
	return mac.Sum(nil)
}

// sentToken reads the token from the header or from the body of a plain form,
// never from the address. A multipart form is not read for it: that would
// take in a whole upload before knowing whether it is wanted.
func sentToken(r *http.Request) (string, error) {
	if token := r.Header.Get(CSRFHeader); token != "" {
		return token, nil
	}
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if contentType != "application/x-www-form-urlencoded" {
		return "", nil
	}
	if err := r.ParseForm(); err != nil {
		if _, tooLarge := err.(*http.MaxBytesError); tooLarge {
			return "", err
		}
		return "", dlq.Errorf(dlq.KindMalformed, "The form cannot be read.").Because(err)
	}
	return r.PostForm.Get(CSRFField), nil
}

// maskToken writes a token as mask || mask xor token.
func maskToken(token []byte) string {
	out := make([]byte, 2*len(token))
	mask := out[:len(token)]
	rand.Read(mask)
	subtle.XORBytes(out[len(token):], mask, token)
	return base64.RawURLEncoding.EncodeToString(out)
}

func tokenMatches(sent string, token []byte) bool {
	raw, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil || len(raw) != 2*len(token) {
		return false
	}
	unmasked := make([]byte, len(token))
	subtle.XORBytes(unmasked, raw[:len(token)], raw[len(token):])
	return subtle.ConstantTimeCompare(unmasked, token) == 1
}
