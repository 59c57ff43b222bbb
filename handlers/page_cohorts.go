package handlers

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/cohorts"
	"dlo/views/components"
	"dlo/web"
)

// cohortsPage is the home page: which few defects stand behind all that is
// stuck, and what to do about each.
func (h *Handlers) cohortsPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx, params := c.Request().Context(), c.QueryParams()
	person, _ := web.PersonOf(c)
	f := cohortsFacts{params: params, now: h.Now(), by: by}
	f.query, f.bad = cohortQueryOf(params)
	err := h.fillCohortList(ctx, &f)
	if f.lost = lostPlace(err); err != nil && !f.lost {
		return err
	}
	if len(f.rows) == 0 && !f.lost {
		if first, err := h.neverAny(ctx, by); err != nil || first {
			return h.firstPage(c, by, err)
		}
	}
	if f.unknown, err = h.Store.UnknownValues(ctx, by, cohortTerms(f.query, f.query.Having)); err != nil {
		return err
	}
	if f.known, err = h.sourcesFor(ctx, by, sourcesOfCohorts(f.rows)); err != nil {
		return err
	}
	choices, err := h.choicesFor(ctx, by)
	if err != nil {
		return err
	}
	f.classes = choices.Classes
	if f.totals, err = h.totals(c); err != nil {
		return err
	}
	if f.views, err = h.viewsMenu(c, dlq.ViewOfCohorts); err != nil {
		return err
	}
	if f.frame, err = h.layout(c, "Cohorts", ""); err != nil {
		return err
	}
	if f.since, err = h.sinceLook(ctx, by, person.ID); err != nil {
		return err
	}
	f.csrf = f.frame.CSRF
	f.frame.Fresh = &components.Fresh{Poll: freshPoll(f.now)}
	return web.Render(c, statusOfSearch(c, len(f.bad) > 0 || f.lost), cohorts.Page(newCohortsPage(f)))
}

// fillCohortList reads a page of cohorts, how many there are, and of how many in
// the whole set they are.
func (h *Handlers) fillCohortList(ctx context.Context, f *cohortsFacts) (err error) {
	if f.all, f.allOf, err = h.Store.CountCohorts(ctx, f.by, viewQuery(viewOf(f.params))); err != nil || len(f.bad) > 0 {
		return err
	}
	if f.rows, f.next, err = h.Store.Cohorts(ctx, f.by, f.query, f.params.Get("after"), pageRows); err != nil {
		return err
	}
	if f.matching, f.documents = f.all, f.allOf; f.filtered() {
		f.matching, f.documents, err = h.Store.CountCohorts(ctx, f.by, f.query)
	}
	return err
}

// neverAny says whether there never was a cohort that somebody may know of.
func (h *Handlers) neverAny(ctx context.Context, by dlq.Actor) (bool, error) {
	any, _, err := h.Store.Cohorts(ctx, by, dlq.CohortQuery{}, "", 1)
	return len(any) == 0, err
}

// firstPage waits for the first document. While it waits, its own question
// changes nothing on the screen, so that what is selected there stays.
func (h *Handlers) firstPage(c echo.Context, by dlq.Actor, err error) error {
	if err != nil {
		return err
	}
	if c.QueryParam("wait") != "" && c.Request().Header.Get("HX-Request") != "" {
		return c.NoContent(http.StatusNoContent)
	}
	frame, err := h.layout(c, "Waiting for the first document", "")
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, cohorts.Page(newFirst(frame, strings.TrimSuffix(h.PublicURL.String(), "/"), by.May(dlq.MayManageAccess))))
}

// sourcesOfCohorts are the sources whose running versions a list needs.
func sourcesOfCohorts(list []dlq.Cohort) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.Sources...)
		for _, under := range c.FailedUnder {
			names = append(names, under.Source)
		}
	}
	return names
}

// cohortsFresh is the pill that says what came since the list was drawn; it
// answers nothing while nothing did.
func (h *Handlers) cohortsFresh(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ms, err := strconv.ParseInt(c.QueryParam("since"), 10, 64)
	if err != nil || ms < 0 {
		return dlq.Invalid("What is new cannot be told without the moment to count from.", dlq.Fault{Pointer: "/since", Detail: "milliseconds since 1970 expected"})
	}
	review := false
	latest, _, err := h.Store.Cohorts(c.Request().Context(), by, dlq.CohortQuery{Review: &review, Sort: dlq.CohortsByLastSeen}, "", freshLooked)
	if err != nil {
		return err
	}
	pill, any := newFresh(latest, time.UnixMilli(ms), "/cohorts")
	if !any {
		return c.NoContent(http.StatusNoContent)
	}
	return web.Render(c, http.StatusOK, components.FreshPill(pill))
}

// selectedMost bounds how many cohorts one address names.
const selectedMost = 200

// cohortsSelected turns cohorts that were ticked into the query of their
// documents, and leads to the page that confirms the action on those. What they
// hold is counted there, and the count holds against what then runs.
func (h *Handlers) cohortsSelected(c echo.Context) error {
	by, _ := web.ActorOf(c)
	kind, ids := dlq.OperationKind(c.Param("action")), c.QueryParams()["id"]
	if !kind.Valid() {
		return dlq.Errorf(dlq.KindNotFound, "There is no such action.")
	}
	if len(ids) == 0 || len(ids) > selectedMost {
		return dlq.Invalid("Tick the box of at least one cohort first.", dlq.Fault{Pointer: "/id", Detail: "1 to 200 cohorts expected"})
	}
	text := strings.TrimSpace("cohort:" + quotedList(ids) + " " + statusTermFor(kind) + " " + c.QueryParam("q"))
	q, bad := dlq.ParseQuery(text)
	if len(bad) > 0 {
		return dlq.QueryError(bad)
	}
	count, err := h.Store.CountEntries(c.Request().Context(), by, q)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusFound, confirmHref(kind, text, count, web.SafeNext(c.QueryParam("back"))))
}
