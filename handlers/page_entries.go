package handlers

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/entries"
	"dlo/web"
)

// entriesRegion is the id of the table, for every page that has one.
const entriesRegion = "entries"

// entriesPage is the list of documents that a query matches. Without a query it
// leads to the usual one, so that the address always says what is shown.
func (h *Handlers) entriesPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx, params := c.Request().Context(), c.QueryParams()
	if narrowing(params) {
		return c.Redirect(http.StatusFound, "/entries?"+queryAndSort(narrowed(params), params.Get("sort")))
	}
	if !params.Has("q") {
		return c.Redirect(http.StatusFound, "/entries?"+queryAndSort(usualQuery, params.Get("sort")))
	}

	f := entriesFacts{params: params, text: params.Get("q"), list: entryList{id: entriesRegion, path: "/entries", params: params, cohort: true}}
	f.list.query, f.bad = dlq.ParseQuery(f.text)
	if len(f.bad) == 0 {
		if err := h.fillEntryList(ctx, by, &f.list); err != nil {
			return err
		}
		var err error
		if f.unknown, err = h.Store.UnknownValues(ctx, by, f.list.query); err != nil {
			return err
		}
		if f.list.total == 0 {
			if f.excluding, err = h.Store.WithoutTerm(ctx, by, f.list.query); err != nil {
				return err
			}
		}
	}
	if h.Store.TextIsBehind(ctx, f.list.query) != nil {
		var err error
		if f.lag.documents, f.lag.since, err = h.Store.TextLag(ctx, lagCounted); err != nil {
			return err
		}
	}
	known, err := h.sourcesFor(ctx, by, nil)
	if err != nil {
		return err
	}
	if f.choices, err = h.choicesFor(ctx, by); err != nil {
		return err
	}
	if f.totals, err = h.totals(c); err != nil {
		return err
	}
	if f.views, err = h.viewsMenu(c, dlq.ViewOfDocuments); err != nil {
		return err
	}
	if f.frame, err = h.layout(c, "Documents", f.text); err != nil {
		return err
	}
	f.sources = known.list
	return web.Render(c, statusOfSearch(c, len(f.bad) > 0 || f.list.lost), entries.Page(newEntriesPage(f)))
}

// fillEntryList reads a page of documents and what its table says beside them.
func (h *Handlers) fillEntryList(ctx context.Context, by dlq.Actor, l *entryList) error {
	l.by, l.now = by, h.Now()
	l.sort = dlq.EntrySort(l.params.Get("sort"))
	l.from = pageFrom(l.params.Get("from"))
	var err error
	l.rows, l.next, err = h.Store.Entries(ctx, by, l.query, l.sort, l.params.Get("after"), pageRows)
	if l.lost = lostPlace(err); err != nil && !l.lost {
		return err
	}
	if l.total, err = h.Store.CountEntries(ctx, by, l.query); err != nil {
		return err
	}
	if l.params.Get("after") == "" {
		l.from = 0
	}
	named := make([]string, len(l.rows))
	for i, e := range l.rows {
		named[i] = e.Source
	}
	if l.probes, err = h.Store.LastReadings(ctx, l.rows); err != nil {
		return err
	}
	known, err := h.sourcesFor(ctx, by, named)
	l.running = known.running
	return err
}

// choicesFor are the values that the filter form offers. Somebody who may see
// some sources only is offered the taxonomy alone: the other lists are made
// from every source, and would name what they may not know of.
func (h *Handlers) choicesFor(ctx context.Context, by dlq.Actor) (dlq.FilterChoices, error) {
	if len(by.Sources) == 0 {
		return h.Store.FilterChoices(ctx)
	}
	var c dlq.FilterChoices
	for _, class := range dlq.FailureClasses {
		c.Classes = append(c.Classes, string(class))
	}
	return c, nil
}

// statusOfSearch is 422 for an address that was not understood; but htmx shows
// nothing of an answer with that status, and the page says it all.
func statusOfSearch(c echo.Context, bad bool) int {
	if bad && c.Request().Header.Get("HX-Request") == "" {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

func queryAndSort(q, sort string) string {
	v := url.Values{"q": {q}}
	if sort != "" {
		v.Set("sort", sort)
	}
	return v.Encode()
}
