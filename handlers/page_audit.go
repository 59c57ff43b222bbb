package handlers

import (
	"net/http"
	"strconv"

	"dlo/dlq"
	"dlo/views/audit"
	"dlo/views/components"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// auditShown is how many rows of the trail a page holds.
const auditShown = 100

// auditPage is GET /audit.
func (h *Handlers) auditPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var before int64
	if s := c.QueryParam("before"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 {
			return dlq.Errorf(dlq.KindNotFound, "the trail has no such place")
		}
		before = n
	}
	rows, err := h.Store.AuditTrail(c.Request().Context(), before, auditShown)
	if err != nil {
		return err
	}
	m := newAuditPage(rows, before, by)
	if m.Layout, err = h.layout(c, "Audit", "", components.Link{Text: "Audit"}); err != nil {
		return err
	}
	return web.RenderPage(c, http.StatusOK, audit.Page(m), audit.Region(m))
}
