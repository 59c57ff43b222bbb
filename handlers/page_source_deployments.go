package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/web"
)

// historyShown is how many deployments a page of a source's history has.
const historyShown = 15

// fillDeployments reads what runs in a source, what ran, and what failures name
// besides.
func (h *Handlers) fillDeployments(ctx context.Context, f *sourcePageFacts) error {
	var err error
	if f.runs, err = h.Store.RunningDeployments(ctx, f.source.ID); err != nil {
		return err
	}
	if f.history, f.historyNext, err = h.Store.DeploymentHistory(ctx, f.source.ID, f.historyFrom, historyShown); err != nil {
		return err
	}
	f.seen, err = h.Store.SeenVersions(ctx, f.source.ID, seenShown)
	return err
}

// deployText is what the form of a deployment holds, as it was typed.
type deployText struct{ component, version, stopped, at, rolling string }

// report reads the form. Versions that stopped stand one a line or between commas.
func (d deployText) report(now time.Time) (dlq.DeploymentReport, error) {
	r := dlq.DeploymentReport{Component: d.component, Version: d.version}
	if d.rolling == "1" {
		r.Stopped = []string{}
	}
	for _, v := range strings.FieldsFunc(d.stopped, func(c rune) bool { return c == ',' || c == '\n' || c == '\r' }) {
		if v = strings.TrimSpace(v); v != "" {
			r.Stopped = append(r.Stopped, v)
		}
	}
	var faults []dlq.Fault
	if d.at != "" {
		var err error
		if r.At, err = time.Parse("2006-01-02 15:04", strings.Replace(strings.TrimSuffix(d.at, "Z"), "T", " ", 1)); err != nil {
			faults = append(faults, dlq.Fault{Pointer: "/at", Detail: "a day and a time in UTC expected, such as 2026-11-29 09:44"})
		}
	}
	if err := r.Check(now); err != nil {
		more, _ := faultsOf(err)
		faults = append(faults, more...)
	}
	if len(faults) > 0 {
		return r, dlq.Invalid("nothing was registered", faults...)
	}
	return r, nil
}

// sourceDeployment is POST /sources/{name}/deployments: what runs now, or ran
// from a moment on, said by hand.
func (h *Handlers) sourceDeployment(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	value := func(name string) string { return strings.TrimSpace(c.Request().PostFormValue(name)) }
	d := deployText{value("component"), value("version"), value("stopped"), value("at"), value("rolling")}
	report, err := d.report(h.Now())
	if err != nil {
		faults, _ := faultsOf(err)
		frame, err := h.layout(c, "Register a version", "", components.Link{Text: "Sources", Href: "/sources"}, components.Link{Text: titleOf(s.Name()), Href: sourceHref(s.Name())})
		if err != nil {
			return err
		}
		form := deployForm(s, frame.CSRF, d, faults)
		return web.Render(c, http.StatusUnprocessableEntity, confirm.Page(confirm.Model{Layout: frame, Title: "Register a version in " + titleOf(s.Name()), Lead: "Nothing was registered yet.", Cancel: components.Link{Text: "Cancel", Href: sourceHref(s.Name())}, Form: &form}))
	}

	running, changed, err := h.Store.Deploy(ctx, by, s.Name(), report)
	if err != nil {
		return err
	}
	flash := web.Flash{Tone: "good", Text: deployedSentence(s.Name(), report, running)}
	if !changed {
		flash = web.Flash{Tone: "info", Text: "It was so already; nothing was changed."}
	}
	if running.Has(report.Component, report.Version) {
		proposals, _, err := h.Store.FixProposals(ctx, by, s.Name(), report.Component, report.Version)
		if err != nil {
			return err
		}
		if len(proposals) > 0 {
			flash.Text += " It is declared to fix " + counted(len(proposals), "cohort", "cohorts") + " with something to send."
			flash.LinkText, flash.Link = "Test the fix", cohortHref(proposals[0].Fix.CohortID)+"#fix"
		}
	}
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, sourceHref(s.Name())+"#runs")
}

// deployedSentence says what a report did to what runs.
func deployedSentence(source string, r dlq.DeploymentReport, running dlq.Running) string {
	switch {
	case r.Version == "":
		return sentence("It is registered that %s stopped in %s", titleOf(strings.Join(r.Stopped, ", ")), titleOf(source))
	case running.Has(r.Component, r.Version):
		return sentence("%s runs now in %s", titleOf(withComponent(r.Component, r.Version)), titleOf(source))
	}
	return sentence("It is registered that %s ran in %s. What runs now was reported later, and stays", titleOf(withComponent(r.Component, r.Version)), titleOf(source))
}
