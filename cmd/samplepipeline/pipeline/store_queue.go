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

// visibility is how long a worker has for one delivery. A message that was not
// answered for by then is delivered again, as is one whose worker died.
const visibility = time.Minute

// message is a unit of work in the queue, as it was delivered: a document that a
// sync found, or a redrive.
type message struct {
	id            int64
	source, docID string
	redrive       *client.Redrive // nil of a sync
	sync          *syncWork       // nil of a redrive
	seq           int64           // of a sync
	receiveCount  int             // this delivery included
	back          client.Returned
}

// syncWork is what the connector knew of a document when it found it.
type syncWork struct {
	ContentHash   string    `json:"content_hash"`
	SourceVersion string    `json:"source_version"`
	Filename      string    `json:"filename"`
	Modified      time.Time `json:"modified"`
	First         time.Time `json:"first"`
	Last          time.Time `json:"last"`
	Attempts      int       `json:"attempts"` // that it failed before; 0: not known, the queue counts
	WasParked     bool      `json:"was_parked"`
}

// enqueueRedrive takes a redrive durably. A delivery that came before changes
// nothing, but an outcome that was reported is reported again: the second delivery
// says that the server may not have it. again is false for a source that reports
// nothing.
//
// A redrive goes on counting where the document stood: its second try was spent
// before it was parked.
func (s *store) enqueueRedrive(ctx context.Context, r client.Redrive, body []byte, again bool, now time.Time) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("queue redrive %s: %w", r.RedriveID, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	_, err = tx.ExecContext(ctx, `
		insert into message (redrive_id, source, doc_id, body, next_at, receive_count, given_back) values ($1, $2, $3, $4, $5, 1, 1)
		on conflict (redrive_id) do nothing`, r.RedriveID, r.Source, r.DocID, string(body), now.UnixMilli())
	if err == nil && again {
		_, err = tx.ExecContext(ctx, `update outcome set reported_at = null where redrive_id = $1 and refused = ''`, r.RedriveID)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return fmt.Errorf("queue redrive %s: %w", r.RedriveID, err)
	}
	return nil
}

// found is a document that a sync puts into the queue.
type found struct {
	source, id string
	work       syncWork
}

// enqueueSyncs puts documents into the queue in their order, and gives the ids of
// their messages. One that waits there already stays as it is.
func (s *store) enqueueSyncs(ctx context.Context, docs []found, now time.Time) ([]int64, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("queue a sync: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	var ids []int64
	for _, doc := range docs {
		id, err := enqueueSync(ctx, tx, doc, now)
		if err != nil {
			return nil, fmt.Errorf("queue %s/%s: %w", doc.source, doc.id, err)
		}
		ids = append(ids, id)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("queue a sync: %w", err)
	}
	return ids, nil
}

func enqueueSync(ctx context.Context, tx *sql.Tx, doc found, now time.Time) (int64, error) {
	var id int64
	err := tx.QueryRowContext(ctx, `select id from message where source = $1 and doc_id = $2 and redrive_id is null`, doc.source, doc.id).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	var seq int64
	if err := tx.QueryRowContext(ctx, nextSeq).Scan(&seq); err != nil {
		return 0, err
	}
	body, err := json.Marshal(doc.work)
	if err != nil {
		return 0, err
	}
	// Attempts that are told of a document's past were deliveries that failed and
	// were given back.
	earlier := max(doc.work.Attempts-1, 0)
	err = tx.QueryRowContext(ctx, `
		insert into message (source, doc_id, body, seq, next_at, receive_count, given_back) values ($1, $2, $3, $4, $5, $6, $6)
		returning id`, doc.source, doc.id, string(body), seq, now.UnixMilli(), earlier).Scan(&id)
	return id, err
}

// take delivers the message that has waited longest; false if none is due. It is
// delivered again after the visibility time-out unless it is settled or given back.
func (s *store) take(ctx context.Context, now time.Time) (message, bool, error) {
	var m message
	var body string
	var redriveID sql.NullString
	err := s.db.QueryRowContext(ctx, `
		update message set taken = 1, receive_count = receive_count + 1, next_at = $2
		where id = (
			select id from message
			where done_at is null and next_at <= $1
			order by next_at, id
			limit 1)
		returning id, redrive_id, source, doc_id, body, seq, receive_count, given_back, untried`,
		now.UnixMilli(), now.Add(visibility).UnixMilli()).
		Scan(&m.id, &redriveID, &m.source, &m.docID, &body, &m.seq, &m.receiveCount, &m.back.Deliveries, &m.back.Untried)
	if errors.Is(err, sql.ErrNoRows) {
		return message{}, false, nil
	}
	if err != nil {
		return message{}, false, fmt.Errorf("take a message from the queue: %w", err)
	}
	if redriveID.Valid {
		err = json.Unmarshal([]byte(body), &m.redrive)
	} else {
		err = json.Unmarshal([]byte(body), &m.sync)
	}
	if err != nil {
		return message{}, false, fmt.Errorf("read a message from the queue: %w", err)
	}
	return m, true, nil
}

// putBack returns a message to the queue until later, with what its deliveries
// that were given back are by now. A delivery that timed out meanwhile, and is
// another worker's, is left alone.
func (s *store) putBack(ctx context.Context, m message, back client.Returned, later time.Time) error {
	_, err := s.db.ExecContext(ctx, `
		update message set taken = 0, next_at = $1, given_back = $2, untried = $3
		where id = $4 and done_at is null and receive_count = $5`, later.UnixMilli(), back.Deliveries, back.Untried, m.id, m.receiveCount)
	if err != nil {
		return fmt.Errorf("put message %d back: %w", m.id, err)
	}
	return nil
}

// drop takes a message out of the queue that has nothing to settle.
func (s *store) drop(ctx context.Context, m message) error {
	if _, err := s.db.ExecContext(ctx, `delete from message where id = $1 and redrive_id is null`, m.id); err != nil {
		return fmt.Errorf("drop message %d: %w", m.id, err)
	}
	return nil
}

// waiting counts those of the syncs that are still in the queue.
func (s *store) waiting(ctx context.Context, ids []int64) (int, error) {
	asked, err := json.Marshal(ids)
	if err != nil {
		return 0, err
	}
	var n int
	err = s.db.QueryRowContext(ctx, `
		select count(*) from json_each($1) asked join message m on m.id = asked.value
		where m.redrive_id is null`, string(asked)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count what waits in the queue: %w", err)
	}
	return n, nil
}

// outcomeOf gives the outcome of a redrive; false while there is none.
func (s *store) outcomeOf(ctx context.Context, redriveID string) (client.Outcome, bool, error) {
	var o client.Outcome
	var body string
	err := s.db.QueryRowContext(ctx, `select body from outcome where redrive_id = $1`, redriveID).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &o)
	}
	if err != nil {
		return o, false, fmt.Errorf("read the outcome of %s: %w", redriveID, err)
	}
	return o, true, nil
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
	Syncs      int `json:"syncs"`      // documents of syncs that are not processed
	Done       int `json:"done"`       // redrives that were processed
	Unreported int `json:"unreported"` // outcomes that the server has not taken
	Refused    int `json:"refused"`    // outcomes that the server will not take
}

func (s *store) queueCounts(ctx context.Context) (queueCounts, error) {
	var c queueCounts
	err := s.db.QueryRowContext(ctx, `
		select (select count(*) from message where redrive_id is not null and done_at is null),
		       (select count(*) from message where redrive_id is null),
		       (select count(*) from message where done_at is not null),
		       (select count(*) from outcome where reported_at is null),
		       (select count(*) from outcome where refused <> '')`).Scan(&c.Waiting, &c.Syncs, &c.Done, &c.Unreported, &c.Refused)
	if err != nil {
		return queueCounts{}, fmt.Errorf("count the queue: %w", err)
	}
	return c, nil
}
