package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// ArchiveExpired archives parked entries whose time is over, at most limit of
// them, each with its audit row. One that an operation has reserved waits.
func (s *Store) ArchiveExpired(ctx context.Context, limit int) (int, error) {
	n := 0
	err := s.update(ctx, func(tx *Tx) error {
		n = 0
		var ids []int64
		if err := each(tx.ctx, tx, `select e.id from entry e where e.status = 'parked' and e.expires_at <= $1
			and not exists (select 1 from item i join operation o on o.id = i.operation_id where i.entry_id = e.id and i.state = 'waiting' and o.state not in ('done', 'cancelled'))
			order by e.expires_at, e.id limit $2`, []any{ms(tx.now), limit}, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		}); err != nil {
			return fmt.Errorf("find what expired: %w", err)
		}
		for _, id := range ids {
			was, found, err := tx.entryByID(id)
			if err != nil || !found {
				return err
			}
			src, err := tx.sourceByID(was.sourceID)
			if err != nil {
				return err
			}
			is := was
			is.status = dlq.StatusArchived
			if err := tx.saveEntry(was, is); err != nil {
				return err
			}
			if err := tx.audit(dlq.Policy("entry_ttl of "+src.Name()), auditEntry{action: "entry.expired", entryID: is.id, dlqID: is.dlqID, source: src.Name(),
				detail: map[string]any{"opened_at": is.openedAt, "expires_at": is.expiresAt}}); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}
