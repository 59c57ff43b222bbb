package web

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
)

type memoryThrottle struct {
	mu   sync.Mutex
	rows map[string]ThrottleRow
}

func (m *memoryThrottle) Throttle(_ context.Context, key string) (ThrottleRow, bool, error) {
	defer runtime.Gosched() // as a database would, it lets others run between a read and a write
	m.mu.Lock()
	defer m.mu.Unlock()
	row, found := m.rows[key]
	return row, found, nil
}

func (m *memoryThrottle) PutThrottle(_ context.Context, row ThrottleRow) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[row.Key] = row
	return nil
}

func (m *memoryThrottle) DeleteThrottle(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, key)
	return nil
}

func newThrottle() (*LoginThrottle, *memoryThrottle, *clock) {
	rows, clock := &memoryThrottle{rows: map[string]ThrottleRow{}}, newClock()
	return NewLoginThrottle(rows, clock.now), rows, clock
}

// ip gives a different address for each n, so that only the account counts.
func ip(n int) string { return fmt.Sprintf("198.51.%d.%d", n/250, n%250) }

func waitOf(t *testing.T, err error) time.Duration {
	t.Helper()
	if err == nil {
		return 0
	}
	var known *dlq.Error
	if !errors.As(err, &known) || known.Kind != dlq.KindTooMany || known.RetryAfter <= 0 {
		t.Fatalf("%v, want KindTooMany with RetryAfter", err)
	}
	return known.RetryAfter
}

func TestAnAccountRestsLongerAfterEachFailure(t *testing.T) {
	throttle, _, clock := newThrottle()
	ctx := context.Background()
	n := 0
	try := func() time.Duration { n++; return waitOf(t, throttle.Try(ctx, "a@example.com", ip(n))) }
	for i := range 5 {
		if wait := try(); wait != 0 {
			t.Fatalf("try %d: wait %s", i+1, wait)
		}
	}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
		if got := try(); got != want {
			t.Fatalf("wait %s, want %s", got, want)
		}
		clock.pass(want - time.Second)
		if got := try(); got != time.Second {
			t.Fatalf("a second before its end the wait is %s: knocking must not prolong it", got)
		}
		clock.pass(time.Second)
		if got := try(); got != 0 {
			t.Fatalf("after the wait: %s more", got)
		}
	}
}

func TestTenGuessesInAQuarterOfAnHourAtMost(t *testing.T) {
	throttle, _, clock := newThrottle()
	guesses := 0
	for n := range 900 {
		if throttle.Try(context.Background(), "a@example.com", ip(n)) == nil {
			guesses++
		}
		clock.pass(time.Second)
	}
	if guesses > 10 || guesses < 5 {
		t.Errorf("%d guesses", guesses)
	}
}

func TestGuessesAtTheSameTimeDoNotOutrunTheCount(t *testing.T) {
	throttle, _, _ := newThrottle()
	var wg sync.WaitGroup
	var mu sync.Mutex
	passed := 0
	for n := range 100 {
		wg.Go(func() {
			if throttle.Try(context.Background(), "a@example.com", ip(n)) == nil {
				mu.Lock()
				passed++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if passed != 5 {
		t.Errorf("%d of 100 passed, want 5", passed)
	}
}

func TestSigningInForgetsFailures(t *testing.T) {
	throttle, _, clock := newThrottle()
	ctx := context.Background()
	for round := range 4 {
		for n := range 4 {
			if err := throttle.Try(ctx, "a@example.com", ip(round*10+n)); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if err := throttle.Succeeded(ctx, "a@example.com", ip(round*10)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 { // long ago is forgotten too
		if err := throttle.Try(ctx, "b@example.com", ip(100+n)); n < 5 && err != nil {
			t.Fatal(err)
		}
	}
	clock.pass(failuresKept + time.Minute)
	if err := throttle.Try(ctx, "b@example.com", ip(200)); err != nil {
		t.Errorf("half a day later: %v", err)
	}
	if err := throttle.Try(ctx, "b@example.com", ip(201)); err != nil {
		t.Errorf("half a day later, once more: %v", err)
	}
}

func TestSpellingsOfAnAddressAreOneAccount(t *testing.T) {
	throttle, _, _ := newThrottle()
	for n, email := range []string{"a@example.com", "A@example.com", " a@example.com", "a@EXAMPLE.com ", "A@EXAMPLE.COM"} {
		if err := throttle.Try(context.Background(), email, ip(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := throttle.Try(context.Background(), "a@example.com", ip(9)); err == nil {
		t.Error("each spelling has its own count")
	}
}

func TestAnAddressHasABucketOfTries(t *testing.T) {
	throttle, _, clock := newThrottle()
	ctx := context.Background()
	n := 0
	try := func(ip string) time.Duration {
		n++
		return waitOf(t, throttle.Try(ctx, fmt.Sprintf("u%d@example.com", n), ip))
	}
	for range 10 {
		if wait := try("203.0.113.5"); wait != 0 {
			t.Fatalf("try %d: wait %s", n, wait)
		}
	}
	if wait := try("203.0.113.5"); wait != 15*time.Second {
		t.Errorf("the eleventh waits %s, want 15 s", wait)
	}
	if wait := try("203.0.113.6"); wait != 0 {
		t.Errorf("a neighbour waits %s", wait)
	}
	if wait := try("::ffff:203.0.113.5"); wait == 0 {
		t.Error("the same address written as IPv6 has a bucket of its own")
	}
	clock.pass(15 * time.Second)
	if wait := try("203.0.113.5"); wait != 0 {
		t.Errorf("after 15 s: wait %s", wait)
	}
	for i := range 10 {
		try(fmt.Sprintf("2001:db8:1:2::%x", i+1))
	}
	if wait := try("2001:db8:1:2:ffff::1"); wait == 0 {
		t.Error("an IPv6 customer has a bucket for every address")
	}
	if wait := try("2001:db8:1:3::1"); wait != 0 {
		t.Errorf("another customer waits %s", wait)
	}
}

func TestManyPeopleBehindOneAddressMaySignIn(t *testing.T) {
	throttle, _, _ := newThrottle()
	for n := range 100 {
		email := fmt.Sprintf("u%d@example.com", n)
		if err := throttle.Try(context.Background(), email, "203.0.113.5"); err != nil {
			t.Fatalf("person %d: %v", n, err)
		}
		if err := throttle.Succeeded(context.Background(), email, "203.0.113.5"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARestartForgivesNothing(t *testing.T) {
	throttle, rows, clock := newThrottle()
	for n := range 5 {
		if err := throttle.Try(context.Background(), "a@example.com", ip(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := NewLoginThrottle(rows, clock.now).Try(context.Background(), "a@example.com", ip(9)); err == nil {
		t.Error("a new process starts at zero")
	}
	for key := range rows.rows {
		if strings.Contains(key, "example") || strings.Contains(key, "198.51") {
			t.Errorf("the key %s tells who tried", key)
		}
	}
}

func TestAClockThatGoesBackLocksNobodyOut(t *testing.T) {
	throttle, _, clock := newThrottle()
	for n := range 9 {
		_ = throttle.Try(context.Background(), "a@example.com", ip(n))
	}
	for n := range 10 {
		_ = throttle.Try(context.Background(), fmt.Sprintf("u%d@example.com", n), "203.0.113.5")
	}
	clock.pass(-365 * 24 * time.Hour)
	account := func() time.Duration { return waitOf(t, throttle.Try(context.Background(), "a@example.com", ip(20))) }
	address := func() time.Duration {
		return waitOf(t, throttle.Try(context.Background(), "x@example.com", "203.0.113.5"))
	}
	if wait := account(); wait != 30*time.Second {
		t.Errorf("the account waits %s, want 30 s", wait)
	}
	if wait := address(); wait != 15*time.Second {
		t.Errorf("the address waits %s, want 15 s", wait)
	}
	clock.pass(30 * time.Second)
	if a, b := account(), address(); a != 0 || b != 0 {
		t.Errorf("after the waits: %s and %s more", a, b)
	}
}
