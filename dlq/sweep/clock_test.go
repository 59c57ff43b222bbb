package sweep_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/sweep"
)

// look is a moment at which somebody looks at the clock: how far the clock and the
// machine have come since the start.
type look struct {
	clock, machine time.Duration
	held           bool
}

func TestAClockThatJumpedHoldsUpWhatGoesByAge(t *testing.T) {
	const year, minute, hour = 365 * 24 * time.Hour, time.Minute, time.Hour
	for name, c := range map[string]struct {
		lastSweep time.Duration // before the start; 0: none
		looks     []look
	}{
		"it goes as time passes":            {0, []look{{0, 0, false}, {minute, minute, false}, {100 * hour, 100 * hour, false}}},
		"five minutes ahead":                {0, []look{{minute, minute, false}, {6*minute + minute, 2 * minute, false}, {8 * minute, 3 * minute, false}}},
		"an hour back":                      {0, []look{{minute, minute, false}, {-hour, 2 * minute, false}, {-hour + minute, 3 * minute, false}}},
		"a year ahead, and set right":       {0, []look{{year, minute, true}, {year + minute, 2 * minute, true}, {3 * minute, 3 * minute, false}, {4 * minute, 4 * minute, false}}},
		"a year ahead, for good":            {0, []look{{year, minute, true}, {year + hour - minute, hour, true}, {year + hour + minute, hour + 2*minute, false}, {year + 2*hour, 2*hour + minute, false}}},
		"a year ahead, and another":         {0, []look{{year, minute, true}, {year + 2*hour, 2 * hour, false}, {2 * year, 2*hour + minute, true}}},
		"an hour back, and set right":       {0, []look{{-hour, minute, false}, {2 * minute, 2 * minute, false}}},
		"started after a short stop":        {24 * hour, []look{{0, 0, false}, {minute, minute, false}}},
		"started a year after the last one": {year, []look{{0, 0, true}, {minute, minute, true}, {hour + minute, hour + minute, false}, {2 * hour, 2 * hour, false}}},
		"started with a clock a year ahead": {year, []look{{0, 0, true}, {-year, minute, false}, {-year + minute, 2 * minute, false}}},
	} {
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		machine := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		var last time.Time
		if c.lastSweep > 0 {
			last = start.Add(-c.lastSweep)
		}
		w := sweep.NewWatch(start, machine, last)
		for n, l := range c.looks {
			if held, _ := w.Look(start.Add(l.clock), machine.Add(l.machine)); held != l.held {
				t.Errorf("%s: at look %d held is %t", name, n+1, held)
			}
		}
	}
}

// TestNothingExpiresInBulkWhenTheClockJumps runs the real steps over a clock that
// jumps by a year, with a document that is on its way and one that waits.
func TestNothingExpiresInBulkWhenTheClockJumps(t *testing.T) {
	s := newStand(t)
	waiting, flying := s.park("waiting", ""), s.park("flying", "")
	s.start(flying)
	claimed, err := s.store.ClaimRedrives(s.ctx, "wiki", "test", time.Minute, 1)
	s.must(err)
	s.must(s.store.DeliveryTaken(s.ctx, claimed[0], 202, "", ""))

	var rounds atomic.Int64
	round := make(chan struct{}, 1)
	said := make(chan sweep.Result, 100)
	steps := []sweep.Step{sweep.Expiry(s.store), sweep.Overdue(s.store), {Name: "round", Do: func(context.Context, time.Time) (int, string, error) {
		rounds.Add(1)
		select {
		case round <- struct{}{}:
		default:
		}
		return 0, "", nil
	}}}
	for i := range steps {
		steps[i].Every = time.Millisecond
	}
	r := sweep.Runner{Steps: steps, Clock: s.clock, Swept: s.store, Report: func(r sweep.Result) { said <- r }}
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	awaitRounds := func() {
		for from := rounds.Load(); rounds.Load() < from+3; {
			select {
			case <-round:
			case <-time.After(10 * time.Second):
				t.Fatal("the sweep does nothing")
			}
		}
	}
	awaitRounds()
	s.advance(365 * 24 * time.Hour)
	awaitRounds()
	if e := s.entry(waiting); e.Status != dlq.StatusParked {
		t.Errorf("the one that waits is %s", e.Status)
	}
	if e := s.entry(flying); e.Status != dlq.StatusRedriving {
		t.Errorf("the one that is on its way is %s", e.Status)
	}
	select {
	case r := <-said:
		if r.Name != "clock" || r.Err == nil || !strings.Contains(r.Err.Error(), "8760h0m0s ahead") {
			t.Errorf("it said %+v", r)
		}
	default:
		t.Error("nothing was said")
	}
	s.advance(-365 * 24 * time.Hour)
	s.advance(25 * time.Hour) // this one is real enough for the outcome, and held as well: the machine did not see it pass
	awaitRounds()
	cancel()
	<-done
	if len(said) > 1 {
		t.Errorf("it was said %d times more", len(said))
	}
	if at, err := s.store.LastSweep(s.ctx); err != nil || at.IsZero() {
		t.Errorf("the last sweep was at %s, %v", at, err)
	}
	// Asked for by hand, it is done: whoever asks has looked at the clock.
	if r := s.once(sweep.Overdue(s.store)); r.Did != 1 {
		t.Errorf("by hand it settled %d", r.Did)
	}
}
