package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestKeysMoveOpenSelectAndAskAndNeverFireByThemselves goes from the list to the
// confirmation of a redrive without a mouse.
func TestKeysMoveOpenSelectAndAskAndNeverFireByThemselves(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	office := d.api(t)
	parkSome(office, "typed", "a", "b")
	focused := func() string { return evaluate[string](b, `document.activeElement.innerText`) }

	b.open(d.address + "/entries?q=source:typed")
	b.do(chromedp.KeyEvent("j"))
	first := focused()
	b.do(chromedp.KeyEvent("j"))
	if second := focused(); !strings.Contains(first, "typed /") || !strings.Contains(second, "typed /") || second == first {
		t.Fatalf("j moves from %q to %q", first, second)
	}
	b.do(chromedp.KeyEvent("k"))
	if got := focused(); got != first {
		t.Errorf("k moves to %q and not back to %q", got, first)
	}
	b.do(chromedp.KeyEvent("x"))
	b.says("1 selected")
	b.loadBy(chromedp.KeyEvent("\r"))
	if !strings.HasPrefix(b.at(), "/entries/") {
		t.Fatalf("Enter leads to %s", b.at())
	}
	b.do(chromedp.KeyEvent("q"))
	b.until("q asks", func() bool { return b.has("dialog[open] #confirm-form") })
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("Escape closes the dialog and gives the focus back", func() bool {
		return evaluate[bool](b, `!document.querySelector("dialog[open]") && !document.activeElement.closest("dialog")`)
	})
	var list struct {
		Items []any `json:"items"`
	}
	if office.must("GET", "/dead-letters?q=source:typed+status:parked", nil, &list); len(list.Items) != 2 {
		t.Errorf("%d of 2 are still parked", len(list.Items))
	}
	b.do(chromedp.KeyEvent("?"))
	b.until("? shows all keys", func() bool { return b.has("#keys[open]") })
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("Escape closes them", func() bool { return !b.has("#keys[open]") })
	b.do(chromedp.KeyEvent("g"))
	b.loadBy(chromedp.KeyEvent("c"))
	if b.at() != "/cohorts" {
		t.Errorf("g c leads to %s", b.at())
	}
	b.quiet(d.address)
}
