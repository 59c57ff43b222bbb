package handlers

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entry"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// What the page of one document reads at most.
const (
	entryAuditMost    = 300
	entryNotesMost    = 100
	entryRedrivesMost = 100
	entryLinkedMost   = 20
)

// entryPage is GET /entries/{id}. With ?attempt= the trace and the validation
// output are those of an older attempt; with ?view= the document is shown
// another way.
func (h *Handlers) entryPage(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	e, err := h.Store.Entry(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	facts, err := h.entryFacts(ctx, by, e, c.QueryParam("attempt"))
	if err != nil {
		return err
	}
	if facts.document, err = h.document(ctx, by, &facts.entry, c.QueryParam("view")); err != nil {
		return err
	}
	title := titleOf(e.Source + " / " + e.DocID)
	frame, err := h.layout(c, title, "", components.Link{Text: "Cohorts", Href: "/cohorts"},
		components.Link{Text: cohortHeading(facts.cohort, e), Href: cohortHref(e.CohortID)}, components.Link{Text: title})
	if err != nil {
		return err
	}
	facts.csrf = frame.CSRF
	m := newEntryPage(facts)
	m.Layout = frame
	return web.RenderPage(c, http.StatusOK, entry.Page(m), entry.Page(m))
}

// entryFacts reads everything that the page of one document says.
func (h *Handlers) entryFacts(ctx context.Context, by dlq.Actor, e dlq.Entry, attempt string) (entryFacts, error) {
	f := entryFacts{entry: e, by: by, now: h.Now(), cohort: dlq.Cohort{ID: e.CohortID}}
	var err error
	if f.source, err = h.Store.Source(ctx, e.Source); err != nil {
		return f, err
	}
	if f.running, err = h.Store.Running(ctx, f.source.ID); err != nil {
		return f, err
	}
	if f.paused, err = h.Store.Paused(ctx); err != nil {
		return f, err
	}
	// A cohort that the person may not see as a whole has no heading here.
	if f.cohort, err = h.Store.Cohort(ctx, by, e.CohortID); err != nil && dlq.KindOf(err) != dlq.KindNotFound {
		return f, err
	}
	if f.proof, err = h.Store.ProofOfEntry(ctx, by, f.cohort, e); err != nil {
		return f, err
	}
	if f.failed, err = h.Store.Attempt(ctx, e.EvidenceID); err != nil {
		return f, err
	}
	if f.attempts, err = h.Store.Attempts(ctx, e.ID, attemptsRead); err != nil {
		return f, err
	}
	if f.looked, err = h.lookedAt(ctx, f, attempt); err != nil {
		return f, err
	}
	if f.redrives, err = h.Store.RedrivesOf(ctx, e.ID, entryRedrivesMost); err != nil {
		return f, err
	}
	if f.source.Policy.Outcomes.Mode == dlq.OutcomesCheck && e.Status == dlq.StatusRedriving {
		if f.checked, _, err = h.Store.IndexChecked(ctx, e.ID); err != nil {
			return f, err
		}
	}
	if f.said, f.reading, f.asked, err = h.Store.LastProbe(ctx, e); err != nil {
		return f, err
	}
	if f.linked, err = h.Store.Linked(ctx, by, e, entryLinkedMost); err != nil {
		return f, err
	}
	if f.audit, err = h.Store.AuditOfEntry(ctx, e.ID, entryAuditMost); err != nil {
		return f, err
	}
	if f.decided, err = h.Store.Disposed(ctx, e.ID, ""); err != nil {
		return f, err
	}
	f.notes, err = h.Store.Notes(ctx, e.ID, "", entryNotesMost)
	return f, err
}

// lookedAt finds the attempt whose texts are asked for, by its number within
// the entry: among the entry's own, so that a number leads nowhere else.
func (h *Handlers) lookedAt(ctx context.Context, f entryFacts, number string) (dlq.Attempt, error) {
	if number == "" {
		return f.failed, nil
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err == nil {
		for _, a := range f.attempts {
			if a.Sequence() == n {
				return h.Store.Attempt(ctx, a.ID)
			}
		}
	}
	return dlq.Attempt{}, dlq.Errorf(dlq.KindNotFound, "this document has no such attempt")
}

// document reads the head of the stored copy and shapes its preview. A copy
// found damaged is so from here on.
func (h *Handlers) document(ctx context.Context, by dlq.Actor, e *dlq.Entry, view string) (entry.Document, error) {
	mayPreview := by.May(dlq.MayPreview)
	var held storedCopy
	if mayPreview {
		var err error
		if held, err = h.readCopy(ctx, *e); err != nil {
			return entry.Document{}, err
		}
	}
	if held.trouble == copyDamaged {
		e.Copy = dlq.CopyCorrupt
	}
	d, viewed := newDocument(documentView{
		entry: *e, copy: held, view: view, mayPreview: mayPreview, mayDownload: by.May(dlq.MayDownload), pdf: newPDFLink(*e, by, h.Now()).href(),
	})
	if !viewed {
		return d, nil
	}
	return d, h.Store.Audit(ctx, by, "payload.viewed", e, e.Source, map[string]any{"sha256": e.HeldSHA256})
}

// entryTrace is GET /entries/{id}/trace.txt: the trace as it was sent.
func (h *Handlers) entryTrace(c echo.Context) error {
	return h.attemptText(c, func(d dlq.AttemptDetail) string { return d.Trace })
}

// entryValidation is GET /entries/{id}/validation.txt.
func (h *Handlers) entryValidation(c echo.Context) error {
	return h.attemptText(c, func(d dlq.AttemptDetail) string { return d.Validation })
}

// attemptText answers a long text of an attempt as plain text without an
// origin, because a stranger wrote it.
func (h *Handlers) attemptText(c echo.Context, text func(dlq.AttemptDetail) string) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	e, err := h.Store.Entry(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	f := entryFacts{entry: e}
	if f.failed, err = h.Store.Attempt(ctx, e.EvidenceID); err != nil {
		return err
	}
	if c.QueryParam("attempt") != "" {
		if f.attempts, err = h.Store.Attempts(ctx, e.ID, attemptsRead); err != nil {
			return err
		}
	}
	a, err := h.lookedAt(ctx, f, c.QueryParam("attempt"))
	if err != nil {
		return err
	}
	body := text(a.Detail)
	if body == "" {
		return dlq.Errorf(dlq.KindNotFound, "this attempt has no such text")
	}
	web.PreviewFrame(c)
	c.Response().WriteHeader(http.StatusOK)
	_, err = c.Response().Write([]byte(strings.ToValidUTF8(body, "\uFFFD")))
	return err
}

// entryProbe is POST /entries/{id}/probe: check now, or with fetch=1 fetch and
// hash.
func (h *Handlers) entryProbe(c echo.Context) error {
	by, _ := web.ActorOf(c)
	e, err := h.Store.Entry(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	_, reading, err := h.askSource(c, by, e, c.FormValue("fetch") == "1")
	if err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "info", Text: "The source was asked. The document: " + bytesTag(reading).Text + "."}); err != nil {
		return err
	}
	return web.Redirect(c, entryHref(e.DLQID)+"#"+entry.ChangedID)
}

// entryNote is POST /entries/{id}/notes.
func (h *Handlers) entryNote(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	id := c.Param("id")
	note, refused := checkNote(c.FormValue("note"))
	if refused != nil {
		e, err := h.Store.Entry(ctx, by, id)
		if err != nil {
			return err
		}
		return h.showNote(c, refusedNote{title: titleOf(e.Source + " / " + e.DocID), href: entryHref(e.DLQID), note: note, err: refused})
	}
	if err := h.Store.Note(ctx, by, id, "", note); err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: "The note stands under Activity.", LinkText: "See it", Link: entryHref(id) + "#activity"}); err != nil {
		return err
	}
	return web.Redirect(c, entryHref(id))
}

// formText reads a field that a person typed: trimmed, and at most limit
// characters.
func formText(c echo.Context, name string, limit int) (string, error) {
	s := strings.TrimSpace(c.FormValue(name))
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return "", dlq.Invalid("what was sent is no text; nothing was done", dlq.Fault{Pointer: "/" + name, Detail: "text in UTF-8 without NUL expected"})
	}
	if utf8.RuneCountInString(s) > limit {
		return "", dlq.Invalid("what was sent is too long", dlq.Fault{Pointer: "/" + name, Detail: "at most " + grouped(limit) + " characters expected"})
	}
	return s, nil
}
