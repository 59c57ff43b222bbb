package handlers

import (
	"context"
	"net/http"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/views/confirm"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// confirmDo is POST /confirm/do: it does what the confirmation showed, or says
// calmly why it is no longer so.
func (h *Handlers) confirmDo(c echo.Context) error {
	chosen, err := readChoice(c)
	if err != nil {
		return err
	}
	by, _ := web.ActorOf(c)
	if !by.May(chosen.permission()) {
		return dlq.Errorf(dlq.KindForbidden, "your role does not allow this; nothing was done")
	}
	if faults := checkChoice(chosen); len(faults) > 0 {
		return h.showConfirm(c, http.StatusUnprocessableEntity, chosen, dlq.Invalid("something is missing; nothing was done", faults...))
	}
	switch {
	case chosen.single() && chosen.action == dlq.OperationAssign:
		return h.doAssign(c, by, chosen)
	case chosen.single() && chosen.action == dlq.OperationDispose:
		return h.doDispose(c, by, chosen)
	case chosen.single() && chosen.action != dlq.OperationRedrive:
		return h.doOne(c, by, chosen)
	}
	return h.doMany(c, by, chosen)
}

// checkChoice names what the form lacks, so that the page can say it in place.
func checkChoice(c choice) []dlq.Fault {
	var faults []dlq.Fault
	switch c.action {
	case dlq.OperationAssign:
		faults = dlq.AssignmentFaults(c.owner, c.ticket)
	case dlq.OperationDispose:
		faults = c.decided.faults()
	}
	if n := utf8.RuneCountInString(c.reason); (n < 1 && !c.mayBeUnreasoned()) || n > reasonMost {
		faults = append(faults, dlq.Fault{Pointer: "/reason", Detail: "Say why, in at most 2,000 characters; nothing was done"})
	}
	if c.action == dlq.OperationRelease && !c.grant.Valid() {
		faults = append(faults, dlq.Fault{Pointer: "/grant", Detail: "Choose how; nothing was done"})
	}
	if c.action == dlq.OperationExtend && (c.days < 1 || c.days > 36500) {
		faults = append(faults, dlq.Fault{Pointer: "/days", Detail: "Choose for how long; nothing was done"})
	}
	return faults
}

// doOne acts on one document at once. A second click on the same button finds
// that it is so already.
func (h *Handlers) doOne(c echo.Context, by dlq.Actor, chosen choice) error {
	ctx := c.Request().Context()
	id := chosen.ids[0]
	before, err := h.Store.Entry(ctx, by, id)
	if err != nil {
		return err
	}
	err = h.Store.Act(ctx, by, id, dlq.Action{Kind: chosen.action, Reason: chosen.reason, Days: chosen.days, Grant: chosen.grant})
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindInvalid:
		return h.showConfirm(c, http.StatusUnprocessableEntity, chosen, err)
	case dlq.KindConflict:
		_, why := faultsOf(err)
		return flashBack(c, chosen, web.Flash{Tone: "warn", Text: why + " Nothing was changed.", LinkText: "See it", Link: entryHref(id)})
	default:
		return err
	}
	after, err := h.Store.Entry(ctx, by, id)
	if err != nil {
		return err
	}
	return flashBack(c, chosen, oneDone(chosen, before, after))
}

func flashBack(c echo.Context, chosen choice, flash web.Flash) error {
	if err := web.AddFlash(c, flash); err != nil {
		return err
	}
	return web.Redirect(c, chosen.back)
}

// oneDone says what an action did to one document, or that there was nothing
// left to do.
func oneDone(chosen choice, before, after dlq.Entry) web.Flash {
	name := titleOf(after.Source + " / " + after.DocID)
	flash := web.Flash{Tone: "good", LinkText: "See it", Link: entryHref(after.DLQID)}
	switch chosen.action {
	case dlq.OperationExtend:
		flash.Text = name + " stays in the queue until " + dateOf(after.ExpiresAt) + "."
		if after.Status == dlq.StatusQuarantined {
			flash.Text = name + " waits for a decision; released, it stays in the queue until " + dateOf(after.ExpiresAt) + "."
		}
	case dlq.OperationRelease:
		flash.Text = name + " is back in the queue."
		flash.LinkText, flash.Link = "Redrive it", confirmEntryHref(dlq.OperationRedrive, after.DLQID, entryHref(after.DLQID))
	case dlq.OperationQuarantine:
		flash.Text = name + " is in quarantine."
		flash.LinkText, flash.Link = "Undo", confirmEntryHref(dlq.OperationRelease, after.DLQID, chosen.back)+"&grant="+string(dlq.GrantOne)
	case dlq.OperationArchive:
		flash.Text = name + " is in the archive."
		flash.LinkText, flash.Link = "Undo", confirmEntryHref(dlq.OperationRestore, after.DLQID, chosen.back)
	case dlq.OperationRestore:
		flash.Text = name + " is back in the queue."
	}
	if before.Status == after.Status && chosen.action != dlq.OperationExtend {
		return web.Flash{Tone: "info", Text: name + " was so already; nothing was changed.", LinkText: "See it", Link: entryHref(after.DLQID)}
	}
	return flash
}

// doMany starts an operation, and leads to its page; a redrive of one document
// leads back to the document.
func (h *Handlers) doMany(c echo.Context, by dlq.Actor, chosen choice) error {
	ctx := c.Request().Context()
	var before dlq.Entry
	if chosen.single() {
		var err error
		if before, err = h.Store.Entry(ctx, by, chosen.ids[0]); err != nil {
			return err
		}
	}
	o, err := h.Redrives.Start(ctx, by, chosen.request())
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindConflict:
		return h.showConflict(c, by, chosen, err)
	case dlq.KindInvalid:
		return h.showConfirm(c, http.StatusUnprocessableEntity, chosen, err)
	default:
		return err
	}
	h.wake()
	if chosen.single() {
		flash, err := h.oneRedriven(ctx, before, o)
		if err != nil {
			return err
		}
		return flashBack(c, chosen, flash)
	}
	if err := web.AddFlash(c, manyStarted(o)); err != nil {
		return err
	}
	return web.Redirect(c, operationHref(o.ID))
}

// oneRedriven says what became of a redrive of one document.
func (h *Handlers) oneRedriven(ctx context.Context, before dlq.Entry, o dlq.Operation) (web.Flash, error) {
	name := titleOf(before.Source + " / " + before.DocID)
	flash := web.Flash{Tone: "good", Text: name + " is on its way.", LinkText: "Its operation", Link: operationHref(o.ID)}
	if before.Status == dlq.StatusRedriving {
		flash.Tone, flash.Text = "info", name+" was on its way already; nothing was sent twice."
		return flash, nil
	}
	if o.Counts[dlq.ItemLeftOut] == 0 {
		if o.Counts[dlq.ItemSettled] > 0 {
			flash.Text = name + " is resolved: its key was committed already, so nothing was sent."
		}
		return flash, nil
	}
	items, err := h.Store.Items(ctx, o.ID, dlq.ItemLeftOut, "", 0, 1)
	if err != nil {
		return flash, err
	}
	flash.Tone, flash.Text = "warn", name+" was not sent."
	if len(items) > 0 {
		flash.Text = sentence("%s was not sent: %s", verbatim(name), leftOutWords[items[0].Why])
	}
	return flash, nil
}

// manyStarted says what was started, and how many were left out at once.
func manyStarted(o dlq.Operation) web.Flash {
	text := actionWords[o.Kind] + " of " + documents(o.Total) + " started."
	if n := o.Counts[dlq.ItemLeftOut]; n > 0 {
		text += " " + sentence("%s left out; why stands below", grouped(n))
	}
	return web.Flash{Tone: "good", Text: text, LinkText: "All operations", Link: "/operations"}
}

// showConflict says with both numbers that the selection is not what was seen.
func (h *Handlers) showConflict(c echo.Context, by dlq.Actor, chosen choice, conflict error) error {
	f, err := h.confirmFacts(c.Request().Context(), by, chosen)
	if err != nil {
		return err
	}
	why := conflict.Error()
	if _, sentenceOf := faultsOf(conflict); sentenceOf != "" {
		why = sentenceOf
	}
	if chosen.expect != redrive.NotSaid && chosen.expect != f.count {
		why = grouped(chosen.expect) + " matched when you looked, " + grouped(f.count) + " match now"
	}
	return h.renderConfirm(c, http.StatusConflict, f, func(f confirmFacts) confirm.Model { return newConfirmConflict(f, why) })
}
