package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"dlo/views/components"
	"dlo/views/reports"
	"dlo/web"
)

// reportsPage is GET /reports: the first of them.
func (h *Handlers) reportsPage(c echo.Context) error {
	return c.Redirect(http.StatusFound, versionsReportPath)
}

// versionReportPage is GET /reports/versions.
func (h *Handlers) versionReportPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ask, err := readVersionReport(c.QueryParams(), h.Now())
	if err != nil {
		return err
	}
	f, err := h.readReport(c.Request().Context(), by, ask)
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "Versions", "", components.Link{Text: "Reports", Href: "/reports"}, components.Link{Text: "Versions"})
	if err != nil {
		return err
	}
	m := newVersionReport(f, h.Now())
	m.Layout = frame
	return web.Render(c, http.StatusOK, reports.VersionsPage(m))
}
