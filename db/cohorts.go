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

const cohortColumns = `c.id, c.review, c.confidence, c.error_type, c.template, c.frame, c.owner, c.ticket, c.runbook, c.disposition, c.parked, c.redriving, c.quarantined, c.archived, c.resolved, c.erased,
	c.arrivals, c.first_seen, c.last_seen`

func scanCohort(rows *sql.Rows) (dlq.Cohort, error) {
	var c dlq.Cohort
	var parked, redriving, quarantined, archived, resolved, erased, first, last int64
	err := rows.Scan(&c.ID, &c.Review, &c.Confidence, &c.ErrorType, &c.Template, &c.Frame, &c.Owner, &c.Ticket, &c.Runbook, &c.Disposition, &parked, &redriving, &quarantined, &archived, &resolved, &erased,
		&c.Arrivals, &first, &last)
	c.FirstSeen, c.LastSeen = fromMS(first), fromMS(last)
	c.Counts = map[dlq.Status]int64{dlq.StatusParked: parked, dlq.StatusRedriving: redriving, dlq.StatusQuarantined: quarantined, dlq.StatusArchived: archived, dlq.StatusResolved: resolved, dlq.StatusErased: erased}
	return c, err
}

// Cohorts lists cohorts by what is asked of them, a page at a time. The counts
// come from the rollups: no entry is read but the oldest of each.
func (s *Store) Cohorts(ctx context.Context, by dlq.Actor, q dlq.CohortQuery, after string, limit int) (list []dlq.Cohort, next string, err error) {
	f, err := s.cohortFilter(ctx, q, by)
	if err != nil {
		return nil, "", err
	}
	column, descending := "c.parked", true
	switch q.Sort {
	case dlq.CohortsByLastSeen:
		column = "c.last_seen"
	case dlq.CohortsByArrivals:
		column = "c.arrivals"
	case dlq.CohortsByAge:
		column, descending = "c.first_seen", false
	}
	direction, beyond := "asc", ">"
	if descending {
		direction, beyond = "desc", "<"
	}
	if after != "" {
		value, id, ok := strings.Cut(after, "-")
		var v int64
		if _, err := fmt.Sscan(value, &v); err != nil || !ok {
			return nil, "", dlq.Invalid("the list cannot go on from there", dlq.Fault{Pointer: "/cursor", Detail: "a cursor from the answer before expected"})
		}
		f.and("(" + column + ", c.id) " + beyond + " (" + f.arg(v) + ", " + f.arg(id) + ")")
	}
	err = each(ctx, s.reader(), `select `+cohortColumns+` from cohort c where `+f.sql()+` order by `+column+` `+direction+`, c.id `+direction+` limit `+f.arg(limit+1), f.args, func(rows *sql.Rows) error {
		c, err := scanCohort(rows)
		list = append(list, c)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read cohorts: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		value := map[string]int64{"c.parked": last.Parked(), "c.last_seen": ms(last.LastSeen), "c.arrivals": last.Arrivals, "c.first_seen": ms(last.FirstSeen)}[column]
		next = fmt.Sprintf("%d-%s", value, last.ID)
	}
	return list, next, s.fillCohorts(ctx, by, list)
}

func (s *Store) cohortFilter(ctx context.Context, q dlq.CohortQuery, by dlq.Actor) (filter, error) {
	var f filter
	if len(q.Having.Terms) > 0 {
		entries, err := s.filter(ctx, q.Having, by, false)
		if err != nil {
			return f, err
		}
		// It comes first, so that its placeholders keep their numbers.
		f.args = entries.args
		f.and("c.id in (select m.cohort_id from " + entries.from() + " join fingerprint m on m.id = e.fingerprint_id where " + entries.sql() + ")")
	}
	if q.Review != nil {
		f.and("c.review = " + f.arg(*q.Review))
	}
	if len(by.Sources) > 0 && (q.Status != "" || q.Open) {
		f.and(f.visibleIn(q, by))
	} else if q.Status != "" {
		f.and(map[dlq.Status]string{dlq.StatusParked: "c.parked > 0", dlq.StatusRedriving: "c.redriving > 0", dlq.StatusQuarantined: "c.quarantined > 0",
			dlq.StatusArchived: "c.archived > 0", dlq.StatusResolved: "c.resolved > 0", dlq.StatusErased: "c.erased > 0"}[q.Status])
	}
	if len(by.Sources) == 0 && q.Open {
		f.and("c.parked + c.redriving + c.quarantined > 0")
	}
	cells := ""
	if len(by.Sources) > 0 {
		cells += " and l.source_id in (select id from source where name in (" + f.list(by.Sources) + "))"
	}
	if q.Source != "" {
		cells += " and l.source_id = (select id from source where name = " + f.arg(q.Source) + ")"
	}
	if q.Class != "" {
		cells += " and l.error_class = " + f.arg(q.Class)
	}
	if cells != "" {
		f.and("exists (select 1 from fingerprint m join cell l on l.fingerprint_id = m.id where m.cohort_id = c.id" + cells + ")")
	}
	if q.Text != "" {
		like := f.arg("%" + escapeLike(q.Text) + "%")
		f.and("(c.error_type like " + like + " escape '\\' or c.template like " + like + " escape '\\' or c.frame like " + like + " escape '\\')")
	}
	if q.ID != "" {
		id := f.arg(q.ID)
		digest := f.arg(digestIn(q.ID))
		// One that was merged leads to the one that it is in now.
		f.and("(c.id = coalesce((select merged_into from cohort where id = " + id + "), " + id + ") or c.id in (select cohort_id from fingerprint where digest = " + digest + "))")
	}
	return f, nil
}

// visibleIn is a condition on a cohort's states that counts what the actor may
// see alone.
func (f *filter) visibleIn(q dlq.CohortQuery, by dlq.Actor) string {
	states := []string{string(q.Status)}
	if q.Status == "" {
		states = []string{string(dlq.StatusParked), string(dlq.StatusRedriving), string(dlq.StatusQuarantined)}
	}
	return "exists (select 1 from fingerprint m join cell l on l.fingerprint_id = m.id join cell_month n on n.cell_id = l.id where m.cohort_id = c.id and n.entries > 0 and n.status in (" +
		f.list(states) + ") and l.source_id in (select id from source where name in (" + f.list(by.Sources) + ")))"
}

// Cohort finds a cohort by its id or by one of its fingerprints.
func (s *Store) Cohort(ctx context.Context, by dlq.Actor, id string) (dlq.Cohort, error) {
	list, _, err := s.Cohorts(ctx, by, dlq.CohortQuery{ID: id}, "", 1)
	if err != nil {
		return dlq.Cohort{}, err
	}
	if len(list) == 0 {
		return dlq.Cohort{}, dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
	}
	return list[0], nil
}

// fillCohorts reads what stands beside a cohort's counters: members, sources,
// versions, the oldest entry, what leaves soon, and arrivals by day.
func (s *Store) fillCohorts(ctx context.Context, by dlq.Actor, list []dlq.Cohort) error {
	index := map[string]*dlq.Cohort{}
	ids := make([]any, len(list))
	for i := range list {
		index[list[i].ID], ids[i] = &list[i], list[i].ID
		list[i].Daily = make([]int64, cohortDays)
	}
	if len(list) == 0 {
		return nil
	}
	in := "(" + placeholders(len(ids)) + ")"
	today := dayOf(s.Now())
	soon := ms(s.Now().Add(7 * 24 * time.Hour))
	visible, sources := "", []any{}
	if len(by.Sources) > 0 {
		visible = " and e.source_id in (select id from source where name in (" + placeholders(len(by.Sources)) + "))"
		for _, name := range by.Sources {
			sources = append(sources, name)
		}
	}
	err := each(ctx, s.reader(), `select f.cohort_id, f.algorithm || ':' || f.digest,
		(select min(e.opened_at) from entry e where e.fingerprint_id = f.id and e.status = 'parked'`+visible+`),
		(select count(*) from entry e where e.fingerprint_id = f.id and e.status = 'parked' and e.expires_at < ?`+visible+`)
		from fingerprint f where f.cohort_id in `+in+` order by f.id`, slices.Concat(sources, []any{soon}, sources, ids), func(rows *sql.Rows) error {
		var cohort, fp string
		var oldest sql.NullInt64
		var expiring int64
		if err := rows.Scan(&cohort, &fp, &oldest, &expiring); err != nil {
			return err
		}
		c := index[cohort]
		c.Fingerprints = append(c.Fingerprints, fp)
		c.Expiring += expiring
		if at := fromNullMS(oldest); !at.IsZero() && (c.Oldest.IsZero() || at.Before(c.Oldest)) {
			c.Oldest = at
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the members of cohorts: %w", err)
	}
	err = each(ctx, s.reader(), `select f.cohort_id, s.name, v.versions, coalesce(sum(case when m.status = 'parked' then m.entries end), 0), sum(m.entries)
		from fingerprint f join cell l on l.fingerprint_id = f.id join source s on s.id = l.source_id join version_set v on v.id = l.version_set_id join cell_month m on m.cell_id = l.id
		where f.cohort_id in `+in+` group by f.cohort_id, s.name, v.versions order by 4 desc, 5 desc, s.name, v.versions`, ids, func(rows *sql.Rows) error {
		var cohort, source, versions string
		var parked, all int64
		if err := rows.Scan(&cohort, &source, &versions, &parked, &all); err != nil {
			return err
		}
		c := index[cohort]
		if !by.SeesSource(source) {
			return nil
		}
		if all > 0 && !slices.Contains(c.Sources, source) {
			c.Sources = append(c.Sources, source)
		}
		if parked > 0 {
			c.FailedUnder = append(c.FailedUnder, dlq.VersionCount{Source: source, Versions: dlq.ParseVersions(versions), Parked: parked})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the versions of cohorts: %w", err)
	}
	if len(by.Sources) > 0 {
		if err := s.countVisible(ctx, by, index, in, ids); err != nil {
			return err
		}
	}
	visibleDays, sources := seenSources("d.source_id", by)
	err = each(ctx, s.reader(), `select f.cohort_id, d.day, sum(d.arrivals) from fingerprint f join fingerprint_day d on d.fingerprint_id = f.id
		where f.cohort_id in `+in+` and d.day > ?`+visibleDays+` group by f.cohort_id, d.day`, slices.Concat(ids, []any{today - cohortDays}, sources), func(rows *sql.Rows) error {
		var cohort string
		var day, n int64
		if err := rows.Scan(&cohort, &day, &n); err != nil {
			return err
		}
		if at := day - today + cohortDays - 1; at >= 0 && at < cohortDays {
			index[cohort].Daily[at] = n
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the arrivals of cohorts: %w", err)
	}
	return nil
}

// seenSources limits a column of source ids to what an actor may see, with the
// arguments of its placeholders; it is empty for who sees all.
func seenSources(column string, by dlq.Actor) (condition string, args []any) {
	if len(by.Sources) == 0 {
		return "", nil
	}
	for _, name := range by.Sources {
		args = append(args, name)
	}
	return " and " + column + " in (select id from source where name in (" + placeholders(len(args)) + "))", args
}

// countVisible counts the entries of cohorts for an actor who sees some sources
// only: a cohort may have entries of others.
func (s *Store) countVisible(ctx context.Context, by dlq.Actor, index map[string]*dlq.Cohort, in string, ids []any) error {
	for _, c := range index {
		c.Counts = map[dlq.Status]int64{}
	}
	args := append([]any{}, ids...)
	for _, name := range by.Sources {
		args = append(args, name)
	}
	err := each(ctx, s.reader(), `select f.cohort_id, m.status, sum(m.entries) from fingerprint f join cell l on l.fingerprint_id = f.id join source s on s.id = l.source_id join cell_month m on m.cell_id = l.id
		where f.cohort_id in `+in+` and s.name in (`+placeholders(len(by.Sources))+`) group by f.cohort_id, m.status`, args, func(rows *sql.Rows) error {
		var cohort string
		var status dlq.Status
		var n int64
		if err := rows.Scan(&cohort, &status, &n); err != nil {
			return err
		}
		index[cohort].Counts[status] = n
		return nil
	})
	if err != nil {
		return fmt.Errorf("count what the actor may see: %w", err)
	}
	condition, sources := seenSources("d.source_id", by)
	err = each(ctx, s.reader(), `select f.cohort_id, sum(d.arrivals), min(d.day), max(d.day) from fingerprint f join fingerprint_day d on d.fingerprint_id = f.id
		where f.cohort_id in `+in+condition+` group by f.cohort_id`, slices.Concat(ids, sources), func(rows *sql.Rows) error {
		var cohort string
		var arrivals, first, last int64
		if err := rows.Scan(&cohort, &arrivals, &first, &last); err != nil {
			return err
		}
		// To the day: finer times are kept for the cohort as a whole only.
		c := index[cohort]
		c.Arrivals, c.FirstSeen, c.LastSeen = arrivals, fromMS(first*dayMS), fromMS(last*dayMS)
		return nil
	})
	if err != nil {
		return fmt.Errorf("count the arrivals that the actor may see: %w", err)
	}
	return nil
}

const cohortDays = 30

// Totals are the figures that lead every page.
func (s *Store) Totals(ctx context.Context, by dlq.Actor) (dlq.Totals, error) {
	var t dlq.Totals
	if len(by.Sources) > 0 {
		return s.totalsOf(ctx, by)
	}
	_, err := s.one(ctx, `select coalesce(sum(case when review = 0 then parked end), 0), coalesce(sum(case when review = 1 then parked end), 0), coalesce(sum(quarantined), 0),
		coalesce(sum(redriving), 0), coalesce(sum(archived), 0), count(case when review = 0 and parked + redriving + quarantined > 0 then 1 end) from cohort`, nil,
		&t.Stuck, &t.InReview, &t.Quarantined, &t.Redriving, &t.Archived, &t.Cohorts)
	if err != nil {
		return t, fmt.Errorf("read the totals: %w", err)
	}
	return t, s.fillTotals(ctx, by, &t)
}

// totalsOf counts for an actor who sees some sources only.
func (s *Store) totalsOf(ctx context.Context, by dlq.Actor) (dlq.Totals, error) {
	var t dlq.Totals
	var f filter
	in := f.list(by.Sources)
	_, err := s.one(ctx, `select coalesce(sum(case when m.status = 'parked' and l.reason <> 'low_confidence' then m.entries end), 0), coalesce(sum(case when m.status = 'parked' and l.reason = 'low_confidence' then m.entries end), 0),
		coalesce(sum(case when m.status = 'quarantined' then m.entries end), 0), coalesce(sum(case when m.status = 'redriving' then m.entries end), 0), coalesce(sum(case when m.status = 'archived' then m.entries end), 0),
		count(distinct case when l.reason <> 'low_confidence' and m.status in ('parked', 'redriving', 'quarantined') and m.entries > 0 then f.cohort_id end)
		from cell_month m join cell l on l.id = m.cell_id join source s on s.id = l.source_id join fingerprint f on f.id = l.fingerprint_id where s.name in (`+in+`)`, f.args,
		&t.Stuck, &t.InReview, &t.Quarantined, &t.Redriving, &t.Archived, &t.Cohorts)
	if err != nil {
		return t, fmt.Errorf("read the totals: %w", err)
	}
	return t, s.fillTotals(ctx, by, &t)
}

func (s *Store) fillTotals(ctx context.Context, by dlq.Actor, t *dlq.Totals) error {
	sources, err := s.Sources(ctx)
	if err != nil {
		return err
	}
	now := s.Now()
	for _, src := range sources {
		if !by.SeesSource(src.Name()) {
			continue
		}
		var opened sql.NullInt64
		if _, err := s.one(ctx, `select min(opened_at) from entry where source_id = $1 and status = 'parked'`, []any{src.ID}, &opened); err != nil {
			return fmt.Errorf("find the oldest: %w", err)
		}
		if at := fromNullMS(opened); !at.IsZero() && (t.Oldest.IsZero() || at.Before(t.Oldest)) {
			t.Oldest, t.OldestSource = at, src.Name()
		}
	}
	q, _ := dlq.ParseQuery("status:parked expires:<7d")
	if t.Expiring, err = s.CountEntries(ctx, by, q); err != nil {
		return err
	}
	var f filter
	visible := ""
	since := f.arg(dayOf(now) - 7)
	if len(by.Sources) > 0 {
		visible = " and s.name in (" + f.list(by.Sources) + ")"
	}
	_, err = s.one(ctx, `select coalesce(sum(parked - unparked), 0) from source_day d join source s on s.id = d.source_id where d.day > `+since+` and d.review = 0`+visible, f.args, &t.NetWeek)
	if err != nil {
		return fmt.Errorf("read the week's net: %w", err)
	}
	return nil
}

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
	for query, into := range map[string]*[]string{
		`select distinct error_class from cell where error_class <> '' order by 1 limit 200`:              &c.Classes,
		`select distinct error_type from cell where error_type <> '' order by 1 limit 500`:                &c.Types,
		`select distinct version from version_of where component = 'parser' order by version limit 200`:   &c.Parsers,
		`select distinct content_type from cell where content_type <> '' order by content_type limit 200`: &c.ContentTypes,
	} {
		err := each(ctx, s.reader(), query, nil, func(rows *sql.Rows) error {
			var v string
			err := rows.Scan(&v)
			*into = append(*into, v)
			return err
		})
		if err != nil {
			return c, fmt.Errorf("read the choices of a filter: %w", err)
		}
	}
	return c, nil
}
