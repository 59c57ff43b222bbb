package handlers

import (
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// endOverlap is POST /api/v1/sources/{name}/secret/end: the secret that was
// replaced signs and opens nothing any more.
func (h *Handlers) endOverlap(c echo.Context) error {
	by, _ := web.ActorOf(c)
	var body pauseRequest
	if err := readOptionalJSON(c, &body); err != nil {
		return err
	}
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	if _, err := h.Store.EndOverlap(c.Request().Context(), by, s.Name(), body.Reason); err != nil {
		return err
	}
	return h.showSource(c)
}

// sourceEndOverlap is POST /sources/{name}/secret/end, the same from the page.
func (h *Handlers) sourceEndOverlap(c echo.Context) error {
	by, _ := web.ActorOf(c)
	s, err := h.visibleSource(c)
	if err != nil {
		return err
	}
	ended, err := h.Store.EndOverlap(c.Request().Context(), by, s.Name(), "")
	if err != nil {
		return err
	}
	flash := web.Flash{Tone: "good", Text: "The old secret of " + titleOf(s.Name()) + " is gone. Redrives are signed with the new one alone."}
	if !ended {
		flash = web.Flash{Tone: "info", Text: "It was so already; nothing was changed."}
	}
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, sourceHref(s.Name()))
}

// twoSecrets says whether the secret that was replaced still stands.
func twoSecrets(s dlq.Source, now time.Time) bool { return s.OverlapUntil.After(now) }

// secretWords say where the signing of redrives stands, and never with what.
func secretWords(s dlq.Source, now time.Time) components.KV {
	kv := components.KV{Key: "Secret", Value: components.PlainText("not set")}
	if s.HasSecret {
		kv.Value = components.PlainText("set")
	}
	if twoSecrets(s, now) {
		kv.Tag = components.Tag{Text: "being replaced", Tone: components.Deadline}
		kv.Note = "the old one stands until " + moment(s.OverlapUntil).UTC
	}
	return kv
}

// secretNotice says that two secrets stand, and lets who may end that.
func secretNotice(f sourcePageFacts) []components.Notice {
	s := f.source
	if !twoSecrets(s, f.now) {
		return nil
	}
	n := components.Notice{Tone: components.Info, Title: "The signing secret is being replaced.",
		Text: sentence("Until %s redrives are signed with the new and the old one. Give the pipeline the new one before then", moment(s.OverlapUntil).UTC)}
	if f.by.May(dlq.MaySetPolicy) {
		n.Do = []components.Action{{Label: "End the overlap now", Href: sourceHref(s.Name()) + "/secret/end", Why: "A pipeline that knows only the old secret refuses every redrive from then on"}}
	}
	return []components.Notice{n}
}
