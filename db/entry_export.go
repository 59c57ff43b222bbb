package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

const exportPage = 200 // entries of one read

// Export hands out every entry that a query matches, in an order, with the
// attempt that is its current evidence. It reads a page at a time, each by
// itself: what changes its place in the order meanwhile may be handed out where
// it is then, or not at all, and nothing is handed out twice at one place. It
// says how many rows write took.
func (s *Store) Export(ctx context.Context, by dlq.Actor, q dlq.Query, sort dlq.EntrySort, write func([]dlq.ExportedRow) error) (rows int64, err error) {
	if err := s.TextIsBehind(ctx, q); err != nil {
		return 0, err
	}
	for after := ""; ; {
		list, next, err := s.Entries(ctx, by, q, sort, after, exportPage)
		if err != nil {
			return rows, err
		}
		page, err := s.withEvidence(ctx, list)
		if err != nil {
			return rows, err
		}
		if err := write(page); err != nil {
			return rows, err
		}
		rows += int64(len(page))
		if next == "" {
			return rows, nil
		}
		after = next
	}
}

func (s *Store) withEvidence(ctx context.Context, list []dlq.Entry) ([]dlq.ExportedRow, error) {
	evidence := make([]int64, len(list))
	for i, e := range list {
		evidence[i] = e.EvidenceID
	}
	attempts := map[int64]dlq.Attempt{}
	err := each(ctx, s.reader(), `select `+attemptColumns+`, a.detail from json_each($1) j cross join attempt a on a.id = j.value
		join cell c on c.id = a.cell_id join fingerprint f on f.id = c.fingerprint_id join version_set v on v.id = c.version_set_id order by a.id`, []any{jsonList(evidence)}, func(rows *sql.Rows) error {
		var detail []byte
		a, err := scanAttempt(rows, &detail)
		if err != nil {
			return err
		}
		err = s.codec.unpackJSON(detail, &a.Detail)
		attempts[a.ID] = a
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the evidence of entries: %w", err)
	}
	out := make([]dlq.ExportedRow, len(list))
	for i, e := range list {
		out[i] = dlq.NewExportedRow(e, attempts[e.EvidenceID])
	}
	return out, nil
}
