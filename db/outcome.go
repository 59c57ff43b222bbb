package db

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"dlo/dlq"
)

// reportedOutcome is an outcome on its way into the store.
type reportedOutcome struct {
	dlq.Outcome
	fingerprint *dlq.Fingerprint // of a failure that names its error
	detail      []byte
	key         string
	by          dlq.Actor
	answer      *targetAnswer // that reported it; nil where a pipeline did by itself
}

// targetAnswer is the answer to a delivery, in which its outcome came.
type targetAnswer struct {
	to     dlq.Redrive // as it was claimed
	status int
	kept   bool // with the outcome
}

// ApplyOutcome settles what a pipeline reports of a redrive, or of a document
// that it committed without one. It is idempotent, takes reports in any order,
// and keeps what belongs to nothing that is known here. The fingerprint is that
// of a failure that names its error, else nil.
func (s *Store) ApplyOutcome(ctx context.Context, by dlq.Actor, o dlq.Outcome, fp *dlq.Fingerprint) (dlq.OutcomeReceipt, error) {
	if o.Source == "" && len(by.Sources) == 1 {
		o.Source = by.Sources[0] // a token that is bound to one source speaks of that one
	}
	r, err := s.reported(by, o, fp)
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	var receipt dlq.OutcomeReceipt
	err = s.update(ctx, func(tx *Tx) error {
		var err error
		receipt, err = tx.applyOutcome(r)
		return err
	})
	return receipt, err
}

func (s *Store) reported(by dlq.Actor, o dlq.Outcome, fp *dlq.Fingerprint) (reportedOutcome, error) {
	r := reportedOutcome{Outcome: o, fingerprint: fp, by: by, key: outcomeKey(o)}
	if o.Failure == nil {
		return r, nil
	}
	detail, err := s.codec.packJSON(detailOf(*o.Failure, o.Cut))
	if err != nil {
		return r, fmt.Errorf("compress the texts of an outcome: %w", err)
	}
	r.detail = detail
	return r, nil
}

// outcomeKey is by which the same report is known again.
func outcomeKey(o dlq.Outcome) string {
	b, err := json.Marshal([]any{o.RedriveID, o.ContentHash, o.Source, o.DocID, o.Result, ms(o.At), o.IngestSeq, o.SourceVersion, o.PayloadSHA256})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

const nothingOfThisName = "no entry or redrive here has this name; the report is kept"

func (t *Tx) applyOutcome(o reportedOutcome) (dlq.OutcomeReceipt, error) {
	var entryID int64
	var applied bool
	var why string
	known, err := t.row(`select coalesce(entry_id, 0), applied, why from outcome where event_key = $1`, []any{o.key}, &entryID, &applied, &why)
	if err != nil {
		return dlq.OutcomeReceipt{}, fmt.Errorf("find the same report: %w", err)
	}
	if known && entryID != 0 {
		e, _, err := t.entryByID(entryID)
		if err != nil {
			return dlq.OutcomeReceipt{}, err
		}
		src, err := t.sourceByID(e.sourceID)
		if err != nil || !o.by.SeesSource(src.Name()) {
			return dlq.OutcomeReceipt{Why: nothingOfThisName}, err
		}
		return dlq.OutcomeReceipt{Applied: applied, DLQID: e.dlqID, Status: e.status, Why: why}, nil
	}
	flight, err := t.answered(o)
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	var e entryRow
	var found bool
	if flight != nil {
		e, found, err = t.entryByID(flight.EntryID)
	} else {
		flight, e, found, err = t.outcomeSubject(o.Outcome, o.by)
	}
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	if !found {
		return dlq.OutcomeReceipt{Why: nothingOfThisName}, t.keepOutcome(o, 0, false, nothingOfThisName)
	}
	receipt, err := t.settleOutcome(o, flight, e)
	if err != nil {
		return receipt, err
	}
	if o.Told { // what we conclude from a status ourselves is no report
		into(&t.jobSums.sources, e.sourceID).reported++
		// A pipeline that names a redrive in a report can tell its replays from its
		// ordinary syncs: a failure that names none is no failure of a replay. In the
		// answer to a delivery it is we who know which redrive is meant.
		if flight != nil && o.RedriveID != "" && o.by.Kind != dlq.ActorPolicy {
			if err := t.echoes(e.sourceID); err != nil {
				return receipt, err
			}
		}
	}
	return receipt, t.keepOutcome(o, e.id, receipt.Applied, receipt.Why)
}

func (t *Tx) echoes(sourceID int64) error {
	src, err := t.sourceByID(sourceID)
	if err != nil || src.EchoesRedriveID {
		return err
	}
	if _, err := t.exec(`update source set echoes = 1 where id = $1`, sourceID); err != nil {
		return fmt.Errorf("trust the source to name redrives: %w", err)
	}
	delete(t.sources, src.Name())
	return nil
}

func (t *Tx) keepOutcome(o reportedOutcome, entryID int64, applied bool, why string) error {
	_, err := t.exec(`insert into outcome (received_at, event_key, source, doc_id, redrive_id, content_hash, entry_id, result, at, ingest_seq, source_version, payload_sha256, versions, applied, why, actor)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
		on conflict (event_key) do update set entry_id = excluded.entry_id, applied = excluded.applied, why = excluded.why`,
		ms(t.now), o.key, o.Source, o.DocID, o.RedriveID, o.ContentHash, idOrNull(entryID), o.Result, ms(o.At), o.IngestSeq,
		textOrNull(o.SourceVersion), textOrNull(o.PayloadSHA256), o.Versions.Canonical(), applied, why, o.by.Name)
	if err != nil {
		return fmt.Errorf("keep outcome: %w", err)
	}
	return nil
}

// answered gives the redrive to which a target answered that it is committed. What
// was claimed is what is there as long as the lease stands, but for what its
// dispatch added. Nil: it is to be read; of a failure it is, because its cohort may
// have been merged meanwhile.
func (t *Tx) answered(o reportedOutcome) (*dlq.Redrive, error) {
	if o.answer == nil || o.Result != dlq.OutcomeCommitted && o.Result != dlq.OutcomeSkipped {
		return nil, nil
	}
	r := o.answer.to
	var running string
	var sent int64
	found, err := t.row(`select coalesce(running, ''), coalesce(sent_at, 0) from redrive where id = $1 and state = 'claimed' and lease_epoch = $2`, []any{r.ID, r.LeaseEpoch}, &running, &sent)
	if err != nil || !found {
		return nil, err
	}
	if r.SentAt = fromMS(sent); running != "" {
		if err := json.Unmarshal([]byte(running), &r.Running); err != nil {
			return nil, fmt.Errorf("read what ran at the send of redrive %s: %w", r.ID, err)
		}
	}
	return &r, nil
}

// outcomeSubject finds what an outcome is about: the redrive that it names; else
// the one of its key, in flight before settled; else the entry alone.
func (t *Tx) outcomeSubject(o dlq.Outcome, by dlq.Actor) (*dlq.Redrive, entryRow, bool, error) {
	var r *dlq.Redrive
	var err error
	switch {
	case o.RedriveID != "":
		r, err = t.redriveWhere(`where r.id = $1`, o.RedriveID)
	case o.ContentHash != "" && o.Source != "":
		r, err = t.redriveWhere(`where r.content_hash = $1 and s.name = $2 order by r.state = 'settled', r.created_at desc`, o.ContentHash, o.Source)
	case o.ContentHash != "":
		r, err = t.redriveWhere(`where r.content_hash = $1 order by r.state = 'settled', r.created_at desc`, o.ContentHash)
	default:
		r, err = t.redriveWhere(`where s.name = $1 and e.doc_id = $2 and r.state <> 'settled' order by r.created_at desc`, o.Source, o.DocID)
	}
	if err != nil {
		return nil, entryRow{}, false, err
	}
	if r != nil {
		if !by.SeesSource(r.Source) {
			return nil, entryRow{}, false, nil
		}
		e, found, err := t.entryByID(r.EntryID)
		return r, e, found, err
	}
	if o.RedriveID != "" {
		return nil, entryRow{}, false, nil
	}
	return t.outcomeEntry(o, by)
}

func (t *Tx) outcomeEntry(o dlq.Outcome, by dlq.Actor) (*dlq.Redrive, entryRow, bool, error) {
	var e entryRow
	var found bool
	var err error
	if o.ContentHash != "" {
		e, found, err = t.entryWhere(`where e.content_hash = $1 and ($2 = '' or e.source_id = (select id from source where name = $2))
			order by e.status in ('resolved', 'erased'), e.last_seen desc, e.id desc limit 1`, o.ContentHash, o.Source)
	} else {
		var src dlq.Source
		if src, found, err = t.source(o.Source); err == nil && found {
			e, found, err = t.entryByDoc(src.ID, o.DocID)
		}
	}
	if err != nil || !found {
		return nil, e, false, err
	}
	src, err := t.sourceByID(e.sourceID)
	if err != nil || !by.SeesSource(src.Name()) {
		return nil, e, false, err
	}
	return nil, e, true, nil
}

func (t *Tx) settleOutcome(o reportedOutcome, r *dlq.Redrive, was entryRow) (dlq.OutcomeReceipt, error) {
	if r != nil && !r.InFlight() && r.Outcome == o.Result {
		return dlq.OutcomeReceipt{Applied: true, DLQID: was.dlqID, Status: was.status}, nil // told again
	}
	if r != nil && !r.InFlight() && r.Late == o.Result { // the same contradiction again; the first time it was told is in the history
		receipt := dlq.OutcomeReceipt{DLQID: was.dlqID, Status: was.status}
		if _, err := t.row(`select applied, why from outcome where entry_id = $1 and result = $2 and redrive_id in ('', $3) order by id desc limit 1`, []any{was.id, o.Result, r.ID}, &receipt.Applied, &receipt.Why); err != nil {
			return receipt, fmt.Errorf("find what was said of a report: %w", err)
		}
		return receipt, nil
	}
	src, err := t.sourceByID(was.sourceID)
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	running, err := t.running(src.ID)
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	s := was.standing()
	f := replayFailure{cohort: was.cohort, fp: fingerprintRef{id: was.fingerprintID, cohort: was.cohort, review: was.review}}
	if o.Result == dlq.OutcomeFailed && r != nil {
		s.Code = codeSince(r, o.Versions, running)
		if f, err = t.replayFailure(o, r, was, src, running); err != nil {
			return dlq.OutcomeReceipt{}, err
		}
	}
	at := dlq.Position{IngestSeq: o.IngestSeq, LastSeen: o.At, ReceivedAt: t.now}
	late := r != nil && !r.InFlight()
	same, err := t.sameDefect(was, f.fp)
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	effect := s.Settle(o.Result, at, late, r == nil, same, src.Policy.PoisonThreshold)
	if late && r.Late == o.Result && effect.Status == was.status { // told again, and under another time
		return dlq.OutcomeReceipt{Applied: effect.Applied, DLQID: was.dlqID, Status: was.status, Why: effect.Why}, nil
	}
	is := was
	is.status, is.marks, is.sameFailures = effect.Status, effect.Marks, effect.SameFailures
	var attemptID int64
	if (effect.Attempt || effect.History) && o.Result == dlq.OutcomeFailed && r != nil {
		if attemptID, err = t.appendFailure(o, f, src, &is, effect); err != nil {
			return dlq.OutcomeReceipt{}, err
		}
	}
	if is.status == dlq.StatusResolved && was.status != dlq.StatusResolved {
		is.resolution, is.settledAt, is.settledSeq, is.granted = effect.Resolution, o.At, o.IngestSeq, false
	}
	if err := t.saveEntry(was, is); err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	if err := t.outcomeAftermath(o, r, src, was, is, effect, f, attemptID, late); err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	return dlq.OutcomeReceipt{Applied: effect.Applied, DLQID: is.dlqID, Status: is.status, Why: effect.Why}, nil
}

// outcomeAftermath writes what follows from an outcome beside the entry itself.
func (t *Tx) outcomeAftermath(o reportedOutcome, r *dlq.Redrive, src dlq.Source, was, is entryRow, effect dlq.OutcomeEffect, f replayFailure, attemptID int64, late bool) error {
	redriveID := ""
	if r != nil {
		redriveID = r.ID
	}
	if effect.Register {
		if err := t.enterRegister(is, redriveID, o.Result, o.At); err != nil {
			return err
		}
	}
	switch {
	case r != nil && late:
		if err := t.judgeAnew(r.ID, func() error {
			_, err := t.exec(`update redrive set late = $1, late_at = $2 where id = $3 and late = ''`, o.Result, ms(t.now), r.ID)
			return err
		}); err != nil {
			return fmt.Errorf("record a late outcome: %w", err)
		}
	case r != nil && effect.SettleFlight:
		s := settlement{outcome: o.Result, at: o.At, seq: o.IngestSeq, version: o.SourceVersion, sha256: o.PayloadSHA256, versions: o.Versions, attempt: attemptID, answer: o.answer}
		if o.Result == dlq.OutcomeFailed {
			s.cohort, s.class, s.unnamed = f.cohort, f.env.ErrorClass, !f.named
		}
		if err := t.settleRedrive(r, s); err != nil {
			return err
		}
	}
	if was.status == dlq.StatusRedriving && is.status == dlq.StatusResolved && (late || r == nil) {
		if err := t.cancelFlight(is); err != nil {
			return err
		}
	}
	if is.status == dlq.StatusResolved && was.status == dlq.StatusQuarantined {
		if err := t.resolveAlert(dlq.AlertPoison, "entry:"+is.dlqID); err != nil {
			return err
		}
	}
	if effect.Poisoned {
		return t.poisonAlert(src, is)
	}
	return nil
}

// replayFailure is what a failed outcome says of the failure, with what it does
// not say taken over.
type replayFailure struct {
	env    dlq.Envelope
	fp     fingerprintRef
	cell   int64
	cohort string
	named  bool // it names its error: the evidence is replaced
}

// replayFailure takes over what a failed outcome does not name: under held the
// bytes and source version of the attempt whose copy was sent, under source what
// the probe said at dispatch; versions from what is registered as running, else
// from the attempt that was replayed.
func (t *Tx) replayFailure(o reportedOutcome, r *dlq.Redrive, was entryRow, src dlq.Source, running dlq.Running) (replayFailure, error) {
	at := o.At
	f := replayFailure{cohort: was.cohort, cell: was.cellID, fp: fingerprintRef{id: was.fingerprintID, cohort: was.cohort, review: was.review}}
	if o.Failure != nil {
		f.env, f.named = *o.Failure, true
	}
	f.env.Source, f.env.DocID, f.env.RedriveID = src.Name(), was.docID, r.ID
	f.env.FirstSeenAt, f.env.LastSeenAt, f.env.IngestSeq = &at, &at, o.IngestSeq
	f.env.SourceVersion, f.env.PayloadSHA256 = o.SourceVersion, o.PayloadSHA256
	f.env.Filename = was.filename
	switch r.Sent {
	case dlq.ModeHeld:
		if f.env.SourceVersion == "" {
			f.env.SourceVersion = r.SourceVersion
		}
		if f.env.PayloadSHA256 == "" {
			f.env.PayloadSHA256 = r.PayloadSHA256
		}
	case dlq.ModeSource:
		if f.env.SourceVersion == "" {
			f.env.SourceVersion = r.Probe.ETag
		}
	}
	var under, contentType, stage string
	if _, err := t.row(`select v.versions, c.content_type, c.stage from cell c join version_set v on v.id = c.version_set_id where c.id = $1`, []any{was.cellID}, &under, &contentType, &stage); err != nil {
		return f, fmt.Errorf("read the cell: %w", err)
	}
	f.env.Versions = dlq.TakeOverVersions(o.Versions, running, dlq.ParseVersions(under))
	if f.env.ContentType == "" {
		f.env.ContentType = contentType
	}
	if f.env.Stage == "" {
		f.env.Stage = stage
	}
	if !f.named || o.fingerprint == nil {
		return f, nil
	}
	if f.env.Reason == "" {
		f.env.Reason = string(dlq.ReasonException)
	}
	fp, cell, err := t.place(src, packedArrival{Arrival: dlq.Arrival{Envelope: f.env, Fingerprint: *o.fingerprint}})
	f.fp, f.cell, f.cohort = fp, cell, fp.cohort
	return f, err
}

// appendFailure appends a failed outcome to the history as an attempt, and
// replaces the evidence where it names its error.
func (t *Tx) appendFailure(o reportedOutcome, f replayFailure, src dlq.Source, is *entryRow, effect dlq.OutcomeEffect) (int64, error) {
	is.lastAttempt++
	is.attempts++
	id := is.id<<sequenceBits | is.lastAttempt
	why := dlq.ArrivalFailed
	if !effect.Attempt {
		why = dlq.ArrivalHistory
	}
	a := packedArrival{Arrival: dlq.Arrival{Envelope: f.env, ReceivedAt: t.now}, detail: o.detail}
	if effect.Attempt && f.named {
		is.become(f.fp, f.cell, a, id)
		is.takeBytes(a, id, t.now, src.Policy.Retention, true)
	}
	return id, t.insertAttemptRow(attemptRow{id: id, sourceID: is.sourceID, kind: "outcome", why: why, episode: is.episode, cell: f.cell, env: f.env, attempts: 1,
		receivedAt: t.now, detail: o.detail, actor: o.by.Name})
}

// SettleOverdue settles the redrives whose outcome is overdue, at most limit of
// them, as the source's policy says: parked again, or assumed.
func (s *Store) SettleOverdue(ctx context.Context, limit int) (parked, assumed int, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		parked, assumed = 0, 0
		list, err := redrivesWhere(tx.ctx, tx, `where r.state = 'delivered' and r.due_at <= $1 order by r.due_at, r.id limit $2`, ms(tx.now), limit)
		if err != nil {
			return err
		}
		for i := range list {
			silenced, err := tx.silence(&list[i])
			if err != nil {
				return err
			}
			if silenced == dlq.OutcomeAssumed {
				assumed++
			} else {
				parked++
			}
		}
		return nil
	})
	return parked, assumed, err
}

func (t *Tx) silence(r *dlq.Redrive) (dlq.OutcomeResult, error) {
	was, found, err := t.entryByID(r.EntryID)
	if err != nil || !found {
		return "", err
	}
	src, err := t.sourceByID(was.sourceID)
	if err != nil {
		return "", err
	}
	outcome := dlq.OutcomeNoOutcome
	if src.Policy.Outcomes.Mode == dlq.OutcomesAssumed {
		outcome = dlq.OutcomeAssumed
	}
	if was.status == dlq.StatusRedriving {
		effect := was.standing().Silence(src.Policy.Outcomes.Mode)
		is := was
		is.status, is.marks = effect.Status, effect.Marks
		if is.status == dlq.StatusResolved {
			is.resolution, is.settledAt = effect.Resolution, t.now
		}
		if err := t.saveEntry(was, is); err != nil {
			return "", err
		}
	}
	if err := t.settleRedrive(r, settlement{outcome: outcome, at: t.now}); err != nil {
		return "", err
	}
	return outcome, t.audit(dlq.Policy("overdue outcomes"), auditEntry{action: "redrive.overdue", entryID: was.id, dlqID: was.dlqID, operation: r.OperationID, source: src.Name(),
		detail: map[string]any{"redrive": r.ID, "outcome": outcome}})
}
