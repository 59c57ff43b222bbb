package redrive_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

// defect parks documents of one defect, under a parser that was replaced since.
func (s *stand) defect(n int) []string {
	s.t.Helper()
	s.policy.Redrive.Concurrency = 1000
	s.put(s.policy)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = s.park(fmt.Sprint(i), fmt.Sprint("document ", i), `{"source_version":"\"v1\""}`)
	}
	_, err := s.store.RecordDeployment(s.ctx, pipeline, "wiki", "parser", "2.5.0", nil)
	s.must(err)
	return ids
}

// cohort finds the only one, as its page does.
func (s *stand) cohort() dlq.Cohort {
	s.t.Helper()
	list, _, err := s.store.Cohorts(s.ctx, reviewer, dlq.CohortQuery{}, "", 10)
	s.must(err)
	if len(list) != 1 {
		s.t.Fatalf("%d cohorts, want one", len(list))
	}
	return list[0]
}

func (s *stand) proof() dlq.Proof {
	s.t.Helper()
	c := s.cohort()
	proofs, err := s.store.CohortProofs(s.ctx, reviewer, []dlq.Cohort{c})
	s.must(err)
	return proofs[c.ID].Shown()
}

// tell reports what came of the deliveries that nothing was told of yet, and
// answers how many there were.
func (s *stand) tell(told *int, result string) int {
	s.t.Helper()
	got := s.target.got()
	n := 0
	for ; *told < len(got); *told++ {
		_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"redrive_id":"`+got[*told].text("redrive_id")+`",`+result+`}`))
		s.must(err)
		n++
	}
	return n
}

const (
	committed  = `"result":"committed"`
	failedSame = `"result":"failed","error_type":"ValueError","parser_version":"2.5.0"`
	failedNew  = `"result":"failed","error_type":"KeyError","parser_version":"2.5.0"`
)

var analyst = dlq.Actor{Kind: dlq.ActorPerson, ID: "p2", Name: "analyst@example.com", Role: dlq.RoleAnalyst}

func TestARedriveGoesInStepsThatEachWaitForTheOneBefore(t *testing.T) {
	s := newStand(t)
	s.defect(160)
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Expect: 160, GoOn: true})
	if o.CohortID != s.cohort().ID || o.Proof == nil || o.Proof.State != dlq.ProofNone || fmt.Sprint(o.Sizes) != "[1 5 25 100 29]" {
		t.Fatalf("about %q, %+v known, steps %v", o.CohortID, o.Proof, o.Sizes)
	}
	told := 0
	for step, want := range []int{1, 5, 25, 100, 29} {
		s.run()
		if n := len(s.target.got()) - told; n != want || s.operation(o.ID).Step != step+1 {
			t.Fatalf("step %d sent %d, want %d in step %d", s.operation(o.ID).Step, n, want, step+1)
		}
		s.tell(&told, committed)
		if p := s.proof(); p.State != dlq.ProofProven || p.Passed != int64(told) || p.Of != int64(told) {
			t.Fatalf("after %d: %+v", told, p)
		}
	}
	s.run()
	if o = s.operation(o.ID); o.State != dlq.OperationDone || o.Counts[dlq.ItemSettled] != 160 || s.cohort().Parked() != 0 {
		t.Errorf("%s, %v, %d stuck", o.State, o.Counts, s.cohort().Parked())
	}
}

func TestBetweenStepsSomebodyIsAskedUnlessItGoesOnByItself(t *testing.T) {
	s := newStand(t)
	s.defect(40)
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Expect: 40})
	told := 0
	s.run()
	if n := s.tell(&told, committed); n != 1 {
		t.Fatalf("%d were sent first", n)
	}
	s.run()
	if o = s.operation(o.ID); o.State != dlq.OperationPaused || o.Asks != dlq.AsksStep || len(s.target.got()) != 1 {
		t.Fatalf("%s, asks for %q, %d sent", o.State, o.Asks, len(s.target.got()))
	}
	if _, err := s.planner().Next(s.ctx, analyst, o.ID, false, ""); dlq.KindOf(err) != dlq.KindForbidden {
		t.Errorf("an analyst took a step: %v", err)
	}
	next, err := s.planner().Next(s.ctx, reviewer, o.ID, false, "")
	s.must(err)
	if next.Step != 2 || next.Counts[dlq.ItemInFlight] != 5 || next.State != dlq.OperationRunning {
		t.Fatalf("the next step: %d, %v, %s", next.Step, next.Counts, next.State)
	}
	s.run()
	s.tell(&told, committed)
	s.run()
	yes := true
	_, err = s.planner().GoOn(s.ctx, reviewer, o.ID, &yes, nil)
	s.must(err)
	for range 3 {
		s.run()
		s.tell(&told, committed)
	}
	s.run()
	if o = s.operation(o.ID); o.State != dlq.OperationDone || told != 40 {
		t.Errorf("%s after %d", o.State, told)
	}
	if _, err := s.planner().Next(s.ctx, reviewer, o.ID, false, ""); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("a step after the end: %v", err)
	}
}

func TestSkippingStepsAsksForAProofOrAReason(t *testing.T) {
	s := newStand(t)
	s.defect(60)
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Expect: 60})
	told := 0
	s.run()
	if _, err := s.planner().Next(s.ctx, reviewer, o.ID, true, " "); dlq.KindOf(err) != dlq.KindInvalid {
		t.Fatalf("without either: %v", err)
	}
	s.tell(&told, committed)
	s.run()
	rest, err := s.planner().Next(s.ctx, reviewer, o.ID, true, "")
	s.must(err)
	if rest.Step != rest.Rest() || rest.Counts[dlq.ItemWaiting] != 0 || rest.Counts[dlq.ItemInFlight] != 59 {
		t.Errorf("the rest: step %d, %v", rest.Step, rest.Counts)
	}
}

func TestTheFirstSameFailureStopsARedrive(t *testing.T) {
	s := newStand(t)
	ids := s.defect(400)
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Expect: 400, GoOn: true})
	told := 0
	s.run()
	s.tell(&told, failedSame)
	s.run()
	o = s.operation(o.ID)
	if o.State != dlq.OperationStopped || len(s.target.got()) != 1 || o.Counts[dlq.ItemWaiting] != 399 {
		t.Fatalf("%s, %d sent, %v", o.State, len(s.target.got()), o.Counts)
	}
	parked := 0
	for _, id := range ids {
		if s.status(id) == dlq.StatusParked {
			parked++
		}
	}
	if p := s.proof(); parked != 400 || p.State == dlq.ProofProven || p.Passed != 0 {
		t.Errorf("%d are parked, proof %+v", parked, p)
	}
	alerts, err := s.store.Alerts(s.ctx, reviewer, 10)
	s.must(err)
	if len(alerts) != 1 || alerts[0].Rule != dlq.AlertOperationStopped {
		t.Errorf("alerts: %+v", alerts)
	}
	// What stopped it was looked at: it goes on, and such a failure stops it no more.
	_, err = s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationRunning, "one of another kind")
	s.must(err)
	s.run()
	if n := s.tell(&told, failedSame); n != 5 {
		t.Fatalf("%d in the second step", n)
	}
	if o = s.operation(o.ID); o.State != dlq.OperationRunning {
		t.Errorf("%s: %s", o.State, o.Why)
	}
}

func TestAFailureOnAnotherDefectOrChangedBytesDoesNotStopAtOnce(t *testing.T) {
	for name, result := range map[string]string{
		"another defect": failedNew,
		"changed bytes":  `"result":"failed","error_type":"ValueError","parser_version":"2.5.0","payload_sha256":"` + digest("something else") + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.defect(20)
			o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, GoOn: true})
			told := 0
			s.run()
			s.tell(&told, result)
			s.run()
			if o = s.operation(o.ID); o.State != dlq.OperationRunning || o.Step != 2 {
				t.Errorf("%s in step %d: %s", o.State, o.Step, o.Why)
			}
		})
	}
}

func TestTooLargeAShareOfFailuresStopsARedrive(t *testing.T) {
	s := newStand(t)
	s.defect(200)
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Canary: []int{}, GoOn: true, Concurrency: 30})
	told := 0
	s.run()
	got := s.target.got()
	for i, d := range got[:20] {
		result := committed
		if i >= 15 {
			result = failedNew
		}
		_, err := s.reporter().Report(s.ctx, pipeline, []byte(`{"redrive_id":"`+d.text("redrive_id")+`",`+result+`}`))
		s.must(err)
		if o = s.operation(o.ID); (o.State == dlq.OperationStopped) != (i == 19) {
			t.Fatalf("%s after %d", o.State, i+1)
		}
	}
	s.run()
	if n := len(s.target.got()); n != 30 {
		t.Errorf("%d were sent, the 30 that were in flight are all that may be", n)
	}
	_ = told
}

func TestCanariesWithoutAnOutcomeAreAskedAbout(t *testing.T) {
	s := newStand(t)
	s.defect(10)
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, GoOn: true})
	s.run()
	s.clock.advance(14 * time.Minute)
	s.run()
	if o = s.operation(o.ID); o.State != dlq.OperationRunning {
		t.Fatalf("%s before their time", o.State)
	}
	s.clock.advance(2 * time.Minute)
	s.run()
	if o = s.operation(o.ID); o.State != dlq.OperationPaused || o.Asks != dlq.AsksTimeOut || len(s.target.got()) != 1 {
		t.Fatalf("%s asks for %q, %d sent", o.State, o.Asks, len(s.target.got()))
	}
	told := 0
	s.tell(&told, committed) // it comes late, and still counts
	_, err := s.planner().Next(s.ctx, reviewer, o.ID, false, "")
	s.must(err)
	s.run()
	if n := len(s.target.got()); n != 6 || s.proof().State != dlq.ProofProven {
		t.Errorf("%d sent, %s", n, s.proof().State)
	}
}

func TestAStepOfWhichNothingCameIsTakenAgain(t *testing.T) {
	s := newStand(t)
	s.defect(10)
	s.target.answers(answer(400, "not this one"))
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, GoOn: true})
	s.run()
	if o = s.operation(o.ID); o.State != dlq.OperationPaused || o.Step != 1 || len(s.target.got()) != 4 || !strings.Contains(o.Why, "neither a commit nor a failure") {
		t.Fatalf("%s in step %d after %d deliveries: %s", o.State, o.Step, len(s.target.got()), o.Why)
	}
}

// What was on its way when the target went down fails too. That says nothing new,
// and the first try is as soon as it would have been.
func TestDeliveriesThatWereOnTheirWayDoNotPutTheFirstTryOff(t *testing.T) {
	s := newStand(t)
	s.defect(40)
	s.policy.Redrive.Concurrency = 30
	s.put(s.policy)
	s.target.answers(answer(503, ""))
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Canary: []int{}, Returns: true})
	_, err := redrive.NewRunner(s.o).RunOnce(s.ctx)
	s.must(err)
	if n := len(s.target.got()); n < 20 {
		t.Fatalf("%d deliveries at once", n)
	}
	if o = s.operation(o.ID); o.Asks != dlq.AsksTarget || o.TryAt.Sub(s.clock.Now()) != 30*time.Second {
		t.Errorf("%s asks for %q, and tries it in %s", o.State, o.Asks, o.TryAt.Sub(s.clock.Now()))
	}
}

// A target that is down for a night costs a few deliveries, not the budget of
// every document.
func TestATargetThatIsDownPausesTheRedrive(t *testing.T) {
	s := newStand(t)
	s.defect(300)
	s.target.answers(answer(503, ""))
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Canary: []int{}, Returns: true, Concurrency: 8})
	r := redrive.NewRunner(s.o)
	settle := func() {
		for range 100 {
			did, err := r.RunOnce(s.ctx)
			s.must(err)
			if did == 0 {
				return
			}
		}
		t.Fatal("the runner finds something to do for ever")
	}
	settle()
	if o = s.operation(o.ID); o.State != dlq.OperationPaused || o.Asks != dlq.AsksTarget || len(s.target.got()) > 8 {
		t.Fatalf("%s asks for %q after %d deliveries", o.State, o.Asks, len(s.target.got()))
	}
	before := len(s.target.got())
	for range 12 * 12 { // a night
		s.clock.advance(5 * time.Minute)
		settle()
	}
	tried := len(s.target.got()) - before
	counts, err := s.store.OutcomeCounts(s.ctx, o.ID)
	s.must(err)
	if tried < 40 || tried > 60 || counts[dlq.OutcomeUndelivered] > 1 {
		t.Errorf("it was tried %d times in a night, %d were given up", tried, counts[dlq.OutcomeUndelivered])
	}
	s.target.answers(answer(200, `{"result":"committed"}`))
	s.clock.advance(16 * time.Minute)
	for range 100 {
		settle()
		s.clock.advance(time.Hour)
	}
	if o = s.operation(o.ID); o.State != dlq.OperationDone || o.Counts[dlq.ItemSettled] != 300 {
		t.Errorf("%s: %v, %s", o.State, o.Counts, o.Why)
	}
}

func TestTooManyRequestsIsNoTargetThatIsDown(t *testing.T) {
	s := newStand(t)
	s.defect(30)
	s.target.answers(answer(http.StatusTooManyRequests, "", "Retry-After", "60"))
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Canary: []int{}})
	s.run()
	if o = s.operation(o.ID); o.State != dlq.OperationRunning {
		t.Errorf("%s: %s", o.State, o.Why)
	}
}

// A canary tests the code. One whose document is not what failed gives its place to
// another, and goes with the rest.
func TestACanaryWhoseDocumentChangedGivesItsPlaceToAnother(t *testing.T) {
	s := newStand(t)
	changed := map[string]bool{}
	s.withSource(func(w http.ResponseWriter, r *http.Request) {
		if changed[strings.TrimPrefix(r.URL.Path, "/doc/")] {
			w.Header().Set("ETag", `"v2"`)
			return
		}
		w.Header().Set("ETag", `"v1"`)
	})
	ids := s.defect(12)
	for i := range ids[:11] {
		changed[fmt.Sprint(i)] = true
	}
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Canary: []int{1}, GoOn: true})
	s.run()
	got := s.target.got()
	if len(got) != 1 || got[0].text("doc_id") != "11" || got[0].text("mode") != "held" {
		t.Fatalf("%d were sent: %v", len(got), got)
	}
	told := 0
	s.tell(&told, committed)
	if p := s.proof(); p.State != dlq.ProofProven || p.Passed != 1 {
		t.Errorf("%+v", p)
	}
	s.run()
	if n := s.tell(&told, committed); n != 11 {
		t.Errorf("%d went with the rest", n)
	}
	if p := s.operation(o.ID); p.State != dlq.OperationDone || p.Counts[dlq.ItemSettled] != 12 {
		t.Errorf("%s %v", p.State, p.Counts)
	}
	faults, err := s.store.Check(s.ctx)
	s.must(err)
	for _, f := range faults {
		t.Error(f)
	}
}

func TestStepsSurviveARestart(t *testing.T) {
	s := newStand(t)
	s.defect(50)
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, GoOn: true})
	told := 0
	for range 5 {
		s.run() // each with a new runner
		s.tell(&told, committed)
	}
	if o = s.operation(o.ID); o.State != dlq.OperationDone || told != 50 {
		t.Errorf("%s after %d", o.State, told)
	}
	faults, err := s.store.Check(s.ctx)
	s.must(err)
	for _, f := range faults {
		t.Error(f)
	}
}
