package handlers

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

type apiSource struct {
	dlq.SourcePolicy
	Signed        bool        `json:"signed"` // a secret is set; it is never shown
	OverlapUntil  apiTime     `json:"secret_overlap_until"`
	Paused        bool        `json:"paused"`
	PausedBy      string      `json:"paused_by,omitempty"`
	Running       dlq.Running `json:"running"`
	Delivered     int64       `json:"delivered"`
	Reported      int64       `json:"reported"`
	LastArrivalAt apiTime     `json:"last_arrival_at"`
	Rejected      int64       `json:"rejected"`
}

func (h *Handlers) sourceAnswer(c echo.Context, s dlq.Source) (apiSource, error) {
	running, err := h.Store.Running(c.Request().Context(), s.ID)
	if err != nil {
		return apiSource{}, err
	}
	rejected, err := h.Store.CountRejected(c.Request().Context(), s.Name())
	return apiSource{SourcePolicy: s.Policy, Signed: s.HasSecret, OverlapUntil: apiTime(overlapOf(s, h.Now())), Paused: s.Paused, PausedBy: s.PausedBy, Running: running, Delivered: s.Delivered, Reported: s.Reported,
		LastArrivalAt: apiTime(s.LastArrivalAt), Rejected: rejected}, err
}

// overlapOf is until when two secrets stand; zero where one does.
func overlapOf(s dlq.Source, now time.Time) time.Time {
	if !twoSecrets(s, now) {
		return time.Time{}
	}
	return s.OverlapUntil
}

func (h *Handlers) visibleSource(c echo.Context) (dlq.Source, error) {
	by, _ := web.ActorOf(c)
	if !by.SeesSource(c.Param("name")) {
		return dlq.Source{}, dlq.Errorf(dlq.KindNotFound, "there is no source of this name")
	}
	return h.Store.Source(c.Request().Context(), c.Param("name"))
}

func (h *Handlers) listSources(c echo.Context) error {
	by, _ := web.ActorOf(c)
	list, err := h.Store.Sources(c.Request().Context())
	if err != nil {
		return err
	}
	rows := []apiSource{}
	for _, s := range list {
		if !by.SeesSource(s.Name()) {
			continue
		}
		row, err := h.sourceAnswer(c, s)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return web.JSON(c, http.StatusOK, listAnswer{rows, ""})
}

func (h *Handlers) showSource(c echo.Context) error {
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	answer, err := h.sourceAnswer(c, s)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, answer)
}

// putSource is PUT /sources/{name}: the policy whole. What is left out is the
// default, but for secrets, which are kept.
func (h *Handlers) putSource(c echo.Context) error {
	by, _ := web.ActorOf(c)
	if !by.SeesSource(c.Param("name")) {
		return dlq.Errorf(dlq.KindNotFound, "there is no source of this name")
	}
	if err := web.CheckContentType(c, typeJSON); err != nil {
		return err
	}
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return bodyError(err)
	}
	policy, err := dlq.ParsePolicy(c.Param("name"), body)
	if err != nil {
		return err
	}
	s, created, err := h.Store.PutSource(c.Request().Context(), by, policy)
	if err != nil {
		return err
	}
	answer, err := h.sourceAnswer(c, s)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return web.JSON(c, status, answer)
}

type pauseRequest struct {
	Reason string `json:"reason"`
}

// pauseSource is POST /sources/{name}/pause and /resume.
func (h *Handlers) pauseSource(paused bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		by, _ := web.ActorOf(c)
		var body pauseRequest
		if err := readOptionalJSON(c, &body); err != nil {
			return err
		}
		s, err := h.visibleSource(c)
		if err != nil {
			return err
		}
		if _, err := h.Store.PauseSource(c.Request().Context(), by, s.Name(), paused, body.Reason); err != nil {
			return err
		}
		h.wake()
		return h.showSource(c)
	}
}

func (h *Handlers) pauseAll(c echo.Context) error  { return h.switchAll(c, true) }
func (h *Handlers) resumeAll(c echo.Context) error { return h.switchAll(c, false) }

func (h *Handlers) switchAll(c echo.Context, paused bool) error {
	by, _ := web.ActorOf(c)
	if len(by.Sources) > 0 {
		return dlq.Errorf(dlq.KindForbidden, "this token is bound to a source, and the switch is for all of them; pause the source")
	}
	var body pauseRequest
	if err := readOptionalJSON(c, &body); err != nil {
		return err
	}
	if err := h.Store.PauseAll(c.Request().Context(), by, paused, body.Reason); err != nil {
		return err
	}
	h.wake()
	return web.JSON(c, http.StatusOK, map[string]any{"paused": paused})
}

type apiAlert struct {
	ID        string  `json:"id"`
	Rule      string  `json:"rule"`
	State     string  `json:"state"`
	Source    string  `json:"source"`
	Cohort    string  `json:"cohort"`
	Entry     string  `json:"dlq_id,omitempty"`
	Operation string  `json:"operation,omitempty"`
	Since     apiTime `json:"since"`
	Value     int64   `json:"value"`
	Limit     int64   `json:"limit"`
	Why       string  `json:"why"`
}

func (h *Handlers) listAlerts(c echo.Context) error {
	by, _ := web.ActorOf(c)
	list, err := h.Store.Alerts(c.Request().Context(), by, 500)
	if err != nil {
		return err
	}
	rows := []apiAlert{}
	for _, a := range list {
		rows = append(rows, apiAlert{a.ID, string(a.Rule), string(a.State), a.Source, a.CohortID, a.DLQID, a.OperationID, apiTime(a.Since), a.Value, a.Limit, a.Why})
	}
	return web.JSON(c, http.StatusOK, listAnswer{rows, ""})
}

type apiAudit struct {
	Seq       int64           `json:"seq"`
	At        apiTime         `json:"at"`
	ActorKind string          `json:"actor_kind"`
	Actor     string          `json:"actor"`
	Action    string          `json:"action"`
	Entry     string          `json:"dlq_id,omitempty"`
	Cohort    string          `json:"cohort,omitempty"`
	Operation string          `json:"operation,omitempty"`
	Source    string          `json:"source,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Hash      string          `json:"hash"`
}

func (h *Handlers) listAudit(c echo.Context) error {
	limit, cursor, err := page(c)
	if err != nil {
		return err
	}
	var before int64
	if cursor != "" {
		if err := json.Unmarshal([]byte(cursor), &before); err != nil {
			return dlq.Invalid("the list cannot go on from there", dlq.Fault{Pointer: "/cursor", Detail: "a cursor from the answer before expected"})
		}
	}
	list, err := h.Store.AuditTrail(c.Request().Context(), before, limit)
	if err != nil {
		return err
	}
	by, _ := web.ActorOf(c)
	rows := []apiAudit{}
	next := ""
	for i, r := range list {
		// Who is limited to sources sees what was done to them alone: a page of
		// the trail then has gaps.
		if seesAuditRow(by, r) {
			rows = append(rows, apiAudit{r.Seq, apiTime(r.At), string(r.ActorKind), r.ActorName, r.Action, r.DLQID, r.CohortID, r.OperationID, r.Source, json.RawMessage(r.Detail), r.Reason, r.Hash})
		}
		if i == limit-1 && r.Seq > 1 {
			b, _ := json.Marshal(r.Seq) // an integer always marshals
			next = string(b)
		}
	}
	return web.JSON(c, http.StatusOK, listAnswer{rows, next})
}
