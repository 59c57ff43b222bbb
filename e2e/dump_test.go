package e2e

import ("testing";"os";"fmt"; "github.com/chromedp/chromedp")

func TestDump(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	b.open(d.address+"/cohorts")
	fmt.Println(b.text())
	b.screenshot("/tmp/e2ework/cohorts.png")
	os.WriteFile("/tmp/e2ework/cohorts.html", []byte(evaluate[string](b, "document.documentElement.outerHTML")), 0o644)
	b.loadBy(chromedp.Click(chromedp.JSPath(`[...document.querySelectorAll("tr[data-row] a[data-open]")].find(e=>e.innerText.includes("DamagedPDF"))`)))
	fmt.Println(b.text())
	b.screenshot("/tmp/e2ework/cohort.png")
	os.WriteFile("/tmp/e2ework/cohort.html", []byte(evaluate[string](b, "document.documentElement.outerHTML")), 0o644)
	b.loadBy(chromedp.Click(chromedp.CSS("tr[data-row] a[data-open]")))
	fmt.Println(b.text())
	b.screenshot("/tmp/e2ework/entry.png")
	os.WriteFile("/tmp/e2ework/entry.html", []byte(evaluate[string](b, "document.documentElement.outerHTML")), 0o644)
	b.ask("Redrive")
	fmt.Println(b.textOf("dialog[open]"))
	b.screenshot("/tmp/e2ework/confirm.png")
	b.quiet(d.address)
}
