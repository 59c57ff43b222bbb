package db

import (
	"context"
	"time"

	"dlo/dlq"
)

// VoidAbandoned cancels the operations whose membership nobody has written on
// since a moment: the command that prepared one was cut off beside a server that
// runs on, and its entries must not be kept from others until that starts again.
// Nothing of it was done.
func (s *Store) VoidAbandoned(ctx context.Context, since time.Time) (int64, error) {
	var n int64
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		n, err = tx.exec(`update operation set state = 'cancelled', why = $1, ended_at = $2, updated_at = $2 where state = 'preparing' and updated_at < $3`,
			"what prepared it ended before its membership was written; nothing was done", ms(tx.now), ms(since))
		if err != nil || n == 0 {
			return err
		}
		return tx.audit(dlq.Policy("preparations that were cut off"), auditEntry{action: "operation.voided", detail: map[string]any{"operations": n}})
	})
	return n, err
}
