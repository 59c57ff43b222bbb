package handlers

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/operation"
	"dlo/views/operations"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// operationsShown is how many operations a page of the list holds.
const operationsShown = 50

// operationsPage is GET /operations.
func (h *Handlers) operationsPage(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	open, err := h.Store.OpenOperations(ctx)
	if err != nil {
		return err
	}
	before := c.QueryParam("before")
	f := operationsFacts{onlyUp: c.QueryParam("state") == "open", first: before == "", by: by, now: h.Now()}
	if f.paused, err = h.Store.Paused(ctx); err != nil {
		return err
	}
	if f.onlyUp {
		slices.Reverse(open)
		f.list = open
	} else {
		if f.list, err = h.Store.Operations(ctx, before, operationsShown+1); err != nil {
			return err
		}
		if len(f.list) > operationsShown {
			f.list = f.list[:operationsShown]
			f.next = f.list[operationsShown-1].ID
		}
	}
	if f.list, err = h.visibleOperations(ctx, by, f.list); err != nil {
		return err
	}
	if open, err = h.visibleOperations(ctx, by, open); err != nil {
		return err
	}
	f.open = len(open)
	f.outcomes = map[string]map[dlq.OutcomeResult]int64{}
	for _, o := range f.list {
		if o.Kind == dlq.OperationRedrive {
			if f.outcomes[o.ID], err = h.Store.OutcomeCounts(ctx, o.ID); err != nil {
				return err
			}
		}
	}
	m := newOperationsPage(f)
	if web.IsFragment(c.Request()) {
		return web.RenderPage(c, http.StatusOK, operations.Region(m), operations.Region(m))
	}
	if m.Layout, err = h.layout(c, "Operations", ""); err != nil {
		return err
	}
	return web.RenderPage(c, http.StatusOK, operations.Page(m), operations.Region(m))
}

// operationPage is GET /operations/{id}. While it runs its progress asks for
// itself again, and gets that part alone.
func (h *Handlers) operationPage(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	o, err := h.visibleOperation(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	f := operationFacts{operation: o, by: by, now: h.Now()}
	if f.leftOut, err = h.Store.LeftOutCounts(ctx, o.ID); err != nil {
		return err
	}
	if f.outcomes, err = h.Store.OutcomeCounts(ctx, o.ID); err != nil {
		return err
	}
	if f.paused, err = h.Store.Paused(ctx); err != nil {
		return err
	}
	if o.Kind == dlq.OperationProbe {
		if f.readings, err = h.Store.ReadingCounts(ctx, o.ID); err != nil {
			return err
		}
	}
	if err := h.fillProve(ctx, by, &f); err != nil {
		return err
	}
	if web.IsFragment(c.Request()) {
		f.csrf = h.Sessions.CSRFToken(c)
		progress := operation.ProgressRegion(newOperationRunning(f))
		return web.RenderPage(c, http.StatusOK, progress, progress)
	}
	if err := h.readItems(c, &f); err != nil {
		return err
	}
	if err := h.readRest(ctx, &f); err != nil {
		return err
	}
	frame, err := h.layout(c, operationTitle(o), "", components.Link{Text: "Operations", Href: "/operations"}, components.Link{Text: operationTitle(o)})
	if err != nil {
		return err
	}
	f.csrf = frame.CSRF
	m := newOperationPage(f)
	m.Layout = frame
	return web.RenderPage(c, http.StatusOK, operation.Page(m), operation.Page(m))
}

// readItems reads a page of an operation's items, each with its redrive.
func (h *Handlers) readItems(c echo.Context, f *operationFacts) error {
	ctx := c.Request().Context()
	f.choice = itemChoice{state: dlq.ItemState(c.QueryParam("state")), outcome: dlq.OutcomeResult(c.QueryParam("outcome"))}
	if s := c.QueryParam("step"); s != "" {
		step, err := strconv.Atoi(s)
		if err != nil || step < 1 || step > f.operation.Rest() {
			return dlq.Errorf(dlq.KindNotFound, "the operation has no such step")
		}
		f.choice.step = step
	}
	if f.choice.state != "" && !slices.Contains(dlq.ItemStates, f.choice.state) {
		return dlq.Errorf(dlq.KindNotFound, "items have no such state")
	}
	if f.choice.outcome != "" && !slices.Contains(outcomeOrder, f.choice.outcome) {
		return dlq.Errorf(dlq.KindNotFound, "items have no such outcome")
	}
	if s := c.QueryParam("after"); s != "" {
		after, err := strconv.ParseInt(s, 10, 64)
		if err != nil || after < 0 {
			return dlq.Errorf(dlq.KindNotFound, "the list has no such place")
		}
		f.after = after
	}
	items, err := h.Store.ItemsOfStep(ctx, f.operation.ID, f.choice.step, f.choice.state, f.choice.outcome, f.after, itemsShown+1)
	if err != nil {
		return err
	}
	if len(items) > itemsShown {
		items, f.more = items[:itemsShown], true
	}
	for _, i := range items {
		if !f.by.SeesSource(i.Source) {
			f.hidden++
			continue
		}
		item := operationItem{item: i}
		if i.RedriveID != "" {
			if item.redrive, err = h.redriveOfItem(ctx, i); err != nil {
				return err
			}
		}
		f.items = append(f.items, item)
	}
	return nil
}

// redriveOfItem finds an item's redrive among the newest of its entry.
func (h *Handlers) redriveOfItem(ctx context.Context, i dlq.Item) (*dlq.Redrive, error) {
	redrives, err := h.Store.RedrivesOf(ctx, i.EntryID, 10)
	if err != nil {
		return nil, err
	}
	for n := range redrives {
		if redrives[n].ID == i.RedriveID {
			return &redrives[n], nil
		}
	}
	return nil, nil
}

// operationMove is POST /operations/{id}/pause, /resume and /cancel.
func (h *Handlers) operationMove(to dlq.OperationState) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		by, _ := web.ActorOf(c)
		o, err := h.visibleOperation(ctx, by, c.Param("id"))
		if err != nil {
			return err
		}
		if err := checkMove(by, o, to); err != nil {
			return err
		}
		reason, err := formText(c, "reason", reasonMost)
		if err != nil {
			return err
		}
		why := ""
		if to != dlq.OperationRunning {
			why = operationStateTags[to].Text + " by " + by.Name
			if reason != "" {
				why += ": " + reason
			}
		}
		flash := web.Flash{Tone: "good", Text: operationMoved[to]}
		_, err = h.Store.MoveOperation(ctx, by, o.ID, to, why)
		switch {
		case dlq.KindOf(err) == dlq.KindConflict:
			// Another tab, or the operation itself, was quicker.
			_, sentenceOf := faultsOf(err)
			flash = web.Flash{Tone: "warn", Text: sentenceOf + " Nothing was changed."}
		case err != nil:
			return err
		}
		h.wake()
		return backTo(c, o.ID, flash)
	}
}

var operationMoved = map[dlq.OperationState]string{
	dlq.OperationPaused:    "Paused. What is in flight keeps its outcome; nothing more is sent.",
	dlq.OperationRunning:   "It goes on.",
	dlq.OperationCancelled: "Cancelled. What was not sent is free again; what was sent keeps its outcome.",
}
