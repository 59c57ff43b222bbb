// Package dbtest opens a fresh, real store for a test, with a clock that the
// test moves. Tests reach the database by what it gives and never by a path or
// a driver of their own, so that the same tests can run on another engine. What
// the rows mean is left to db, and making test data to dlqtest.
package dbtest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/dlqtest"

	_ "modernc.org/sqlite"
)

// Clock is a time that a test moves. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the time it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves it on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set moves it to a time, which may lie before.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// DB is a store of one test, with its clock.
type DB struct {
	*db.Store
	Clock   *Clock
	options db.Options
}

// Option changes how the store is opened.
type Option func(*db.Options)

// Queue limits how many jobs may wait for the writer.
func Queue(jobs int) Option { return func(o *db.Options) { o.Queue = jobs } }

// BatchMost limits how many jobs one commit takes.
func BatchMost(jobs int) Option { return func(o *db.Options) { o.BatchMost = jobs } }

// Key seals secrets under another key than the tests' own; nil is none.
func Key(key []byte) Option { return func(o *db.Options) { o.Key = key } }

// Open opens an empty store whose clock shows dlqtest.Now. It is closed when
// the test ends. Nothing is synced to the disk unless Durable asks for it,
// because a test's power never fails.
func Open(t testing.TB, options ...Option) *DB {
	t.Helper()
	clock := &Clock{now: dlqtest.Now}
	o := db.Options{Path: filepath.Join(t.TempDir(), "dlo.db"), Key: []byte("thirty-two bytes to seal secrets"), Clock: clock.Now, Synchronous: "OFF"}
	for _, option := range options {
		option(&o)
	}
	return open(t, o, clock)
}

// Durable syncs each commit, as the server does.
func Durable(o *db.Options) { o.Synchronous = "FULL" }

func open(t testing.TB, o db.Options, clock *Clock) *DB {
	t.Helper()
	store, err := db.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("open a store: %v", err)
	}
	d := &DB{Store: store, Clock: clock, options: o}
	t.Cleanup(d.Close)
	return d
}

// Close closes the store before the test ends. What is closed stays closed.
func (d *DB) Close() {
	if d.Store != nil {
		d.Store.Close()
		d.Store = nil
	}
}

// Reopen closes the store and opens the same database anew.
func (d *DB) Reopen(t testing.TB, options ...Option) *DB {
	t.Helper()
	d.Close()
	return d.Beside(t, options...)
}

// TryReopen closes the store, and says whether the same database can be opened
// anew.
func (d *DB) TryReopen() error {
	d.Close()
	again, err := db.Open(context.Background(), d.options)
	if err != nil {
		return err
	}
	return again.Close()
}

// Beside opens the same database once more, as another process would.
func (d *DB) Beside(t testing.TB, options ...Option) *DB {
	t.Helper()
	o := d.options
	for _, option := range options {
		option(&o)
	}
	return open(t, o, d.Clock)
}

// AfterCrash opens what stands on the disk at this moment, as after the end of
// a process that closed nothing: the files are copied while the store is open.
// Reading them lets go of the locks that this process has on them, which matters
// only while another process has them open.
func (d *DB) AfterCrash(t testing.TB) *DB {
	t.Helper()
	o := d.options
	o.Path = filepath.Join(t.TempDir(), "dlo.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(d.options.Path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.WriteFile(o.Path+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, o, d.Clock)
}

// Damaged closes the store, overwrites a page in the middle of the database as a
// failing disk would, and opens it anew.
func (d *DB) Damaged(t testing.TB) (*DB, error) {
	t.Helper()
	d.Close()
	b, err := os.ReadFile(d.options.Path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	middle := len(b) / page / 2 * page
	for i := range page {
		b[middle+i] = 0xff
	}
	if err := os.WriteFile(d.options.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := db.Open(context.Background(), d.options)
	if err != nil {
		return nil, err
	}
	again := &DB{Store: store, Clock: d.Clock, options: d.options}
	t.Cleanup(again.Close)
	return again, nil
}

// Bytes is everything that the database has on the disk.
func (d *DB) Bytes(t testing.TB) []byte {
	t.Helper()
	var all []byte
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(d.options.Path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// Exec changes the database behind the store's back, as a damaged disk or an
// operator with a shell would.
func (d *DB) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if err := d.TryExec(t, statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// TryExec is Exec for a statement that may be refused.
func (d *DB) TryExec(t testing.TB, statement string, args ...any) error {
	t.Helper()
	raw := d.raw(t)
	defer raw.Close()
	_, err := raw.Exec(statement, args...)
	return err
}

// Int asks the database for one number.
func (d *DB) Int(t testing.TB, query string, args ...any) int64 {
	t.Helper()
	raw := d.raw(t)
	defer raw.Close()
	var n int64
	if err := raw.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Lines asks the database for a list of texts.
func (d *DB) Lines(t testing.TB, query string, args ...any) []string {
	t.Helper()
	raw := d.raw(t)
	defer raw.Close()
	rows, err := raw.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var line sql.NullString
		if err := rows.Scan(&line); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		out = append(out, line.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// raw is a connection that knows nothing of the store's guards.
func (d *DB) raw(t testing.TB) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+d.options.Path+"?_busy_timeout=5000&_pragma=foreign_keys(0)")
	if err != nil {
		t.Fatal(err)
	}
	raw.SetMaxOpenConns(1)
	return raw
}

// Park records an arrival, which must be accepted.
func (d *DB) Park(t testing.TB, options ...func(*dlq.Arrival)) dlq.Receipt {
	t.Helper()
	r, err := d.RecordArrival(context.Background(), dlqtest.Arrival(options...))
	if err != nil {
		t.Fatalf("park: %v", err)
	}
	return r
}

// Entry reads an entry that must be there.
func (d *DB) Entry(t testing.TB, dlqID string) dlq.Entry {
	t.Helper()
	e, err := d.Store.Entry(context.Background(), dlqtest.Admin, dlqID)
	if err != nil {
		t.Fatalf("read entry: %v", err)
	}
	return e
}

// MustHold fails the test for every fault that a check of the database finds.
func (d *DB) MustHold(t testing.TB) {
	t.Helper()
	faults, err := d.Check(context.Background())
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if len(faults) > 0 {
		t.Fatalf("the check finds:\n%s", strings.Join(faults, "\n"))
	}
}
