package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"dlo/dlq"
)

// digestIn is the digest in a fingerprint as people write it, with or without
// its algorithm: f1:7f3a…, or f1:7f3a…/rule:value for a part of a split.
func digestIn(s string) string {
	if algorithm, digest, found := strings.Cut(s, ":"); found && !strings.Contains(algorithm, "/") {
		return digest
	}
	return s
}

// absorbed gives for each of some cohorts itself and those that were merged into
// it.
func (s *Store) absorbed(ctx context.Context, cohortIDs []string) (map[string][]string, error) {
	out := map[string][]string{}
	args := make([]any, len(cohortIDs))
	for i, id := range cohortIDs {
		out[id], args[i] = []string{id}, id
	}
	err := each(ctx, s.reader(), `select merged_into, id from cohort where merged_into in (`+placeholders(len(args))+`) order by id limit 1000`, args, func(rows *sql.Rows) error {
		var into, id string
		err := rows.Scan(&into, &id)
		out[into] = append(out[into], id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find what was merged: %w", err)
	}
	return out, nil
}

// Grouping is how a cohort came to be: what it was a part of, what was merged
// into it, and the rules in force or undone, newest first.
func (s *Store) Grouping(ctx context.Context, by dlq.Actor, cohortID string) (dlq.Grouping, error) {
	var g dlq.Grouping
	found, err := s.one(ctx, `select grouping, coalesce(split_from, ''), part from cohort where id = $1`, []any{cohortID}, &g.State, &g.SplitFrom, &g.Part)
	if err != nil {
		return g, fmt.Errorf("read the grouping: %w", err)
	}
	if !found {
		return g, dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
	}
	g.Rules, err = groupingRules(ctx, s.reader(), `where r.id in (select rule_id from grouping_touch where cohort_id = $1) order by r.seq desc limit 50`, cohortID)
	if err != nil {
		return g, err
	}
	// A rule that somebody else has to be asked about is not offered.
	g.Whole = true
	err = each(ctx, s.reader(), `select distinct s.name from fingerprint f join cell l on l.fingerprint_id = f.id join source s on s.id = l.source_id where f.cohort_id = $1`, []any{cohortID}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		g.Whole = g.Whole && by.SeesSource(name)
		return err
	})
	if err != nil {
		return g, fmt.Errorf("read the grouping: %w", err)
	}
	return g, nil
}

// Alike lists cohorts that look like the same defect as one: the same type and
// message template, and two of three frames. They are suggestions, of what the
// person may see.
func (s *Store) Alike(ctx context.Context, by dlq.Actor, cohortID string, limit int) ([]dlq.Cohort, error) {
	var f filter
	self := f.arg(cohortID)
	visible := f.ofSourcesOf(by, "l.source_id")
	mine, others := []dlq.Fingerprint{}, map[string][]dlq.Fingerprint{}
	var order []string
	err := each(ctx, s.reader(), `select o.cohort_id, o.error_type, o.template, o.frames from fingerprint m join fingerprint o on o.error_type = m.error_type and o.template = m.template
		join cohort c on c.id = o.cohort_id where m.cohort_id = `+self+` and m.parent_id is null and o.parent_id is null and m.error_type <> '' and o.mode = 'trace'
		and c.review = (select review from cohort where id = `+self+`) and c.parked + c.redriving + c.quarantined > 0
		and exists (select 1 from cell l where l.fingerprint_id = o.id and `+visible+`) order by o.id limit 500`, f.args, func(rows *sql.Rows) error {
		var cohort, frames string
		var fp dlq.Fingerprint
		if err := rows.Scan(&cohort, &fp.Type, &fp.Template, &frames); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(frames), &fp.Frames); err != nil {
			return err
		}
		if cohort == cohortID {
			mine = append(mine, fp)
			return nil
		}
		if others[cohort] == nil {
			order = append(order, cohort)
		}
		others[cohort] = append(others[cohort], fp)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find cohorts that look alike: %w", err)
	}
	var out []dlq.Cohort
	for _, id := range order {
		if !alike(mine, others[id]) {
			continue
		}
		c, err := s.Cohort(ctx, by, id)
		if dlq.KindOf(err) == dlq.KindNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, c); len(out) == limit {
			break
		}
	}
	return out, nil
}

func alike(some, others []dlq.Fingerprint) bool {
	for _, a := range some {
		for _, b := range others {
			if a.Alike(b) {
				return true
			}
		}
	}
	return false
}
