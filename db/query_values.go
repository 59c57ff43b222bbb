package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"dlo/dlq"
)

// valuesLooked is how many values of one source are looked at while somebody
// types. Each is one seek in an index, however many rows have it.
const valuesLooked = 300

var valueColumns = map[string]string{"class": "error_class", "type": "error_type", "content": "content_type", "stage": "stage"}

// QueryValues lists values of a key that contain what was typed of one, those
// that begin with it first, of what the actor may see. Keys without a list have
// none.
func (s *Store) QueryValues(ctx context.Context, by dlq.Actor, key, part string, limit int) ([]string, error) {
	all, err := s.valuesOf(ctx, by, key, part)
	if err != nil {
		return nil, fmt.Errorf("read the values of %s: %w", key, err)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	sought := fold(part)
	var begin, within []string
	for _, v := range all {
		switch folded := fold(v); {
		case v == "":
		case strings.HasPrefix(folded, sought):
			begin = append(begin, v)
		case strings.Contains(folded, sought):
			within = append(within, v)
		}
	}
	list := slices.Concat(begin, within)
	return list[:min(limit, len(list))], nil
}

func (s *Store) valuesOf(ctx context.Context, by dlq.Actor, key, part string) ([]string, error) {
	if column, ok := valueColumns[key]; ok {
		values, _, err := s.cellValues(ctx, by, column)
		return values, err
	}
	switch key {
	case "source":
		var f filter
		return s.texts(ctx, `select name from source where `+f.ofSourcesOf(by, "id")+` order by name limit 1000`, f.args...)
	case "connector", "parser", "chunker", "embedder":
		return s.versionsOf(ctx, by, key)
	case "version":
		component, _, named := strings.Cut(part, "@")
		if !named {
			return s.components(ctx, by)
		}
		versions, err := s.versionsOf(ctx, by, component)
		for i := range versions {
			versions[i] = component + "@" + versions[i]
		}
		return versions, err
	case "owner":
		if len(by.Sources) > 0 {
			return nil, nil // an owner of another's document is nobody's to know
		}
		return s.texts(ctx, distinctBySeeks("owner", "entry", "owner <> ''"), valuesLooked)
	}
	return nil, nil
}

// distinctBySeeks reads the distinct values of an indexed column by one seek a value: the
// next one after each. $1 is how many at most.
func distinctBySeeks(column, table, where string) string {
	return `with recursive value (v) as (
		select min(` + column + `) from ` + table + ` where ` + where + `
		union all select (select min(` + column + `) from ` + table + ` where ` + where + ` and ` + column + ` > value.v) from value where value.v is not null
	) select v from value where v is not null limit $1`
}

func (s *Store) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	var out []string
	err := each(ctx, s.reader(), query, args, func(rows *sql.Rows) error {
		var v string
		err := rows.Scan(&v)
		out = append(out, v)
		return err
	})
	return out, err
}

const sourcesLooked = 100

func (s *Store) visibleSourceIDs(ctx context.Context, by dlq.Actor) ([]int64, error) {
	var f filter
	return ids(ctx, s.reader(), `select id from source where `+f.ofSourcesOf(by, "id")+` order by last_arrival_at desc, id limit `+f.arg(sourcesLooked), f.args...)
}

// cellValues lists the values of a column of cells, and says whether these are all.
func (s *Store) cellValues(ctx context.Context, by dlq.Actor, column string) (out []string, all bool, err error) {
	sources, err := s.visibleSourceIDs(ctx, by)
	if err != nil {
		return nil, false, err
	}
	all = len(sources) < sourcesLooked
	for _, source := range sources {
		values, err := s.texts(ctx, distinctBySeeks(column, "cell", "source_id = $2"), valuesLooked, source)
		if err != nil {
			return nil, false, err
		}
		all = all && len(values) < valuesLooked
		out = append(out, values...)
	}
	return out, all, nil
}

// versionsOf lists versions of a component that the actor's documents failed
// under, or that run in their sources.
func (s *Store) versionsOf(ctx context.Context, by dlq.Actor, component string) ([]string, error) {
	failed, err := s.failedUnder(ctx, by, component)
	if err != nil {
		return nil, err
	}
	f := filter{args: []any{valuesLooked, component}}
	run, err := s.texts(ctx, `select distinct version from deployment where component = $2 and stopped_at is null and `+f.ofSourcesOf(by, "source_id")+` limit $1`, f.args...)
	return append(failed, run...), err
}

// failedUnder lists versions of a component that the actor's documents failed
// under.
func (s *Store) failedUnder(ctx context.Context, by dlq.Actor, component string) ([]string, error) {
	f := filter{args: []any{valuesLooked, component}}
	where := "component = $2"
	if len(by.Sources) > 0 {
		where += " and exists (select 1 from cell c where c.version_set_id = version_of.version_set_id and " + f.ofSourcesOf(by, "c.source_id") + ")"
	}
	return s.texts(ctx, distinctBySeeks("version", "version_of", where), f.args...)
}

// components lists the names of components, with what separates them from a
// version.
func (s *Store) components(ctx context.Context, by dlq.Actor) ([]string, error) {
	f := filter{args: []any{valuesLooked}}
	where := "1 = 1"
	if len(by.Sources) > 0 {
		where = "exists (select 1 from cell c where c.version_set_id = version_of.version_set_id and " + f.ofSourcesOf(by, "c.source_id") + ")"
	}
	names, err := s.texts(ctx, distinctBySeeks("component", "version_of", where), f.args...)
	for i := range names {
		names[i] += "@"
	}
	return names, err
}
