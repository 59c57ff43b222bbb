package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/connectors/payload"
	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/sweep"
)

var reviewer = dlq.Actor{Kind: dlq.ActorPerson, ID: "p1", Name: "reviewer@example.com", Role: dlq.RoleReviewer}

// stand is a store and a payload store, at a time that tests move.
type stand struct {
	t        *testing.T
	ctx      context.Context
	mu       sync.Mutex
	now      time.Time
	store    *db.Store
	payloads payload.Store
	blobs    string
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{t: t, ctx: context.Background(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	dir := t.TempDir()
	var err error
	s.store, err = db.Open(s.ctx, db.Options{Path: filepath.Join(dir, "dlo.db"), Key: make([]byte, 32), Clock: s.clock, Synchronous: "OFF"})
	s.must(err)
	t.Cleanup(func() { s.store.Close() })
	s.blobs = filepath.Join(dir, "blobs")
	s.payloads, err = payload.Open("file:" + s.blobs)
	s.must(err)
	t.Cleanup(func() { s.payloads.Close() })
	policy := dlq.DefaultPolicy("wiki")
	policy.Redrive.URL = "https://pipeline.example.com/redrive"
	_, _, err = s.store.PutSource(s.ctx, reviewer, policy)
	s.must(err)
	return s
}

func (s *stand) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stand) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// park parks a document; with a digest, its bytes are said to be held.
func (s *stand) park(docID, sha256 string) string {
	s.t.Helper()
	now, seq := s.clock(), int64(42)
	e := dlq.Envelope{Source: "wiki", DocID: docID, IngestSeq: &seq, PayloadSHA256: sha256, ErrorType: "ValueError", Reason: "exception", FirstSeenAt: &now, LastSeenAt: &now}
	if sha256 == "" {
		e.ContentHash = fmt.Sprintf("%064x", []byte(docID))
	}
	r, err := s.store.RecordArrival(s.ctx, dlq.Arrival{Envelope: e, ReceivedAt: now, Held: sha256 != "", HeldBytes: 1,
		Fingerprint: dlq.Fingerprint{Algorithm: "f1", Digest: strings.Repeat("1", 32), Mode: "message", Confidence: "low"}})
	s.must(err)
	return r.DLQID
}

func (s *stand) entry(id string) dlq.Entry {
	s.t.Helper()
	e, err := s.store.Entry(s.ctx, reviewer, id)
	s.must(err)
	return e
}

func (s *stand) start(ids ...string) dlq.Operation {
	s.t.Helper()
	o, err := s.store.CreateOperation(s.ctx, dlq.Operation{Kind: dlq.OperationRedrive, Actor: reviewer, Mode: dlq.ModeAuto, Reason: "r"})
	s.must(err)
	_, err = s.store.AddItems(s.ctx, o, 1, ids)
	s.must(err)
	o, err = s.store.StartOperation(s.ctx, o.ID, 1)
	s.must(err)
	return o
}

// once does one step and gives what it did.
func (s *stand) once(step sweep.Step) sweep.Result {
	s.t.Helper()
	results := (&sweep.Runner{Steps: []sweep.Step{step}}).RunOnce(s.ctx, s.clock())
	if len(results) != 1 {
		s.t.Fatalf("%d results of one step", len(results))
	}
	s.must(results[0].Err)
	return results[0]
}

func TestEntriesWhoseTimeIsOverGoToTheArchive(t *testing.T) {
	s := newStand(t)
	old := s.park("old", "")
	s.advance(45 * 24 * time.Hour)
	young := s.park("young", "")
	s.advance(45 * 24 * time.Hour)
	if r := s.once(sweep.Expiry(s.store)); r.Did != 1 || r.Sentence != "1 document went to the archive: its time was over" {
		t.Errorf("it did %d: %s", r.Did, r.Sentence)
	}
	if s.entry(old).Status != dlq.StatusArchived || s.entry(young).Status != dlq.StatusParked {
		t.Errorf("old %s, young %s", s.entry(old).Status, s.entry(young).Status)
	}
	if r := s.once(sweep.Expiry(s.store)); r.Did != 0 || r.Sentence != "nothing to do" {
		t.Errorf("again it did %d: %s", r.Did, r.Sentence)
	}
}

func TestExpiryGoesOnPastOneSlice(t *testing.T) {
	s := newStand(t)
	for i := range 450 {
		s.park(fmt.Sprint(i), "")
	}
	s.advance(91 * 24 * time.Hour)
	if r := s.once(sweep.Expiry(s.store)); r.Did != 450 {
		t.Errorf("it did %d", r.Did)
	}
}

func TestReservedEntriesOutliveTheirTime(t *testing.T) {
	s := newStand(t)
	flying, waiting := s.park("flying", ""), s.park("waiting", "")
	s.start(flying, waiting)
	s.advance(91 * 24 * time.Hour)
	if r := s.once(sweep.Expiry(s.store)); r.Did != 0 {
		t.Errorf("it did %d", r.Did)
	}
}

func TestOverdueOutcomesAreSettledAsThePolicySays(t *testing.T) {
	for mode, want := range map[dlq.OutcomeMode]dlq.Status{dlq.OutcomesReported: dlq.StatusParked, dlq.OutcomesAssumed: dlq.StatusResolved} {
		s := newStand(t)
		policy := dlq.DefaultPolicy("wiki")
		policy.Redrive.URL, policy.Outcomes.Mode = "https://pipeline.example.com/redrive", mode
		_, _, err := s.store.PutSource(s.ctx, reviewer, policy)
		s.must(err)
		id := s.park("1", "")
		s.start(id)
		claimed, err := s.store.ClaimRedrives(s.ctx, "wiki", "test", time.Minute, 1)
		s.must(err)
		_, err = s.store.BeginDelivery(s.ctx, claimed[0])
		s.must(err)
		s.must(s.store.DeliveryTaken(s.ctx, claimed[0], 202, "", ""))
		s.advance(policy.Outcomes.Timeout.Std() - time.Second)
		if r := s.once(sweep.Overdue(s.store)); r.Did != 0 {
			t.Errorf("%s: a second early it did %d", mode, r.Did)
		}
		s.advance(time.Second)
		if r := s.once(sweep.Overdue(s.store)); r.Did != 1 || s.entry(id).Status != want {
			t.Errorf("%s: it did %d, entry %s", mode, r.Did, s.entry(id).Status)
		}
	}
}

func TestWaitingItemsOfACancelledOperationAreGivenUp(t *testing.T) {
	s := newStand(t)
	ids := make([]string, 450)
	for i := range ids {
		ids[i] = s.park(fmt.Sprint(i), "")
	}
	o := s.start(ids...)
	_, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationCancelled, "the wrong cohort")
	s.must(err)
	step := sweep.Cancelled(s.store)
	if r := s.once(step); r.Did != 449 {
		t.Errorf("it did %d: %s", r.Did, r.Sentence)
	}
	o, err = s.store.Operation(s.ctx, o.ID)
	s.must(err)
	if o.Counts[dlq.ItemWaiting] != 0 || o.Counts[dlq.ItemCancelled] != 450 {
		t.Errorf("counts %v", o.Counts)
	}
	if r := s.once(step); r.Did != 0 {
		t.Errorf("again it did %d", r.Did)
	}
}

func (s *stand) bytes(text string) string {
	s.t.Helper()
	stored, err := s.payloads.Put(s.ctx, bytes.NewReader([]byte(text)), 1<<20)
	s.must(err)
	return stored.SHA256
}

// age makes stored bytes old for the payload store, which goes by its files.
func (s *stand) age(sha256 string) {
	s.t.Helper()
	old := s.clock().Add(-48 * time.Hour)
	s.must(os.Chtimes(filepath.Join(s.blobs, sha256[:2], sha256), old, old))
}

func (s *stand) has(sha256 string) bool {
	s.t.Helper()
	_, ok, err := s.payloads.Stat(s.ctx, sha256)
	s.must(err)
	return ok
}

func TestBytesThatNoEntryHoldsGoAfterADay(t *testing.T) {
	s := newStand(t)
	orphan, held := s.bytes("orphan"), s.bytes("held")
	s.must(s.store.RememberPayload(s.ctx, orphan, 6))
	s.park("1", held)
	s.age(orphan)
	s.age(held)
	step := sweep.Orphans(s.store, s.payloads)
	s.advance(23 * time.Hour)
	if r := s.once(step); r.Did != 0 || !s.has(orphan) {
		t.Errorf("an hour early it did %d", r.Did)
	}
	s.advance(2 * time.Hour)
	if r := s.once(step); r.Did != 1 || s.has(orphan) || !s.has(held) {
		t.Errorf("it did %d; orphan %v, held %v", r.Did, s.has(orphan), s.has(held))
	}
}

func TestBytesWithoutARecordGoAfterADay(t *testing.T) {
	s := newStand(t)
	lost, fresh, held := s.bytes("lost"), s.bytes("fresh"), s.bytes("held")
	s.park("1", held)
	s.age(lost)
	s.age(held)
	fromNow := s.clock()
	s.must(os.Chtimes(filepath.Join(s.blobs, fresh[:2], fresh), fromNow, fromNow))
	if r := s.once(sweep.LostFiles(s.store, s.payloads)); r.Did != 1 || s.has(lost) || !s.has(fresh) || !s.has(held) {
		t.Errorf("it did %d; lost %v, fresh %v, held %v", r.Did, s.has(lost), s.has(fresh), s.has(held))
	}
}

func TestUnfinishedUploadsGoAfterADay(t *testing.T) {
	s := newStand(t)
	left := filepath.Join(s.blobs, "tmp", "left-behind")
	s.must(os.WriteFile(left, []byte("half"), 0o600))
	old := s.clock().Add(-48 * time.Hour)
	s.must(os.Chtimes(left, old, old))
	if r := s.once(sweep.LostFiles(s.store, s.payloads)); r.Did != 1 {
		t.Errorf("it did %d: %s", r.Did, r.Sentence)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestStepThatFailsHoldsUpNone(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	broken := errors.New("the disk does not answer")
	var told time.Time
	r := sweep.Runner{Steps: []sweep.Step{
		{Name: "broken", Do: func(context.Context, time.Time) (int, string, error) { return 3, "three", broken }},
		sweep.Forget("sessions that ended", func(_ context.Context, now time.Time) (int, error) {
			told = now
			return 2, nil
		}),
	}}
	results := r.RunOnce(context.Background(), at)
	if len(results) != 2 || !errors.Is(results[0].Err, broken) || results[0].Did != 3 || !strings.Contains(results[0].Err.Error(), "broken") {
		t.Fatalf("got %+v", results)
	}
	if results[1].Did != 2 || results[1].Sentence != "sessions that ended: 2 removed" || !told.Equal(at) {
		t.Errorf("got %+v at %s", results[1], told)
	}
}

func TestRunDoesEachStepAtItsIntervalAndStops(t *testing.T) {
	often, seldom := make(chan time.Time, 100), make(chan time.Time, 100)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	step := func(every time.Duration, came chan time.Time) sweep.Step {
		return sweep.Step{Name: every.String(), Every: every, Do: func(_ context.Context, now time.Time) (int, string, error) {
			select {
			case came <- now:
			default:
			}
			return 1, "one", nil
		}}
	}
	reports := make(chan sweep.Result, 1000)
	r := sweep.Runner{Steps: []sweep.Step{step(time.Millisecond, often), step(time.Hour, seldom)}, Clock: func() time.Time { return at }, Report: func(res sweep.Result) {
		select {
		case reports <- res:
		default:
		}
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	for range 3 {
		select {
		case now := <-often:
			if !now.Equal(at) {
				t.Errorf("it was told %s", now)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the step is not done again")
		}
	}
	cancel()
	<-done
	if len(seldom) != 1 {
		t.Errorf("the hourly step was done %d times", len(seldom))
	}
	if len(reports) < 3 {
		t.Errorf("%d reports", len(reports))
	}
}

func TestDispositionsEndOnceTheirDateCame(t *testing.T) {
	s := newStand(t)
	id := s.park("d", "")
	s.must(s.store.Dispose(s.ctx, reviewer, id, dlq.NewDisposition{Disposition: dlq.DispositionWaiting, Date: s.clock().Add(time.Hour)}))
	if r := s.once(sweep.Dispositions(s.store)); r.Did != 0 {
		t.Errorf("too early it did %d", r.Did)
	}
	s.advance(time.Hour)
	if r := s.once(sweep.Dispositions(s.store)); r.Did != 1 || r.Sentence != "1 disposition is over: what it stood on needs a decision again" {
		t.Errorf("it did %d: %s", r.Did, r.Sentence)
	}
	if e := s.entry(id); e.Disposition != dlq.DispositionNone {
		t.Errorf("%q stands", e.Disposition)
	}
}
