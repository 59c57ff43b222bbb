package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// policyRows is the height of the field that a policy is written in.
const policyRows = 32

// sourcePolicy is GET /sources/{name}/policy: the policy as JSON, to be changed.
func (h *Handlers) sourcePolicy(c echo.Context) error {
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	body, err := json.MarshalIndent(s.Policy, "", "  ")
	if err != nil {
		return fmt.Errorf("write the policy of %s: %w", s.Name(), err)
	}
	return h.showSourceForm(c, http.StatusOK, s, policyForm(s, string(body), nil), "Policy of ", "It is replaced whole: what is left out is the default, but for secrets, which are kept.")
}

// sourcePutPolicy is POST /sources/{name}/policy.
func (h *Handlers) sourcePutPolicy(c echo.Context) error {
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	text := c.FormValue("policy")
	policy, err := dlq.ParsePolicy(s.Name(), []byte(text))
	if err == nil && policy.Runbook != "" {
		if _, markdownErr := web.Markdown(policy.Runbook); markdownErr != nil {
			err = markdownErr
		}
	}
	if err == nil && c.FormValue("seen") != seenPolicy(s) {
		err = dlq.Errorf(dlq.KindConflict, "somebody changed the policy while you wrote; nothing was saved. Open it anew in another tab and bring your change over")
	}
	switch dlq.KindOf(err) {
	case "":
		return h.saveSource(c, policy, "The policy of "+titleOf(s.Name())+" is saved.")
	case dlq.KindInvalid, dlq.KindMalformed, dlq.KindConflict:
		return h.showSourceForm(c, web.StatusOf(err), s, policyForm(s, text, err), "Policy of ", "Nothing was saved.")
	}
	return err
}

// sourceRunbook is GET /sources/{name}/runbook.
func (h *Handlers) sourceRunbook(c echo.Context) error {
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	return h.showSourceForm(c, http.StatusOK, s, runbookForm(s, s.Policy.Runbook, nil), "Runbook of ", "What to look at, whom to ask, what helped. It stands on the source's page and beside its cohorts.")
}

// sourcePutRunbook is POST /sources/{name}/runbook.
func (h *Handlers) sourcePutRunbook(c echo.Context) error {
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(c.FormValue("runbook"), "\r\n", "\n")
	policy := s.Policy
	policy.Runbook = text
	if _, err = web.Markdown(text); err == nil {
		if faults := policy.Validate(); len(faults) > 0 {
			err = dlq.Invalid("the runbook was not saved", faults...)
		}
	}
	if err == nil && c.FormValue("seen") != seenPolicy(s) {
		err = dlq.Errorf(dlq.KindConflict, "somebody changed the source while you wrote; nothing was saved")
	}
	switch dlq.KindOf(err) {
	case "":
		return h.saveSource(c, policy, "The runbook of "+titleOf(s.Name())+" is saved.")
	case dlq.KindInvalid, dlq.KindConflict:
		return h.showSourceForm(c, web.StatusOf(err), s, runbookForm(s, text, err), "Runbook of ", "Nothing was saved.")
	}
	return err
}

func (h *Handlers) saveSource(c echo.Context, policy dlq.SourcePolicy, said string) error {
	by, _ := web.ActorOf(c)
	if _, _, err := h.Store.PutSource(c.Request().Context(), by, policy); err != nil {
		return err
	}
	h.wake()
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: said}); err != nil {
		return err
	}
	return web.Redirect(c, sourceHref(policy.Name))
}

// seenPolicy names the state of a source that a form was made from.
func seenPolicy(s dlq.Source) string { return fmt.Sprint(s.UpdatedAt.UnixMilli()) }

func policyForm(s dlq.Source, text string, wrong error) components.Form {
	form := components.Form{ID: "policy", Action: sourceHref(s.Name()) + "/policy", Submit: "Save the policy", Tone: components.Primary, Fields: []components.Field{{Name: "seen", Value: seenPolicy(s)}},
		Inputs: []components.Input{{Name: "policy", Label: "Policy, as JSON", Kind: components.InputArea, Value: text, Rows: policyRows, Required: true, Error: faultLines(wrong),
			Hint: "Spans are 90d, 24h or 30s; a secret that is left out stays as it is."}}}
	if wrong != nil && form.Inputs[0].Error == "" {
		_, form.Error = faultsOf(wrong)
	}
	return form
}

func runbookForm(s dlq.Source, text string, wrong error) components.Form {
	form := components.Form{ID: "runbook", Action: sourceHref(s.Name()) + "/runbook", Submit: "Save the runbook", Tone: components.Primary, Fields: []components.Field{{Name: "seen", Value: seenPolicy(s)}},
		Inputs: []components.Input{{Name: "runbook", Label: "Runbook", Kind: components.InputArea, Value: text, Rows: policyRows / 2, Hint: "Markdown, up to 16 KiB. Images and HTML are left out.", Error: faultLines(wrong)}}}
	if wrong != nil && form.Inputs[0].Error == "" {
		_, form.Error = faultsOf(wrong)
	}
	return form
}

// faultLines is every fault in one text, each with where it stands. What stood
// in the input is shown with what cannot be seen made visible.
func faultLines(err error) string {
	var e *dlq.Error
	if !errors.As(err, &e) || len(e.Faults) == 0 {
		return ""
	}
	var lines []string
	for _, f := range e.Faults {
		lines = append(lines, strings.TrimSpace(web.VisibleText(f.Pointer)+" "+web.VisibleText(f.Detail)))
	}
	return strings.Join(lines, " · ")
}

// showSourceForm draws a form of a source on the page that confirms: a title,
// what it does, the form, and the way out.
func (h *Handlers) showSourceForm(c echo.Context, status int, s dlq.Source, form components.Form, title, lead string) error {
	title += titleOf(s.Name())
	frame, err := h.layout(c, title, "", components.Link{Text: "Sources", Href: "/sources"}, components.Link{Text: titleOf(s.Name()), Href: sourceHref(s.Name())}, components.Link{Text: title})
	if err != nil {
		return err
	}
	form.CSRF = frame.CSRF
	m := confirm.Model{Layout: frame, Title: title, Lead: lead, Form: &form, Cancel: components.Link{Text: "Back without saving", Href: sourceHref(s.Name())}}
	return web.RenderPage(c, status, confirm.Page(m), confirm.Region(m))
}
