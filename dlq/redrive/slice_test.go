package redrive

import (
	"testing"
	"time"
)

func TestSlicesFollowTheTimeThatTheyTake(t *testing.T) {
	for _, c := range []struct {
		size int
		took time.Duration
		want int
	}{
		{200, 100 * time.Millisecond, 100}, // twice too long: half
		{200, 50 * time.Millisecond, 200},
		{200, 30 * time.Millisecond, 200},
		{200, 10 * time.Millisecond, 400},
		{5000, time.Millisecond, 5000}, // never more
		{20, time.Second, 10},          // never less, or it would never end
	} {
		if got := nextSlice(c.size, c.took); got != c.want {
			t.Errorf("%d in %s is followed by %d, want %d", c.size, c.took, got, c.want)
		}
	}
}

func TestBucketHoldsNoBurstAfterAPause(t *testing.T) {
	var p pace
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if got, _ := p.take("s", 50, 100, now); got != 5 {
		t.Errorf("it began with %d", got)
	}
	if got, wait := p.take("s", 50, 100, now); got != 0 || wait != 20*time.Millisecond {
		t.Errorf("at once again: %d, next in %s", got, wait)
	}
	if got, _ := p.take("s", 50, 100, now.Add(time.Hour)); got != 5 {
		t.Errorf("an hour later: %d", got)
	}
	p.giveBack("s", 2)
	if got, _ := p.take("s", 50, 100, now.Add(time.Hour)); got != 2 {
		t.Errorf("of two given back: %d", got)
	}
	if got, _ := p.take("s", 50, 1, now); got != 0 {
		t.Errorf("a clock that goes back lets %d through", got)
	}
}
