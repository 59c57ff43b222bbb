package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"dlo/dlq"
)

// How often a password may be tried.
const (
	freeFailures  = 5                // of an account, before there is a wait
	firstWait     = 30 * time.Second // doubled by each further failure
	longestWait   = 15 * time.Minute // so that nobody is locked out for good
	failuresKept  = 12 * time.Hour   // without a failure, then forgotten
	addressBurst  = 10               // tries from one address at once
	addressRefill = 15 * time.Second // for each further one
)

// ThrottleRow is what is remembered of one account or one address. Rows whose
// At is more than a day ago may be deleted.
type ThrottleRow struct {
	Key      string // "account:" or "ip:" and a SHA-256 in hex: who tries is personal
	Failures int    // of an account since it last signed in
	At       time.Time
}

// ThrottleRows is where that is kept, so that a restart forgives nothing.
type ThrottleRows interface {
	Throttle(ctx context.Context, key string) (ThrottleRow, bool, error)
	PutThrottle(ctx context.Context, row ThrottleRow) error
	DeleteThrottle(ctx context.Context, key string) error
}

// LoginThrottle slows down the guessing of passwords, by account and by
// address. One process serves an application, so its lock is enough to make a
// try and its count one step.
type LoginThrottle struct {
	rows ThrottleRows
	now  func() time.Time
	mu   sync.Mutex
}

// NewLoginThrottle makes a throttle over the rows. now is nil for time.Now.
func NewLoginThrottle(rows ThrottleRows, now func() time.Time) *LoginThrottle {
	if now == nil {
		now = time.Now
	}
	return &LoginThrottle{rows: rows, now: now}
}

// Try asks whether a password may be tried for the account from the address,
// and counts the try as failed until Succeeded is called: so tries made at the
// same time cannot outrun the count. Refused, it is KindTooMany with
// RetryAfter, and it counts nothing, so that whoever keeps knocking does not
// prolong the wait of the account's owner. It asks the same of accounts that
// do not exist.
func (t *LoginThrottle) Try(ctx context.Context, email, ip string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	account, err := t.row(ctx, accountKey(email), now)
	if err != nil {
		return err
	}
	if now.Sub(account.At) > failuresKept {
		account.Failures = 0
	}
	if wait := account.At.Add(waitAfter(account.Failures)).Sub(now); wait > 0 && account.Failures >= freeFailures {
		return tooMany(wait)
	}
	// At of an address is when its bucket will be full again.
	address, err := t.row(ctx, addressKey(ip), now.Add(addressBurst*addressRefill))
	if err != nil {
		return err
	}
	full := address.At
	if full.Before(now) {
		full = now
	}
	if wait := full.Add(addressRefill).Sub(now.Add(addressBurst * addressRefill)); wait > 0 {
		return tooMany(wait)
	}
	account = ThrottleRow{Key: accountKey(email), Failures: account.Failures + 1, At: now}
	address = ThrottleRow{Key: addressKey(ip), At: full.Add(addressRefill)}
	for _, row := range []ThrottleRow{account, address} {
		if err := t.rows.PutThrottle(ctx, row); err != nil {
			return fmt.Errorf("count a login: %w", err)
		}
	}
	return nil
}

// row reads a row whose time cannot be after latest, unless the clock has gone
// back since: then it is set to latest, or nobody could sign in until the
// clock has caught up.
func (t *LoginThrottle) row(ctx context.Context, key string, latest time.Time) (ThrottleRow, error) {
	row, found, err := t.rows.Throttle(ctx, key)
	if err != nil {
		return row, fmt.Errorf("read the login throttle: %w", err)
	}
	if found && row.At.After(latest) {
		row.At = latest
		if err := t.rows.PutThrottle(ctx, row); err != nil {
			return row, fmt.Errorf("mend the login throttle: %w", err)
		}
	}
	return row, nil
}

// Succeeded forgets the account's failures and gives the address its try back.
func (t *LoginThrottle) Succeeded(ctx context.Context, email, ip string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.rows.DeleteThrottle(ctx, accountKey(email)); err != nil {
		return fmt.Errorf("forget failed logins: %w", err)
	}
	address, found, err := t.rows.Throttle(ctx, addressKey(ip))
	if err != nil {
		return fmt.Errorf("read the login throttle: %w", err)
	}
	if !found {
		return nil
	}
	address.At = address.At.Add(-addressRefill)
	if err := t.rows.PutThrottle(ctx, address); err != nil {
		return fmt.Errorf("give a login back: %w", err)
	}
	return nil
}

// waitAfter is how long an account rests after its n-th failure in a row.
func waitAfter(n int) time.Duration {
	if n < freeFailures {
		return 0
	}
	wait := firstWait
	for range n - freeFailures {
		if wait *= 2; wait >= longestWait {
			return longestWait
		}
	}
	return wait
}

func tooMany(wait time.Duration) error {
	err := dlq.Errorf(dlq.KindTooMany, "Too many tries to sign in. Try again in %s.", inWords(wait))
	err.RetryAfter = wait
	return err
}

func inWords(d time.Duration) string {
	if d <= 90*time.Second {
		return fmt.Sprintf("%d seconds", int((d+time.Second-1)/time.Second))
	}
	return fmt.Sprintf("%d minutes", int((d+time.Minute-1)/time.Minute))
}

func accountKey(email string) string { return "account:" + hashText(dlq.NormalEmail(email)) }

// addressKey takes the 64-bit network of an IPv6 address, which is what one
// customer gets.
func addressKey(ip string) string {
	if addr, err := netip.ParseAddr(ip); err == nil {
		addr = addr.Unmap().WithZone("")
		if addr.Is6() {
			addr = netip.PrefixFrom(addr, 64).Masked().Addr()
		}
		ip = addr.String()
	}
	return "ip:" + hashText(ip)
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
