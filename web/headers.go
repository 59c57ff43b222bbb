package web

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// The content security policies. There is no unsafe-inline, no unsafe-eval and
// no nonce, because no page has an inline script or style.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'"
	apiPolicy      = "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox"
	downloadPolicy = "sandbox; default-src 'none'"
	framePolicy    = "sandbox; default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)

// permissionsPolicy turns off what no page of the application asks for.
const permissionsPolicy = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=(), xr-spatial-tracking=()"

// hsts is for a year, subdomains included (RFC 6797).
const hsts = "max-age=31536000; includeSubDomains"

// Headers sets the security headers before anything else runs, so that a
// refusal, an error page, a file and an answer of the API have them alike.
// https adds Strict-Transport-Security. reportTo, when not empty, is where
// browsers send policy violations.
//
// Referrer-Policy no-referrer has a price: browsers then send Origin: null
// with a form, so that the cross-site check rests on Sec-Fetch-Site, which
// they send over https and to loopback only.
func Headers(https bool, reportTo string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if reportTo != "" {
				c.Response().Header().Set("Reporting-Endpoints", fmt.Sprintf("csp=%q", reportTo))
			}
			if https {
				c.Response().Header().Set("Strict-Transport-Security", hsts)
			}
			setBaseHeaders(c)
			return next(c)
		}
	}
}

// setBaseHeaders is also what an error answer starts from, whatever the
// handler had set before it failed.
func setBaseHeaders(c echo.Context) {
	h := c.Response().Header()
	policy := pagePolicy
	if isAPI(c.Request()) {
		policy = apiPolicy
	}
	if h.Get("Reporting-Endpoints") != "" {
		policy += "; report-to csp"
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-XSS-Protection", "0") // the filter it would turn on was itself a leak
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", permissionsPolicy)
	h.Set("Cache-Control", "no-store")
}

// isAPI says whether the request is for the programs' interface rather than
// for people: below /api/.
func isAPI(r *http.Request) bool {
	return r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/")
}

// RawDownload prepares the response for bytes that a stranger wrote: they are
// saved, never shown, and should a browser show them after all they have no
// origin. The handler then writes status and body.
func RawDownload(c echo.Context, filename string) {
	h := c.Response().Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", attachment(filename))
	h.Set("Content-Security-Policy", downloadPolicy)
}

// PreviewFrame prepares the response for text that a stranger wrote, to be
// shown in a frame of our own page: plain text, sandboxed, framed by us alone.
func PreviewFrame(c echo.Context) {
	h := c.Response().Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", framePolicy)
	h.Set("X-Frame-Options", "SAMEORIGIN")
}

// PDFFrame prepares the response for a PDF that a stranger wrote, to be drawn in
// a frame of our own page by the browser's viewer, which runs apart from it. The
// policy is that of any preview: a browser that took the bytes for something
// else would give them no origin and load nothing for them. The frame itself
// must not have the sandbox attribute, in which no viewer starts. name is ours,
// without an ending: viewers show it and save under it.
func PDFFrame(c echo.Context, name string) {
	PreviewFrame(c)
	h := c.Response().Header()
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Disposition", `inline; filename="`+safeFilename(name)+`.pdf"`)
}

// ClearSiteData tells the browser to forget what it kept of the signed-in
// person's pages; for the answer to signing out.
func ClearSiteData(c echo.Context) {
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
}

// attachment writes a Content-Disposition (RFC 6266) with the name in ASCII
// and, where that loses something, once more as RFC 8187 has it.
func attachment(filename string) string {
	name := safeFilename(filename)
	plain := strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf || r == '%' {
			return '_'
		}
		return r
	}, name)
	value := `attachment; filename="` + plain + `"`
	if plain == name {
		return value
	}
	return value + "; filename*=UTF-8''" + percentEncode(name)
}

// safeFilename leaves out whatever could end the header, leave the folder or
// hide the true ending of a name, and never gives an empty name.
func safeFilename(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || hidden(r) || strings.ContainsRune(`/\"<>|:*?;`, r) {
			return -1
		}
		return r
	}, s)
	s = strings.Trim(s, ". ")
	for len(s) > 150 {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	if s == "" {
		return "download"
	}
	return s
}

// percentEncode leaves only the attr-chars of RFC 8187 §3.2.1 that are
// letters, digits, "-", "." and "_" as they are.
func percentEncode(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
