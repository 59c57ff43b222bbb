package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// home leads from the bare address to the first screen.
func (h *Handlers) home(c echo.Context) error {
	return c.Redirect(http.StatusFound, "/cohorts")
}

// favicon answers browsers that ask at the traditional address: the pages name
// their icon themselves.
func (h *Handlers) favicon(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=86400")
	return c.NoContent(http.StatusNoContent)
}
