package handlers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

// exportTime is for how long a page of an export may be on its way to the client.
const exportTime = 5 * time.Minute

// exportEntries hands out every document of a query, as it is read. Nothing is
// sent before the first page was read, so that what cannot be answered is an
// error like any other; one in the middle ends the connection, because a file
// that only looks whole is worse than none.
func (h *Handlers) exportEntries(format dlq.ExportFormat) echo.HandlerFunc {
	return func(c echo.Context) error {
		by, _ := web.ActorOf(c)
		ctx := c.Request().Context()
		q, bad := dlq.ParseQuery(c.QueryParam("q"))
		if len(bad) > 0 {
			return dlq.QueryError(bad)
		}
		write := dlq.ExportTo(c.Response(), format)
		begun := false
		rows, err := h.Store.Export(ctx, by, q, dlq.EntrySort(c.QueryParam("sort")), func(page []dlq.ExportedRow) error {
			if !begun {
				begun = true
				exportHeaders(c, format, h.Now())
			}
			if err := web.ExtendDeadlines(c, 0, exportTime); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
			if err := write(page); err != nil {
				return err
			}
			c.Response().Flush()
			return nil
		})
		if !begun {
			return err
		}
		// Also of what ended early: so much was handed out.
		if auditErr := h.Store.Audit(context.WithoutCancel(ctx), by, "export", nil, "", dlq.ExportDetail(format, q, rows, err == nil)); auditErr != nil && err == nil {
			err = auditErr
		}
		return err // after the first byte, the connection is cut
	}
}

func exportHeaders(c echo.Context, format dlq.ExportFormat, now time.Time) {
	contentType := "application/x-ndjson"
	if format == dlq.ExportCSV {
		contentType = "text/csv; charset=utf-8; header=present"
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, contentType)
	header.Set(echo.HeaderContentDisposition, `attachment; filename="dead-letters-`+now.UTC().Format("20060102T150405Z")+`.`+string(format)+`"`)
	c.Response().WriteHeader(http.StatusOK)
}
