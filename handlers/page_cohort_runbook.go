package handlers

import (
	"html"
	"strings"

	"dlo/dlq"
	"dlo/web"
)

// Caps of what a cohort's page renders from Markdown. Rendering is done when the
// page is drawn, one text at a time for the whole server, so a page takes a
// few texts only; the activity has every note as it was typed.
const (
	runbooksShown = 3
	notesShown    = 5
	renderedMost  = 32 << 10 // bytes of Markdown on one page
)

// runbookHTML is what people wrote about a cohort and its sources, as HTML that
// web.Markdown has cleaned, under headings that are escaped here.
func runbookHTML(c dlq.Cohort, known knownSources, notes []dlq.Note) string {
	r := renderer{left: renderedMost}
	r.add("", c.Runbook)
	shownBooks := 0
	for _, name := range c.Sources {
		if book := known.byName[name].Policy.Runbook; book != "" && shownBooks < runbooksShown {
			r.add("Runbook of "+titleOf(name), book)
			shownBooks++
		}
	}
	for i, n := range notes {
		if i == notesShown {
			break
		}
		r.add(n.Author+", "+dateOf(n.WrittenAt), n.Body)
	}
	return r.html.String()
}

type renderer struct {
	html strings.Builder
	left int
}

// add renders one text under a heading. One that is past the caps, or cannot be
// rendered, stands as it was typed in the activity, which the page says.
func (r *renderer) add(heading, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if heading != "" {
		r.html.WriteString("<h3>" + html.EscapeString(heading) + "</h3>")
	}
	if len(text) > r.left {
		r.html.WriteString("<p><em>Too long to show here.</em></p>")
		return
	}
	rendered, err := web.Markdown(text)
	if err != nil {
		r.html.WriteString("<p><em>This cannot be drawn as Markdown.</em></p>")
		return
	}
	r.left -= len(text)
	r.html.WriteString(rendered)
}
