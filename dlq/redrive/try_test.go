package redrive_test

import (
	"context"
	"testing"
	"time"

	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/redrive"
)

// stoppingStore stops the runner the moment that it has claimed a try.
type stoppingStore struct {
	*db.Store
	stop func()
}

func (s stoppingStore) ClaimTry(ctx context.Context, operationID, owner string, lease time.Duration) (*dlq.Redrive, error) {
	defer s.stop()
	return s.Store.ClaimTry(ctx, operationID, owner, lease)
}

// A try has a long lease. A runner that stops gives it back, or its document would
// wait for that to end.
func TestATryThatIsCutOffIsGivenBack(t *testing.T) {
	s := newStand(t)
	s.defect(60)
	s.target.answers(answer(503, ""))
	o := s.ask(redrive.Request{Query: "cohort:" + s.cohort().ID, Canary: []int{}, Returns: true, Concurrency: 8})
	s.run()
	if o = s.operation(o.ID); o.Asks != dlq.AsksTarget {
		t.Fatalf("%s asks for %q", o.State, o.Asks)
	}
	s.clock.advance(time.Minute)
	ctx, stop := context.WithCancel(s.ctx)
	s.o.Store = stoppingStore{s.store, stop}
	_, _ = redrive.NewRunner(s.o).RunOnce(ctx) // it was stopped: whatever it says
	items, err := s.store.Items(s.ctx, o.ID, dlq.ItemInFlight, "", 0, 100)
	s.must(err)
	for _, i := range items {
		if r, err := s.store.Redrive(s.ctx, i.RedriveID); err != nil || r.State == dlq.RedriveClaimed {
			t.Errorf("%s is under a lease of %s, %v", i.DLQID, r.LeaseUntil.Sub(s.clock.Now()), err)
		}
	}
}
