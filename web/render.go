package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

// gzipFrom is the size below which compressing saves nothing: one packet.
const gzipFrom = 1400

var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	zippers = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // errs on an unknown level only
		return z
	}}
)

// Render writes a component as the answer. It is rendered into memory first,
// so that an error in the middle gives an error page and not half a page with
// status 200. Large answers are compressed where the client takes gzip; done
// here, it cannot touch streams, files and the API. What a page repeats of a
// request could be guessed from compressed lengths (BREACH), which is why the
// csrf token looks different in every answer.
func Render(c echo.Context, status int, component templ.Component) error {
	body := buffers.Get().(*bytes.Buffer)
	defer putBuffer(body)
	body.Reset()
	if err := component.Render(c.Request().Context(), body); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	h := c.Response().Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding")
	if body.Len() >= gzipFrom && acceptsGzip(c.Request().Header.Get("Accept-Encoding")) {
		packed := buffers.Get().(*bytes.Buffer)
		defer putBuffer(packed)
		packed.Reset()
		z := zippers.Get().(*gzip.Writer)
		defer zippers.Put(z)
		z.Reset(packed)
		if _, err := z.Write(body.Bytes()); err != nil {
			return fmt.Errorf("compress %s: %w", c.Path(), err)
		}
		if err := z.Close(); err != nil {
			return fmt.Errorf("compress %s: %w", c.Path(), err)
		}
		h.Set("Content-Encoding", "gzip")
		body = packed
	}
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	c.Response().WriteHeader(status)
	_, err := c.Response().Write(body.Bytes())
	return err
}

// putBuffer keeps no buffer that one huge page has grown.
func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= 1<<20 {
		buffers.Put(b)
	}
}

// RenderPage answers with the page, or with its fragment where htmx asks for
// one. Vary keeps caches from giving one in place of the other. Either
// component may be made by need: a templ.Component costs nothing until it is
// rendered.
func RenderPage(c echo.Context, status int, page, fragment templ.Component) error {
	c.Response().Header().Add("Vary", "HX-Request")
	if IsFragment(c.Request()) {
		return Render(c, status, fragment)
	}
	return Render(c, status, page)
}

// IsFragment says whether htmx asks for a piece of a page. A boosted link and
// a restored history entry come from htmx too but need the whole page.
func IsFragment(r *http.Request) bool {
	return r.Header.Get("HX-Request") == "true" &&
		r.Header.Get("HX-Boosted") != "true" &&
		r.Header.Get("HX-History-Restore-Request") != "true"
}

// Redirect sends a browser that has changed something to where the result
// stands: 303 (RFC 9110 §15.4.4), and for an htmx fragment 200 with
// HX-Redirect, because a 303 would be followed unseen. The target is a path
// that the program made, never one from a request: see SafeNext.
func Redirect(c echo.Context, path string) error {
	c.Response().Header().Add("Vary", "HX-Request")
	if IsFragment(c.Request()) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusOK)
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// JSON answers a program, without HTML escapes and without a second guess at
// the content type.
func JSON(c echo.Context, status int, v any) error {
	return writeJSON(c, status, "application/json", v)
}

func writeJSON(c echo.Context, status int, contentType string, v any) error {
	body := buffers.Get().(*bytes.Buffer)
	defer putBuffer(body)
	body.Reset()
	encoder := json.NewEncoder(body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode the answer of %s: %w", c.Path(), err)
	}
	h := c.Response().Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	c.Response().WriteHeader(status)
	_, err := c.Response().Write(body.Bytes())
	return err
}

// acceptsGzip reads Accept-Encoding (RFC 9110 §12.5.3).
func acceptsGzip(header string) bool {
	for _, part := range strings.Split(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		q, found := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(params), " ", ""), "q=")
		if !found {
			return true
		}
		weight, err := strconv.ParseFloat(q, 64)
		return err == nil && weight > 0
	}
	return false
}
