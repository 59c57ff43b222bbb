package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"dlo/dlq"
)

// DueSources lists the sources that have deliveries due now and are not paused.
func (s *Store) DueSources(ctx context.Context) ([]dlq.DueSource, error) {
	if by, err := s.Paused(ctx); err != nil || by != "" {
		return nil, err
	}
	now := ms(s.Now())
	var out []dlq.DueSource
	err := each(ctx, s.reader(), `select s.name, count(*), (select count(*) from redrive f where f.source_id = s.id and f.state in ('pending', 'claimed', 'delivered') and (f.state = 'delivered' or (f.state = 'claimed' and f.lease_until > $1)))
		from redrive r join source s on s.id = r.source_id join operation o on o.id = r.operation_id
		where r.state in ('pending', 'claimed') and r.next_at <= $1 and (r.state = 'pending' or r.lease_until <= $1) and s.paused = 0 and o.state in ('running', 'done')
		group by s.id, s.name order by s.name`, []any{now}, func(rows *sql.Rows) error {
		var d dlq.DueSource
		if err := rows.Scan(&d.Name, &d.Due, &d.InFlight); err != nil {
			return err
		}
		out = append(out, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find what is due: %w", err)
	}
	return out, nil
}

// InFlight counts the redrives of each source that have no outcome yet: those that
// its target took, and those that are being sent.
func (s *Store) InFlight(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	err := each(ctx, s.reader(), `select s.name, count(*) from source s join redrive f on f.source_id = s.id
		where f.state in ('pending', 'claimed', 'delivered') and (f.state = 'delivered' or (f.state = 'claimed' and f.lease_until > $1)) group by s.id, s.name order by s.name`, []any{ms(s.Now())}, func(rows *sql.Rows) error {
		var name string
		var n int64
		err := rows.Scan(&name, &n)
		out[name] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what is in flight: %w", err)
	}
	return out, nil
}

// ClaimRedrives takes at most limit due deliveries of a source under a lease.
// The epoch that comes with each is its fencing number: whoever records under
// an older one changes nothing.
func (s *Store) ClaimRedrives(ctx context.Context, source, owner string, lease time.Duration, limit int) ([]dlq.Redrive, error) {
	var ids []string
	err := s.update(ctx, func(tx *Tx) error {
		ids = nil
		var gone []string // whose entry was settled by something else meanwhile: nothing is to be sent
		if err := each(tx.ctx, tx, `select r.id, e.status = 'redriving' from redrive r join operation o on o.id = r.operation_id join source s on s.id = r.source_id join entry e on e.id = r.entry_id
			where s.name = $1 and r.state in ('pending', 'claimed') and r.next_at <= $2 and (r.state = 'pending' or r.lease_until <= $2) and o.state in ('running', 'done')
			order by r.next_at, r.id limit $3`, []any{source, ms(tx.now), limit}, func(rows *sql.Rows) error {
			var id string
			var waits bool
			err := rows.Scan(&id, &waits)
			if waits {
				ids = append(ids, id)
			} else {
				gone = append(gone, id)
			}
			return err
		}); err != nil {
			return fmt.Errorf("find what is due: %w", err)
		}
		if _, err := tx.exec(`update redrive set state = 'claimed', lease_owner = $1, lease_epoch = lease_epoch + 1, lease_until = $2 where id in (select value from json_each($3))`, owner, ms(tx.now.Add(lease)), jsonTexts(ids)); err != nil {
			return fmt.Errorf("claim redrives: %w", err)
		}
		return tx.settleGone(gone)
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// Outside the transaction, which arrivals wait behind: what is under our lease
	// is ours. Should it be settled or lost meanwhile, its delivery does not begin. It
	// is read even if the caller stops: until the lease is over nobody else sends it.
	return redrivesWhere(context.WithoutCancel(ctx), s.reader(), `where r.id in (select value from json_each($1)) and r.state = 'claimed' and r.lease_owner = $2 order by r.next_at, r.id`, jsonTexts(ids), owner)
}

func (t *Tx) settleGone(ids []string) error {
	for _, id := range ids {
		r, err := t.redriveWhere(`where r.id = $1`, id)
		if err != nil || r == nil {
			return err
		}
		if err := t.settleRedrive(r, settlement{outcome: dlq.OutcomeCancelled, at: t.now}); err != nil {
			return err
		}
	}
	return nil
}

// BeginDelivery records what a delivery sends before it is sent: the bytes, what
// the source said of them, and what ran. False says that the lease was lost, or
// that the redrive is settled or its operation over: then nothing may be sent.
func (s *Store) BeginDelivery(ctx context.Context, r dlq.Redrive) (bool, error) {
	probe, err := json.Marshal(r.Probe)
	if err != nil {
		return false, fmt.Errorf("write the probe of redrive %s: %w", r.ID, err)
	}
	bytes, err := json.Marshal(r.Bytes)
	if err != nil {
		return false, fmt.Errorf("write the evidence of redrive %s: %w", r.ID, err)
	}
	ok := false
	err = s.record(ctx, func(tx *Tx) error {
		running, err := tx.runningText(r.Source)
		if err != nil {
			return err
		}
		n, err := tx.exec(`update redrive set sent = $1, payload_sha256 = $2, payload_uri = $3, probe = $4, bytes = $5, running = $6, sent_at = coalesce(sent_at, $7), deliveries = deliveries + 1, source_version = $10
			where id = $8 and state = 'claimed' and lease_epoch = $9 and exists (select 1 from operation o where o.id = redrive.operation_id and (o.state in ('running', 'done') or (o.state = 'paused' and o.asks = 'target')))
			and exists (select 1 from entry e where e.id = redrive.entry_id and e.status = 'redriving')
			and exists (select 1 from source s where s.id = redrive.source_id and s.paused = 0) and not exists (select 1 from meta where name = 'paused' and value <> '')`,
			r.Sent, textOrNull(r.PayloadSHA256), textOrNull(r.PayloadURI), string(probe), string(bytes), running, ms(tx.now), r.ID, r.LeaseEpoch, textOrNull(r.SourceVersion))
		if err != nil {
			return fmt.Errorf("begin delivery: %w", err)
		}
		ok = n == 1
		if !ok || !r.SentAt.IsZero() {
			return nil
		}
		_, err = tx.exec(`update entry set redrives_total = redrives_total + 1, version = version + 1 where id = $1`, r.EntryID)
		if err != nil {
			return fmt.Errorf("count the redrive: %w", err)
		}
		return nil
	})
	return ok, err
}

func (t *Tx) runningText(source string) (string, error) {
	src, _, err := t.source(source)
	if err != nil {
		return "", err
	}
	running, err := t.running(src.ID)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(running)
	if err != nil {
		return "", fmt.Errorf("write what runs: %w", err)
	}
	return string(b), nil
}

// DeliveryFailed gives a claimed delivery back, so that it is sent at next.
func (s *Store) DeliveryFailed(ctx context.Context, r dlq.Redrive, status int, sentence, body string, next time.Time) error {
	return s.record(ctx, func(tx *Tx) error {
		_, err := tx.exec(`update redrive set state = 'pending', last_status = $1, last_error = $2, last_body = $3, next_at = $4, lease_until = 0
			where id = $5 and state = 'claimed' and lease_epoch = $6`, status, sentence, body, ms(next), r.ID, r.LeaseEpoch)
		if err != nil {
			return fmt.Errorf("record a failed delivery: %w", err)
		}
		return nil
	})
}

// DeliveryTaken records that the target took a redrive. The clock of its
// outcome starts here. The sentence and the body are of an answer that meant to
// say more and was not understood.
func (s *Store) DeliveryTaken(ctx context.Context, r dlq.Redrive, status int, sentence, body string) error {
	return s.record(ctx, func(tx *Tx) error { return tx.deliveryTaken(r, status, sentence, body) })
}

// DeliverySettled records that a target took a redrive and said in its answer what
// came of it: both in one transaction, so that neither is known without the other.
// The fingerprint is as in ApplyOutcome.
func (s *Store) DeliverySettled(ctx context.Context, by dlq.Actor, r dlq.Redrive, status int, o dlq.Outcome, fp *dlq.Fingerprint) error {
	reported, err := s.reported(by, o, fp)
	if err != nil {
		return err
	}
	return s.update(ctx, func(tx *Tx) error {
		reported := reported
		reported.answer = &targetAnswer{to: r, status: status}
		if _, err := tx.applyOutcome(reported); err != nil {
			return err
		}
		if reported.answer.kept {
			return tx.countDelivered(r.Source)
		}
		return tx.deliveryTaken(r, status, "", "")
	})
}

func (t *Tx) deliveryTaken(r dlq.Redrive, status int, sentence, body string) error {
	src, _, err := t.source(r.Source)
	if err != nil {
		return err
	}
	n, err := t.exec(`update redrive set state = 'delivered', accepted_at = $1, due_at = $2, last_status = $3, last_error = $4, last_body = $5, lease_until = 0
		where id = $6 and state = 'claimed' and lease_epoch = $7`, ms(t.now), ms(t.now.Add(src.Policy.Outcomes.Timeout.Std())), status, sentence, body, r.ID, r.LeaseEpoch)
	if err != nil {
		return fmt.Errorf("record a delivery: %w", err)
	}
	if n == 0 { // its outcome came first, or another holds the lease
		n, err = t.exec(`update redrive set accepted_at = $1, last_status = $2, last_error = '', last_body = '' where id = $3 and state = 'settled' and accepted_at is null and lease_epoch = $4`,
			ms(t.now), status, r.ID, r.LeaseEpoch)
		if err != nil {
			return fmt.Errorf("record a delivery that was settled before: %w", err)
		}
	}
	if n == 0 {
		return nil
	}
	return t.countDelivered(r.Source)
}

func (t *Tx) countDelivered(source string) error {
	src, _, err := t.source(source)
	if err != nil {
		return err
	}
	into(&t.jobSums.sources, src.ID).delivered++
	return t.resolveAlert(dlq.AlertTargetGone, "source:"+source)
}

// Undelivered gives a redrive up: its target did not take it. The entry is
// parked again, and nothing is counted against it.
func (s *Store) Undelivered(ctx context.Context, r dlq.Redrive, status int, sentence, body string) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`update redrive set last_status = $1, last_error = $2, last_body = $3 where id = $4 and state = 'claimed' and lease_epoch = $5`, status, sentence, body, r.ID, r.LeaseEpoch)
		if err != nil {
			return fmt.Errorf("record an undelivered redrive: %w", err)
		}
		if n == 0 {
			return nil
		}
		if err := tx.park(&r); err != nil {
			return err
		}
		if err := tx.settleRedrive(&r, settlement{outcome: dlq.OutcomeUndelivered, at: tx.now}); err != nil {
			return err
		}
		return tx.audit(dlq.Policy("delivery"), auditEntry{action: "redrive.undelivered", entryID: r.EntryID, dlqID: r.DLQID, operation: r.OperationID, source: r.Source,
			detail: map[string]any{"redrive": r.ID, "status": status}})
	})
}

// LeaveOut takes a claimed redrive back before it is sent, because of what was
// found at its turn. The entry is parked again, and nothing is counted.
func (s *Store) LeaveOut(ctx context.Context, r dlq.Redrive, why dlq.LeftOut) error {
	probe, err := json.Marshal(r.Probe)
	if err != nil {
		return fmt.Errorf("write the probe of redrive %s: %w", r.ID, err)
	}
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`update redrive set state = 'settled', probe = $1, settled_at = $2, lease_until = 0 where id = $3 and state = 'claimed' and lease_epoch = $4`, string(probe), ms(tx.now), r.ID, r.LeaseEpoch)
		if err != nil {
			return fmt.Errorf("leave out: %w", err)
		}
		if n == 0 {
			return nil
		}
		if why == dlq.LeftPayloadCorrupt {
			if err := tx.payloadCorrupt(r.EntryID, r.PayloadSHA256); err != nil {
				return err
			}
		}
		if err := tx.park(&r); err != nil {
			return err
		}
		if err := tx.itemLands(&r, dlq.ItemLeftOut, "", why); err != nil {
			return err
		}
		return tx.audit(dlq.Policy("delivery"), auditEntry{action: "redrive.left_out", entryID: r.EntryID, dlqID: r.DLQID, operation: r.OperationID, source: r.Source,
			detail: map[string]any{"redrive": r.ID, "why": why}})
	})
}

// TargetGone pauses the operation of a redrive whose target answered that it is
// gone for good, gives the redrive back, and raises an alert.
func (s *Store) TargetGone(ctx context.Context, r dlq.Redrive, status int, sentence string) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`update redrive set state = 'pending', last_status = $1, last_error = $2, lease_until = 0 where id = $3 and state = 'claimed' and lease_epoch = $4`, status, sentence, r.ID, r.LeaseEpoch)
		if err != nil || n == 0 {
			return err
		}
		src, _, err := tx.source(r.Source)
		if err != nil {
			return err
		}
		o, err := tx.operation(r.OperationID)
		if err != nil {
			return err
		}
		if o.State == dlq.OperationRunning {
			if err := tx.moveOperation(&o, dlq.OperationPaused, sentence); err != nil {
				return err
			}
			if _, err := tx.exec(`update operation set asks = 'target', try_at = null where id = $1`, o.ID); err != nil {
				return fmt.Errorf("pause operation: %w", err)
			}
			if err := tx.audit(dlq.Policy("delivery"), auditEntry{action: "operation.paused", operation: o.ID, source: r.Source, detail: map[string]any{"status": status}}); err != nil {
				return err
			}
		}
		return tx.raiseAlert(dlq.Alert{Rule: dlq.AlertTargetGone, Subject: "source:" + r.Source, SourceID: src.ID, OperationID: r.OperationID, Why: "the redrive target of " + r.Source + " answered that it is gone"})
	})
}

// Candidates says of each entry, in the order of the names, what decides
// whether a redrive takes it. One that is not found, or that the actor may not
// see, has no Status. An empty mode is that of each entry's source.
func (s *Store) Candidates(ctx context.Context, by dlq.Actor, dlqIDs []string, mode dlq.Mode) ([]dlq.Candidate, error) {
	sources, err := s.Sources(ctx)
	if err != nil {
		return nil, err
	}
	policies := map[int64]dlq.SourcePolicy{}
	for _, src := range sources {
		policies[src.ID] = src.Policy
	}
	args := make([]any, len(dlqIDs))
	for i, id := range dlqIDs {
		args[i] = id
	}
	found := map[string]dlq.Candidate{}
	err = each(ctx, s.reader(), `select e.dlq_id, e.source_id, e.status, e.content_hash is not null, e.same_failures, e.granted, e.payload_state,
		exists (select 1 from commit_register g where g.source_id = e.source_id and g.content_hash = e.content_hash),
		exists (select 1 from redrive r where r.source_id = e.source_id and r.content_hash = e.content_hash and r.state in ('pending', 'claimed', 'delivered'))
			or exists (select 1 from item i join operation o on o.id = i.operation_id where i.entry_id = e.id and i.state = 'waiting' and o.kind = 'redrive' and o.state not in ('done', 'cancelled')),
		coalesce(e.payload_bytes, (select h.bytes from payload h where h.sha256 = e.held_sha256), -1), coalesce(b.reading, ''), b.asked_at
		from entry e left join probe b on b.entry_id = e.id and b.of_attempt = e.evidence_id where e.dlq_id in (`+placeholders(len(args))+`)`, args, func(rows *sql.Rows) error {
		var id string
		var sourceID int64
		var c dlq.Candidate
		var asked sql.NullInt64
		if err := rows.Scan(&id, &sourceID, &c.Status, &c.HasKey, &c.SameFailures, &c.Grant, &c.Copy, &c.Registered, &c.InFlight, &c.Bytes, &c.Said, &asked); err != nil {
			return err
		}
		c.SaidAt = fromNullMS(asked)
		p := policies[sourceID]
		if !by.SeesSource(p.Name) {
			return nil
		}
		c.Probed = p.Probe.Configured()
		c.HasTarget, c.Threshold, c.Mode = p.Redrive.URL != "", p.PoisonThreshold, cmp.Or(mode, p.Redrive.Mode)
		found[id] = c
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read candidates: %w", err)
	}
	out := make([]dlq.Candidate, len(dlqIDs))
	for i, id := range dlqIDs {
		out[i] = found[id]
	}
	return out, nil
}
