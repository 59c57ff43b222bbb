package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"dlo/dlq"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"modernc.org/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options say how a store is opened. The zero value of each but Path is fine.
type Options struct {
	Path      string           // of the SQLite file
	Key       []byte           // 32 bytes that seal secrets; nil: secrets are refused
	Clock     func() time.Time // time.Now by default
	Queue     int              // jobs that may wait for the writer; 4096 by default
	NoMigrate bool             // refuse an older schema in place of migrating it
	// Synchronous is FULL by default. Anything else is for measurements alone:
	// an acknowledged record could then be lost in a power cut.
	Synchronous string
	// BatchMost is how many jobs one commit takes at most; 1024 by default.
	BatchMost int
	// Asked is told every question to the readers, before it is asked. Tests hold
	// the plans of what screens ask to account; nil: nobody is told.
	Asked func(query string, args []any)
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	path   string
	read   *sql.DB
	write  *sql.DB
	writer *writer
	clock  func() time.Time
	key    []byte
	codec  codec
	asked  func(query string, args []any)
}

// ErrNewerSchema says that a newer version of the program has written here.
var ErrNewerSchema = errors.New("the database has a newer schema than this version of dlo knows; run the newer version, or restore a backup made by this one")

// Open opens the database at the path, and creates or migrates it. Only one
// process serves from a data folder, but the subcommands of dlo may have the
// same file open beside it.
func Open(ctx context.Context, o Options) (*Store, error) {
	sqlite.StrictPragmas(true)
	if err := ownFile(o.Path); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	write, err := sql.Open("sqlite", dsn(o.Path, o.Synchronous, "_txlock=immediate&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(4000)&_pragma=temp_store(2)"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(o.Path), err)
	}
	write.SetMaxOpenConns(1)
	if err := migrate(ctx, write, o.NoMigrate); err != nil {
		write.Close()
		return nil, err
	}
	readers := max(4, 2*runtime.NumCPU())
	read, err := sql.Open("sqlite", dsn(o.Path, o.Synchronous, "_query_only=1&_pragma=cache_size(-16384)&_pragma=temp_store(2)"))
	if err != nil {
		write.Close()
		return nil, fmt.Errorf("open %s: %w", filepath.Base(o.Path), err)
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	s := &Store{path: o.Path, read: read, write: write, clock: o.Clock, key: o.Key, asked: o.Asked}
	if s.codec, err = newCodec(); err != nil {
		return nil, errors.Join(err, s.closeHandles())
	}
	if s.writer, err = startWriter(ctx, s, o); err != nil {
		return nil, errors.Join(err, s.closeHandles())
	}
	return s, nil
}

// ownFile makes the file of a new database readable by its owner alone. SQLite
// gives the files beside it the same mode. One that is there is not opened:
// closing it would drop the locks that this process may hold on it.
func ownFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the database: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return f.Close()
}

// dsn gives every pragma in the name, because a pragma executed on a pool
// reaches one of its connections only.
func dsn(path, synchronous, more string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	u := url.URL{Scheme: "file", Path: abs}
	return u.String() + "?_busy_timeout=5000&_journal_mode=WAL&_synchronous=" + synchronous +
		"&_foreign_keys=1&_dqs=0&_defensive=1&_pragma=trusted_schema(0)&_pragma=secure_delete(1)&_pragma=journal_size_limit(67108864)&" + more
}

func migrate(ctx context.Context, db *sql.DB, no bool) error {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(database.DialectSQLite3, db, folder, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	switch {
	case have > newest:
		return ErrNewerSchema
	case have == newest:
		return nil
	case no && have > 0:
		return fmt.Errorf("the database has schema %d and this version of dlo needs %d; run dlo migrate", have, newest)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("bring the database to the current schema: %w", err)
	}
	return nil
}

// Close waits for the writer to finish what it holds, checkpoints, and closes.
func (s *Store) Close() error {
	s.writer.stop()
	return s.closeHandles()
}

func (s *Store) closeHandles() error { return errors.Join(s.read.Close(), s.write.Close()) }

// BeforeCommit sets what is called before each commit, on the writer: when it is
// called, everything is written and nothing is there yet. It is for tests that end
// a process at that moment, and must be set before others use the store.
func (s *Store) BeforeCommit(f func()) { s.writer.beforeCommit = f }

// Ping answers whether the database can be read and the writer takes work.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.read.QueryRowContext(ctx, "select 1").Scan(&one); err != nil {
		return dlq.Errorf(dlq.KindUnavailable, "the database does not answer").Because(err)
	}
	return s.update(ctx, func(tx *Tx) error { return nil })
}

// Now is the store's clock, in UTC and whole milliseconds, as rows have it.
func (s *Store) Now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// SQLiteVersion is the version of the SQLite that is compiled in.
func SQLiteVersion() string {
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return "unknown"
	}
	defer db.Close()
	var v string
	if db.QueryRow("select sqlite_version()").Scan(&v) != nil {
		return "unknown"
	}
	return v
}

// Size is how many bytes the database and its write-ahead log take on disk.
func (s *Store) Size() (database, wal int64) {
	if st, err := os.Stat(s.path); err == nil {
		database = st.Size()
	}
	if st, err := os.Stat(s.path + "-wal"); err == nil {
		wal = st.Size()
	}
	return database, wal
}

func placeholders(n int) string {
	return strings.TrimSuffix(strings.Repeat("?,", n), ",")
}
