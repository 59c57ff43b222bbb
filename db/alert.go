package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// raiseAlert fires an alert, once for one condition: while it stands, the same
// condition moves its value and its time and nothing else.
func (t *Tx) raiseAlert(a dlq.Alert) error {
	_, err := t.exec(`insert into alert (id, rule, subject, state, source_id, cohort_id, entry_id, operation_id, value, threshold, why, since, updated_at)
		values ($1, $2, $3, 'firing', $4, $5, $6, $7, $8, $9, $10, $11, $11)
		on conflict (rule, subject) where state in ('firing', 'acknowledged') do update set value = excluded.value, why = excluded.why, updated_at = excluded.updated_at`,
		t.newID(), a.Rule, a.Subject, idOrNull(a.SourceID), textOrNull(a.CohortID), idOrNull(a.EntryID), textOrNull(a.OperationID), a.Value, a.Limit, a.Why, ms(t.now))
	if err != nil {
		return fmt.Errorf("raise alert %s: %w", a.Rule, err)
	}
	t.remembered.quiet = nil
	return nil
}

func (t *Tx) resolveAlert(rule dlq.AlertRule, subject string) error {
	key := string(rule) + " " + subject
	if t.remembered.quiet[key] {
		return nil
	}
	if _, err := t.exec(`update alert set state = 'resolved', resolved_at = $1, updated_at = $1 where rule = $2 and subject = $3 and state in ('firing', 'acknowledged')`,
		ms(t.now), rule, subject); err != nil {
		return fmt.Errorf("resolve alert %s: %w", rule, err)
	}
	if t.remembered.quiet == nil {
		t.remembered.quiet = map[string]bool{}
	}
	t.remembered.quiet[key] = true
	return nil
}

func idOrNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func (t *Tx) poisonAlert(src dlq.Source, e entryRow) error {
	return t.raiseAlert(dlq.Alert{Rule: dlq.AlertPoison, Subject: "entry:" + e.dlqID, SourceID: src.ID, CohortID: e.cohort, EntryID: e.id,
		Value: int64(e.sameFailures), Limit: int64(src.Policy.PoisonThreshold),
		Why: fmt.Sprintf("a document of %s failed the same way after %d replays, and waits in quarantine for a decision", src.Name(), e.sameFailures)})
}

// contractAlert fires for an arrival that broke the contract of what comes
// after the parser: the documents are well, the configuration is not.
func (t *Tx) contractAlert(src dlq.Source, e entryRow, a packedArrival) error {
	if dlq.FailureClass(a.Envelope.ErrorClass) != dlq.ClassDownstreamContract {
		return nil
	}
	return t.raiseAlert(dlq.Alert{Rule: dlq.AlertContract, Subject: "cohort:" + e.cohort, SourceID: src.ID, CohortID: e.cohort, EntryID: e.id, Value: 1,
		Why: fmt.Sprintf("documents of %s were parsed, and then refused by what comes after: a configuration disagrees, not the documents", src.Name())})
}

// ResolveOverAlerts resolves the alerts whose condition is over and that nothing
// else resolves: of a broken contract, once no document of its cohort is stuck; of
// a cohort that looks transient, once it was quiet for dlq.TransientQuiet.
func (s *Store) ResolveOverAlerts(ctx context.Context) (int, error) {
	n := int64(0)
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		n, err = tx.exec(`update alert set state = 'resolved', resolved_at = $1, updated_at = $1 where rule = $2 and state in ('firing', 'acknowledged')
			and not exists (select 1 from cohort c where c.id = alert.cohort_id and c.parked + c.redriving + c.quarantined > 0)`, ms(tx.now), dlq.AlertContract)
		if err != nil {
			return err
		}
		quiet, err := tx.exec(`update alert set state = 'resolved', resolved_at = $1, updated_at = $1 where rule = $2 and state in ('firing', 'acknowledged') and updated_at < $3
			and not exists (select 1 from cohort c where c.id = alert.cohort_id and c.last_seen >= $3)`, ms(tx.now), dlq.AlertLooksTransient, ms(tx.now.Add(-dlq.TransientQuiet)))
		n += quiet
		return err
	})
	return int(n), err
}

const alertColumns = `a.id, a.rule, a.subject, a.state, coalesce(a.source_id, 0), coalesce(s.name, ''), coalesce(a.cohort_id, ''), coalesce(a.entry_id, 0), coalesce(e.dlq_id, ''),
	coalesce(a.operation_id, ''), a.value, a.threshold, a.why, a.since, a.updated_at, a.acknowledged_by, a.resolved_at`

// Alerts lists the alerts that somebody may know of: those that stand before
// those that are resolved, newest first within.
func (s *Store) Alerts(ctx context.Context, by dlq.Actor, limit int) ([]dlq.Alert, error) {
	var f filter
	of := f.ofSourcesOf(by, "a.source_id")
	return s.alertsWhere(ctx, `where `+of+` order by a.state = 'resolved', a.since desc, a.id desc limit `+f.arg(limit), f.args...)
}

func (s *Store) alertsWhere(ctx context.Context, where string, args ...any) ([]dlq.Alert, error) {
	var out []dlq.Alert
	err := each(ctx, s.reader(), `select `+alertColumns+` from alert a left join source s on s.id = a.source_id left join entry e on e.id = a.entry_id `+where, args, func(rows *sql.Rows) error {
		var a dlq.Alert
		var since, updated int64
		var resolved sql.NullInt64
		if err := rows.Scan(&a.ID, &a.Rule, &a.Subject, &a.State, &a.SourceID, &a.Source, &a.CohortID, &a.EntryID, &a.DLQID, &a.OperationID,
			&a.Value, &a.Limit, &a.Why, &since, &updated, &a.AcknowledgedBy, &resolved); err != nil {
			return err
		}
		a.Since, a.UpdatedAt, a.ResolvedAt = fromMS(since), fromMS(updated), fromNullMS(resolved)
		out = append(out, a)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	return out, nil
}

// Alert finds one alert.
func (s *Store) Alert(ctx context.Context, id string) (dlq.Alert, error) {
	list, err := s.alertsWhere(ctx, `where a.id = $1`, id)
	if err != nil {
		return dlq.Alert{}, err
	}
	if len(list) == 0 {
		return dlq.Alert{}, dlq.Errorf(dlq.KindNotFound, "there is no such alert")
	}
	return list[0], nil
}

// StandingAlerts counts the alerts that are not resolved and that somebody may
// know of.
func (s *Store) StandingAlerts(ctx context.Context, by dlq.Actor) (int64, error) {
	var f filter
	var n int64
	query := `select count(*) from alert where state in ('firing', 'acknowledged') and ` + f.ofSourcesOf(by, "source_id")
	if _, err := s.one(ctx, query, f.args, &n); err != nil {
		return 0, fmt.Errorf("count the alerts that stand: %w", err)
	}
	return n, nil
}

// AcknowledgeAlert marks that somebody looks after an alert.
func (s *Store) AcknowledgeAlert(ctx context.Context, by dlq.Actor, id string) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`update alert set state = 'acknowledged', acknowledged_by = $1, updated_at = $2 where id = $3 and state = 'firing'`, by.Name, ms(tx.now), id)
		if err != nil {
			return fmt.Errorf("acknowledge alert: %w", err)
		}
		if n == 0 {
			return dlq.Errorf(dlq.KindConflict, "this alert is not firing any more")
		}
		return tx.audit(by, auditEntry{action: "alert.acknowledged", detail: map[string]any{"alert": id}})
	})
}
