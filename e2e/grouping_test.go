package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// parkSheet parks a document that fails at the place where two defects meet.
func parkSheet(office *api, source, doc, message, contentType string) (cohort string) {
	office.t.Helper()
	trace := "Traceback (most recent call last):\n  File \"/srv/run.py\", line 1, in run\n    f()\n  File \"/srv/load.py\", line 2, in load\n    g()\n  File \"/srv/cells.py\", line 3, in cells\n    raise SheetError()\nsheet.SheetError: " + message + "\n"
	var parked struct {
		Cohort string `json:"cohort"`
	}
	office.must(http.MethodPost, "/dead-letters", map[string]any{"source": source, "doc_id": doc, "stack_trace": trace, "error_message": message, "content_type": contentType}, &parked)
	return parked.Cohort
}

// TestACohortIsSplitMergedBackAndBothAreUndone takes two defects apart that reach
// the same frames, with and without scripts.
func TestACohortIsSplitMergedBackAndBothAreUndone(t *testing.T) {
	d := sharedDemo(t)
	office := d.api(t)
	for _, scripts := range []bool{true, false} {
		source := "split with scripts"
		b := newBrowser(t)
		if !scripts {
			source = "split without scripts"
			b.withoutScripts()
		}
		b.signIn(d.address, "reviewer@example.com", d.passwords["reviewer"])
		var cohort string
		for i := range 3 {
			cohort = parkSheet(office, source, fmt.Sprint("wide", i), "too wide in "+source, "text/csv")
			parkSheet(office, source, fmt.Sprint("date", i), "cannot read a date in "+source, "application/vnd.ms-excel")
		}
		page := d.address + "/cohorts/" + cohort
		b.open(page + "/split?by=content_type")
		tickValue(b, "application/vnd.ms-excel")
		b.do(chromedp.SendKeys(chromedp.CSS(`#split [name="reason"]`), "two defects"))
		b.load("Split")
		b.reloadUntil("3 stuck there")
		b.says("Undo this split")
		part := parkSheet(office, source, "date3", "cannot read a date in "+source, "application/vnd.ms-excel")
		if part == cohort {
			t.Fatal("a new failure did not follow the split")
		}
		if parkSheet(office, source, "wide3", "too wide in "+source, "text/csv") != cohort {
			t.Fatal("a new failure of the other half followed the split")
		}
		b.open(page + "/merge")
		tickValue(b, part)
		b.do(chromedp.SendKeys(chromedp.CSS(`#merge [name="reason"]`), "one after all"))
		b.load("Merge")
		b.says("8 stuck")
		b.open(d.address + "/cohorts/" + part)
		if at := b.at(); at != "/cohorts/"+cohort {
			t.Errorf("the part's address leads to %s", at)
		}
		b.load("Undo this merge")
		b.says("4 stuck there")
		b.load("Undo this split")
		b.says("8 stuck")
		if strings.Contains(b.text(), "Undo this") {
			t.Error("there is more to undo")
		}
		// The other way round is for the next turn: nothing of this one is in it.
		office.must(http.MethodPost, "/operations", map[string]any{"kind": "archive", "query": `source:"` + source + `"`, "expect": 8, "reason": "the test is over"}, nil)
		b.quiet(d.address)
	}
}

func tickValue(b *browser, value string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.JSPath(`[...document.querySelectorAll('input[type="checkbox"]')].find((e) => e.value === ` + quoted(value) + `)`)))
}
