package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/web"
)

// cohortRunbook is GET /cohorts/{id}/runbook: what people wrote of the defect, to
// be changed.
func (h *Handlers) cohortRunbook(c echo.Context) error {
	by, _ := web.ActorOf(c)
	found, err := h.Store.Cohort(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.showCohortRunbook(c, http.StatusOK, found, found.Runbook, nil)
}

// cohortPutRunbook is POST /cohorts/{id}/runbook. An empty text takes it away.
func (h *Handlers) cohortPutRunbook(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx, r := c.Request().Context(), c.Request()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	text := strings.TrimSpace(strings.ReplaceAll(r.PostFormValue("runbook"), "\r\n", "\n"))
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		err = dlq.Invalid("the runbook was not saved", dlq.Fault{Pointer: "/runbook", Detail: "text in UTF-8 without NUL expected"})
	case r.PostFormValue("seen") != seenText(found.Runbook):
		err = dlq.Errorf(dlq.KindConflict, "somebody changed the runbook while you wrote; nothing was saved. Open it anew in another tab and bring your change over")
	default:
		if _, err = web.Markdown(text); err == nil {
			err = h.Store.SetCohortRunbook(ctx, by, found.ID, found.Runbook, text)
		}
	}
	switch dlq.KindOf(err) {
	case "":
		return leadBack(c, cohortHref(found.ID), web.Flash{Tone: "good", Text: "The runbook of the cohort is saved."})
	case dlq.KindInvalid, dlq.KindConflict:
		return h.showCohortRunbook(c, web.StatusOf(err), found, text, err)
	}
	return err
}

// seenText names the text that a form was made from.
func seenText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func (h *Handlers) showCohortRunbook(c echo.Context, status int, found dlq.Cohort, text string, wrong error) error {
	seen := seenText(found.Runbook)
	if dlq.KindOf(wrong) == dlq.KindConflict {
		seen = c.Request().PostFormValue("seen") // sending it again must not overwrite what was not read
	}
	frame, err := h.layout(c, "Runbook", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: titleOf(cohortTitle(found)), Href: cohortHref(found.ID)})
	if err != nil {
		return err
	}
	form := components.Form{ID: "runbook", CSRF: frame.CSRF, Action: cohortHref(found.ID) + "/runbook", Submit: "Save the runbook", Tone: components.Primary, Fields: []components.Field{{Name: "seen", Value: seen}},
		Inputs: []components.Input{{Name: "runbook", Label: "Runbook", Kind: components.InputArea, Value: text, Rows: policyRows / 2, Hint: "Markdown, up to 16 KiB. Images and HTML are left out. Empty takes it away.", Error: faultLines(wrong), Autofocus: true}}}
	if wrong != nil && form.Inputs[0].Error == "" {
		_, form.Error = faultsOf(wrong)
	}
	m := confirm.Model{Layout: frame, Title: "Runbook of " + titleOf(cohortTitle(found)), Lead: "What to look at, whom to ask, what helped with this defect. The runbooks of its sources stand under it.", Form: &form, Cancel: components.Link{Text: "Back without saving", Href: cohortHref(found.ID)}}
	return web.RenderPage(c, status, confirm.Page(m), confirm.Region(m))
}

// refusedNote is a note that was not kept, what it was about, and why.
type refusedNote struct {
	title, href, note string
	err               error
}

// showNote asks again for a note that was not kept, with what was typed.
func (h *Handlers) showNote(c echo.Context, r refusedNote) error {
	faults, _ := faultsOf(r.err)
	frame, err := h.layout(c, "Note", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: r.title, Href: r.href})
	if err != nil {
		return err
	}
	m := confirm.Model{Layout: frame, Title: "Note on " + r.title, Lead: "It was not kept yet.", Cancel: components.Link{Text: "Back without it", Href: r.href},
		Form: &components.Form{ID: "refused-note", CSRF: frame.CSRF, Action: r.href + "/notes", Submit: "Add note", Tone: components.Primary,
			Inputs: []components.Input{{Name: "note", Label: "Note", Kind: components.InputArea, Value: strings.ToValidUTF8(strings.ReplaceAll(r.note, "\x00", "\ufffd"), "\ufffd"), Rows: 8, Required: true, Autofocus: true, Hint: "Markdown, up to 16 KiB.", Error: faultAt(faults, "/note")}}}}
	return web.RenderPage(c, web.StatusOf(r.err), confirm.Page(m), confirm.Region(m))
}
