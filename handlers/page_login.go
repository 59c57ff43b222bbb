package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/layout"
	"dlo/views/login"
	"dlo/web"
)

// signInPolicy is whom the trail names where nobody is signed in yet.
var signInPolicy = dlq.Policy("sign-in")

// loginPage shows the form; who is signed in already is sent on.
func (h *Handlers) loginPage(c echo.Context) error {
	next := web.SafeNext(c.QueryParam("next"))
	if _, ok := web.PersonOf(c); ok {
		return web.Redirect(c, next)
	}
	m := newLogin(next, "", h.Sessions.CSRFToken(c))
	switch {
	case c.QueryParam(endedParam) != "":
		m.Notice = "Your session ended; nothing was done."
		if next != "/" {
			m.Notice += " Sign in, and you are back where you were."
		}
	case next != "/":
		m.Notice = "Sign in, and you are taken to where you were going."
	}
	return web.Render(c, http.StatusOK, login.Page(m))
}

// endedParam of the sign-in page's address says that a form was sent after its
// session had ended.
const endedParam = "ended"

// afterForm is the page to show to somebody who signs in again after a form of
// theirs came too late: the confirmation with its selection, the page that the
// form says it was on, or the page that its address belongs to. Nothing of what
// was typed is in it, and nothing is done by showing it. It is what the form
// says, and not the Referer, because pages send none.
func afterForm(c echo.Context) string {
	r := c.Request()
	if r.URL.Path == "/confirm/do" || r.URL.Path == "/confirm" {
		if chosen, err := readChoice(c); err == nil {
			if href := web.SafeNext(chosen.href()); href != "/" {
				return href
			}
		}
	}
	if back := web.SafeNext(r.PostFormValue("back")); back != "/" {
		return back
	}
	return web.SafeNext(pageOfForm(r.URL.EscapedPath()))
}

// pageOfForm is the page that a form with this path, escaped as it was sent,
// stands on. Forms of one thing post below its page, and those that switch
// something for everybody stand on a list.
func pageOfForm(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/pause" || path == "/resume":
		return "/operations"
	case parts[0] == "settings" && len(parts) >= 2:
		return "/settings/" + parts[1]
	case parts[0] == "alerts":
		return "/alerts"
	case len(parts) == 3 && parts[0] == "sources" && (parts[2] == "policy" || parts[2] == "runbook"):
		return path // the form is a page of its own
	case len(parts) == 3 && parts[0] == "cohorts" && parts[2] == "assign":
		return path
	case len(parts) == 3 && (parts[0] == "entries" || parts[0] == "cohorts" || parts[0] == "operations" || parts[0] == "sources"):
		return "/" + parts[0] + "/" + parts[1]
	}
	return "/"
}

// signIn tries an address and a password. Whatever is wrong, the answer and the
// work behind it are the same, so that nothing is learnt of who has an account.
func (h *Handlers) signIn(c echo.Context) error {
	ctx, r := c.Request().Context(), c.Request()
	email, password, next := dlq.NormalEmail(r.PostFormValue("email")), r.PostFormValue("password"), web.SafeNext(r.PostFormValue("next"))

	if err := h.Throttle.Try(ctx, email, c.RealIP()); err != nil {
		return err
	}
	person, hash, found, err := h.Store.PersonByEmail(ctx, email)
	if err != nil {
		return err
	}
	if !found || person.Disabled {
		hash = ""
	}
	match, rehash, err := h.Passwords.Verify(ctx, hash, password)
	if err != nil {
		return err
	}
	if !match {
		if err := h.Store.Audit(ctx, signInPolicy, "person.sign_in_failed", nil, "", failedSignIn(person, found)); err != nil {
			return err
		}
		m := newLogin(next, email, h.Sessions.CSRFToken(c))
		m.Error = "That address and password do not fit together."
		return web.Render(c, http.StatusUnauthorized, login.Page(m))
	}

	if rehash {
		if hash, err = h.Passwords.Hash(ctx, password); err != nil {
			return err
		}
		if err := h.Store.SetPassword(ctx, person.Actor(), person.ID, hash, true); err != nil {
			return err
		}
	}
	if err := h.Throttle.Succeeded(ctx, email, c.RealIP()); err != nil {
		return err
	}
	if err := h.startSession(c, person); err != nil {
		return err
	}
	return web.Redirect(c, next)
}

// startSession signs a person in and writes so into the trail.
func (h *Handlers) startSession(c echo.Context, person dlq.Person) error {
	if err := h.Store.Audit(c.Request().Context(), person.Actor(), "person.signed_in", nil, "", nil); err != nil {
		return err
	}
	return h.Sessions.SignIn(c, person)
}

// signOut ends the session. The trail is written first: afterwards nobody is
// known.
func (h *Handlers) signOut(c echo.Context) error {
	by, _ := web.ActorOf(c)
	if err := h.Store.Audit(c.Request().Context(), by, "person.signed_out", nil, "", nil); err != nil {
		return err
	}
	if err := h.Sessions.SignOut(c); err != nil {
		return err
	}
	return web.Redirect(c, "/login")
}

// newLogin is the sign-in form.
func newLogin(next, email, csrf string) login.Model {
	return login.Model{Bare: layout.BareModel{Title: "Sign in"}, CSRF: csrf, Next: next, Email: email}
}

// failedSignIn is what the trail keeps of a try: whose account it was, where it
// was somebody's. An address that nobody has is not kept at all, because it is
// as often as not a password typed into the wrong field.
func failedSignIn(p dlq.Person, found bool) map[string]any {
	if !found {
		return map[string]any{"account": "none"}
	}
	return map[string]any{"account": p.ID, "disabled": p.Disabled}
}
