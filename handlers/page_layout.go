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
	operations, err := h.openOperations(c)
	if err != nil {
		return layout.Model{}, err
	}
	by, _ := web.ActorOf(c)
	alerts, err := h.Store.StandingAlerts(ctx, by)
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
	frame := newFrame(person, c.Request().URL.Path, standing{totals: totals, operations: operations, alerts: alerts, pausedBy: pausedBy, flashes: flashes})
	frame.Title, frame.Query, frame.Crumbs = title, query, crumbs
	frame.CSRF = h.Sessions.CSRFToken(c)
	return frame, nil
}

// openOperations counts the operations that have not ended, for who sees all
// sources. Which of them somebody else may know of takes a look at every item,
// which is too much for each page, so their rail has no number there.
func (h *Handlers) openOperations(c echo.Context) (int, error) {
	if by, _ := web.ActorOf(c); len(by.Sources) > 0 {
		return 0, nil
	}
	open, err := h.Store.OpenOperations(c.Request().Context())
	return len(open), err
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
