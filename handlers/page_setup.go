package handlers

import (
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/layout"
	"dlo/views/setup"
	"dlo/web"
)

// SetupLinkHash is the form in which the token of a set-up link is kept, for
// whoever makes the link /setup/{token}.
func SetupLinkHash(token string) string { return hex.EncodeToString(web.HashToken(token)) }

// setupPage shows the form for the first administrator. The link in its address
// works once.
func (h *Handlers) setupPage(c echo.Context) error {
	token := c.Param("token")
	if err := h.Store.SetupLinkState(c.Request().Context(), SetupLinkHash(token)); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, setup.Page(newSetup(token, "", h.Sessions.CSRFToken(c))))
}

// setUp makes the first administrator and signs them in.
func (h *Handlers) setUp(c echo.Context) error {
	ctx, r := c.Request().Context(), c.Request()
	token, email, password := c.Param("token"), dlq.NormalEmail(r.PostFormValue("email")), r.PostFormValue("password")
	if err := h.Store.SetupLinkState(ctx, SetupLinkHash(token)); err != nil {
		return err
	}
	m := newSetup(token, email, h.Sessions.CSRFToken(c))
	if !dlq.ValidEmail(email) {
		m.EmailError = "An address such as name@example.com is expected."
	}
	m.PasswordError = passwordFault(web.CheckPassword(password, email))
	if m.EmailError != "" || m.PasswordError != "" {
		return web.Render(c, http.StatusUnprocessableEntity, setup.Page(m))
	}

	hash, err := h.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	person, err := h.Store.SetUp(ctx, SetupLinkHash(token), dlq.Person{Email: email, Role: dlq.RoleAdmin}, hash)
	if err != nil {
		return err
	}
	if err := h.startSession(c, person); err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: "Your account is made, and you are signed in.", LinkText: "Add the others", Link: "/settings/users"}); err != nil {
		return err
	}
	return web.Redirect(c, "/cohorts")
}

func newSetup(token, email, csrf string) setup.Model {
	return setup.Model{
		Bare:         layout.BareModel{Title: "Set up"},
		CSRF:         csrf,
		Action:       "/setup/" + url.PathEscape(token),
		Email:        email,
		PasswordHint: "12 to 128 characters of any kind. A few unusual words are better than a short word with signs.",
	}
}

// passwordFault is what CheckPassword found, for the field.
func passwordFault(err error) string {
	if err == nil {
		return ""
	}
	var known *dlq.Error
	if errors.As(err, &known) && len(known.Faults) > 0 {
		return sentence("%s", known.Faults[0].Detail)
	}
	return "This password is not accepted."
}
