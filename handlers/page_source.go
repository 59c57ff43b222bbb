package handlers

import (
	"net/http"

	"dlo/views/components"
	"dlo/views/source"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// sourcePage is GET /sources/{name}.
func (h *Handlers) sourcePage(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	f := sourcePageFacts{by: by, now: h.Now()}
	if f.sourceFacts, err = h.sourceFacts(ctx, by, s); err != nil {
		return err
	}
	f.historyFrom = c.QueryParam("runs")
	if err := h.fillDeployments(ctx, &f); err != nil {
		return err
	}
	if f.refused, err = h.Store.Rejected(ctx, s.Name(), rejectedShown); err != nil {
		return err
	}
	if f.unplaced, f.moreUnplaced, err = h.Store.UnplacedOutcomes(ctx, by, s.Name(), unplacedShown); err != nil {
		return err
	}
	if s.Policy.Runbook != "" {
		// One that was stored by a way without the caps of Markdown is said to
		// be unreadable rather than taking the page along.
		if f.runbook, err = web.Markdown(s.Policy.Runbook); err != nil {
			f.noRunbook = sentence("The runbook cannot be shown: %s", err.Error())
		}
	}
	frame, err := h.layout(c, titleOf(s.Name()), "", components.Link{Text: "Sources", Href: "/sources"}, components.Link{Text: titleOf(s.Name())})
	if err != nil {
		return err
	}
	f.csrf = frame.CSRF
	m := newSourcePage(f)
	m.Layout = frame
	return web.RenderPage(c, http.StatusOK, source.Page(m), source.Page(m))
}

// sourcePause is POST /sources/{name}/pause and /resume.
func (h *Handlers) sourcePause(paused bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		by, _ := web.ActorOf(c)
		s, err := h.visibleSource(c)
		if err != nil {
			return err
		}
		reason, err := formText(c, "reason", reasonMost)
		if err != nil {
			return err
		}
		changed, err := h.Store.PauseSource(c.Request().Context(), by, s.Name(), paused, reason)
		if err != nil {
			return err
		}
		h.wake()
		flash := web.Flash{Tone: "good", Text: pausedSentence(paused, "Redrives of "+titleOf(s.Name()))}
		if !changed {
			flash = web.Flash{Tone: "info", Text: "It was so already; nothing was changed."}
		}
		if err := web.AddFlash(c, flash); err != nil {
			return err
		}
		return web.Redirect(c, sourceHref(s.Name()))
	}
}

// everythingPause is POST /pause and /resume: the one switch for all redrives.
func (h *Handlers) everythingPause(paused bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		by, _ := web.ActorOf(c)
		reason, err := formText(c, "reason", reasonMost)
		if err != nil {
			return err
		}
		if err := h.Store.PauseAll(c.Request().Context(), by, paused, reason); err != nil {
			return err
		}
		h.wake()
		if err := web.AddFlash(c, web.Flash{Tone: "good", Text: pausedSentence(paused, "All redrives"), LinkText: "What runs", Link: "/operations?state=open"}); err != nil {
			return err
		}
		back := web.SafeNext(c.FormValue("back"))
		if back == "/" {
			back = "/operations"
		}
		return web.Redirect(c, back)
	}
}

func pausedSentence(paused bool, what string) string {
	if paused {
		return what + " are paused. What is in flight keeps its outcome."
	}
	return what + " are resumed."
}
