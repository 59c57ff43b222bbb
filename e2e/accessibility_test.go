package e2e

import (
	_ "embed"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe finds barriers: https://github.com/dequelabs/axe-core, MPL-2.0, whose
// licence stands beside it.
//
//go:embed testdata/axe/axe-4.14.1.min.js
var axe string

// barrier is a violation that axe found.
type barrier struct {
	ID     string   `json:"id"`
	Impact string   `json:"impact"`
	Help   string   `json:"help"`
	Nodes  []string `json:"nodes"`
}

// barriers asks axe for what is wrong with the page by the rules of WCAG 2.2 AA.
func (b *browser) barriers() []barrier {
	b.t.Helper()
	evaluate[bool](b, axe+"\n;true")
	return read(b, chromedp.Evaluate[[]barrier](`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((found) =>
		found.violations.map((v) => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 200) + " " + n.failureSummary.replace(/\s+/g, " ").slice(0, 300))})))`, chromedp.EvalAwaitPromise))
}

func TestMainPagesHaveNoSeriousBarrierInEitherTheme(t *testing.T) {
	s := provenDemo(t)
	look := func(b *browser, page, theme string) {
		t.Helper()
		for _, found := range b.barriers() {
			if found.Impact != "serious" && found.Impact != "critical" {
				t.Logf("%s, %s: %s (%s): %s\n%q", page, theme, found.ID, found.Impact, found.Help, found.Nodes)
				continue
			}
			t.Errorf("%s, %s: %s (%s): %s\n%q", page, theme, found.ID, found.Impact, found.Help, found.Nodes)
		}
	}
	b := s.signIn(t, "reviewer")
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for _, page := range []string{"/cohorts", s.cohort, s.entry, "/entries", "/quarantine", "/operations", "/sources", "/sources/leases", "/alerts", "/audit", "/confirm?action=redrive&q=source%3Aleases+status%3Aparked&back=%2Fentries"} {
			b.open(s.address + page)
			look(b, page, theme)
		}
		b.open(s.address + s.entry)
		b.ask("Redrive")
		look(b, "the dialog of a redrive", theme)
		visitor := newBrowser(t)
		visitor.theme(theme)
		visitor.open(s.address + "/login")
		look(visitor, "/login", theme)
	}
	b.theme("light")
	b.viewport(360, 780)
	for _, page := range []string{"/cohorts", s.entry} {
		b.open(s.address + page)
		look(b, page+" on a phone", "light")
	}
}
