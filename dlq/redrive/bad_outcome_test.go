package redrive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

// sound says that counters, references and the audit trail are what they must be.
func (s *stand) sound() {
	s.t.Helper()
	faults, err := s.store.Check(s.ctx)
	s.must(err)
	for _, f := range faults {
		s.t.Error(f)
	}
}

// TestOutcomesThatContradictThemselves tells two outcomes of one redrive, as a
// pipeline does that lost its mind or its database. What was committed stays
// committed; a commit that comes late still counts.
func TestOutcomesThatContradictThemselves(t *testing.T) {
	for _, c := range []struct {
		first, then string
		status      dlq.Status
		outcome     dlq.OutcomeResult // of the redrive
		verdict     dlq.VerdictName
	}{
		{"committed", "committed", dlq.StatusResolved, dlq.OutcomeCommitted, dlq.VerdictFixedByCode},
		{"committed", "failed", dlq.StatusResolved, dlq.OutcomeCommitted, dlq.VerdictFixedByCode},
		{"committed", "skipped", dlq.StatusResolved, dlq.OutcomeCommitted, dlq.VerdictFixedByCode},
		{"committed", "superseded", dlq.StatusResolved, dlq.OutcomeCommitted, dlq.VerdictFixedByCode},
		{"failed", "failed", dlq.StatusParked, dlq.OutcomeFailed, dlq.VerdictStillBroken},
		{"failed", "committed", dlq.StatusResolved, dlq.OutcomeFailed, dlq.VerdictStillBroken},
		{"failed", "skipped", dlq.StatusResolved, dlq.OutcomeFailed, dlq.VerdictStillBroken},
		{"failed", "superseded", dlq.StatusParked, dlq.OutcomeFailed, dlq.VerdictStillBroken},
		{"skipped", "failed", dlq.StatusResolved, dlq.OutcomeSkipped, dlq.VerdictAlreadyCommitted},
		{"superseded", "failed", dlq.StatusResolved, dlq.OutcomeSuperseded, dlq.VerdictSuperseded},
		{"superseded", "committed", dlq.StatusResolved, dlq.OutcomeSuperseded, dlq.VerdictSuperseded},
	} {
		t.Run(c.first+", then "+c.then, func(t *testing.T) {
			s := newStand(t)
			id, redriveID := s.flight("1")
			tell := func(result string) dlq.OutcomeReceipt {
				s.clock.advance(time.Second)
				more := ""
				if result == "failed" {
					more = `,"error_type":"ValueError"`
				}
				return s.report(`{"redrive_id":%q,"result":%q,"parser_version":"2.5.0"%s}`, redriveID, result, more)
			}
			tell(c.first)
			tell(c.then)
			r, e := s.redrive(id), s.entry(id)
			if e.Status != c.status || r.Outcome != c.outcome || r.Verdict().Name != c.verdict {
				t.Errorf("entry %s, redrive %s, verdict %s", e.Status, r.Outcome, r.Verdict().Name)
			}
			if e.SameFailures > 1 {
				t.Errorf("one replay counts %d same failures", e.SameFailures)
			}
			attempts := e.Attempts
			tell(c.then)
			tell(c.first)
			if again := s.entry(id); again.Status != e.Status || again.Attempts != attempts || s.redrive(id).Outcome != c.outcome {
				t.Errorf("told once more: entry %s after %d attempts, was %s after %d", again.Status, again.Attempts, e.Status, attempts)
			}
			s.run()
			if n := len(s.target.got()); n != 1 {
				t.Errorf("%d deliveries", n)
			}
			s.sound()
		})
	}
}

// TestAnOutcomeOfWhatWasNeverSent: a report may name a redrive that waits to be
// sent. What it says counts, and nothing is sent any more.
func TestAnOutcomeOfWhatWasNeverSent(t *testing.T) {
	for result, want := range map[string]dlq.Status{"committed": dlq.StatusResolved, "skipped": dlq.StatusResolved, "superseded": dlq.StatusResolved, "failed": dlq.StatusParked} {
		s := newStand(t)
		id := s.park("1", "one", "")
		o := s.start(id)
		s.report(`{"redrive_id":%q,"result":%q}`, s.redrive(id).ID, result)
		s.run()
		if n := len(s.target.got()); n != 0 || s.status(id) != want || s.operation(o.ID).State != dlq.OperationDone {
			t.Errorf("%s: %d deliveries, entry %s, operation %s", result, n, s.status(id), s.operation(o.ID).State)
		}
		if total := s.entry(id).RedrivesTotal; total != 0 {
			t.Errorf("%s: %d redrives are counted, and none was sent", result, total)
		}
		s.sound()
	}
}

// TestAnOutcomeForACancelledOperation: one document was on its way when the
// operation was cancelled, the other was not yet sent. Of both the pipeline says
// that they are committed.
func TestAnOutcomeForACancelledOperation(t *testing.T) {
	for _, result := range []string{"committed", "failed"} {
		s := newStand(t)
		s.policy.Redrive.Concurrency = 1
		s.put(s.policy)
		ids := s.parkMany(2)
		o := s.start(ids...)
		s.run()
		if _, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationCancelled, "enough"); err != nil {
			t.Fatal(err)
		}
		sent := s.target.got()[0].text("redrive_id")
		for _, id := range ids {
			r := s.redrive(id)
			want := dlq.StatusResolved
			if result == "failed" {
				want = dlq.StatusParked
			}
			s.report(`{"redrive_id":%q,"result":%q}`, r.ID, result)
			if got := s.status(id); got != want {
				t.Errorf("%s, sent %t: entry %s, want %s", result, r.ID == sent, got, want)
			}
			if r.ID != sent && s.redrive(id).Outcome != dlq.OutcomeCancelled {
				t.Errorf("what was never sent is %s", s.redrive(id).Outcome)
			}
		}
		s.run()
		now := s.operation(o.ID)
		if now.State != dlq.OperationCancelled || now.Counts[dlq.ItemSettled] != 1 || now.Counts[dlq.ItemCancelled] != 1 || now.Counts[dlq.ItemInFlight] != 0 {
			t.Errorf("%s: operation %s, %v", result, now.State, now.Counts)
		}
		if n := len(s.target.got()); n != 1 {
			t.Errorf("%d deliveries", n)
		}
		s.sound()
	}
}

// TestAnOutcomeWithADigestOfOtherBytes: the pipeline says that what it worked on
// are not the bytes that failed. Whatever came of them proves nothing of the code.
func TestAnOutcomeWithADigestOfOtherBytes(t *testing.T) {
	for _, c := range []struct {
		outcome string
		verdict dlq.VerdictName
	}{
		{`"result":"committed"`, dlq.VerdictFixedAtSource},
		{`"result":"committed","parser_version":"2.4.1"`, dlq.VerdictFixedAtSource},
		{`"result":"committed","parser_version":"2.5.0"`, dlq.VerdictUndetermined},
		{`"result":"failed","error_type":"ValueError","parser_version":"2.5.0"`, dlq.VerdictStillFailing},
	} {
		s := newStand(t)
		id := s.park("1", "one", "")
		o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Expect: 1, GoOn: true})
		s.run()
		s.report(`{"redrive_id":%q,%s,"payload_sha256":%q}`, s.redrive(id).ID, c.outcome, digest("two"))
		if v := s.redrive(id).Verdict(); v.Name != c.verdict || v.Bytes != dlq.ReadingChanged || v.Grade != dlq.GradeDigest {
			t.Errorf("%s: %s, bytes %s by %s", c.outcome, v.Name, v.Bytes, v.Grade)
		}
		s.run()
		if p := s.proof(); p.State != dlq.ProofNone {
			t.Errorf("%s proves %s", c.outcome, p.State)
		}
		if state := s.operation(o.ID).State; state != dlq.OperationDone {
			t.Errorf("%s: operation %s", c.outcome, state)
		}
		s.sound()
	}
}

// TestACopyThatIsCorruptHoldsUpNoOther: in the middle of an operation in steps,
// some copies are no longer what they were.
func TestACopyThatIsCorruptHoldsUpNoOther(t *testing.T) {
	for _, mode := range []dlq.Mode{dlq.ModeAuto, dlq.ModeHeld} {
		s := newStand(t)
		ids := s.defect(12)
		damaged := map[string]bool{}
		for _, n := range []int{0, 3, 7} {
			sha := digest(fmt.Sprint("document ", n))
			path := filepath.Join(s.blobs, sha[:2], sha)
			s.must(os.Remove(path))
			s.must(os.WriteFile(path, []byte("other bytes"), 0o600))
			damaged[ids[n]] = true
		}
		o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Expect: 12, GoOn: true, Mode: mode})
		told := 0
		for range 20 {
			s.run()
			if s.tell(&told, committed) == 0 && s.operation(o.ID).State.Ended() {
				break
			}
		}
		if now := s.operation(o.ID); now.State != dlq.OperationDone || now.Counts[dlq.ItemSettled] != 9 || s.leftOut(o)[dlq.LeftPayloadCorrupt] != 3 {
			t.Errorf("%s: operation %s, %v, left out %v", mode, now.State, now.Counts, s.leftOut(o))
		}
		for _, id := range ids {
			e := s.entry(id)
			if damaged[id] != (e.Status == dlq.StatusParked) || damaged[id] != (e.Copy == dlq.CopyCorrupt) || (damaged[id] && e.RedrivesTotal != 0) {
				t.Errorf("%s: entry %s with a copy that is %s, damaged %t", mode, e.Status, e.Copy, damaged[id])
			}
		}
		s.sound()
	}
}

// TestOperationsThatOverlap: the second leaves out what the first has reserved, and
// takes the rest; what the first gives up when it is cancelled is free again.
func TestOperationsThatOverlap(t *testing.T) {
	s := newStand(t)
	s.policy.Redrive.Concurrency = 100
	s.put(s.policy)
	ids := s.parkMany(9)
	first := s.ask(redrive.Request{Entries: ids[:6], Concurrency: 2})
	second := s.start(ids[3:]...)
	if left := s.leftOut(second)[dlq.LeftInFlight]; left != 3 {
		t.Fatalf("the second left out %d as in flight, want the 3 that wait in the first", left)
	}
	s.run()
	if n := len(s.target.got()); n != 5 {
		t.Errorf("%d deliveries; want 2 of the first and 3 of the second", n)
	}
	if _, err := s.store.MoveOperation(s.ctx, reviewer, first.ID, dlq.OperationCancelled, "too wide"); err != nil {
		t.Fatal(err)
	}
	third := s.start(ids...)
	if left := s.leftOut(third)[dlq.LeftInFlight]; left != 5 {
		t.Errorf("the third left out %d as in flight, want the 5 that were sent", left)
	}
	s.run()
	seen := map[string]int{}
	for _, d := range s.target.got() {
		seen[d.text("dlq_id")]++
	}
	for _, id := range ids {
		if seen[id] != 1 {
			t.Errorf("%s was delivered %d times", id, seen[id])
		}
	}
	s.sound()
}

// TestACancelRacesWithCompletion: the last outcomes come while somebody cancels.
// Whoever is first, the operation ends once, and its counts are those of its items.
func TestACancelRacesWithCompletion(t *testing.T) {
	for round := range 20 {
		s := newStand(t)
		ids := s.parkMany(3)
		o := s.start(ids...)
		s.run()
		var both sync.WaitGroup
		go1 := make(chan struct{})
		both.Go(func() {
			<-go1
			for _, d := range s.target.got() {
				if _, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"redrive_id":"`+d.text("redrive_id")+`","result":"committed"}`)); err != nil {
					t.Error(err)
				}
			}
		})
		both.Go(func() {
			<-go1
			if _, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationCancelled, "now"); err != nil && dlq.KindOf(err) != dlq.KindConflict {
				t.Error(err)
			}
		})
		close(go1)
		both.Wait()
		s.run()
		now := s.operation(o.ID)
		if !now.State.Ended() || now.Counts[dlq.ItemSettled] != 3 {
			t.Errorf("round %d: operation %s, %v", round, now.State, now.Counts)
		}
		for _, id := range ids {
			if s.status(id) != dlq.StatusResolved {
				t.Errorf("round %d: entry %s", round, s.status(id))
			}
		}
		if _, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationCancelled, "again"); dlq.KindOf(err) != dlq.KindConflict {
			t.Errorf("an operation that ended was cancelled: %v", err)
		}
		s.sound()
	}
}

// TestAnOldWorkerInARollingDeployRefutesNothing: while the newer parser proves
// itself, a worker of the older one meets the same documents in an ordinary sync,
// and fails. The pipeline is known to name redrives, and this one is not named.
func TestAnOldWorkerInARollingDeployRefutesNothing(t *testing.T) {
	s := newStand(t)
	s.policy.PoisonThreshold = 1 // one failure of a replay would quarantine
	s.put(s.policy)
	ids := s.defect(9)
	known := s.park("known", "known", `{"error_type":"OtherError"}`)
	s.start(known)
	s.run()
	s.report(`{"redrive_id":%q,"result":"committed"}`, s.redrive(known).ID)
	told := 1

	cohort := s.entry(ids[0]).CohortID
	o := s.ask(redrive.Request{Query: "cohort:" + cohort, Expect: 9, GoOn: true, Canary: []int{1}})
	s.run()
	s.tell(&told, `"result":"committed","parser_version":"2.5.0"`)
	s.run() // the rest is on its way

	s.clock.advance(time.Minute)
	var met string
	for _, id := range ids {
		if s.status(id) == dlq.StatusRedriving {
			met = id
			break
		}
	}
	e := s.entry(met)
	s.arrive(e.DocID, "document "+e.DocID, true, `{"source_version":"\"v1\"","parser_version":"2.4.1"}`)
	r := s.redrive(met)
	if s.status(met) != dlq.StatusParked || r.Outcome != dlq.OutcomeUnattributed || r.Verdict().Name != dlq.VerdictUnattributed {
		t.Fatalf("entry %s, redrive %s, verdict %s", s.status(met), r.Outcome, r.Verdict().Name)
	}
	if e := s.entry(met); e.SameFailures != 0 {
		t.Errorf("it counts %d same failures", e.SameFailures)
	}
	if now := s.operation(o.ID); now.State != dlq.OperationRunning {
		t.Errorf("operation %s: %s", now.State, now.Why)
	}
	c, err := s.store.Cohort(s.ctx, reviewer, cohort)
	s.must(err)
	proofs, err := s.store.CohortProofs(s.ctx, reviewer, []dlq.Cohort{c})
	s.must(err)
	if p := proofs[cohort].Shown(); p.State != dlq.ProofProven {
		t.Errorf("proof %s", p.State)
	}

	// The redrive itself commits a little later.
	s.report(`{"redrive_id":%q,"result":"committed","parser_version":"2.5.0"}`, r.ID)
	if e := s.entry(met); e.Status != dlq.StatusResolved || !e.Marks.Has(dlq.MarkLate) {
		t.Errorf("after its late commit: entry %s, marks %s", e.Status, e.Marks)
	}
	s.sound()
}

// TestExpectIsHeldAtTheMomentOfTheClick: what matches moved between the look and
// the click, either way.
func TestExpectIsHeldAtTheMomentOfTheClick(t *testing.T) {
	for _, seen := range []int64{2, 4} {
		s := newStand(t)
		s.parkMany(3)
		_, err := s.planner().Start(s.ctx, reviewer, redrive.Request{Kind: dlq.OperationRedrive, Query: "source:wiki", Expect: seen, Reason: "r"})
		if dlq.KindOf(err) != dlq.KindConflict {
			t.Errorf("expected %d of 3: %v", seen, err)
		}
		s.run()
		if n := len(s.target.got()); n != 0 {
			t.Errorf("%d deliveries", n)
		}
		if list, err := s.store.Operations(s.ctx, "", 10); err != nil || len(list) != 0 {
			t.Errorf("%d operations, %v", len(list), err)
		}
	}
}
