package db

import (
	"context"
	"fmt"
	"strings"

	"dlo/dlq"
)

// countByCells counts what a query about cells, states and cohorts matches from
// the counters of cells. False: the query is about more, and entries must be
// counted.
func (s *Store) countByCells(ctx context.Context, by dlq.Actor, q dlq.Query) (n int64, ok bool, err error) {
	cells, _, others := q.Split()
	l := &cohortList{by: by}
	var where []string
	for _, t := range others.Terms {
		if t.Key != "cohort" {
			return 0, false, nil
		}
		var ids []string
		for _, v := range t.Values {
			members, err := s.cohortMembers(ctx, v)
			if err != nil {
				return 0, false, err
			}
			for _, id := range members {
				ids = append(ids, l.arg(id))
			}
		}
		not := ""
		if t.Negated {
			not = "not "
		}
		where = append(where, "c.fingerprint_id "+not+"in ("+strings.Join(ids, ", ")+")")
	}
	if condition := l.cellCondition(s, dlq.CohortQuery{}, cells, by); condition != "" {
		where = append(where, condition)
	}
	states := q.StatesOf()
	if condition := inStates("c", states); condition != "" {
		where = append(where, condition)
	}
	if len(where) == 0 {
		where = append(where, "1 = 1")
	}
	if _, err := s.one(ctx, "select coalesce(sum("+sumOf("c", states)+"), 0) from cell c where "+strings.Join(where, " and "), l.args, &n); err != nil {
		return 0, false, fmt.Errorf("count by cells: %w", err)
	}
	return n, true, nil
}
