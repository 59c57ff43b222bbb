package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// wholeTable is a step of a plan that reads a whole table that grows with the
// failures, or a whole index of it.
var wholeTable = regexp.MustCompile(`^SCAN (e|entry|a|attempt|r|t|redrive|dy|fingerprint_day|source_day|m|cell_month|i|item|audit|outcome|p|payload|o|operation)( USING (?:COVERING )?INDEX (\S+))?( LEFT-JOIN)?$`)

// openIndexes hold what is open alone: small, however long the history.
var openIndexes = []string{"redrive_due", "redrive_overdue", "item_waiting", "item_reserves", "operation_open", "operation_ending", "operation_trying", "cell_month_stuck", "deployment_live", "disposition_by_date", "disposition_by_count", "disposition_by_code"}

// few are texts of questions whose whole table is read on purpose: the report of
// versions over all that ever failed adds up the months of all cells.
var few = regexp.MustCompile(`^\s*insert into|m.status <> 'erased'.* group by \+l.source_id, l.version_set_id, l.error_type|from grouping_rule r where r.state = 'moving' |from alert a\b|from audit order by seq desc limit 1$`)

// ReadsWholeTable finds the steps of a question's plan that read all of a table
// that grows with the failures. No screen, list or report may ask one that does:
// tests hold every question that the program asks to it, and cmd/bench holds
// those that it measures.
func (s *Store) ReadsWholeTable(ctx context.Context, query string, args []any) ([]string, error) {
	if few.MatchString(query) {
		return nil, nil
	}
	plan, err := s.plan(ctx, query, args)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, line := range plan {
		if readsWhole(line) {
			out = append(out, line)
		}
	}
	return out, nil
}

func readsWhole(line string) bool {
	m := wholeTable.FindStringSubmatch(line)
	return m != nil && !slices.Contains(openIndexes, m[3])
}

// plan says how the database would answer a question, a line a step.
func (s *Store) plan(ctx context.Context, query string, args []any) (lines []string, err error) {
	rows, err := s.read.QueryContext(ctx, "explain query plan "+query, args...)
	if err != nil {
		return nil, fmt.Errorf("explain %s: %w", query, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, parent, unused int
		var line sql.NullString
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			return nil, err
		}
		lines = append(lines, line.String)
	}
	return lines, rows.Err()
}
