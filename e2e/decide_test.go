package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// redriveUntilItFails redrives the document whose page is shown, and waits until
// the page says what it then should.
func (b *browser) redriveUntilItFails(says string) {
	b.t.Helper()
	b.ask("Redrive")
	b.confirm("try again", "Redrive")
	b.reloadUntil(says)
}

// TestDocumentThatFailsTheSameWayThriceWaitsForADecision drives a document over
// the poison threshold of its source, and lets it out again both ways.
func TestDocumentThatFailsTheSameWayThriceWaitsForADecision(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	doc := d.documents(t, "encrypted")[0]
	b.openCohort(d, "EncryptedPDFError", "password")
	b.openDocument(doc)
	document := b.at()

	b.redriveUntilItFails("1 identical failed replay of 3")
	b.redriveUntilItFails("2 identical failed replays of 3")
	b.redriveUntilItFails("It failed the same way after 3 replays.")
	b.says("It cannot be redriven while it is in quarantine: release it first.")
	if b.offers("Redrive") {
		t.Error("a document in quarantine offers a redrive")
	}

	b.open(d.address + "/alerts")
	b.says("A document waits for a decision")
	if !b.has(`#main a[href="` + document + `"]`) {
		b.fail("no alert leads to the document")
	}
	b.open(d.address + "/quarantine")
	b.openDocument(doc)

	b.ask("Release one more")
	b.confirm("the vendor sent a password", "Release")
	b.says("one more replay allowed")
	b.redriveUntilItFails("It failed the same way after 4 replays.")

	b.ask("Release and count anew")
	b.confirm("counted under another reader", "Release")
	b.says(doc.DocID + " is back in the queue.")
	if got := b.text(); strings.Contains(got, "identical failed replay") || !b.offers("Redrive") {
		b.fail("counted anew, the document is not as it was before its replays")
	}
	b.quiet(d.address)
}

// TestKeepingADocumentLongerMovesItsDateUpToTheLimitOfItsSource keeps a document
// longer until its source allows no more.
func TestKeepingADocumentLongerMovesItsDateUpToTheLimitOfItsSource(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	office := d.api(t)
	doc := d.documents(t, "truncated workbook")[0]
	before := entryOf(office, doc)
	b.openCohort(d, "WorkbookError", "not a valid zip file")
	b.openDocument(doc)

	b.ask("Keep longer")
	until := date(before.ExpiresAt.AddDate(0, 0, 30))
	b.says("until " + until)
	b.confirm("waiting for vendor", "Keep longer")
	b.says(doc.DocID + " stays in the queue until " + until + ".")
	if got := entryOf(office, doc).ExpiresAt; !got.Equal(before.ExpiresAt.AddDate(0, 0, 30)) {
		t.Errorf("30 days from %v is %v", before.ExpiresAt, got)
	}

	// 90 and 30 days are used of 365; two times 90 are left.
	for range 2 {
		b.ask("Keep longer")
		b.do(chromedp.Click(chromedp.CSS(`#confirm-form input[name="days"][value="90"]`)))
		b.confirm("waiting for vendor", "Keep longer")
	}
	last := date(before.OpenedAt.AddDate(0, 0, 365))
	b.ask("Keep longer")
	b.says("Its source keeps a document until " + last + " at most.")
	if evaluate[bool](b, `[...document.querySelectorAll("#confirm-form input[name=days]")].some((e) => e.value === "90" && !e.disabled)`) {
		t.Error("an extension that is past the limit can be chosen")
	}
	// A page that offered it all the same would be refused.
	evaluate[bool](b, `(() => { const e = document.querySelector("#confirm-form input[name=days][value='90']"); e.disabled = false; return e.checked = true; })()`)
	if status := b.confirm("waiting for vendor", "Keep longer"); status != http.StatusUnprocessableEntity {
		t.Errorf("an extension past the limit answers %d", status)
	}
	b.says(last)
	if got := entryOf(office, doc).ExpiresAt; !got.Equal(before.ExpiresAt.AddDate(0, 0, 30+90+90)) {
		t.Errorf("what was refused moved the date to %v", got)
	}
}

// date is a day as pages write it.
func date(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// parkSome parks documents of a source of their own, and gives their ids.
func parkSome(office *api, source string, docs ...string) []string {
	office.t.Helper()
	var ids []string
	for _, doc := range docs {
		var parked struct {
			DLQID string `json:"dlq_id"`
		}
		office.must(http.MethodPost, "/dead-letters", map[string]any{"source": source, "doc_id": doc, "error_type": "ReadTimeout", "error_message": "read timed out", "payload": "the text of " + doc}, &parked)
		ids = append(ids, parked.DLQID)
	}
	return ids
}

// TestTickedDocumentsAreQuarantinedAndReleasedTogether ticks two of three.
func TestTickedDocumentsAreQuarantinedAndReleasedTogether(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	office := d.api(t)
	ids := parkSome(office, "bulk", "a", "b", "c")
	list := d.address + "/entries?q=" + url.QueryEscape("source:bulk status:parked")
	tick := func(n int) {
		t.Helper()
		for _, id := range ids[:n] {
			b.do(chromedp.Click(chromedp.CSS(`input[data-pick][value="` + id + `"]`)))
		}
	}
	statuses := func() (parked, quarantined int) {
		for _, id := range ids {
			var e entry
			office.must(http.MethodGet, "/dead-letters/"+id, nil, &e)
			switch e.Status {
			case "parked":
				parked++
			case "quarantined":
				quarantined++
			}
		}
		return parked, quarantined
	}

	b.open(list)
	tick(2)
	b.says("2 selected")
	b.ask("Quarantine")
	b.says("2 documents")
	b.confirm("test file", "Quarantine 2")
	b.says("2 documents quarantined.")
	if parked, quarantined := statuses(); parked != 1 || quarantined != 2 {
		t.Fatalf("%d are parked and %d in quarantine", parked, quarantined)
	}

	b.open(d.address + "/entries?q=" + url.QueryEscape("source:bulk status:quarantined"))
	tick(2)
	b.ask("Release")
	b.confirm("no test files after all", "Release 2")
	b.says("2 documents released.")
	if parked, quarantined := statuses(); parked != 3 || quarantined != 0 {
		t.Fatalf("%d are parked and %d in quarantine", parked, quarantined)
	}
	b.quiet(d.address)
}

// TestWhatArrivesBetweenLookAndClickIsNotSweptIn parks one more document while
// somebody reads the confirmation.
func TestWhatArrivesBetweenLookAndClickIsNotSweptIn(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "reviewer")
	office := d.api(t)
	parkSome(office, "late", "a", "b", "c")
	query := url.QueryEscape("source:late status:parked")
	b.open(d.address + "/confirm?action=quarantine&back=/entries&q=" + query)
	b.says("3 documents match")
	parkSome(office, "late", "d")
	if status := b.confirm("test file", "Quarantine 3"); status != http.StatusConflict {
		t.Errorf("the click answers %d", status)
	}
	b.says("3 matched when you looked, 4 match now.")
	b.says("Nothing was done.")
	var list struct {
		Items []any `json:"items"`
	}
	if office.must(http.MethodGet, "/dead-letters?q="+query, nil, &list); len(list.Items) != 4 {
		t.Errorf("%d are parked: something was done", len(list.Items))
	}

	b.load("Look at what matches now")
	b.says("4 documents match")
	b.confirm("test file", "Quarantine 4")
	b.says("4 documents quarantined.")
	if office.must(http.MethodGet, "/dead-letters?q="+query, nil, &list); len(list.Items) != 0 {
		t.Errorf("%d are still parked", len(list.Items))
	}
}

// TestTwoTabsRedriveADocumentOnce presses the same button in two tabs.
func TestTwoTabsRedriveADocumentOnce(t *testing.T) {
	d := sharedDemo(t)
	first := d.signIn(t, "reviewer")
	second := first.tab()
	office := d.api(t)
	doc := d.documents(t, "groups three deep")[0]
	document := d.address + "/entries/" + entryOf(office, doc).DLQID

	// Paused, what the first tab sends is still on its way when the second asks.
	office.must(http.MethodPost, "/pause", map[string]string{"reason": "two tabs"}, nil)
	t.Cleanup(func() { _, _ = office.call(http.MethodPost, "/resume", map[string]string{"reason": "two tabs"}, nil) })
	for _, b := range []*browser{first, second} {
		b.open(document)
		b.ask("Redrive")
	}
	first.confirm("fix deployed", "Redrive")
	first.says(doc.DocID + " is on its way.")
	second.confirm("fix deployed", "Redrive")
	second.says(doc.DocID + " was on its way already; nothing was sent twice.")
	office.must(http.MethodPost, "/resume", map[string]string{"reason": "two tabs"}, nil)

	second.reloadUntil("1 identical failed replay of 3")
	if e := entryOf(office, doc); len(e.Redrives) != 1 {
		t.Errorf("two clicks made %d redrives: %s", len(e.Redrives), fmt.Sprint(e.Redrives))
	}
}
