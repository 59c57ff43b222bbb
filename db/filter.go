package db

import (
	"context"
	"database/sql"
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
	where   []string
	args    []any
	members map[string][]int64 // of the cohorts that the query names
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

func (f *filter) sql() string {
	if len(f.where) == 0 {
		return "1 = 1"
	}
	return strings.Join(f.where, " and ")
}

// cellColumns are the terms that a cell answers for all of its entries.
var cellColumns = map[string]string{"class": "c.error_class", "reason": "c.reason", "stage": "c.stage", "content": "c.content_type"}

// filter makes a filter of a query, for the sources that the actor may see.
// Cohorts are looked up first: with their members' ids in the condition, a
// cohort's page is read in the order of an index.
func (s *Store) filter(ctx context.Context, q dlq.Query, by dlq.Actor) (filter, error) {
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
	return compile(q, by, members, s.Now()), nil
}

// afterAll sorts after every letter and digit of an id: with it appended to a
// prefix, a range holds all that begins with that prefix.
const afterAll = "~"

// cohortMembers finds the fingerprints of the cohorts whose id begins with a
// text, and those whose digest does.
func (s *Store) cohortMembers(ctx context.Context, prefix string) ([]int64, error) {
	var ids []int64
	digest := strings.ToLower(prefix[strings.LastIndexByte(prefix, ':')+1:])
	cohort := strings.ToUpper(prefix)
	err := each(ctx, s.reader(), `select id from fingerprint where cohort_id >= $1 and cohort_id < $2 union select id from fingerprint where digest >= $3 and digest < $4 order by id`,
		[]any{cohort, cohort + afterAll, digest, digest + afterAll}, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("find the cohort's members: %w", err)
	}
	return ids, nil
}

func compile(q dlq.Query, by dlq.Actor, members map[string][]int64, now time.Time) filter {
	f := filter{members: members}
	var cells []string
	if len(by.Sources) > 0 {
		cells = append(cells, "c.source_id in (select id from source where name in ("+f.list(by.Sources)+"))")
	}
	for _, t := range q.Terms {
		condition, ofCell := f.term(t, now)
		if t.Negated { // also where a column is null, of which "not" would be null again
			condition = "(" + condition + ") is not true"
		}
		if ofCell {
			cells = append(cells, condition)
		} else {
			f.and(condition)
		}
	}
	if len(cells) > 0 {
		if states := q.StatesOf(); within(states, stuckStates) { // most cells have nothing that is stuck
			cells = append(cells, inStates("c", states))
		}
		f.and("e.cell_id in (select c.id from cell c where " + strings.Join(cells, " and ") + ")")
	}
	return f
}

func (f *filter) term(t dlq.Term, now time.Time) (condition string, ofCell bool) {
	if t.Key == "type" {
		return f.either(t.Values, func(v string) string {
			whole, last := f.arg(v), f.arg("%."+escapeLike(v))
			return "(c.error_type = " + whole + " or c.error_type like " + last + " escape '\\' or c.fingerprint_id in (select id from fingerprint where error_type = " + whole + "))"
		}), true
	}
	if column, ok := cellColumns[t.Key]; ok {
		return column + " in (" + f.list(t.Values) + ")", true
	}
	switch t.Key {
	case "source":
		return "c.source_id in (select id from source where name in (" + f.list(t.Values) + "))", true
	case "connector", "parser", "chunker", "embedder":
		return "c.version_set_id in (select version_set_id from version_of where component = " + f.arg(t.Key) + " and version in (" + f.list(t.Values) + "))", true
	case "status":
		return statusIn(t.Values), false
	case "cohort":
		return f.either(t.Values, func(v string) string {
			ids := make([]string, len(f.members[v]))
			for i, id := range f.members[v] {
				ids[i] = f.arg(id)
			}
			return "e.fingerprint_id in (" + strings.Join(ids, ", ") + ")"
		}), false
	case "operation":
		return "e.id in (select i.entry_id from item i where i.operation_id in (" + f.list(t.Values) + "))", false
	case "id":
		return f.either(t.Values, func(v string) string {
			return "(e.doc_id = " + f.arg(v) + " or e.dlq_id = " + f.arg(v) + " or e.sender_id = " + f.arg(v) + ")"
		}), false
	case "sha256":
		return f.either(t.Values, f.digest), false
	case "file":
		return f.either(t.Values, func(v string) string {
			return "e.filename like " + f.arg(strings.ReplaceAll(escapeLike(v), "*", "%")) + " escape '\\'"
		}), false
	case "owner":
		return f.either(t.Values, func(v string) string {
			if v == "nobody" {
				v = ""
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
	case "expires": // leaves within a span: before
		return "e.expires_at " + t.Compare + " " + f.arg(ms(now.Add(t.Span))), false
	case "attempts":
		return "e.attempts " + orEqual(t.Compare) + " " + f.arg(t.Number), false
	case "redrives":
		return "e.redrives_total " + orEqual(t.Compare) + " " + f.arg(t.Number), false
	}
	return f.either(t.Values, func(v string) string {
		like := f.arg("%" + escapeLike(v) + "%")
		digest := ""
		if len(v) >= 8 && len(v) <= 64 && strings.Trim(v, "0123456789abcdef") == "" {
			digest = " or " + f.digest(v)
		}
		return "(e.message like " + like + " escape '\\' or e.doc_id like " + like + " escape '\\' or e.filename like " + like +
			" escape '\\' or e.cell_id in (select id from cell where error_type like " + like + " escape '\\')" + digest + ")"
	}), false
}

// digest is a condition on the bytes that failed, or that are held, by the first
// digits of their digest.
func (f *filter) digest(v string) string {
	low, high := f.arg(v), f.arg(v+"g") // after every hex digit
	return "((e.payload_sha256 >= " + low + " and e.payload_sha256 < " + high + ") or (e.held_sha256 >= " + low + " and e.held_sha256 < " + high + "))"
}

func (f *filter) either(values []string, condition func(string) string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = condition(v)
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
func statusIn(values []string) string {
	var names []string
	for _, s := range dlq.Statuses {
		if slices.Contains(values, string(s)) || s.Open() && slices.Contains(values, "open") {
			names = append(names, "'"+string(s)+"'")
		}
	}
	switch len(names) {
	case 0:
		return "1 = 0"
	case 1:
		return "e.status = " + names[0]
	}
	return "e.status in (" + strings.Join(names, ", ") + ")"
}

func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}
