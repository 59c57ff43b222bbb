package handlers

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/reports"
	"dlo/web"
)

// The report of redrives: what each was expected to do, and did. Page, JSON and
// CSV are made from the same rows.

const (
	redrivesReportPath = "/reports/redrives"
	redrivesMost       = 500 // that one report reads
	redrivesMonths     = 3   // where nobody asked for others
)

// redriveReportFacts is the report as it was read.
type redriveReportFacts struct {
	from, to time.Time // first days of the first and the last month
	rows     []dlq.RedriveReportRow
	more     bool // older ones of the same months were not read
}

// readRedriveReport reads the address, and what it asks for.
func (h *Handlers) readRedriveReport(ctx context.Context, by dlq.Actor, params url.Values) (redriveReportFacts, error) {
	f, err := redriveReportMonths(params, h.Now())
	if err != nil {
		return f, err
	}
	f.rows, f.more, err = h.Store.RedriveReport(ctx, by, dlq.RedriveReportQuery{From: f.from, Until: f.to.AddDate(0, 1, 0)}, redrivesMost)
	return f, err
}

func redriveReportMonths(params url.Values, now time.Time) (redriveReportFacts, error) {
	a := versionReportAsk{to: monthStart(now)}
	var faults []dlq.Fault
	month := func(name string, otherwise time.Time) time.Time {
		text := params.Get(name)
		if text == "" {
			return otherwise
		}
		t, err := time.Parse("2006-01", text)
		if err != nil || t.Year() < 1970 {
			faults = append(faults, dlq.Fault{Pointer: "/" + name, Detail: "a month expected, such as 2026-11"})
		}
		return t
	}
	a.to = month("to", a.to)
	a.from = month("from", a.to.AddDate(0, 1-redrivesMonths, 0))
	if len(faults) == 0 {
		switch n := len(a.months()); {
		case a.from.After(a.to):
			faults = append(faults, dlq.Fault{Pointer: "/from", Detail: "a month that is not after the last expected"})
		case n > reportMonthsMost:
			faults = append(faults, dlq.Fault{Pointer: "/from", Detail: "at most 36 months expected"})
		}
	}
	if len(faults) > 0 {
		return redriveReportFacts{}, dlq.Invalid("the report was not understood", faults...)
	}
	return redriveReportFacts{from: a.from, to: a.to}, nil
}

// address is that of the same months, at a path.
func (f redriveReportFacts) address(path string) string {
	return path + "?" + url.Values{"from": {f.from.Format("2006-01")}, "to": {f.to.Format("2006-01")}}.Encode()
}

// redriveReportPage is GET /reports/redrives for people.
func (h *Handlers) redriveReportPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	f, err := h.readRedriveReport(c.Request().Context(), by, c.QueryParams())
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "Redrives", "", components.Link{Text: "Reports", Href: "/reports"}, components.Link{Text: "Redrives"})
	if err != nil {
		return err
	}
	m := newRedriveReport(f, h.Now())
	m.Layout = frame
	return web.Render(c, http.StatusOK, reports.RedrivesPage(m))
}

type apiRedriveReportRow struct {
	Operation   string           `json:"operation"`
	Cohort      string           `json:"cohort"`
	ErrorType   string           `json:"error_type"`
	State       string           `json:"state"`
	By          string           `json:"by"`
	StartedAt   time.Time        `json:"started_at"`
	EndedAt     *time.Time       `json:"ended_at"`
	Documents   int64            `json:"documents"`
	LeftOut     int64            `json:"left_out"`
	Forecast    *apiForecast     `json:"forecast"` // null: nothing was known
	Outcomes    map[string]int64 `json:"outcomes"`
	PastError   int64            `json:"past_error"`
	Tested      int64            `json:"tested"`
	ForecastEnd dlq.ForecastEnd  `json:"forecast_end"`
}

type apiForecast struct {
	State  dlq.ProofState `json:"state"`
	Passed int64          `json:"passed"`
	Of     int64          `json:"of"`
	Covers int64          `json:"covers"`
	Low    int64          `json:"low"`
	High   int64          `json:"high"`
}

// redriveReport is GET /reports/redrives for programs.
func (h *Handlers) redriveReport(c echo.Context) error {
	by, _ := web.ActorOf(c)
	f, err := h.readRedriveReport(c.Request().Context(), by, c.QueryParams())
	if err != nil {
		return err
	}
	items := []apiRedriveReportRow{}
	for _, r := range f.rows {
		o := r.Operation
		past, of := r.Tested()
		row := apiRedriveReportRow{Operation: o.ID, Cohort: r.CohortID, ErrorType: r.ErrorType, State: string(o.State), By: o.Actor.Name, StartedAt: o.CreatedAt.UTC(),
			Documents: o.Total, LeftOut: o.Counts[dlq.ItemLeftOut], Outcomes: map[string]int64{}, PastError: past, Tested: of, ForecastEnd: o.Proof.Against(past, of)}
		if !o.EndedAt.IsZero() {
			ended := o.EndedAt.UTC()
			row.EndedAt = &ended
		}
		if p := o.Proof; p != nil {
			row.Forecast = &apiForecast{p.State, p.Passed, p.Of, p.Covers, p.Low, p.High}
		}
		for outcome, n := range r.Outcomes {
			row.Outcomes[string(outcome)] = n
		}
		items = append(items, row)
	}
	return web.JSON(c, http.StatusOK, map[string]any{"from": f.from.Format("2006-01"), "to": f.to.Format("2006-01"), "incomplete": f.more, "items": items, "next": ""})
}

// redriveReportCSV is the same at .csv, a line for each redrive, for the API and
// for people.
func (h *Handlers) redriveReportCSV(c echo.Context) error {
	by, _ := web.ActorOf(c)
	f, err := h.readRedriveReport(c.Request().Context(), by, c.QueryParams())
	if err != nil {
		return err
	}
	if f.more {
		return dlq.Invalid("the report is too large for one file", dlq.Fault{Pointer: "/from", Detail: "fewer months expected"})
	}
	var body bytes.Buffer
	if err := writeRedriveReport(dlq.NewCSV(&body), f); err != nil {
		return err
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="redrives-`+f.from.Format("2006-01")+`-`+f.to.Format("2006-01")+`.csv"`)
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8", body.Bytes())
}

func writeRedriveReport(out dlq.CSV, f redriveReportFacts) error {
	if err := out.Row("operation", "started_at", "by", "cohort", "error_type", "state", "documents", "left_out", "proof", "passed_before", "replayed_before", "expected_low", "expected_high",
		"past_error", "tested", "forecast", "committed", "failed", "skipped", "undelivered", "no_outcome", "cancelled"); err != nil {
		return err
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, r := range f.rows {
		o := r.Operation
		past, of := r.Tested()
		low, high, any := o.Proof.Expected(of)
		proof, passed, replayed, least, most := "", "", "", "", ""
		if o.Proof != nil {
			proof, passed, replayed = string(o.Proof.State), number(o.Proof.Passed), number(o.Proof.Of)
		}
		if any {
			least, most = number(low), number(high)
		}
		if err := out.Row(o.ID, o.CreatedAt.UTC().Format(time.RFC3339), o.Actor.Name, r.CohortID, r.ErrorType, string(o.State), number(o.Total), number(o.Counts[dlq.ItemLeftOut]), proof, passed, replayed, least, most,
			number(past), number(of), string(o.Proof.Against(past, of)), number(r.Outcomes[dlq.OutcomeCommitted]), number(r.Outcomes[dlq.OutcomeFailed]), number(r.Outcomes[dlq.OutcomeSkipped]),
			number(r.Outcomes[dlq.OutcomeUndelivered]), number(r.Outcomes[dlq.OutcomeNoOutcome]), number(o.Counts[dlq.ItemCancelled]+r.Outcomes[dlq.OutcomeCancelled])); err != nil {
			return err
		}
	}
	return out.Flush()
}
