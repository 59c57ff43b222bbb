package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// RedriveReport lists the redrives that were started in a span of time, newest
// first, at most limit of those that somebody may know of, with what was forecast
// and what came of it; more says that there are others.
func (s *Store) RedriveReport(ctx context.Context, by dlq.Actor, q dlq.RedriveReportQuery, limit int) (rows []dlq.RedriveReportRow, more bool, err error) {
	list, err := operationsWhere(ctx, s.reader(), `where created_at >= $1 and created_at < $2 and kind = 'redrive' order by created_at desc, id desc limit $3`, ms(q.From), ms(q.Until), limit+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	index, ids := map[string]*dlq.RedriveReportRow{}, []string{}
	rows = make([]dlq.RedriveReportRow, 0, len(list))
	for _, o := range list {
		sees, err := s.SeesOperation(ctx, by, o)
		if err != nil {
			return nil, false, err
		}
		if sees {
			rows = append(rows, dlq.RedriveReportRow{Operation: o, Outcomes: map[dlq.OutcomeResult]int64{}})
			ids = append(ids, o.ID)
		}
	}
	for i := range rows {
		index[rows[i].Operation.ID] = &rows[i]
	}
	failed, err := s.reportedOutcomes(ctx, ids, index)
	if err == nil {
		err = s.reportedFailures(ctx, failed, index)
	}
	if err == nil {
		err = s.reportedCohorts(ctx, ids, index)
	}
	if err != nil {
		return nil, false, fmt.Errorf("report redrives: %w", err)
	}
	return rows, more, nil
}

// reportedOutcomes counts outcomes, and answers the operations in which some failed.
func (s *Store) reportedOutcomes(ctx context.Context, ids []string, index map[string]*dlq.RedriveReportRow) (failed []string, err error) {
	err = each(ctx, s.reader(), `select t.operation_id, t.stands, sum(t.items) from json_each($1) j join operation_tally t on t.operation_id = j.value
		where t.items > 0 and t.stands not in ('waiting', 'in_flight', 'left_out', 'settled') group by 1, 2 order by 1, 2`, []any{jsonTexts(ids)}, func(rows *sql.Rows) error {
		var id string
		var outcome dlq.OutcomeResult
		var n int64
		if err := rows.Scan(&id, &outcome, &n); err != nil {
			return err
		}
		index[id].Outcomes[outcome] = n
		if outcome == dlq.OutcomeFailed {
			failed = append(failed, id)
		}
		return nil
	})
	return failed, err
}

// reportedFailures tells failures on the same error from those past it, as cohorts
// are now. It reads the redrives of operations in which some failed.
func (s *Store) reportedFailures(ctx context.Context, ids []string, index map[string]*dlq.RedriveReportRow) error {
	return each(ctx, s.reader(), `select x.operation_id, x.v, count(*) from (select r.operation_id,
		case when coalesce(o.merged_into, r.outcome_cohort) <> coalesce(f.merged_into, r.failed_cohort) then json_extract(r.verdict, '$.other.name') else json_extract(r.verdict, '$.name') end as v
		from json_each($1) j join redrive r on r.operation_id = j.value left join cohort f on f.id = r.failed_cohort left join cohort o on o.id = r.outcome_cohort
		where r.outcome = 'failed' and r.verdict is not null) x where x.v in ('next_defect', 'still_broken', 'unmoved') group by 1, 2 order by 1, 2`, []any{jsonTexts(ids)}, func(rows *sql.Rows) error {
		var id string
		var verdict dlq.VerdictName
		var n int64
		if err := rows.Scan(&id, &verdict, &n); err != nil {
			return err
		}
		if verdict == dlq.VerdictNextDefect {
			index[id].Past += n
		} else {
			index[id].Again += n
		}
		return nil
	})
}

func (s *Store) reportedCohorts(ctx context.Context, ids []string, index map[string]*dlq.RedriveReportRow) error {
	return each(ctx, s.reader(), `select p.id, c.id, c.error_type from json_each($1) j join operation p on p.id = j.value join cohort w on w.id = p.cohort_id join cohort c on c.id = coalesce(w.merged_into, w.id) order by p.id`, []any{jsonTexts(ids)}, func(rows *sql.Rows) error {
		var id, cohort, errorType string
		err := rows.Scan(&id, &cohort, &errorType)
		if r := index[id]; r != nil {
			r.CohortID, r.ErrorType = cohort, errorType
		}
		return err
	})
}
