package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// openCohort opens the cohort of a defect from the list, by its exception and
// what of its message tells it apart.
func (b *browser) openCohort(d *demo, exception, message string) {
	b.t.Helper()
	b.open(d.address + "/cohorts")
	b.loadBy(chromedp.Click(chromedp.JSPath(`[...document.querySelectorAll("tr[data-row]")].find((r) => r.innerText.includes(` + quoted(exception) + `) && r.innerText.includes(` + quoted(message) + `)).querySelector("a[data-open]")`)))
}

// openDocument opens a document from the list that is shown.
func (b *browser) openDocument(doc pipelineDocument) {
	b.t.Helper()
	b.loadBy(chromedp.Click(chromedp.JSPath(`[...document.querySelectorAll("[data-row] a[data-open]")].find((a) => a.innerText.endsWith(` + quoted(doc.DocID) + `))`)))
	if got := b.textOf("h1"); !strings.Contains(got, doc.DocID) {
		b.fail("the page of " + doc.DocID + " is headed " + got)
	}
}

// stuck is the number that a cohort's row shows, by its words.
func (b *browser) stuck(d *demo, exception, message string) int {
	b.t.Helper()
	b.open(d.address + "/cohorts")
	cells := evaluate[[]string](b, `[...document.querySelectorAll("tr[data-row]")].filter((r) => r.innerText.includes(`+quoted(exception)+`) && r.innerText.includes(`+quoted(message)+`)).map((r) => r.querySelector("td.stuck, td[data-label=Stuck]").innerText)`)
	if len(cells) == 0 {
		return 0
	}
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(cells[0]), ",", ""))
	if err != nil || len(cells) > 1 {
		b.fail(fmt.Sprintf("%s %s is stuck %q times", exception, message, cells))
	}
	return n
}

// TestNewcomerProvesAFixAndRedrivesTheRest is the way from the first look to an
// empty cohort: see the defects, understand one document, deploy the fix, prove
// it on one, redrive the rest.
func TestNewcomerProvesAFixAndRedrivesTheRest(t *testing.T) {
	d := startDemo(t)
	b := d.signIn(t, "reviewer")
	office := d.api(t)
	broken, twice := d.documents(t, "trailer without root"), d.documents(t, "trailer, then term")
	termBefore := len(d.documents(t, "term ends before start"))

	// The defects, each with its number.
	for defect, row := range map[string][2]string{
		"decimal comma":        {"AmountError", "decimal point"},
		"encrypted":            {"EncryptedPDFError", "password"},
		"Windows-1252":         {"CharsetError", "UTF-"},
		"number typed as text": {"NumError", "invalid syntax"},
		"total is not the sum": {"RuleError", "sum of the lines"},
	} {
		if got, want := b.stuck(d, row[0], row[1]), len(d.documents(t, defect)); got != want {
			t.Errorf("%s: the list says %d stuck, the pipeline failed on %d", row[0], got, want)
		}
	}
	const exception, message = "DamagedPDFError", "missing trailer Root"
	if got := b.stuck(d, exception, message); got != len(broken)+len(twice) {
		t.Fatalf("%d documents with a broken trailer are stuck, and the pipeline failed on %d", got, len(broken)+len(twice))
	}

	// One document, its trace beside the validation output.
	b.openCohort(d, exception, message)
	cohort := b.at()
	one := broken[0]
	b.openDocument(one)
	document := b.at()
	if !evaluate[bool](b, `(() => {
		const box = (id) => document.querySelector("section[aria-labelledby=" + id + "]").getBoundingClientRect();
		const trace = box("trace-title"), validation = box("validation-title");
		return trace.width > 300 && validation.width > 300 && trace.top === validation.top && trace.right <= validation.left;
	})()`) {
		b.fail("the trace does not stand beside the validation output")
	}
	if got := b.textOf(".trace"); !strings.Contains(got, "openPDF") || !strings.Contains(got, "part of the fingerprint") {
		t.Errorf("the trace does not mark the frames that make the fingerprint: %q", got)
	}
	if got := b.textOf(".answer"); !strings.Contains(got, "The same code runs now.") {
		t.Errorf("before the fix the page says: %q", got)
	}

	// The fix goes live.
	d.control(t, "parser", map[string]string{"version": "new"})
	b.reloadUntil("intake-parser@20251230 runs now, intake-parser@20251104 failed it")
	b.do(chromedp.Navigate(d.address + cohort))
	b.says("Does intake-parser@20251230 fix it?")

	// One document proves it.
	b.open(d.address + document)
	b.ask("Redrive")
	b.says("Stands in the audit trail and on each document.")
	b.confirm("fix deployed", "Redrive")
	if b.at() != document {
		t.Errorf("the redrive of one document leads to %s", b.at())
	}
	b.says(one.DocID + " is on its way.")
	b.reloadUntil("It is resolved: committed by its pipeline")
	if got := b.textOf(".answer"); !strings.Contains(got, "New code fixed it; it counts for all like it.") {
		t.Errorf("the page does not say what the replay proved: %q", got)
	}
	if b.offers("Redrive") {
		t.Error("a resolved document offers a redrive")
	}
	checkCommittedOnce(t, d, one)

	// The rest, by one press: one replay proved the fix.
	b.open(d.address + cohort)
	b.says("1 of 1 got past this error.")
	rest := len(broken) + len(twice) - 1
	b.says(fmt.Sprintf("%d documents stuck", rest))
	b.press(fmt.Sprintf("Redrive the %d", rest))
	b.says(fmt.Sprintf("%d of %d got in, %d failed again.", len(broken)-1, rest, len(twice)))

	// What is left belongs to another defect, and stands there.
	if got := b.stuck(d, exception, message); got != 0 {
		t.Errorf("%d documents are still stuck under the defect that was fixed", got)
	}
	if got := b.stuck(d, "RuleError", "the term ends before it starts"); got != termBefore+len(twice) {
		t.Errorf("%d documents are stuck under the term's rule, want %d", got, termBefore+len(twice))
	}
	b.open(d.address + "/entries/" + entryOf(office, twice[0]).DLQID)
	b.says("Past this error, failed on another")
	for _, doc := range broken {
		checkCommittedOnce(t, d, doc)
	}
	b.quiet(d.address)
}

func checkCommittedOnce(t *testing.T, d *demo, doc pipelineDocument) {
	t.Helper()
	commits := d.commitsOf(t, doc)
	if len(commits) != 1 || commits[0].Count != 1 {
		t.Errorf("the pipeline's own table has %v for %s/%s, want one commit", commits, doc.Source, doc.DocID)
	}
}

// TestDocumentEditedAtItsSourceCountsForItselfAlone edits one document at its
// source and deletes another: the first reads as changed and, redriven from the
// source, proves nothing about the others; the second is gone.
func TestDocumentEditedAtItsSourceCountsForItselfAlone(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	docs := d.documents(t, "total is not the sum")
	edited, deleted := docs[0], docs[1]

	b.openCohort(d, "RuleError", "sum of the lines")
	cohort := b.at()
	b.openDocument(edited)
	document := b.at()
	b.load("Check now")
	b.says("unchanged · strong tag")

	d.control(t, "edit", map[string]string{"source": edited.Source, "doc_id": edited.DocID})
	b.load("Check now")
	b.says("changed · strong tag")
	b.says("The document at the source is another than the one that failed.")
	if got := b.textOf(".answer"); !strings.Contains(got, "Redrive from the source: a test of the new document.") {
		t.Errorf("what a redrive would tell: %q", got)
	}
	b.ask("Redrive")
	b.do(chromedp.Click(chromedp.CSS(`#confirm-form input[name="mode"][value="source"]`)))
	b.confirm("corrected at the source", "Redrive")
	b.reloadUntil("It is resolved")
	if got := b.textOf(".answer"); !strings.Contains(got, "New document passed; it counts for itself.") {
		t.Errorf("the page does not say what the replay proved: %q", got)
	}
	checkCommittedOnce(t, d, edited)

	b.open(d.address + cohort)
	if got := b.textOf("#replays"); !strings.Contains(got, "New document passed") || strings.Contains(got, "count for others") || strings.Contains(got, "counts for others") {
		t.Errorf("the cohort takes it as evidence for others: %q", got)
	}

	d.control(t, "delete", map[string]string{"source": deleted.Source, "doc_id": deleted.DocID})
	b.openDocument(deleted)
	b.load("Check now")
	b.says("The source no longer has this document.")
	b.says("A redrive would leave it out: it is gone at the source.")
	if b.offers("Redrive") {
		t.Error("a document that is gone offers a plain redrive")
	}
	if b.at() == document {
		t.Error("both documents have one page")
	}
	b.quiet(d.address)
}

func TestTheSamplePipelineEndsWithTheDemo(t *testing.T) {
	data, err := os.MkdirTemp("", "dlo-e2e-demo-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) }) // not TempDir: the pipeline may still close its files
	d, err := tryDemo(data)
	if err != nil {
		t.Fatal(err)
	}
	d.kill()
	eventually(t, "nobody listens at the address of the sample pipeline", func() bool {
		answer, err := http.Get(d.pipeline)
		if err == nil {
			answer.Body.Close()
		}
		return err != nil
	})
}
