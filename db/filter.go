package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
)

// filter is a query compiled to SQL: a condition on the entry e, with its
// arguments. Everything that a person typed is an argument; the texts of the
// conditions are all here.
type filter struct {
	where    []string
	cells    []string // conditions on the cell c of the entry
	statuses []dlq.Status
	sources  []string // the entries are of these alone, where it is known
	said     bool     // the query names states
	args     []any
	members  map[string][]int64 // of the cohorts that the query names
	texts    map[textSought]textFound
	searched int64        // the newest document that texts were looked for in
	decided  bool         // the dispositions that the query names are those of few entries
	proofs   provenCells  // what is proven of cells, where the query names proofs
	page     bool         // a page of a list is read, and not everything
	byCells  []dlq.Status // of which a page begins with the cells, because few entries match
	// driver selects the ids of at most a few entries, among which are all that
	// the query matches: then those are read, and no order of an index.
	driver string
}

func (f *filter) arg(v any) string {
	f.args = append(f.args, v)
	return fmt.Sprintf("$%d", len(f.args))
}

func (f *filter) list(values []string) string {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = f.arg(v)
	}
	return strings.Join(marks, ", ")
}

// ofSourcesOf is the condition that a column names a source that somebody may
// see: any, unless they are limited to some, and then not one that is null.
func (f *filter) ofSourcesOf(by dlq.Actor, column string) string {
	if len(by.Sources) == 0 {
		return "1 = 1"
	}
	return column + ` in (select id from source where name in (` + f.list(by.Sources) + `))`
}

func (f *filter) and(condition string) { f.where = append(f.where, condition) }

// sql is the condition on an entry e.
func (f *filter) sql() string { return f.sqlOf(f.statuses) }

// sqlOf is the condition for some of the states that the query lets through.
func (f *filter) sqlOf(statuses []dlq.Status) string {
	where := slices.Clone(f.where)
	if f.said || len(statuses) < len(f.statuses) {
		where = append(where, f.plus()+statusIn(statuses))
	}
	switch {
	case len(f.cells) == 0:
	case f.page && f.driver == "":
		// Held against each entry that a page comes to: all cells would be more.
		where = append(where, "exists (select 1 from cell c where c.id = e.cell_id and "+strings.Join(f.cells, " and ")+")")
	default:
		where = append(where, f.plus()+"e.cell_id in (select c.id from cell c where "+strings.Join(f.withStates(statuses), " and ")+")")
	}
	if len(where) == 0 {
		return "1 = 1"
	}
	return strings.Join(where, " and ")
}

// plus keeps a condition from choosing an index where the driver is one.
func (f *filter) plus() string {
	if f.driver != "" {
		return "+"
	}
	return ""
}

// from names the entries that the condition is held against, as e.
func (f *filter) from() string {
	if f.driver != "" {
		return "(" + f.driver + ") chosen cross join entry e on e.id = chosen.id"
	}
	return "entry e"
}

// cellColumns are the terms that a cell answers for all of its entries.
var cellColumns = map[string]string{"class": "c.error_class", "reason": "c.reason", "stage": "c.stage", "content": "c.content_type"}

// filter makes a filter of a query, for the sources that the actor may see.
// Cohorts are looked up first: with their members' ids in the condition, a
// cohort's page is read in the order of an index. So are texts: how often one
// occurs decides where reading begins.
func (s *Store) filter(ctx context.Context, q dlq.Query, by dlq.Actor, page bool) (filter, error) {
	members := map[string][]int64{}
	for _, t := range q.Terms {
		if t.Key != "cohort" {
			continue
		}
		for _, v := range t.Values {
			ids, err := s.cohortMembers(ctx, v)
			if err != nil {
				return filter{}, err
			}
			members[v] = ids
		}
	}
	texts, searched, err := s.findTexts(ctx, q)
	if err != nil {
		return filter{}, err
	}
	decided, err := s.decidedOfFew(ctx, q)
	if err != nil {
		return filter{}, err
	}
	proofs, err := s.proofsFor(ctx, by, q, within(q.StatesOf(), stuckStates))
	if err != nil {
		return filter{}, err
	}
	f := filter{members: members, texts: texts, searched: searched, decided: decided, proofs: proofs, page: page}
	f.compile(q, by, s.Now())
	return f, nil
}

// afterAll sorts after every letter and digit of an id: with it appended to a
// prefix, a range holds all that begins with that prefix.
const afterAll = "~"

// cohortMembers finds the fingerprints of the cohorts whose id begins with a
// text, of those that went into others included, and those whose digest does.
func (s *Store) cohortMembers(ctx context.Context, prefix string) ([]int64, error) {
	query, args := membersNamedBy(prefix)
	members, err := ids(ctx, s.reader(), query+` order by id`, args...)
	if err != nil {
		return nil, fmt.Errorf("find the cohort's members: %w", err)
	}
	return members, nil
}

// membersNamedBy selects what cohortMembers finds.
func membersNamedBy(prefix string) (query string, args []any) {
	plain, part, derived := strings.Cut(digestIn(prefix), "/")
	digest := strings.ToLower(plain)
	if derived {
		digest += "/" + part // the rule in it is an id, and those are upper case
	}
	cohort := strings.ToUpper(prefix)
	return `select id from fingerprint where cohort_id >= $1 and cohort_id < $2
		union select f.id from cohort c join fingerprint f on f.cohort_id = c.merged_into where c.id >= $1 and c.id < $2 and c.merged_into is not null
		union select id from fingerprint where digest >= $3 and digest < $4`, []any{cohort, cohort + afterAll, digest, digest + afterAll}
}

func (f *filter) compile(q dlq.Query, by dlq.Actor, now time.Time) {
	if len(by.Sources) > 0 {
		f.cells = append(f.cells, "c.source_id in (select id from source where name in ("+f.list(by.Sources)+"))")
	}
	f.statuses = slices.Clone(dlq.Statuses)
	f.sources = slices.Compact(slices.Sorted(slices.Values(by.Sources)))
	f.chooseDriver(q)
	for _, t := range q.Terms {
		if t.Key == "source" && !t.Negated && len(f.sources) == 0 {
			f.sources = slices.Compact(slices.Sorted(slices.Values(t.Values)))
		}
		if t.Key == "status" {
			f.said = true
			f.statuses = slices.DeleteFunc(f.statuses, func(s dlq.Status) bool { return hasStatus(t.Values, s) == t.Negated })
			continue
		}
		if len(t.Periods) > 0 && !t.Negated {
			f.said = true // the indexes of moments begin with the state
		}
		condition, ofCell := f.term(t, by, now)
		if t.Negated { // also where a column is null, of which "not" would be null again
			condition = "(" + condition + ") is not true"
			if f.texts != nil && isText(t) { // what came since may have it
				condition += " and +e.id <= " + f.arg(f.searched)
			}
		}
		if ofCell {
			f.cells = append(f.cells, condition)
		} else {
			f.where = append(f.where, condition)
		}
	}
}

func hasStatus(values []string, s dlq.Status) bool {
	return slices.Contains(values, string(s)) || s.Open() && slices.Contains(values, "open")
}

// chooseDriver begins with the term that names the fewest entries, where one
// names few: an id, a digest, a text that is rare, an owner, an operation, what
// was decided of few. The
// planner knows no figures, and would as soon read all that is parked.
func (f *filter) chooseDriver(q dlq.Query) {
	for _, key := range []string{"id", "sha256", "", "url", "label", "owner", "operation", "disposition"} {
		for _, t := range q.Terms {
			if t.Key != key || t.Negated {
				continue
			}
			if driver, ok := f.driverOf(t); ok {
				f.driver = "select value as id from json_each('[]') union " + driver
				return
			}
		}
	}
}

func (f *filter) driverOf(t dlq.Term) (string, bool) {
	var parts []string
	switch t.Key {
	case "id":
		list := f.list(t.Values)
		parts = append(parts, "select id from entry where doc_id in ("+list+")", "select id from entry where dlq_id in ("+list+")", "select id from entry where sender_id is not null and sender_id in ("+list+")")
	case "sha256":
		for _, v := range t.Values {
			parts = append(parts, f.digestIDs(v)...)
		}
	case "owner":
		if slices.Contains(t.Values, "nobody") || slices.Contains(t.Values, "me") {
			return "", false
		}
		parts = append(parts, "select id from entry where owner <> '' and owner in ("+f.list(t.Values)+")")
	case "disposition":
		if !f.decided {
			return "", false
		}
		parts = append(parts, f.dispositionIDs(t.Values)...)
	case "operation":
		parts = append(parts, f.operationIDs(t.Values)...)
	default:
		return f.textDriver(t)
	}
	return strings.Join(parts, " union "), true
}

// term is the condition of one term, and whether it is one on the cell.
func (f *filter) term(t dlq.Term, by dlq.Actor, now time.Time) (condition string, ofCell bool) {
	if condition, ok := f.cellTerm(t); ok {
		return condition, true
	}
	switch t.Key {
	case "cohort":
		return f.either(t.Values, func(v string) string { return f.plus() + "e.fingerprint_id in (" + f.memberList(v) + ")" }), false
	case "disposition":
		return f.disposition(t.Values), false
	case "outcome":
		return "coalesce((select r.outcome from redrive r where r.entry_id = e.id order by r.created_at desc, r.id desc limit 1), '') in (" + f.list(orNothing(t.Values, "none")) + ")", false
	case "operation":
		return f.plus() + "e.id in (" + strings.Join(f.operationIDs(t.Values), " union ") + ")", false
	case "id":
		return f.either(t.Values, func(v string) string {
			return "(e.doc_id = " + f.arg(v) + " or e.dlq_id = " + f.arg(v) + " or e.sender_id = " + f.arg(v) + ")"
		}), false
	case "sha256":
		return f.either(t.Values, f.digest), false
	case "file":
		return f.either(t.Values, func(v string) string {
			return f.like(strings.ReplaceAll(escapeLike(v), "*", "%"))("e.filename")
		}), false
	case "owner":
		return f.either(t.Values, func(v string) string {
			switch v {
			case "nobody":
				v = ""
			case "me":
				v = by.Name
			}
			return "e.owner = " + f.arg(v)
		}), false
	case "has":
		return f.either(t.Values, func(v string) string {
			return map[string]string{"payload": "e.payload_state = 'held'", "owner": "e.owner <> ''", "ticket": "e.ticket <> ''"}[v]
		}), false
	case "mark":
		return f.either(t.Values, func(v string) string {
			return "(',' || e.marks || ',') like " + f.arg("%,"+escapeLike(v)+",%") + " escape '\\'"
		}), false
	case "age": // stuck for longer than a span: opened before
		return "e.opened_at " + flipped[t.Compare] + " " + f.arg(ms(now.Add(-t.Span))), false
	case "opened":
		return f.within("e.opened_at", t.Periods), false
	case "seen":
		return f.within("e.last_seen", t.Periods), false
	case "expires": // leaves within a span: before
		return "e.expires_at " + t.Compare + " " + f.arg(ms(now.Add(t.Span))), false
	case "attempts":
		return "e.attempts " + orEqual(t.Compare) + " " + f.arg(t.Number), false
	case "redrives":
		return "e.redrives_total " + orEqual(t.Compare) + " " + f.arg(t.Number), false
	}
	return f.textHolds(t), false
}

// orNothing puts the empty text in the place of a word for it.
func orNothing(values []string, word string) []string {
	out := slices.Clone(values)
	for i, v := range out {
		if v == word {
			out[i] = ""
		}
	}
	return out
}

// membersNamed is how many members of a cohort stand in a condition one by one,
// where the planner can count them. More are one argument: a text that begins
// nearly every cohort's id names more than a statement takes arguments.
const membersNamed = 64

func (f *filter) memberList(value string) string {
	if len(f.members[value]) > membersNamed {
		return "select value from json_each(" + f.arg(jsonList(f.members[value])) + ")"
	}
	ids := make([]string, len(f.members[value]))
	for i, id := range f.members[value] {
		ids[i] = f.arg(id)
	}
	return strings.Join(ids, ", ")
}

// cellTerm is the condition of a term that a cell answers for all of its entries.
func (f *filter) cellTerm(t dlq.Term) (string, bool) {
	if column, ok := cellColumns[t.Key]; ok {
		return column + " in (" + f.list(t.Values) + ")", true
	}
	switch t.Key {
	case "type":
		return f.either(t.Values, func(v string) string {
			whole, last := f.arg(v), f.like("%."+escapeLike(v))
			return "(c.error_type = " + whole + " or " + last("c.error_type") + " or c.fingerprint_id in (select id from fingerprint where error_type = " + whole + "))"
		}), true
	case "source":
		return "c.source_id in (select id from source where name in (" + f.list(t.Values) + "))", true
	case "connector", "parser", "chunker", "embedder":
		return f.either(t.Values, func(v string) string { return f.version(t.Key, v) }), true
	case "version":
		return f.either(t.Values, func(v string) string {
			component, version, _ := strings.Cut(v, "@")
			return f.version(component, version)
		}), true
	case "fix":
		return f.either(t.Values, fixState), true
	case "proof":
		return f.proof(t.Values), true
	}
	return "", false
}

// version is the condition that a cell's entries failed under a version of a
// component: a named one, one that runs now in the cell's source, or one that
// does not, where it is known what does.
func (f *filter) version(component, version string) string {
	name := f.arg(component)
	if version != dlq.VersionCurrent && version != dlq.VersionNotCurrent {
		return "c.version_set_id in (select version_set_id from version_of where component = " + name + " and version = " + f.arg(version) + ")"
	}
	runs := "exists (select 1 from deployment d where d.source_id = c.source_id and d.component = v.component and d.version = v.version and d.stopped_at is null)"
	if version == dlq.VersionNotCurrent {
		runs = "not " + runs
	}
	return "(c.source_id in (select source_id from deployment where component = " + name + ") and exists (select 1 from version_of v where v.version_set_id = c.version_set_id and v.component = " + name + " and " + runs + "))"
}

// fixState is the condition on what is known of a fix for a cell's cohort, or for
// one that was merged into it: merged_into always names the one that stands. No
// typed text is in it.
func fixState(v string) string {
	declared := "c.fingerprint_id in (select m.id from fix x join cohort o on o.id = x.cohort_id join fingerprint m on m.cohort_id = coalesce(o.merged_into, o.id) where x.withdrawn_at is null)"
	switch v {
	case "none":
		return "not " + declared
	case "deployed":
		return `exists (select 1 from fingerprint m join fix x on x.cohort_id in (select m.cohort_id union all select o.id from cohort o where o.merged_into = m.cohort_id) and x.withdrawn_at is null
			join deployment d on d.source_id = c.source_id and d.component = x.component and d.version = x.version and d.stopped_at is null
			where m.id = c.fingerprint_id and not exists (select 1 from version_of v where v.version_set_id = c.version_set_id and v.component = x.component and v.version = x.version))`
	}
	return declared
}

// digest is a condition on the bytes that failed, or that are held, by the first
// digits of their digest.
func (f *filter) digest(v string) string {
	low, high := f.arg(v), f.arg(v+"g") // after every hex digit
	return "((e.payload_sha256 >= " + low + " and e.payload_sha256 < " + high + ") or (e.held_sha256 >= " + low + " and e.held_sha256 < " + high + "))"
}

// digestIDs selects what digest holds for.
func (f *filter) digestIDs(v string) []string {
	low, high := f.arg(v), f.arg(v+"g")
	return []string{"select id from entry where payload_sha256 >= " + low + " and payload_sha256 < " + high, "select id from entry where held_sha256 >= " + low + " and held_sha256 < " + high}
}

func (f *filter) either(values []string, condition func(string) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = condition(v)
	}
	return "(" + strings.Join(parts, " or ") + ")"
}

// within is the condition that a moment lies in one of some periods.
func (f *filter) within(column string, periods []dlq.Period) string {
	parts := make([]string, len(periods))
	for i, p := range periods {
		switch {
		case p.To.IsZero():
			parts[i] = column + " >= " + f.arg(ms(p.From))
		case p.From.IsZero():
			parts[i] = column + " < " + f.arg(ms(p.To))
		default:
			parts[i] = column + " >= " + f.arg(ms(p.From)) + " and " + column + " < " + f.arg(ms(p.To))
		}
	}
	return "(" + strings.Join(parts, " or ") + ")"
}

var flipped = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

func orEqual(compare string) string {
	if compare == "" {
		return "="
	}
	return compare
}

// statusIn names the states in the text of the condition, because an index of
// the parked alone serves only a query that says so where it is prepared.
func statusIn(statuses []dlq.Status) string {
	if len(statuses) == 1 {
		return "e.status = " + statusNames(statuses)
	}
	return "e.status in (" + statusNames(statuses) + ")" // none of them, where it is empty
}

func statusNames(statuses []dlq.Status) string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = "'" + string(s) + "'"
	}
	return strings.Join(names, ", ")
}

// like makes the condition that a column is as a pattern of LIKE says, whatever
// the case of the letters of any alphabet. What is not ASCII is folded, which
// costs a call for each row.
func (f *filter) like(pattern string) func(column string) string {
	if isPlain(pattern) {
		arg := f.arg(pattern)
		return func(column string) string { return column + " like " + arg + " escape '\\'" }
	}
	arg := f.arg(fold(pattern))
	return func(column string) string { return "folded(" + column + ") like " + arg + " escape '\\'" }
}

func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}
