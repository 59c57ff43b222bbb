package redrive_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
)

func (s *stand) asker() *redrive.Asker {
	return &redrive.Asker{Store: s.store, Prober: s.o.Prober, Reading: probe.Read, Clock: s.clock.Now, Report: func(err error) { s.t.Error(err) }}
}

// askAll lets an asker work until nothing is left to ask.
func (s *stand) askAll() {
	s.t.Helper()
	a := s.asker()
	for range 1000 {
		did, err := a.RunOnce(s.ctx)
		s.must(err)
		if did == 0 {
			return
		}
		s.clock.advance(time.Second)
	}
	s.t.Fatal("the asker finds something to ask for ever")
}

func TestTheSourcesAreAskedAboutManyAndNothingOfThemIsActedOn(t *testing.T) {
	s := newStand(t)
	s.withSource(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/doc/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/doc/changed":
			w.Header().Set("ETag", `"v2"`)
		case "/doc/silent":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.Header().Set("ETag", `"v1"`)
		}
	})
	var ids []string
	for _, doc := range []string{"same", "changed", "gone", "silent", "also same"} {
		ids = append(ids, s.park(doc, "text of "+doc, `{"source_version":"\"v1\""}`))
	}
	o, err := s.planner().Ask(s.ctx, analyst, nil, "source:wiki", 5)
	s.must(err)
	if o.Kind != dlq.OperationProbe || o.State != dlq.OperationRunning || o.Counts[dlq.ItemWaiting] != 5 {
		t.Fatalf("the operation is %+v", o)
	}
	s.run() // what sends redrives leaves it alone
	if o = s.operation(o.ID); o.Counts[dlq.ItemWaiting] != 5 {
		t.Fatalf("something else acted on it: %v", o.Counts)
	}
	s.askAll()
	if o = s.operation(o.ID); o.State != dlq.OperationDone || o.Counts[dlq.ItemSettled] != 5 {
		t.Errorf("it ended as %s, %v", o.State, o.Counts)
	}
	readings, err := s.store.ReadingCounts(s.ctx, o.ID)
	s.must(err)
	if readings[dlq.ReadingUnchanged] != 2 || readings[dlq.ReadingChanged] != 1 || readings[dlq.ReadingGone] != 1 || readings[dlq.ReadingUnknown] != 1 {
		t.Errorf("read %v", readings)
	}
	for _, id := range ids {
		if e := s.entry(id); e.Status != dlq.StatusParked || e.RedrivesTotal != 0 {
			t.Errorf("%s is %s after %d redrives", e.DocID, e.Status, e.RedrivesTotal)
		}
	}
	if _, reading, asked, err := s.store.LastProbe(s.ctx, s.entry(ids[1])); err != nil || !asked || reading.Bytes != dlq.ReadingChanged {
		t.Errorf("what the source said is not kept: %+v, %v, %v", reading, asked, err)
	}
	if len(s.target.got()) != 0 {
		t.Error("something was sent")
	}
	preview, err := redrive.PreviewOf(s.ctx, s.store, reviewer, redrive.Request{Kind: dlq.OperationRedrive, Query: "operation:" + o.ID})
	s.must(err)
	if got := preview.Said; got.Readings[dlq.ReadingUnchanged] != 2 || got.Readings[dlq.ReadingGone] != 1 || got.NotAsked != 0 || got.Askable() != 5 || got.Last.Before(got.First) {
		t.Errorf("the preview says %+v", got)
	}
	q, bad := dlq.ParseQuery("operation:" + o.ID + "/gone")
	if n, err := s.store.CountEntries(s.ctx, reviewer, q); len(bad) > 0 || err != nil || n != 1 {
		t.Errorf("%d gone are found, %v, %v", n, bad, err)
	}
}

func TestWhatCannotBeAskedIsLeftOut(t *testing.T) {
	s := newStand(t)
	s.withSource(answer(200, "", "ETag", `"v1"`))
	resolved, parked := s.park("1", "one", ""), s.park("2", "two", "")
	if _, err := s.store.ApplyOutcome(s.ctx, reviewer, dlq.Outcome{Source: "wiki", DocID: "1", Result: dlq.OutcomeCommitted, At: s.clock.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	o, err := s.planner().Ask(s.ctx, reviewer, []string{resolved, parked, "nobody knows it"}, "", redrive.NotSaid)
	s.must(err)
	s.askAll()
	if got := s.leftOut(s.operation(o.ID)); got[dlq.LeftResolved] != 1 || got[dlq.LeftNotFound] != 1 {
		t.Errorf("left out: %v", got)
	}
	s.policy.Probe = dlq.ProbePolicy{}
	s.put(s.policy)
	o, err = s.planner().Ask(s.ctx, reviewer, []string{parked}, "", redrive.NotSaid)
	s.must(err)
	s.askAll()
	if got := s.leftOut(s.operation(o.ID)); got[dlq.LeftNoProbe] != 1 {
		t.Errorf("left out: %v", got)
	}
}

func TestASourceIsNotHurried(t *testing.T) {
	s := newStand(t)
	var now, most, all atomic.Int64
	s.withSource(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		all.Add(1)
		w.Header().Set("ETag", `"v1"`)
	})
	for i := range 60 {
		s.park(fmt.Sprint("doc-", i), fmt.Sprint("text ", i), "")
	}
	_, err := s.planner().Ask(s.ctx, reviewer, nil, "source:wiki", redrive.NotSaid)
	s.must(err)
	a := s.asker()
	for range 100 { // a second
		if _, err := a.RunOnce(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.clock.advance(10 * time.Millisecond)
	}
	if n := all.Load(); n < 18 || n > 23 {
		t.Errorf("%d were asked within a second, want about 20", n)
	}
	if n := most.Load(); n > 4 {
		t.Errorf("%d were asked at once", n)
	}
}

func TestAQuestionThatIsCancelledOrCutOffAsksNoMoreThanItMust(t *testing.T) {
	s := newStand(t)
	var asked atomic.Int64
	s.withSource(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("ETag", `"v1"`)
	})
	for i := range 10 {
		s.park(fmt.Sprint("doc-", i), fmt.Sprint("text ", i), "")
	}
	o, err := s.planner().Ask(s.ctx, reviewer, nil, "source:wiki", redrive.NotSaid)
	s.must(err)
	if _, err := s.asker().RunOnce(s.ctx); err != nil {
		t.Fatal(err)
	}
	before := asked.Load()
	if _, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationPaused, "wait"); err != nil {
		t.Fatal(err)
	}
	s.askAll()
	if asked.Load() != before {
		t.Error("a paused one asks")
	}
	if _, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationCancelled, "enough"); err != nil {
		t.Fatal(err)
	}
	if o, err = s.store.StepOperation(s.ctx, o.ID, 100); err != nil || o.Counts[dlq.ItemCancelled]+o.Counts[dlq.ItemSettled] != 10 || o.Counts[dlq.ItemSettled] != before {
		t.Errorf("cancelled: %v, %v, after %d questions", o.Counts, err, before)
	}
	if faults, err := s.store.Check(s.ctx); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", strings.Join(faults, "; "), err)
	}
}
