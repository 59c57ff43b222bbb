package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"dlo/dlq"
)

// The cohorts of a redrive are those that go on for them: a merge by hand holds
// for what was proved before it.
const redriveColumns = `r.id, r.operation_id, r.entry_id, e.dlq_id, s.name, e.doc_id, r.content_hash, r.mode, r.accept_unknown, r.sent, r.state, r.failed_attempt, coalesce((select merged_into from cohort where id = r.failed_cohort), r.failed_cohort), coalesce(r.failed_sha256, ''),
	coalesce(r.payload_sha256, ''), coalesce(r.payload_uri, ''), coalesce(r.source_version, ''), coalesce(r.probe, ''), coalesce(r.bytes, ''), r.failed_under, coalesce(r.running, ''),
	r.created_at, r.sent_at, r.accepted_at, r.due_at, r.deliveries, r.next_at, r.give_up_at, r.last_status, r.last_error, r.last_body,
	r.lease_owner, r.lease_epoch, r.lease_until, r.outcome, r.outcome_at, r.outcome_seq, coalesce(r.outcome_version, ''), coalesce(r.outcome_sha256, ''),
	coalesce(r.outcome_versions, ''), coalesce(r.outcome_attempt, 0), coalesce((select merged_into from cohort where id = r.outcome_cohort), r.outcome_cohort, ''), r.outcome_class, r.outcome_unnamed, r.presumed, r.late, r.settled_at`

const redriveFrom = ` from redrive r join entry e on e.id = r.entry_id join source s on s.id = r.source_id `

func scanRedrive(rows *sql.Rows) (dlq.Redrive, error) {
	var r dlq.Redrive
	var probe, bytes, under, running, versions, late string
	var created, next, leaseUntil int64
	var sent, accepted, due, giveUp, outcomeAt, settled sql.NullInt64
	err := rows.Scan(&r.ID, &r.OperationID, &r.EntryID, &r.DLQID, &r.Source, &r.DocID, &r.ContentHash, &r.Mode, &r.AcceptUnknown, &r.Sent, &r.State, &r.FailedAttempt, &r.FailedCohort, &r.FailedSHA256,
		&r.PayloadSHA256, &r.PayloadURI, &r.SourceVersion, &probe, &bytes, &under, &running,
		&created, &sent, &accepted, &due, &r.Deliveries, &next, &giveUp, &r.LastStatus, &r.LastError, &r.LastBody,
		&r.LeaseOwner, &r.LeaseEpoch, &leaseUntil, &r.Outcome, &outcomeAt, &r.OutcomeSeq, &r.OutcomeVersion, &r.OutcomeSHA256,
		&versions, &r.OutcomeAttempt, &r.OutcomeCohort, &r.OutcomeClass, &r.OutcomeUnnamed, &r.Presumed, &late, &settled)
	if err != nil {
		return r, err
	}
	r.CreatedAt, r.NextAt, r.LeaseUntil = fromMS(created), fromMS(next), fromMS(leaseUntil)
	r.SentAt, r.AcceptedAt, r.DueAt, r.GiveUpAt = fromNullMS(sent), fromNullMS(accepted), fromNullMS(due), fromNullMS(giveUp)
	r.OutcomeAt, r.SettledAt, r.Late = fromNullMS(outcomeAt), fromNullMS(settled), dlq.OutcomeResult(late)
	r.FailedUnder, r.OutcomeVersions = dlq.ParseVersions(under), dlq.ParseVersions(versions)
	for text, into := range map[string]any{probe: &r.Probe, bytes: &r.Bytes, running: &r.Running} {
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			return r, fmt.Errorf("read redrive %s: %w", r.ID, err)
		}
	}
	return r, nil
}

func redrivesWhere(ctx context.Context, rd reader, where string, args ...any) ([]dlq.Redrive, error) {
	var out []dlq.Redrive
	err := each(ctx, rd, `select `+redriveColumns+redriveFrom+where, args, func(rows *sql.Rows) error {
		r, err := scanRedrive(rows)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read redrives: %w", err)
	}
	return out, nil
}

func (t *Tx) redriveWhere(where string, args ...any) (*dlq.Redrive, error) {
	list, err := redrivesWhere(t.ctx, t, where+` limit 1`, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// RedrivesOf lists an entry's redrives, newest first, at most limit.
func (s *Store) RedrivesOf(ctx context.Context, entryID int64, limit int) ([]dlq.Redrive, error) {
	return redrivesWhere(ctx, s.reader(), `where r.entry_id = $1 order by r.created_at desc, r.id desc limit $2`, entryID, limit)
}

// Redrive finds one redrive.
func (s *Store) Redrive(ctx context.Context, id string) (dlq.Redrive, error) {
	list, err := redrivesWhere(ctx, s.reader(), `where r.id = $1`, id)
	if err != nil {
		return dlq.Redrive{}, err
	}
	if len(list) == 0 {
		return dlq.Redrive{}, dlq.Errorf(dlq.KindNotFound, "there is no such redrive")
	}
	return list[0], nil
}

// flights finds the redrive in flight of an entry, and the one that an event
// names where that is already settled.
func (t *Tx) flights(e entryRow, named string) (*dlq.Redrive, *dlq.Settled, error) {
	var flight *dlq.Redrive
	var err error
	if e.status == dlq.StatusRedriving {
		if flight, err = t.redriveWhere(`where r.entry_id = $1 and r.state in ('pending', 'claimed', 'delivered')`, e.id); err != nil {
			return nil, nil, err
		}
	}
	if named == "" || (flight != nil && flight.ID == named) {
		return flight, nil, nil
	}
	r, err := t.redriveWhere(`where r.id = $1 and r.entry_id = $2 and r.state = 'settled'`, named, e.id)
	if err != nil || r == nil {
		return flight, nil, err
	}
	settled := &dlq.Settled{RedriveID: r.ID, Outcome: r.Outcome, AttemptID: r.OutcomeAttempt}
	_, err = t.row(`select kind = 'outcome' from attempt where id = $1`, []any{r.OutcomeAttempt}, &settled.Reported)
	if err != nil {
		return flight, nil, fmt.Errorf("read the failure of a redrive: %w", err)
	}
	return flight, settled, nil
}

// codeSince says whether the code moved between the failure that a redrive
// replays and its outcome: what the outcome names, else what ran at the send, as
// its verdict will see it.
func codeSince(r *dlq.Redrive, outcome dlq.Versions, now dlq.Running) dlq.Code {
	ran := r.Running
	if r.SentAt.IsZero() {
		ran = now
	}
	code, _ := dlq.CompareCode(r.FailedUnder, outcome, ran)
	return code
}

// settlement is what is written when a redrive gets its outcome.
type settlement struct {
	outcome  dlq.OutcomeResult
	at       time.Time
	seq      *int64
	version  string
	sha256   string
	versions dlq.Versions
	attempt  int64
	cohort   string // in which it failed
	class    string
	unnamed  bool // it failed without error fields
	presumed bool
	answer   *targetAnswer // in which it came
}

func (t *Tx) settleRedrive(r *dlq.Redrive, s settlement) error {
	settled := *r
	settled.State, settled.Outcome, settled.OutcomeAt, settled.SettledAt, settled.Presumed = dlq.RedriveSettled, s.outcome, s.at, t.now, s.presumed
	settled.OutcomeVersion, settled.OutcomeSHA256, settled.OutcomeVersions = s.version, s.sha256, s.versions
	settled.OutcomeCohort, settled.OutcomeClass, settled.OutcomeUnnamed = s.cohort, dlq.FailureClass(s.class), s.unnamed
	j := judge(settled)
	step, said, err := t.verdictText(settled, j)
	if err != nil {
		return err
	}
	var accepted, status any
	if s.answer != nil {
		accepted, status = ms(t.now), s.answer.status
	}
	var of replayOf
	found, err := t.row(`update redrive set state = 'settled', outcome = $1, outcome_at = $2, outcome_seq = $3, outcome_version = $4, outcome_sha256 = $5, outcome_versions = $6,
		outcome_attempt = $7, outcome_cohort = $8, presumed = $9, settled_at = $10, outcome_class = $11, outcome_unnamed = $12, lease_until = 0, step_id = $14, verdict = $15,
		accepted_at = coalesce(accepted_at, $16), last_status = coalesce($17, last_status), last_error = case when $16 is null then last_error else '' end, last_body = case when $16 is null then last_body else '' end
		where id = $13 and state in ('pending', 'claimed', 'delivered') returning failed_cohort, source_id`,
		[]any{s.outcome, ms(s.at), s.seq, textOrNull(s.version), textOrNull(s.sha256), s.versions.Canonical(), s.attempt, textOrNull(s.cohort), s.presumed, ms(t.now), s.class, s.unnamed, r.ID,
			idOrNull(step), textOrNull(said), accepted, status}, &of.cohort, &of.source)
	if err != nil {
		return fmt.Errorf("settle redrive: %w", err)
	}
	if !found {
		return nil // settled already: whoever came first has said what it was
	}
	if s.answer != nil {
		s.answer.kept = true
	}
	if said != "" {
		if of.step = step; s.outcome == dlq.OutcomeFailed {
			of.outcomeCohort = s.cohort
		}
		t.sumReplay(of, j, 1, ms(t.now))
		if err := t.weighVerdict(j, of.cohort); err != nil {
			return err
		}
	}
	state := dlq.ItemSettled
	if s.outcome == dlq.OutcomeCancelled {
		state = dlq.ItemCancelled
	}
	if err := t.itemLands(r, state, s.outcome, ""); err != nil {
		return err
	}
	return t.brake(settled)
}

// settleByArrival settles the redrive in flight where an arrival is, or is taken
// for, its failure.
func (t *Tx) settleByArrival(flight *dlq.Redrive, e entryRow, attemptID int64, cohort string, a packedArrival, effect dlq.ArrivalEffect) error {
	if effect.Failure == dlq.NoReplay || flight == nil {
		return nil
	}
	s := settlement{outcome: dlq.OutcomeFailed, at: *a.Envelope.LastSeenAt, seq: a.Envelope.IngestSeq, version: a.Envelope.SourceVersion,
		sha256: a.Envelope.PayloadSHA256, versions: a.Envelope.ComponentVersions(), attempt: attemptID, cohort: cohort, class: a.Envelope.ErrorClass, presumed: effect.Failure == dlq.ReplayPresumed}
	if effect.Failure == dlq.ReplayUnrelated {
		s.outcome = dlq.OutcomeUnattributed
	}
	return t.settleRedrive(flight, s)
}

// cancelFlight settles a redrive in flight of an entry that was resolved by
// something else, if its target has not taken it. One that was taken keeps its
// place until its own outcome, or silence.
func (t *Tx) cancelFlight(e entryRow) error {
	r, err := t.redriveWhere(`where r.entry_id = $1 and r.state = 'pending'`, e.id)
	if err != nil || r == nil {
		return err
	}
	return t.settleRedrive(r, settlement{outcome: dlq.OutcomeCancelled, at: t.now})
}

func (t *Tx) leaveRegister(sourceID int64, key string) error {
	if key == "" {
		return nil
	}
	if _, err := t.exec(`delete from commit_register where source_id = $1 and content_hash = $2`, sourceID, key); err != nil {
		return fmt.Errorf("take the key out of the register of commits: %w", err)
	}
	return nil
}

func (t *Tx) enterRegister(e entryRow, redriveID string, result dlq.OutcomeResult, at time.Time) error {
	if e.contentHash == "" {
		return nil
	}
	if _, err := t.exec(`insert into commit_register (source_id, content_hash, entry_id, redrive_id, result, at) values ($1, $2, $3, $4, $5, $6)
		on conflict (source_id, content_hash) do nothing`, e.sourceID, e.contentHash, e.id, redriveID, result, ms(at)); err != nil {
		return fmt.Errorf("enter the key into the register of commits: %w", err)
	}
	return nil
}
