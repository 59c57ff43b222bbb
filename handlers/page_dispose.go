package handlers

import (
	"net/http"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// entryDisposePage is GET /entries/{id}/dispose: decide of a document without
// acting on it.
func (h *Handlers) entryDisposePage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	e, err := h.Store.Entry(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.showDispose(c, http.StatusOK, ofEntry(e), nil)
}

// entryDispose is POST /entries/{id}/dispose. Without a disposition it takes off
// what stands.
func (h *Handlers) entryDispose(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	e, err := h.Store.Entry(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.dispose(c, ofEntry(e), func(n dlq.NewDisposition) error { return h.Store.Dispose(ctx, by, e.DLQID, n) })
}

// cohortDisposePage is GET /cohorts/{id}/dispose.
func (h *Handlers) cohortDisposePage(c echo.Context) error {
	by, _ := web.ActorOf(c)
	found, err := h.Store.Cohort(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.showDispose(c, http.StatusOK, ofCohort(found), nil)
}

// cohortDispose is POST /cohorts/{id}/dispose.
func (h *Handlers) cohortDispose(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	return h.dispose(c, ofCohort(found), func(n dlq.NewDisposition) error { return h.Store.DisposeCohort(ctx, by, found.ID, n) })
}

// dispose reads the form, decides, and leads back to what was decided of.
func (h *Handlers) dispose(c echo.Context, of disposable, decide func(dlq.NewDisposition) error) error {
	r := c.Request()
	n, err := newDisposition(r.PostFormValue("disposition"), r.PostFormValue("until"), r.PostFormValue("date"), r.PostFormValue("reason"))
	if n.Until != dlq.UntilDate { // the field is there whatever is chosen
		n, err = newDisposition(string(n.Disposition), string(n.Until), "", n.Reason)
	}
	if err == nil && r.PostForm.Has("asked") && n.Disposition == dlq.DispositionNone {
		err = dlq.Invalid("Nothing was chosen.", dlq.Fault{Pointer: "/disposition", Detail: "choose what it needs"})
	}
	if err == nil {
		err = decide(n)
	}
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindInvalid:
		return h.showDispose(c, http.StatusUnprocessableEntity, of, &refusedDisposition{n, r.PostFormValue("date"), err})
	case dlq.KindConflict:
		_, why := faultsOf(err)
		return leadBack(c, of.href, web.Flash{Tone: "warn", Text: why + " Nothing was changed."})
	default:
		return err
	}
	text := of.noun + " needs a decision again."
	if n.Disposition != dlq.DispositionNone {
		text = "Decided: " + decidedWords(n.Disposition, n.Until, n.Date) + ". It is still counted as it was."
	}
	return leadBack(c, of.href, web.Flash{Tone: "good", Text: text})
}

func leadBack(c echo.Context, href string, flash web.Flash) error {
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, href)
}

// refusedDisposition is what was sent and why it was not taken.
type refusedDisposition struct {
	asked dlq.NewDisposition
	date  string // as it was typed
	err   error
}

func (h *Handlers) showDispose(c echo.Context, status int, of disposable, refused *refusedDisposition) error {
	standing, err := h.Store.Disposed(c.Request().Context(), of.entryID, of.cohortID)
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "Set a disposition", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: of.title, Href: of.href})
	if err != nil {
		return err
	}
	m := newDispose(of, standing, refused, h.Now())
	m.Layout, m.Form.CSRF = frame, frame.CSRF
	return web.RenderPage(c, status, confirm.Page(m), confirm.Region(m))
}
