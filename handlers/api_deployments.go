package handlers

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

// apiProposal is a cohort that a deployment may have fixed, for the pipeline
// that reported it.
type apiProposal struct {
	Cohort    string   `json:"cohort"`
	Fix       string   `json:"fix"`
	Component string   `json:"component"`
	Version   string   `json:"version"`
	Documents int64    `json:"documents"`
	Sources   []string `json:"sources"`
	Query     string   `json:"query"`
	URL       string   `json:"url"`
}

// deployment is POST /deployments: what runs now, or ran from a moment on.
func (h *Handlers) deployment(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	var body struct {
		Source    string   `json:"source"`
		Component string   `json:"component"`
		Version   string   `json:"version"`
		Stopped   []string `json:"stopped"`
		At        string   `json:"at"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Source == "" && len(by.Sources) == 1 {
		body.Source = by.Sources[0]
	}
	report := dlq.DeploymentReport{Component: body.Component, Version: body.Version, Stopped: body.Stopped}
	var faults []dlq.Fault
	if !dlq.ValidSourceName(body.Source) || !by.SeesSource(body.Source) {
		faults = append(faults, dlq.Fault{Pointer: "/source", Detail: "a source that this token may report for expected"})
	}
	if body.At != "" {
		var err error
		if report.At, err = time.Parse(time.RFC3339Nano, body.At); err != nil {
			faults = append(faults, dlq.Fault{Pointer: "/at", Detail: "an RFC 3339 time expected, such as 2026-11-29T09:44:00Z"})
		}
	}
	var wrong *dlq.Error
	if err := report.Check(h.Now()); errors.As(err, &wrong) {
		faults = append(faults, wrong.Faults...)
	}
	if len(faults) > 0 {
		return dlq.Invalid("the deployment was not understood", faults...)
	}

	running, changed, err := h.Store.Deploy(ctx, by, body.Source, report)
	if err != nil {
		return err
	}
	answer := struct {
		Source    string        `json:"source"`
		Running   dlq.Running   `json:"running"`
		Changed   bool          `json:"changed"`
		Proposals []apiProposal `json:"proposals"`
		More      bool          `json:"more_proposals,omitempty"`
	}{Source: body.Source, Running: running, Changed: changed, Proposals: []apiProposal{}}
	if running.Has(report.Component, report.Version) {
		proposals, more, err := h.Store.FixProposals(ctx, by, body.Source, report.Component, report.Version)
		if err != nil {
			return err
		}
		answer.More = more
		for _, p := range proposals {
			answer.Proposals = append(answer.Proposals, apiProposal{p.Fix.CohortID, p.Fix.ID, p.Fix.Component, p.Fix.Version, p.Redrive.Documents, p.Redrive.Sources, p.Redrive.Query, cohortHref(p.Fix.CohortID)})
		}
	}
	return web.JSON(c, http.StatusOK, answer)
}

// apiDeployment is one stretch of time in which a version ran.
type apiDeployment struct {
	Component string  `json:"component"`
	Version   string  `json:"version"`
	From      apiTime `json:"from"`
	Until     apiTime `json:"until"`
	By        string  `json:"by"`
	Again     bool    `json:"again"`
	Beside    bool    `json:"beside"`
}

type apiSeenVersion struct {
	Component string `json:"component"`
	Version   string `json:"version"`
	Documents int64  `json:"documents"`
	Parked    int64  `json:"parked"`
}

// seenShown is how many versions that were seen and not registered are listed.
const seenShown = 100

// listDeployments is GET /sources/{name}/deployments: what ran when. The first
// page also names the versions that failures speak of and nobody registered.
func (h *Handlers) listDeployments(c echo.Context) error {
	ctx := c.Request().Context()
	limit, cursor, err := page(c)
	if err != nil {
		return err
	}
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	list, next, err := h.Store.DeploymentHistory(ctx, s.ID, cursor, limit)
	if err != nil {
		return err
	}
	rows := []apiDeployment{}
	for _, d := range list {
		rows = append(rows, apiDeployment{d.Component, d.Version, apiTime(d.StartedAt), apiTime(d.StoppedAt), d.Actor, d.Again, d.Beside})
	}
	answer := map[string]any{"items": rows, "next": next}
	if cursor == "" {
		seen, err := h.Store.SeenVersions(ctx, s.ID, seenShown)
		if err != nil {
			return err
		}
		unregistered := []apiSeenVersion{}
		for _, v := range seen {
			unregistered = append(unregistered, apiSeenVersion{v.Component, v.Version, v.Documents, v.Parked})
		}
		answer["not_registered"] = unregistered
	}
	return web.JSON(c, http.StatusOK, answer)
}
