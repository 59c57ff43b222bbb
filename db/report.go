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

// VersionReport counts documents by source, error type, versions and month of
// opening, from cells and their months alone. Results of low confidence are no
// failures and are not in it. It gives at most limit cells, those of the newest
// months first, and more says that there are others.
func (s *Store) VersionReport(ctx context.Context, by dlq.Actor, q dlq.VersionReportQuery, limit int) (list []dlq.VersionReportCell, more bool, err error) {
	var f filter
	first := int64(0)
	if !q.From.IsZero() {
		first = monthOf(q.From)
	}
	earliest := f.arg(first)
	sets := map[int64][]int{} // few sets, in many cells
	f.and("l.reason <> 'low_confidence'")
	from := "cell_month m join cell l on l.id = m.cell_id"
	if q.All {
		f.and("m.status <> 'erased'")
	} else { // an index has what is stuck alone
		from = "cell_month m cross join cell l on l.id = m.cell_id"
		f.and("m.status = 'parked'")
		f.and("m.entries > 0")
	}
	f.and(f.ofSourcesOf(by, "l.source_id"))
	if q.Sources != nil {
		f.and("l.source_id in (select id from source where name in (" + f.list(q.Sources) + "))")
	}
	if q.ContentType != "" {
		f.and("l.content_type = " + f.arg(q.ContentType))
	}
	if !q.To.IsZero() {
		f.and("m.month <= " + f.arg(monthOf(q.To)))
	}
	// Names and versions are read of what is shown, and not of every cell.
	err = each(ctx, s.reader(), `select s.name, g.error_type, g.version_set_id, g.month, g.entries from (
		select l.source_id, l.error_type, l.version_set_id, max(m.month, `+earliest+` - 1) as month, sum(m.entries) as entries
		from `+from+` where `+f.sql()+` group by +l.source_id, l.version_set_id, l.error_type, 4 having sum(m.entries) > 0) g
		cross join source s on s.id = g.source_id
		order by g.month desc, g.entries desc, s.name, g.error_type, g.version_set_id limit `+f.arg(limit+1), f.args, func(rows *sql.Rows) error {
		var c dlq.VersionReportCell
		var set, month int64
		if err := rows.Scan(&c.Source, &c.ErrorType, &set, &month, &c.Documents); err != nil {
			return err
		}
		if len(list) == limit {
			more = true
			return nil
		}
		sets[set] = append(sets[set], len(list))
		if month >= first {
			c.Month = time.Date(int(month/12), time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC)
		}
		list = append(list, c)
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("count failed under by month: %w", err)
	}
	err = each(ctx, s.reader(), `select id, versions from version_set where id in (select value from json_each($1))`, []any{jsonList(slices.Sorted(maps.Keys(sets)))}, func(rows *sql.Rows) error {
		var set int64
		var versions string
		err := rows.Scan(&set, &versions)
		parsed := dlq.ParseVersions(versions)
		for _, i := range sets[set] {
			list[i].Versions = maps.Clone(parsed)
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the sets of versions: %w", err)
	}
	return list, more, nil
}

// placedMembers bounds how many fingerprints of a cohort are looked at for the
// places of its documents.
const placedMembers = 50

// Places looks at stuck documents of a cohort, at those that were opened first
// and those that were opened last, at most so many of each, and at where each
// stood in its connector's stream when it first failed: by source, those of most
// documents first. What somebody may not see is left out of what was looked at.
func (s *Store) Places(ctx context.Context, by dlq.Actor, cohortID string, ends int) ([]dlq.SourcePlaces, error) {
	var members []any
	err := each(ctx, s.reader(), `select id from fingerprint where cohort_id = $1 order by id limit $2`, []any{cohortID, placedMembers}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		members = append(members, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the cohort's members: %w", err)
	}
	index, met := map[string]int{}, map[int64]bool{}
	var out []dlq.SourcePlaces
	for _, direction := range []string{"asc", "desc"} {
		if len(members) == 0 {
			break
		}
		var f filter
		most := f.arg(ends)
		arms := make([]string, len(members))
		for i, id := range members {
			arms[i] = `select * from (select id, cell_id, opened_at from entry where fingerprint_id = ` + f.arg(id) + ` and status = 'parked' order by opened_at ` + direction + ` limit ` + most + `)`
		}
		err := each(ctx, s.reader(), `select looked.id, s.name, a.first_seen, a.ingest_seq, coalesce(a.cursor, '') from (`+strings.Join(arms, " union all ")+` order by opened_at `+direction+`, id limit `+most+`) looked
			join attempt a on a.id = (looked.id << 20) + 1 join cell l on l.id = looked.cell_id join source s on s.id = l.source_id where `+f.ofSourcesOf(by, "l.source_id"), f.args, func(rows *sql.Rows) error {
			var id, at int64
			var seq sql.NullInt64
			var source string
			var p dlq.Place
			if err := rows.Scan(&id, &source, &at, &seq, &p.Cursor); err != nil || met[id] {
				return err
			}
			met[id], p.At = true, moment(at)
			if seq.Valid {
				p.Seq = &seq.Int64
			}
			in, ok := index[source]
			if !ok {
				in = len(out)
				index[source] = in
				out = append(out, dlq.SourcePlaces{Source: source})
			}
			out[in].Places = append(out[in].Places, p)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the places of documents: %w", err)
		}
	}
	for _, p := range out {
		slices.SortStableFunc(p.Places, func(a, b dlq.Place) int { return a.At.Compare(b.At) })
	}
	slices.SortStableFunc(out, func(a, b dlq.SourcePlaces) int {
		return cmp.Or(cmp.Compare(len(b.Places), len(a.Places)), strings.Compare(a.Source, b.Source))
	})
	return out, nil
}
