package db

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dlo/dlq"
)

// The values of a query that nothing ever had. Every answer here is one that what
// the actor may see gives: a value that only others' documents have is unknown.

const (
	valuesLookedUp = 24 // values of one query, each by an index
	unknownNamed   = 5  // of those the ones that are said
)

// UnknownValues finds values of a query that no document of the actor's ever had,
// or that name no source and no cohort, with what they may have been meant to be.
// Closed sets have none: there a value that is not of the set cannot be read.
func (s *Store) UnknownValues(ctx context.Context, by dlq.Actor, q dlq.Query) ([]dlq.UnknownValue, error) {
	var out []dlq.UnknownValue
	looked := 0
	for _, t := range q.Terms {
		for _, v := range t.Values {
			if !looksUp(t.Key, v) {
				continue
			}
			if looked++; looked > valuesLookedUp || len(out) == unknownNamed {
				return out, nil
			}
			known, err := s.knowsValue(ctx, by, t.Key, v)
			if err == nil && !known {
				u := dlq.UnknownValue{Term: t, Value: v}
				u.Near, err = s.nearValue(ctx, by, t.Key, v)
				out = append(out, u)
			}
			if err != nil {
				return nil, fmt.Errorf("look up the values of %s: %w", t.Key, err)
			}
		}
	}
	return out, nil
}

// looksUp says whether a value is one that something has, or nothing: not one of
// the taxonomy, which means the same before anything failed so.
func looksUp(key, v string) bool {
	switch key {
	case "class":
		return !dlq.FailureClass(v).Known()
	case "source", "stage", "content", "type", "cohort":
		return true
	case "connector", "parser", "chunker", "embedder":
		return v != dlq.VersionCurrent && v != dlq.VersionNotCurrent
	case "version":
		_, version, _ := strings.Cut(v, "@")
		return version != dlq.VersionCurrent && version != dlq.VersionNotCurrent
	case "owner":
		return v != "me" && v != "nobody"
	}
	return false
}

func (s *Store) knowsValue(ctx context.Context, by dlq.Actor, key, v string) (bool, error) {
	var f filter
	switch key {
	case "source":
		return s.exists(ctx, `select 1 from source where name = `+f.arg(v)+` and `+f.ofSourcesOf(by, "id"), f.args)
	case "class", "stage", "content":
		return s.exists(ctx, f.cellWith(by, valueColumns[key], v), f.args)
	case "type":
		return s.knowsType(ctx, by, v)
	case "version":
		component, version, _ := strings.Cut(v, "@")
		return s.exists(ctx, f.setWith(by, component, version), f.args)
	case "owner":
		return s.exists(ctx, `select 1 from entry where owner <> '' and owner = `+f.arg(v)+` and `+f.ofSourcesOf(by, "source_id"), f.args)
	case "cohort":
		members, args := membersNamedBy(v)
		f.args = args
		return s.exists(ctx, `select 1 from (`+members+`) named cross join cell c on c.fingerprint_id = named.id where `+f.ofSourcesOf(by, "c.source_id"), f.args)
	}
	return s.exists(ctx, f.setWith(by, key, v), f.args)
}

func (s *Store) exists(ctx context.Context, query string, args []any) (bool, error) {
	var found bool
	_, err := s.one(ctx, `select exists (`+query+`)`, args, &found)
	return found, err
}

// cellWith selects the cells with a value, by a seek a source.
func (f *filter) cellWith(by dlq.Actor, column, v string) string {
	return `select 1 from source s cross join cell c on c.source_id = s.id and c.` + column + ` = ` + f.arg(v) + ` where ` + f.ofSourcesOf(by, "s.id")
}

// setWith selects the sets of versions that name one.
func (f *filter) setWith(by dlq.Actor, component, version string) string {
	return `select 1 from version_of v cross join cell c on c.version_set_id = v.version_set_id where v.component = ` + f.arg(component) + ` and v.version = ` + f.arg(version) + ` and ` + f.ofSourcesOf(by, "c.source_id")
}

// knowsType looks for an exception's type as a filter does: whole, as what a
// fingerprint has, or as the last part of one. There is no index of last parts, so
// the known types are gone through; where they are too many for that, nothing is
// called unknown.
func (s *Store) knowsType(ctx context.Context, by dlq.Actor, v string) (bool, error) {
	var whole, of filter
	found, err := s.exists(ctx, whole.cellWith(by, "error_type", v), whole.args)
	if err != nil || found {
		return found, err
	}
	found, err = s.exists(ctx, `select 1 from fingerprint m cross join cell c on c.fingerprint_id = m.id where m.error_type = `+of.arg(v)+` and `+of.ofSourcesOf(by, "c.source_id"), of.args)
	if err != nil || found {
		return found, err
	}
	types, all, err := s.cellValues(ctx, by, "error_type")
	last := "." + fold(v)
	return !all || slices.ContainsFunc(types, func(t string) bool { return strings.HasSuffix(fold(t), last) }), err
}

// nearValue is the known value that one may have been meant to be.
func (s *Store) nearValue(ctx context.Context, by dlq.Actor, key, v string) (string, error) {
	switch key {
	case "cohort":
		return "", nil // ids are not typed from memory
	case "version":
		return s.nearVersion(ctx, by, v)
	case "connector", "parser", "chunker", "embedder":
		versions, err := s.failedUnder(ctx, by, key)
		return dlq.Nearest(v, versions), err
	}
	known, err := s.valuesOf(ctx, by, key, "")
	switch key {
	case "class":
		for _, class := range dlq.FailureClasses {
			known = append(known, string(class))
		}
	case "type": // and what each is called without its package
		for _, t := range slices.Clone(known) {
			known = append(known, t[strings.LastIndexByte(t, '.')+1:])
		}
	}
	slices.Sort(known)
	return dlq.Nearest(v, slices.Compact(known)), err
}

// nearVersion looks for another version of the component, or for a component of
// nearly that name which has the version.
func (s *Store) nearVersion(ctx context.Context, by dlq.Actor, v string) (string, error) {
	component, version, _ := strings.Cut(v, "@")
	names, err := s.components(ctx, by)
	if err != nil {
		return "", err
	}
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], "@")
	}
	if !slices.Contains(names, component) {
		if component = dlq.Nearest(component, names); component == "" {
			return "", nil
		}
	}
	versions, err := s.failedUnder(ctx, by, component)
	near := version
	if !slices.Contains(versions, version) {
		near = dlq.Nearest(version, versions)
	}
	if err != nil || near == "" {
		return "", err
	}
	return component + "@" + near, nil
}
