package db

import (
	"fmt"

	"dlo/dlq"
)

// Of a cohort's parked entries two times stand in its row, because lists are
// ordered by them: when the oldest was opened, and when the first leaves. They
// are kept by what came and what left in a batch. Only when what left may have
// been the first are the members asked anew, a seek each.

// orderDelta is what a batch changes in a cohort's order: the least times of
// what was parked, and of what is parked no more. Nil: nothing.
type orderDelta struct {
	opened, openedGone, expires, expiresGone *int64
	recount                                  bool // members came or went: ask all of them
}

func least(a, b *int64) *int64 {
	if a == nil || (b != nil && *b < *a) {
		return b
	}
	return a
}

func (d *orderDelta) add(o orderDelta) {
	d.opened, d.openedGone = least(d.opened, o.opened), least(d.openedGone, o.openedGone)
	d.expires, d.expiresGone = least(d.expires, o.expires), least(d.expiresGone, o.expiresGone)
	d.recount = d.recount || o.recount
}

// orderMove notes the times of an entry where it was parked and where it is.
func (d deltas) orderMove(was, is place) {
	if was.status == dlq.StatusParked && is.status == dlq.StatusParked && was.cohort == is.cohort && was.openedAt.Equal(is.openedAt) && was.expiresAt.Equal(is.expiresAt) {
		return
	}
	if was.status == dlq.StatusParked {
		opened, expires := ms(was.openedAt), ms(was.expiresAt)
		d.cohort(was.cohort).order.add(orderDelta{openedGone: &opened, expiresGone: &expires})
	}
	if is.status == dlq.StatusParked {
		opened, expires := ms(is.openedAt), ms(is.expiresAt)
		d.cohort(is.cohort).order.add(orderDelta{opened: &opened, expires: &expires})
	}
}

const (
	oldestOfMembers = `(select min((select min(e.opened_at) from entry e where e.fingerprint_id = f.id and e.status = 'parked')) from fingerprint f where f.cohort_id = cohort.id)`
	expiryOfMembers = `(select min((select min(e.expires_at) from entry e where e.fingerprint_id = f.id and e.status = 'parked')) from fingerprint f where f.cohort_id = cohort.id)`
)

// applyOrder writes a batch's change of a cohort's order.
func (t *Tx) applyOrder(cohortID string, d orderDelta) error {
	if d.recount {
		if _, err := t.exec(`update cohort set oldest_opened = `+oldestOfMembers+`, next_expiry = `+expiryOfMembers+` where id = $1`, cohortID); err != nil {
			return fmt.Errorf("order cohort: %w", err)
		}
		return nil
	}
	if d.opened != nil {
		if _, err := t.exec(`update cohort set oldest_opened = min(coalesce(oldest_opened, $1), $1), next_expiry = min(coalesce(next_expiry, $2), $2) where id = $3`, *d.opened, *d.expires, cohortID); err != nil {
			return fmt.Errorf("order cohort: %w", err)
		}
	}
	if d.openedGone == nil {
		return nil
	}
	if _, err := t.exec(`update cohort set oldest_opened = `+oldestOfMembers+` where id = $1 and oldest_opened >= $2`, cohortID, *d.openedGone); err != nil {
		return fmt.Errorf("order cohort: %w", err)
	}
	if _, err := t.exec(`update cohort set next_expiry = `+expiryOfMembers+` where id = $1 and next_expiry >= $2`, cohortID, *d.expiresGone); err != nil {
		return fmt.Errorf("order cohort: %w", err)
	}
	return nil
}

// reorder asks all members of some cohorts for their order when the batch ends.
// Whoever moves members from one cohort to another calls it for both.
func (t *Tx) reorder(cohortIDs ...string) {
	for _, id := range cohortIDs {
		t.job.cohort(id).order.recount = true
	}
}
