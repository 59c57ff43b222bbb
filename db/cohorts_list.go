package db

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dlo/dlq"
)

// The list of cohorts, a page at a time. Where every entry of a cohort counts,
// its own row has the numbers and an index the order. Where a part of them does
// (of some sources, of what a query says about cells), the numbers are sums over
// the open cells of that part. No entry is read but by a query about entries.

// cohortList is a question about cohorts compiled to SQL: k is the cohort, and
// part, where there is one, what is counted of it.
type cohortList struct {
	filter
	by     dlq.Actor
	q      dlq.CohortQuery
	only   string       // condition on the cells c that count; empty: every entry counts
	states []dlq.Status // an entry must be in one of them
	// By what cohorts need: those whose redrive stopped, and those with a proof that
	// nobody used. Both are few, and decided in Go.
	stopped, proven []string
}

func (s *Store) cohortList(ctx context.Context, q dlq.CohortQuery, by dlq.Actor) (*cohortList, error) {
	l := &cohortList{by: by, q: q}
	cells, _, entries := q.Having.Split()
	l.states = statesOf(q)
	if len(entries.Terms) > 0 {
		having := q.Having
		if len(l.states) < len(dlq.Statuses) {
			having.Terms = append(append([]dlq.Term{}, having.Terms...), dlq.Term{Key: "status", Values: namesOf(l.states)})
		}
		f, err := s.filter(ctx, having, by, false)
		if err != nil {
			return nil, err
		}
		// It comes first, so that its placeholders keep their numbers.
		l.filter = filter{args: f.args}
		l.where = []string{"k.id in (select m.cohort_id from " + f.from() + " join fingerprint m on m.id = e.fingerprint_id where " + f.sql() + ")"}
	}
	var err error
	if l.proofs, err = s.proofsFor(ctx, by, q.Having, q.Open); err != nil {
		return nil, err
	}
	if q.Sort == dlq.CohortsByNeed {
		if err := s.needsOfProof(ctx, l); err != nil {
			return nil, err
		}
	}
	l.only = l.cellCondition(q, cells, by)
	if states := inStates("k", l.states); l.only == "" && states != "" {
		l.and(states)
	}
	if q.ID == "" {
		l.and("k.merged_into is null")
	}
	if q.Review != nil {
		l.and("k.review = " + l.arg(*q.Review))
	}
	for _, word := range q.Words {
		has := l.like("%" + escapeLike(word) + "%")
		l.and("(" + has("k.error_type") + " or " + has("k.template") + " or " + has("k.frame") + ")")
	}
	if q.ID != "" {
		id := l.arg(q.ID)
		// One that was merged leads to the one that it is in now.
		l.and("k.id in (select coalesce(merged_into, id) from cohort where id = " + id + " union all select cohort_id from fingerprint where digest = " + l.arg(digestIn(q.ID)) + ")")
	}
	if !q.New.IsZero() {
		l.and("k.created_at > " + l.arg(ms(q.New)))
	}
	if !q.Back.IsZero() {
		l.and("k.returned_at > " + l.arg(ms(q.Back)))
	}
	return l, nil
}

// sourceOf is the source of a cell. Where only what is stuck is asked for, the
// plus keeps the planner from the indexes of a source's cells: most of those are
// of versions long gone, and what is stuck has an index of its own.
func (l *cohortList) sourceOf(cell string) string {
	if within(statesOf(l.q), stuckStates) {
		return "+" + cell + ".source_id"
	}
	return cell + ".source_id"
}

// cellCondition is what the cells of the question must be; empty: any.
func (l *cohortList) cellCondition(q dlq.CohortQuery, having dlq.Query, by dlq.Actor) string {
	var all []string
	if len(by.Sources) > 0 {
		all = append(all, l.ofSourcesOf(by, l.sourceOf("c")))
	}
	if q.ID != "" && len(all) > 0 {
		all = append(all, "c.fingerprint_id in (select n.id from fingerprint n join cohort o on n.cohort_id = coalesce(o.merged_into, o.id) where o.id = "+l.arg(q.ID)+" union all select n.id from fingerprint n join fingerprint o on o.cohort_id = n.cohort_id where o.digest = "+l.arg(digestIn(q.ID))+")")
	}
	if q.Source != "" {
		all = append(all, l.sourceOf("c")+" = (select id from source where name = "+l.arg(q.Source)+")")
	}
	if q.Class != "" {
		all = append(all, "c.error_class = "+l.arg(q.Class))
	}
	for _, t := range having.Terms {
		condition, _ := l.cellTerm(t)
		if t.Negated {
			condition = "(" + condition + ") is not true"
		}
		all = append(all, condition)
	}
	return strings.Join(all, " and ")
}

var stuckStates = []dlq.Status{dlq.StatusParked, dlq.StatusRedriving, dlq.StatusQuarantined}

// statesOf lists the states that an entry must be in to be meant.
func statesOf(q dlq.CohortQuery) []dlq.Status {
	var out []dlq.Status
	for _, s := range q.Having.StatesOf() {
		if (q.Status == "" || q.Status == s) && (!q.Open || slices.Contains(stuckStates, s)) {
			out = append(out, s)
		}
	}
	return out
}

func within(states, list []dlq.Status) bool {
	for _, s := range states {
		if !slices.Contains(list, s) {
			return false
		}
	}
	return true
}

func namesOf(list []dlq.Status) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return names
}

// sumOf adds the counters of some states of a cohort or a cell.
func sumOf(alias string, states []dlq.Status) string {
	var columns []string
	for _, s := range dlq.Statuses {
		if slices.Contains(states, s) {
			columns = append(columns, alias+"."+string(s))
		}
	}
	if len(columns) == 0 {
		return "0"
	}
	return strings.Join(columns, " + ")
}

// inStates is the condition that a cohort or a cell has an entry in one of some
// states; empty where any state will do. What is stuck stands in an index of its
// own, which serves only a condition that names it.
func inStates(alias string, states []dlq.Status) string {
	if len(states) == len(dlq.Statuses) {
		return ""
	}
	condition := sumOf(alias, states) + " > 0"
	if !within(states, stuckStates) {
		return condition
	}
	if stuck := sumOf(alias, stuckStates) + " > 0"; stuck != condition {
		return condition + " and " + stuck
	}
	return condition
}

const never = "9223372036854775807" // sorts after every time

// part is the sums over the cells that are asked for, a row a cohort: all that
// the order needs. Empty: every entry counts.
func (l *cohortList) part() string {
	if l.only == "" {
		return ""
	}
	states := l.states
	where, having := l.only+" and "+sumOf("c", states)+" > 0", ""
	if condition := inStates("c", states); condition != "" {
		where = l.only + " and " + condition
	}
	if l.q.Sort == dlq.CohortsByNeed {
		// What a cohort needs follows from all that is stuck of it, in whichever
		// state it is listed for.
		having = " having sum(" + sumOf("c", states) + ") > 0"
		where = l.only + " and " + inStates("c", stuckStates)
		if !within(states, stuckStates) {
			where = l.only + " and (" + sumOf("c", stuckStates) + " > 0 or " + sumOf("c", states) + " > 0)"
		}
	}
	columns := []string{"m.cohort_id as id"}
	for _, s := range dlq.Statuses {
		columns = append(columns, fmt.Sprintf("sum(c.%s) as %s", s, s))
	}
	switch l.q.Sort {
	case dlq.CohortsByAge:
		columns = append(columns, `min((select min(e.opened_at) from entry e where e.cell_id = c.id and e.status = 'parked')) as oldest_opened`)
	case dlq.CohortsByExpiry, dlq.CohortsByNeed:
		columns = append(columns, `min((select min(e.expires_at) from entry e where e.cell_id = c.id and e.status = 'parked')) as next_expiry`)
	case dlq.CohortsByLastSeen:
		var last []string
		for _, s := range states {
			last = append(last, "coalesce((select max(e.last_seen) from entry e where e.cell_id = c.id and e.status = '"+string(s)+"'), 0)")
		}
		columns = append(columns, "max(max(0, "+strings.Join(append(last, "0"), ", ")+")) as last_seen")
	case dlq.CohortsByArrivals:
		columns = append(columns, `(select sum(dy.arrivals) from fingerprint n join fingerprint_day dy on dy.fingerprint_id = n.id where n.cohort_id = m.cohort_id`+l.visible("dy.source_id")+`) as arrivals`)
	}
	return `with part as materialized (select ` + strings.Join(columns, ", ") + ` from cell c join fingerprint m on m.id = c.fingerprint_id where ` + where + ` group by m.cohort_id` + having + `) `
}

// visible limits a column of source ids to what the actor may see.
func (l *cohortList) visible(column string) string {
	if len(l.by.Sources) == 0 {
		return ""
	}
	return " and " + l.ofSourcesOf(l.by, column)
}

func (l *cohortList) from() string {
	if l.only == "" {
		return " from cohort k where " + l.sql()
	}
	return " from part join cohort k on k.id = part.id where " + l.sql()
}

// counts is the alias of the row that has the numbers which are asked for.
func (l *cohortList) counts() string {
	if l.only == "" {
		return "k"
	}
	return "part"
}

// depth is the number that the list shows, and orders by in the end.
func (l *cohortList) depth() string {
	if l.q.Status != "" {
		return l.counts() + "." + string(l.q.Status)
	}
	return l.counts() + ".parked"
}

// order gives what the list is ordered by, before the id, and whether it
// descends.
func (l *cohortList) order(s *Store) (keys []string, descending bool) {
	switch l.q.Sort {
	case dlq.CohortsByNeed:
		return []string{l.urgency(s), l.depth()}, true
	case dlq.CohortsByLastSeen:
		return []string{l.counts() + ".last_seen"}, true
	case dlq.CohortsByArrivals:
		return []string{l.counts() + ".arrivals"}, true
	case dlq.CohortsByAge:
		return []string{"coalesce(" + l.counts() + ".oldest_opened, " + never + ")"}, false
	case dlq.CohortsByExpiry:
		return []string{"coalesce(" + l.counts() + ".next_expiry, " + never + ")"}, false
	}
	return []string{l.depth()}, true
}

// withAbsorbed are the ids of the cohort k and of those that were merged into it:
// what was declared of them, and sent, is the cohort's now.
const withAbsorbed = `(select k.id union all select o.id from cohort o where o.merged_into = k.id)`

// urgency is dlq.NeedOf in SQL, turned around so that it descends as sizes do.
// A test holds the two together.
func (l *cohortList) urgency(s *Store) string {
	n := l.counts()
	today := l.arg(dayOf(s.Now()))
	days := func(condition string) string {
		return `(select coalesce(sum(dy.arrivals), 0) from fingerprint m join fingerprint_day dy on dy.fingerprint_id = m.id where m.cohort_id = k.id and ` + condition + l.visible("dy.source_id") + `)`
	}
	cells := ""
	if l.only != "" {
		cells = " and " + l.only
	}
	stuckUnder := func(comparison string) string {
		return `exists (select 1 from fingerprint m cross join cell c on c.fingerprint_id = m.id cross join version_of v on v.version_set_id = c.version_set_id
			where m.cohort_id = k.id and c.parked > 0 and c.parked + c.redriving + c.quarantined > 0 and v.component = x.component and v.version ` + comparison + cells + `)`
	}
	// Few cohorts have a fix: the others are told apart by one list, read once.
	fixed := `k.id in (select coalesce(o.merged_into, o.id) from fix x join cohort o on o.id = x.cohort_id where x.withdrawn_at is null)`
	among := func(ids []string) string {
		return `k.id in (select value from json_each(` + l.arg(jsonTexts(ids)) + `))`
	}
	rank := func(need dlq.Need) string { return fmt.Sprint(int(dlq.NeedDecided - need)) }
	return `case when k.disposition <> '' then ` + rank(dlq.NeedDecided) + `
		when 'cohort:' || k.id in (select a.subject from alert a where a.state = 'firing'` + l.visible("a.source_id") + `) then ` + rank(dlq.NeedLook) + `
		when k.id in (select m.cohort_id from fingerprint_day dy join fingerprint m on m.id = dy.fingerprint_id where dy.day = ` + today + l.visible("dy.source_id") + ` group by m.cohort_id having sum(dy.arrivals) >= ` + fmt.Sprint(dlq.FloodLeast) + `)
			and ` + days("dy.day = "+today) + ` * ` + fmt.Sprint(cohortDays-1) + ` >= ` + fmt.Sprint(dlq.FloodTimes) + ` * ` + days("dy.day > "+today+" - "+fmt.Sprint(cohortDays)+" and dy.day < "+today) + ` then ` + rank(dlq.NeedLook) + `
		when ` + among(l.stopped) + ` then ` + rank(dlq.NeedLook) + `
		when ` + fixed + ` and exists (select 1 from fix x where x.cohort_id in ` + withAbsorbed + ` and x.withdrawn_at is null and ` + stuckUnder("= x.version") + `) then ` + rank(dlq.NeedLook) + `
		when ` + fixed + ` and exists (select 1 from fix x join deployment r on r.component = x.component and r.version = x.version and r.stopped_at is null
			where x.cohort_id in ` + withAbsorbed + ` and x.withdrawn_at is null` + l.visible("r.source_id") + ` and ` + stuckUnder("<> x.version and +c.source_id = r.source_id") + `
			and not exists (select 1 from redrive t where t.failed_cohort in ` + withAbsorbed + ` and t.sent_at >= r.started_at` + l.visible("t.source_id") + `)) then ` + rank(dlq.NeedTest) + `
		when ` + among(l.proven) + ` then ` + rank(dlq.NeedProven) + `
		when ` + n + `.next_expiry < ` + l.arg(ms(s.Now().Add(dlq.ExpiresSoon))) + ` then ` + rank(dlq.NeedDeadline) + `
		when ` + n + `.quarantined > 0 then ` + rank(dlq.NeedVerdict) + `
		else ` + rank(dlq.NeedNothing) + ` end`
}

// Cohorts lists cohorts by what is asked of them, a page at a time. Next is
// empty on the last page. The counts are of the entries in the cells that were
// asked for, and whom they are shown to may see all of them.
func (s *Store) Cohorts(ctx context.Context, by dlq.Actor, q dlq.CohortQuery, after string, limit int) (list []dlq.Cohort, next string, err error) {
	l, err := s.cohortList(ctx, q, by)
	if err != nil {
		return nil, "", err
	}
	part := l.part()
	keys, descending := l.order(s)
	direction, beyond := " asc", ">"
	if descending {
		direction, beyond = " desc", "<"
	}
	if after != "" {
		values, id, err := parseCohortCursor(after, q.Sort, len(keys))
		if err != nil {
			return nil, "", err
		}
		marks := make([]string, len(values))
		for i, v := range values {
			marks[i] = l.arg(v)
		}
		l.and("(" + strings.Join(keys, ", ") + ", k.id) " + beyond + " (" + strings.Join(marks, ", ") + ", " + l.arg(id) + ")")
	}
	query := part + "select k.id, " + strings.Join(keys, ", ") + l.from() + " order by "
	for i := range keys {
		query += fmt.Sprint(i+2) + direction + ", " // by its place, so that it is worked out once
	}
	query += "k.id" + direction + " limit " + l.arg(limit+1)
	var last []int64
	err = each(ctx, s.reader(), query, l.args, func(rows *sql.Rows) error {
		var c dlq.Cohort
		values := make([]int64, len(keys))
		into := []any{&c.ID}
		for i := range values {
			into = append(into, &values[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if list = append(list, c); len(list) <= limit {
			last = values
		}
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("read cohorts: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = cohortCursor(q.Sort, last, list[limit-1].ID)
	}
	return list, next, s.fillCohorts(ctx, l, list)
}

// CountCohorts counts the cohorts of a list, and their documents that it is
// about: those in the state that it shows.
func (s *Store) CountCohorts(ctx context.Context, by dlq.Actor, q dlq.CohortQuery) (cohorts, documents int64, err error) {
	q.Sort = dlq.CohortsByDepth
	l, err := s.cohortList(ctx, q, by)
	if err != nil {
		return 0, 0, err
	}
	query := l.part() + "select count(*), coalesce(sum(" + l.depth() + "), 0)" + l.from()
	if _, err := s.one(ctx, query, l.args, &cohorts, &documents); err != nil {
		return 0, 0, fmt.Errorf("count cohorts: %w", err)
	}
	return cohorts, documents, nil
}

// cohortCursor is where a page ended: its order, the values of that, and the id.
func cohortCursor(sort dlq.CohortSort, values []int64, id string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprint(v)
	}
	return string(cmp.Or(sort, dlq.CohortsByDepth)) + "-" + strings.Join(parts, ".") + "-" + id
}

func parseCohortCursor(text string, sort dlq.CohortSort, keys int) ([]int64, string, error) {
	order, rest, _ := strings.Cut(text, "-")
	place, id, found := strings.Cut(rest, "-")
	parts := strings.Split(place, ".")
	if !found || order != string(cmp.Or(sort, dlq.CohortsByDepth)) || len(parts) != keys {
		return nil, "", errCursor()
	}
	values := make([]int64, keys)
	for i, p := range parts {
		v, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return nil, "", errCursor()
		}
		values[i] = v
	}
	return values, id, nil
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
