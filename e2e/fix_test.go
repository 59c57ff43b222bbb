package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestADeclaredFixIsProposedOnceItIsDeployed is the way from a declaration to
// the redrive: say which version will fix the defect, let the pipeline deploy it
// by its own report, and find the cohort leading with the test.
func TestADeclaredFixIsProposedOnceItIsDeployed(t *testing.T) {
	d := startDemo(t)
	b := d.signIn(t, "reviewer")
	broken, twice := d.documents(t, "trailer without root"), d.documents(t, "trailer, then term")
	const fixed = "intake-parser@20251230"

	// It is declared before anybody runs it.
	b.openCohort(d, "DamagedPDFError", "missing trailer Root")
	cohort := b.at()
	b.press("Declare a fix")
	b.until("the form is there", func() bool { return b.has(`#declare [name="version"]`) })
	if !evaluate[bool](b, `!!document.querySelector('#declare datalist option[value="intake-parser@20251104"]')`) {
		t.Error("the form does not offer the versions that are known")
	}
	b.do(chromedp.SetValue(chromedp.CSS(`#declare [name="component"]`), "parser"), chromedp.SetValue(chromedp.CSS(`#declare [name="version"]`), fixed),
		chromedp.SendKeys(chromedp.CSS(`#declare [name="note"]`), "Looks for the root behind a broken trailer."), chromedp.SetValue(chromedp.CSS(`#declare [name="link"]`), "https://git.example.com/parser/commit/4f2a"))
	b.load("Declare")
	b.says("declared, not deployed")
	if got := b.textOf("#fix"); !strings.Contains(got, fmt.Sprintf("%d stuck documents failed under versions it replaces", len(broken)+len(twice))) {
		t.Errorf("the fix says %q", got)
	}

	// The pipeline deploys it, and says so.
	d.control(t, "parser", map[string]string{"version": "new"})
	b.reloadUntil("Test the fix: " + fixed + " is live")
	b.fits("the cohort with its fix")
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.open(d.address + cohort)
		for _, barrier := range b.barriers() {
			t.Errorf("%s: %+v", theme, barrier)
		}
		b.shoot("cohort-" + theme)
		b.viewport(360, 900)
		b.fits("the cohort with its fix on a phone")
		b.shoot("cohort-" + theme + "-360")
		b.viewport(1400, 1000)
	}
	b.theme("light")
	activity := b.textOf("#activity")
	if !strings.Contains(activity, "declared a fix: "+fixed) || !strings.Contains(activity, "deployed the fix: "+fixed+" runs in") {
		t.Errorf("the activity says %q", activity)
	}

	// The same arrivals along their stream, with what was looked at.
	for _, axis := range []string{"seq", "cursor"} {
		b.open(d.address + cohort + "?arrivals=" + axis)
		b.says("Looked at: every stuck document.")
		b.shoot("cohort-" + axis)
		b.viewport(1400, 1000)
	}
	b.open(d.address + cohort)

	// One proves it, and then the rest is proposed by what failed before it.
	b.press("Send one")
	rest := len(broken) + len(twice) - 1
	b.until("the rest is offered", func() bool {
		return b.offers("Send next 5") && strings.Contains(b.text(), "Redrive the rest: "+fixed) || b.offers("Redrive the rest")
	})
	b.pressUntil("Redrive the rest", "the rest is sent", func() bool {
		return strings.Contains(b.text(), fmt.Sprintf("%d of %d got in, %d failed again.", len(broken), rest+1, len(twice)))
	})

	// The report and the source's page know of it.
	for name, path := range map[string]string{"report": "/reports/versions", "source": "/sources/leases"} {
		b.open(d.address + path)
		b.shoot(name)
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.open(d.address + path)
			for _, barrier := range b.barriers() {
				t.Errorf("%s, %s: %+v", path, theme, barrier)
			}
		}
		b.theme("light")
		b.viewport(360, 900)
		b.fits(path + " on a phone")
		b.shoot(name + "-360")
		b.viewport(1400, 1000)
	}
}

// shoot takes a picture for who wants to look: into the folder that
// DLO_TEST_PICTURES names.
func (b *browser) shoot(name string) {
	if folder := os.Getenv("DLO_TEST_PICTURES"); folder != "" {
		evaluate[bool](b, "scrollTo(0, 0), true")
		b.viewport(evaluate[int64](b, "innerWidth"), min(evaluate[int64](b, "document.documentElement.scrollHeight"), longest))
		b.picture(filepath.Join(folder, name+".png"))
	}
}
