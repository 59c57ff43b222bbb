package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dlo/dlq"
)

// running reads what runs now in a source.
// running reads what runs now in a source, and remembers it for the rest of the
// batch. It is not to be changed.
func (t *Tx) running(sourceID int64) (dlq.Running, error) {
	if r, ok := t.remembered.running[sourceID]; ok {
		return r, nil
	}
	r, err := running(t.ctx, t, sourceID)
	if err != nil {
		return nil, err
	}
	if t.remembered.running == nil {
		t.remembered.running = map[int64]dlq.Running{}
	}
	t.remembered.running[sourceID] = r
	return r, nil
}

// Running reads what runs now in a source.
func (s *Store) Running(ctx context.Context, sourceID int64) (dlq.Running, error) {
	return running(ctx, s.reader(), sourceID)
}

func running(ctx context.Context, r reader, sourceID int64) (dlq.Running, error) {
	out := dlq.Running{}
	err := each(ctx, r, `select component, version from deployment where source_id = $1 and stopped_at is null order by component, started_at, id`, []any{sourceID}, func(rows *sql.Rows) error {
		var component, version string
		if err := rows.Scan(&component, &version); err != nil {
			return err
		}
		out[component] = append(out[component], version)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what runs: %w", err)
	}
	return out, nil
}

// lateReportsMost bounds what one late report makes the register read again.
const lateReportsMost = 5000

// RecordDeployment says that a version of a component runs now, and which no
// longer do; see dlq.DeploymentReport.
func (s *Store) RecordDeployment(ctx context.Context, by dlq.Actor, source, component, version string, stopped []string) (dlq.Running, error) {
	running, _, err := s.Deploy(ctx, by, source, dlq.DeploymentReport{Component: component, Version: version, Stopped: stopped})
	return running, err
}

// Deploy takes a report of a deployment into a source's register, and answers
// what runs now and whether anything moved. A report may come twice, and late:
// one of a moment that is past takes its place among the others, and what
// followed it still follows it.
func (s *Store) Deploy(ctx context.Context, by dlq.Actor, source string, r dlq.DeploymentReport) (running dlq.Running, changed bool, err error) {
	if err := r.Check(s.Now()); err != nil {
		return nil, false, err
	}
	err = s.update(ctx, func(tx *Tx) error {
		changed = false
		src, err := tx.sourceOrNew(source, by)
		if err != nil {
			return err
		}
		dated := !r.At.IsZero()
		r := r.Settle(tx.now)
		r.Actor = by.Name
		began, moved, err := tx.deploy(src.ID, r, dated)
		if err != nil {
			return err
		}
		if changed = moved; moved {
			detail := map[string]any{"component": r.Component, "version": r.Version, "stopped": r.Stopped}
			if r.At.Before(tx.now) {
				detail["at"] = r.At
			}
			if err := tx.audit(by, auditEntry{action: "deployment", source: source, detail: detail}); err != nil {
				return err
			}
		}
		for _, version := range began {
			if err := tx.fixWentLive(by, src, r.Component, version); err != nil {
				return err
			}
		}
		if _, err := tx.endByCode(dispositionsPerDeployment); err != nil {
			return err
		}
		running, err = tx.running(src.ID)
		return err
	})
	return running, changed, err
}

// deploy works a report into the register of its component. It answers the
// versions that run now and did not before, and whether anything moved. One that
// names its moment and came before is passed over, whatever was told since.
func (t *Tx) deploy(sourceID int64, r dlq.DeploymentReport, dated bool) (began []string, moved bool, err error) {
	defer func() { t.remembered.running = nil }()
	stopped, err := stoppedText(r.Stopped)
	if err != nil {
		return nil, false, err
	}
	if dated {
		var one int
		known, err := t.row(`select 1 from deployment_report where source_id = $1 and component = $2 and at = $3 and version = $4 and stopped is $5 limit 1`,
			[]any{sourceID, r.Component, ms(r.At), r.Version, stopped}, &one)
		if err != nil || known {
			return nil, false, err
		}
	}
	// What is to be made anew: all that ran at the moment of the report, and all
	// that began after it.
	before, err := deploymentsWhere(t.ctx, t, `d.source_id = $1 and d.component = $2 and (d.started_at > $3 or d.stopped_at is null or d.stopped_at > $3) order by d.started_at, d.id`, sourceID, r.Component, ms(r.At))
	if err != nil {
		return nil, false, err
	}
	var ran []dlq.Deployment
	for _, d := range before {
		if !d.StartedAt.After(r.At) {
			d.StoppedAt = time.Time{}
			ran = append(ran, d)
		}
	}
	later, err := t.reportsAfter(sourceID, r.Component, r.At)
	if err != nil {
		return nil, false, err
	}
	after := dlq.Ran(ran, append([]dlq.DeploymentReport{r}, later...))
	for i := range before { // read as they stand, compared as they would be written
		before[i].Again, before[i].Beside = false, false
	}
	for i := range after {
		after[i].Again, after[i].Beside = false, false
	}
	// What runs now and did not before: of one report, its own version at most.
	ranOn := map[string]bool{}
	for _, d := range before {
		ranOn[d.Version] = ranOn[d.Version] || d.StoppedAt.IsZero()
	}
	for _, d := range after {
		if d.StoppedAt.IsZero() && !ranOn[d.Version] {
			began = append(began, d.Version)
		}
	}
	if err := t.keepReport(sourceID, r, stopped, len(later) == 0, len(began) > 0); err != nil {
		return nil, false, err
	}
	if slices.Equal(before, after) {
		return nil, false, nil
	}
	if _, err := t.exec(`delete from deployment where source_id = $1 and component = $2 and (started_at > $3 or stopped_at is null or stopped_at > $3)`, sourceID, r.Component, ms(r.At)); err != nil {
		return nil, false, fmt.Errorf("make the register anew: %w", err)
	}
	for _, d := range after {
		if _, err := t.exec(`insert into deployment (source_id, component, version, started_at, stopped_at, actor) values ($1, $2, $3, $4, $5, $6)`,
			sourceID, d.Component, d.Version, ms(d.StartedAt), msOrNull(d.StoppedAt), d.Actor); err != nil {
			return nil, false, fmt.Errorf("record deployment: %w", err)
		}
	}
	return began, true, nil
}

func stoppedText(stopped []string) (any, error) {
	if stopped == nil {
		return nil, nil
	}
	b, err := json.Marshal(stopped)
	if err != nil {
		return nil, fmt.Errorf("write what stopped: %w", err)
	}
	return string(b), nil
}

// reportsAfter reads what was reported of a component of a later moment, in the
// order of the moments.
func (t *Tx) reportsAfter(sourceID int64, component string, at time.Time) ([]dlq.DeploymentReport, error) {
	var out []dlq.DeploymentReport
	err := each(t.ctx, t, `select version, stopped, at, actor from deployment_report where source_id = $1 and component = $2 and at > $3 order by at, id limit $4`,
		[]any{sourceID, component, ms(at), lateReportsMost + 1}, func(rows *sql.Rows) error {
			r := dlq.DeploymentReport{Component: component}
			var stopped sql.NullString
			var at int64
			if err := rows.Scan(&r.Version, &stopped, &at, &r.Actor); err != nil {
				return err
			}
			r.At = moment(at)
			out = append(out, r)
			if !stopped.Valid {
				return nil
			}
			return json.Unmarshal([]byte(stopped.String), &out[len(out)-1].Stopped)
		})
	if err != nil {
		return nil, fmt.Errorf("read later reports of deployments: %w", err)
	}
	if len(out) > lateReportsMost {
		return nil, dlq.Invalid("the deployment is too old to be told", dlq.Fault{Pointer: "/at", Detail: fmt.Sprintf("a moment with at most %d later reports of this component expected", lateReportsMost)})
	}
	return out, nil
}

// sameReportWithin is how close equal reports in a row must be for the middle
// ones to be let go of.
const sameReportWithin = 5 * time.Minute

// keepReport keeps what was said. A pipeline says at each of its starts what
// runs, and one that cannot start says it all the time: of equal reports in a
// row within a few minutes the first and the last are kept. The last is, because
// a report that comes late can fall between them. One from which on a version runs
// that did not is kept as such, under a number that is greater than all before:
// stretches are made anew, and their ids with them.
func (t *Tx) keepReport(sourceID int64, r dlq.DeploymentReport, stopped any, newest, began bool) error {
	var equal, first int64
	if newest && !began {
		if _, err := t.row(`select count(*), coalesce(min(at), 0) from (select at, version, stopped from deployment_report where source_id = $1 and component = $2 order by at desc, id desc limit 2)
			where version = $3 and stopped is $4`, []any{sourceID, r.Component, r.Version, stopped}, &equal, &first); err != nil {
			return fmt.Errorf("find equal reports: %w", err)
		}
	}
	if equal == 2 && r.At.Sub(moment(first)) < sameReportWithin {
		if _, err := t.exec(`update deployment_report set at = $1, received_at = $2, actor = $3 where id = (select id from deployment_report where source_id = $4 and component = $5 order by at desc, id desc limit 1)`,
			ms(r.At), ms(t.now), r.Actor, sourceID, r.Component); err != nil {
			return fmt.Errorf("move the last report: %w", err)
		}
		return nil
	}
	if _, err := t.exec(`insert into deployment_report (source_id, component, version, stopped, began, at, received_at, actor) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
		sourceID, r.Component, r.Version, stopped, began, ms(r.At), ms(t.now), r.Actor); err != nil {
		return fmt.Errorf("keep the report of a deployment: %w", err)
	}
	return nil
}

// deploymentColumns say of each deployment also whether its version had run
// before, and whether another one ran on when it began.
const deploymentColumns = `d.id, d.component, d.version, d.started_at, d.stopped_at, d.actor,
	exists (select 1 from deployment p where p.source_id = d.source_id and p.component = d.component and p.started_at < d.started_at and p.version = d.version),
	exists (select 1 from deployment o where o.source_id = d.source_id and o.component = d.component and o.started_at < d.started_at and o.version <> d.version and (o.stopped_at is null or o.stopped_at > d.started_at))`

func scanDeployment(rows *sql.Rows, more ...any) (id int64, d dlq.Deployment, err error) {
	var started int64
	var stopped sql.NullInt64
	err = rows.Scan(append([]any{&id, &d.Component, &d.Version, &started, &stopped, &d.Actor, &d.Again, &d.Beside}, more...)...)
	d.StartedAt, d.StoppedAt = moment(started), fromNullMS(stopped)
	return id, d, err
}

func deploymentsWhere(ctx context.Context, r reader, where string, args ...any) ([]dlq.Deployment, error) {
	var out []dlq.Deployment
	err := each(ctx, r, `select `+deploymentColumns+` from deployment d where `+where, args, func(rows *sql.Rows) error {
		_, d, err := scanDeployment(rows)
		out = append(out, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read deployments: %w", err)
	}
	return out, nil
}

// Deployments lists a source's deployments since a time, newest first.
func (s *Store) Deployments(ctx context.Context, sourceID int64, since int64, limit int) ([]dlq.Deployment, error) {
	return deploymentsWhere(ctx, s.reader(), `d.source_id = $1 and d.started_at >= $2 order by d.started_at desc, d.id desc limit $3`, sourceID, since, limit)
}

// RunningDeployments lists what runs now in a source, by component, with since
// when.
func (s *Store) RunningDeployments(ctx context.Context, sourceID int64) ([]dlq.Deployment, error) {
	return deploymentsWhere(ctx, s.reader(), `d.source_id = $1 and d.stopped_at is null order by d.component, d.started_at, d.id limit 1000`, sourceID)
}

// DeploymentsBetween lists a source's deployments of a stretch of time, both
// ends included, oldest first.
func (s *Store) DeploymentsBetween(ctx context.Context, sourceID int64, from, to time.Time, limit int) ([]dlq.Deployment, error) {
	return deploymentsWhere(ctx, s.reader(), `d.source_id = $1 and d.started_at >= $2 and d.started_at <= $3 order by d.started_at, d.id limit $4`, sourceID, ms(from), ms(to), limit)
}

// RegisteredSince says when a source's register begins; zero: nothing was ever
// registered.
func (s *Store) RegisteredSince(ctx context.Context, sourceID int64) (time.Time, error) {
	var at sql.NullInt64
	if _, err := one(ctx, s.reader(), `select min(started_at) from deployment where source_id = $1`, []any{sourceID}, &at); err != nil {
		return time.Time{}, fmt.Errorf("find the begin of the register: %w", err)
	}
	return fromNullMS(at), nil
}

// DeploymentHistory lists what ran in a source, newest first, a page at a time.
func (s *Store) DeploymentHistory(ctx context.Context, sourceID int64, after string, limit int) (list []dlq.Deployment, next string, err error) {
	where, args := "d.source_id = $1", []any{sourceID, limit + 1}
	if after != "" {
		var at, id int64
		if n, err := fmt.Sscanf(after, "%d-%d", &at, &id); n != 2 || err != nil {
			return nil, "", dlq.Invalid("the list cannot go on from there", dlq.Fault{Pointer: "/cursor", Detail: "a cursor from the answer before expected"})
		}
		where += " and (d.started_at, d.id) < ($3, $4)"
		args = append(args, at, id)
	}
	var last int64
	err = each(ctx, s.reader(), `select `+deploymentColumns+` from deployment d where `+where+` order by d.started_at desc, d.id desc limit $2`, args, func(rows *sql.Rows) error {
		id, d, err := scanDeployment(rows)
		if len(list) < limit {
			list, last = append(list, d), id
		} else {
			next = fmt.Sprintf("%d-%d", ms(list[len(list)-1].StartedAt), last)
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the history of deployments: %w", err)
	}
	return list, next, nil
}

// SeenVersions lists the versions that failures of a source name and that were
// never registered for it, those of most stuck documents first.
func (s *Store) SeenVersions(ctx context.Context, sourceID int64, limit int) ([]dlq.SeenVersion, error) {
	var out []dlq.SeenVersion
	err := each(ctx, s.reader(), `select o.component, o.version, sum(m.entries), coalesce(sum(case when m.status = 'parked' then m.entries end), 0)
		from cell l join version_of o on o.version_set_id = l.version_set_id join cell_month m on m.cell_id = l.id
		where l.source_id = $1 and not exists (select 1 from deployment_report r where r.source_id = $1 and r.component = o.component and r.version = o.version)
		group by o.component, o.version having sum(m.entries) > 0 order by 4 desc, 3 desc, o.component, o.version limit $2`, []any{sourceID, limit}, func(rows *sql.Rows) error {
		var v dlq.SeenVersion
		err := rows.Scan(&v.Component, &v.Version, &v.Documents, &v.Parked)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the versions that failures name: %w", err)
	}
	return out, nil
}

// RunningIn reads what runs now in several sources, by their names.
func (s *Store) RunningIn(ctx context.Context, by dlq.Actor) (map[string]dlq.Running, error) {
	out := map[string]dlq.Running{}
	var f filter
	seen := f.ofSourcesOf(by, "d.source_id")
	err := each(ctx, s.reader(), `select s.name, d.component, d.version from deployment d join source s on s.id = d.source_id where d.stopped_at is null and `+seen+` order by s.name, d.component, d.started_at, d.id limit 20000`, f.args, func(rows *sql.Rows) error {
		var source, component, version string
		if err := rows.Scan(&source, &component, &version); err != nil {
			return err
		}
		if out[source] == nil {
			out[source] = dlq.Running{}
		}
		out[source][component] = append(out[source][component], version)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what runs: %w", err)
	}
	return out, nil
}

// KnownVersions lists versions of any component that are known: registered, or
// named by failures of a cohort; for a form to suggest.
func (s *Store) KnownVersions(ctx context.Context, by dlq.Actor, cohortID string, limit int) ([]dlq.SeenVersion, error) {
	var out []dlq.SeenVersion
	var f filter
	id := f.arg(cohortID)
	seen, alsoSeen := f.ofSourcesOf(by, "d.source_id"), f.ofSourcesOf(by, "l.source_id")
	err := each(ctx, s.reader(), `select component, version from (
			select d.component as component, d.version as version, max(d.started_at) as at from deployment d
			where d.source_id in (select l.source_id from fingerprint f join cell l on l.fingerprint_id = f.id where f.cohort_id = `+id+`) and `+seen+` group by d.component, d.version
			union all
			select o.component, o.version, 0 from fingerprint f join cell l on l.fingerprint_id = f.id join version_of o on o.version_set_id = l.version_set_id where f.cohort_id = `+id+` and `+alsoSeen+`)
		group by component, version order by max(at) desc, component, version limit `+f.arg(limit), f.args, func(rows *sql.Rows) error {
		var v dlq.SeenVersion
		err := rows.Scan(&v.Component, &v.Version)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read known versions: %w", err)
	}
	return out, nil
}
