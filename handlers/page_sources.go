package handlers

import (
	"context"
	"net/http"

	"dlo/dlq"
	"dlo/views/sources"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// sourcesPage is GET /sources.
func (h *Handlers) sourcesPage(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	all, err := h.Store.Sources(ctx)
	if err != nil {
		return err
	}
	var list []sourceFacts
	for _, s := range all {
		if !by.SeesSource(s.Name()) {
			continue
		}
		f, err := h.sourceFacts(ctx, by, s)
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	m := newSourcesPage(list, h.Now())
	nameless, more, err := h.Store.UnplacedOutcomes(ctx, by, "", unplacedShown)
	if err != nil {
		return err
	}
	if len(nameless) > 0 {
		u := newUnplaced(nameless, more)
		u.Lead = "They name no source. " + u.Lead
		m.Unplaced = &u
	}
	if m.Layout, err = h.layout(c, "Sources", ""); err != nil {
		return err
	}
	return web.RenderPage(c, http.StatusOK, sources.Page(m), sources.Page(m))
}

// sourceFacts reads what was seen of a source: a few indexed questions.
func (h *Handlers) sourceFacts(ctx context.Context, by dlq.Actor, s dlq.Source) (sourceFacts, error) {
	f := sourceFacts{source: s}
	var err error
	if f.running, err = h.Store.Running(ctx, s.ID); err != nil {
		return f, err
	}
	stuck, err := knownQuery(sourceQuery(s.Name(), stuckTerms))
	if err != nil {
		return f, err
	}
	if f.stuck, err = h.Store.CountEntries(ctx, by, stuck); err != nil {
		return f, err
	}
	if f.stuck > 0 {
		expiring, err := knownQuery(sourceQuery(s.Name(), stuckTerms+" expires:<7d"))
		if err != nil {
			return f, err
		}
		if f.expiring, err = h.Store.CountEntries(ctx, by, expiring); err != nil {
			return f, err
		}
		oldest, _, err := h.Store.Entries(ctx, by, stuck, dlq.SortOldest, "", 1)
		if err != nil {
			return f, err
		}
		if len(oldest) > 0 {
			f.oldest = oldest[0].OpenedAt
		}
	}
	any, err := knownQuery("source:" + dlq.QuoteValue(s.Name()))
	if err != nil {
		return f, err
	}
	newest, _, err := h.Store.Entries(ctx, by, any, dlq.SortLastSeen, "", 1)
	if err != nil {
		return f, err
	}
	if len(newest) > 0 {
		f.newest = newest[0]
	}
	f.rejected, err = h.Store.CountRejected(ctx, s.Name())
	return f, err
}

// knownQuery parses a query that the program itself made.
func knownQuery(text string) (dlq.Query, error) {
	q, bad := dlq.ParseQuery(text)
	if len(bad) > 0 {
		return q, dlq.QueryError(bad)
	}
	return q, nil
}
