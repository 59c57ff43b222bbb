package handlers

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// operationRequest is the body of POST /redrives and POST /operations.
type operationRequest struct {
	Kind          dlq.OperationKind `json:"kind"`
	Entries       []string          `json:"entries"`
	Query         string            `json:"query"`
	Reason        string            `json:"reason"`
	Expect        *int64            `json:"expect"`
	Mode          dlq.Mode          `json:"mode"`
	AcceptUnknown bool              `json:"accept_unknown"`
	Rate          float64           `json:"rate"`
	Concurrency   int               `json:"concurrency"`
	Canary        []int             `json:"canary"`
	GoOn          *bool             `json:"go_on"`
	StopShare     float64           `json:"stop_share"`
	PauseShare    float64           `json:"pause_share"`
	Returns       bool              `json:"returns"`
	operationMarks
}

// redrive is POST /redrives.
func (h *Handlers) redrive(c echo.Context) error {
	var body operationRequest
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Kind != "" && body.Kind != dlq.OperationRedrive {
		return dlq.Invalid("the request was not understood; nothing was done", dlq.Fault{Pointer: "/kind", Detail: "redrive, or nothing, expected; other kinds go to /operations"})
	}
	body.Kind = dlq.OperationRedrive
	return h.start(c, body)
}

// startOperation is POST /operations.
func (h *Handlers) startOperation(c echo.Context) error {
	var body operationRequest
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	return h.start(c, body)
}

func (h *Handlers) start(c echo.Context, body operationRequest) error {
	by, _ := web.ActorOf(c)
	req := redrive.Request{Kind: body.Kind, Entries: body.Entries, Query: body.Query, Expect: redrive.NotSaid, Reason: body.Reason, Mode: body.Mode, AcceptUnknown: body.AcceptUnknown,
		Rate: body.Rate, Concurrency: body.Concurrency, Canary: body.Canary, GoOn: body.GoOn == nil || *body.GoOn,
		StopShare: body.StopShare, PauseShare: body.PauseShare, Returns: body.Returns}
	if err := body.into(&req); err != nil {
		return err
	}
	if body.Expect != nil {
		if *body.Expect < 0 {
			return dlq.Invalid("the request was not understood; nothing was done", dlq.Fault{Pointer: "/expect", Detail: "0 or more expected"})
		}
		req.Expect = *body.Expect
	}
	o, err := h.Redrives.Start(c.Request().Context(), by, req)
	if err != nil {
		return err
	}
	answer, err := h.operationAnswer(c, o)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusAccepted, answer)
}

func (h *Handlers) knownOperation(c echo.Context) (dlq.Operation, error) {
	by, _ := web.ActorOf(c)
	return h.visibleOperation(c.Request().Context(), by, c.Param("id"))
}

type apiOperation struct {
	ID        string                      `json:"id"`
	Kind      string                      `json:"kind"`
	State     string                      `json:"state"`
	Why       string                      `json:"why"`
	Asks      dlq.OperationAsks           `json:"asks"`
	Step      int                         `json:"step"`
	Sizes     []int64                     `json:"sizes"`
	GoOn      bool                        `json:"go_on"`
	Cohort    string                      `json:"cohort,omitempty"`
	Query     string                      `json:"query,omitempty"`
	Reason    string                      `json:"reason"`
	Actor     string                      `json:"actor"`
	Mode      string                      `json:"mode,omitempty"`
	Total     int64                       `json:"total"`
	Counts    map[dlq.ItemState]int64     `json:"counts"`
	LeftOut   map[dlq.LeftOut]int64       `json:"left_out"`
	Outcomes  map[dlq.OutcomeResult]int64 `json:"outcomes"`
	Steps     []apiStep                   `json:"steps"`
	CreatedAt apiTime                     `json:"created_at"`
	EndedAt   apiTime                     `json:"ended_at"`
	apiMarks
}

type apiStep struct {
	Step     int                         `json:"step"`
	Items    int64                       `json:"items"`
	Counts   map[dlq.ItemState]int64     `json:"counts"`
	Outcomes map[dlq.OutcomeResult]int64 `json:"outcomes"`
}

func newAPIOperation(o dlq.Operation) apiOperation {
	return apiOperation{ID: o.ID, Kind: string(o.Kind), State: string(o.State), Why: o.Why, Asks: o.Asks, Step: o.Step, Sizes: append([]int64{}, o.Sizes...), GoOn: o.GoOn, Cohort: o.CohortID, Steps: []apiStep{}, Query: o.Query, Reason: o.Reason, Actor: o.Actor.Name, Mode: string(o.Mode), Total: o.Total,
		Counts: o.Counts, LeftOut: map[dlq.LeftOut]int64{}, Outcomes: map[dlq.OutcomeResult]int64{}, CreatedAt: apiTime(o.CreatedAt), EndedAt: apiTime(o.EndedAt), apiMarks: newAPIMarks(o)}
}

func (h *Handlers) operationAnswer(c echo.Context, o dlq.Operation) (apiOperation, error) {
	return h.operationDetail(c.Request().Context(), o)
}

func (h *Handlers) operationDetail(ctx context.Context, o dlq.Operation) (apiOperation, error) {
	answer := newAPIOperation(o)
	var err error
	if answer.LeftOut, err = h.Store.LeftOutCounts(ctx, o.ID); err != nil {
		return answer, err
	}
	if o.Kind == dlq.OperationProbe {
		if answer.Readings, err = h.Store.ReadingCounts(ctx, o.ID); err != nil {
			return answer, err
		}
	}
	steps, err := h.Store.OperationSteps(ctx, o.ID)
	for _, step := range steps {
		answer.Steps = append(answer.Steps, apiStep{step.Step, step.Items(), step.Counts, step.Outcomes})
		for outcome, n := range step.Outcomes {
			answer.Outcomes[outcome] += n
		}
	}
	return answer, err
}

func (h *Handlers) listOperations(c echo.Context) error {
	limit, cursor, err := page(c)
	if err != nil {
		return err
	}
	list, err := h.Store.Operations(c.Request().Context(), cursor, limit+1)
	if err != nil {
		return err
	}
	next := ""
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	by, _ := web.ActorOf(c)
	if list, err = h.visibleOperations(c.Request().Context(), by, list); err != nil {
		return err
	}
	rows := make([]apiOperation, len(list))
	for i, o := range list {
		rows[i] = newAPIOperation(o)
	}
	return web.JSON(c, http.StatusOK, listAnswer{rows, next})
}

func (h *Handlers) showOperation(c echo.Context) error {
	o, err := h.knownOperation(c)
	if err != nil {
		return err
	}
	answer, err := h.operationAnswer(c, o)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, answer)
}

type apiItem struct {
	DLQID   string `json:"dlq_id"`
	Source  string `json:"source"`
	DocID   string `json:"doc_id"`
	Step    int    `json:"step"`
	State   string `json:"state"`
	Outcome string `json:"outcome"`
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
	Redrive string `json:"redrive_id,omitempty"`
}

func (h *Handlers) listItems(c echo.Context) error {
	limit, cursor, err := page(c)
	if err != nil {
		return err
	}
	var after int64
	if cursor != "" {
		if after, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return dlq.Invalid("the list cannot go on from there", dlq.Fault{Pointer: "/cursor", Detail: "a cursor from the answer before expected"})
		}
	}
	state := dlq.ItemState(c.QueryParam("state"))
	if state != "" && !slices.Contains(dlq.ItemStates, state) {
		return dlq.Invalid("the list was not understood", dlq.Fault{Pointer: "/state", Detail: "waiting, in_flight, settled, left_out or cancelled expected"})
	}
	o, err := h.knownOperation(c)
	if err != nil {
		return err
	}
	list, err := h.Store.Items(c.Request().Context(), o.ID, state, dlq.OutcomeResult(c.QueryParam("outcome")), after, limit+1)
	if err != nil {
		return err
	}
	next := ""
	if len(list) > limit {
		list = list[:limit]
		next = strconv.FormatInt(list[limit-1].Position, 10)
	}
	rows := []apiItem{}
	for _, i := range list {
		rows = append(rows, apiItem{i.DLQID, i.Source, i.DocID, i.Step, string(i.State), string(i.Outcome), string(i.Verdict), string(i.Why), i.RedriveID})
	}
	return web.JSON(c, http.StatusOK, listAnswer{rows, next})
}

// moveOperation is POST /operations/{id}/pause, /resume and /cancel.
func (h *Handlers) moveOperation(to dlq.OperationState) echo.HandlerFunc {
	return func(c echo.Context) error {
		by, _ := web.ActorOf(c)
		var body struct {
			Reason string `json:"reason"`
		}
		if err := readOptionalJSON(c, &body); err != nil {
			return err
		}
		o, err := h.knownOperation(c)
		if err != nil {
			return err
		}
		if err := checkMove(by, o, to); err != nil {
			return err
		}
		if o, err = h.Store.MoveOperation(c.Request().Context(), by, o.ID, to, body.Reason); err != nil {
			return err
		}
		h.wake()
		answer, err := h.operationAnswer(c, o)
		if err != nil {
			return err
		}
		return web.JSON(c, http.StatusOK, answer)
	}
}

// nextStep is POST /operations/{id}/next.
func (h *Handlers) nextStep(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var body struct {
		Rest   bool   `json:"rest"`
		Reason string `json:"reason"`
	}
	if err := readOptionalJSON(c, &body); err != nil {
		return err
	}
	o, err := h.Redrives.Next(c.Request().Context(), by, c.Param("id"), body.Rest, body.Reason)
	if err != nil {
		return err
	}
	answer, err := h.operationAnswer(c, o)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, answer)
}

// goOn is POST /operations/{id}/go-on.
func (h *Handlers) goOn(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var body struct {
		GoOn    *bool `json:"go_on"`
		Returns *bool `json:"returns"`
	}
	if err := readOptionalJSON(c, &body); err != nil {
		return err
	}
	if body.GoOn == nil && body.Returns == nil {
		yes := true
		body.GoOn = &yes
	}
	o, err := h.Redrives.GoOn(c.Request().Context(), by, c.Param("id"), body.GoOn, body.Returns)
	if err != nil {
		return err
	}
	answer, err := h.operationAnswer(c, o)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, answer)
}

// outcomes is POST /outcomes: one as JSON, or many as NDJSON.
func (h *Handlers) outcomes(c echo.Context) error {
	if err := web.CheckContentType(c, typeJSON, typeNDJSON); err != nil {
		return err
	}
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	if !isType(c, typeNDJSON) {
		body, err := io.ReadAll(io.LimitReader(c.Request().Body, dlq.MaxEnvelope+1))
		if err != nil {
			return bodyError(err)
		}
		receipt, err := h.Outcomes.ReportAt(ctx, by, body, h.reportedAt(c))
		if err != nil {
			return err
		}
		return web.JSON(c, receiptStatus(receipt), receipt)
	}
	answer := newSpool()
	defer answer.Close()
	lines := web.NewLines(c.Request().Body, dlq.MaxEnvelope)
	for lines.Next() {
		line := lines.Line()
		a := struct {
			Line    int                 `json:"line"`
			Status  int                 `json:"status"`
			Outcome *dlq.OutcomeReceipt `json:"outcome,omitempty"`
			Problem *web.Problem        `json:"problem,omitempty"`
		}{Line: line.Number}
		receipt, err := dlq.OutcomeReceipt{}, line.Err
		if err == nil {
			receipt, err = h.Outcomes.Report(ctx, by, line.Bytes)
		}
		if err != nil {
			p := web.ProblemOf(err, web.RequestID(c))
			a.Status, a.Problem = p.Status, &p
		} else {
			a.Status, a.Outcome = receiptStatus(receipt), &receipt
		}
		if err := answer.line(a); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return bodyError(err)
	}
	return answer.send(c)
}

func receiptStatus(r dlq.OutcomeReceipt) int {
	if r.Applied {
		return http.StatusOK
	}
	return http.StatusAccepted
}
