package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// Operations that only ask sources what their documents are now. Their items wait
// until they were asked about; what was read stands where others say why they were
// left out, so that the counts of items need no second rule.

// Asked ends the turn of one document whose source was asked: with a reading, or
// left out. One whose operation was cancelled meanwhile stays as it is.
func (s *Store) Asked(ctx context.Context, i dlq.Item, reading dlq.Reading, why dlq.LeftOut) error {
	return s.update(ctx, func(tx *Tx) error {
		state, text := dlq.ItemSettled, string(reading)
		if why != "" {
			state, text = dlq.ItemLeftOut, string(why)
		}
		var step int
		found, err := tx.row(`update item set state = $1, why = $2 where operation_id = $3 and position = $4 and state = 'waiting' returning step`, []any{state, text, i.OperationID, i.Position}, &step)
		if err != nil {
			return fmt.Errorf("record that a source was asked: %w", err)
		}
		if !found {
			return nil
		}
		tx.tallyItems(i.OperationID, step, string(dlq.ItemWaiting), -1)
		tx.tallyItems(i.OperationID, step, string(state), 1)
		tx.itemMoved(i.OperationID, dlq.ItemWaiting, state, 1)
		if err := tx.countNow(); err != nil {
			return err
		}
		return tx.finishOperation(i.OperationID)
	})
}

// ReadingCounts counts what an operation that asks sources has read so far.
func (s *Store) ReadingCounts(ctx context.Context, operationID string) (map[dlq.Reading]int64, error) {
	out := map[dlq.Reading]int64{}
	err := each(ctx, s.reader(), `select why, count(*) from item where operation_id = $1 and state = 'settled' group by why`, []any{operationID}, func(rows *sql.Rows) error {
		var reading dlq.Reading
		var n int64
		err := rows.Scan(&reading, &n)
		out[reading] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what the sources said: %w", err)
	}
	return out, nil
}
