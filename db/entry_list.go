package db

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dlo/dlq"
)

// entryOrder is an order of a list of entries. Every order ends in the id, so
// that a cursor names one place.
type entryOrder struct {
	column     string
	descending bool
	value      func(dlq.Entry) int64
}

var entrySorts = map[dlq.EntrySort]entryOrder{
	dlq.SortLastSeen: {"e.last_seen", true, func(e dlq.Entry) int64 { return ms(e.LastSeen) }},
	dlq.SortOldest:   {"e.opened_at", false, func(e dlq.Entry) int64 { return ms(e.OpenedAt) }},
	dlq.SortExpires:  {"e.expires_at", false, func(e dlq.Entry) int64 { return ms(e.ExpiresAt) }},
	dlq.SortAttempts: {"e.attempts", true, func(e dlq.Entry) int64 { return e.Attempts }},
}

func (o entryOrder) sql() string {
	if o.descending {
		return o.column + " desc, e.id desc"
	}
	return o.column + ", e.id"
}

func (o entryOrder) beyond() string {
	if o.descending {
		return "<"
	}
	return ">"
}

// cursor is where a page of a list ended.
type cursor struct {
	Value int64         `json:"v"`
	ID    int64         `json:"i"`
	Sort  dlq.EntrySort `json:"s"` // the order that it is a place in
}

func (c cursor) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(s string) (cursor, error) {
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return c, errCursor()
	}
	return c, nil
}

func errCursor() error {
	return dlq.Invalid("the list cannot go on from there", dlq.Fault{Pointer: "/cursor", Detail: "a cursor from the answer before expected, in the same order"})
}

// Entries lists the entries that a query matches, a page at a time. Next is
// empty on the last page.
func (s *Store) Entries(ctx context.Context, by dlq.Actor, q dlq.Query, sort dlq.EntrySort, after string, limit int) (list []dlq.Entry, next string, err error) {
	limit = max(limit, 1)
	order, ok := entrySorts[sort]
	if !ok {
		sort, order = dlq.SortLastSeen, entrySorts[dlq.SortLastSeen]
	}
	f, err := s.filter(ctx, q, by, true)
	if err != nil {
		return nil, "", err
	}
	if err := s.beginWithCells(ctx, &f, q, by, order); err != nil {
		return nil, "", err
	}
	if after != "" {
		c, err := parseCursor(after)
		if err == nil && c.Sort != sort {
			err = errCursor()
		}
		if err != nil {
			return nil, "", err
		}
		f.and("(" + order.column + ", e.id) " + order.beyond() + " (" + f.arg(c.Value) + ", " + f.arg(c.ID) + ")")
	}
	from, where := f.pageFrom(order, limit+1)
	list, err = s.entriesOf(ctx, "select "+entryColumns+" from "+from+entryJoins+where, f.args...)
	if err != nil || len(list) <= limit {
		return list, "", err
	}
	list = list[:limit]
	last := list[limit-1]
	return list, cursor{order.value(last), last.ID, sort}.String(), nil
}

// bySource says whether a list can be merged from that of each of its sources.
func (f *filter) bySource(order entryOrder) bool {
	return order.column == "e.opened_at" && len(f.sources) > 0 && len(f.sources) <= sourcesMerged
}

// sourcesMerged is of how many sources at most a list is merged from the lists of
// each: a source is one more short read for each state.
const sourcesMerged = 8

// pageFrom is the entries of one page, and what is said of them after the joins.
// The indexes that lists are read by begin with the state: of several states,
// the first rows of each are read in the order of its index, and merged. The
// order of opening has an index for each source too.
func (f *filter) pageFrom(order entryOrder, limit int) (from, where string) {
	most := " order by " + order.sql() + " limit " + f.arg(limit)
	if f.driver != "" {
		return "(select e.id from " + f.from() + " where " + f.sql() + most + ") page cross join entry e on e.id = page.id", "order by " + order.sql()
	}
	sources := []string{""}
	if f.bySource(order) {
		sources = f.sources
	}
	if len(f.statuses) < 2 && sources[0] == "" {
		return "entry e", "where " + f.sql() + most
	}
	direction := ""
	if order.descending {
		direction = " desc"
	}
	var parts []string
	for _, status := range f.statuses {
		from, where := "entry e", f.sqlOf([]dlq.Status{status})
		if slices.Contains(f.byCells, status) {
			from = "cell c cross join entry e on e.cell_id = c.id and e.status = '" + string(status) + "'"
			where = strings.Join(slices.Concat(f.cellsIn([]dlq.Status{status}), f.where), " and ")
		}
		for _, source := range sources {
			of := ""
			if source != "" {
				of = " and e.source_id = (select id from source where name = " + f.arg(source) + ")"
			}
			parts = append(parts, "select * from (select e.id as id, "+order.column+" as place from "+from+" where "+where+of+most+")")
		}
	}
	if len(parts) == 0 {
		return "entry e", "where " + f.sql() + most
	}
	return "(select id from (" + strings.Join(parts, " union all ") + ") order by place" + direction + ", id" + direction + " limit " + f.arg(limit) + ") page cross join entry e on e.id = page.id", "order by " + order.sql()
}

// cellsRare is how many entries the cells of a query may have at most so that a
// list begins with them. Reading n of N costs n; the order of the list comes
// upon a page of them after N/n times as many entries of its index as a page has,
// each of which costs an eighth of a row that is read. Where that is less, the
// order is read.
const (
	cellsRare = 2_000
	pageCosts = 6
)

// beginWithCells looks up in the rollup how many entries the cells of a query
// have, and lets a list begin with them where that is few.
func (s *Store) beginWithCells(ctx context.Context, f *filter, q dlq.Query, by dlq.Actor, order entryOrder) error {
	if f.driver != "" || len(f.cells) == 0 || q.Has("cohort") {
		return nil
	}
	rolled, _ := f.rolledUp(q, by)
	rolled.sources = f.sources
	if f.takesOut(q) {
		rolled.statuses = slices.DeleteFunc(slices.Clone(f.statuses), func(s dlq.Status) bool { return !slices.Contains(stuckStates, s) })
	}
	found := make([]int64, len(dlq.Statuses))
	var all, stuck int64
	into := []any{&all, &stuck}
	for i := range found {
		into = append(into, &found[i])
	}
	if _, err := s.one(ctx, rolled.countCellsByState(), rolled.args, into...); err != nil {
		return fmt.Errorf("count what cells hold: %w", err)
	}
	few := func(n, of int64) bool { return n <= cellsRare && n*n <= pageCosts*of }
	bySource := f.bySource(order) && len(f.cells) == 1
	var some []dlq.Status
	n, of := int64(0), stuck
	for i, status := range dlq.Statuses {
		counted, among := slices.Contains(rolled.statuses, status), all
		if slices.Contains(stuckStates, status) {
			among = stuck
		} else if found[i] > 0 {
			of = all
		}
		if n += found[i]; found[i] > 0 || !counted && slices.Contains(f.statuses, status) {
			some = append(some, status)
		}
		if found[i] > 0 && few(found[i], among) && !bySource {
			f.byCells = append(f.byCells, status)
		}
	}
	if len(rolled.statuses) < len(f.statuses) || !few(n, of) || bySource {
		f.narrow(some)
		return nil
	}
	f.driver = "select x.id as id from cell c cross join entry x on x.cell_id = c.id and x.status in (" + statusNames(f.statuses) + ") where " + strings.Join(f.withStates(f.statuses), " and ")
	f.cells = nil
	return nil
}

// takesOut says that the cells of a query are those that some terms leave: most
// of them, long gone ones too, which are not worth counting.
func (f *filter) takesOut(q dlq.Query) bool {
	for _, t := range q.Terms {
		if _, ofCell := f.cellTerm(t); ofCell && !t.Negated {
			return false
		}
	}
	return len(f.sources) == 0
}

// narrow leaves out the states in which nothing matches.
func (f *filter) narrow(some []dlq.Status) {
	f.statuses = slices.DeleteFunc(slices.Clone(f.statuses), func(s dlq.Status) bool { return !slices.Contains(some, s) })
	f.said = true
}

// CountEntries counts what a query matches, exactly. What cells and states
// answer is read from the rollup.
func (s *Store) CountEntries(ctx context.Context, by dlq.Actor, q dlq.Query) (int64, error) {
	f, err := s.filter(ctx, q, by, false)
	if err != nil {
		return 0, err
	}
	var n int64
	query, args := "select count(*) from "+f.from()+" where "+f.sql(), f.args
	if rolled, whole := f.rolledUp(q, by); whole {
		query, args = rolled.countCells(), rolled.args
	}
	if _, err = s.one(ctx, query, args, &n); err != nil {
		return 0, fmt.Errorf("count entries: %w", err)
	}
	return n, nil
}

// rolledUp is the filter with nothing but cells and states in it, and whether
// the query asks for nothing else.
func (f *filter) rolledUp(q dlq.Query, by dlq.Actor) (rolled filter, whole bool) {
	r := filter{members: f.members, proofs: f.proofs, statuses: f.statuses, said: f.said}
	whole = true
	if len(by.Sources) > 0 {
		r.cells = append(r.cells, "c.source_id in (select id from source where name in ("+r.list(by.Sources)+"))")
	}
	for _, t := range q.Terms {
		condition, ok := r.cellTerm(t)
		switch {
		case t.Key == "cohort":
			condition = r.either(t.Values, func(v string) string { return "c.fingerprint_id in (" + r.memberList(v) + ")" })
		case t.Key == "status":
			continue
		case !ok:
			whole = false
			continue
		}
		if t.Negated {
			condition = "(" + condition + ") is not true"
		}
		r.cells = append(r.cells, condition)
	}
	return r, whole
}

// countCells adds up the counters of cells.
func (f *filter) countCells() string {
	where := strings.Join(f.withStates(f.statuses), " and ")
	if where == "" {
		where = "1 = 1"
	}
	return "select coalesce(sum(" + sumOf("c", f.statuses) + "), 0) from cell c where " + where
}

// withStates are the conditions on the cells, and that they have an entry in one
// of some states: most cells are of versions long gone, with nothing that is
// stuck.
func (f *filter) withStates(statuses []dlq.Status) []string {
	if condition := inStates("c", statuses); condition != "" {
		return append(slices.Clone(f.cells), condition)
	}
	return f.cells
}

// countCellsByState adds up the counters of cells state by state, after how many
// entries there are about, and how many of them are stuck: 0 of a state that the
// query does not let through.
func (f *filter) countCellsByState() string {
	all := "(select coalesce(max(id), 0) from entry)"
	stuck := "(select coalesce(sum(" + sumOf("k", stuckStates) + "), 0) from cohort k where " + sumOf("k", stuckStates) + " > 0)"
	columns := []string{all, stuck}
	counted := f.statuses
	ofSources := len(f.cells) == 1 && len(f.sources) > 0 && len(f.sources) <= sourcesMerged
	if ofSources {
		counted = slices.DeleteFunc(slices.Clone(counted), func(s dlq.Status) bool { return !slices.Contains(stuckStates, s) })
	}
	for _, status := range dlq.Statuses {
		column := "coalesce(sum(0), 0)" // a sum as well, so that there is a row where no cell is looked at
		switch {
		case slices.Contains(counted, status):
			column = "coalesce(sum(c." + string(status) + "), 0)"
		case slices.Contains(f.statuses, status):
			column = f.countOfSources(status)
		}
		columns = append(columns, column)
	}
	where := f.cellsIn(counted)
	return "select " + strings.Join(columns, ", ") + " from cell c where " + strings.Join(where, " and ")
}

// cellsIn are the conditions on cells that have an entry in one of some states.
// Few have one that is stuck, and those have an index of their own, which the
// planner would leave aside for that of their source.
func (f *filter) cellsIn(states []dlq.Status) []string {
	where := slices.Clone(f.cells)
	if within(states, stuckStates) {
		for i := range where {
			where[i] = strings.ReplaceAll(where[i], "c.source_id in", "+c.source_id in")
		}
	}
	if condition := inStates("c", states); condition != "" {
		where = append(where, condition)
	}
	return where
}

// countOfSources counts the entries in a state of the sources that a query names,
// of each as far as it matters: its cells of long ago are more than that.
func (f *filter) countOfSources(status dlq.Status) string {
	var parts []string
	for _, source := range f.sources {
		parts = append(parts, "(select count(*) from (select 1 from entry e where e.source_id = (select id from source where name = "+f.arg(source)+") and e.status = '"+string(status)+fmt.Sprintf("' limit %d))", cellsRare+1))
	}
	return strings.Join(parts, " + ")
}

// exactFilter is filter for what acts on a set or hands it out: it waits for a
// text index that is far behind.
func (s *Store) exactFilter(ctx context.Context, q dlq.Query, by dlq.Actor) (filter, error) {
	if err := s.TextIsBehind(ctx, q); err != nil {
		return filter{}, err
	}
	return s.filter(ctx, q, by, false)
}

// Members lists the ids of what a query matches, in one snapshot and in the
// order of first arrival.
func (s *Store) Members(ctx context.Context, by dlq.Actor, q dlq.Query) ([]string, error) {
	f, err := s.exactFilter(ctx, q, by)
	if err != nil {
		return nil, err
	}
	var out []string
	err = each(ctx, s.reader(), "select e.dlq_id from "+f.from()+" where "+f.sql()+" order by e.id", f.args, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the membership: %w", err)
	}
	return out, nil
}
