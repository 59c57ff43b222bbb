package handlers

import (
	"fmt"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/views/operation"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// What a redrive would put on its pipelines, what the sources say of its
// documents, and asking them before it is started.

// confirmAsk is POST /confirm/ask: it asks the sources about what is chosen, as an
// operation whose page leads back here.
func (h *Handlers) confirmAsk(c echo.Context) error {
	chosen, err := readChoice(c)
	if err != nil {
		return err
	}
	by, _ := web.ActorOf(c)
	o, err := h.Redrives.Ask(c.Request().Context(), by, chosen.ids, chosen.query, chosen.expect)
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindConflict:
		return h.showConflict(c, by, chosen, err)
	default:
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: sentence("asking about %s", documents(o.Total)), LinkText: "All operations", Link: "/operations"}); err != nil {
		return err
	}
	return web.Redirect(c, operationHref(o.ID))
}

// askSourcesForm is the button on a redrive's confirmation; nil where no source can be
// asked, or by nobody who looks.
func askSourcesForm(f confirmFacts) *components.Form {
	if f.preview.Said.Askable() == 0 || !f.by.May(dlq.OperationProbe.Needs()) {
		return nil
	}
	who := "source"
	if len(f.sources)+f.more > 1 {
		who = "sources"
	}
	submit := "Ask the " + who + " about these " + grouped(f.count) + " now"
	if f.count == 1 {
		submit = "Ask the source about it now"
	}
	form := components.Form{ID: "ask-form", CSRF: f.csrf, Action: "/confirm/ask", Submit: submit, Tone: components.Plain}
	values := f.choice.values()
	for _, name := range sortedKeys(values) {
		for _, v := range values[name] {
			form.Fields = append(form.Fields, components.Field{Name: name, Value: v})
		}
	}
	form.Fields = append(form.Fields, components.Field{Name: "expect", Value: fmt.Sprint(f.count)})
	return &form
}

// readingOrder is the order in which readings are listed.
var readingOrder = []dlq.Reading{dlq.ReadingUnchanged, dlq.ReadingChanged, dlq.ReadingMaybeChanged, dlq.ReadingGone, dlq.ReadingUnknown}

// loadFacts say what would go downstream, and what the sources said last of it.
func loadFacts(f confirmFacts) []components.KV {
	p := f.preview
	if p.Goes == 0 {
		return nil
	}
	load := components.KV{Key: "Goes downstream", Value: components.PlainText(documents(p.Goes) + firstWords(f) + ", " + byteSize(p.Load.HeldBytes+p.Load.Bytes))}
	var notes []string
	if p.Load.Held > 0 {
		notes = append(notes, grouped(p.Load.Held)+" as stored copies, "+byteSize(p.Load.HeldBytes))
	}
	if p.Load.FromThere > 0 {
		notes = append(notes, grouped(p.Load.FromThere)+" from their source, "+byteSize(p.Load.Bytes)+" when they failed")
	}
	if p.Load.Unsized > 0 {
		notes = append(notes, counted(p.Load.Unsized, "has a size that is not known here", "have a size that is not known here"))
	}
	load.Note = strings.Join(notes, "; ")
	said := components.KV{Key: "At the source", Value: components.PlainText(saidWords(p.Said.Readings, p.Said.NotAsked, p.Said.NoProbe))}
	switch {
	case p.Said.First.IsZero():
	case p.Said.Last.Sub(p.Said.First) < time.Minute:
		said.Note = "asked " + ago(f.now, p.Said.Last)
	default:
		said.Note = "asked between " + ago(f.now, p.Said.First) + " and " + ago(f.now, p.Said.Last)
	}
	return []components.KV{load, said}
}

// saidWords count readings: "3 unchanged, 1 changed, 4 not asked yet".
func saidWords(readings map[dlq.Reading]int64, notAsked, noProbe int64) string {
	var parts []string
	for _, r := range readingOrder {
		if n := readings[r]; n > 0 {
			parts = append(parts, grouped(n)+" "+readingWords[r])
		}
	}
	if notAsked > 0 {
		parts = append(parts, grouped(notAsked)+" not asked since they failed")
	}
	if noProbe > 0 {
		parts = append(parts, grouped(noProbe)+" of sources that cannot be asked")
	}
	return strings.Join(parts, ", ")
}

// saidRisks say what a choice of bytes risks by what the sources said last.
func saidRisks(f confirmFacts, m dlq.Mode) string {
	moved, gone := f.preview.Said.Readings[dlq.ReadingChanged], f.preview.Said.Readings[dlq.ReadingGone]
	var parts []string
	switch m {
	case dlq.ModeHeld:
		if gone > 0 {
			parts = append(parts, counted(gone, "document that is gone at its source would be brought back", "documents that are gone at their source would be brought back"))
		}
		if moved > 0 {
			parts = append(parts, counted(moved, "would go in although its document has changed since", "would go in although their documents have changed since"))
		}
	case dlq.ModeSource:
		if moved > 0 {
			parts = append(parts, counted(moved, "has changed since: its replay tells nothing of the code", "have changed since: their replays tell nothing of the code"))
		}
		if gone > 0 {
			parts = append(parts, counted(gone, "is gone there", "are gone there"))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " By what the source said last: " + strings.Join(parts, "; ") + "."
}

// newAskedPage makes of an operation's page one that only asked: what was read, and
// the way back to the redrive.
func newAskedPage(m *operation.Model, f operationFacts) {
	o := f.operation
	q := o.Query
	if q == "" {
		q = "operation:" + o.ID
	}
	m.Again = &components.Action{Label: "Back to the redrive", Href: confirmHref(dlq.OperationRedrive, q, -1, operationHref(o.ID)), Tone: components.Primary, Why: "With what the source says now; nothing was sent"}
	for n, i := range f.items {
		if i.item.State == dlq.ItemSettled {
			m.Items[n].Why = sentence("%s", readingWords[dlq.Reading(i.item.Why)])
		}
	}
}

// askedCounts are the tiles of what was read; each opens its documents.
func askedCounts(f operationFacts) []components.Stat {
	var out []components.Stat
	for _, r := range readingOrder {
		if n := f.readings[r]; n > 0 {
			out = append(out, components.Stat{Value: grouped(n), Label: readingWords[r], Href: entriesHref("operation:" + f.operation.ID + "/" + string(r))})
		}
	}
	return out
}

// drawAsk puts the facts and the button on the confirmation.
func drawAsk(m *confirm.Model, f confirmFacts) {
	m.Facts = append(m.Facts, loadFacts(f)...)
	m.Ask = askSourcesForm(f)
}
