package pipeline

import (
	_ "embed"
	"html/template"
	"net/http"
	"strings"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is all that the page shows.
type page struct {
	status
	Other       parserStatus  // the parser that does not run
	OtherMemory memorySetting // that workers do not have
	Newer       bool          // the newer one runs
	Sources     []pageSource
}

// pageModes are the ways of outcomeWays, as the page says them.
var pageModes = []pageMode{{outcomesReported, "reported when it is known"}, {outcomesResponse, "the answer to the redrive"}, {outcomesSilent, "never said"}}

type pageMode struct{ Value, Label string }

type pageSource struct {
	Name    string
	Way     way
	Modes   []pageMode
	Counts  map[string]int
	Failing []documentRow // with those in review; corrected ones included
	Total   int
}

// showPage shows what runs, what fails, and the buttons that change either.
func (p *Pipeline) showPage(w http.ResponseWriter, r *http.Request) {
	s, err := p.status(r)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	rows, err := p.rows(r)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	var out strings.Builder
	if err := pageTemplate.Execute(&out, newPage(s, rows)); err != nil {
		p.failed(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(out.String())) // a reader that went away needs no page
}

func newPage(s status, rows []documentRow) page {
	pg := page{status: s, Newer: s.Parser.Name == "new", Other: parserStatus{"new", newParserVersion}}
	if pg.Newer {
		pg.Other = parserStatus{"old", oldParserVersion}
	}
	for _, m := range memorySettings {
		if m != s.Workers.Memory {
			pg.OtherMemory = m
		}
	}
	for _, name := range sourceNames {
		source := pageSource{Name: name, Counts: map[string]int{}, Way: s.Sources[name], Modes: pageModes}
		for _, row := range rows {
			if row.Source != name {
				continue
			}
			source.Total++
			source.Counts[row.State]++
			if row.State == stateFailed || row.State == stateInReview {
				source.Failing = append(source.Failing, row)
			}
		}
		pg.Sources = append(pg.Sources, source)
	}
	return pg
}

func showStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write([]byte(pageStyle)) // a reader that went away needs no style
}
