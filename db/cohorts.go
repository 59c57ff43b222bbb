package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
)

// Fingerprints gives what a cohort's members are made of, oldest first.
func (s *Store) Fingerprints(ctx context.Context, cohortID string) ([]dlq.Fingerprint, error) {
	var out []dlq.Fingerprint
	err := each(ctx, s.reader(), `select algorithm, digest, mode, confidence, language, error_type, root_type, template, frames, canonical from fingerprint where cohort_id = $1 order by id limit 100`, []any{cohortID}, func(rows *sql.Rows) error {
		var f dlq.Fingerprint
		var frames string
		if err := rows.Scan(&f.Algorithm, &f.Digest, &f.Mode, &f.Confidence, &f.Language, &f.Type, &f.RootType, &f.Template, &frames, &f.Canonical); err != nil {
			return err
		}
		out = append(out, f)
		return json.Unmarshal([]byte(frames), &out[len(out)-1].Frames)
	})
	if err != nil {
		return nil, fmt.Errorf("read fingerprints: %w", err)
	}
	return out, nil
}

// VersionMonths counts a cohort's entries by the versions that they failed
// under and the month of their opening: parked ones and all.
func (s *Store) VersionMonths(ctx context.Context, by dlq.Actor, cohortID string) ([]dlq.VersionMonth, error) {
	var out []dlq.VersionMonth
	err := each(ctx, s.reader(), `select s.name, v.versions, m.month, sum(m.entries), coalesce(sum(case when m.status = 'parked' then m.entries end), 0)
		from fingerprint f join cell l on l.fingerprint_id = f.id join source s on s.id = l.source_id join version_set v on v.id = l.version_set_id join cell_month m on m.cell_id = l.id
		where f.cohort_id = $1 group by s.name, v.versions, m.month having sum(m.entries) > 0 order by s.name, v.versions, m.month limit 2000`, []any{cohortID}, func(rows *sql.Rows) error {
		var m dlq.VersionMonth
		var versions string
		var month int64
		if err := rows.Scan(&m.Source, &versions, &month, &m.Entries, &m.Parked); err != nil {
			return err
		}
		if !by.SeesSource(m.Source) {
			return nil
		}
		m.Versions, m.Month = dlq.ParseVersions(versions), time.Date(int(month/12), time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC)
		out = append(out, m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count failed under by month: %w", err)
	}
	return out, nil
}

// DailyArrivals gives a cohort's arrivals of the last days, oldest first, the
// last being today.
func (s *Store) DailyArrivals(ctx context.Context, by dlq.Actor, cohortID string, days int) ([]int64, error) {
	out := make([]int64, days)
	today := dayOf(s.Now())
	condition, sources := seenSources("d.source_id", by)
	err := each(ctx, s.reader(), `select d.day, sum(d.arrivals) from fingerprint f join fingerprint_day d on d.fingerprint_id = f.id where f.cohort_id = ? and d.day > ?`+condition+` group by d.day`,
		slices.Concat([]any{cohortID, today - int64(days)}, sources), func(rows *sql.Rows) error {
			var day, n int64
			if err := rows.Scan(&day, &n); err != nil {
				return err
			}
			if at := day - today + int64(days) - 1; at >= 0 && at < int64(days) {
				out[at] = n
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read arrivals by day: %w", err)
	}
	return out, nil
}

// CohortRedrives lists the redrives that were sent for entries that were in a
// cohort when they were asked for, newest first: of the sources that somebody
// may see.
func (s *Store) CohortRedrives(ctx context.Context, by dlq.Actor, cohortID string, limit int) ([]dlq.Redrive, error) {
	list, err := s.ReplaysOf(ctx, by, []string{cohortID}, limit)
	return list[cohortID], err
}

// ReplaysOf lists the newest redrives of each of several cohorts, at most limit
// of each, newest first, in one question.
func (s *Store) ReplaysOf(ctx context.Context, by dlq.Actor, cohortIDs []string, limit int) (map[string][]dlq.Redrive, error) {
	out := map[string][]dlq.Redrive{}
	if len(cohortIDs) == 0 {
		return out, nil
	}
	// What was merged into a cohort goes on as its evidence.
	held, err := s.absorbed(ctx, cohortIDs)
	if err != nil {
		return nil, err
	}
	var f filter
	var arms []string
	most := f.arg(limit)
	of := f.ofSourcesOf(by, "source_id")
	for _, id := range cohortIDs {
		for _, one := range held[id] {
			arms = append(arms, `select id from (select id from redrive where failed_cohort = `+f.arg(one)+` and sent_at is not null and `+of+` order by created_at desc, id desc limit `+most+`)`)
		}
	}
	list, err := redrivesWhere(ctx, s.reader(), `where r.id in (`+strings.Join(arms, " union all ")+`) order by r.created_at desc, r.id desc`, f.args...)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if len(out[r.FailedCohort]) < limit {
			out[r.FailedCohort] = append(out[r.FailedCohort], r)
		}
	}
	return out, nil
}

// FilterChoices lists the values that a list of entries can be filtered by.
func (s *Store) FilterChoices(ctx context.Context) (dlq.FilterChoices, error) {
	var c dlq.FilterChoices
	for column, into := range map[string]*[]string{"error_class": &c.Classes, "error_type": &c.Types, "content_type": &c.ContentTypes} {
		values, _, err := s.cellValues(ctx, dlq.Actor{}, column)
		if err != nil {
			return c, fmt.Errorf("read the choices of a filter: %w", err)
		}
		slices.Sort(values)
		*into = slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
	}
	var err error
	if c.Parsers, err = s.texts(ctx, distinctBySeeks("version", "version_of", "component = 'parser'"), valuesLooked); err != nil {
		return c, fmt.Errorf("read the choices of a filter: %w", err)
	}
	return c, nil
}
