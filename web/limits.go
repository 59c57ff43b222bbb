package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
)

// hostList holds the names under which the server answers. A name that is not
// in it may be an attacker's that now resolves to this address.
type hostList struct {
	names    map[string]bool
	loopback bool
}

func newHostList(cfg ServerConfig) (hostList, error) {
	list := hostList{names: map[string]bool{}}
	for _, name := range cfg.Hosts {
		list.names[normalHost(name)] = true
	}
	if cfg.PublicURL != nil {
		list.names[normalHost(cfg.PublicURL.Hostname())] = true
	}
	if cfg.Listen == "" {
		return list, nil
	}
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return list, fmt.Errorf("listen address %q: a host and a port expected, such as 127.0.0.1:8080: %w", cfg.Listen, err)
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", err == nil && addr.IsLoopback():
		list.loopback = true
	case host != "" && !(err == nil && addr.IsUnspecified()):
		list.names[normalHost(host)] = true
	}
	return list, nil
}

// allows judges the name alone: a port that differs comes from forwarding, and
// says nothing about who controls the name.
func (l hostList) allows(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = normalHost(strings.Trim(host, "[]"))
	if l.names[host] {
		return true
	}
	if !l.loopback {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (l hostList) middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !l.allows(c.Request().Host) {
			return echo.NewHTTPError(http.StatusMisdirectedRequest)
		}
		return next(c)
	}
}

func normalHost(s string) string { return strings.TrimSuffix(strings.ToLower(s), ".") }

// limitedBody is a request body that ends with *http.MaxBytesError past the
// limit. It decides at the first read, so that a route can set its own limit
// before anything is read.
type limitedBody struct {
	w        http.ResponseWriter // the server's own: it closes the connection
	body     io.ReadCloser
	declared int64 // Content-Length, -1 unknown
	limit    int64
	reader   io.ReadCloser
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.declared > b.limit {
		b.w.Header().Set("Connection", "close") // rather than read it all to reach the next request
		return 0, &http.MaxBytesError{Limit: b.limit}
	}
	if b.reader == nil {
		b.reader = http.MaxBytesReader(b.w, b.body, b.limit)
	}
	return b.reader.Read(p)
}

func (b *limitedBody) Close() error { return b.body.Close() }

const bodyKey = "web.body"

func limitBody(limit int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			body := &limitedBody{w: innermost(c.Response().Writer), body: r.Body, declared: r.ContentLength, limit: limit}
			c.Set(bodyKey, body)
			r.Body = body
			return next(c)
		}
	}
}

// AllowBody is for routes whose bodies may be larger, or must be smaller, than
// the server's limit. It must stand before whatever reads the body.
func AllowBody(limit int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if body, ok := c.Get(bodyKey).(*limitedBody); ok {
				body.limit = limit
			}
			return next(c)
		}
	}
}

// innermost finds the server's own writer, the only one by which
// http.MaxBytesReader can have the connection closed.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = wrapper.Unwrap()
	}
}

// headAsGet lets GET routes answer HEAD (RFC 9110 §9.3.2), which echo's router
// does not. It stands before echo and hands on a copy of the request, because
// net/http looks at its own to keep the body back and to count it. A stream is
// ended at its first flush, when all that HEAD asks for has been sent.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(context.WithValue(r.Context(), methodKey, http.MethodHead))
		defer cancel()
		asGet := r.WithContext(ctx)
		asGet.Method = http.MethodGet
		next.ServeHTTP(&headWriter{ResponseWriter: w, flushed: cancel}, asGet)
	})
}

// methodOf is the method as the client sent it.
func methodOf(c echo.Context) string {
	if method, ok := c.Request().Context().Value(methodKey).(string); ok {
		return method
	}
	return c.Request().Method
}

type headWriter struct {
	http.ResponseWriter
	flushed func()
}

func (w *headWriter) FlushError() error {
	defer w.flushed()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *headWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
