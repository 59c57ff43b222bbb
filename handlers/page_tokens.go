package handlers

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/tokens"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// tokensPage is GET /settings/tokens.
func (h *Handlers) tokensPage(c echo.Context) error {
	return h.showTokens(c, http.StatusOK, tokensFacts{sent: tokenSent{scopes: []dlq.Scope{dlq.ScopeIngest}}})
}

func (h *Handlers) showTokens(c echo.Context, status int, f tokensFacts) error {
	var err error
	if f.list, err = h.Store.Tokens(c.Request().Context()); err != nil {
		return err
	}
	frame, err := h.layout(c, "Tokens", "")
	if err != nil {
		return err
	}
	f.csrf, f.now = frame.CSRF, h.Now()
	m := newTokensPage(f)
	m.Layout = frame
	return web.RenderPage(c, status, tokens.Page(m), tokens.Page(m))
}

// tokenAdd is POST /settings/tokens. The token stands on the answer, once.
func (h *Handlers) tokenAdd(c echo.Context) error {
	if done, err := h.askPassword(c, "Make a token"); done || err != nil {
		return err
	}
	by, _ := web.ActorOf(c)
	sent := readToken(c)
	t, faults := sent.token(h.Now())
	if len(faults) > 0 {
		return h.showTokens(c, http.StatusUnprocessableEntity, tokensFacts{sent: sent, wrong: dlq.Invalid("no token was made", faults...)})
	}
	plain, id, hash := web.NewToken()
	t.ID, t.Hash = id, hex.EncodeToString(hash)
	if err := h.Store.AddToken(c.Request().Context(), by, t); err != nil {
		return err
	}
	return h.showTokens(c, http.StatusOK, tokensFacts{created: &tokens.Created{Name: web.VisibleText(t.Name),
		Secret: components.Code{ID: "secret", Label: "The token", Text: plain},
		Try:    components.Code{ID: "try", Label: "A command that uses it", Text: "export DLO_TOKEN=…   # the token above\n" + tokenTry(t.Scopes, h.PublicURL.String())}}})
}

func readToken(c echo.Context) tokenSent {
	sent := tokenSent{name: strings.TrimSpace(c.FormValue("name")), source: strings.TrimSpace(c.FormValue("source")), days: strings.TrimSpace(c.FormValue("days"))}
	for _, s := range dlq.Scopes {
		if c.FormValue("scope_"+string(s)) == "1" {
			sent.scopes = append(sent.scopes, s)
		}
	}
	return sent
}

// token is what was asked for, and every fault of it.
func (s tokenSent) token(now time.Time) (dlq.Token, []dlq.Fault) {
	var faults []dlq.Fault
	t := dlq.Token{Name: s.name, Scopes: s.scopes, Source: s.source}
	if n := utf8.RuneCountInString(s.name); n < 1 || n > 100 || strings.ContainsFunc(s.name, unicode.IsControl) {
		faults = append(faults, dlq.Fault{Pointer: "/name", Detail: "1 to 100 characters expected"})
	}
	if len(s.scopes) == 0 {
		faults = append(faults, dlq.Fault{Pointer: "/scopes", Detail: "at least one thing that it may do expected"})
	}
	if s.source != "" && !dlq.ValidSourceName(s.source) {
		faults = append(faults, dlq.Fault{Pointer: "/source", Detail: "a source's name expected"})
	}
	if s.days != "" {
		days, err := strconv.Atoi(s.days)
		if err != nil || days < 1 || days > 3650 {
			faults = append(faults, dlq.Fault{Pointer: "/days", Detail: "1 to 3,650 days, or nothing, expected"})
		}
		t.ExpiresAt = now.Add(time.Duration(days) * 24 * time.Hour)
	}
	return t, faults
}

// tokenRevoke is POST /settings/tokens/{id}/revoke.
func (h *Handlers) tokenRevoke(c echo.Context) error {
	if done, err := h.askPassword(c, "Revoke a token"); done || err != nil {
		return err
	}
	by, _ := web.ActorOf(c)
	flash := web.Flash{Tone: "good", Text: "Revoked. Whoever uses it is refused from now on."}
	err := h.Store.RevokeToken(c.Request().Context(), by, c.Param("id"))
	if dlq.KindOf(err) == dlq.KindNotFound {
		flash = web.Flash{Tone: "info", Text: "It does not work any more already; nothing was changed."}
	} else if err != nil {
		return err
	}
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, "/settings/tokens")
}
