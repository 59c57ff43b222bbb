package handlers

import (
	"strings"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/layout"
	"dlo/web"
)

// layout is what stands round every page: the rail with its counts, what is
// paused, what just happened, who is signed in. It asks a few indexed questions
// and takes the waiting messages with it, so it is called once a page.
func (h *Handlers) layout(c echo.Context, title, query string, crumbs ...components.Link) (layout.Model, error) {
	ctx := c.Request().Context()
	person, ok := web.PersonOf(c)
	if !ok {
		return layout.Model{}, dlq.Errorf(dlq.KindUnauthenticated, "Sign in first.")
	}
	totals, err := h.totals(c)
	if err != nil {
		return layout.Model{}, err
	}
	operations, err := h.Store.OpenOperations(ctx)
	if err != nil {
		return layout.Model{}, err
	}
	alerts, err := h.Store.StandingAlerts(ctx)
	if err != nil {
		return layout.Model{}, err
	}
	pausedBy, err := h.Store.Paused(ctx)
	if err != nil {
		return layout.Model{}, err
	}
	flashes, err := web.Flashes(c)
	if err != nil {
		return layout.Model{}, err
	}
	frame := newFrame(person, c.Request().URL.Path, standing{totals: totals, operations: len(operations), alerts: alerts, pausedBy: pausedBy, flashes: flashes})
	frame.Title, frame.Query, frame.Crumbs = title, query, crumbs
	frame.CSRF = h.Sessions.CSRFToken(c)
	return frame, nil
}

const totalsKey = "handlers.totals"

// totals are the figures that lead every page, read once a request.
func (h *Handlers) totals(c echo.Context) (dlq.Totals, error) {
	if t, ok := c.Get(totalsKey).(dlq.Totals); ok {
		return t, nil
	}
	by, _ := web.ActorOf(c)
	t, err := h.Store.Totals(c.Request().Context(), by)
	if err == nil {
		c.Set(totalsKey, t)
	}
	return t, err
}

// titleOf is a title from outside for a browser's tab, on one line.
func titleOf(s string) string {
	return web.VisibleText(strings.Join(strings.Fields(s), " "))
}
