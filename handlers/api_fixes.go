package handlers

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

// apiFix is a version that somebody declared to fix a cohort, with what it means
// for the documents that the caller may see.
type apiFix struct {
	ID          string         `json:"id"`
	Cohort      string         `json:"cohort"`
	Component   string         `json:"component"`
	Version     string         `json:"version"`
	Note        string         `json:"note"`
	Link        string         `json:"link"`
	DeclaredBy  string         `json:"declared_by"`
	DeclaredAt  apiTime        `json:"declared_at"`
	WithdrawnBy string         `json:"withdrawn_by,omitempty"`
	WithdrawnAt apiTime        `json:"withdrawn_at"`
	State       dlq.FixState   `json:"state"`
	Replaced    int64          `json:"replaced"`
	Unsaid      int64          `json:"unsaid"`
	FailedUnder int64          `json:"failed_under"`
	Returned    int64          `json:"returned"`
	Sources     []apiFixIn     `json:"sources"`
	Redrive     *apiFixRedrive `json:"redrive"`
}

type apiFixIn struct {
	Source      string  `json:"source"`
	LiveSince   apiTime `json:"live_since"`
	Replaced    int64   `json:"replaced"`
	Unsaid      int64   `json:"unsaid"`
	FailedUnder int64   `json:"failed_under"`
	Returned    int64   `json:"returned"`
}

type apiFixRedrive struct {
	Query     string   `json:"query"`
	Documents int64    `json:"documents"`
	Sources   []string `json:"sources"`
}

func newAPIFix(f dlq.Fix) apiFix {
	sum := f.Counts()
	a := apiFix{ID: f.ID, Cohort: f.CohortID, Component: f.Component, Version: f.Version, Note: f.Note, Link: f.Link, DeclaredBy: f.Actor, DeclaredAt: apiTime(f.DeclaredAt),
		WithdrawnBy: f.WithdrawnBy, WithdrawnAt: apiTime(f.WithdrawnAt), State: f.State(), Replaced: sum.Replaced, Unsaid: sum.Unsaid, FailedUnder: sum.Under, Returned: sum.Returned, Sources: []apiFixIn{}}
	for _, in := range f.Sources {
		a.Sources = append(a.Sources, apiFixIn{in.Source, apiTime(in.Since), in.Replaced, in.Unsaid, in.Under, in.Returned})
	}
	if r, ok := f.Proposes(); ok {
		a.Redrive = &apiFixRedrive{r.Query, r.Documents, r.Sources}
	}
	return a
}

func (h *Handlers) fixesOf(ctx context.Context, by dlq.Actor, cohortID string) ([]apiFix, error) {
	all, err := h.Store.Fixes(ctx, by, []string{cohortID})
	if err != nil {
		return nil, err
	}
	out := []apiFix{}
	for _, f := range all[cohortID] {
		out = append(out, newAPIFix(f))
	}
	return out, nil
}

// listFixes is GET /cohorts/{id}/fix: every fix that was declared, newest first,
// those that were withdrawn too.
func (h *Handlers) listFixes(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	cohort, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	rows, err := h.fixesOf(ctx, by, cohort.ID)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, listAnswer{rows, ""})
}

// declareFix is POST /cohorts/{id}/fix.
func (h *Handlers) declareFix(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	var body struct {
		Component string `json:"component"`
		Version   string `json:"version"`
		Note      string `json:"note"`
		Link      string `json:"link"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	cohort, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	d := dlq.FixDeclaration{Component: strings.TrimSpace(body.Component), Version: strings.TrimSpace(body.Version), Note: strings.TrimSpace(body.Note), Link: strings.TrimSpace(body.Link)}
	id, created, err := h.Store.DeclareFix(ctx, by, cohort.ID, d)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return h.answerFix(c, status, cohort.ID, id)
}

// withdrawFix is POST /cohorts/{id}/fix/{fix}/withdraw.
func (h *Handlers) withdrawFix(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	var body struct {
		Reason string `json:"reason"`
	}
	if err := readOptionalJSON(c, &body); err != nil {
		return err
	}
	if utf8.RuneCountInString(body.Reason) > reasonMost || strings.ContainsRune(body.Reason, 0) {
		return dlq.Invalid("the fix was not withdrawn", dlq.Fault{Pointer: "/reason", Detail: "at most " + grouped(reasonMost) + " characters without NUL expected"})
	}
	cohort, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	if err := h.Store.WithdrawFix(ctx, by, cohort.ID, c.Param("fix"), strings.TrimSpace(body.Reason)); err != nil {
		return err
	}
	return h.answerFix(c, http.StatusOK, cohort.ID, c.Param("fix"))
}

func (h *Handlers) answerFix(c echo.Context, status int, cohortID, id string) error {
	by, _ := web.ActorOf(c)
	list, err := h.fixesOf(c.Request().Context(), by, cohortID)
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.ID == id {
			return web.JSON(c, status, f)
		}
	}
	return dlq.Errorf(dlq.KindNotFound, "this cohort has no such fix")
}
