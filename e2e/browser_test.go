package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
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
}

// chromium finds the browser. Without it a test is skipped with one line, unless
// DLO_TEST_REQUIRE says that it must be there.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const how = "no Chromium: install it (apt-get install chromium) to run the browser tests"
	if strings.Contains(os.Getenv("DLO_TEST_REQUIRE"), "browser") {
		t.Fatal(how)
	}
	t.Skip(how)
	return ""
}

// newBrowser opens a browser of its own, with nothing in its profile.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(func() { cancel(); stop(); stopAllocator() })
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as the context that it is first used with
		t.Fatalf("start %s: %v", chromium(t), err)
	}
	b := &browser{t, ctx}
	b.viewport(1400, 1000)
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 45*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		where, _ := chromedp.Run(b.ctx, chromedp.Location())
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText.slice(0, 3000) : ""`))
		b.t.Fatalf("%v\nat %s, which says:\n%s", err, where, text)
	}
}

func read[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 45*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
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

func (b *browser) open(url string) { b.t.Helper(); b.do(chromedp.Navigate(url)) }

// signIn signs in through the form, as anybody does.
func (b *browser) signIn(address, email, password string) {
	b.t.Helper()
	b.open(address + "/login")
	b.do(chromedp.SendKeys(`input[name="email"]`, email), chromedp.SendKeys(`input[name="password"]`, password), chromedp.Submit(`input[name="password"]`))
	eventually(b.t, "somebody is signed in", func() bool { return !strings.Contains(read(b, chromedp.Location()), "/login") })
}

// says waits until the page shows a text.
func (b *browser) says(text string) {
	b.t.Helper()
	eventually(b.t, "the page says "+text, func() bool { return strings.Contains(b.text(), text) })
}

func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText : ""`))
	if err != nil {
		return ""
	}
	return text
}

func (b *browser) screenshot(path string) {
	b.t.Helper()
	if err := os.WriteFile(path, read(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
