package web

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

func TestAnErrorInTheMiddleOfAPageLeavesNoHalfPage(t *testing.T) {
	half := templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		fmt.Fprint(w, strings.Repeat("<p>half</p>", 10_000))
		return errors.New("canary")
	})
	s := startSite(t, ServerConfig{Pages: testPages}, func(e *echo.Echo) {
		e.GET("/", func(c echo.Context) error { return Render(c, 200, half) })
	})
	answer, body := s.send(t, "GET", "/", "")
	if answer.StatusCode != 500 || strings.Contains(body, "half") || !strings.HasPrefix(body, "<page>500") {
		t.Errorf("%d %.100s", answer.StatusCode, body)
	}
}

func TestFragmentsAreForHTMXAndPagesForEverybodyElse(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/", func(c echo.Context) error { return RenderPage(c, 200, text("page"), text("fragment")) })
		e.POST("/", func(c echo.Context) error { return Redirect(c, "/done") })
	})
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"a browser":          {nil, "page"},
		"htmx":               {[]string{"HX-Request", "true"}, "fragment"},
		"a boosted link":     {[]string{"HX-Request", "true", "HX-Boosted", "true"}, "page"},
		"a restored history": {[]string{"HX-Request", "true", "HX-History-Restore-Request", "true"}, "page"},
		"not quite htmx":     {[]string{"HX-Request", "1"}, "page"},
	} {
		answer, body := s.send(t, "GET", "/", "", c.headers...)
		if body != c.want || !strings.Contains(strings.Join(answer.Header.Values("Vary"), ","), "HX-Request") || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %q, Vary %v; want %q", name, body, answer.Header.Values("Vary"), c.want)
		}
	}
	if answer, _ := s.send(t, "POST", "/", ""); answer.StatusCode != 303 || answer.Header.Get("Location") != "/done" {
		t.Errorf("after a form: %d", answer.StatusCode)
	}
	if answer, _ := s.send(t, "POST", "/", "", "HX-Request", "true"); answer.StatusCode != 200 || answer.Header.Get("HX-Redirect") != "/done" || answer.Header.Get("Location") != "" {
		t.Errorf("after a fragment's form: %d", answer.StatusCode)
	}
}

func TestOnlyLargePagesAreCompressedAndOnlyForWhoTakesIt(t *testing.T) {
	large := strings.Repeat("<p>a paragraph</p>", 500)
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/large", func(c echo.Context) error { return Render(c, 200, text("%s", large)) })
		e.GET("/small", func(c echo.Context) error { return Render(c, 200, text("small")) })
		e.GET("/api/large", func(c echo.Context) error { return JSON(c, 200, large) })
	})
	for _, c := range []struct {
		path, accept string
		want         bool
	}{
		{"/large", "gzip", true}, {"/large", "br;q=1.0, GZIP;q=0.8, *;q=0.1", true}, {"/large", "deflate, gzip ; q=1", true},
		{"/large", "", false}, {"/large", "identity", false}, {"/large", "gzip;q=0", false}, {"/large", "gzip; q=0.000", false}, {"/large", "br", false}, {"/large", "gzipped", false},
		{"/small", "gzip", false}, {"/api/large", "gzip", false},
	} {
		answer, body := s.send(t, "GET", c.path, "", "Accept-Encoding", c.accept)
		if got := answer.Header.Get("Content-Encoding") == "gzip"; got != c.want {
			t.Errorf("%s for %q: compressed %v, want %v", c.path, c.accept, got, c.want)
		}
		if answer.ContentLength != int64(len(body)) {
			t.Errorf("%s: Content-Length %d of %d", c.path, answer.ContentLength, len(body))
		}
		if !c.want {
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || string(plain) != large || len(body) > len(large)/10 {
			t.Errorf("%s unpacks to %d bytes (%v) from %d", c.path, len(plain), err, len(body))
		}
		if !strings.Contains(strings.Join(answer.Header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%s: Vary is %v", c.path, answer.Header.Values("Vary"))
		}
	}
}

func BenchmarkRenderGzip(b *testing.B) {
	page := text("%s", strings.Repeat("<tr><td>entry</td><td>1147829310</td></tr>\n", 1500))
	e := echo.New()
	for b.Loop() {
		r, _ := http.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		if err := Render(e.NewContext(r, discard{http.Header{}}), 200, page); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
