package handlers

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// healthz says that the process answers.
func (h *Handlers) healthz(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says that the database and the payload store answer too.
func (h *Handlers) readyz(c echo.Context) error {
	if err := h.readiness.answer(c.Request().Context(), h.Now, h.ready); err != nil {
		return err
	}
	return c.String(http.StatusOK, "ready\n")
}

func (h *Handlers) ready(ctx context.Context) error {
	if err := h.Store.Ping(ctx); err != nil {
		return err
	}
	return h.Payloads.Ping(ctx)
}

// An answer of readyz is as good as new for a second. Everybody may ask, and each
// look commits a transaction and writes a file: without this, asking would be
// work for the disk that costs the asker nothing.
const (
	readyFor      = time.Second
	readyPatience = 10 * time.Second // of one look
)

// readiness is the last answer. Who asks while somebody looks waits for that look.
type readiness struct {
	mu    sync.Mutex
	asked time.Time
	err   error
}

// answer looks unless that was done a moment ago. The look is nobody's in
// particular, so it goes on when the one who asked first goes away.
func (r *readiness) answer(ctx context.Context, now func() time.Time, look func(context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now().Sub(r.asked); age >= 0 && age < readyFor {
		return r.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyPatience)
	defer cancel()
	r.err = look(ctx)
	r.asked = now()
	return r.err
}

func (h *Handlers) openAPI(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", h.OpenAPI)
}
