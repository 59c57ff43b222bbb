package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

func (s *stand) parkMany(n int) []string {
	s.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = s.park(fmt.Sprint("doc-", i), fmt.Sprint("text ", i), "")
	}
	return ids
}

func TestRequestNamesEveryFault(t *testing.T) {
	s := newStand(t)
	for _, c := range []struct {
		name string
		req  redrive.Request
		want string // pointers
	}{
		{"nothing", redrive.Request{}, "/kind /entries /reason"},
		{"both", redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{"a"}, Query: "source:wiki", Reason: "r"}, "/query"},
		{"a long reason", redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{"a"}, Reason: strings.Repeat("é", 2001)}, "/reason"},
		{"an empty name", redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{"a", ""}, Reason: "r"}, "/entries/1"},
		{"too many", redrive.Request{Kind: dlq.OperationRedrive, Entries: make([]string, 10_001), Reason: "r"}, "/entries /entries/0"},
		{"the way of going", redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{"a"}, Reason: "r", Mode: "fast", Rate: -1, Concurrency: -1, Canary: []int{1, 0}, StopShare: 2}, "/mode /rate /concurrency /stop_share /canary"},
		{"a release without a grant", redrive.Request{Kind: dlq.OperationRelease, Entries: []string{"a"}, Reason: "r"}, "/grant"},
		{"an extension without an end", redrive.Request{Kind: dlq.OperationExtend, Entries: []string{"a"}, Reason: "r"}, "/days"},
		{"a hold", redrive.Request{Kind: "hold", Entries: []string{"a"}, Reason: "r"}, "/kind"},
		{"a question to the sources", redrive.Request{Kind: dlq.OperationProbe, Entries: []string{"a"}, Reason: "r"}, "/kind"},
		{"a reason that no text can be", redrive.Request{Kind: dlq.OperationArchive, Entries: []string{"a"}, Reason: "a\x00b"}, "/reason"},
		{"an owner that is no line", redrive.Request{Kind: dlq.OperationAssign, Entries: []string{"a"}, Reason: "r", Owner: "a\nb", Ticket: "javascript:x"}, "/owner /ticket"},
		{"nothing decided", redrive.Request{Kind: dlq.OperationDispose, Entries: []string{"a"}, Reason: "r"}, "/disposition"},
		{"waiting for nothing", redrive.Request{Kind: dlq.OperationDispose, Entries: []string{"a"}, Reason: "r", Disposition: &dlq.NewDisposition{Disposition: dlq.DispositionWaiting}}, "/until"},
		{"an extension into the past", redrive.Request{Kind: dlq.OperationExtend, Entries: []string{"a"}, Reason: "r", Until: s.clock.Now()}, "/until"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.planner().Start(s.ctx, reviewer, c.req)
			var e *dlq.Error
			if !errors.As(err, &e) || e.Kind != dlq.KindInvalid {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, f := range e.Faults {
				got = append(got, f.Pointer)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("faults at %v, want %s", got, c.want)
			}
		})
	}
}

func TestWhoMayNotDecideStartsNothing(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	_, err := s.planner().Start(s.ctx, analyst, redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{id}, Expect: redrive.NotSaid, Reason: "r"})
	if dlq.KindOf(err) != dlq.KindForbidden || s.status(id) != dlq.StatusParked {
		t.Errorf("got %v, entry %s", err, s.status(id))
	}
}

func TestFirstStepIsRedrivingWhenTheAnswerComes(t *testing.T) {
	s := newStand(t)
	ids := s.parkMany(3)
	o := s.ask(redrive.Request{Query: "source:wiki", Expect: 3, Canary: []int{}})
	if o.State != dlq.OperationRunning || o.Total != 3 || o.Counts[dlq.ItemInFlight] != 3 {
		t.Errorf("operation %s with %v of %d", o.State, o.Counts, o.Total)
	}
	for _, id := range ids {
		if s.status(id) != dlq.StatusRedriving {
			t.Errorf("%s is %s", id, s.status(id))
		}
	}
}

func TestExpectationThatDoesNotHoldSendsNothing(t *testing.T) {
	s := newStand(t)
	ids := s.parkMany(3)
	_, err := s.planner().Start(s.ctx, reviewer, redrive.Request{Kind: dlq.OperationRedrive, Query: "source:wiki", Expect: 2, Reason: "r"})
	if dlq.KindOf(err) != dlq.KindConflict || err.Error() != "2 matched when you looked, 3 match now; nothing was sent" {
		t.Errorf("got %v", err)
	}
	operations, err := s.store.Operations(s.ctx, "", 10)
	s.must(err)
	if len(operations) != 0 || s.status(ids[0]) != dlq.StatusParked {
		t.Errorf("%d operations, entry %s", len(operations), s.status(ids[0]))
	}
}

func TestQueryThatIsNotUnderstoodIsSaid(t *testing.T) {
	s := newStand(t)
	_, err := s.planner().Start(s.ctx, reviewer, redrive.Request{Kind: dlq.OperationRedrive, Query: "status:lost", Expect: redrive.NotSaid, Reason: "r"})
	if dlq.KindOf(err) != dlq.KindInvalid {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotGoIsLeftOutWithWhy(t *testing.T) {
	s := newStand(t)
	goes := s.park("goes", "a", "")
	archived := s.park("archived", "b", "")
	s.must(s.store.Act(s.ctx, reviewer, archived, dlq.Action{Kind: dlq.OperationArchive, Reason: "r"}))
	quarantined := s.park("quarantined", "c", "")
	s.must(s.store.Act(s.ctx, reviewer, quarantined, dlq.Action{Kind: dlq.OperationQuarantine, Reason: "r"}))
	poison := s.park("poison", "d", `{"redrive_count":3}`)
	other := s.park("other", "e", `{"source":"leases"}`)
	flying := s.park("flying", "f", "")
	s.start(flying)
	o := s.ask(redrive.Request{Entries: []string{goes, archived, quarantined, poison, other, flying, "01NOSUCHENTRY", goes, goes}})
	want := map[dlq.LeftOut]int64{dlq.LeftArchived: 1, dlq.LeftQuarantined: 2, dlq.LeftNoTarget: 1, dlq.LeftInFlight: 1, dlq.LeftNotFound: 1}
	if got := s.leftOut(o); fmt.Sprint(got) != fmt.Sprint(want) || o.Total != 7 || o.Counts[dlq.ItemInFlight] != 1 {
		t.Errorf("left out %v of %d, want %v", got, o.Total, want)
	}
	if s.status(poison) != dlq.StatusQuarantined {
		t.Errorf("at the threshold, and %s", s.status(poison))
	}
}

func TestRequestForOneEntryOnItsWayAnswersTheOperationThatSentIt(t *testing.T) {
	s := newStand(t)
	ids := s.parkMany(2)
	first := s.start(ids...)
	again := s.start(ids[0])
	operations, err := s.store.Operations(s.ctx, "", 10)
	s.must(err)
	if again.ID != first.ID || len(operations) != 1 {
		t.Errorf("a second operation was started: there are %d", len(operations))
	}
	if larger := s.start(ids...); larger.ID == first.ID || s.leftOut(larger)[dlq.LeftInFlight] != 2 {
		t.Errorf("a larger request left out %v", s.leftOut(larger))
	}
}

func TestWhoMayNotKnowOfAnOperationIsNotAnsweredIt(t *testing.T) {
	s := newStand(t)
	other := dlq.DefaultPolicy("leases")
	other.Redrive.URL = s.target.URL + "/redrive"
	s.put(other)
	id, theirs := s.park("a", "x", ""), s.park("b", "y", `{"source":"leases"}`)
	o := s.start(id, theirs)
	limited := reviewer
	limited.ID, limited.Sources = "p2", []string{"wiki"}
	ask := func(by dlq.Actor) (dlq.Operation, error) {
		return s.planner().Start(s.ctx, by, redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{id}, Expect: redrive.NotSaid, Reason: "again"})
	}
	if got, err := ask(limited); dlq.KindOf(err) != dlq.KindConflict || got.ID != "" || !strings.Contains(err.Error(), "on its way already") {
		t.Errorf("answered operation %q and %v, want a conflict", got.ID, err)
	}
	if got, err := ask(reviewer); err != nil || got.ID != o.ID {
		t.Errorf("who sees all sources is answered %q and %v, want %s", got.ID, err, o.ID)
	}
}

func TestFiftyAtOnceRedriveTwentyEntriesOnce(t *testing.T) {
	s := newStand(t)
	s.target.answers(answer(200, `{"result":"committed"}`))
	ids := s.parkMany(20)
	var all sync.WaitGroup
	errs := make(chan error, 50)
	for range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := s.planner().Start(s.ctx, reviewer, redrive.Request{Kind: dlq.OperationRedrive, Entries: ids, Expect: redrive.NotSaid, Reason: "everybody at once"})
			errs <- err
		}()
	}
	all.Wait()
	close(errs)
	for err := range errs {
		s.must(err)
	}
	s.run()
	seen := map[string]int{}
	for _, d := range s.target.got() {
		seen[d.text("doc_id")]++
	}
	if len(seen) != 20 || len(s.target.got()) != 20 {
		t.Errorf("%d deliveries of %d documents", len(s.target.got()), len(seen))
	}
	for _, id := range ids {
		if n := len(s.redrives(id)); n != 1 {
			t.Errorf("%s has %d redrives", id, n)
		}
	}
}

func TestOneOfManyWithTheSameSingleEntryStartsAndTheOthersAnswerIt(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	var all sync.WaitGroup
	answers := make(chan string, 20)
	for range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			o, err := s.planner().Start(s.ctx, reviewer, redrive.Request{Kind: dlq.OperationRedrive, Entries: []string{id}, Expect: redrive.NotSaid, Reason: "r"})
			if err != nil {
				t.Error(err)
			}
			answers <- o.ID
		}()
	}
	all.Wait()
	close(answers)
	want := s.redrive(id).OperationID
	for got := range answers {
		if got != want {
			t.Errorf("answered %s, and the entry goes with %s", got, want)
		}
	}
}

func TestEqualBytesUnderTwoIdsFlyOneAfterTheOther(t *testing.T) {
	s := newStand(t)
	a, b := s.park("a", "same", ""), s.park("b", "same", "")
	o := s.start(a, b)
	s.run()
	if n := len(s.target.got()); n != 1 || s.leftOut(o)[dlq.LeftInFlight] != 1 {
		t.Fatalf("%d deliveries, left out %v", n, s.leftOut(o))
	}
	_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"content_hash":"`+digest("same")+`","result":"committed"}`))
	s.must(err)
	s.start(b)
	s.run()
	if n := len(s.target.got()); n != 1 || s.entry(b).Resolution != dlq.ResolvedSkipped {
		t.Errorf("%d deliveries; the other is %s %s", n, s.status(b), s.entry(b).Resolution)
	}
}

func TestActionsGoThroughTheSameDoor(t *testing.T) {
	s := newStand(t)
	ids := s.parkMany(3)
	o := s.ask(redrive.Request{Kind: dlq.OperationArchive, Query: "source:wiki", Expect: 3})
	if o.State != dlq.OperationDone || o.Counts[dlq.ItemSettled] != 3 || s.status(ids[2]) != dlq.StatusArchived {
		t.Errorf("operation %s with %v, entry %s", o.State, o.Counts, s.status(ids[2]))
	}
}

func TestPreviewCountsWithoutChangingAnything(t *testing.T) {
	s := newStand(t)
	s.park("goes", "a", "")
	s.parkUnheld("unheld", "b", "")
	s.park("poison", "c", `{"redrive_count":3}`)
	archived := s.park("archived", "d", "")
	s.must(s.store.Act(s.ctx, reviewer, archived, dlq.Action{Kind: dlq.OperationArchive, Reason: "r"}))
	committed := s.park("committed", "e", "")
	twin := s.park("twin", "e", "")
	_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"source":"wiki","doc_id":"committed","result":"committed","at":"2026-03-01T12:00:00Z"}`))
	s.must(err)
	before := s.entry(twin).Version
	p, err := redrive.PreviewOf(s.ctx, s.store, reviewer, redrive.Request{Query: "source:wiki", Mode: dlq.ModeAuto})
	s.must(err)
	want := redrive.Preview{Looked: 6, Goes: 2, Skipped: 1, Quarantined: 1, LeftOut: map[dlq.LeftOut]int64{dlq.LeftQuarantined: 1, dlq.LeftArchived: 1, dlq.LeftResolved: 1},
		Copies: map[dlq.CopyState]int64{dlq.CopyHeld: 1, dlq.CopyNever: 1},
		Load:   redrive.Load{Held: 1, HeldBytes: 1, FromThere: 1, Unsized: 1}, Said: redrive.Said{NoProbe: 2}}
	if fmt.Sprint(p) != fmt.Sprint(want) {
		t.Errorf("preview %v, want %v", p, want)
	}
	if s.entry(committed).Status != dlq.StatusResolved || s.entry(twin).Version != before {
		t.Error("looking changed something")
	}
	named, err := redrive.PreviewOf(s.ctx, s.store, reviewer, redrive.Request{Entries: []string{"01NOSUCHENTRY", archived, archived}, Mode: dlq.ModeAuto})
	s.must(err)
	if named.Looked != 2 || named.LeftOut[dlq.LeftNotFound] != 1 || named.LeftOut[dlq.LeftArchived] != 1 {
		t.Errorf("preview of names: %v", named)
	}
}

// crowd is a store in which a query matches more than any preview looks at.
type crowd struct {
	size  int
	asked int // of candidates
}

func (c *crowd) FirstMembers(_ context.Context, _ dlq.Actor, _ dlq.Query, most int) ([]string, error) {
	ids := make([]string, min(c.size, most))
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	return ids, nil
}

func (c *crowd) Candidates(_ context.Context, _ dlq.Actor, ids []string, _ dlq.Mode) ([]dlq.Candidate, error) {
	c.asked += len(ids)
	return make([]dlq.Candidate, len(ids)), nil
}

func TestPreviewLooksAtTheFirstOfALargeMembershipOnly(t *testing.T) {
	names := make([]string, redrive.PreviewMost+1)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	for name, req := range map[string]redrive.Request{"a query": {Query: "source:wiki"}, "names": {Entries: names}} {
		c := &crowd{size: redrive.PreviewMost + 1}
		p, err := redrive.PreviewOf(t.Context(), c, reviewer, req)
		if err != nil || p.Looked != redrive.PreviewMost || c.asked != redrive.PreviewMost {
			t.Errorf("%s: looked at %d and asked for %d, %v; want %d", name, p.Looked, c.asked, err, redrive.PreviewMost)
		}
	}
}

func TestLargeOperationKeepsAWindowInFlight(t *testing.T) {
	s := newStand(t)
	ids := make([]string, 620)
	for i := range ids {
		ids[i] = s.parkUnheld(fmt.Sprint("doc-", i), fmt.Sprint("text ", i), "")
	}
	s.policy.Redrive.Concurrency, s.policy.Redrive.Rate = 1000, 10_000
	s.put(s.policy)
	s.target.answers(answer(200, `{"result":"committed"}`))
	o := s.ask(redrive.Request{Query: "source:wiki", Expect: 620, Canary: []int{}})
	if o.Counts[dlq.ItemInFlight] != redrive.FirstStep || o.Counts[dlq.ItemWaiting] != 120 {
		t.Fatalf("the first step: %v", o.Counts)
	}
	for s.operation(o.ID).State != dlq.OperationDone {
		before := len(s.target.got())
		s.run()
		s.clock.advance(time.Second)
		if len(s.target.got()) == before {
			t.Fatalf("it stands still at %v", s.operation(o.ID).Counts)
		}
	}
	if n := len(s.target.got()); n != 620 || s.operation(o.ID).Counts[dlq.ItemSettled] != 620 {
		t.Errorf("%d deliveries, %v", n, s.operation(o.ID).Counts)
	}
}
