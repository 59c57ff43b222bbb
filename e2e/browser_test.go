package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is one tab of a real browser, at one width, in one theme.
type browser struct {
	t   *testing.T
	ctx context.Context
	*heard
}

// chromium finds the browser. Without it a test is skipped with one line, unless
// DLO_TEST_REQUIRE says that it must be there.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := chromiumPath()
	if err == nil {
		return path
	}
	const how = "no Chromium: install it (apt-get install chromium) to run the browser tests"
	if strings.Contains(os.Getenv("DLO_TEST_REQUIRE"), "browser") {
		t.Fatal(how)
	}
	t.Skip(how)
	return ""
}

func chromiumPath() (path string, err error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// startChromium starts the one browser process; tests have tabs in it.
var startChromium = sync.OnceValues(func() (context.Context, error) {
	path, err := chromiumPath()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	shared.ends = append(shared.ends, func() { stop(); stopAllocator() })
	return ctx, chromedp.Do(ctx) // it lives as long as the context that it is first used with
})

// newBrowser opens a tab that shares no cookie and no cache with another test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	chromium(t)
	process, err := startChromium()
	if err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return openTab(t, process, chromedp.WithNewBrowserContext())
}

// tab opens another tab of the same person.
func (b *browser) tab() *browser {
	b.t.Helper()
	return openTab(b.t, b.ctx)
}

func openTab(t *testing.T, parent context.Context, options ...chromedp.ContextOption) *browser {
	t.Helper()
	b := &browser{t: t, heard: &heard{}}
	ctx, stop := chromedp.NewContext(parent, append(options, chromedp.WithListener(b.hear))...)
	b.ctx = ctx
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	b.viewport(1400, 1000)
	return b
}

// stepTime is how long one step of a browser may take.
const stepTime = 45 * time.Second

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fail(err.Error())
	}
}

// fail ends the test with what the page says.
func (b *browser) fail(why string) {
	b.t.Helper()
	where, _ := chromedp.Run(b.ctx, chromedp.Location())
	text := b.text()
	b.t.Fatalf("%s\nat %s, which says:\n%s", why, where, text[:min(len(text), 3000)])
}

func read[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.fail(err.Error())
	}
	return v
}

// evaluate asks the page for the value of an expression.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	return read(b, chromedp.Evaluate[T](expression))
}

func command[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, c, params)
		return err
	})
}

func (b *browser) viewport(width, height int64) { b.do(chromedp.EmulateViewport(width, height)) }

func (b *browser) theme(name string) {
	b.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}))
}

func (b *browser) withoutScripts() {
	b.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
}

// open asks for a page and answers its status.
func (b *browser) open(url string) int64 {
	b.t.Helper()
	res := read(b, chromedp.NavigateResponse(url))
	if res == nil {
		return 0
	}
	return res.Status
}

// at is the path and the query of the page that is shown.
func (b *browser) at() string {
	b.t.Helper()
	return evaluate[string](b, `location.pathname + location.search`)
}

// signIn signs in through the form, as anybody does.
func (b *browser) signIn(address, email, password string) {
	b.t.Helper()
	b.open(address + "/login")
	b.fillLogin(email, password)
	if strings.HasPrefix(b.at(), "/login") {
		b.fail(email + " was not let in")
	}
}

// fillLogin sends the form of the sign-in page.
func (b *browser) fillLogin(email, password string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(`input[name="email"]`), email), chromedp.SendKeys(chromedp.CSS(`input[name="password"]`), password))
	b.loadBy(chromedp.Submit(chromedp.CSS(`input[name="password"]`)))
}

// says waits until the page shows a text.
func (b *browser) says(text string) {
	b.t.Helper()
	b.until("the page says "+text, func() bool { return strings.Contains(b.text(), text) })
}

// until waits for something, and ends the test with what the page says.
func (b *browser) until(what string, ask func() bool) {
	b.t.Helper()
	deadline := time.Now().Add(stepTime)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		if time.Now().After(deadline) {
			b.fail("never came true: " + what)
		}
		<-tick.C
	}
}

// reloadUntil loads the page again until it says something, as somebody does
// who waits for it without scripts.
func (b *browser) reloadUntil(text string) {
	b.t.Helper()
	b.until("the page says "+text+" when it is loaded again", func() bool {
		b.do(chromedp.Reload())
		return strings.Contains(b.text(), text)
	})
}

// has says whether the page, or the dialog over it, shows an element now.
func (b *browser) has(selector string) bool {
	b.t.Helper()
	return evaluate[bool](b, `[...document.querySelectorAll(`+quoted(selector)+`)].some((e) => e.getClientRects().length > 0)`)
}

func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText : ""`))
	if err != nil {
		return "" // between two pages there is none
	}
	return text
}

// textOf is what one part of the page says.
func (b *browser) textOf(selector string) string {
	b.t.Helper()
	return evaluate[string](b, `(document.querySelector(`+quoted(selector)+`) || {innerText: ""}).innerText`)
}

// thing finds what can be pressed by the words on it: a link or a button that is
// shown, in the dialog if one is open, else on the page before what stands round
// it. The key that stands beside the words is not one of them.
func thing(words string) chromedp.JSPath {
	return chromedp.JSPath(`((words) => {
		const said = (e) => { const c = e.cloneNode(true); for (const k of c.querySelectorAll("kbd, svg")) k.remove(); return c.textContent.replace(/\s+/g, " ").trim(); };
		const within = (root) => [...(root ? root.querySelectorAll("a, button, summary") : [])].find((e) => e.getClientRects().length > 0 && said(e) === words);
		const dialog = document.querySelector("dialog[open]");
		return (dialog ? within(dialog) : within(document.getElementById("main")) || within(document)) || null;
	})(` + quoted(words) + `)`)
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("a string that is not JSON: %v", err))
	}
	return string(b)
}

// press presses the link or button that has these words.
func (b *browser) press(words string) {
	b.t.Helper()
	b.do(chromedp.Click(thing(words)))
}

// pressUntil presses what has these words, and presses it again as long as it is
// there and nothing came of it: a button that is drawn anew at the very moment of a
// click takes none, unless somebody's pointer held it.
func (b *browser) pressUntil(words, what string, done func() bool) {
	b.t.Helper()
	var pressed time.Time
	b.until(what, func() bool {
		if done() {
			return true
		}
		if time.Since(pressed) > 2*time.Second && evaluate[bool](b, `((e) => { const there = e !== null && e.closest("main") !== null; if (there) e.click(); return there })(`+string(thing(words))+`)`) {
			pressed = time.Now()
		}
		return false
	})
}

// offers says whether the page itself, without what stands round it, has a link
// or button with these words.
func (b *browser) offers(words string) bool {
	b.t.Helper()
	return evaluate[bool](b, `((e) => e !== null && e.closest("main") !== null)(`+string(thing(words))+`)`)
}

// load presses the link or button that has these words, waits for the page to
// which it leads, and answers its status.
func (b *browser) load(words string) int64 {
	b.t.Helper()
	return b.loadBy(chromedp.Click(thing(words)))
}

// loadBy waits for the page to which some steps lead.
func (b *browser) loadBy(steps ...chromedp.Action[chromedp.Void]) int64 {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	res, err := chromedp.RunResponse(ctx, steps...)
	if err != nil {
		b.fail(err.Error())
	}
	return res.Status
}

// ask presses what leads to a confirmation, and waits for its form: in a dialog
// with scripts, on a page without.
func (b *browser) ask(words string) {
	b.t.Helper()
	b.press(words)
	b.until("the confirmation of "+words+" is there", func() bool { return b.has("#confirm-form") })
}

// confirm types a reason and presses the button of the confirmation.
func (b *browser) confirm(reason, words string) int64 {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(`#confirm-form [name="reason"]`), reason))
	return b.load(words)
}
