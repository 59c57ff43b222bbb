package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"dlo/dlq"

	"modernc.org/sqlite"
)

// Update runs fn in the next commit, taken back alone if it fails.
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error { return s.update(ctx, fn) }

// Record runs fn in the next commit. If it fails, its neighbours are tried anew.
func (s *Store) Record(ctx context.Context, fn func(*Tx) error) error { return s.record(ctx, fn) }

// Exec runs a statement within a job.
func (t *Tx) Exec(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// TouchSource makes the job find, or add, a source, and remember it.
func (t *Tx) TouchSource(name string) error {
	_, err := t.sourceForArrival(name)
	return err
}

// TouchVersions makes the job find, or intern, a set of versions.
func (t *Tx) TouchVersions(v map[string]string) error {
	_, err := t.versionSet(v)
	return err
}

// CountNothing adds to a counter of the job what no row stands for.
func (t *Tx) CountNothing(cohort string) { t.job.cohort(cohort).arrivals++ }

// WeighTransient is what a verdict does to the alert of its cohort.
func (t *Tx) WeighTransient(cohort string) error { return t.weighTransient(cohort) }

// Queued is how many jobs wait for the writer.
func (s *Store) Queued() int { return len(s.writer.jobs) }

// Stopping says whether the writer takes no more.
func (s *Store) Stopping() bool {
	select {
	case <-s.writer.quit:
		return true
	default:
		return false
	}
}

// Unseal opens what was sealed for a subject.
func (s *Store) Unseal(sealed []byte, subject string) (string, error) {
	return s.unseal(sealed, subject)
}

// asked is one query with its arguments.
type asked struct {
	query string
	args  []any
}

// Plans runs do, and gives the plan of every query that it made: those of the
// readers, and the statements of the writer.
func (s *Store) Plans(do func() error) (map[string][]string, error) {
	spy := &spyConnector{dsn: dsn(s.path, "FULL", "_query_only=1")}
	pool := sql.OpenDB(spy)
	defer pool.Close()
	was := s.read
	s.read = pool
	err := do()
	s.read = was
	if err != nil {
		return nil, err
	}
	queries := spy.queries
	if err := s.update(context.Background(), func(tx *Tx) error {
		for text := range tx.w.stmts {
			queries = append(queries, asked{text, make([]any, parameters(text))})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	plans := map[string][]string{}
	for _, q := range queries {
		if !explainable.MatchString(q.query) {
			continue
		}
		rows, err := was.Query("explain query plan "+q.query, q.args...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.query, err)
		}
		var lines []string
		for rows.Next() {
			var id, parent, unused int
			var line string
			if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			lines = append(lines, line)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
		plans[q.query] = lines
	}
	return plans, nil
}

var (
	explainable = regexp.MustCompile(`^\s*(select|insert|update|delete|with)\b`)
	numbered    = regexp.MustCompile(`\$(\d+)`)
)

func parameters(query string) int {
	most := strings.Count(query, "?")
	for _, m := range numbered.FindAllStringSubmatch(query, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	return most
}

// spyConnector opens connections that note what they are asked.
type spyConnector struct {
	dsn     string
	mu      sync.Mutex
	queries []asked
}

func (c *spyConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return spyConn{conn, c}, nil
}

func (c *spyConnector) Driver() driver.Driver { return &sqlite.Driver{} }

type spyConn struct {
	driver.Conn
	to *spyConnector
}

func (c spyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	q := asked{query: query}
	for _, a := range args {
		q.args = append(q.args, a.Value)
	}
	c.to.mu.Lock()
	c.to.queries = append(c.to.queries, q)
	c.to.mu.Unlock()
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// Text asks for one text within a job.
func (t *Tx) Text(query string) (string, error) {
	var text string
	_, err := t.row(query, nil, &text)
	return text, err
}

// ReaderText asks a reader for one text.
func (s *Store) ReaderText(query string) (string, error) {
	var text string
	_, err := s.one(context.Background(), query, nil, &text)
	return text, err
}

// Chain is the hash of an audit row after the one before it.
func Chain(r dlq.AuditRow, previous string) string { return chain(r, previous) }

// FillUp leaves the database hardly any room, as a full disk does.
func (s *Store) FillUp(ctx context.Context) error {
	var pages int
	if err := s.writer.conn.QueryRowContext(ctx, "pragma page_count").Scan(&pages); err != nil {
		return err
	}
	_, err := s.writer.conn.ExecContext(ctx, fmt.Sprintf("pragma max_page_count = %d", pages+2))
	return err
}

// MoveEntry moves a document's evidence to another fingerprint, as a split does.
func (s *Store) MoveEntry(t interface {
	Helper()
	Fatal(...any)
}, dlqID, fingerprint string) {
	t.Helper()
	err := s.update(context.Background(), func(tx *Tx) error {
		e, _, err := tx.entryByDLQID(dlqID)
		if err != nil {
			return err
		}
		algorithm, digest, _ := strings.Cut(fingerprint, ":")
		to, _, err := tx.member(algorithm, digest)
		if err != nil {
			return err
		}
		from, err := tx.memberByID(e.fingerprintID)
		if err == nil {
			_, err = tx.moveAttempt(dlq.RegroupAttempt{ID: e.evidenceID, EntryID: e.id}, from, to)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// IndexTextWhile reads what the text index has not read, and calls between the
// reading and the writing.
func (s *Store) IndexTextWhile(ctx context.Context, between func()) error {
	u, err := s.unread(ctx, 100, 0)
	if err != nil {
		return err
	}
	between()
	return s.update(ctx, func(tx *Tx) error { return tx.indexText(&u) })
}

// ReadsWhole says whether a step of a plan reads a whole table that grows.
func ReadsWhole(line string) bool { return readsWhole(line) }

// MayReadAll says whether a question may.
func MayReadAll(query string) bool { return few.MatchString(query) }
