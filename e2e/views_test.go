package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// saveView saves what a list shows, from the menu beside it.
func (b *browser) saveView(name string, shared bool) {
	b.t.Helper()
	b.press("Views")
	b.do(chromedp.SendKeys(chromedp.CSS(`#save-view [name="name"]`), name))
	if shared {
		b.do(chromedp.Click(chromedp.CSS(`#save-view [name="shared"]`)))
	}
	b.load("Save this view")
}

func TestAViewIsSavedAndOpenedByAnother(t *testing.T) {
	d := sharedDemo(t)
	source := d.documents(t, "Windows-1252")[0].Source
	for _, scripts := range []bool{true, false} {
		reviewer := newBrowser(t)
		name := "Stuck longest"
		if !scripts {
			reviewer.withoutScripts()
			name = "Stuck longest, plain"
		}
		reviewer.signIn(d.address, "reviewer@example.com", d.passwords["reviewer"])
		reviewer.open(d.address + "/entries?q=source:" + source + "+status:parked&sort=oldest")
		reviewer.saveView(name, true)
		reviewer.says("The view is saved.")
		reviewer.quiet(d.address)

		analyst := d.signIn(t, "analyst")
		analyst.open(d.address + "/entries?q=")
		analyst.press("Views")
		analyst.do(chromedp.Click(chromedp.JSPath(`[...document.querySelectorAll(".sheet li a")].find((a) => a.innerText.includes(` + quoted(name) + `))`)))
		analyst.says("View: " + name)
		if at := analyst.at(); !strings.HasPrefix(at, "/entries?q=source%3A"+source+"+status%3Aparked&sort=oldest&view=") {
			t.Errorf("it leads to %s", at)
		}
		analyst.quiet(d.address)
	}
}
