package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"dlo/dlq"
)

const sourceColumns = `id, policy, redrive_secret is not null, case when redrive_secret_before is null then null else redrive_secret_until end, paused, paused_by, echoes, delivered, reported, last_arrival_at, created_at, updated_at`

func scanSource(scan func(...any) error) (dlq.Source, error) {
	var s dlq.Source
	var policy string
	var lastArrival, created, updated int64
	var overlap sql.NullInt64
	if err := scan(&s.ID, &policy, &s.HasSecret, &overlap, &s.Paused, &s.PausedBy, &s.EchoesRedriveID, &s.Delivered, &s.Reported, &lastArrival, &created, &updated); err != nil {
		return s, err
	}
	s.LastArrivalAt, s.CreatedAt, s.UpdatedAt, s.OverlapUntil = fromMS(lastArrival), fromMS(created), fromMS(updated), fromNullMS(overlap)
	// A policy that was written before these were asked for does not have them.
	whole := dlq.DefaultPolicy("")
	s.Policy.Redrive.SecretOverlap, s.Policy.Outcomes.CheckFrom = whole.Redrive.SecretOverlap, whole.Outcomes.CheckFrom
	if err := json.Unmarshal([]byte(policy), &s.Policy); err != nil {
		return s, fmt.Errorf("read a source's policy: %w", err)
	}
	return s, nil
}

// source finds a source within the transaction, and remembers it for the rest
// of the batch. Whoever changes one forgets it there.
func (t *Tx) source(name string) (dlq.Source, bool, error) {
	if s, ok := t.sources[name]; ok {
		return s, true, nil
	}
	rows, err := t.query(`select `+sourceColumns+` from source where name = $1`, name)
	if err != nil {
		return dlq.Source{}, false, fmt.Errorf("find source: %w", err)
	}
	defer rows.Close()
	if !rows.Next() {
		return dlq.Source{}, false, rows.Err()
	}
	s, err := scanSource(rows.Scan)
	if err != nil {
		return s, false, err
	}
	t.sources[name] = s
	return s, true, nil
}

func (t *Tx) sourceByID(id int64) (dlq.Source, error) {
	if name, ok := t.remembered.sourceNames[id]; ok {
		s, _, err := t.source(name)
		return s, err
	}
	var name string
	found, err := t.row(`select name from source where id = $1`, []any{id}, &name)
	if err != nil {
		return dlq.Source{}, fmt.Errorf("find source: %w", err)
	}
	if !found {
		return dlq.Source{}, fmt.Errorf("source %d is not there", id)
	}
	if t.remembered.sourceNames == nil {
		t.remembered.sourceNames = map[int64]string{}
	}
	t.remembered.sourceNames[id] = name
	s, _, err := t.source(name)
	return s, err
}

// sourceForArrival finds the source of an arrival. The first envelope of an
// unknown source creates it, with the defaults and no redrive target.
func (t *Tx) sourceForArrival(name string) (dlq.Source, error) {
	return t.sourceOrNew(name, dlq.Policy("first envelope of a source"))
}

// sourceOrNew finds a source, or creates it with the defaults.
func (t *Tx) sourceOrNew(name string, by dlq.Actor) (dlq.Source, error) {
	s, found, err := t.source(name)
	if err != nil || found {
		return s, err
	}
	if err := t.insertSource(dlq.DefaultPolicy(name), nil, nil); err != nil {
		return s, err
	}
	if err := t.audit(by, auditEntry{action: "source.created", source: name}); err != nil {
		return s, err
	}
	s, _, err = t.source(name)
	return s, err
}

func (t *Tx) insertSource(p dlq.SourcePolicy, redriveSecret, alertSecret []byte) error {
	policy, err := policyJSON(p)
	if err != nil {
		return err
	}
	if _, err := t.exec(`insert into source (name, policy, redrive_secret, alert_secret, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)`,
		p.Name, policy, redriveSecret, alertSecret, ms(t.now)); err != nil {
		return fmt.Errorf("add source: %w", err)
	}
	return nil
}

// policyJSON writes a policy without its secrets.
func policyJSON(p dlq.SourcePolicy) (string, error) {
	p.Redrive.Secret, p.Alerts.Secret = "", ""
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write the policy of %s: %w", p.Name, err)
	}
	return string(b), nil
}

// PutSource replaces the policy of a source whole, and creates the source if
// need be. Secrets that are left out are kept.
func (s *Store) PutSource(ctx context.Context, by dlq.Actor, p dlq.SourcePolicy) (dlq.Source, bool, error) {
	redriveSecret, err := s.seal(p.Redrive.Secret, "redrive:"+p.Name)
	if err != nil {
		return dlq.Source{}, false, err
	}
	alertSecret, err := s.seal(p.Alerts.Secret, "alerts:"+p.Name)
	if err != nil {
		return dlq.Source{}, false, err
	}
	policy, err := policyJSON(p)
	if err != nil {
		return dlq.Source{}, false, err
	}
	var out dlq.Source
	created := false
	err = s.update(ctx, func(tx *Tx) error {
		_, found, err := tx.source(p.Name)
		if err != nil {
			return err
		}
		created = !found
		if !found {
			err = tx.insertSource(p, redriveSecret, alertSecret)
		} else {
			if err := s.rotateSecret(tx, by, p, redriveSecret); err != nil {
				return err
			}
			_, err = tx.exec(`update source set policy = $1, alert_secret = coalesce($2, alert_secret), updated_at = $3 where name = $4`,
				policy, alertSecret, ms(tx.now), p.Name)
		}
		if err != nil {
			return fmt.Errorf("put source: %w", err)
		}
		delete(tx.sources, p.Name)
		if out, _, err = tx.source(p.Name); err != nil {
			return err
		}
		action := "source.policy"
		if created {
			action = "source.created"
		}
		return tx.audit(by, auditEntry{action: action, source: p.Name, detail: map[string]any{"policy": json.RawMessage(policy)}})
	})
	return out, created, err
}

// Source finds a source by name.
func (s *Store) Source(ctx context.Context, name string) (dlq.Source, error) {
	list, err := s.sourcesWhere(ctx, `where name = $1`, name)
	if err != nil {
		return dlq.Source{}, err
	}
	if len(list) == 0 {
		return dlq.Source{}, dlq.Errorf(dlq.KindNotFound, "there is no source of this name")
	}
	return list[0], nil
}

// Sources lists every source by name.
func (s *Store) Sources(ctx context.Context) ([]dlq.Source, error) {
	return s.sourcesWhere(ctx, `order by name`)
}

func (s *Store) sourcesWhere(ctx context.Context, where string, args ...any) ([]dlq.Source, error) {
	var out []dlq.Source
	err := each(ctx, s.reader(), `select `+sourceColumns+` from source `+where, args, func(rows *sql.Rows) error {
		src, err := scanSource(rows.Scan)
		out = append(out, src)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	return out, nil
}

// PauseSource stops or starts the redrives of a source. It answers whether that
// changed anything.
func (s *Store) PauseSource(ctx context.Context, by dlq.Actor, name string, paused bool, reason string) (bool, error) {
	changed := false
	err := s.update(ctx, func(tx *Tx) error {
		src, found, err := tx.source(name)
		if err != nil {
			return err
		}
		if !found {
			return dlq.Errorf(dlq.KindNotFound, "there is no source of this name")
		}
		changed = src.Paused != paused
		if !changed {
			return nil
		}
		who := by.Name
		if !paused {
			who = ""
		}
		if _, err := tx.exec(`update source set paused = $1, paused_by = $2, updated_at = $3 where id = $4`, paused, who, ms(tx.now), src.ID); err != nil {
			return fmt.Errorf("pause source: %w", err)
		}
		delete(tx.sources, name)
		return tx.audit(by, auditEntry{action: pauseAction(paused), source: name, reason: reason})
	})
	return changed, err
}

func pauseAction(paused bool) string {
	if paused {
		return "redrives.paused"
	}
	return "redrives.resumed"
}

// PauseAll stops or starts the redrives of every source. It is not for somebody
// who is limited to some.
func (s *Store) PauseAll(ctx context.Context, by dlq.Actor, paused bool, reason string) error {
	if len(by.Sources) > 0 {
		return dlq.Errorf(dlq.KindForbidden, "you may act for some sources only; pause or resume those, one by one")
	}
	return s.update(ctx, func(tx *Tx) error {
		value := ""
		if paused {
			value = by.Name
		}
		if _, err := tx.exec(`insert into meta (name, value) values ('paused', $1) on conflict (name) do update set value = excluded.value`, value); err != nil {
			return fmt.Errorf("pause all redrives: %w", err)
		}
		return tx.audit(by, auditEntry{action: pauseAction(paused), detail: map[string]any{"everything": true}, reason: reason})
	})
}

// Paused answers who paused all redrives; empty while they run.
func (s *Store) Paused(ctx context.Context) (string, error) {
	var by string
	_, err := one(ctx, s.reader(), `select value from meta where name = 'paused'`, nil, &by)
	return by, err
}
