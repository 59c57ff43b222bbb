package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"dlo/dlq"
)

// What was decided of an entry stands in its row, and what was decided of its
// cohort counts where nothing was. Most entries have neither, so each has an
// index of what was decided alone.

// ofCohorts begins with the cohorts of which something was decided.
const ofCohorts = "from cohort h cross join fingerprint m on m.cohort_id = h.id "

// disposition is the condition on what was decided of an entry, else of its
// cohort.
func (f *filter) disposition(values []string) string {
	list := f.list(orNothing(values, "none"))
	ofCohort := "e.fingerprint_id in (select m.id " + ofCohorts + "where h.disposition <> '' and h.disposition in (" + list + "))"
	if slices.Contains(values, "none") {
		ofCohort = "e.fingerprint_id not in (select m.id " + ofCohorts + "where h.disposition <> '' and h.disposition not in (" + list + "))"
	}
	return "(case when e.disposition <> '' then e.disposition in (" + list + ") else " + ofCohort + " end)"
}

// dispositionIDs selects the entries that disposition may hold for, where nothing
// decided is not among the values.
func (f *filter) dispositionIDs(values []string) []string {
	list := f.list(values)
	return []string{
		"select id from entry where disposition <> '' and disposition in (" + list + ")",
		"select x.id " + ofCohorts + "cross join entry x on x.fingerprint_id = m.id where h.disposition <> '' and h.disposition in (" + list + ")",
	}
}

// decidedOfFew says whether the first term of a query that names dispositions
// finds few entries, so that a list may begin with them.
func (s *Store) decidedOfFew(ctx context.Context, q dlq.Query) (bool, error) {
	i := slices.IndexFunc(q.Terms, func(t dlq.Term) bool { return t.Key == "disposition" && !t.Negated })
	if i < 0 || slices.Contains(q.Terms[i].Values, "none") {
		return false, nil
	}
	var f filter
	list := f.list(q.Terms[i].Values)
	var entries int64
	var ofCohorts sql.NullInt64
	_, err := s.one(ctx, `select (select count(*) from (select 1 from entry where disposition <> '' and disposition in (`+list+`) limit `+f.arg(textRare+1)+`)),
		(select sum(n.entries) from cohort h cross join fingerprint m on m.cohort_id = h.id cross join cell c on c.fingerprint_id = m.id cross join cell_month n on n.cell_id = c.id
			where h.disposition <> '' and h.disposition in (`+list+`))`, f.args, &entries, &ofCohorts)
	if err != nil {
		return false, fmt.Errorf("count what was decided: %w", err)
	}
	return entries+ofCohorts.Int64 <= textRare, nil
}
