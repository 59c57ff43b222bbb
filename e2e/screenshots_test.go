package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "take the screenshots of the documentation anew")

// startProven is a demo that is further on: the newer parser runs, some
// documents were redriven, one waits for a decision.
var startProven = sync.OnceValues(newShared)

// scene is what the screenshots and the look for barriers show.
type scene struct {
	*demo
	cohort, entry string // paths
}

var (
	setScene    sync.Once
	theScene    scene
	sceneFailed = true
)

func provenDemo(t *testing.T) scene {
	t.Helper()
	chromium(t)
	d, err := startProven()
	if err != nil {
		t.Fatal(err)
	}
	setScene.Do(func() {
		d.awaitFirstSync(t)
		d.play(t)
		sceneFailed = false
	})
	if sceneFailed {
		t.Fatal("the demo could not be brought to where it is looked at")
	}
	return theScene
}

// play does what a reviewer does on the day of the fix.
func (d *demo) play(t *testing.T) {
	t.Helper()
	office := newAPI(t, d.address, newToken(t, d.data, "on-call", "ingest,read,act"))
	damaged := d.documents(t, "trailer without root")
	edited := damaged[len(damaged)-1]
	redrive := func(mode string, docs ...pipelineDocument) {
		t.Helper()
		var ids []string
		for _, doc := range docs {
			ids = append(ids, entryOf(office, doc).DLQID)
		}
		office.must("POST", "/redrives", map[string]any{"entries": ids, "reason": "the newer parser runs", "mode": mode}, nil)
		awaitQuiet(t, office)
	}
	// One was tried too early, one is mended at its source, three prove the fix.
	shown := damaged[3]
	redrive("held", shown)
	d.control(t, "edit", map[string]string{"source": edited.Source, "doc_id": edited.DocID})
	redrive("source", edited)
	d.control(t, "parser", map[string]string{"version": "new"})
	redrive("held", damaged[len(damaged)-4:len(damaged)-1]...)
	redrive("held", d.documents(t, "decimal comma")[:6]...)
	redrive("held", d.documents(t, "Windows-1252")[:2]...)
	poison := d.documents(t, "encrypted")[0]
	for range 3 {
		redrive("held", poison)
	}
	e := entryOf(office, shown)
	office.must("POST", "/dead-letters/"+e.DLQID+"/probe", map[string]any{}, nil)
	office.must("POST", "/cohorts/"+e.Cohort+"/assign", map[string]string{"owner": "reviewer@example.com", "ticket": "LEASE-118"}, nil)
	office.must("POST", "/cohorts/"+e.Cohort+"/notes", map[string]string{"note": "The three newest pass with the newer parser. The rest can follow after the month's end."}, nil)
	theScene = scene{d, "/cohorts/" + e.Cohort, "/entries/" + e.DLQID}
}

// fits says whether a page is no wider than the window, and names what sticks
// out.
func (b *browser) fits(what string) {
	b.t.Helper()
	if out := evaluate[[]string](b, `document.documentElement.scrollWidth <= innerWidth ? [] :
		[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => e.tagName + "." + e.className)`); len(out) > 0 {
		b.t.Errorf("%s is wider than its window: %v", what, out)
	}
}

// TestScreenshotsShowPagesThatFitAndAreQuiet takes the pictures of the
// documentation with -update, and into a folder of its own otherwise.
func TestScreenshotsShowPagesThatFitAndAreQuiet(t *testing.T) {
	s := provenDemo(t)
	folder := t.TempDir()
	if *update {
		folder = filepath.Join("..", "docs", "screenshots")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := s.signIn(t, "reviewer")
	pages := map[string]string{"cohorts": "/cohorts", "cohort": s.cohort, "entry": s.entry}
	for _, name := range []string{"cohorts", "cohort", "entry"} {
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			b.viewport(1400, 900)
			b.open(s.address + pages[name])
			b.fits(name + " at 1400 px")
			b.whole(filepath.Join(folder, name+"-"+theme+".png"))
		}
		b.theme("light")
		b.do(chromedp.EmulateViewport(360, 780, chromedp.EmulateScale(2)))
		b.open(s.address + pages[name])
		b.fits(name + " at 360 px")
		if name != "cohort" {
			b.picture(filepath.Join(folder, name+"-phone.png"))
		}
	}
	b.quiet(s.address)
}

// longest is how far down a picture reaches, in pixels.
const longest = 1700

// whole takes a picture of a page down to its end, in a window as high as that:
// what sticks to the edges of the window is then where it belongs.
func (b *browser) whole(path string) {
	b.t.Helper()
	b.viewport(1400, min(evaluate[int64](b, "document.documentElement.scrollHeight"), longest))
	b.picture(path)
}

// picture takes a picture of the window.
func (b *browser) picture(path string) {
	b.t.Helper()
	if err := os.WriteFile(path, read(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
