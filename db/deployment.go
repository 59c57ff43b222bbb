package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// running reads what runs now in a source.
func (t *Tx) running(sourceID int64) (dlq.Running, error) { return running(t.ctx, t, sourceID) }

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

// RecordDeployment says that a version of a component runs now, and which no
// longer do. With stopped nil, every other version of the component has
// stopped: that is what a plain deployment means. With stopped empty and not
// nil, the others run on, as in a rolling deploy.
func (s *Store) RecordDeployment(ctx context.Context, by dlq.Actor, source, component, version string, stopped []string) (dlq.Running, error) {
	var out dlq.Running
	err := s.update(ctx, func(tx *Tx) error {
		src, err := tx.sourceOrNew(source, by)
		if err != nil {
			return err
		}
		if stopped == nil {
			_, err = tx.exec(`update deployment set stopped_at = $1 where source_id = $2 and component = $3 and version <> $4 and stopped_at is null`, ms(tx.now), src.ID, component, version)
		}
		for _, old := range stopped {
			if err == nil && old != version {
				_, err = tx.exec(`update deployment set stopped_at = $1 where source_id = $2 and component = $3 and version = $4 and stopped_at is null`, ms(tx.now), src.ID, component, old)
			}
		}
		if err != nil {
			return fmt.Errorf("record what stopped: %w", err)
		}
		if version != "" {
			if _, err := tx.exec(`insert into deployment (source_id, component, version, started_at, actor) values ($1, $2, $3, $4, $5)
				on conflict (source_id, component, version) where stopped_at is null do nothing`, src.ID, component, version, ms(tx.now), by.Name); err != nil {
				return fmt.Errorf("record deployment: %w", err)
			}
		}
		if err := tx.audit(by, auditEntry{action: "deployment", source: source, detail: map[string]any{"component": component, "version": version, "stopped": stopped}}); err != nil {
			return err
		}
		if _, err := tx.endByCode(dispositionsPerDeployment); err != nil {
			return err
		}
		out, err = tx.running(src.ID)
		return err
	})
	return out, err
}

// Deployments lists a source's deployments since a time, newest first.
func (s *Store) Deployments(ctx context.Context, sourceID int64, since int64, limit int) ([]dlq.Deployment, error) {
	var out []dlq.Deployment
	err := each(ctx, s.reader(), `select component, version, started_at, stopped_at, actor from deployment where source_id = $1 and started_at >= $2 order by started_at desc, id desc limit $3`,
		[]any{sourceID, since, limit}, func(rows *sql.Rows) error {
			var d dlq.Deployment
			var started int64
			var stopped sql.NullInt64
			if err := rows.Scan(&d.Component, &d.Version, &started, &stopped, &d.Actor); err != nil {
				return err
			}
			d.StartedAt, d.StoppedAt = fromMS(started), fromNullMS(stopped)
			out = append(out, d)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read deployments: %w", err)
	}
	return out, nil
}
