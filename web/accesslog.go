package web

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// abortKey marks a request whose answer broke off after it had begun.
const abortKey = "web.abort"

// secretPathKey marks a request whose path may not be logged.
const secretPathKey = "web.secret path"

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// requestID gives every request an id of its own, sends it as X-Request-Id and
// puts it into the context. One that the client sent is not taken over: it
// would be the client's text in our log.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		raw := make([]byte, 10)
		rand.Read(raw)
		id := lowerBase32.EncodeToString(raw)
		r := c.Request()
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), requestIDKey, id)))
		c.Response().Header().Set("X-Request-Id", id)
		return next(c)
	}
}

// RequestID is the id under which the log knows this request.
func RequestID(c echo.Context) string { return RequestIDFrom(c.Request().Context()) }

// RequestIDFrom is RequestID for code that has the context only.
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey).(string)
	return id
}

// HidePath is for routes whose path carries a secret, such as a signed link:
// the access log then names the route and not the path.
func HidePath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(secretPathKey, true)
		return next(c)
	}
}

// accessLog writes a line for each request: never the query, a header or a
// body, because searches, tokens and cookies are in those. It also hands
// errors to the error handler, so that the line has the status that was sent.
func accessLog(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := time.Now()
			if err := next(c); err != nil {
				c.Error(err)
			}
			r, w := c.Request(), c.Response()
			attrs := []slog.Attr{
				slog.String("request_id", RequestID(c)),
				slog.String("method", cut(methodOf(c), 16)),
				slog.String("route", c.Path()),
				slog.Int("status", w.Status),
				slog.Int64("bytes", w.Size),
				slog.Float64("ms", float64(time.Since(start).Microseconds())/1000),
				slog.String("ip", c.RealIP()),
			}
			if c.Get(secretPathKey) == nil {
				attrs = append(attrs, slog.String("path", cut(r.URL.Path, 256)))
			}
			if actor, ok := ActorOf(c); ok {
				attrs = append(attrs, slog.String("actor", string(actor.Kind)+":"+actor.ID))
			}
			level := slog.LevelInfo
			if c.Get(abortKey) != nil {
				level = slog.LevelError
				attrs = append(attrs, slog.Bool("aborted", true))
			}
			log.LogAttrs(r.Context(), level, "request", attrs...)
			if c.Get(abortKey) != nil {
				panic(http.ErrAbortHandler)
			}
			return nil
		}
	}
}

// cut shortens to at most n bytes, on a rune's border.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// panicError is a panic on its way to the error handler, which logs it once.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return "panic: " + cut(fmt.Sprint(p.value), 1024) }

// recoverPanics turns a panic into an internal error. http.ErrAbortHandler is
// how a handler cuts the connection on purpose and goes on.
func recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch value := recover(); value {
			case nil:
			case http.ErrAbortHandler:
				panic(value)
			default:
				err = &panicError{value: value, stack: debug.Stack()}
			}
		}()
		return next(c)
	}
}
