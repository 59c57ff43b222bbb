package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// heard is what a tab said and did besides showing pages: what stands in its
// console, which hosts it asked, which dialogs of the browser opened.
type heard struct {
	mu       sync.Mutex
	console  []string
	requests []string
	dialogs  []string
}

// hear runs on the goroutine that reads the tab's messages, so it only notes.
func (h *heard) hear(event any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+" "+a.Description)
		}
		h.console = append(h.console, string(e.Type)+": "+strings.Join(words, " "))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		h.console = append(h.console, "exception: "+text)
	case *log.EventEntryAdded:
		h.console = append(h.console, string(e.Entry.Source)+" "+string(e.Entry.Level)+": "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		h.requests = append(h.requests, e.Request.URL)
	case *page.EventJavascriptDialogOpening:
		h.dialogs = append(h.dialogs, e.Message)
	}
}

// quiet fails the test if a tab said anything in its console, opened a dialog of
// the browser, or asked another host than the demo's.
func (b *browser) quiet(address string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.console {
		b.t.Errorf("the console says: %s", line)
	}
	for _, message := range b.dialogs {
		b.t.Errorf("a dialog opened: %q", message)
	}
	for _, asked := range b.requests {
		u, err := url.Parse(asked)
		if err != nil || (u.Scheme+"://"+u.Host != address && asked != "about:blank") {
			b.t.Errorf("another host was asked: %q", asked)
		}
	}
}

// TestWhatAPageDoesBesideShowingItselfIsHeard is the proof that quiet can fail.
func TestWhatAPageDoesBesideShowingItselfIsHeard(t *testing.T) {
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/refused":
			w.Header().Set("Content-Security-Policy", "default-src 'none'")
			_, _ = io.WriteString(w, `<!DOCTYPE html><title>refused</title><script>window.__pwned=1</script>`)
		case "/elsewhere":
			_, _ = io.WriteString(w, `<!DOCTYPE html><title>elsewhere</title><img alt="" src="`+stranger.URL+`/pixel">`)
		case "/throws":
			_, _ = io.WriteString(w, `<!DOCTYPE html><title>throws</title><script>console.warn("a warning"); throw new Error("broken")</script>`)
		}
	}))
	defer page.Close()
	heardOn := func(path string) string {
		b := newBrowser(t)
		b.open(page.URL + path)
		b.mu.Lock()
		defer b.mu.Unlock()
		return strings.Join(b.console, "\n") + "\n" + strings.Join(b.requests, "\n")
	}
	for path, wants := range map[string][]string{"/refused": {"Content Security Policy"}, "/elsewhere": {stranger.URL + "/pixel"}, "/throws": {"a warning", "broken"}} {
		heard := heardOn(path)
		for _, want := range wants {
			if !strings.Contains(heard, want) {
				t.Errorf("%s: %q is not among what was heard:\n%s", path, want, heard)
			}
		}
	}
}
