package web

import (
	"mime"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestEveryResponseHasTheSecurityHeaders(t *testing.T) {
	routes := func(e *echo.Echo) {
		failing(e)
		e.GET("/ok", ok)
		e.GET("/api/ok", ok)
		e.GET("/panic", func(echo.Context) error { panic("x") })
		e.POST("/read", func(c echo.Context) error { return ReadJSON(c, new(order)) })
	}
	plain := startSite(t, ServerConfig{Pages: testPages}, routes)
	secure := startSite(t, ServerConfig{Pages: testPages, PublicURL: mustURL("https://dlo.example.com"), ReportTo: "/csp"}, routes)
	requests := [][]string{{"GET", "/ok"}, {"GET", "/api/ok"}, {"GET", "/panic"}, {"GET", "/missing"}, {"GET", "/api/missing"}, {"DELETE", "/ok"},
		{"OPTIONS", "/ok"}, {"HEAD", "/ok"}, {"POST", "/read"}, {"GET", "/ok", "Host", "evil.example"}, {"GET", "/%zz/../x"}, {"GET", "/login"}}
	for name := range statusOfKind {
		requests = append(requests, []string{"GET", "/" + name}, []string{"GET", "/api/" + name}, []string{"GET", "/" + name, "HX-Request", "true"})
	}
	want := map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"X-XSS-Protection":             "0",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
		"Server":                       "",
	}
	for _, r := range requests {
		if strings.Contains(r[1], "%zz") {
			continue // net/http's own 400, before any handler
		}
		for _, s := range []site{plain, secure} {
			https := s.url == secure.url
			answer, _ := s.send(t, r[0], r[1], "", r[2:]...)
			for header, value := range want {
				if got := answer.Header.Get(header); got != value {
					t.Errorf("%v: %s is %q, want %q", r, header, got, value)
				}
			}
			policy := answer.Header.Get("Content-Security-Policy")
			for _, directive := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action "} {
				if !strings.Contains(policy, directive) {
					t.Errorf("%v: the policy lacks %s: %s", r, directive, policy)
				}
			}
			if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "data:") {
				t.Errorf("%v: the policy is weak: %s", r, policy)
			}
			if isAPI := strings.HasPrefix(r[1], "/api/"); isAPI == strings.Contains(policy, "script-src") {
				t.Errorf("%v: the policy is that of the other side: %s", r, policy)
			}
			if !strings.Contains(answer.Header.Get("Permissions-Policy"), "camera=()") {
				t.Errorf("%v: no permissions policy", r)
			}
			if got, want := answer.Header.Get("Strict-Transport-Security") != "", https; got != want {
				t.Errorf("%v: HSTS %v, want %v", r, got, want)
			}
			if got, want := strings.Contains(policy, "report-to csp"), https; got != want {
				t.Errorf("%v: report-to %v, want %v", r, got, want)
			}
		}
	}
}

func TestRawDownloadsAreSavedAndHaveNoOrigin(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/raw", func(c echo.Context) error {
			RawDownload(c, c.QueryParam("name"))
			return c.Blob(200, c.Response().Header().Get("Content-Type"), []byte("<script>alert(1)</script>"))
		})
		e.GET("/frame", func(c echo.Context) error {
			PreviewFrame(c)
			return c.Blob(200, c.Response().Header().Get("Content-Type"), []byte("<script>alert(1)</script>"))
		})
	})
	for name, wantName := range map[string]string{
		"x.html": "x.html", "a b.txt": "a b.txt", "%0D%0AX-Evil:1.html": "X-Evil1.html", `a";evil="b.txt`: "aevil=b.txt",
		"../../etc/passwd": "etcpasswd", `..\..\x`: "x", "%E2%80%AEfdp.exe": "fdp.exe", "": "download", "...": "download",
		"%00a": "a", "%E6%96%87.pdf": "文.pdf", "100%25.txt": "100%.txt", "%FF.txt": ".txt"[1:], "%C3%A9%27%28.txt": "é'(.txt",
	} {
		answer, body := s.send(t, "GET", "/raw?name="+strings.NewReplacer(" ", "%20", `"`, "%22", ";", "%3B", `\`, "%5C").Replace(name), "")
		h := answer.Header
		if h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
			h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || h.Get("X-Evil") != "" || body != "<script>alert(1)</script>" {
			t.Errorf("%q: %v", name, h)
		}
		disposition, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
		if err != nil || disposition != "attachment" || params["filename"] != wantName {
			t.Errorf("%q: %s gives %q (%v), want %q", name, h.Get("Content-Disposition"), params["filename"], err, wantName)
		}
	}
	answer, _ := s.send(t, "GET", "/raw?name="+strings.Repeat("%F0%9F%98%80", 500), "")
	if n := len(answer.Header.Get("Content-Disposition")); n > 800 {
		t.Errorf("a long name makes a header of %d bytes", n)
	}
	answer, _ = s.send(t, "GET", "/frame", "")
	policy := answer.Header.Get("Content-Security-Policy")
	if answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(policy, "sandbox;") || !strings.Contains(policy, "frame-ancestors 'self'") ||
		!strings.Contains(policy, "default-src 'none'") || answer.Header.Get("X-Frame-Options") != "SAMEORIGIN" {
		t.Errorf("preview frame: %v", answer.Header)
	}
}

func TestAPDFIsShownAsNothingElseAndHasNoOrigin(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/pdf", func(c echo.Context) error {
			PDFFrame(c, "0123456789abcdef")
			return c.Blob(200, c.Response().Header().Get("Content-Type"), []byte("%PDF-1.7"))
		})
	})
	answer, _ := s.send(t, "GET", "/pdf", "")
	for header, want := range map[string]string{
		"Content-Type":                 "application/pdf",
		"X-Content-Type-Options":       "nosniff",
		"Content-Disposition":          `inline; filename="0123456789abcdef.pdf"`,
		"Content-Security-Policy":      "sandbox; default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
		"X-Frame-Options":              "SAMEORIGIN",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
	} {
		if got := answer.Header.Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
}

func TestPagesMayFrameAndShowOnlyOurOwn(t *testing.T) {
	for _, directive := range []string{"frame-src 'self'", "img-src 'self'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "object-src 'none'"} {
		if !strings.Contains(pagePolicy, directive) {
			t.Errorf("the policy of pages lacks %s", directive)
		}
	}
}
