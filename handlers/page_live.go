package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"dlo/dlq"
	"dlo/views/cohort"
	"dlo/views/operation"
	"dlo/web"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

// drawing is what a stream sends: the regions as they are now, and whether they
// may still move.
type drawing func(ctx context.Context) (regions []templ.Component, moves bool, err error)

// cohortLive is GET /cohorts/{id}/live: what a redrive moves on a cohort's page.
func (h *Handlers) cohortLive(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	o, any, err := h.Store.OperationOfCohort(ctx, found.ID)
	if err != nil {
		return err
	}
	if any {
		any, err = h.Store.SeesOperation(ctx, by, o)
	}
	if err != nil {
		return err
	}
	if !any {
		return dlq.Errorf(dlq.KindNotFound, "no redrive of this cohort is under way")
	}
	return h.stream(c, by, o.ID, func(ctx context.Context) ([]templ.Component, bool, error) {
		f := cohortFacts{by: by, now: h.Now()}
		var err error
		if f.cohort, err = h.Store.Cohort(ctx, by, found.ID); err != nil {
			return nil, false, err
		}
		if f.known, err = h.sourcesFor(ctx, by, sourcesOfCohorts([]dlq.Cohort{f.cohort})); err != nil {
			return nil, false, err
		}
		if f.pausedBy, err = h.Store.Paused(ctx); err != nil {
			return nil, false, err
		}
		if f.replays, err = h.Store.CohortRedrives(ctx, by, found.ID, replaysLooked); err != nil {
			return nil, false, err
		}
		if err = h.fillPast(ctx, &f); err != nil {
			return nil, false, err
		}
		if f.prove, err = h.cohortProve(ctx, by, f.cohort, f.known, f.pausedBy); err != nil {
			return nil, false, err
		}
		f.prove.csrf, f.prove.past = h.Sessions.CSRFToken(c), pastLinks(f)
		live := liveOf(f.prove, cohortHref(found.ID), cohortRegions)
		regions := []templ.Component{cohort.ProveRegion(newProve(f.prove), live), cohort.FactsRegion(cohortHeadFacts(f)), cohort.ReplaysRegion(newReplays(f))}
		apart, err := h.separatesLive(ctx, &f)
		return append(regions, apart...), live.URL != "", err
	})
}

// operationLive is GET /operations/{id}/live: how far it is.
func (h *Handlers) operationLive(c echo.Context) error {
	by, _ := web.ActorOf(c)
	o, err := h.visibleOperation(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.stream(c, by, o.ID, func(ctx context.Context) ([]templ.Component, bool, error) {
		f := operationFacts{by: by, now: h.Now(), csrf: h.Sessions.CSRFToken(c)}
		var err error
		if f.operation, err = h.Store.Operation(ctx, o.ID); err != nil {
			return nil, false, err
		}
		if f.outcomes, err = h.Store.OutcomeCounts(ctx, o.ID); err != nil {
			return nil, false, err
		}
		if f.paused, err = h.Store.Paused(ctx); err != nil {
			return nil, false, err
		}
		if err = h.fillProve(ctx, by, &f); err != nil {
			return nil, false, err
		}
		return []templ.Component{operation.ProgressRegion(newOperationRunning(f))}, !f.operation.State.Ended(), nil
	})
}

// stream sends what draw draws, at once and whenever the operation moved, until
// it moves no more, the bound is reached, the reader goes, or the server stops.
// It begins with a drawing, so that what fails is answered as on any page.
func (h *Handlers) stream(c echo.Context, by dlq.Actor, operationID string, draw drawing) error {
	if !h.Live.enter(by.ID) {
		return &dlq.Error{Kind: dlq.KindTooMany, Message: "too many pages are being told what moves; this one can ask now and then", RetryAfter: 10 * time.Second}
	}
	defer h.Live.leave(by.ID)
	moved, stop := h.Live.watch(operationID)
	defer stop()
	ctx, cancel := context.WithTimeout(c.Request().Context(), liveBound)
	defer cancel()
	first, moves, err := event(ctx, draw)
	if err != nil {
		return err
	}
	// The reader's own end of the connection is read until the stream ends.
	if err := web.ExtendDeadlines(c, liveBound+liveBeat, liveBeat); err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store, no-transform") // what compresses would hold it back
	header.Set("X-Accel-Buffering", "no")
	c.Response().WriteHeader(http.StatusOK)
	send := func(text []byte) bool {
		if web.ExtendDeadlines(c, 0, liveBeat) != nil {
			return false
		}
		if _, err := c.Response().Write(text); err != nil {
			return false // the reader is gone, which is no error of ours
		}
		c.Response().Flush()
		return true
	}
	beat := time.NewTicker(liveBeat)
	defer beat.Stop()
	for next := append([]byte("retry: 1000\n"), first...); ; {
		if !send(next) {
			return nil
		}
		if !moves {
			send([]byte("event: end\ndata: \"\"\n\n"))
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.Live.Done():
			return nil
		case <-beat.C:
			next = []byte(": still here\n\n")
		case <-moved:
			if next, moves, err = event(ctx, draw); err != nil {
				return nil // the page asks anew, and is answered with the error
			}
		}
	}
}

// event is one drawing as the stream writes it: JSON, because a text with a line
// break in it would be several fields.
func event(ctx context.Context, draw drawing) ([]byte, bool, error) {
	regions, moves, err := draw(ctx)
	if err != nil {
		return nil, false, err
	}
	var html bytes.Buffer
	for _, r := range regions {
		if err := r.Render(ctx, &html); err != nil {
			return nil, false, fmt.Errorf("draw what moved: %w", err)
		}
		if _, err := io.WriteString(&html, "\n"); err != nil {
			return nil, false, err
		}
	}
	data, err := json.Marshal(html.String())
	if err != nil {
		return nil, false, fmt.Errorf("write what moved: %w", err)
	}
	return fmt.Appendf(nil, "event: drawn\ndata: %s\n\n", data), moves, nil
}
