package db

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// LastSweep is when the sweep last noted that it works; zero if it never did.
func (s *Store) LastSweep(ctx context.Context) (time.Time, error) {
	var at string
	if _, err := one(ctx, s.reader(), `select value from meta where name = 'swept_at'`, nil, &at); err != nil {
		return time.Time{}, fmt.Errorf("read when the last sweep was: %w", err)
	}
	v, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return time.Time{}, nil // never, or not to be read: the clock is not held to it
	}
	return fromMS(v), nil
}

// NoteSweep notes that the sweep works.
func (s *Store) NoteSweep(ctx context.Context) error {
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`insert into meta (name, value) values ('swept_at', $1) on conflict (name) do update set value = excluded.value`, strconv.FormatInt(ms(tx.now), 10))
		if err != nil {
			return fmt.Errorf("note when the sweep was: %w", err)
		}
		return nil
	})
}
