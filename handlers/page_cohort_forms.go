package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/views/layout"
	"dlo/web"
)

// cohortAssignPage is the form that gives a cohort an owner and a ticket. With
// a script it opens in a dialog.
func (h *Handlers) cohortAssignPage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	found, err := h.Store.Cohort(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "Assign", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: titleOf(cohortTitle(found)), Href: cohortHref(found.ID)})
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, confirm.Page(newCohortAssign(frame, found, assignment{found.Owner, found.Ticket}, nil)))
}

// assignCohortForm gives a cohort an owner and a ticket, or takes them away.
func (h *Handlers) assignCohortForm(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx, r := c.Request().Context(), c.Request()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	a := assignment{strings.TrimSpace(r.PostFormValue("owner")), strings.TrimSpace(r.PostFormValue("ticket"))}
	if err := a.check(); err != nil {
		faults, _ := faultsOf(err)
		frame, err := h.layout(c, "Assign", "")
		if err != nil {
			return err
		}
		return web.Render(c, http.StatusUnprocessableEntity, confirm.Page(newCohortAssign(frame, found, a, faults)))
	}

	if err := h.Store.AssignCohort(ctx, by, found.ID, a.Owner, a.Ticket); err != nil {
		return err
	}
	text := "The cohort is " + ownerWord(a.Owner) + "'s now."
	if a.Owner == "" {
		text = "Nobody has the cohort now."
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: text}); err != nil {
		return err
	}
	return web.Redirect(c, cohortHref(found.ID))
}

// newCohortAssign is the form, with what is wrong in place.
func newCohortAssign(frame layout.Model, c dlq.Cohort, a assignment, faults []dlq.Fault) confirm.Model {
	wrong := map[string]string{}
	for _, f := range faults {
		wrong[f.Pointer] = sentence("%s", f.Detail)
	}
	return confirm.Model{
		Layout: frame,
		Title:  "Assign " + titleOf(cohortTitle(c)),
		Lead:   "It changes who looks after the cohort, and nothing of its documents. It stays through redrives.",
		Cancel: components.Link{Text: "Cancel", Href: cohortHref(c.ID)},
		Form: &components.Form{
			ID: "assign", CSRF: frame.CSRF, Action: cohortHref(c.ID) + "/assign", Submit: "Assign", Tone: components.Primary,
			Inputs: []components.Input{
				{Name: "owner", Label: "Owner", Value: a.Owner, Hint: "A person or a team. Empty: nobody.", Error: wrong["/owner"], Autocomplete: "off", Autofocus: true},
				{Name: "ticket", Label: "Ticket", Value: a.Ticket, Hint: "An id such as SEARCH-1182, or an https address, which becomes a link. Empty: none.", Error: wrong["/ticket"], Autocomplete: "off"},
			},
		},
	}
}

// noteCohortForm keeps a note on a cohort.
func (h *Handlers) noteCohortForm(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	note, refused := checkNote(c.Request().PostFormValue("note"))
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	if refused != nil {
		return h.showNote(c, refusedNote{title: titleOf(cohortTitle(found)), href: cohortHref(found.ID), note: note, err: refused})
	}

	if err := h.Store.Note(ctx, by, "", found.ID, note); err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: "Your note is kept with the cohort."}); err != nil {
		return err
	}
	return web.Redirect(c, cohortHref(found.ID)+"#activity")
}
