package db

import (
	"context"
	"fmt"

	"dlo/dlq"
)

// Act does one action to one entry, by the rules of dlq, with its audit row.
func (s *Store) Act(ctx context.Context, by dlq.Actor, dlqID string, a dlq.Action) error {
	return s.update(ctx, func(tx *Tx) error { return tx.act(by, dlqID, a, "") })
}

// act is Act within a transaction, and of an operation where one is named.
func (t *Tx) act(by dlq.Actor, dlqID string, a dlq.Action, operationID string) error {
	was, found, err := t.entryByDLQID(dlqID)
	if err != nil {
		return fmt.Errorf("find entry: %w", err)
	}
	src := dlq.Source{}
	if found {
		if src, err = t.sourceByID(was.sourceID); err != nil {
			return err
		}
	}
	if !found || !by.SeesSource(src.Name()) {
		return dlq.Errorf(dlq.KindNotFound, "there is no such document")
	}
	effect, err := was.standing().Act(a, src.Policy.Retention, t.now)
	if err != nil || !effect.Changes {
		return err
	}
	is := was
	is.status, is.expiresAt, is.granted, is.sameFailures = effect.Status, effect.ExpiresAt, effect.Granted, effect.SameFailures
	if err := t.saveEntry(was, is); err != nil {
		return err
	}
	if was.status == dlq.StatusQuarantined && is.status != dlq.StatusQuarantined {
		if err := t.resolveAlert(dlq.AlertPoison, "entry:"+is.dlqID); err != nil {
			return err
		}
	}
	detail := map[string]any{"from": was.status, "to": is.status}
	switch a.Kind {
	case dlq.OperationExtend:
		detail = map[string]any{"from": was.expiresAt, "to": is.expiresAt}
	case dlq.OperationRelease:
		detail["grant"] = a.Grant
	}
	return t.audit(by, auditEntry{action: "entry." + string(a.Kind), entryID: is.id, dlqID: is.dlqID, source: src.Name(), operation: operationID, detail: detail, reason: a.Reason})
}

// Assign gives an entry an owner and a ticket. Empty texts take them away.
func (s *Store) Assign(ctx context.Context, by dlq.Actor, dlqID, owner, ticket string) error {
	return s.update(ctx, func(tx *Tx) error { return tx.assign(by, dlqID, owner, ticket, "", "") })
}

func (t *Tx) visibleEntry(by dlq.Actor, dlqID string) (entryRow, dlq.Source, error) {
	e, found, err := t.entryByDLQID(dlqID)
	if err != nil {
		return e, dlq.Source{}, fmt.Errorf("find entry: %w", err)
	}
	if !found {
		return e, dlq.Source{}, dlq.Errorf(dlq.KindNotFound, "there is no such document")
	}
	src, err := t.sourceByID(e.sourceID)
	if err == nil && !by.SeesSource(src.Name()) {
		err = dlq.Errorf(dlq.KindNotFound, "there is no such document")
	}
	return e, src, err
}

// AssignCohort gives a cohort an owner and a ticket.
func (s *Store) AssignCohort(ctx context.Context, by dlq.Actor, cohortID, owner, ticket string) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`update cohort set owner = $1, ticket = $2 where id = $3`, owner, ticket, cohortID)
		if err != nil {
			return fmt.Errorf("assign cohort: %w", err)
		}
		if n == 0 {
			return dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
		}
		return tx.audit(by, auditEntry{action: "cohort.assigned", cohort: cohortID, detail: map[string]any{"owner": owner, "ticket": ticket}})
	})
}

// Note adds a note to an entry or to a cohort: one of the two names is empty.
func (s *Store) Note(ctx context.Context, by dlq.Actor, dlqID, cohortID, body string) error {
	return s.update(ctx, func(tx *Tx) error {
		a := auditEntry{action: "note.added", cohort: cohortID}
		var cohort any
		if dlqID != "" {
			e, src, err := tx.visibleEntry(by, dlqID)
			if err != nil {
				return err
			}
			a.entryID, a.dlqID, a.source = e.id, e.dlqID, src.Name()
		} else {
			var one int
			found, err := tx.row(`select 1 from cohort where id = $1`, []any{cohortID}, &one)
			if err != nil {
				return fmt.Errorf("find cohort: %w", err)
			}
			if !found {
				return dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
			}
			cohort = cohortID
		}
		if _, err := tx.exec(`insert into note (entry_id, cohort_id, author, written_at, body) values ($1, $2, $3, $4, $5)`, idOrNull(a.entryID), cohort, by.Name, ms(tx.now), body); err != nil {
			return fmt.Errorf("add note: %w", err)
		}
		return tx.audit(by, a)
	})
}
