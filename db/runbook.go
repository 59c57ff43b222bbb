package db

import (
	"context"
	"fmt"

	"dlo/dlq"
)

// SetCohortRunbook replaces what people wrote of a cohort. Was is the text that
// the new one was made from: where another stands by now, nothing is changed.
func (s *Store) SetCohortRunbook(ctx context.Context, by dlq.Actor, cohortID, was, runbook string) error {
	return s.update(ctx, func(tx *Tx) error {
		var stands string
		found, err := tx.row(`select runbook from cohort where id = $1`, []any{cohortID}, &stands)
		if err != nil {
			return fmt.Errorf("read the runbook: %w", err)
		}
		if !found {
			return dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
		}
		if stands == runbook {
			return nil
		}
		if stands != was {
			return dlq.Errorf(dlq.KindConflict, "somebody changed the runbook while you wrote; nothing was saved")
		}
		if _, err := tx.exec(`update cohort set runbook = $1 where id = $2`, runbook, cohortID); err != nil {
			return fmt.Errorf("save the runbook: %w", err)
		}
		return tx.audit(by, auditEntry{action: "cohort.runbook", cohort: cohortID, detail: map[string]any{"bytes": len(runbook), "before": len(stands)}})
	})
}
