package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

type apiRule struct {
	ID       string            `json:"rule"`
	Kind     dlq.GroupingKind  `json:"kind"`
	State    dlq.GroupingState `json:"state"`
	Cohort   string            `json:"cohort"`
	Cohorts  []string          `json:"cohorts"`
	By       string            `json:"by,omitempty"`
	Values   []apiSplitValue   `json:"values,omitempty"`
	Moved    int64             `json:"moved"`
	MadeAt   apiTime           `json:"made_at"`
	Actor    string            `json:"actor"`
	UndoneAt apiTime           `json:"undone_at"`
	UndoneBy string            `json:"undone_by,omitempty"`
}

type apiSplitValue struct {
	Value  string `json:"value"`
	Cohort string `json:"cohort"`
}

func newAPIRule(r dlq.GroupingRule) apiRule {
	a := apiRule{ID: r.ID, Kind: r.Kind, State: r.State, Cohort: r.CohortID, Cohorts: append([]string{}, r.Others...), Moved: r.Moved, MadeAt: apiTime(r.MadeAt), Actor: r.Actor, UndoneAt: apiTime(r.UndoneAt), UndoneBy: r.UndoneBy}
	if r.Kind == dlq.GroupingSplit {
		a.By = r.By.String()
	}
	for _, v := range r.Values {
		a.Values = append(a.Values, apiSplitValue{v.Value, v.CohortID})
	}
	return a
}

// mergeCohorts is POST /cohorts/{id}/merge: other cohorts go into this one.
func (h *Handlers) mergeCohorts(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var body struct {
		Cohorts  []string `json:"cohorts"`
		Grouping int64    `json:"grouping"`
		Reason   string   `json:"reason"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	rule, err := h.Store.MergeCohorts(c.Request().Context(), by, dlq.MergeRequest{CohortID: c.Param("id"), Others: body.Cohorts, Grouping: body.Grouping, Reason: body.Reason})
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, newAPIRule(rule))
}

// splitCohort is POST /cohorts/{id}/split: failures with certain values of an
// attribute go out of this one.
func (h *Handlers) splitCohort(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var body struct {
		By       string   `json:"by"`
		Values   []string `json:"values"`
		Together bool     `json:"together"`
		Grouping int64    `json:"grouping"`
		Reason   string   `json:"reason"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	splitBy, err := dlq.ParseSplitBy(body.By)
	if err != nil {
		return dlq.Invalid("the split was not understood", dlq.Fault{Pointer: "/by", Detail: err.Error()})
	}
	rule, err := h.Store.SplitCohort(c.Request().Context(), by, dlq.SplitRequest{CohortID: c.Param("id"), By: splitBy, Values: body.Values, Together: body.Together, Grouping: body.Grouping, Reason: body.Reason})
	if err != nil {
		return err
	}
	h.wakeRegroup()
	return web.JSON(c, http.StatusOK, newAPIRule(rule))
}

// undoGrouping is POST /cohorts/{id}/undo: the newest merge or split of this
// cohort, or the one that is named, is taken back.
func (h *Handlers) undoGrouping(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var body struct {
		Rule   string `json:"rule"`
		Reason string `json:"reason"`
	}
	if err := readOptionalJSON(c, &body); err != nil {
		return err
	}
	rule, err := h.Store.UndoGrouping(c.Request().Context(), by, c.Param("id"), body.Rule, body.Reason)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, newAPIRule(rule))
}

// groupingFor adds to a cohort how it came to be. The values of a split may quote
// documents, and are for somebody who sees all of the cohort.
func (a *apiCohort) groupingFor(g dlq.Grouping) {
	a.Grouping, a.SplitFrom, a.Rules = g.State, g.SplitFrom, []apiRule{}
	if !g.Whole {
		return
	}
	a.Part = g.Part
	for _, r := range g.Rules {
		a.Rules = append(a.Rules, newAPIRule(r))
	}
}
