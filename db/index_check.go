package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"dlo/dlq"
)

// IndexQuestions lists the redrives of a source that its target took and that
// the index is due to be asked about, those that waited longest first.
func (s *Store) IndexQuestions(ctx context.Context, source dlq.Source, limit int) ([]dlq.IndexQuestion, error) {
	var out []dlq.IndexQuestion
	var ids []any
	err := each(ctx, s.reader(), `select r.id, r.checks, a.ingest_seq
		from redrive r left join attempt a on a.id = r.failed_attempt
		where r.source_id = $1 and r.state = 'delivered' and r.check_at <= $2
		order by r.check_at, r.id
		limit $3`, []any{source.ID, ms(s.Now()), limit}, func(rows *sql.Rows) error {
		var q dlq.IndexQuestion
		err := rows.Scan(&q.Redrive.ID, &q.Checks, &q.IngestSeq)
		out, ids = append(out, q), append(ids, q.Redrive.ID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find redrives that the index is asked about: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := redrivesWhere(ctx, s.reader(), `where r.id in (`+placeholders(len(ids))+`)`, ids...)
	if err != nil {
		return nil, err
	}
	whole := map[string]dlq.Redrive{}
	for _, r := range list {
		whole[r.ID] = r
	}
	for i := range out {
		out[i].Redrive = whole[out[i].Redrive.ID]
	}
	return out, nil
}

// IndexSaid records that the index was asked about a redrive and told nothing
// that settles it, and when it is asked again. A redrive that was settled
// meanwhile is left alone.
func (s *Store) IndexSaid(ctx context.Context, redriveID, said string, again time.Time) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`update redrive set checks = checks + 1, check_at = $1, check_said = $2 where id = $3 and state = 'delivered'`, ms(again), said, redriveID)
		if err != nil {
			return fmt.Errorf("record what the index said: %w", err)
		}
		return nil
	})
}

// IndexChecked says how far the index was asked about an entry's redrive in
// flight; false where none is.
func (s *Store) IndexChecked(ctx context.Context, entryID int64) (dlq.IndexChecked, bool, error) {
	var c dlq.IndexChecked
	var again int64
	var due sql.NullInt64
	found, err := one(ctx, s.reader(), `select checks, check_at, check_said, due_at from redrive
		where entry_id = $1 and state = 'delivered' order by created_at desc, id desc limit 1`, []any{entryID}, &c.Times, &again, &c.Said, &due)
	if err != nil {
		return c, false, fmt.Errorf("read what the index said: %w", err)
	}
	c.Again, c.Until = fromMS(again), fromNullMS(due)
	return c, found, nil
}
