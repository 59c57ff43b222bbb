package pipeline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dlo/dlq/client"
)

// enqueue takes a redrive durably. A delivery that came before changes nothing,
// but an outcome that was reported is reported again: the second delivery says
// that the server may not have it.
func (s *store) enqueue(ctx context.Context, redriveID string, body []byte, now time.Time) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("queue redrive %s: %w", redriveID, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	_, err = tx.ExecContext(ctx, `
		insert into redrive (redrive_id, body, received_at, next_at) values ($1, $2, $3, $3)
		on conflict (redrive_id) do nothing`, redriveID, string(body), now.UnixMilli())
	if err == nil {
		_, err = tx.ExecContext(ctx, `update outcome set reported_at = null where redrive_id = $1 and refused = ''`, redriveID)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("queue redrive %s: %w", redriveID, err)
	}
	return nil
}

// queued is a redrive that a worker took.
type queued struct {
	redrive client.Redrive
	tries   int // before this one
}

// take claims the redrive that has waited longest; false if none is due.
func (s *store) take(ctx context.Context, now time.Time) (queued, bool, error) {
	var q queued
	var body string
	err := s.db.QueryRowContext(ctx, `
		update redrive set taken = 1, tries = tries + 1
		where redrive_id = (
			select redrive_id from redrive
			where done_at is null and taken = 0 and next_at <= $1
			order by next_at, redrive_id
			limit 1)
		returning body, tries - 1`, now.UnixMilli()).Scan(&body, &q.tries)
	if errors.Is(err, sql.ErrNoRows) {
		return queued{}, false, nil
	}
	if err != nil {
		return queued{}, false, fmt.Errorf("take a redrive from the queue: %w", err)
	}
	if err := json.Unmarshal([]byte(body), &q.redrive); err != nil {
		return queued{}, false, fmt.Errorf("read a redrive from the queue: %w", err)
	}
	return q, true, nil
}

// putBack returns a redrive to the queue until later.
func (s *store) putBack(ctx context.Context, redriveID string, later time.Time) error {
	_, err := s.db.ExecContext(ctx, `update redrive set taken = 0, next_at = $1 where redrive_id = $2 and done_at is null`, later.UnixMilli(), redriveID)
	if err != nil {
		return fmt.Errorf("put redrive %s back: %w", redriveID, err)
	}
	return nil
}

// unreported is an outcome that the server has not taken yet.
type unreported struct {
	id      int64
	outcome client.Outcome
}

// unreportedOutcomes lists outcomes to report, oldest first, at most limit.
func (s *store) unreportedOutcomes(ctx context.Context, limit int) ([]unreported, error) {
	rows, err := s.db.QueryContext(ctx, `select id, body from outcome where reported_at is null order by id limit $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list outcomes to report: %w", err)
	}
	defer rows.Close()
	var out []unreported
	for rows.Next() {
		var u unreported
		var body string
		if err := rows.Scan(&u.id, &body); err != nil {
			return nil, fmt.Errorf("list outcomes to report: %w", err)
		}
		if err := json.Unmarshal([]byte(body), &u.outcome); err != nil {
			return nil, fmt.Errorf("read outcome %d: %w", u.id, err)
		}
		out = append(out, u)
	}
	return out, rows.Err()
}

// reported notes that the server took an outcome or, with a reason, that it
// never will.
func (s *store) reported(ctx context.Context, id int64, refused string, now time.Time) error {
	_, err := s.db.ExecContext(ctx, `update outcome set reported_at = $1, refused = $2 where id = $3`, now.UnixMilli(), refused, id)
	if err != nil {
		return fmt.Errorf("note outcome %d as reported: %w", id, err)
	}
	return nil
}

// queueCounts are the numbers of the status page.
type queueCounts struct {
	Waiting    int `json:"waiting"`    // redrives that were taken and not processed
	Done       int `json:"done"`       // redrives that were processed
	Unreported int `json:"unreported"` // outcomes that the server has not taken
	Refused    int `json:"refused"`    // outcomes that the server will not take
}

func (s *store) queueCounts(ctx context.Context) (queueCounts, error) {
	var c queueCounts
	err := s.db.QueryRowContext(ctx, `
		select (select count(*) from redrive where done_at is null),
		       (select count(*) from redrive where done_at is not null),
		       (select count(*) from outcome where reported_at is null),
		       (select count(*) from outcome where refused <> '')`).Scan(&c.Waiting, &c.Done, &c.Unreported, &c.Refused)
	if err != nil {
		return queueCounts{}, fmt.Errorf("count the queue: %w", err)
	}
	return c, nil
}
