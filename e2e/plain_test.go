package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// plainReviewer is a reviewer whose browser runs no scripts.
func plainReviewer(t *testing.T, d *demo) *browser {
	t.Helper()
	b := newBrowser(t)
	b.withoutScripts()
	b.signIn(d.address, "reviewer@example.com", d.passwords["reviewer"])
	if b.has("[data-needs-script], [data-theme-toggle]") {
		t.Fatal("a control that needs scripts is shown without them")
	}
	return b
}

// find types a query into the search field and sends it.
func (b *browser) find(query string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), query))
	b.loadBy(chromedp.Submit(chromedp.CSS("#search")))
}

func TestWithoutScriptsOneDocumentIsFoundConfirmedAndRedriven(t *testing.T) {
	d := sharedDemo(t)
	b := plainReviewer(t, d)
	doc := d.documents(t, "missing column")[0]
	d.control(t, "edit", map[string]string{"source": doc.Source, "doc_id": doc.DocID})

	b.find("source:" + doc.Source + " status:parked " + `"column quantity is missing"`)
	if !strings.HasPrefix(b.at(), "/entries?q=") {
		t.Fatalf("the search leads to %s", b.at())
	}
	b.openDocument(doc)
	document := b.at()
	b.load("Redrive")
	if !strings.HasPrefix(b.at(), "/confirm?") {
		t.Fatalf("the confirmation is at %s", b.at())
	}
	b.do(chromedp.Click(chromedp.CSS(`#confirm-form input[name="mode"][value="source"]`)))
	b.confirm("corrected at the source", "Redrive")
	if b.at() != document {
		t.Errorf("the redrive leads to %s", b.at())
	}
	b.says(doc.DocID + " is on its way.")
	b.reloadUntil("It is resolved")
	checkCommittedOnce(t, d, doc)
	b.quiet(d.address)
}

func TestWithoutScriptsAReplayThatFailsIsCounted(t *testing.T) {
	d := sharedDemo(t)
	b := plainReviewer(t, d)
	doc := d.documents(t, "negative quantity")[0]
	b.open(d.address + "/entries?q=" + url.QueryEscape("source:"+doc.Source+" id:"+doc.DocID))
	b.openDocument(doc)
	b.load("Redrive")
	b.confirm("try again", "Redrive")
	b.reloadUntil("1 identical failed replay of 3")
	if got := b.textOf("#attempts"); !strings.Contains(got, "1 redrive") {
		t.Errorf("the attempts say: %q", got)
	}
	b.quiet(d.address)
}

func TestWithoutScriptsADocumentIsKeptLonger(t *testing.T) {
	d := sharedDemo(t)
	b := plainReviewer(t, d)
	office := d.api(t)
	doc := d.documents(t, "term ends before start")[0]
	before := entryOf(office, doc)
	b.open(d.address + "/entries/" + before.DLQID)
	b.load("Keep longer")
	b.confirm("waiting for vendor", "Keep longer")
	b.says(doc.DocID + " stays in the queue until " + date(before.ExpiresAt.AddDate(0, 0, 30)) + ".")
	if got := entryOf(office, doc).ExpiresAt; !got.Equal(before.ExpiresAt.AddDate(0, 0, 30)) {
		t.Errorf("30 days from %v is %v", before.ExpiresAt, got)
	}
	b.quiet(d.address)
}
