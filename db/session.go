package db

import (
	"context"
	"fmt"
	"time"
)

// Session is a signed-in session: its cookie's id hashed, and opaque data.
type Session struct {
	Hash      string
	PersonID  string
	Data      []byte
	CreatedAt time.Time
	SeenAt    time.Time
}

// Session finds a session.
func (s *Store) Session(ctx context.Context, hash string) (Session, bool, error) {
	row := Session{Hash: hash}
	var created, seen int64
	found, err := s.one(ctx, `select person_id, data, created_at, seen_at from session where id_hash = $1`, []any{hash}, &row.PersonID, &row.Data, &created, &seen)
	row.CreatedAt, row.SeenAt = fromMS(created), fromMS(seen)
	return row, found, err
}

// PutSession adds a session, and ends those of the same person that were unused
// for longest until keep are left.
func (s *Store) PutSession(ctx context.Context, row Session, keep int) error {
	return s.update(ctx, func(tx *Tx) error {
		if _, err := tx.exec(`insert into session (id_hash, person_id, data, created_at, seen_at) values ($1, $2, $3, $4, $5)`, row.Hash, row.PersonID, row.Data, ms(row.CreatedAt), ms(row.SeenAt)); err != nil {
			return fmt.Errorf("add session: %w", err)
		}
		_, err := tx.exec(`delete from session where person_id = $1 and id_hash not in (select id_hash from session where person_id = $1 order by seen_at desc, id_hash limit $2)`, row.PersonID, keep)
		if err != nil {
			return fmt.Errorf("end the oldest sessions: %w", err)
		}
		return nil
	})
}

// TouchSession moves a session's data and when it was seen; one that has ended
// stays ended.
func (s *Store) TouchSession(ctx context.Context, hash string, seenAt time.Time, data []byte) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`update session set seen_at = $1, data = $2 where id_hash = $3`, ms(seenAt), data, hash)
		return err
	})
}

// DeleteSession ends a session.
func (s *Store) DeleteSession(ctx context.Context, hash string) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`delete from session where id_hash = $1`, hash)
		return err
	})
}

// DeleteSessionsOf ends every session of somebody.
func (s *Store) DeleteSessionsOf(ctx context.Context, personID string) error {
	return s.update(ctx, func(tx *Tx) error { return tx.endSessions(personID) })
}

// ForgetSessions removes the rows of sessions and login tries that are too old
// to matter.
func (s *Store) ForgetSessions(ctx context.Context, before time.Time) (int64, error) {
	var n int64
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		if n, err = tx.exec(`delete from session where created_at < $1`, ms(before)); err != nil {
			return err
		}
		tries, err := tx.exec(`delete from login_throttle where at < $1`, ms(before))
		n += tries
		return err
	})
	return n, err
}

// Throttle finds what is remembered of one account's or address's tries.
func (s *Store) Throttle(ctx context.Context, subject string) (failures int, at time.Time, found bool, err error) {
	var v int64
	found, err = s.one(ctx, `select failures, at from login_throttle where subject = $1`, []any{subject}, &failures, &v)
	return failures, fromMS(v), found, err
}

// PutThrottle remembers one account's or address's tries.
func (s *Store) PutThrottle(ctx context.Context, subject string, failures int, at time.Time) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`insert into login_throttle (subject, failures, at) values ($1, $2, $3) on conflict (subject) do update set failures = excluded.failures, at = excluded.at`, subject, failures, ms(at))
		return err
	})
}

// DeleteThrottle forgets one account's or address's tries.
func (s *Store) DeleteThrottle(ctx context.Context, subject string) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`delete from login_throttle where subject = $1`, subject)
		return err
	})
}
