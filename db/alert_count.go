package db

import (
	"context"
	"fmt"

	"dlo/dlq"
)

// StandingAlertsOf counts the alerts that are not resolved and that somebody may
// know of: who is limited to sources, those of these sources alone.
func (s *Store) StandingAlertsOf(ctx context.Context, by dlq.Actor) (int64, error) {
	if len(by.Sources) == 0 {
		return s.StandingAlerts(ctx)
	}
	var f filter
	var n int64
	query := `select count(*) from alert where state in ('firing', 'acknowledged') and source_id in (select id from source where name in (` + f.list(by.Sources) + `))`
	if _, err := s.one(ctx, query, f.args, &n); err != nil {
		return 0, fmt.Errorf("count the alerts that stand: %w", err)
	}
	return n, nil
}
