package db_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/db"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// hold keeps the writer busy until the answer is called, which waits for it.
func hold(t testing.TB, s *dbtest.DB) (release func()) {
	t.Helper()
	held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Update(background, func(*db.Tx) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return func() {
		t.Helper()
		close(free)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// together runs the jobs in one commit, in their order, and gives their errors.
func together(t testing.TB, s *dbtest.DB, jobs ...func() error) []error {
	t.Helper()
	release := hold(t, s)
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, job := range jobs {
		wg.Go(func() { errs[i] = job() })
		for s.Queued() <= i {
			runtime.Gosched()
		}
	}
	release()
	wg.Wait()
	return errs
}

func parking(s *dbtest.DB, into *dlq.Receipt, options ...func(*dlq.Arrival)) func() error {
	return func() error {
		r, err := s.RecordArrival(background, dlqtest.Arrival(options...))
		*into = r
		return err
	}
}

func TestConcurrentProducersEachGetTheirOwnReceiptAfterItsCommit(t *testing.T) {
	s := dbtest.Open(t)
	other := s.Beside(t)
	var wg sync.WaitGroup
	for p := range 16 {
		wg.Go(func() {
			for n := range 20 {
				doc := fmt.Sprintf("%d-%d", p, n%15) // some fail twice
				r, err := s.RecordArrival(background, dlqtest.Arrival(dlqtest.Doc(doc), dlqtest.Defect(fmt.Sprintf("E%d", n%3)), dlqtest.Seen(dlqtest.Now.Add(time.Duration(n)*time.Second))))
				if err != nil || r.DocID != doc || r.Created != (n < 15) {
					t.Errorf("%s: %+v, %v", doc, r, err)
					return
				}
				e, err := other.Store.Entry(background, dlqtest.Admin, r.DLQID)
				if err != nil || e.DocID != doc || e.Arrivals != r.Arrivals {
					t.Errorf("%s: another process reads %+v, %v", doc, e, err)
				}
			}
		})
	}
	wg.Wait()
	if n := s.Int(t, `select count(*) from attempt`); n != 320 {
		t.Errorf("%d attempts, want 320", n)
	}
	s.MustHold(t)
}

func TestAFailingChangeTakesNothingElseWithIt(t *testing.T) {
	s := dbtest.Open(t)
	own := errors.New("a fault of its own")
	var a, b dlq.Receipt
	errs := together(t, s,
		parking(s, &a, dlqtest.Doc("a")),
		func() error {
			return s.Update(background, func(tx *db.Tx) error {
				if err := tx.TouchSource("ghost"); err != nil {
					return err
				}
				if err := tx.TouchVersions(map[string]string{"parser": "shared"}); err != nil {
					return err
				}
				tx.CountNothing(strings.Repeat("0", 26))
				return own
			})
		},
		parking(s, &b, dlqtest.Doc("b"), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = "shared" })),
	)
	if errs[0] != nil || !errors.Is(errs[1], own) || errs[2] != nil {
		t.Fatalf("answered with %v", errs)
	}
	for _, r := range []dlq.Receipt{a, b} {
		if e := s.Entry(t, r.DLQID); e.Arrivals != 1 {
			t.Errorf("%s arrived %d times", e.DocID, e.Arrivals)
		}
	}
	if _, err := s.Source(background, "ghost"); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("the source of the failed change is there: %v", err)
	}
	if v := s.Entry(t, b.DLQID).Versions; v["parser"] != "shared" {
		t.Errorf("the versions are %v", v)
	}
	s.MustHold(t)
}

func TestASourceThatWasTakenBackIsNotRemembered(t *testing.T) {
	s := dbtest.Open(t)
	var leases, ghost dlq.Receipt
	errs := together(t, s,
		func() error {
			return s.Update(background, func(tx *db.Tx) error {
				if err := tx.TouchSource("ghost"); err != nil {
					return err
				}
				return errors.New("taken back")
			})
		},
		parking(s, &leases, dlqtest.Of("leases", "1")),
		parking(s, &ghost, dlqtest.Of("ghost", "1")),
	)
	if errs[1] != nil || errs[2] != nil {
		t.Fatal(errs)
	}
	for name, r := range map[string]dlq.Receipt{"leases": leases, "ghost": ghost} {
		if e := s.Entry(t, r.DLQID); e.Source != name || !r.Created {
			t.Errorf("the document of %s is one of %s, created %v", name, e.Source, r.Created)
		}
	}
	s.MustHold(t)
}

func TestABatchWhoseCommitFailsIsTriedOneByOne(t *testing.T) {
	for name, bad := range map[string]func(*dbtest.DB) error{
		"the commit itself": func(s *dbtest.DB) error {
			return s.Record(background, func(tx *db.Tx) error {
				if err := tx.Exec(`pragma defer_foreign_keys = 1`); err != nil {
					return err
				}
				return tx.Exec(`insert into session (id_hash, person_id, data, created_at, seen_at) values ('x', 'nobody', '', 0, 0)`)
			})
		},
		"a record that promised not to": func(s *dbtest.DB) error {
			return s.Record(background, func(tx *db.Tx) error { return errors.New("it did") })
		},
		"a panic": func(s *dbtest.DB) error {
			return s.Update(background, func(tx *db.Tx) error { panic("at the disk") })
		},
		"a transaction that is gone": func(s *dbtest.DB) error {
			return s.Update(background, func(tx *db.Tx) error { return errors.Join(tx.Exec(`rollback`), errors.New("gone")) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := dbtest.Open(t)
			var a, b dlq.Receipt
			errs := together(t, s, parking(s, &a, dlqtest.Doc("a")), func() error { return bad(s) }, parking(s, &b, dlqtest.Doc("b"), dlqtest.Defect("OtherError")))
			if errs[0] != nil || errs[1] == nil || errs[2] != nil {
				t.Fatalf("answered with %v", errs)
			}
			for _, r := range []dlq.Receipt{a, b} {
				if e := s.Entry(t, r.DLQID); e.Arrivals != 1 || !r.Created {
					t.Errorf("%s arrived %d times", e.DocID, e.Arrivals)
				}
			}
			if r := s.Park(t, dlqtest.Doc("c")); !r.Created {
				t.Error("the writer does not go on")
			}
			s.MustHold(t)
		})
	}
}

func TestAConnectionThatCannotBeRolledBackIsReplaced(t *testing.T) {
	s := dbtest.Open(t)
	if err := s.Update(background, func(tx *db.Tx) error { return tx.Exec(`create temp table of_this_connection (x)`) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(background, func(tx *db.Tx) error { return errors.Join(tx.Exec(`rollback`), errors.New("broken")) }); err == nil {
		t.Fatal("a change whose transaction is gone was answered as done")
	}
	if err := s.Update(background, func(tx *db.Tx) error { return tx.Exec(`insert into of_this_connection values (1)`) }); err == nil {
		t.Error("the writer goes on with the connection that broke")
	}
	s.Park(t)
	s.MustHold(t)
}

func TestAFullQueueIsRefusedAtOnceAndLosesNothing(t *testing.T) {
	s := dbtest.Open(t, dbtest.Queue(2))
	release := hold(t, s)
	var wg sync.WaitGroup
	var got [2]dlq.Receipt
	for i := range 2 {
		wg.Go(func() {
			if err := parking(s, &got[i], dlqtest.Doc(fmt.Sprint(i)))(); err != nil {
				t.Error(err)
			}
		})
	}
	for s.Queued() < 2 {
		runtime.Gosched()
	}
	_, err := s.RecordArrival(background, dlqtest.Arrival(dlqtest.Doc("refused")))
	var e *dlq.Error
	if !errors.As(err, &e) || e.Kind != dlq.KindUnavailable || e.RetryAfter <= 0 {
		t.Errorf("answered with %v", err)
	}
	release()
	wg.Wait()
	for _, r := range got {
		s.Entry(t, r.DLQID)
	}
	if n := s.Int(t, `select count(*) from entry`); n != 2 {
		t.Errorf("%d entries, want the 2 that were taken", n)
	}
}

func TestClosingFinishesWhatIsQueued(t *testing.T) {
	s := dbtest.Open(t)
	store := s.Store
	release := hold(t, s)
	var wg sync.WaitGroup
	var got [5]dlq.Receipt
	for i := range got {
		wg.Go(func() {
			if err := parking(s, &got[i], dlqtest.Doc(fmt.Sprint(i)))(); err != nil {
				t.Error(err)
			}
		})
	}
	for s.Queued() < len(got) {
		runtime.Gosched()
	}
	reopened := make(chan *dbtest.DB)
	go func() { reopened <- s.Reopen(t) }()
	for !store.Stopping() {
		runtime.Gosched()
	}
	release()
	again := <-reopened
	wg.Wait()
	for _, r := range got {
		again.Entry(t, r.DLQID)
	}
	_, err := store.RecordArrival(background, dlqtest.Arrival())
	if dlq.KindOf(err) != dlq.KindUnavailable {
		t.Errorf("a closed store answers with %v", err)
	}
	again.MustHold(t)
}

func TestWhoGoesAwayBeforeTheirTurnChangesNothing(t *testing.T) {
	s := dbtest.Open(t)
	ctx, cancel := context.WithCancel(background)
	var b dlq.Receipt
	errs := together(t, s,
		func() error {
			_, err := s.RecordArrival(ctx, dlqtest.Arrival(dlqtest.Doc("a")))
			return err
		},
		func() error {
			cancel()
			return parking(s, &b, dlqtest.Doc("b"))()
		})
	if !errors.Is(errs[0], context.Canceled) || errs[1] != nil {
		t.Fatal(errs)
	}
	if n := s.Int(t, `select count(*) from entry`); n != 1 {
		t.Errorf("%d entries, want b alone", n)
	}
}

func TestWhoGoesAwayDuringTheCommitIsAnsweredTruly(t *testing.T) {
	s := dbtest.Open(t)
	ctx, cancel := context.WithCancel(background)
	err := s.Update(ctx, func(tx *db.Tx) error {
		cancel()
		return tx.TouchSource("wiki")
	})
	if err != nil {
		t.Errorf("answered with %v, though it was committed", err)
	}
	if _, err := s.Source(background, "wiki"); err != nil {
		t.Error(err)
	}
}

func TestWhatWasAnsweredOutlivesTheProcess(t *testing.T) {
	s := dbtest.Open(t, dbtest.Durable)
	var got []dlq.Receipt
	for i := range 50 {
		got = append(got, s.Park(t, dlqtest.Doc(fmt.Sprint(i)), dlqtest.Held(fmt.Sprint("bytes ", i))))
	}
	after := s.AfterCrash(t)
	for _, r := range got {
		after.Entry(t, r.DLQID)
	}
	after.MustHold(t)
	if r := after.Park(t, dlqtest.Doc("7"), dlqtest.Seen(dlqtest.Now.Add(time.Hour))); r.Created || r.DLQID != got[7].DLQID {
		t.Errorf("%+v", r)
	}
}

func TestTwoProcessesWriteBesideEachOther(t *testing.T) {
	a := dbtest.Open(t)
	b := a.Beside(t)
	for i := range 20 { // each knows what it interned, and not what the other did
		at := dlqtest.Seen(dlqtest.Now.Add(time.Duration(i) * time.Second))
		version := dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = fmt.Sprint("v", i/2) })
		a.Park(t, dlqtest.Doc(fmt.Sprint("a", i)), dlqtest.Defect(fmt.Sprint("E", i/3)), version, at)
		b.Park(t, dlqtest.Doc(fmt.Sprint("b", i)), dlqtest.Defect(fmt.Sprint("E", i/3)), version, at)
		b.Park(t, dlqtest.Doc(fmt.Sprint("a", i)), dlqtest.Defect(fmt.Sprint("E", i/3)), version, dlqtest.Seen(dlqtest.Now.Add(time.Hour)))
	}
	var wg sync.WaitGroup
	for _, s := range []*dbtest.DB{a, b} {
		for p := range 4 {
			wg.Go(func() {
				for n := range 25 {
					if _, err := s.RecordArrival(background, dlqtest.Arrival(dlqtest.Of(fmt.Sprint("source ", n%4), fmt.Sprint(n)), dlqtest.Defect(fmt.Sprint("F", p)), dlqtest.Seen(dlqtest.Now.Add(time.Duration(n)*time.Second)))); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := a.Int(t, `select count(*) from entry`); n != 40+25 {
		t.Errorf("%d entries, want %d", n, 40+25)
	}
	if n := a.Int(t, `select count(*) from attempt`); n != 60+200 {
		t.Errorf("%d attempts, want %d", n, 60+200)
	}
	a.MustHold(t)
	b.MustHold(t)
}

func TestWhatAnotherProcessChangesIsSeenAtOnce(t *testing.T) {
	a := dbtest.Open(t)
	b := a.Beside(t)
	r := a.Park(t, dlqtest.FirstSeen(dlqtest.Now.Add(-80*day)))
	putPolicy(t, b, dlqtest.Policy("wiki", func(p *dlq.SourcePolicy) { p.Retention.EntryTTL = dlq.Days(10) }))
	second := a.Park(t, dlqtest.Doc("2"))
	if e := a.Entry(t, second.DLQID); !e.ExpiresAt.Equal(dlqtest.Now.Add(10 * day)) {
		t.Errorf("leaves at %v under the policy that another process put", e.ExpiresAt)
	}
	if e := a.Entry(t, r.DLQID); !e.ExpiresAt.Equal(dlqtest.Now.Add(10 * day)) {
		t.Errorf("the first was to leave at %v; a changed time to live holds for new episodes", e.ExpiresAt)
	}
}

func TestConnectionsAreSetUpAsTheyMustBe(t *testing.T) {
	s := dbtest.Open(t, dbtest.Durable)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000", "trusted_schema": "0", "secure_delete": "1", "journal_size_limit": "67108864", "wal_autocheckpoint": "4000", "query_only": "0"} {
		var got string
		if err := s.Update(background, func(tx *db.Tx) (err error) {
			got, err = tx.Text(`pragma ` + pragma)
			return err
		}); err != nil || got != want {
			t.Errorf("the writer's %s is %q, %v; want %q", pragma, got, err, want)
		}
	}
	for pragma, want := range map[string]string{"query_only": "1", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000", "trusted_schema": "0"} {
		if got, err := s.ReaderText(`pragma ` + pragma); err != nil || got != want {
			t.Errorf("a reader's %s is %q, %v; want %q", pragma, got, err, want)
		}
	}
	if _, err := s.ReaderText(`select "a misspelt column"`); err == nil {
		t.Error("a misspelt column is read as text")
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	s := dbtest.Open(t)
	s.Exec(t, `insert into goose_db_version (version_id, is_applied) values (99999, 1)`)
	if err := s.TryReopen(); !errors.Is(err, db.ErrNewerSchema) {
		t.Errorf("opened with %v", err)
	}
}
