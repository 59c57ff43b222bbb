package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestTheSearchBoxOffersKeysAndValuesAndTakesThemByKeys writes a query with the
// keyboard alone, at the end of the text and within it.
func TestTheSearchBoxOffersKeysAndValuesAndTakesThemByKeys(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	parkSome(d.api(t), "searched source", "a", "b")
	value := func() string { return evaluate[string](b, `document.getElementById("search").value`) }
	shown := func() bool { return b.has("#choices") }
	offers := func(first string) {
		t.Helper()
		b.until("the box offers "+first, func() bool {
			return shown() && strings.HasPrefix(b.textOf("#choices [role=option]"), first)
		})
	}
	b.open(d.address + "/entries?q=")
	b.do(chromedp.Click(chromedp.CSS("#search")), chromedp.KeyEvent("sour"))
	offers("source:")
	if got := evaluate[string](b, `const s = document.getElementById("search"); [s.getAttribute("role"), s.getAttribute("aria-expanded"), s.getAttribute("aria-controls"), document.activeElement.id].join(" ")`); got != "combobox true choices search" {
		t.Errorf("the box is %q", got)
	}
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.picturesIfAsked("search-keys")
	b.do(enter)
	if got := value(); got != "source:" {
		t.Fatalf("Enter takes %q", got)
	}
	b.do(chromedp.KeyEvent("sear"))
	offers("searched source")
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.picturesIfAsked("search-values")
	b.do(tabulator)
	if got := value(); got != `source:"searched source" ` {
		t.Fatalf("Tab takes %q", got)
	}
	b.do(chromedp.KeyEvent("sta"))
	offers("status:")
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("Escape closes the list", func() bool { return !shown() })
	if got := evaluate[string](b, `document.activeElement.id`); got != "search" || !strings.HasSuffix(value(), "sta") {
		t.Errorf("Escape leaves the box, or changes it: %s, %q", got, value())
	}
	b.do(chromedp.KeyEvent("tus:par"))
	offers("parked")
	b.quiet(d.address)
	b.loadBy(enter) // nothing is chosen: the query is sent as it stands
	if !strings.Contains(b.text(), "This term was not understood") {
		t.Errorf("Enter took a choice that nobody made: %s", b.at())
	}
	b.picturesIfAsked("search-bad-term")
	b.open(d.address + "/entries?q=")
	b.do(chromedp.Click(chromedp.CSS("#search")), chromedp.KeyEvent("parser:zzzzzz"))
	b.until("the box says that nothing failed so", func() bool {
		return shown() && strings.HasPrefix(b.textOf("#choice-note"), "No document ever failed under")
	})
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.Click(chromedp.CSS("#choice-note")))
	if got := value(); got != "parser:zzzzzz" {
		t.Errorf("what the box says was taken: %q", got)
	}
	b.open(d.address + "/entries?q=" + `source:"searched%20source"%20age:<90d%20source:none`)
	b.picturesIfAsked("search-found")
	b.says("No source is called none")
}

// Keys as a keyboard sends them: what a page prevents when one goes down does not
// come to be typed.
var (
	enter     = command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: "\r", UnmodifiedText: "\r", WindowsVirtualKeyCode: 13})
	tabulator = command(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Tab", Code: "Tab", WindowsVirtualKeyCode: 9})
)

// picturesIfAsked keeps what is on the screen, wide and narrow, light and dark,
// in the folder that DLO_TEST_PICTURES names.
func (b *browser) picturesIfAsked(name string) {
	b.t.Helper()
	folder := os.Getenv("DLO_TEST_PICTURES")
	if folder == "" {
		return
	}
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for width, of := range map[int64]string{1400: "wide", 360: "narrow"} {
			b.viewport(width, 900)
			b.fits(name + " " + of)
			b.picture(filepath.Join(folder, name+"-"+of+"-"+theme+".png"))
		}
	}
	b.viewport(1400, 1000)
	b.theme("light")
}
