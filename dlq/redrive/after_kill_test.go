package redrive_test

import (
	"testing"
	"time"

	"dlo/dlq"
)

// TestAServerThatStartsNeedNotWaitForTheOneThatWasKilled: it has the folder alone,
// so that whoever holds a lease is gone.
func TestAServerThatStartsNeedNotWaitForTheOneThatWasKilled(t *testing.T) {
	s := newStand(t)
	ids := s.parkMany(3)
	o := s.start(ids...)
	claimed, err := s.store.ClaimRedrives(s.ctx, "wiki", "killed", time.Minute, 2)
	s.must(err)
	killed := claimed[0]
	killed.Sent = dlq.ModeHeld
	if ok, err := s.store.BeginDelivery(s.ctx, killed); err != nil || !ok {
		t.Fatal(ok, err)
	}
	n, err := s.store.EndLeases(s.ctx)
	if err != nil || n != 2 {
		t.Fatalf("%d leases were ended, %v", n, err)
	}
	s.must(s.store.DeliveryTaken(s.ctx, killed, 202, "", "")) // it was not killed after all, and nobody has claimed it since
	s.run()
	if n := len(s.target.got()); n != 2 {
		t.Errorf("%d deliveries at once", n)
	}
	if now := s.operation(o.ID); now.Counts[dlq.ItemInFlight] != 3 {
		t.Errorf("%v", now.Counts)
	}
	if n, err := s.store.EndLeases(s.ctx); err != nil || n != 0 {
		t.Errorf("%d leases, %v", n, err)
	}
	s.sound()
}
