package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"dlo/dlq"
)

// replaysOfStepRead is how many redrives of a cohort are read at either end of its
// history to find what tells them apart: the canaries, which are the likeliest to
// have failed, are the oldest of an operation, and the rest are the newest.
const replaysOfStepRead = 2000

// CountedReplays lists the replays of a cohort, those that were merged into it
// included, that made one step of versions and count for others: newest first, as
// far as the viewer may see. Of a very long history it reads both ends.
func (s *Store) CountedReplays(ctx context.Context, by dlq.Actor, cohortID string, step dlq.VersionStep) ([]dlq.CountedReplay, error) {
	held, err := s.absorbed(ctx, []string{cohortID})
	if err != nil {
		return nil, err
	}
	var f filter
	most, of := f.arg(replaysOfStepRead), f.ofSourcesOf(by, "source_id")
	ends := ""
	for _, id := range held[cohortID] {
		for _, order := range []string{"desc", "asc"} {
			if ends != "" {
				ends += " union "
			}
			ends += `select id from (select id from redrive where failed_cohort = ` + f.arg(id) + ` and sent_at is not null and ` + of + ` order by created_at ` + order + `, id ` + order + ` limit ` + most + `)`
		}
	}
	var out []dlq.CountedReplay
	err = each(ctx, s.reader(), `select r.entry_id, r.failed_attempt, r.verdict, case r.outcome when 'failed' then coalesce(o.merged_into, r.outcome_cohort, '') else '' end
		from (`+ends+`) k join redrive r on r.id = k.id left join cohort o on o.id = r.outcome_cohort
		where r.verdict is not null and r.step_id = (select id from version_step where moved = `+f.arg(step.Key())+`)
		order by r.created_at desc, r.id desc`, f.args, func(rows *sql.Rows) error {
		var r dlq.CountedReplay
		var said, fellNow string
		if err := rows.Scan(&r.EntryID, &r.AttemptID, &said, &fellNow); err != nil {
			return err
		}
		var j judged
		if err := json.Unmarshal([]byte(said), &j); err != nil {
			return err
		}
		v := j.Verdict
		if fellNow != "" && fellNow != cohortID && j.Other != nil {
			v = *j.Other
		}
		r.Passed, r.Presumed = v.Name == dlq.VerdictFixedByCode, v.Presumed
		if r.Passed || v.Name == dlq.VerdictStillBroken {
			out = append(out, r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the replays of a step: %w", err)
	}
	return out, nil
}
