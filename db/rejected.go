package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// KeepRejected keeps what was refused, as it came, so that the safety net loses
// nothing itself. A body is kept up to the limit of an envelope.
func (s *Store) KeepRejected(ctx context.Context, by dlq.Actor, source string, body []byte, problem string) error {
	kept := body
	if len(kept) > dlq.MaxEnvelope {
		kept = kept[:dlq.MaxEnvelope]
	}
	packed := s.codec.pack(kept)
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`insert into rejected (source, received_at, actor, body, body_bytes, problem) values ($1, $2, $3, $4, $5, $6)`, storable(source), ms(tx.now), by.Name, packed, len(body), problem)
		if err != nil {
			return fmt.Errorf("keep a rejected envelope: %w", err)
		}
		return nil
	})
}

// Rejected lists the rejected envelopes of a source, newest first; of no source
// where the name is empty.
func (s *Store) Rejected(ctx context.Context, source string, limit int) ([]dlq.RejectedEnvelope, error) {
	var out []dlq.RejectedEnvelope
	err := each(ctx, s.reader(), `select id, source, received_at, actor, body, body_bytes, problem from rejected where source = $1 order by id desc limit $2`, []any{source, limit}, func(rows *sql.Rows) error {
		var r dlq.RejectedEnvelope
		var at int64
		var body []byte
		if err := rows.Scan(&r.ID, &r.Source, &at, &r.Actor, &body, &r.Bytes, &r.Problem); err != nil {
			return err
		}
		r.ReceivedAt = fromMS(at)
		var err error
		r.Body, err = s.codec.unpack(body)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read rejected envelopes: %w", err)
	}
	return out, nil
}

// CountRejected counts the rejected envelopes of a source.
func (s *Store) CountRejected(ctx context.Context, source string) (int64, error) {
	var n int64
	_, err := s.one(ctx, `select count(*) from rejected where source = $1`, []any{source}, &n)
	return n, err
}
