package pipeline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"dlo/dlq"
	"dlo/dlq/client"
)

// schema is the pipeline's own memory. committed is what makes a redrive safe to
// repeat: its key is unique, and the effect of a commit (a posting) is written in
// the same transaction. posting itself has no unique key, so that a double commit
// would show.
const schema = `
create table if not exists document (
	source         text not null,
	doc_id         text not null,
	state          text not null check (state in ('committed', 'failed', 'in review')),
	ingest_seq     integer not null,
	source_version text not null,
	content_hash   text not null,
	parser_version text not null,
	error_type     text not null default '',
	error_message  text not null default '',
	parked         integer not null default 0,
	updated_at     integer not null,
	primary key (source, doc_id)
) strict, without rowid;
create table if not exists committed (
	content_hash   text primary key,
	source         text not null,
	doc_id         text not null,
	ingest_seq     integer not null,
	parser_version text not null,
	fields         text not null,
	committed_at   integer not null
) strict, without rowid;
create table if not exists posting (
	id           integer primary key,
	content_hash text not null,
	source       text not null,
	doc_id       text not null,
	chunks       integer not null
) strict;
create table if not exists message (
	id            integer primary key autoincrement, -- never used again: a worker that comes late must not hit another
	redrive_id    text unique, -- null: found by a sync
	source        text not null,
	doc_id        text not null,
	body          text not null,
	seq           integer not null default 0,
	next_at       integer not null, -- not delivered before; of a delivery, when it times out
	receive_count integer not null default 0,
	given_back    integer not null default 0, -- deliveries, as client.Tries has it
	untried       integer not null default 0,
	taken         integer not null default 0,
	done_at       integer -- of a redrive; a sync that is done has no row
) strict;
create index if not exists message_waiting on message (next_at, id) where done_at is null;
create unique index if not exists message_sync on message (source, doc_id) where redrive_id is null;
drop table if exists redrive; -- of an earlier version; the server sends again what it held
create table if not exists outcome (
	id          integer primary key,
	redrive_id  text unique,
	body        text not null,
	reported_at integer,
	refused     text not null default ''
) strict;
create index if not exists outcome_unreported on outcome (id) where reported_at is null;
create table if not exists setting (name text primary key, value text not null) strict, without rowid;
`

// store is the pipeline's database. One connection serves all: the pipeline is
// small, and nothing then waits for a lock.
type store struct{ db *sql.DB }

// openStore opens the database, and delivers at once what a run that died had
// taken: nobody answers for it any more.
func openStore(ctx context.Context, path string) (*store, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open the pipeline's database: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema+`update message set taken = 0, next_at = 0 where taken = 1 and done_at is null;`); err != nil {
		return nil, fmt.Errorf("open the pipeline's database: %w", errors.Join(err, db.Close()))
	}
	return &store{db}, nil
}

func (s *store) Close() error { return s.db.Close() }

// nextSeq is the statement that draws the next position in the order of arrivals.
const nextSeq = `
	insert into setting (name, value) values ('ingest_seq', '1')
	on conflict (name) do update set value = cast(value as integer) + 1
	returning cast(value as integer)`

// nextSeq draws a position for what is read anew.
func (s *store) nextSeq(ctx context.Context) (int64, error) {
	var n int64
	err := s.db.QueryRowContext(ctx, nextSeq).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("draw an ingest sequence number: %w", err)
	}
	return n, nil
}

// setting gives a stored word, or otherwise if there is none.
func (s *store) setting(ctx context.Context, name, otherwise string) (string, error) {
	var value string
	err := s.db.QueryRowContext(ctx, `select value from setting where name = $1`, name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return otherwise, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the setting %s: %w", name, err)
	}
	return value, nil
}

func (s *store) setSetting(ctx context.Context, name, value string) error {
	_, err := s.db.ExecContext(ctx, `
		insert into setting (name, value) values ($1, $2)
		on conflict (name) do update set value = excluded.value`, name, value)
	if err != nil {
		return fmt.Errorf("store the setting %s: %w", name, err)
	}
	return nil
}

// documentState is what the pipeline last knew of a document.
type documentState struct {
	Source        string    `json:"source"`
	DocID         string    `json:"doc_id"`
	State         string    `json:"state"` // committed, failed, in review
	IngestSeq     int64     `json:"ingest_seq"`
	SourceVersion string    `json:"source_version"`
	ContentHash   string    `json:"content_hash"`
	ParserVersion string    `json:"parser_version"`
	ErrorType     string    `json:"error_type,omitempty"`
	ErrorMessage  string    `json:"error_message,omitempty"`
	Parked        bool      `json:"parked"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// The states of a document.
const (
	stateCommitted = "committed"
	stateFailed    = "failed"
	stateInReview  = "in review"
)

const documentColumns = `source, doc_id, state, ingest_seq, source_version, content_hash, parser_version, error_type, error_message, parked, updated_at`

func scanDocument(row interface{ Scan(...any) error }) (documentState, error) {
	var d documentState
	var at int64
	err := row.Scan(&d.Source, &d.DocID, &d.State, &d.IngestSeq, &d.SourceVersion, &d.ContentHash, &d.ParserVersion, &d.ErrorType, &d.ErrorMessage, &d.Parked, &at)
	d.UpdatedAt = time.UnixMilli(at).UTC()
	return d, err
}

// document gives a document's state; false if it was never tried.
func (s *store) document(ctx context.Context, source, id string) (documentState, bool, error) {
	d, err := scanDocument(s.db.QueryRowContext(ctx, `select `+documentColumns+` from document where source = $1 and doc_id = $2`, source, id))
	if errors.Is(err, sql.ErrNoRows) {
		return documentState{}, false, nil
	}
	if err != nil {
		return documentState{}, false, fmt.Errorf("read the state of %s/%s: %w", source, id, err)
	}
	return d, true, nil
}

// documents lists the state of every document that was tried.
func (s *store) documents(ctx context.Context) ([]documentState, error) {
	rows, err := s.db.QueryContext(ctx, `select `+documentColumns+` from document order by source, doc_id`)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	defer rows.Close()
	var out []documentState
	for rows.Next() {
		d, err := scanDocument(rows)
		if err != nil {
			return nil, fmt.Errorf("list documents: %w", err)
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// settlement is what an attempt leaves behind, written in one transaction: the
// commit or the failure, the outcome to report, and the end of the message.
type settlement struct {
	state     documentState
	record    *record // nil unless it is to be committed
	chunks    int
	message   int64           // that is done with it
	redriveID string          // "" for an ordinary attempt
	outcome   *client.Outcome // nil if there is nothing to report; its Result is decided here
	silent    bool            // the outcome is kept, and not reported by itself
}

// settle writes a settlement and gives the result: committed, skipped where the
// key was committed before, superseded where a later version of the document is
// committed, or failed. However often and however concurrently the same bytes
// are settled, one of them is committed.
func (s *store) settle(ctx context.Context, st settlement) (dlq.OutcomeResult, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("settle %s/%s: %w", st.state.Source, st.state.DocID, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	result, err := st.write(ctx, tx)
	if err == nil {
		err = st.writeOutcome(ctx, tx, result)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return "", fmt.Errorf("settle %s/%s: %w", st.state.Source, st.state.DocID, err)
	}
	return result, nil
}

func (st settlement) write(ctx context.Context, tx *sql.Tx) (dlq.OutcomeResult, error) {
	d := st.state
	var same, later int
	err := tx.QueryRowContext(ctx, `
		select (select count(*) from committed where content_hash = $3),
		       (select count(*) from document
		        where source = $1 and doc_id = $2 and state = 'committed' and content_hash <> $3 and ingest_seq > $4)`,
		d.Source, d.DocID, d.ContentHash, d.IngestSeq).Scan(&same, &later)
	if err != nil {
		return "", err
	}
	if later > 0 {
		return dlq.OutcomeSuperseded, nil
	}
	if same > 0 { // whatever a parser says of these bytes today
		d.State, d.ErrorType, d.ErrorMessage, d.Parked = stateCommitted, "", "", false
		return dlq.OutcomeSkipped, upsertDocument(ctx, tx, d)
	}
	if st.record == nil {
		return dlq.OutcomeFailed, upsertDocument(ctx, tx, d)
	}
	fields, err := json.Marshal(st.record.Fields)
	if err != nil {
		return "", err
	}
	// The key is unique: should two transactions ever pass the question above, the
	// second ends here, and is tried again.
	if _, err := tx.ExecContext(ctx, `
		insert into committed (content_hash, source, doc_id, ingest_seq, parser_version, fields, committed_at)
		values ($1, $2, $3, $4, $5, $6, $7)`,
		d.ContentHash, d.Source, d.DocID, d.IngestSeq, d.ParserVersion, string(fields), d.UpdatedAt.UnixMilli()); err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, `insert into posting (content_hash, source, doc_id, chunks) values ($1, $2, $3, $4)`,
		d.ContentHash, d.Source, d.DocID, st.chunks); err != nil {
		return "", err
	}
	return dlq.OutcomeCommitted, upsertDocument(ctx, tx, d)
}

func upsertDocument(ctx context.Context, tx *sql.Tx, d documentState) error {
	_, err := tx.ExecContext(ctx, `
		insert into document (`+documentColumns+`)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		on conflict (source, doc_id) do update set
			state = excluded.state, ingest_seq = max(excluded.ingest_seq, ingest_seq), source_version = excluded.source_version,
			content_hash = excluded.content_hash, parser_version = excluded.parser_version, error_type = excluded.error_type,
			error_message = excluded.error_message, parked = excluded.parked, updated_at = excluded.updated_at`,
		d.Source, d.DocID, d.State, d.IngestSeq, d.SourceVersion, d.ContentHash, d.ParserVersion, d.ErrorType, d.ErrorMessage, d.Parked, d.UpdatedAt.UnixMilli())
	return err
}

func (st settlement) writeOutcome(ctx context.Context, tx *sql.Tx, result dlq.OutcomeResult) error {
	if _, err := tx.ExecContext(ctx, `delete from message where id = $1 and redrive_id is null`, st.message); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `update message set done_at = $1, taken = 0 where id = $2`, st.state.UpdatedAt.UnixMilli(), st.message); err != nil {
		return err
	}
	if st.outcome == nil {
		return nil
	}
	st.outcome.Result = result
	if result != dlq.OutcomeFailed { // the bytes failed, and that was not what decided
		o := st.outcome
		o.Stage, o.Reason, o.ErrorClass, o.ErrorType, o.ErrorMessage, o.StackTrace, o.ValidationOutput, o.Confidence = "", "", "", "", "", "", nil, nil
	}
	body, err := json.Marshal(st.outcome)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		insert into outcome (redrive_id, body, reported_at) values (nullif($1, ''), $2, case when $3 then 0 end)
		on conflict (redrive_id) do nothing`, st.redriveID, string(body), st.silent)
	return err
}

// erase lets go of everything that the pipeline holds of a document. The source
// keeps its file: it is not the pipeline's.
func (s *store) erase(ctx context.Context, source, id string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("erase %s/%s: %w", source, id, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, statement := range []string{
		`delete from posting where source = $1 and doc_id = $2`,
		`delete from committed where source = $1 and doc_id = $2`,
		`delete from document where source = $1 and doc_id = $2`,
		`delete from message where done_at is null and source = $1 and doc_id = $2`,
	} {
		if _, err := tx.ExecContext(ctx, statement, source, id); err != nil {
			return fmt.Errorf("erase %s/%s: %w", source, id, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("erase %s/%s: %w", source, id, err)
	}
	return nil
}

// commitRow is a key that is committed, and how often its effect was posted.
type commitRow struct {
	ContentHash   string    `json:"content_hash"`
	Source        string    `json:"source"`
	DocID         string    `json:"doc_id"`
	IngestSeq     int64     `json:"ingest_seq"`
	ParserVersion string    `json:"parser_version"`
	CommittedAt   time.Time `json:"committed_at"`
	Count         int       `json:"count"` // 1, unless the pipeline's promise is broken
}

// commits lists every posted key with its count.
func (s *store) commits(ctx context.Context) ([]commitRow, error) {
	rows, err := s.db.QueryContext(ctx, `
		select p.content_hash, p.source, p.doc_id, c.ingest_seq, c.parser_version, c.committed_at, count(*)
		from posting p join committed c on c.content_hash = p.content_hash
		group by p.content_hash
		order by p.source, p.doc_id, p.content_hash`)
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	defer rows.Close()
	out := []commitRow{}
	for rows.Next() {
		var c commitRow
		var at int64
		if err := rows.Scan(&c.ContentHash, &c.Source, &c.DocID, &c.IngestSeq, &c.ParserVersion, &at, &c.Count); err != nil {
			return nil, fmt.Errorf("list commits: %w", err)
		}
		c.CommittedAt = time.UnixMilli(at).UTC()
		out = append(out, c)
	}
	return out, rows.Err()
}
