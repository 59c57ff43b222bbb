package db

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"dlo/dlq"
)

const (
	fixesMost     = 500  // withdrawn ones at least that one read takes, those of all asked cohorts together
	proposalsMost = 100  // that a deployment is told
	returnedMost  = 2000 // documents looked at to count those that came back
)

// ofCohort are the ids of the cohort $1 and of those that were merged into it:
// what was declared of them stands for it.
const ofCohort = `(select id from cohort where id = $1 or merged_into = $1)`

// DeclareFix says of a cohort that a version of a component fixes it. Said
// again while it stands, be it of one that was merged into it, the note and the
// link are replaced.
func (s *Store) DeclareFix(ctx context.Context, by dlq.Actor, cohortID string, d dlq.FixDeclaration) (id string, created bool, err error) {
	if err := d.Check(); err != nil {
		return "", false, err
	}
	err = s.update(ctx, func(tx *Tx) error {
		id, created = "", false
		if err := tx.standingCohort(cohortID); err != nil {
			return err
		}
		detail := map[string]any{"component": d.Component, "version": d.Version}
		var note, link string
		found, err := tx.row(`select x.id, x.note, x.link from fix x where x.cohort_id in `+ofCohort+` and x.component = $2 and x.version = $3 and x.withdrawn_at is null
			order by x.cohort_id = $1 desc, x.declared_at desc, x.id desc limit 1`, []any{cohortID, d.Component, d.Version}, &id, &note, &link)
		switch {
		case err != nil:
			return fmt.Errorf("find a fix: %w", err)
		case found && note == d.Note && link == d.Link:
			return nil
		case found:
			if _, err := tx.exec(`update fix set note = $1, link = $2 where id = $3`, d.Note, d.Link, id); err != nil {
				return fmt.Errorf("change a fix: %w", err)
			}
			detail["fix"] = id
			return tx.audit(by, auditEntry{action: "fix.changed", cohort: cohortID, detail: detail})
		}
		var standing int64
		if _, err := tx.row(`select count(*) from fix where cohort_id in `+ofCohort+` and withdrawn_at is null`, []any{cohortID}, &standing); err != nil {
			return fmt.Errorf("count fixes: %w", err)
		}
		if standing >= dlq.MaxFixes {
			return dlq.Errorf(dlq.KindConflict, "%d fixes of this cohort stand already; withdraw one first", standing)
		}
		id, created = tx.newID(), true
		if _, err := tx.exec(`insert into fix (id, cohort_id, component, version, note, link, declared_at, actor) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
			id, cohortID, d.Component, d.Version, d.Note, d.Link, ms(tx.now), by.Name); err != nil {
			return fmt.Errorf("declare a fix: %w", err)
		}
		detail["fix"] = id
		return tx.audit(by, auditEntry{action: "fix.declared", cohort: cohortID, detail: detail})
	})
	return id, created, err
}

// standingCohort refuses a cohort that is not there, or that was merged into another.
func (t *Tx) standingCohort(id string) error {
	var into sql.NullString
	found, err := t.row(`select merged_into from cohort where id = $1`, []any{id}, &into)
	switch {
	case err != nil:
		return fmt.Errorf("read cohort: %w", err)
	case !found:
		return dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
	case into.Valid:
		return dlq.Errorf(dlq.KindConflict, "this cohort was merged into another; declare the fix there")
	}
	return nil
}

// absorbed are cohorts with those that were merged into them, however often: the
// text of a common table with the columns live, that which stands now, and id.
func absorbed(in string) string {
	return `with recursive absorbed (id, live) as (select id, id from cohort where id in (` + in + `) union select c.id, g.live from absorbed g join cohort c on c.merged_into = g.id) `
}

// WithdrawFix takes a fix back; why is what the person typed, and may be empty.
// One that was withdrawn already stays as it is.
func (s *Store) WithdrawFix(ctx context.Context, by dlq.Actor, cohortID, fixID, why string) error {
	return s.update(ctx, func(tx *Tx) error {
		var component, version string
		var withdrawn sql.NullInt64
		found, err := tx.row(absorbed("$1")+`select x.component, x.version, x.withdrawn_at from absorbed g join fix x on x.cohort_id = g.id where x.id = $2`, []any{cohortID, fixID}, &component, &version, &withdrawn)
		if err != nil {
			return fmt.Errorf("find a fix: %w", err)
		}
		if !found {
			return dlq.Errorf(dlq.KindNotFound, "this cohort has no such fix")
		}
		if withdrawn.Valid {
			return nil
		}
		if _, err := tx.exec(`update fix set withdrawn_at = $1, withdrawn_by = $2 where id = $3`, ms(tx.now), by.Name, fixID); err != nil {
			return fmt.Errorf("withdraw a fix: %w", err)
		}
		return tx.audit(by, auditEntry{action: "fix.withdrawn", cohort: cohortID, detail: map[string]any{"fix": fixID, "component": component, "version": version}, reason: why})
	})
}

// Fixes gives what was declared for cohorts, newest first, and what each that
// stands means for the documents of the sources that the actor may see. Fixes of
// a cohort that was merged belong to the one that it was merged into. Of very
// many the oldest withdrawn ones are left out.
func (s *Store) Fixes(ctx context.Context, by dlq.Actor, cohortIDs []string) (map[string][]dlq.Fix, error) {
	out := map[string][]dlq.Fix{}
	if len(cohortIDs) == 0 {
		return out, nil
	}
	var f filter
	ids := f.list(cohortIDs)
	standing := []string{}
	// There is room for all that may stand, and they come first.
	most := f.arg(fixesMost + dlq.MaxFixes*len(cohortIDs))
	err := each(ctx, s.reader(), absorbed(ids)+`, taken as (select g.live, x.id from absorbed g join fix x on x.cohort_id = g.id
			order by x.withdrawn_at is not null, x.declared_at desc, x.id desc limit `+most+`)
		select k.live, x.id, x.cohort_id, x.component, x.version, x.note, x.link, x.actor, x.declared_at, x.withdrawn_at, x.withdrawn_by
		from taken k join fix x on x.id = k.id order by x.declared_at desc, x.id desc`, f.args, func(rows *sql.Rows) error {
		var x dlq.Fix
		var declared int64
		var withdrawn sql.NullInt64
		if err := rows.Scan(&x.CohortID, &x.ID, &x.DeclaredOn, &x.Component, &x.Version, &x.Note, &x.Link, &x.Actor, &declared, &withdrawn, &x.WithdrawnBy); err != nil {
			return err
		}
		x.DeclaredAt, x.WithdrawnAt = moment(declared), fromNullMS(withdrawn)
		out[x.CohortID] = append(out[x.CohortID], x)
		if x.WithdrawnAt.IsZero() && !slices.Contains(standing, x.CohortID) {
			standing = append(standing, x.CohortID)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read fixes: %w", err)
	}
	if len(standing) == 0 {
		return out, nil
	}
	return out, s.countFixes(ctx, by, out, standing)
}

// countFixes reads what fixes that stand mean, from cells and their months.
func (s *Store) countFixes(ctx context.Context, by dlq.Actor, fixes map[string][]dlq.Fix, cohortIDs []string) error {
	type key struct{ cohort, fix, source string }
	in := map[key]*dlq.FixIn{}
	var f filter
	ids := f.list(cohortIDs)
	seen := f.ofSourcesOf(by, "l.source_id")
	err := each(ctx, s.reader(), `select f.cohort_id, s.name, v.versions, sum(l.parked), sum(l.parked + l.redriving + l.quarantined + l.archived)
		from fingerprint f join cell l on l.fingerprint_id = f.id join source s on s.id = l.source_id join version_set v on v.id = l.version_set_id
		where f.cohort_id in (`+ids+`) and `+seen+` group by f.cohort_id, s.name, v.versions having sum(l.parked + l.redriving + l.quarantined + l.archived + l.resolved + l.erased) > 0`, f.args, func(rows *sql.Rows) error {
		var cohort, source, text string
		var parked, open int64
		if err := rows.Scan(&cohort, &source, &text, &parked, &open); err != nil {
			return err
		}
		versions := dlq.ParseVersions(text)
		for _, x := range fixes[cohort] {
			if !x.WithdrawnAt.IsZero() {
				continue
			}
			k := key{cohort, x.ID, source}
			if in[k] == nil {
				in[k] = &dlq.FixIn{Source: source}
			}
			switch x.Part(versions) {
			case dlq.FixReplaced:
				in[k].Replaced += parked
				if v := versions[x.Component]; parked > 0 && !slices.Contains(in[k].Versions, v) {
					in[k].Versions = append(in[k].Versions, v)
				}
			case dlq.FixUnsaid:
				in[k].Unsaid += parked
			case dlq.FixUnder:
				in[k].Under += open
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count what fixes replace: %w", err)
	}
	live, err := s.fixesLive(ctx, by, cohortIDs)
	if err != nil {
		return err
	}
	for cohort, list := range fixes {
		for i, x := range list {
			for k, n := range in {
				if k.cohort != cohort || k.fix != x.ID {
					continue
				}
				n.Since = live[liveVersion{n.Source, x.Component, x.Version}]
				slices.Sort(n.Versions)
				list[i].Sources = append(list[i].Sources, *n)
			}
			slices.SortFunc(list[i].Sources, func(a, b dlq.FixIn) int {
				return cmp.Or(cmp.Compare(b.Replaced, a.Replaced), cmp.Compare(b.Unsaid, a.Unsaid), cmp.Compare(a.Source, b.Source))
			})
			if err := s.countReturned(ctx, by, &list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

type liveVersion struct{ source, component, version string }

// fixesLive says since when the versions run that fix cohorts.
func (s *Store) fixesLive(ctx context.Context, by dlq.Actor, cohortIDs []string) (map[liveVersion]time.Time, error) {
	out := map[liveVersion]time.Time{}
	var f filter
	ids := f.list(cohortIDs)
	seen := f.ofSourcesOf(by, "d.source_id")
	err := each(ctx, s.reader(), absorbed(ids)+`select s.name, d.component, d.version, d.started_at from absorbed g join fix x on x.cohort_id = g.id and x.withdrawn_at is null
		join deployment d on d.component = x.component and d.version = x.version and d.stopped_at is null join source s on s.id = d.source_id where `+seen, f.args, func(rows *sql.Rows) error {
		var v liveVersion
		var at int64
		if err := rows.Scan(&v.source, &v.component, &v.version, &at); err != nil {
			return err
		}
		out[v] = moment(at)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read where fixes run: %w", err)
	}
	return out, nil
}

// countReturned counts the stuck documents that failed under a fix itself and
// whose episode began after it ran there: new arrivals, and no replays. Rollups
// know months alone, so documents are looked at, a bounded number, and none at
// all while nothing failed under the fix.
func (s *Store) countReturned(ctx context.Context, by dlq.Actor, x *dlq.Fix) error {
	var since time.Time
	index := map[string]*dlq.FixIn{}
	for i := range x.Sources {
		in := &x.Sources[i]
		if in.Under == 0 || in.Since.IsZero() {
			continue
		}
		index[in.Source] = in
		if since.IsZero() || in.Since.Before(since) {
			since = in.Since
		}
	}
	if len(index) == 0 {
		return nil
	}
	var f filter
	cohort := f.arg(x.CohortID)
	sources := f.list(slices.Sorted(maps.Keys(index)))
	under := f.arg(x.Component) + " and o.version = " + f.arg(x.Version)
	looked := 0
	err := each(ctx, s.reader(), `select s.name, e.opened_at from cell l join source s on s.id = l.source_id
		join entry e indexed by entry_by_cell on e.cell_id = l.id and e.status = 'parked' and e.last_seen >= `+f.arg(ms(since))+`
		where l.fingerprint_id in (select id from fingerprint where cohort_id = `+cohort+`) and s.name in (`+sources+`)
		and l.version_set_id in (select o.version_set_id from version_of o where o.component = `+under+`) limit `+f.arg(returnedMost+1), f.args, func(rows *sql.Rows) error {
		var source string
		var opened int64
		if err := rows.Scan(&source, &opened); err != nil {
			return err
		}
		looked++
		if in := index[source]; !moment(opened).Before(in.Since) {
			in.Returned++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count what came back: %w", err)
	}
	for _, in := range index {
		in.AtLeast = looked > returnedMost
	}
	return nil
}

// FixProposals are the cohorts of which the version is declared a fix, and that
// have documents in the source to send, those of most documents first; what is
// more than a hundred is left out, which more says.
func (s *Store) FixProposals(ctx context.Context, by dlq.Actor, source, component, version string) (list []dlq.FixProposal, more bool, err error) {
	fixed, err := fixedCohorts(ctx, s.reader(), component, version, source)
	if err != nil {
		return nil, false, err
	}
	var ids []string
	for _, c := range fixed {
		if c.documents > 0 {
			ids = append(ids, c.id)
		}
	}
	if more = len(ids) > proposalsMost; more {
		ids = ids[:proposalsMost]
	}
	fixes, err := s.Fixes(ctx, by, ids)
	if err != nil {
		return nil, false, err
	}
	for _, id := range ids {
		for _, x := range fixes[id] {
			if x.Component != component || x.Version != version || !x.WithdrawnAt.IsZero() {
				continue
			}
			x.Sources = slices.DeleteFunc(x.Sources, func(in dlq.FixIn) bool { return in.Source != source })
			if r, ok := x.Proposes(); ok {
				list = append(list, dlq.FixProposal{Fix: x, Redrive: r})
			}
			break
		}
	}
	slices.SortStableFunc(list, func(a, b dlq.FixProposal) int { return cmp.Compare(b.Redrive.Documents, a.Redrive.Documents) })
	return list, more, nil
}

// fixedCohort is a cohort of which a version is declared a fix.
type fixedCohort struct {
	id        string
	documents int64 // parked in the source, failed under another version
}

// fixedCohorts are the cohorts of which a version is declared a fix, and that
// have documents of a source: those that stand now, those of most documents to
// send first, one more than a deployment is told.
func fixedCohorts(ctx context.Context, r reader, component, version, source string) ([]fixedCohort, error) {
	var out []fixedCohort
	err := each(ctx, r, `with recursive up (id, next) as (
			select c.id, c.merged_into from fix x join cohort c on c.id = x.cohort_id where x.component = $1 and x.version = $2 and x.withdrawn_at is null
			union select c.id, c.merged_into from up u join cohort c on c.id = u.next)
		select u.id, (select coalesce(sum(l.parked), 0) from fingerprint f join cell l on l.fingerprint_id = f.id and l.source_id = (select id from source where name = $3)
			where f.cohort_id = u.id and l.parked > 0 and l.parked + l.redriving + l.quarantined > 0
			and exists (select 1 from version_of v where v.version_set_id = l.version_set_id and v.component = $1 and v.version <> $2)) as documents
		from up u where u.next is null
		and exists (select 1 from fingerprint f join cell l on l.fingerprint_id = f.id where f.cohort_id = u.id and l.source_id = (select id from source where name = $3))
		order by documents desc, u.id limit $4`, []any{component, version, source, proposalsMost + 1}, func(rows *sql.Rows) error {
		var c fixedCohort
		err := rows.Scan(&c.id, &c.documents)
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find what a version fixes: %w", err)
	}
	return out, nil
}

// fixWentLive writes into the trail of each cohort that a version fixes that it
// runs in a source from now on.
func (t *Tx) fixWentLive(by dlq.Actor, src dlq.Source, component, version string) error {
	fixed, err := fixedCohorts(t.ctx, t, component, version, src.Name())
	if err != nil {
		return err
	}
	for _, c := range fixed {
		if err := t.audit(by, auditEntry{action: "fix.live", cohort: c.id, source: src.Name(), detail: map[string]any{"component": component, "version": version}}); err != nil {
			return err
		}
	}
	return nil
}
