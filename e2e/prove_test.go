package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// sameDefect parks copies of a document that failed under the sample pipeline's
// older parser, each with bytes of its own, until so many are stuck in its cohort.
// The folder of the source has none of them, so that it is not asked any more: the
// stored copies go.
func (d *demo) sameDefect(t *testing.T, office *api, defect string, until int) (cohort string) {
	t.Helper()
	doc := d.documents(t, defect)[0]
	var found struct {
		DLQID    string         `json:"dlq_id"`
		Cohort   string         `json:"cohort"`
		Evidence map[string]any `json:"evidence"`
	}
	office.must(http.MethodGet, "/dead-letters/"+entryOf(office, doc).DLQID, nil, &found)
	var known struct {
		Parked int `json:"parked"`
	}
	office.must(http.MethodGet, "/cohorts/"+found.Cohort, nil, &known)
	var of struct {
		Redrive map[string]any `json:"redrive"`
	}
	office.must(http.MethodGet, "/sources/"+doc.Source, nil, &of)
	source := doc.Source
	office.must(http.MethodPut, "/sources/"+source, map[string]any{"name": source, "redrive": map[string]any{"url": of.Redrive["url"], "secret": d.secret(t), "rate": 100, "concurrency": 8}}, nil)
	content := d.payload(t, office, found.DLQID)
	for i := range until - known.Parked {
		e := map[string]any{"source": source, "doc_id": fmt.Sprintf("%s-copy-%04d", doc.DocID, i), "payload_encoding": "base64", "payload": base64.StdEncoding.EncodeToString(append(bytes.Clone(content), blanks(i)...))}
		for _, name := range []string{"reason", "error_class", "error_type", "error_message", "stack_trace", "validation_output", "stage", "content_type", "versions"} {
			if v := found.Evidence[name]; v != nil {
				e[name] = v
			}
		}
		office.must(http.MethodPost, "/dead-letters", e, nil)
	}
	office.must(http.MethodGet, "/cohorts/"+found.Cohort, nil, &known)
	if known.Parked != until {
		t.Fatalf("%d documents are stuck in the cohort of %q, want %d", known.Parked, defect, until)
	}
	return found.Cohort
}

// blanks writes a number in blanks, which change the bytes of a document and
// nothing that it says.
func blanks(n int) string {
	return "\n" + strings.NewReplacer("0", " ", "1", "\n").Replace(fmt.Sprintf("%b", n+1)) + "\n"
}

func (d *demo) payload(t *testing.T, office *api, dlqID string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.address+"/api/v1/dead-letters/"+dlqID+"/payload", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+office.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the stored copy: %d %v", res.StatusCode, err)
	}
	return content
}

func (d *demo) newParser(t *testing.T) {
	t.Helper()
	d.control(t, "parser", map[string]string{"version": "new"})
}

// least is the left edge of the band: at least so many percent are expected to
// get past the error.
func (b *browser) least() float64 {
	return evaluate[float64](b, `parseFloat(document.querySelector(".band .may").getAttribute("x"))`)
}

// TestAFixIsProvenStepByStepAndTheRestRedriven is the signature: 400 documents of
// one defect, the newer parser, one press after the other, and nothing loaded
// anew; then a fix that is none.
func TestAFixIsProvenStepByStepAndTheRestRedriven(t *testing.T) {
	d := startDemo(t)
	office := d.api(t)
	cohort := d.sameDefect(t, office, "trailer without root", 400)
	wrong := d.sameDefect(t, office, "total is not the sum", 400)
	b := d.signIn(t, "reviewer")
	d.newParser(t)

	// From home: one click opens it.
	b.openCohort(d, "DamagedPDFError", "missing trailer Root")
	if b.at() != "/cohorts/"+cohort {
		t.Fatalf("the cohort is at %s", b.at())
	}
	b.says("Does intake-parser@20251230 fix it?")
	b.says("400 documents stuck")
	b.says("Not tested.")
	b.shoot("prove-1-none")
	evaluate[bool](b, `(window.sameDocument = document.querySelector(".prove")) !== null`)

	b.press("Send one")
	b.says("1 of 1 got past this error.")
	last := b.least()
	if last < 20 || last > 22 {
		t.Errorf("after one the band begins at %g", last)
	}
	b.says("399 stuck")
	b.shoot("prove-2-one")
	// Two of them have a second defect behind this one, and say nothing of the others
	// wherever they are chosen: the edges are those without them.
	for _, step := range []struct {
		press string
		least float64
	}{{"Send next 5", 50}, {"Send next 25", 80}, {"Send next 100", 94}} {
		b.until(step.press+" is offered", func() bool { return b.offers(step.press) })
		b.pressUntil(step.press, fmt.Sprintf("the band begins at %g or beyond", step.least), func() bool { return b.least() > step.least && b.least() > last })
		last = b.least()
		b.shoot("prove-" + strings.ReplaceAll(step.press, " ", "-"))
	}
	b.until("the rest is offered", func() bool {
		return b.offers("Redrive the rest") && strings.Contains(b.textOf(".prove .actions"), "Cancel") && !strings.Contains(b.textOf(".prove .actions"), "Pause")
	})
	b.pressUntil("Redrive the rest", "the rest is sent", func() bool { return strings.Contains(b.text(), "398 of 400 got in, 2 failed again.") })
	if !evaluate[bool](b, `window.sameDocument === document.querySelector(".prove")`) {
		t.Error("the bar was drawn as another element, so nothing of it moved")
	}
	b.says("0 stuck")
	b.shoot("prove-9-done")
	if got := b.stuck(d, "DamagedPDFError", "missing trailer Root"); got != 0 {
		t.Errorf("%d are stuck still", got)
	}

	// The second fix is none.
	b.open(d.address + "/cohorts/" + wrong)
	b.says("Does intake-parser@20251230 fix it?")
	b.press("Send one")
	b.says("Stopped at 1. 399 were not touched.")
	b.says("failed the same")
	b.shoot("prove-stopped")
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		b.open(d.address + "/cohorts/" + wrong)
		for _, barrier := range b.barriers() {
			t.Errorf("%s: %+v", theme, barrier)
		}
	}
	b.viewport(360, 900)
	b.fits("a stopped bar on a phone")
	b.shoot("prove-stopped-360-dark")
	b.theme("light")
	b.shoot("prove-stopped-360")
	b.viewport(1400, 1000)
	b.load("The operation")
	b.says("Stopped at 1. 399 were not touched.")
	b.shoot("prove-operation")
	b.press("Cancel")
	b.says("Cancelled: 1 done, 0 in flight, 399 not started and free again.")
	b.quiet(d.address)
}

func TestWithoutScriptsAFixIsProvenAndTheRestRedriven(t *testing.T) {
	d := startDemo(t)
	broken := len(d.documents(t, "decimal comma"))
	d.newParser(t)
	b := plainReviewer(t, d)
	b.openCohort(d, "AmountError", "decimal point")
	b.says(fmt.Sprintf("%d documents stuck", broken))
	cohort := b.at()
	b.load("Send one")
	if b.at() != cohort {
		t.Fatalf("the press leads to %s", b.at())
	}
	b.until("one is through", func() bool {
		if strings.Contains(b.text(), "1 of 1 got past this error.") {
			return true
		}
		if b.offers("Refresh") {
			b.load("Refresh")
		}
		return false
	})
	b.load("Redrive the rest")
	b.reloadUntil(fmt.Sprintf("%d of %d got in.", broken, broken))
	b.quiet(d.address)
}

func TestTheButtonUnderThePointerStaysAndFocusIsKept(t *testing.T) {
	d := startDemo(t)
	d.newParser(t)
	b := d.signIn(t, "reviewer")
	b.openCohort(d, "CharsetError", "UTF-")
	b.do(chromedp.Focus(chromedp.CSS(`#redrive [name="reason"]`)))
	b.press("Send one")
	b.says("1 of 1 got past this error.")
	if got := evaluate[string](b, `document.activeElement.tagName`); got == "BODY" {
		t.Error("the focus is lost with the form that had it")
	}
	b.quiet(d.address)
}

// secret is what signs deliveries to the sample pipeline.
func (d *demo) secret(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.data, "pipeline.secret"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}
