package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// UnplacedOutcomes lists the reports of a source that belonged to nothing, newest
// first, and says whether there are more. An empty source is for those that named
// none: they may be about any, and are for who sees all.
func (s *Store) UnplacedOutcomes(ctx context.Context, by dlq.Actor, source string, limit int) ([]dlq.UnplacedOutcome, bool, error) {
	if source == "" && len(by.Sources) > 0 || source != "" && !by.SeesSource(source) {
		return nil, false, nil
	}
	var out []dlq.UnplacedOutcome
	err := each(ctx, s.reader(), `select received_at, source, doc_id, redrive_id, content_hash, result, why, actor
		from outcome
		where source = $1 and entry_id is null
		order by received_at desc, id desc
		limit $2`, []any{source, limit + 1}, func(rows *sql.Rows) error {
		var o dlq.UnplacedOutcome
		var received int64
		err := rows.Scan(&received, &o.Source, &o.DocID, &o.RedriveID, &o.ContentHash, &o.Result, &o.Why, &o.Actor)
		o.ReceivedAt = fromMS(received)
		out = append(out, o)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read reports that belong to nothing: %w", err)
	}
	if len(out) > limit {
		return out[:limit], true, nil
	}
	return out, false, nil
}
