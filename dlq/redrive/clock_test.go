package redrive_test

import (
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

const year = 365 * 24 * time.Hour

// TestAClockThatJumpsWhileADeliveryIsOut moves the clock while the target has not
// answered. A year ahead, the lease is over, and it is sent once more under the
// same id; an hour back, the lease holds. Either way it settles once.
func TestAClockThatJumpsWhileADeliveryIsOut(t *testing.T) {
	for _, c := range []struct {
		name  string
		jump  time.Duration
		sends int
	}{
		{"a year ahead", year, 2},
		{"five minutes ahead", 5 * time.Minute, 2},
		{"five minutes back", -5 * time.Minute, 1},
		{"an hour back", -time.Hour, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t)
			id := s.park("1", "one", "")
			o := s.start(id)
			h := s.holdAnswers()
			r := redrive.NewRunner(s.o)
			first := make(chan error, 1)
			go func() {
				_, err := r.RunOnce(s.ctx)
				first <- err
			}()
			h.wait(t, 1)
			s.clock.advance(c.jump)
			second := make(chan error, 1)
			go func() {
				_, err := redrive.NewRunner(s.o).RunOnce(s.ctx)
				second <- err
			}()
			if c.sends == 2 {
				h.wait(t, 1)
			} else {
				s.must(<-second)
				h.none(t)
			}
			close(h.let)
			s.must(<-first)
			if c.sends == 2 {
				s.must(<-second)
			}
			got := s.target.got()
			if len(got) != c.sends {
				t.Fatalf("%d deliveries, want %d", len(got), c.sends)
			}
			for _, d := range got[1:] {
				if d.header.Get("webhook-id") != got[0].header.Get("webhook-id") || d.header.Get("idempotency-key") != got[0].header.Get("idempotency-key") {
					t.Error("it was sent again as another")
				}
			}
			if r := s.redrive(id); r.State != dlq.RedriveDelivered || s.entry(id).RedrivesTotal != 1 {
				t.Errorf("redrive %s, %d redrives counted", r.State, s.entry(id).RedrivesTotal)
			}
			s.report(`{"redrive_id":%q,"result":"committed"}`, s.redrive(id).ID)
			s.run()
			if s.status(id) != dlq.StatusResolved || s.operation(o.ID).State != dlq.OperationDone {
				t.Errorf("entry %s, operation %s", s.status(id), s.operation(o.ID).State)
			}
			s.sound()
		})
	}
}

// TestAClockThatGoesBackHoldsUpForNoLongerThanThat: what was due, and what was
// leased by a process that died, goes when the clock is where it was.
func TestAClockThatGoesBackHoldsUpForNoLongerThanThat(t *testing.T) {
	s := newStand(t)
	ids := s.parkMany(2)
	s.start(ids[0])
	claimed, err := s.store.ClaimRedrives(s.ctx, "wiki", "killed", time.Minute, 10)
	s.must(err)
	if len(claimed) != 1 {
		t.Fatalf("%d claimed", len(claimed))
	}
	s.start(ids[1])
	s.clock.advance(-time.Hour)
	s.run()
	s.clock.advance(time.Hour + time.Minute)
	s.run()
	if n := len(s.target.got()); n != 2 {
		t.Errorf("%d deliveries of 2 when the clock is right again", n)
	}
	for _, id := range ids {
		if r := s.redrive(id); r.State != dlq.RedriveDelivered || r.Deliveries != 1 {
			t.Errorf("redrive %s after %d deliveries", r.State, r.Deliveries)
		}
	}
	s.sound()
}

// TestAnOutcomeWithATimeOfAnotherClock: the pipeline's clock and ours do not agree.
func TestAnOutcomeWithATimeOfAnotherClock(t *testing.T) {
	for at, accepted := range map[string]bool{"2026-03-01T11:00:00Z": true, "2025-03-01T12:00:00Z": true, "2026-03-01T13:00:00Z": true, "1970-01-01T00:00:00Z": true} {
		s := newStand(t)
		id, redriveID := s.flight("1")
		receipt := s.report(`{"redrive_id":%q,"result":"committed","at":%q}`, redriveID, at)
		if receipt.Applied != accepted || s.status(id) != dlq.StatusResolved {
			t.Errorf("at %s: %+v, entry %s", at, receipt, s.status(id))
		}
		s.sound()
	}
}
