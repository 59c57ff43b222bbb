package handlers

import (
	"net/http"

	"dlo/dlq"
	"dlo/views/alerts"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// alertsRead is how many alerts are read: those that stand before the resolved.
const alertsRead = 300

// alertsPage is GET /alerts.
func (h *Handlers) alertsPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	list, err := h.Store.Alerts(c.Request().Context(), by, alertsRead)
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "Alerts", "")
	if err != nil {
		return err
	}
	m := newAlertsPage(alertsFacts{list: list, state: c.QueryParam("state"), since: momentOf(c.QueryParams(), "since"), by: by, csrf: frame.CSRF})
	m.Layout = frame
	return web.RenderPage(c, http.StatusOK, alerts.Page(m), alerts.Region(m))
}

// alertAcknowledge is POST /alerts/{id}/acknowledge.
func (h *Handlers) alertAcknowledge(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	alert, err := h.visibleAlert(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	flash := web.Flash{Tone: "good", Text: "Acknowledged: everybody sees that you look after it."}
	err = h.Store.AcknowledgeAlert(ctx, by, alert.ID)
	if dlq.KindOf(err) == dlq.KindConflict {
		flash = web.Flash{Tone: "info", Text: "It is not firing any more, or somebody was quicker; nothing was changed."}
	} else if err != nil {
		return err
	}
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, "/alerts")
}
