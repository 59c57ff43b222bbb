package handlers

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

type apiVersionReportRow struct {
	Source     string           `json:"source"`
	ErrorType  string           `json:"error_type"`
	Versions   dlq.Versions     `json:"versions"`
	RunsNow    *bool            `json:"runs_now"` // null: not registered
	NotRunning []string         `json:"not_running"`
	Documents  int64            `json:"documents"`
	Earlier    int64            `json:"earlier"`
	Months     map[string]int64 `json:"months"`
}

// versionReport is GET /reports/versions.
func (h *Handlers) versionReport(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ask, err := readVersionReport(c.QueryParams(), h.Now())
	if err != nil {
		return err
	}
	f, err := h.readReport(c.Request().Context(), by, ask)
	if err != nil {
		return err
	}
	rows := []apiVersionReportRow{}
	for _, r := range f.rows {
		row := apiVersionReportRow{Source: r.source, ErrorType: r.errorType, Versions: r.versions, NotRunning: append([]string{}, r.gone...), Documents: r.total, Earlier: r.earlier, Months: map[string]int64{}}
		if r.known {
			row.RunsNow = &r.runs
		}
		for i, m := range ask.months() {
			if r.months[i] > 0 {
				row.Months[m.Format("2006-01")] = r.months[i]
			}
		}
		rows = append(rows, row)
	}
	of := "stuck"
	if ask.all {
		of = "all"
	}
	return web.JSON(c, http.StatusOK, map[string]any{"of": of, "from": ask.from.Format("2006-01"), "to": ask.to.Format("2006-01"), "incomplete": f.more, "items": rows, "next": ""})
}

// versionReportCSV is the same at .csv, a line for each number, for the API and
// for people.
func (h *Handlers) versionReportCSV(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ask, err := readVersionReport(c.QueryParams(), h.Now())
	if err != nil {
		return err
	}
	f, err := h.readReport(c.Request().Context(), by, ask)
	if err != nil {
		return err
	}
	if f.more {
		return dlq.Invalid("the report is too large for one file", dlq.Fault{Pointer: "/source", Detail: "fewer sources, another content type or fewer months expected"})
	}
	var body bytes.Buffer
	if err := writeVersionReport(dlq.NewCSV(&body), f); err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Disposition", `attachment; filename="versions-`+ask.from.Format("2006-01")+`-`+ask.to.Format("2006-01")+`.csv"`)
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8", body.Bytes())
}

func writeVersionReport(out dlq.CSV, f versionReportFacts) error {
	if err := out.Row("source", "error_type", "failed_under", "runs_now", "month", "documents"); err != nil {
		return err
	}
	for _, r := range f.rows {
		runs := "not registered"
		switch {
		case r.runs:
			runs = "runs now"
		case len(r.gone) > 0:
			runs = "not running now"
		}
		line := func(month string, n int64) error {
			if n == 0 {
				return nil
			}
			return out.Row(r.source, r.errorType, allVersions(r.versions), runs, month, strconv.FormatInt(n, 10))
		}
		if err := line("earlier", r.earlier); err != nil {
			return err
		}
		for i, m := range f.ask.months() {
			if err := line(m.Format("2006-01"), r.months[i]); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
