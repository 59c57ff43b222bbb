package handlers

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

// sinceLook counts what came since somebody last looked, and marks their visit.
// The numbers are those of the lists that they lead to.
func (h *Handlers) sinceLook(ctx context.Context, by dlq.Actor, personID string) (dlq.SinceLook, error) {
	look, err := h.Store.Look(ctx, personID)
	if err != nil || !look.Until.Before(h.Now()) {
		return dlq.SinceLook{}, err
	}
	s := dlq.SinceLook{Since: look.Until}
	q := viewQuery(cohortViews[0])
	q.New = look.Until
	if s.New, _, err = h.Store.CountCohorts(ctx, by, q); err != nil {
		return s, err
	}
	q.New, q.Back = time.Time{}, look.Until
	if s.Back, _, err = h.Store.CountCohorts(ctx, by, q); err != nil {
		return s, err
	}
	stopped, more, err := h.Store.StoppedSince(ctx, look.Until)
	if err != nil {
		return s, err
	}
	if s.Stopped, err = h.visibleOperations(ctx, by, stopped); err != nil {
		return s, err
	}
	s.Unlisted = more
	s.Alerts, err = h.Store.AlertsSince(ctx, by, look.Until)
	return s, err
}

// cohortsSeen is POST /cohorts/seen: the person has seen what the page told.
func (h *Handlers) cohortsSeen(c echo.Context) error {
	person, ok := web.PersonOf(c)
	if !ok {
		return dlq.Errorf(dlq.KindUnauthenticated, "Sign in first.")
	}
	form, err := c.FormParams()
	if err != nil {
		return dlq.Invalid("The form was not understood.").Because(err)
	}
	until := momentOf(form, "until")
	if until.IsZero() {
		return dlq.Invalid("What was seen cannot be told without the moment of the page.", dlq.Fault{Pointer: "/until", Detail: "milliseconds since 1970 expected"})
	}
	if err := h.Store.Seen(c.Request().Context(), person.ID, until); err != nil {
		return err
	}
	return web.Redirect(c, "/cohorts")
}
