package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"dlo/dlq"
)

// Totals are the figures that lead every page. All come from counters, but for
// what an index of the parked alone answers: the oldest, and what leaves soon.
func (s *Store) Totals(ctx context.Context, by dlq.Actor) (dlq.Totals, error) {
	var t dlq.Totals
	var f filter
	query := `select coalesce(sum(case when review = 0 then parked end), 0), coalesce(sum(case when review = 1 then parked end), 0), coalesce(sum(quarantined), 0),
		coalesce(sum(redriving), 0), coalesce(sum(archived), 0), count(case when review = 0 and parked + redriving + quarantined > 0 then 1 end) from cohort k where k.merged_into is null`
	if len(by.Sources) > 0 {
		query = `select coalesce(sum(case when k.review = 0 then c.parked end), 0), coalesce(sum(case when k.review = 1 then c.parked end), 0), coalesce(sum(c.quarantined), 0),
			coalesce(sum(c.redriving), 0), (select coalesce(sum(a.archived), 0) from cell a where a.archived > 0 and ` + f.ofSourcesOf(by, "a.source_id") + `), count(distinct case when k.review = 0 then k.id end)
			from cell c join fingerprint m on m.id = c.fingerprint_id join cohort k on k.id = m.cohort_id where c.parked + c.redriving + c.quarantined > 0 and ` + f.ofSourcesOf(by, "+c.source_id")
	}
	if _, err := s.one(ctx, query, f.args, &t.Stuck, &t.InReview, &t.Quarantined, &t.Redriving, &t.Archived, &t.Cohorts); err != nil {
		return t, fmt.Errorf("read the totals: %w", err)
	}
	oldest, err := s.OldestOfSources(ctx, by)
	if err != nil {
		return t, err
	}
	for _, o := range oldest {
		if t.Oldest.IsZero() || o.Opened.Before(t.Oldest) {
			t.Oldest, t.OldestSource = o.Opened, o.Source
		}
	}
	f = filter{}
	query = `select count(*) from entry e where e.status = 'parked' and e.expires_at < ` + f.arg(ms(s.Now().Add(dlq.ExpiresSoon))) + ` and ` + f.ofSourcesOf(by, "e.source_id")
	if _, err := s.one(ctx, query, f.args, &t.Expiring); err != nil {
		return t, fmt.Errorf("count what leaves soon: %w", err)
	}
	f = filter{}
	var since sql.NullInt64
	query = `select coalesce(sum((select sum(dy.parked - dy.unparked) from source_day dy where dy.source_id = s.id and dy.day > ` + f.arg(dayOf(s.Now())-7) + ` and dy.review = 0)), 0),
		min((select min(dy.day) from source_day dy where dy.source_id = s.id)) from source s where ` + f.ofSourcesOf(by, "s.id")
	if _, err := s.one(ctx, query, f.args, &t.NetWeek, &since); err != nil {
		return t, fmt.Errorf("read the week's net: %w", err)
	}
	if since.Valid {
		t.Since = time.UnixMilli(since.Int64 * dayMS).UTC()
	}
	return t, nil
}

// OldestOfSources gives the opening of the oldest parked entry of each source
// that has one: a seek a source.
func (s *Store) OldestOfSources(ctx context.Context, by dlq.Actor) ([]dlq.OldestOfSource, error) {
	var f filter
	var out []dlq.OldestOfSource
	err := each(ctx, s.reader(), `select s.name, (select min(e.opened_at) from entry e where e.source_id = s.id and e.status = 'parked') from source s where `+f.ofSourcesOf(by, "s.id")+` order by s.name`, f.args, func(rows *sql.Rows) error {
		var o dlq.OldestOfSource
		var opened sql.NullInt64
		err := rows.Scan(&o.Source, &opened)
		if opened.Valid {
			o.Opened = moment(opened.Int64)
			out = append(out, o)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the oldest of each source: %w", err)
	}
	return out, nil
}

// DepthByDay gives how many failures were parked at the end of each of the last
// days, oldest first, by source. It is counted back from what is parked now by
// what came and left on each day: a row a source and day.
func (s *Store) DepthByDay(ctx context.Context, by dlq.Actor, days int) (map[string][]int64, error) {
	today := dayOf(s.Now())
	var f filter
	out := map[string][]int64{}
	names := map[int64]string{}
	err := each(ctx, s.reader(), `select s.id, s.name from source s where `+f.ofSourcesOf(by, "s.id"), f.args, func(rows *sql.Rows) error {
		var id int64
		var name string
		err := rows.Scan(&id, &name)
		names[id], out[name] = name, make([]int64, days)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	err = each(ctx, s.reader(), `select c.source_id, sum(c.parked) from cell c where c.parked + c.redriving + c.quarantined > 0 and c.reason <> 'low_confidence' group by +c.source_id`, nil, func(rows *sql.Rows) error {
		var id, now int64
		err := rows.Scan(&id, &now)
		if name, visible := names[id]; visible {
			out[name][days-1] = now
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the depth: %w", err)
	}
	f = filter{}
	net := map[string]map[int64]int64{}
	query := `select s.name, dy.day, dy.parked - dy.unparked from source_day dy join source s on s.id = dy.source_id where dy.source_id in (select id from source) and dy.day > ` + f.arg(today-int64(days)) + ` and dy.review = 0 and ` + f.ofSourcesOf(by, "dy.source_id")
	err = each(ctx, s.reader(), query, f.args, func(rows *sql.Rows) error {
		var name string
		var day, n int64
		err := rows.Scan(&name, &day, &n)
		if net[name] == nil {
			net[name] = map[int64]int64{}
		}
		net[name][day] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the depth by day: %w", err)
	}
	for name, depth := range out {
		for i := days - 2; i >= 0; i-- {
			depth[i] = depth[i+1] - net[name][today-int64(days-2-i)]
		}
	}
	return out, nil
}

// Aging counts the parked failures of each source by how long they have been
// stuck: for each span, those opened longer ago than it. It reads the index of
// the parked alone, so it grows with the depth and not with the history.
func (s *Store) Aging(ctx context.Context, by dlq.Actor, spans []time.Duration) (map[string][]int64, error) {
	out := map[string][]int64{}
	var f filter
	var counts []string
	for _, span := range spans {
		counts = append(counts, `(select count(*) from entry e where e.source_id = s.id and e.status = 'parked' and e.opened_at < `+f.arg(ms(s.Now().Add(-span)))+`)`)
	}
	query := `select s.name`
	for _, c := range counts {
		query += ", " + c
	}
	query += ` from source s where ` + f.ofSourcesOf(by, "s.id") + ` order by s.name`
	err := each(ctx, s.reader(), query, f.args, func(rows *sql.Rows) error {
		var name string
		into := []any{&name}
		values := make([]int64, len(spans))
		for i := range values {
			into = append(into, &values[i])
		}
		err := rows.Scan(into...)
		out[name] = values
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the ages: %w", err)
	}
	return out, nil
}
