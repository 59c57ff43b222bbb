package handlers

import (
	"context"
	"net/http"

	"dlo/dlq"
	"dlo/views/quarantine"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// quarantinePage is GET /quarantine.
func (h *Handlers) quarantinePage(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	f := quarantineFacts{filter: c.QueryParam("owner"), first: c.QueryParam("cursor") == "", by: by, now: h.Now()}
	f.query = quarantineQuery(by, f.filter)
	q, bad := dlq.ParseQuery(f.query)
	if len(bad) > 0 {
		return dlq.QueryError(bad)
	}
	list, next, err := h.Store.Entries(ctx, by, q, dlq.SortOldest, c.QueryParam("cursor"), quarantineShown)
	if err != nil {
		return err
	}
	f.next = next
	if f.total, err = h.Store.CountEntries(ctx, by, q); err != nil {
		return err
	}
	if f.rows, err = h.poisonEntries(ctx, by, list); err != nil {
		return err
	}
	sources, err := h.Store.Sources(ctx)
	if err != nil {
		return err
	}
	f.threshold = map[string]int{}
	for _, s := range sources {
		f.threshold[s.Name()] = s.Policy.PoisonThreshold
	}
	m := newQuarantinePage(f)
	if m.Layout, err = h.layout(c, "Quarantine", f.query); err != nil {
		return err
	}
	return web.RenderPage(c, http.StatusOK, quarantine.Page(m), quarantine.Region(m))
}

// poisonEntries reads for each document of a page what explains why it is here:
// a few indexed reads a row, of at most quarantineShown.
func (h *Handlers) poisonEntries(ctx context.Context, by dlq.Actor, list []dlq.Entry) ([]poisonEntry, error) {
	headings := map[string]string{}
	var out []poisonEntry
	for _, e := range list {
		p := poisonEntry{entry: e}
		var err error
		if p.redrives, err = h.Store.RedrivesOf(ctx, e.ID, 20); err != nil {
			return nil, err
		}
		if p.audit, err = h.Store.AuditOfEntry(ctx, e.ID, 50); err != nil {
			return nil, err
		}
		if _, known := headings[e.CohortID]; !known {
			cohort, err := h.Store.Cohort(ctx, by, e.CohortID)
			if err != nil && dlq.KindOf(err) != dlq.KindNotFound {
				return nil, err
			}
			headings[e.CohortID] = cohortHeading(cohort, e)
		}
		p.cohort = headings[e.CohortID]
		out = append(out, p)
	}
	return out, nil
}
