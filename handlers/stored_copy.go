package handlers

import (
	"context"
	"fmt"
	"io"

	"dlo/dlq"
)

// openStoredCopy opens the verified bytes of an entry and gives their size. The
// errors say why there are none: KindNotFound where none was ever sent, KindGone
// where they expired or were erased, KindConflict where their digest no longer
// agrees, which is written down. A copy that was found damaged before is opened
// all the same, because its bytes may have been sent again since.
func (h *Handlers) openStoredCopy(ctx context.Context, e dlq.Entry) (io.ReadSeekCloser, int64, error) {
	switch {
	case e.Status == dlq.StatusErased:
		return nil, 0, dlq.Errorf(dlq.KindGone, "this document was erased")
	case e.Copy == dlq.CopyNever:
		return nil, 0, dlq.Errorf(dlq.KindNotFound, "no copy of this document was ever sent here")
	case e.Copy == dlq.CopyExpired:
		return nil, 0, dlq.Errorf(dlq.KindGone, "the copy of this document has expired; a replay goes to the source")
	}
	r, size, err := h.Payloads.Open(ctx, e.HeldSHA256)
	if dlq.KindOf(err) == dlq.KindConflict {
		if markErr := h.Store.MarkPayloadCorrupt(ctx, e.ID); markErr != nil {
			return nil, 0, fmt.Errorf("mark the stored copy of %s as damaged: %w", e.DLQID, markErr)
		}
	}
	return r, size, err
}
