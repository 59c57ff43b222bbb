package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"dlo/dlq"
)

// RememberPayload keeps a row for bytes that were stored before any envelope
// names them.
func (s *Store) RememberPayload(ctx context.Context, sha256 string, size int64) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`insert into payload (sha256, bytes, stored_at) values ($1, $2, $3) on conflict (sha256) do update set stored_at = excluded.stored_at`, sha256, size, ms(tx.now))
		if err != nil {
			return fmt.Errorf("remember payload: %w", err)
		}
		return nil
	})
}

// Payloads calls fn for every payload that the database says is held.
func (s *Store) Payloads(ctx context.Context, fn func(sha256 string, size int64) error) error {
	after := ""
	for {
		n := 0
		err := each(ctx, s.reader(), `select sha256, bytes from payload where sha256 > $1 order by sha256 limit 500`, []any{after}, func(rows *sql.Rows) error {
			var size int64
			if err := rows.Scan(&after, &size); err != nil {
				return err
			}
			n++
			return fn(after, size)
		})
		if err != nil {
			return fmt.Errorf("read payloads: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

// Orphans lists the digests of at most limit payloads that no entry holds and
// that were stored before a time, oldest first.
func (s *Store) Orphans(ctx context.Context, before time.Time, limit int) ([]string, error) {
	var out []string
	err := each(ctx, s.reader(), `select p.sha256 from payload p where p.stored_at < $1
		and not exists (select 1 from entry e where e.held_sha256 = p.sha256 and e.payload_state in ('held', 'corrupt')) order by p.stored_at, p.sha256 limit $2`, []any{ms(before), limit}, func(rows *sql.Rows) error {
		var sha string
		err := rows.Scan(&sha)
		out = append(out, sha)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find orphans: %w", err)
	}
	return out, nil
}

// ForgetOrphans removes the rows of payloads whose bytes are gone, unless they
// were stored again since, or an entry holds them.
func (s *Store) ForgetOrphans(ctx context.Context, before time.Time, gone []string) error {
	return s.update(ctx, func(tx *Tx) error {
		for _, sha := range gone {
			if _, err := tx.exec(`delete from payload where sha256 = $1 and stored_at < $2
				and not exists (select 1 from entry e where e.held_sha256 = payload.sha256 and e.payload_state in ('held', 'corrupt'))`, sha, ms(before)); err != nil {
				return fmt.Errorf("forget orphan: %w", err)
			}
		}
		return nil
	})
}

// HoldsPayload says whether a row says that the bytes are held.
func (s *Store) HoldsPayload(ctx context.Context, sha256 string) (bool, error) {
	var one int
	return s.one(ctx, `select 1 from payload where sha256 = $1`, []any{sha256}, &one)
}

func (s *Store) one(ctx context.Context, query string, args []any, into ...any) (bool, error) {
	return one(ctx, s.reader(), query, args, into...)
}

// MarkPayloadCorrupt records that an entry's stored copy no longer has its
// digest, and raises an alert.
func (s *Store) MarkPayloadCorrupt(ctx context.Context, entryID int64) error {
	return s.update(ctx, func(tx *Tx) error { return tx.payloadCorrupt(entryID, "") })
}

// payloadCorrupt marks an entry's copy, if it is still the one that was read: an
// arrival may have brought another meanwhile. An empty digest means the one that
// is held now.
func (t *Tx) payloadCorrupt(entryID int64, digest string) error {
	e, found, err := t.entryByID(entryID)
	if err != nil || !found || e.copy != dlq.CopyHeld || (digest != "" && digest != e.heldSHA256) {
		return err
	}
	if _, err := t.exec(`update entry set payload_state = 'corrupt', version = version + 1 where held_sha256 = $1 and payload_state = 'held'`, e.heldSHA256); err != nil {
		return fmt.Errorf("mark the copy corrupt: %w", err)
	}
	src, err := t.sourceByID(e.sourceID)
	if err != nil {
		return err
	}
	return t.raiseAlert(dlq.Alert{Rule: dlq.AlertPayloadCorrupt, Subject: "payload:" + e.heldSHA256, SourceID: src.ID, EntryID: e.id,
		Why: "a stored copy of a document of " + src.Name() + " no longer has the digest that it was stored under; it will not be sent"})
}

// PayloadIsSound records that bytes which were corrupt have been stored anew.
func (s *Store) PayloadIsSound(ctx context.Context, sha256 string) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`update entry set payload_state = 'held', version = version + 1 where held_sha256 = $1 and payload_state = 'corrupt'`, sha256)
		if err != nil || n == 0 {
			return err
		}
		return tx.resolveAlert(dlq.AlertPayloadCorrupt, "payload:"+sha256)
	})
}
