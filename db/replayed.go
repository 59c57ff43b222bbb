package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// Replayed reads what the deliveries of redrives need to know of their entries, by
// the id of each redrive. One that is not there is not among them.
func (s *Store) Replayed(ctx context.Context, redrives []dlq.Redrive) (map[string]dlq.Replayed, error) {
	ids := make([]string, len(redrives))
	for i, r := range redrives {
		ids[i] = r.ID
	}
	out := make(map[string]dlq.Replayed, len(ids))
	err := each(ctx, s.reader(), `select r.id, e.payload_state, coalesce(e.held_sha256, ''), coalesce(e.payload_attempt, 0), e.redrives_total, e.attempts,
		a.id, coalesce(a.source_version, ''), coalesce(a.payload_sha256, ''), a.source_updated_at, coalesce(a.payload_uri, ''), a.ingest_seq, coalesce(a.cursor, '')
		from json_each($1) j join redrive r on r.id = j.value join entry e on e.id = r.entry_id join attempt a on a.id = r.failed_attempt`, []any{jsonTexts(ids)}, func(rows *sql.Rows) error {
		var id string
		var r dlq.Replayed
		var updated sql.NullInt64
		f := &r.Failure
		if err := rows.Scan(&id, &r.Copy, &r.HeldSHA256, &r.CopyOfAttempt, &r.RedrivesTotal, &r.Attempts,
			&f.ID, &f.SourceVersion, &f.PayloadSHA256, &updated, &f.PayloadURI, &f.IngestSeq, &f.Cursor); err != nil {
			return err
		}
		f.SourceUpdatedAt = fromNullMS(updated)
		out[id] = r
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what is replayed: %w", err)
	}
	return out, nil
}
