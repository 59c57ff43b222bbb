package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"dlo/dlq"
)

// Tx is one job's view of the writer's transaction. It is valid only within
// the job.
type Tx struct {
	w   *writer
	ctx context.Context
	now time.Time

	savepoints bool // around guarded jobs

	batch deltas // of the jobs that succeeded
	job   deltas // of the one that runs
	fresh internedIDs

	sums    flightSums  // of the jobs that succeeded
	jobSums flightSums  // of the one that runs
	lent    *flightSums // of sums, what the job that runs has written: its savepoint may take that back

	lastEntryID int64                 // the newest entry's, once it was asked for
	sources     map[string]dlq.Source // read in this transaction
	remembered  remembered
}

func (t *Tx) run(j *job) error {
	t.job, t.jobSums, t.lent = newDeltas(), flightSums{}, nil
	if !j.guarded {
		if err := j.fn(t); err != nil {
			return err
		}
		t.succeeded()
		return nil
	}
	if !t.savepoints {
		j.err = j.fn(t)
		switch {
		case isFull(j.err) || isBusy(j.err):
			return j.err
		case j.err != nil:
			return errTakenBack
		}
		t.succeeded()
		return nil
	}
	if _, err := t.exec("savepoint job"); err != nil {
		return err
	}
	j.err = j.fn(t)
	if isFull(j.err) || isBusy(j.err) {
		return j.err // the whole transaction is gone with it: the batch is told why
	}
	if j.err != nil {
		if _, err := t.exec("rollback to job"); err != nil {
			return errors.Join(j.err, err)
		}
		t.fresh.reset() // an id that was interned in this job is gone again
		clear(t.sources)
		t.remembered = remembered{}
		if t.lent != nil {
			t.sums = *t.lent
		}
	}
	if _, err := t.exec("release job"); err != nil {
		return err
	}
	if j.err == nil {
		t.succeeded()
	}
	return nil
}

func (t *Tx) succeeded() {
	t.batch.add(t.job)
	t.sums.add(t.jobSums)
}

// remembered is what was read in this transaction and is asked again by the next
// redrive. Whoever changes it forgets it; so does a job that fails.
type remembered struct {
	sourceNames map[int64]string
	running     map[int64]dlq.Running
	steps       map[string]int64
	head        *auditHead
	quiet       map[string]bool // of which no alert stands: by rule and subject
}

type auditHead struct {
	seq  int64
	hash string
}

func (t *Tx) stmt(query string) (*sql.Stmt, error) {
	if st, ok := t.w.stmts[query]; ok {
		return st, nil
	}
	st, err := t.w.conn.PrepareContext(t.ctx, query)
	if err != nil {
		return nil, err
	}
	t.w.stmts[query] = st
	return st, nil
}

func (t *Tx) exec(query string, args ...any) (int64, error) {
	st, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *Tx) query(query string, args ...any) (*sql.Rows, error) {
	st, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(t.ctx, args...)
}

// row reads one row into the destinations, and answers whether there was one.
func (t *Tx) row(query string, args []any, into ...any) (bool, error) {
	st, err := t.stmt(query)
	if err != nil {
		return false, err
	}
	switch err := st.QueryRowContext(t.ctx, args...).Scan(into...); err {
	case nil:
		return true, nil
	case sql.ErrNoRows:
		return false, nil
	default:
		return false, err
	}
}

// reader runs a query: the pool of readers, or a transaction of the writer.
type reader interface {
	rows(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type poolReader struct {
	db    *sql.DB
	asked func(query string, args []any)
}

func (p poolReader) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if p.asked != nil {
		p.asked(query, args)
	}
	return p.db.QueryContext(ctx, query, args...)
}

func (t *Tx) rows(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.query(query, args...)
}

func (s *Store) reader() reader { return poolReader{s.read, s.asked} }

// one reads the first row of a query, and answers whether there was one.
func one(ctx context.Context, r reader, query string, args []any, into ...any) (bool, error) {
	rows, err := r.rows(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(into...); err != nil {
		return false, err
	}
	return true, rows.Close()
}

// each calls scan for every row of a query.
func each(ctx context.Context, r reader, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := r.rows(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func ms(t time.Time) int64 { return t.UnixMilli() }

func msOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// moment reads a time that is always there. The start of the epoch is one: it is
// what a clock that was never set says.
func moment(v int64) time.Time { return time.UnixMilli(v).UTC() }

// fromMS reads a time of which 0 says that there is none.
func fromMS(v int64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMilli(v).UTC()
}

func fromNullMS(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMilli(v.Int64).UTC()
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

const dayMS = 24 * 3600 * 1000

func dayOf(t time.Time) int64 { return t.UnixMilli() / dayMS }

func monthOf(t time.Time) int64 {
	u := t.UTC()
	return int64(u.Year())*12 + int64(u.Month()) - 1
}
