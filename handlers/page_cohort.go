package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/cohort"
	"dlo/views/components"
	"dlo/web"
)

// How much of a cohort's past its page reads.
const (
	notesRead = 50
	auditRead = 50
)

// cohortPage is one defect. A fingerprint in the address leads to the cohort
// that it belongs to now, whose address is the one to keep.
func (h *Handlers) cohortPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	if found.ID != c.Param("id") {
		return c.Redirect(http.StatusFound, cohortHref(found.ID))
	}

	params := c.QueryParams()
	f := cohortFacts{cohort: found, by: by, now: h.Now(), axis: readAxis(params), axisOf: params.Get("of")}
	if err := h.fillCohort(ctx, &f); err != nil {
		return err
	}
	f.entries = entryList{id: entriesRegion, path: cohortHref(found.ID), params: params}
	f.entries.query, _ = dlq.ParseQuery(cohortQuery(found.ID, "status:"+string(cohortStatus(params))))
	if err := h.fillEntryList(ctx, by, &f.entries); err != nil {
		return err
	}
	base, documents := cohortQuery(found.ID, "status:parked"), found.Parked()
	if _, r, leads := leadingFix(f); leads && r.Query != "" {
		base, documents = r.Query, r.Documents
	}
	if f.one, err = h.oneToRedrive(ctx, by, base, documents, f.known); err != nil {
		return err
	}
	title := titleOf(cohortTitle(found))
	if f.frame, err = h.layout(c, title, "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: shortID(firstFingerprint(found))}); err != nil {
		return err
	}
	f.csrf = f.frame.CSRF
	return web.Render(c, statusOfSearch(c, f.entries.lost), cohort.Page(newCohortPage(f)))
}

// oneToRedrive finds the document of a query to redrive before the others: among
// those with a stored copy, and where there are none, among all.
func (h *Handlers) oneToRedrive(ctx context.Context, by dlq.Actor, base string, documents int64, known knownSources) (*dlq.Entry, error) {
	if !by.May(dlq.MayDecide) || documents < 2 {
		return nil, nil
	}
	for _, more := range []string{" has:payload", ""} {
		q, _ := dlq.ParseQuery(base + more)
		list, _, err := h.Store.Entries(ctx, by, q, dlq.SortLastSeen, "", oneLooked)
		if err != nil {
			return nil, err
		}
		readings, err := h.Store.LastReadings(ctx, list)
		if err != nil {
			return nil, err
		}
		if one := firstToRedrive(list, readings, known); one != nil {
			return one, nil
		}
	}
	return nil, nil
}

// firstFingerprint is what people know a cohort by.
func firstFingerprint(c dlq.Cohort) string {
	if len(c.Fingerprints) == 0 {
		return c.ID
	}
	return c.Fingerprints[0]
}

// fillCohort reads what the page of a cohort says beside its documents.
func (h *Handlers) fillCohort(ctx context.Context, f *cohortFacts) error {
	id := f.cohort.ID
	var err error
	if f.known, err = h.sourcesFor(ctx, f.by, sourcesOfCohorts([]dlq.Cohort{f.cohort})); err != nil {
		return err
	}
	if f.members, err = h.Store.Fingerprints(ctx, id); err != nil {
		return err
	}
	if f.months, err = h.Store.VersionMonths(ctx, f.by, id); err != nil {
		return err
	}
	if f.arrivals, err = h.Store.DailyArrivals(ctx, f.by, id, arrivalDays); err != nil {
		return err
	}
	if f.replays, err = h.Store.CohortRedrives(ctx, f.by, id, replaysLooked); err != nil {
		return err
	}
	if f.notes, err = h.Store.Notes(ctx, 0, id, notesRead); err != nil {
		return err
	}
	if f.decided, err = h.Store.Disposed(ctx, 0, id); err != nil {
		return err
	}
	if f.audit, err = h.Store.AuditOfCohort(ctx, id, auditRead); err != nil {
		return err
	}
	if err := h.fillGrouping(ctx, f); err != nil {
		return err
	}
	if err := h.fillSeparated(ctx, f); err != nil {
		return err
	}
	if f.pausedBy, err = h.Store.Paused(ctx); err != nil {
		return err
	}
	f.past = map[string]dlq.Cohort{}
	for _, next := range pastCohorts(f.replays) {
		c, err := h.Store.Cohort(ctx, f.by, next)
		if dlq.KindOf(err) == dlq.KindNotFound {
			continue // of sources that the viewer may not know of
		}
		if err != nil {
			return err
		}
		f.past[next] = c
	}
	f.runbook = runbookHTML(f.cohort, f.known, f.notes)
	fixes, err := h.Store.Fixes(ctx, f.by, []string{id})
	if err != nil {
		return err
	}
	f.fixes = fixes[id]
	return h.fillArrivals(ctx, f)
}
