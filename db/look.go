package db

import (
	"context"
	"fmt"
	"time"

	"dlo/dlq"
)

// Look reads until when a person has looked, and writes their visit. A mark of
// what one person has read is no change of anybody's documents, and not audited.
func (s *Store) Look(ctx context.Context, personID string) (dlq.Look, error) {
	l, err := look(ctx, s.reader(), personID)
	if err != nil {
		return l, err
	}
	if _, changed := l.Visit(s.Now()); !changed {
		return l, nil
	}
	return s.changeLook(ctx, personID, func(l dlq.Look, now time.Time) dlq.Look {
		l, _ = l.Visit(now)
		return l
	})
}

// Seen marks that a person has seen everything until a moment.
func (s *Store) Seen(ctx context.Context, personID string, until time.Time) error {
	_, err := s.changeLook(ctx, personID, func(l dlq.Look, now time.Time) dlq.Look { return l.Seen(until, now) })
	return err
}

func look(ctx context.Context, r reader, personID string) (dlq.Look, error) {
	var until, visited int64
	found, err := one(ctx, r, `select looked_at, visited_at from person_look where person_id = $1`, []any{personID}, &until, &visited)
	if err != nil || !found {
		if err != nil {
			err = fmt.Errorf("read until when somebody looked: %w", err)
		}
		return dlq.Look{}, err
	}
	return dlq.Look{Until: moment(until), Visited: moment(visited)}, nil
}

func (s *Store) changeLook(ctx context.Context, personID string, change func(dlq.Look, time.Time) dlq.Look) (dlq.Look, error) {
	var is dlq.Look
	err := s.update(ctx, func(tx *Tx) error {
		was, err := look(tx.ctx, tx, personID)
		if err != nil {
			return err
		}
		is = change(was, tx.now)
		if _, err := tx.exec(`insert into person_look (person_id, looked_at, visited_at) values ($1, $2, $3)
			on conflict (person_id) do update set looked_at = excluded.looked_at, visited_at = excluded.visited_at`, personID, ms(is.Until), ms(is.Visited)); err != nil {
			return fmt.Errorf("mark until when somebody looked: %w", err)
		}
		return nil
	})
	return is, err
}

// AlertsSince counts the alerts that stand and began after a moment, of those
// that somebody may know of.
func (s *Store) AlertsSince(ctx context.Context, by dlq.Actor, since time.Time) (int64, error) {
	var f filter
	var n int64
	query := `select count(*) from alert a where a.since > ` + f.arg(ms(since)) + ` and a.state in ('firing', 'acknowledged') and ` + f.ofSourcesOf(by, "a.source_id")
	if _, err := s.one(ctx, query, f.args, &n); err != nil {
		return 0, fmt.Errorf("count the alerts since: %w", err)
	}
	return n, nil
}

// stoppedLooked is how many operations StoppedSince reads at most.
const stoppedLooked = 100

// StoppedSince lists the operations that stand stopped or paused and moved last
// after a moment, newest first. Whether somebody may know of each is for
// SeesOperation to say.
func (s *Store) StoppedSince(ctx context.Context, since time.Time) (list []dlq.Operation, more bool, err error) {
	list, err = operationsWhere(ctx, s.reader(), `where state not in ('done', 'cancelled') and state in ('stopped', 'paused') and updated_at > $1 order by updated_at desc, id desc limit $2`, ms(since), stoppedLooked+1)
	if len(list) > stoppedLooked {
		return list[:stoppedLooked], true, err
	}
	return list, false, err
}
