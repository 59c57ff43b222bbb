package sweep_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/sweep"
)

// index answers for each document as it was told, and counts.
type index struct {
	mu    sync.Mutex
	holds map[string]dlq.IndexNow
	asked map[string]int
	most  atomic.Int32 // questions at one time
	now   atomic.Int32
}

func (x *index) AskIndex(_ context.Context, _ dlq.OutcomePolicy, _, docID string) dlq.IndexNow {
	if n := x.now.Add(1); n > x.most.Load() {
		x.most.Store(n)
	}
	defer x.now.Add(-1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked[docID]++
	if now, ok := x.holds[docID]; ok {
		return now
	}
	return dlq.IndexNow{Status: 404, Sentence: "The index answers 404: the document is not there yet."}
}

func (s *stand) checked(x *index) sweep.Result {
	s.t.Helper()
	return s.once(sweep.IndexCheck(s.store, x, s.clock, nil))
}

// took makes the policy one that asks the index, and lets the target take the
// redrives of the documents.
func (s *stand) took(docs ...string) map[string]string {
	s.t.Helper()
	p := dlq.DefaultPolicy("wiki")
	p.Redrive.URL, p.Outcomes.Mode, p.Outcomes.CheckURL, p.Outcomes.Timeout = "https://pipeline.example.com/redrive", dlq.OutcomesCheck, "https://index.example.com/doc/{doc_id}", dlq.Duration(time.Hour)
	_, _, err := s.store.PutSource(s.ctx, reviewer, p)
	s.must(err)
	ids := map[string]string{}
	for _, doc := range docs {
		ids[doc] = s.park(doc, fmt.Sprintf("%064x", []byte(doc)))
		s.start(ids[doc])
	}
	list, err := s.store.ClaimRedrives(s.ctx, "wiki", "test", time.Minute, 1000)
	s.must(err)
	for _, r := range list {
		r.Sent, r.PayloadSHA256 = dlq.ModeHeld, fmt.Sprintf("%064x", []byte(r.DocID))
		_, err := s.store.BeginDelivery(s.ctx, r)
		s.must(err)
		s.must(s.store.DeliveryTaken(s.ctx, r, 202, "", ""))
	}
	return ids
}

func newIndex() *index { return &index{holds: map[string]dlq.IndexNow{}, asked: map[string]int{}} }

func TestTheIndexIsAskedUntilItHoldsWhatWasSent(t *testing.T) {
	s, x := newStand(t), newIndex()
	id := s.took("1")["1"]
	if r := s.checked(x); r.Did != 0 || x.asked["1"] != 1 || s.entry(id).Status != dlq.StatusRedriving {
		t.Fatalf("%+v, asked %v, entry %s", r, x.asked, s.entry(id).Status)
	}
	if s.checked(x); x.asked["1"] != 1 {
		t.Error("it is asked again before its wait is over")
	}
	checked, found, err := s.store.IndexChecked(s.ctx, s.entry(id).ID)
	if err != nil || !found || checked.Times != 1 || checked.Said == "" || !checked.Again.Equal(s.clock().Add(5*time.Second)) {
		t.Errorf("it is said to be %+v, %v", checked, err)
	}
	s.advance(5 * time.Second)
	x.holds["1"] = dlq.IndexNow{Status: 200, Found: true, Holds: fmt.Sprintf("%064x", []byte("0"))} // other bytes
	if s.checked(x); x.asked["1"] != 2 || s.entry(id).Status != dlq.StatusRedriving {
		t.Errorf("asked %v, entry %s", x.asked, s.entry(id).Status)
	}
	s.advance(10 * time.Second)
	x.holds["1"] = dlq.IndexNow{Status: 200, Found: true, Holds: fmt.Sprintf("%064x", []byte("1"))}
	if r := s.checked(x); r.Did != 1 {
		t.Errorf("%+v", r)
	}
	e := s.entry(id)
	list, err := s.store.RedrivesOf(s.ctx, e.ID, 1)
	s.must(err)
	if e.Status != dlq.StatusResolved || e.Resolution != dlq.ResolvedCommitted || list[0].Outcome != dlq.OutcomeCommitted || list[0].OutcomeSHA256 == "" {
		t.Errorf("entry %s %s, redrive %q of %q", e.Status, e.Resolution, list[0].Outcome, list[0].OutcomeSHA256)
	}
	src, err := s.store.Source(s.ctx, "wiki")
	if err != nil || src.Reported != 0 {
		t.Errorf("what the index says counts as %d reports of the pipeline, %v", src.Reported, err)
	}
	s.advance(time.Hour)
	if s.checked(x); x.asked["1"] != 3 {
		t.Error("what is settled is asked about")
	}
}

func TestANewerVersionInTheIndexSupersedes(t *testing.T) {
	s, x := newStand(t), newIndex()
	id := s.took("1")["1"]
	old, newer := int64(41), int64(43)
	x.holds["1"] = dlq.IndexNow{Found: true, Seq: &old}
	s.checked(x)
	if s.entry(id).Status != dlq.StatusRedriving {
		t.Fatalf("an older one: entry %s", s.entry(id).Status)
	}
	s.advance(time.Minute)
	x.holds["1"] = dlq.IndexNow{Found: true, Seq: &newer}
	s.checked(x)
	if e := s.entry(id); e.Status != dlq.StatusResolved || e.Resolution != dlq.ResolvedSuperseded {
		t.Errorf("entry %s %s", e.Status, e.Resolution)
	}
}

func TestWhatTheIndexNeverHoldsIsParkedAgainWhenItsTimeIsOver(t *testing.T) {
	s, x := newStand(t), newIndex()
	id := s.took("1")["1"]
	for range 70 {
		s.checked(x)
		s.advance(time.Minute)
	}
	if n := x.asked["1"]; n < 10 || n > 30 {
		t.Errorf("in 70 min it was asked %d times", n)
	}
	s.once(sweep.Overdue(s.store))
	if e := s.entry(id); e.Status != dlq.StatusParked || !e.Marks.Has(dlq.MarkNoOutcome) {
		t.Errorf("entry %s, marks %s", e.Status, e.Marks)
	}
	was := x.asked["1"]
	if s.checked(x); x.asked["1"] != was {
		t.Error("it is asked about after it was given up")
	}
}

func TestManyAreAskedAboutAFewAtATime(t *testing.T) {
	s, x := newStand(t), newIndex()
	var docs []string
	for i := range 80 {
		docs = append(docs, fmt.Sprint(100+i))
	}
	ids := s.took(docs...)
	for _, doc := range docs[:70] {
		x.holds[doc] = dlq.IndexNow{Found: true, Holds: fmt.Sprintf("%064x", []byte(doc))}
	}
	if r := s.checked(x); r.Did != 70 || r.Err != nil {
		t.Errorf("%+v", r)
	}
	for _, doc := range docs {
		if x.asked[doc] != 1 {
			t.Errorf("%s was asked about %d times", doc, x.asked[doc])
		}
	}
	if x.most.Load() > 8 {
		t.Errorf("%d questions at one time", x.most.Load())
	}
	if s.entry(ids["179"]).Status != dlq.StatusRedriving {
		t.Error("one that is not there is settled")
	}
}

func TestASourceThatIsToldItsOutcomesIsNotAskedFor(t *testing.T) {
	s, x := newStand(t), newIndex()
	s.took("1")
	p := dlq.DefaultPolicy("wiki")
	_, _, err := s.store.PutSource(s.ctx, reviewer, p)
	s.must(err)
	if s.checked(x); x.asked["1"] != 0 {
		t.Error("the index is asked for a source that reports")
	}
}

func TestAnIndexThatHangsEndsItsTurnAndStaysDue(t *testing.T) {
	s := newStand(t)
	id := s.took("1")["1"]
	ctx, cancel := context.WithCancel(s.ctx)
	hanging := hangs{cancel}
	if _, _, err := sweep.IndexCheck(s.store, hanging, s.clock, nil).Do(ctx, s.clock()); err != nil {
		t.Fatal(err)
	}
	checked, _, err := s.store.IndexChecked(s.ctx, s.entry(id).ID)
	if err != nil || checked.Times != 0 {
		t.Errorf("what was broken off counts: %+v, %v", checked, err)
	}
}

// hangs is an index that does not answer before the context ends, which it ends.
type hangs struct{ end func() }

func (h hangs) AskIndex(ctx context.Context, _ dlq.OutcomePolicy, _, _ string) dlq.IndexNow {
	h.end()
	<-ctx.Done()
	return dlq.IndexNow{Sentence: "The question was given up before the index answered."}
}
