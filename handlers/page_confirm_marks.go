package handlers

import (
	"net/url"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/views/components"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// What marks documents and does not move them: an owner, a disposition.

// takeOff is the choice of the form that ends a disposition in place of setting
// one.
const takeOff = "take_off"

// decidedForm is what the form says of a disposition, as it was sent.
type decidedForm struct {
	disposition, until, date string
}

func readDecided(form url.Values) decidedForm {
	return decidedForm{strings.TrimSpace(form.Get("disposition")), strings.TrimSpace(form.Get("until")), strings.TrimSpace(form.Get("date"))}
}

// asked reads the form. The field of a date is there whatever is chosen.
func (d decidedForm) asked() (dlq.NewDisposition, error) {
	disposition, date := d.disposition, d.date
	if disposition == takeOff {
		disposition = ""
	}
	if dlq.Until(d.until) != dlq.UntilDate {
		date = ""
	}
	return newDisposition(disposition, d.until, date, "")
}

func (d decidedForm) faults() []dlq.Fault {
	if d.disposition == "" {
		return []dlq.Fault{{Pointer: "/disposition", Detail: "Choose what they need; nothing was done"}}
	}
	_, err := d.asked()
	faults, _ := faultsOf(err)
	return faults
}

// mayBeUnreasoned says that the choice needs no reason: who looks after one
// document is said by its owner.
func (c choice) mayBeUnreasoned() bool { return c.single() && c.action == dlq.OperationAssign }

// mark fills in what a request does that marks documents.
func (c choice) mark(r *redrive.Request) {
	switch c.action {
	case dlq.OperationAssign:
		r.Owner, r.Ticket = c.owner, c.ticket
	case dlq.OperationDispose:
		if n, err := c.decided.asked(); err == nil {
			r.Disposition = &n
		}
	}
}

// markFields are the fields of such a choice, so that they are kept where the
// page is shown again.
func (c choice) markFields() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"owner": c.owner, "ticket": c.ticket, "disposition": c.decided.disposition, "until": c.decided.until, "date": c.decided.date} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// dispositionInputs are the fields of a disposition of many documents.
func dispositionInputs(d decidedForm, faults []dlq.Fault, now time.Time) []components.Input {
	asked, _ := d.asked()
	inputs := dispositionFields(asked, d.date, faults, now)
	inputs[0].Options = append(inputs[0].Options, components.Option{Value: takeOff, Label: "Take off what stands", Hint: "They need a decision again.", On: d.disposition == takeOff})
	return inputs
}

// doAssign gives one document an owner and a ticket.
func (h *Handlers) doAssign(c echo.Context, by dlq.Actor, chosen choice) error {
	err := h.Store.Assign(c.Request().Context(), by, chosen.ids[0], chosen.owner, chosen.ticket)
	if dlq.KindOf(err) == dlq.KindConflict {
		_, why := faultsOf(err)
		return flashBack(c, chosen, web.Flash{Tone: "warn", Text: why + " Nothing was changed."})
	}
	if err != nil {
		return err
	}
	to := ownerWord(chosen.owner)
	flash := web.Flash{Tone: "good", Text: sentence("%s assigned to %s", documents(1), to)}
	if chosen.owner != "" {
		flash.LinkText, flash.Link = "All of "+to, entriesHref("status:open owner:"+dlq.QuoteValue(chosen.owner))
	}
	return flashBack(c, chosen, flash)
}

// doDispose decides of one document at once.
func (h *Handlers) doDispose(c echo.Context, by dlq.Actor, chosen choice) error {
	n, err := chosen.decided.asked()
	if err == nil {
		n.Reason = chosen.reason
		err = h.Store.Dispose(c.Request().Context(), by, chosen.ids[0], n)
	}
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindInvalid:
		return h.showConfirm(c, 422, chosen, err)
	case dlq.KindConflict:
		_, why := faultsOf(err)
		return flashBack(c, chosen, web.Flash{Tone: "warn", Text: why + " Nothing was changed.", LinkText: "See it", Link: entryHref(chosen.ids[0])})
	default:
		return err
	}
	return flashBack(c, chosen, web.Flash{Tone: "good", Text: sentence("%s", dispositionDone(n)), LinkText: "See it", Link: entryHref(chosen.ids[0])})
}

func dispositionDone(n dlq.NewDisposition) string {
	if n.Disposition == dlq.DispositionNone {
		return "it needs a decision again"
	}
	return "decided: " + decidedWords(n.Disposition, n.Until, n.Date)
}

// markTerms are what an operation does that marks documents, for its page.
func markTerms(o dlq.Operation) []components.KV {
	switch o.Kind {
	case dlq.OperationAssign:
		owner, ticket := components.KV{Key: "Owner", Value: components.PlainText("nobody")}, components.KV{Key: "Ticket", Value: components.PlainText("none")}
		if o.Owner != "" {
			owner.Value = shown(o.Owner)
		}
		if o.Ticket != "" {
			ticket.Value = shown(o.Ticket)
			if dlq.WebAddress(o.Ticket) {
				ticket.Href = o.Ticket
			}
		}
		return []components.KV{owner, ticket}
	case dlq.OperationDispose:
		words := "what stood was taken off"
		if d := o.Disposition; d != nil && d.Disposition != dlq.DispositionNone {
			words = decidedWords(d.Disposition, d.Until, d.Date)
		}
		return []components.KV{{Key: "Disposition", Value: components.PlainText(words)}}
	}
	return nil
}
