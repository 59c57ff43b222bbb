package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// FirstMembers lists the ids of what a query matches as Members does, at most so
// many of them: those that arrived first.
func (s *Store) FirstMembers(ctx context.Context, by dlq.Actor, q dlq.Query, most int) ([]string, error) {
	f, err := s.exactFilter(ctx, q, by)
	if err != nil {
		return nil, err
	}
	var out []string
	query := "select e.dlq_id from " + f.from() + " where " + f.sql() + " order by e.id limit " + f.arg(most)
	err = each(ctx, s.reader(), query, f.args, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the first of the membership: %w", err)
	}
	return out, nil
}
