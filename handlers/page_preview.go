package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// readCopy reads the head of an entry's stored copy. The payload store checks
// the digest before it hands out the first byte, so a damaged copy shows nothing;
// that it is damaged is written down.
func (h *Handlers) readCopy(ctx context.Context, e dlq.Entry) (storedCopy, error) {
	if e.Copy != dlq.CopyHeld || e.Status == dlq.StatusErased {
		return storedCopy{}, nil
	}
	r, size, err := h.openStoredCopy(ctx, e)
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindConflict:
		return storedCopy{trouble: copyDamaged}, nil
	case dlq.KindNotFound:
		return storedCopy{trouble: copyMissing}, nil
	case dlq.KindUnavailable:
		return storedCopy{trouble: copyUnread}, nil
	default:
		return storedCopy{}, err
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, previewBytes))
	if err != nil {
		return storedCopy{}, fmt.Errorf("read the stored copy of %s: %w", e.DLQID, err)
	}
	return storedCopy{head: head, size: size}, nil
}

// entryImage is GET /entries/{id}/preview/image: the stored copy, where its own
// bytes say that it is an image of a kind that holds no script.
func (h *Handlers) entryImage(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	e, err := h.Store.Entry(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	r, size, err := h.openStoredCopy(ctx, e)
	if err != nil {
		return err
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, previewBytes))
	if err != nil {
		return fmt.Errorf("read the stored copy of %s: %w", e.DLQID, err)
	}
	s := sniff(head, "", "")
	if s.format != formatImage {
		return dlq.Errorf(dlq.KindNotFound, "the stored copy is not an image that can be shown")
	}
	if err := h.Store.Audit(ctx, by, "payload.viewed", &e, e.Source, map[string]any{"sha256": e.HeldSHA256, "as": "image"}); err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind the stored copy of %s: %w", e.DLQID, err)
	}
	web.PreviewFrame(c)
	header := c.Response().Header()
	header.Set("Content-Type", s.mime) // of the sniffed kind, never of what the sender said
	header.Set("Content-Length", fmt.Sprint(size))
	c.Response().WriteHeader(http.StatusOK)
	_, err = io.Copy(c.Response(), r)
	return err
}
