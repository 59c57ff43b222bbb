package db

import (
	"context"

	"dlo/dlq"
)

// WaitsIn finds the redrive that has an entry reserved and has not taken it yet.
func (s *Store) WaitsIn(ctx context.Context, entryID int64) (dlq.Operation, bool, error) {
	list, err := operationsWhere(ctx, s.reader(), `where id in (select operation_id from item where entry_id = $1 and state = 'waiting')
		and kind = 'redrive' and state not in ('done', 'cancelled') order by id limit 1`, entryID)
	if err != nil || len(list) == 0 {
		return dlq.Operation{}, false, err
	}
	return list[0], true, nil
}
