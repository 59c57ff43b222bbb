package handlers

import (
	"strings"
	"time"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// apiDecided is what stands decided of an entry or a cohort.
type apiDecided struct {
	Disposition string  `json:"disposition"`
	Until       string  `json:"until"` // document, code, date, doubles; empty: until it is taken off
	Date        apiTime `json:"date"`
	Reason      string  `json:"reason"`
	By          string  `json:"by"`
	At          apiTime `json:"at"`
}

// newAPIDecided is null where nothing was decided.
func newAPIDecided(d dlq.Decided) *apiDecided {
	if d.Disposition == dlq.DispositionNone {
		return nil
	}
	return &apiDecided{string(d.Disposition), string(d.Until), apiTime(d.Date), d.Reason, d.By, apiTime(d.At)}
}

// readDisposition reads what a program asks to be decided. The store checks it.
func readDisposition(c echo.Context) (dlq.NewDisposition, error) {
	var body struct {
		Disposition string `json:"disposition"`
		Until       string `json:"until"`
		Date        string `json:"date"`
		Reason      string `json:"reason"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return dlq.NewDisposition{}, err
	}
	return newDisposition(body.Disposition, body.Until, body.Date, body.Reason)
}

func newDisposition(disposition, until, date, reason string) (dlq.NewDisposition, error) {
	n := dlq.NewDisposition{Disposition: dlq.ParseDisposition(disposition), Until: dlq.Until(strings.TrimSpace(until)), Reason: strings.TrimSpace(reason)}
	if date = strings.TrimSpace(date); date == "" {
		return n, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, date); err == nil {
			n.Date = at.UTC()
			return n, nil
		}
	}
	return n, dlq.Invalid("the disposition was not understood; nothing was changed", dlq.Fault{Pointer: "/date", Detail: "a date such as 2026-12-24 expected, or a time in RFC 3339"})
}

// disposeEntry is POST /dead-letters/{dlq_id}/dispose.
func (h *Handlers) disposeEntry(c echo.Context) error {
	by, _ := web.ActorOf(c)
	n, err := readDisposition(c)
	if err != nil {
		return err
	}
	if err := h.Store.Dispose(c.Request().Context(), by, c.Param("id"), n); err != nil {
		return err
	}
	return h.showEntry(c)
}

// disposeCohort is POST /cohorts/{id}/dispose.
func (h *Handlers) disposeCohort(c echo.Context) error {
	by, _ := web.ActorOf(c)
	n, err := readDisposition(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	cohort, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	if err := h.Store.DisposeCohort(ctx, by, cohort.ID, n); err != nil {
		return err
	}
	return h.showCohort(c)
}
