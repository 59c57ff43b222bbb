package handlers

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/web"
)

// knownVersionsRead is how many versions the form of a fix offers.
const knownVersionsRead = 100

// cohortFixPage is the form that declares a fix. With a script it opens in a
// dialog.
func (h *Handlers) cohortFixPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	known, err := h.sourcesFor(ctx, by, sourcesOfCohorts([]dlq.Cohort{found}))
	if err != nil {
		return err
	}
	return h.renderDeclareFix(c, http.StatusOK, found, suggestedFix(found, known), nil)
}

func (h *Handlers) renderDeclareFix(c echo.Context, status int, found dlq.Cohort, d dlq.FixDeclaration, faults []dlq.Fault) error {
	by, _ := web.ActorOf(c)
	versions, err := h.Store.KnownVersions(c.Request().Context(), by, found.ID, knownVersionsRead)
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "Declare a fix", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: titleOf(cohortTitle(found)), Href: cohortHref(found.ID)})
	if err != nil {
		return err
	}
	return web.Render(c, status, confirm.Page(newDeclareFix(frame, found, d, versions, faults)))
}

// declareFixForm declares a fix.
func (h *Handlers) declareFixForm(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx, r := c.Request().Context(), c.Request()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	value := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	d := dlq.FixDeclaration{Component: value("component"), Version: value("version"), Note: value("note"), Link: value("link")}
	if err := d.Check(); err != nil {
		faults, _ := faultsOf(err)
		return h.renderDeclareFix(c, http.StatusUnprocessableEntity, found, d, faults)
	}

	versions, err := h.Store.KnownVersions(ctx, by, found.ID, knownVersionsRead)
	if err != nil {
		return err
	}
	id, created, err := h.Store.DeclareFix(ctx, by, found.ID, d)
	if err != nil {
		return err
	}
	flash := web.Flash{Tone: "good", Text: sentence("%s is declared to fix it", titleOf(versionLine(d.Component, d.Version)))}
	if !created {
		flash.Text = "That fix stood already; its note and link are those that you gave now."
	}
	if doubt := doubtOfVersion(d, versions); doubt != "" {
		flash.Tone, flash.Text = "warn", flash.Text+" "+doubt
	}
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, cohortHref(found.ID)+"#fix-"+id)
}

// doubtOfVersion is what is said of a declared fix whose version nobody has named
// yet: it may be the next one, or one that is spelt otherwise, whose deployment
// would then propose nothing.
func doubtOfVersion(d dlq.FixDeclaration, known []dlq.SeenVersion) string {
	if slices.Contains(known, dlq.SeenVersion{Component: d.Component, Version: d.Version}) {
		return ""
	}
	var names []string
	for _, v := range known {
		if v.Component == d.Component && len(names) < 3 {
			names = append(names, shownLine(v.Version, 60).String())
		}
	}
	component := shownLine(d.Component, 40).String()
	if len(names) == 0 {
		return "Nobody has named a " + component + " here yet, so look at how it is spelt: only a deployment of exactly this component and version proposes the redrive."
	}
	return "No " + component + " of that name is known here yet; known are " + strings.Join(names, ", ") + ". Only a deployment of exactly this version proposes the redrive."
}

// withdrawFixPage asks why a fix is withdrawn.
func (h *Handlers) withdrawFixPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	fixes, err := h.Store.Fixes(ctx, by, []string{found.ID})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(fixes[found.ID], func(x dlq.Fix) bool { return x.ID == c.Param("fix") })
	if at < 0 {
		return dlq.Errorf(dlq.KindNotFound, "this cohort has no such fix")
	}
	x := fixes[found.ID][at]
	frame, err := h.layout(c, "Withdraw a fix", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: titleOf(cohortTitle(found)), Href: cohortHref(found.ID)})
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, confirm.Page(confirm.Model{
		Layout: frame,
		Title:  "Withdraw " + titleOf(versionLine(x.Component, x.Version)),
		Lead:   "It no longer counts as a fix of this cohort, and its deployment proposes nothing. What was redriven stays as it is.",
		Cancel: components.Link{Text: "Cancel", Href: cohortHref(found.ID) + "#fix"},
		Form: &components.Form{ID: "withdraw", CSRF: frame.CSRF, Action: cohortHref(found.ID) + "/fix/" + x.ID + "/withdraw", Submit: "Withdraw", Tone: components.Primary,
			Inputs: []components.Input{{Name: "reason", Label: "Why", Hint: "Stands in the audit trail. May be empty.", Autocomplete: "off", Autofocus: true}}},
	}))
}

// withdrawFixForm takes a fix back.
func (h *Handlers) withdrawFixForm(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	why, err := formText(c, "reason", reasonMost)
	if err != nil {
		return err
	}
	if strings.ContainsRune(why, 0) || !utf8.ValidString(why) {
		return dlq.Invalid("the fix was not withdrawn", dlq.Fault{Pointer: "/reason", Detail: "text in UTF-8 without NUL expected"})
	}

	if err := h.Store.WithdrawFix(ctx, by, found.ID, c.Param("fix"), why); err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: "The fix is withdrawn."}); err != nil {
		return err
	}
	return web.Redirect(c, cohortHref(found.ID)+"#fix")
}
