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
	title := titleOf(cohortTitle(found))
	if f.frame, err = h.layout(c, title, "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: shortID(firstFingerprint(found))}); err != nil {
		return err
	}
	f.csrf, f.prove.csrf = f.frame.CSRF, f.frame.CSRF
	return web.Render(c, statusOfSearch(c, f.entries.lost), cohort.Page(newCohortPage(f)))
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
	if f.pausedBy, err = h.Store.Paused(ctx); err != nil {
		return err
	}
	if err := h.fillPast(ctx, f); err != nil {
		return err
	}
	f.runbook = runbookHTML(f.cohort, f.known, f.notes)
	fixes, err := h.Store.Fixes(ctx, f.by, []string{id})
	if err != nil {
		return err
	}
	f.fixes = fixes[id]
	if f.prove, err = h.cohortProve(ctx, f.by, f.cohort, f.known, f.pausedBy); err != nil {
		return err
	}
	if err := h.fillSeparated(ctx, f); err != nil {
		return err
	}
	return h.fillArrivals(ctx, f)
}

// fillPast reads the cohorts in which replays that got past this error failed.
func (h *Handlers) fillPast(ctx context.Context, f *cohortFacts) error {
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
	return nil
}
