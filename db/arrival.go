package db

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dlo/dlq"
)

const sequenceBits = 20 // of an attempt's id; a million failures of one entry

// packedArrival is an arrival with its long texts compressed, which is done by
// whoever brings it and never by the writer.
type packedArrival struct {
	dlq.Arrival
	detail []byte
}

func (s *Store) packArrival(a dlq.Arrival) (packedArrival, error) {
	detail, err := s.codec.packJSON(detailOf(a.Envelope, a.Cut))
	if err != nil {
		return packedArrival{}, fmt.Errorf("compress the texts of %s/%s: %w", a.Envelope.Source, a.Envelope.DocID, err)
	}
	return packedArrival{a, detail}, nil
}

func detailOf(e dlq.Envelope, cut map[string]int) dlq.AttemptDetail {
	return dlq.AttemptDetail{Message: e.ErrorMessage, Trace: e.StackTrace, TraceURI: e.StackTraceURI, Validation: e.ValidationText(),
		Labels: e.Labels, Extra: e.Extra, Cut: cut, RedriveCount: e.RedriveCount}
}

// RecordArrival parks one accepted failure, or merges it into its entry, by the
// rules of dlq. When it returns, the record has been synced to the disk. The
// only errors are the database's.
func (s *Store) RecordArrival(ctx context.Context, a dlq.Arrival) (dlq.Receipt, error) {
	receipts, err := s.RecordArrivals(ctx, []dlq.Arrival{a})
	if err != nil {
		return dlq.Receipt{}, err
	}
	return receipts[0], nil
}

// RecordArrivals is RecordArrival for several, in their order and in one
// commit: all or none.
func (s *Store) RecordArrivals(ctx context.Context, arrivals []dlq.Arrival) ([]dlq.Receipt, error) {
	packed := make([]packedArrival, len(arrivals))
	for i, a := range arrivals {
		p, err := s.packArrival(a)
		if err != nil {
			return nil, err
		}
		packed[i] = p
	}
	var receipts []dlq.Receipt
	err := s.record(ctx, func(tx *Tx) error {
		receipts = receipts[:0]
		for _, p := range packed {
			r, err := tx.recordArrival(p)
			if err != nil {
				return fmt.Errorf("record failure of %s/%s: %w", p.Envelope.Source, p.Envelope.DocID, err)
			}
			receipts = append(receipts, r)
		}
		return nil
	})
	return receipts, err
}

func (t *Tx) recordArrival(a packedArrival) (dlq.Receipt, error) {
	src, err := t.sourceForArrival(a.Envelope.Source)
	if err != nil {
		return dlq.Receipt{}, err
	}
	if duplicate, found, err := t.duplicate(src.ID, a.EventKey); err != nil {
		return dlq.Receipt{}, err
	} else if found {
		r, err := t.receipt(duplicate, src)
		r.Duplicate = true
		return r, err
	}
	entry, found, err := t.entryByDoc(src.ID, a.Envelope.DocID)
	if err != nil {
		return dlq.Receipt{}, fmt.Errorf("find entry: %w", err)
	}
	if a.Envelope.RedriveID != "" && !src.EchoesRedriveID {
		if _, err := t.exec(`update source set echoes = 1 where id = $1`, src.ID); err != nil {
			return dlq.Receipt{}, fmt.Errorf("trust the source to name redrives: %w", err)
		}
		delete(t.sources, src.Name())
	}
	if found && entry.status == dlq.StatusErased && entry.blocked {
		entry, err = t.countBlocked(src, entry, a)
		if err != nil {
			return dlq.Receipt{}, err
		}
		return t.receipt(entry, src)
	}
	if a.Held {
		if err := t.rememberPayload(a.Envelope.PayloadSHA256, a.HeldBytes); err != nil {
			return dlq.Receipt{}, err
		}
	}
	if found {
		entry, err = t.nextArrival(src, entry, a)
	} else {
		entry, err = t.firstArrival(src, a)
	}
	if err != nil {
		return dlq.Receipt{}, err
	}
	r, err := t.receipt(entry, src)
	r.Created = !found
	return r, err
}

// receipt says how an entry stands. Its cohort and fingerprint are those of the
// current evidence, which an arrival that is not newer did not bring.
func (t *Tx) receipt(e entryRow, src dlq.Source) (dlq.Receipt, error) {
	if e.fingerprint == "" {
		if _, err := t.row(`select algorithm || ':' || digest from fingerprint where id = $1`, []any{e.fingerprintID}, &e.fingerprint); err != nil {
			return dlq.Receipt{}, fmt.Errorf("find fingerprint: %w", err)
		}
	}
	return dlq.Receipt{DLQID: e.dlqID, Source: src.Name(), DocID: e.docID, Status: e.status, Attempts: e.attempts, Arrivals: e.arrivals,
		Cohort: e.cohort, Fingerprint: e.fingerprint, URL: "/entries/" + e.dlqID}, nil
}

// countBlocked counts an arrival of a document that was erased and may not be
// parked again. Nothing that it brings is written: not its texts, nor what a
// fingerprint or a cell would keep of them.
func (t *Tx) countBlocked(src dlq.Source, was entryRow, a packedArrival) (entryRow, error) {
	is := was
	is.arrivals++
	t.countArrival(src.ID, fingerprintRef{id: was.fingerprintID, cohort: was.cohort, review: was.review}, a.Envelope)
	return is, t.saveEntry(was, is)
}

func (t *Tx) duplicate(sourceID int64, key string) (entryRow, bool, error) {
	if key == "" {
		return entryRow{}, false, nil
	}
	var attemptID int64
	found, err := t.row(`select id from attempt where source_id = $1 and event_key = $2`, []any{sourceID, key}, &attemptID)
	if err != nil || !found {
		return entryRow{}, false, err
	}
	return t.entryByID(attemptID >> sequenceBits)
}

// rememberPayload keeps a row for bytes that the payload store holds.
func (t *Tx) rememberPayload(sha256 string, size int64) error {
	_, err := t.exec(`insert into payload (sha256, bytes, stored_at) values ($1, $2, $3) on conflict (sha256) do nothing`, sha256, size, ms(t.now))
	if err != nil {
		return fmt.Errorf("remember payload: %w", err)
	}
	return nil
}

func (t *Tx) place(src dlq.Source, a packedArrival) (fingerprintRef, int64, error) {
	review := dlq.Reason(a.Envelope.Reason) == dlq.ReasonLowConfidence
	fp, err := t.memberFor(a.Arrival, src.ID, review)
	if err != nil {
		return fp, 0, err
	}
	versions, err := t.versionSet(a.Envelope.ComponentVersions())
	if err != nil {
		return fp, 0, err
	}
	cell, err := t.cell(cellKey{fp.id, src.ID, versions, a.Envelope.Reason, storable(a.Envelope.ErrorClass), storable(typeOf(a)),
		storable(strings.ToLower(a.Envelope.ContentType)), storable(a.Envelope.Stage)})
	return fp, cell, err
}

func typeOf(a packedArrival) string {
	if a.Envelope.ErrorType != "" {
		return a.Envelope.ErrorType
	}
	return a.Fingerprint.Type
}

// storable takes NUL out of a text that stands in a column: not every engine
// can keep one. The original stands in the attempt's detail.
func storable(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

func (t *Tx) firstArrival(src dlq.Source, a packedArrival) (entryRow, error) {
	fp, cell, err := t.place(src, a)
	if err != nil {
		return entryRow{}, err
	}
	e := entryRow{dlqID: t.newID(), sourceID: src.ID, docID: a.Envelope.DocID, copy: dlq.CopyNever, arrivals: 1, lastAttempt: 1}
	e.beginEpisode(src, a, t.now)
	e.firstSeen = e.openedAt
	e.attempts = attemptsOf(a)
	if e.id, err = t.nextEntryID(); err != nil {
		return entryRow{}, err
	}
	first := e.id<<sequenceBits | 1
	e.become(fp, cell, a, first)
	e.takeBytes(a, first, t.now, src.Policy.Retention, true)
	if err := t.insertEntry(e); err != nil {
		return e, err
	}
	if err := t.insertAttempt(e, first, cell, a, dlq.ArrivalParked); err != nil {
		return e, err
	}
	t.countMove(place{}, e.place())
	t.countArrival(src.ID, fp, a.Envelope)
	return e, t.contractAlert(src, e, a)
}

func attemptsOf(a packedArrival) int64 {
	if a.Envelope.Attempts != nil {
		return int64(*a.Envelope.Attempts)
	}
	return 1
}

// beginEpisode sets what belongs to an episode, for an entry's first or for one
// that came back.
func (e *entryRow) beginEpisode(src dlq.Source, a packedArrival, now time.Time) {
	e.status, e.resolution = dlq.StatusParked, ""
	e.episode++
	e.openedAt = *a.Envelope.FirstSeenAt
	e.expiresAt = src.Policy.Retention.Expiry(e.openedAt, now)
	e.settledAt, e.settledSeq = time.Time{}, nil
	e.granted, e.blocked = false, false
	e.sameFailures = 0
	if a.Envelope.RedriveCount != nil {
		e.sameFailures = *a.Envelope.RedriveCount
	}
}

// become replaces the current evidence whole. Only the key stays, where the
// arrival names neither a key nor bytes.
func (e *entryRow) become(fp fingerprintRef, cell int64, a packedArrival, evidenceID int64) {
	env := a.Envelope
	e.fingerprintID, e.cohort, e.review, e.cellID = fp.id, fp.cohort, fp.review, cell
	e.fingerprint = ""
	e.evidenceID = evidenceID
	e.lastSeen, e.receivedAt, e.ingestSeq = *env.LastSeenAt, a.ReceivedAt, env.IngestSeq
	e.payloadSHA256, e.payloadBytes = env.PayloadSHA256, env.PayloadBytes
	e.filename, e.senderID = storable(env.Filename), env.SenderID
	e.message = storable(head(env.ErrorMessage, 500))
	if env.ContentHash != "" || env.PayloadSHA256 != "" {
		e.contentHash, e.keyCheck = env.ContentHash, a.KeyCheck
		if e.contentHash == "" {
			e.contentHash, e.keyCheck = env.PayloadSHA256, dlq.KeyFromPayload
		}
	}
	e.marks = e.marks.Without(dlq.MarkNotExhausted)
	for _, m := range dlq.FirstMarks(dlq.FailureClass(env.ErrorClass), int(attemptsOf(a))) {
		e.marks = e.marks.With(m)
	}
}

// takeBytes keeps the bytes that an attempt brought: the newest held are kept.
// An older attempt's are taken only where nothing is held.
func (e *entryRow) takeBytes(a packedArrival, attemptID int64, now time.Time, r dlq.RetentionPolicy, newest bool) {
	sha := a.Envelope.PayloadSHA256
	switch {
	case a.Held && (newest || e.copy != dlq.CopyHeld):
		e.heldSHA256, e.copy, e.payloadAttempt = sha, dlq.CopyHeld, attemptID
		e.payloadExpires = now.Add(r.PayloadTTL.Std())
	case newest && sha != "" && sha == e.heldSHA256 && e.copy == dlq.CopyHeld:
		e.payloadAttempt = attemptID // the same bytes failed again
	}
}

func (t *Tx) nextArrival(src dlq.Source, was entryRow, a packedArrival) (entryRow, error) {
	fp, cell, err := t.place(src, a)
	if err != nil {
		return was, err
	}
	s := was.standing()
	flight, named, err := t.flights(was, a.Envelope.RedriveID)
	if err != nil {
		return was, err
	}
	s.Named = named
	if flight != nil {
		s.Flight = &dlq.Flight{RedriveID: flight.ID, Sent: !flight.SentAt.IsZero(), SentAt: flight.SentAt}
		running, err := t.running(src.ID)
		if err != nil {
			return was, err
		}
		s.Code = codeSince(flight, a.Envelope.ComponentVersions(), running)
	}
	at := dlq.Position{IngestSeq: a.Envelope.IngestSeq, LastSeen: *a.Envelope.LastSeenAt, ReceivedAt: a.ReceivedAt}
	same, err := t.sameDefect(was, fp)
	if err != nil {
		return was, err
	}
	effect := s.Arrive(at, a.Envelope.RedriveID, src.EchoesRedriveID, same, src.Policy.PoisonThreshold)
	is := was
	is.arrivals++
	t.countArrival(src.ID, fp, a.Envelope)
	if effect.SameAttempt {
		return t.completeAttempt(src, was, is, fp, cell, a, named.AttemptID)
	}
	is.attempts += attemptsOf(a)
	is.lastAttempt++
	attemptID := is.id<<sequenceBits | is.lastAttempt
	if a.Envelope.FirstSeenAt.Before(is.firstSeen) {
		is.firstSeen = *a.Envelope.FirstSeenAt
	}
	is.status, is.marks = effect.Status, effect.Marks
	if effect.NewEpisode {
		is.beginEpisode(src, a, t.now)
	} else {
		is.sameFailures = effect.SameFailures
		if effect.ReplaceEvidence && a.Envelope.FirstSeenAt.Before(is.openedAt) {
			is.openedAt = *a.Envelope.FirstSeenAt
		}
	}
	if effect.LeaveRegister {
		if err := t.leaveRegister(src.ID, was.contentHash); err != nil {
			return was, err
		}
	}
	if effect.Renew {
		is.expiresAt = src.Policy.Retention.RenewedExpiry(is.expiresAt, t.now)
	}
	if effect.ReplaceEvidence {
		is.become(fp, cell, a, attemptID)
	}
	is.takeBytes(a, attemptID, t.now, src.Policy.Retention, effect.ReplaceEvidence)
	if err := t.insertAttempt(is, attemptID, cell, a, effect.Why); err != nil {
		return was, err
	}
	if err := t.saveEntry(was, is); err != nil {
		return was, err
	}
	if err := t.settleByArrival(flight, is, attemptID, fp.cohort, a, effect); err != nil {
		return was, err
	}
	if effect.Poisoned {
		if err := t.poisonAlert(src, is); err != nil {
			return was, err
		}
	}
	return is, t.contractAlert(src, is, a)
}

func (t *Tx) insertAttempt(e entryRow, id, cell int64, a packedArrival, why dlq.ArrivalWhy) error {
	return t.insertAttemptRow(attemptRow{id: id, sourceID: e.sourceID, kind: "arrival", why: why, episode: e.episode, eventKey: a.EventKey,
		cell: cell, env: a.Envelope, attempts: attemptsOf(a), receivedAt: a.ReceivedAt, detail: a.detail, actor: a.Actor.Name})
}

// attemptRow is what one attempt is written from.
type attemptRow struct {
	id, sourceID int64
	kind         string
	why          dlq.ArrivalWhy
	episode      int64
	eventKey     string
	cell         int64
	env          dlq.Envelope
	attempts     int64
	receivedAt   time.Time
	detail       []byte
	actor        string
}

func (t *Tx) insertAttemptRow(r attemptRow) error {
	if r.id&(1<<sequenceBits-1) == 0 {
		return fmt.Errorf("an entry has more than %d attempts", 1<<sequenceBits-1)
	}
	e := r.env
	_, err := t.exec(`insert into attempt (id, source_id, kind, why, episode, event_key, redrive_id, cell_id, attempts, received_at, first_seen, last_seen, ingest_seq,
		source_version, source_updated_at, cursor, source_url, payload_sha256, payload_bytes, payload_uri, filename, confidence, processing, indexed_version, detail, actor)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)`,
		r.id, r.sourceID, r.kind, r.why, r.episode, textOrNull(r.eventKey), textOrNull(e.RedriveID), r.cell, r.attempts, ms(r.receivedAt),
		ms(*e.FirstSeenAt), ms(*e.LastSeenAt), e.IngestSeq, textOrNull(storable(e.SourceVersion)), timeOrNull(e.SourceUpdatedAt), textOrNull(storable(e.CursorAtArrival)),
		textOrNull(storable(e.SourceURL)), textOrNull(e.PayloadSHA256), e.PayloadBytes, textOrNull(storable(e.PayloadURI)), textOrNull(storable(e.Filename)),
		e.Confidence, textOrNull(storable(e.ProcessingVersion)), textOrNull(storable(e.IndexedVersion)), r.detail, r.actor)
	if err != nil {
		return fmt.Errorf("append attempt: %w", err)
	}
	return nil
}

func timeOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return ms(*t)
}

// completeAttempt fills in the attempt that an outcome began, when the failure
// of the same redrive arrives as well: it is one attempt, counted once.
func (t *Tx) completeAttempt(src dlq.Source, was, is entryRow, fp fingerprintRef, cell int64, a packedArrival, attemptID int64) (entryRow, error) {
	at := dlq.Position{IngestSeq: a.Envelope.IngestSeq, LastSeen: *a.Envelope.LastSeenAt, ReceivedAt: a.ReceivedAt}
	if was.evidenceID == attemptID || at.Newer(was.evidencePosition()) {
		is.become(fp, cell, a, attemptID)
		is.takeBytes(a, attemptID, t.now, src.Policy.Retention, true)
	}
	if err := t.saveEntry(was, is); err != nil {
		return was, err
	}
	if _, err := t.exec(`delete from attempt where id = $1`, attemptID); err != nil {
		return was, fmt.Errorf("complete attempt: %w", err)
	}
	if err := t.traceLeaves(is.id, attemptID); err != nil {
		return was, err
	}
	var redriveID string
	if found, err := t.row(`select id from redrive where entry_id = $1 and outcome_attempt = $2`, []any{is.id, attemptID}, &redriveID); err != nil {
		return was, fmt.Errorf("find the outcome to complete: %w", err)
	} else if found {
		if err := t.judgeAnew(redriveID, func() error {
			_, err := t.exec(`update redrive set outcome_unnamed = 0, outcome_cohort = $1, outcome_class = $2 where id = $3`, fp.cohort, a.Envelope.ErrorClass, redriveID)
			return err
		}); err != nil {
			return was, fmt.Errorf("complete the outcome: %w", err)
		}
	}
	if err := t.textIsStale(is.id); err != nil { // the same attempt has other texts now
		return was, err
	}
	return is, t.insertAttempt(is, attemptID, cell, a, dlq.ArrivalFailed)
}

func head(s string, runes int) string {
	n := 0
	for i := range s {
		if n == runes {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
