package db

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
)

const cohortColumns = `k.id, k.review, k.confidence, k.error_type, k.template, k.frame, k.owner, k.ticket, k.runbook, k.parked, k.redriving, k.quarantined, k.archived, k.resolved, k.erased,
	k.arrivals, k.first_seen, k.last_seen, k.oldest_opened, k.next_expiry, k.disposition, k.part`

func scanCohort(rows *sql.Rows, c *dlq.Cohort) error {
	var parked, redriving, quarantined, archived, resolved, erased, first, last int64
	var oldest, expiry sql.NullInt64
	err := rows.Scan(&c.ID, &c.Review, &c.Confidence, &c.ErrorType, &c.Template, &c.Frame, &c.Owner, &c.Ticket, &c.Runbook, &parked, &redriving, &quarantined, &archived, &resolved, &erased,
		&c.Arrivals, &first, &last, &oldest, &expiry, &c.Disposition, &c.Part)
	c.FirstSeen, c.LastSeen = fromMS(first), fromMS(last)
	c.Oldest, c.Standing.NextExpiry = fromNullMS(oldest), fromNullMS(expiry)
	c.Counts = map[dlq.Status]int64{dlq.StatusParked: parked, dlq.StatusRedriving: redriving, dlq.StatusQuarantined: quarantined, dlq.StatusArchived: archived, dlq.StatusResolved: resolved, dlq.StatusErased: erased}
	return err
}

// cohortDays is how many days of arrivals a list shows.
const cohortDays = 30

// cohortFill reads what stands in a page of cohorts. Each of its questions is
// one for the whole page.
type cohortFill struct {
	s     *Store
	ctx   context.Context
	by    dlq.Actor
	q     dlq.CohortQuery
	index map[string]*dlq.Cohort
	ids   []string

	proofs provenCells // as the list was compiled
}

// ask begins a question about the page: its filter, and the ids as a list.
func (c *cohortFill) ask() (l *cohortList, in string) {
	l = &cohortList{filter: filter{proofs: c.proofs}, by: c.by, q: c.q}
	return l, "(" + l.list(c.ids) + ")"
}

// cells is the condition on the cells that the counts are of, to be added to
// another; visible is the one of those that the viewer may see.
func (c *cohortFill) cells(l *cohortList) string {
	having, _, _ := c.q.Having.Split()
	if condition := l.cellCondition(c.q, having, c.by); condition != "" {
		return " and " + condition
	}
	return ""
}

func (s *Store) fillCohorts(ctx context.Context, of *cohortList, list []dlq.Cohort) error {
	by, q := of.by, of.q
	if len(list) == 0 {
		return nil
	}
	c := &cohortFill{s: s, ctx: ctx, by: by, q: q, index: map[string]*dlq.Cohort{}, proofs: of.proofs}
	for i := range list {
		list[i].Daily = make([]int64, cohortDays)
		c.index[list[i].ID] = &list[i]
		c.ids = append(c.ids, list[i].ID)
	}
	steps := []struct {
		what string
		do   func() error
	}{{"cohorts", c.rows}, {"the counts of cohorts", c.counts}, {"the versions of cohorts", c.versions}, {"the sources of cohorts", c.sources}, {"the members of cohorts", c.members},
		{"the arrivals of cohorts", c.days}, {"the alerts of cohorts", c.alerts}, {"the fixes of cohorts", c.fixes}, {"the proofs of cohorts", c.proven}, {"the redrives of cohorts", c.redrives}}
	if len(by.Sources) > 0 {
		steps = append(steps, struct {
			what string
			do   func() error
		}{"the arrivals that the actor may see", c.seen})
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	return nil
}

func (c *cohortFill) rows() error {
	l, in := c.ask()
	return each(c.ctx, c.s.reader(), `select `+cohortColumns+` from cohort k where k.id in `+in, l.args, func(rows *sql.Rows) error {
		var found dlq.Cohort
		if err := scanCohort(rows, &found); err != nil {
			return err
		}
		found.Daily = c.index[found.ID].Daily
		*c.index[found.ID] = found
		return nil
	})
}

// narrowed says that counts are sums over cells, and not the cohort's own.
func (c *cohortFill) narrowed() bool { return len(c.by.Sources) > 0 || c.q.Narrows() }

// counts reads how many entries are in which state, where a part of a cohort
// counts. Of a list of what is stuck the other states are left out: no screen
// shows them there, and they would be a row for each cell that there ever was.
func (c *cohortFill) counts() error {
	if !c.narrowed() {
		return nil
	}
	if !c.q.Narrows() {
		return c.sums(false)
	}
	if len(c.by.Sources) == 0 {
		for _, cohort := range c.index {
			cohort.Whole = cohort.Counts
		}
	} else if err := c.sums(true); err != nil {
		return err
	}
	return c.sums(false)
}

// sources reads in which sources a cohort's entries are, those with most of what
// is stuck first. It steps from one source to the next in the index of cells, a
// seek each, because most cells are of versions long gone.
func (c *cohortFill) sources() error {
	l, in := c.ask()
	stuck := map[string]map[string]int64{}
	for id, cohort := range c.index {
		stuck[id] = map[string]int64{}
		for _, under := range cohort.FailedUnder {
			stuck[id][under.Source] += under.Parked
		}
	}
	err := each(c.ctx, c.s.reader(), `with recursive step (cohort_id, member, source_id) as (
			select m.cohort_id, m.id, (select min(c.source_id) from cell c where c.fingerprint_id = m.id) from fingerprint m where m.cohort_id in `+in+`
			union all select x.cohort_id, x.member, (select min(c.source_id) from cell c where c.fingerprint_id = x.member and c.source_id > x.source_id) from step x where x.source_id is not null)
		select distinct x.cohort_id, s.name from step x join source s on s.id = x.source_id
		where exists (select 1 from cell c where c.fingerprint_id = x.member and c.source_id = x.source_id and c.parked + c.redriving + c.quarantined + c.archived + c.resolved + c.erased > 0`+c.cells(l)+`)`+l.visible("s.id"), l.args, func(rows *sql.Rows) error {
		var id, source string
		err := rows.Scan(&id, &source)
		c.index[id].Sources = append(c.index[id].Sources, source)
		return err
	})
	for id, cohort := range c.index {
		slices.SortFunc(cohort.Sources, func(a, b string) int { return cmp.Or(cmp.Compare(stuck[id][b], stuck[id][a]), cmp.Compare(a, b)) })
	}
	return err
}

// sums adds up cells: of all that the viewer may see, or of what was asked for.
func (c *cohortFill) sums(whole bool) error {
	l, in := c.ask()
	condition := ""
	if whole {
		condition = l.visible(l.sourceOf("c"))
	} else {
		condition = c.cells(l)
	}
	states := dlq.Statuses
	if c.q.Open {
		states = stuckStates
		condition += " and " + sumOf("c", stuckStates) + " > 0"
	}
	for _, cohort := range c.index {
		counts := map[dlq.Status]int64{}
		if whole {
			cohort.Whole = counts
		} else {
			cohort.Counts = counts
		}
	}
	columns := ""
	for _, s := range states {
		columns += ", sum(c." + string(s) + ")"
	}
	return each(c.ctx, c.s.reader(), `select m.cohort_id`+columns+` from fingerprint m cross join cell c on c.fingerprint_id = m.id where m.cohort_id in `+in+condition+` group by m.cohort_id`, l.args, func(rows *sql.Rows) error {
		var id string
		counts := make([]int64, len(states))
		into := []any{&id}
		for i := range counts {
			into = append(into, &counts[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		to := c.index[id].Counts
		if whole {
			to = c.index[id].Whole
		}
		for i, status := range states {
			to[status] = counts[i]
		}
		return nil
	})
}

func (c *cohortFill) versions() error {
	l, in := c.ask()
	under, err := c.s.stuckUnder(c.ctx, l, in, c.cells(l))
	for id, groups := range under {
		c.index[id].FailedUnder = groups
	}
	return err
}

// stuckUnder reads how many parked entries of some cohorts failed under which
// versions in which source, most first. In is the list of the cohorts, cells a
// further condition on the cells c.
func (s *Store) stuckUnder(ctx context.Context, l *cohortList, in, cells string) (map[string][]dlq.VersionCount, error) {
	out := map[string][]dlq.VersionCount{}
	parsed := map[string]dlq.Versions{} // few sets, in many rows
	err := each(ctx, s.reader(), `select m.cohort_id, s.name, v.versions, sum(c.parked) from fingerprint m cross join cell c on c.fingerprint_id = m.id join source s on s.id = c.source_id join version_set v on v.id = c.version_set_id
		where m.cohort_id in `+in+` and c.parked > 0 and c.parked + c.redriving + c.quarantined > 0`+cells+` group by m.cohort_id, s.id, v.id order by 4 desc, s.name, v.versions`, l.args, func(rows *sql.Rows) error {
		var id string
		var under dlq.VersionCount
		var versions string
		if err := rows.Scan(&id, &under.Source, &versions, &under.Parked); err != nil {
			return err
		}
		if _, known := parsed[versions]; !known {
			parsed[versions] = dlq.ParseVersions(versions)
		}
		under.Versions = maps.Clone(parsed[versions])
		out[id] = append(out[id], under)
		return nil
	})
	return out, err
}

// members reads the fingerprints, and how many parked entries leave soon; where
// a part counts, the oldest of it as well.
func (c *cohortFill) members() error {
	l, in := c.ask()
	soon := ms(c.s.Now().Add(dlq.ExpiresSoon))
	expiring := "0"
	if !c.narrowed() {
		expiring = `(select count(*) from entry e where e.fingerprint_id = m.id and e.status = 'parked' and e.expires_at < ` + l.arg(soon) + `)`
	}
	err := each(c.ctx, c.s.reader(), `select m.cohort_id, m.algorithm || ':' || m.digest, `+expiring+` from fingerprint m where m.cohort_id in `+in+` order by m.id`, l.args, func(rows *sql.Rows) error {
		var id, fp string
		var n int64
		if err := rows.Scan(&id, &fp, &n); err != nil {
			return err
		}
		c.index[id].Fingerprints = append(c.index[id].Fingerprints, fp)
		c.index[id].Expiring += n
		return nil
	})
	if err != nil || !c.narrowed() {
		return err
	}
	for _, cohort := range c.index {
		cohort.Oldest, cohort.Standing.NextExpiry = time.Time{}, time.Time{}
	}
	l, in = c.ask()
	return each(c.ctx, c.s.reader(), `select m.cohort_id, min((select min(e.opened_at) from entry e where e.cell_id = c.id and e.status = 'parked')),
		min((select min(e.expires_at) from entry e where e.cell_id = c.id and e.status = 'parked')),
		sum((select count(*) from entry e where e.cell_id = c.id and e.status = 'parked' and e.expires_at < `+l.arg(soon)+`))
		from fingerprint m cross join cell c on c.fingerprint_id = m.id where m.cohort_id in `+in+` and c.parked > 0 and c.parked + c.redriving + c.quarantined > 0`+c.cells(l)+` group by m.cohort_id`, l.args, func(rows *sql.Rows) error {
		var id string
		var oldest, expiry sql.NullInt64
		var n int64
		if err := rows.Scan(&id, &oldest, &expiry, &n); err != nil {
			return err
		}
		cohort := c.index[id]
		cohort.Oldest, cohort.Standing.NextExpiry, cohort.Expiring = fromNullMS(oldest), fromNullMS(expiry), n
		return nil
	})
}

func (c *cohortFill) days() error {
	l, in := c.ask()
	today := dayOf(c.s.Now())
	return each(c.ctx, c.s.reader(), `select m.cohort_id, dy.day, sum(dy.arrivals) from fingerprint m join fingerprint_day dy on dy.fingerprint_id = m.id
		where m.cohort_id in `+in+` and dy.day > `+l.arg(today-cohortDays)+` and dy.day <= `+l.arg(today)+l.visible("dy.source_id")+` group by m.cohort_id, dy.day`, l.args, func(rows *sql.Rows) error {
		var id string
		var day, n int64
		if err := rows.Scan(&id, &day, &n); err != nil {
			return err
		}
		c.index[id].Daily[day-today+cohortDays-1] = n
		return nil
	})
}

// seen puts the arrivals of the sources that somebody may see in the place of
// the cohort's.
func (c *cohortFill) seen() error {
	for _, cohort := range c.index {
		cohort.Arrivals, cohort.FirstSeen, cohort.LastSeen = 0, time.Time{}, time.Time{}
	}
	if c.q.Open {
		return nil // no list of what is stuck shows them, and they are all the days that there ever were
	}
	l, in := c.ask()
	return each(c.ctx, c.s.reader(), `select m.cohort_id, sum(dy.arrivals), min(dy.day), max(dy.day) from fingerprint m join fingerprint_day dy on dy.fingerprint_id = m.id
		where m.cohort_id in `+in+l.visible("dy.source_id")+` group by m.cohort_id`, l.args, func(rows *sql.Rows) error {
		var id string
		var arrivals, first, last int64
		if err := rows.Scan(&id, &arrivals, &first, &last); err != nil {
			return err
		}
		// To the day: finer times are kept for the cohort as a whole only.
		cohort := c.index[id]
		cohort.Arrivals, cohort.FirstSeen, cohort.LastSeen = arrivals, fromMS(first*dayMS), fromMS(last*dayMS)
		return nil
	})
}

func (c *cohortFill) alerts() error {
	l := &cohortList{by: c.by}
	subjects := make([]string, len(c.ids))
	for i, id := range c.ids {
		subjects[i] = "cohort:" + id
	}
	return each(c.ctx, c.s.reader(), `select a.subject, count(*) from alert a where a.state = 'firing' and a.subject in (`+l.list(subjects)+`)`+l.visible("a.source_id")+` group by a.subject`, l.args, func(rows *sql.Rows) error {
		var subject string
		var n int64
		err := rows.Scan(&subject, &n)
		c.index[strings.TrimPrefix(subject, "cohort:")].Standing.Alerts = n
		return err
	})
}

// fixes holds the declared fixes of the page against what runs.
func (c *cohortFill) fixes() error {
	declared := map[string][]dlq.DeclaredFix{}
	l, in := c.ask()
	err := each(c.ctx, c.s.reader(), absorbed(strings.Trim(in, "()"))+`select g.live, x.component, x.version from absorbed g join fix x on x.cohort_id = g.id where x.withdrawn_at is null order by x.declared_at desc, x.id desc`, l.args, func(rows *sql.Rows) error {
		var id string
		var f dlq.DeclaredFix
		err := rows.Scan(&id, &f.Component, &f.Version)
		declared[id] = append(declared[id], f)
		return err
	})
	if err != nil || len(declared) == 0 {
		return err
	}
	var running []dlq.RunningVersion
	l = &cohortList{by: c.by}
	err = each(c.ctx, c.s.reader(), `select s.name, r.component, r.version, r.started_at from deployment r join source s on s.id = r.source_id where r.stopped_at is null`+l.visible("r.source_id")+` order by r.component, r.version, r.source_id`, l.args, func(rows *sql.Rows) error {
		var r dlq.RunningVersion
		var since int64
		err := rows.Scan(&r.Source, &r.Component, &r.Version, &since)
		r.Since = fromMS(since)
		running = append(running, r)
		return err
	})
	if err != nil {
		return err
	}
	for id, list := range declared {
		cohort := c.index[id]
		l = &cohortList{by: c.by}
		var sent sql.NullInt64
		if _, err := c.s.one(c.ctx, `select max(t.sent_at) from redrive t where t.failed_cohort in (select `+l.arg(id)+` union all select o.id from cohort o where o.merged_into = `+l.arg(id)+`) and t.sent_at is not null`+l.visible("t.source_id"), l.args, &sent); err != nil {
			return err
		}
		cohort.Standing.LastSent = fromNullMS(sent)
		for _, f := range list {
			cohort.Standing.Fixes = append(cohort.Standing.Fixes, f.Stands(cohort.FailedUnder, running, cohort.Standing.LastSent))
		}
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
