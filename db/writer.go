package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"dlo/dlq"
)

// writer is the one goroutine that changes the database. It takes whatever is
// queued, runs it in one immediate transaction, commits, and only then answers
// each waiter. There is no timer: while one commit waits for the disk, the next
// batch gathers behind it.
type writer struct {
	store *Store
	jobs  chan *job
	quit  chan struct{}
	done  chan struct{}
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	most  int
	ids   internedIDs
	wary  int // so many batches to come run their guarded jobs in savepoints

	beforeCommit func() // nil: nothing
}

// waryBatches is for how many batches savepoints are used after a job failed.
const waryBatches = 16

// errTakenBack says that a guarded job failed without a savepoint of its own.
var errTakenBack = errors.New("a change failed")

// job is one change. Its function may be run twice, if the batch in which it
// was run first had to be rolled back: it must not keep anything of a first
// run. Guarded jobs may fail, and take nothing else with them; the others promise
// to fail only when the database does.
type job struct {
	ctx     context.Context
	fn      func(*Tx) error
	guarded bool
	err     error
	done    chan struct{}
}

func startWriter(ctx context.Context, s *Store, o Options) (*writer, error) {
	if o.Queue == 0 {
		o.Queue = 4096
	}
	if o.BatchMost == 0 {
		o.BatchMost = 1024
	}
	w := &writer{store: s, jobs: make(chan *job, o.Queue), quit: make(chan struct{}), done: make(chan struct{}), most: o.BatchMost}
	w.ids.reset()
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the writer: %w", err)
	}
	w.conn, w.stmts = conn, map[string]*sql.Stmt{}
	go w.run()
	return w, nil
}

// stop lets the writer finish what is queued, and waits for it.
func (w *writer) stop() {
	close(w.quit)
	<-w.done
	for _, st := range w.stmts {
		_ = st.Close() // the connection goes with it
	}
	_ = w.conn.Close()
}

func (w *writer) run() {
	defer close(w.done)
	batch := make([]*job, 0, w.most)
	for {
		batch = batch[:0]
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		case <-w.quit:
			w.drain()
			return
		}
		batch = w.gather(batch)
		w.commit(batch)
	}
}

func (w *writer) gather(batch []*job) []*job {
	for len(batch) < w.most {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

func (w *writer) drain() {
	for {
		batch := w.gather(nil)
		if len(batch) == 0 {
			return
		}
		w.commit(batch)
	}
}

// commit runs a batch in one transaction. Few jobs ever fail, and a savepoint
// costs a copy of every page that a job changes: so they run without, and if one
// fails the batch is taken back and run again with a savepoint around each guarded
// job. If the transaction as a whole fails, each job is tried once more in one of
// its own, so that one bad record cannot refuse its neighbours.
func (w *writer) commit(batch []*job) {
	savepoints := w.wary > 0
	if savepoints {
		w.wary--
	}
	err := w.attempt(batch, savepoints)
	if errors.Is(err, errTakenBack) {
		if len(batch) == 1 {
			err = nil // its own error says why, and there is nothing else to be saved
		} else {
			w.wary = waryBatches
			err = w.attempt(batch, true)
		}
	}
	if err != nil {
		if len(batch) == 1 {
			batch[0].err = err
		} else {
			for _, j := range batch {
				j.err = nil
				if err := w.attempt([]*job{j}, true); err != nil {
					j.err = err
				}
			}
		}
	}
	for _, j := range batch {
		close(j.done)
	}
}

func (w *writer) attempt(batch []*job, savepoints bool) (err error) {
	ctx := context.Background() // a client that goes away must not undo its neighbours
	if _, err := w.conn.ExecContext(ctx, "begin immediate"); err != nil {
		return w.broken(err)
	}
	tx := &Tx{w: w, ctx: ctx, savepoints: savepoints, now: w.store.Now(), batch: newDeltas(), sources: map[string]dlq.Source{}}
	tx.fresh.reset()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a change panicked: %v", p)
		}
		if err != nil {
			w.ids.reset()
			if _, rollbackErr := w.conn.ExecContext(ctx, "rollback"); rollbackErr != nil {
				err = errors.Join(err, w.reopen())
			}
		}
	}()
	for _, j := range batch {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if err := tx.run(j); errors.Is(err, errTakenBack) {
			return err
		} else if err != nil {
			return w.broken(err)
		}
	}
	if err := tx.applyDeltas(); err != nil {
		return w.broken(err)
	}
	if w.beforeCommit != nil {
		w.beforeCommit()
	}
	if _, err := w.conn.ExecContext(ctx, "commit"); err != nil {
		return w.broken(err)
	}
	w.ids.adopt(&tx.fresh)
	return nil
}

// broken turns a failure of the database into a sentence for whoever waits.
func (w *writer) broken(err error) error {
	if isFull(err) {
		return &dlq.Error{Kind: dlq.KindUnavailable, Message: "the disk is full: nothing can be recorded until there is room; what was recorded before can be read", RetryAfter: 30 * time.Second, Cause: err}
	}
	if isBusy(err) {
		return &dlq.Error{Kind: dlq.KindUnavailable, Message: "the database is busy; try again", RetryAfter: time.Second, Cause: err}
	}
	return fmt.Errorf("write to the database: %w", err)
}

// reopen replaces a connection that could not even be rolled back.
func (w *writer) reopen() error {
	for _, st := range w.stmts {
		_ = st.Close() // it belongs to the broken connection
	}
	w.stmts = map[string]*sql.Stmt{}
	// A pool takes a closed connection back as it is, and hands it out again. One
	// that says of itself that it is bad is thrown away.
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = w.conn.Close() // broken; the error that led here is reported
	conn, err := w.store.write.Conn(context.Background())
	if err != nil {
		return fmt.Errorf("reopen the writer: %w", err)
	}
	w.conn = conn
	return nil
}

// submit queues a job and waits for its commit. A full queue is refused at
// once, so that overload is told and not hidden in waiting.
func (s *Store) submit(ctx context.Context, guarded bool, fn func(*Tx) error) error {
	j := &job{ctx: ctx, fn: fn, guarded: guarded, done: make(chan struct{})}
	select {
	case <-s.writer.quit:
		return &dlq.Error{Kind: dlq.KindUnavailable, Message: "the server is stopping; try again in a moment", RetryAfter: 2 * time.Second}
	default:
	}
	select {
	case s.writer.jobs <- j:
	default:
		return &dlq.Error{Kind: dlq.KindUnavailable, Message: "too much is being written at once; try again in a moment", RetryAfter: time.Second}
	}
	select {
	case <-j.done:
	case <-s.writer.done:
		select {
		case <-j.done:
		default:
			return &dlq.Error{Kind: dlq.KindUnavailable, Message: "the server is stopping; try again in a moment", RetryAfter: 2 * time.Second}
		}
	}
	return j.err
}

// update runs fn in the next commit. An error of fn takes back what it wrote, and
// nothing else, and is returned as it is.
func (s *Store) update(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, true, fn)
}

// record runs fn in the next commit. fn may fail only when the database does.
func (s *Store) record(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, false, fn)
}
