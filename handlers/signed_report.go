package handlers

import (
	"bytes"
	"io"
	"time"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// signedAt is where the time that a report was signed at is kept.
const signedAt = "signed at"

// tokenOrSignature lets in who has a token, and who reports what came of a
// redrive under the signature of its source: one report, as JSON. Beside a token
// a signature says nothing, so that nobody has to wonder which of them counted.
func (h *Handlers) tokenOrSignature(bearer echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		withToken := bearer(next)
		return func(c echo.Context) error {
			r := c.Request()
			if len(r.Header.Values("Authorization")) > 0 || r.Header.Get("webhook-signature") == "" {
				return withToken(c)
			}
			if err := web.CheckContentType(c, typeJSON); err != nil {
				return err
			}
			body, err := io.ReadAll(io.LimitReader(r.Body, dlq.MaxEnvelope+1))
			if err != nil {
				return bodyError(err)
			}
			if len(body) > dlq.MaxEnvelope {
				return dlq.Errorf(dlq.KindTooLarge, "the outcome has more than %d bytes", dlq.MaxEnvelope)
			}
			by, at, err := h.Outcomes.Signed(r.Context(), r.Header, body)
			if err != nil {
				return err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			web.SetActor(c, by)
			c.Set(signedAt, at)
			return next(c)
		}
	}
}

// reportedAt is when a report was made, where it does not say so itself: when it
// was signed, so that the same one sent again is the same; else now.
func (h *Handlers) reportedAt(c echo.Context) time.Time {
	if at, ok := c.Get(signedAt).(time.Time); ok {
		return at
	}
	return h.Outcomes.Clock()
}
