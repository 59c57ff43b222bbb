package db

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"dlo/dlq"
)

// entryRow is an entry as a transaction changes it: its row, and of its cohort
// what the counters need.
type entryRow struct {
	id, sourceID, cellID, fingerprintID, evidenceID int64
	dlqID, docID                                    string
	status                                          dlq.Status
	resolution                                      dlq.Resolution
	marks                                           dlq.Marks
	episode, attempts, arrivals, lastAttempt        int64
	redrivesTotal                                   int64
	sameFailures                                    int
	granted                                         bool
	firstSeen, openedAt, lastSeen, expiresAt        time.Time
	ingestSeq                                       *int64
	receivedAt                                      time.Time
	settledAt                                       time.Time
	settledSeq                                      *int64
	contentHash                                     string
	keyCheck                                        dlq.KeyCheck
	payloadSHA256, heldSHA256                       string
	payloadBytes                                    *int64
	copy                                            dlq.CopyState
	payloadAttempt                                  int64
	payloadExpires                                  time.Time
	senderID, filename, message                     string
	blocked                                         bool
	version                                         int64
	cohort                                          string
	fingerprint                                     string // in words; empty where it was not read
	review                                          bool
	disposition, cohortDisposition                  dlq.Disposition // read alone: db/disposition.go writes them
}

const entryRowColumns = `e.id, e.source_id, e.cell_id, e.fingerprint_id, e.evidence_id, e.dlq_id, e.doc_id, e.status, e.resolution, e.marks,
	e.episode, e.attempts, e.arrivals, e.last_attempt, e.redrives_total, e.same_failures, e.granted,
	e.first_seen, e.opened_at, e.last_seen, e.expires_at, e.ingest_seq, e.received_at, e.settled_at, e.settled_seq,
	coalesce(e.content_hash, ''), e.key_check, coalesce(e.payload_sha256, ''), coalesce(e.held_sha256, ''), e.payload_bytes, e.payload_state,
	coalesce(e.payload_attempt, 0), e.payload_expires, coalesce(e.sender_id, ''), e.filename, e.message, e.blocked, e.version, f.cohort_id, c.review, e.disposition, c.disposition`

const entryRowFrom = ` from entry e join fingerprint f on f.id = e.fingerprint_id join cohort c on c.id = f.cohort_id `

func (t *Tx) entryWhere(where string, args ...any) (entryRow, bool, error) {
	var e entryRow
	var marks string
	var firstSeen, openedAt, lastSeen, expiresAt, receivedAt int64
	var settledAt, payloadExpires sql.NullInt64
	found, err := t.row(`select `+entryRowColumns+entryRowFrom+where, args,
		&e.id, &e.sourceID, &e.cellID, &e.fingerprintID, &e.evidenceID, &e.dlqID, &e.docID, &e.status, &e.resolution, &marks,
		&e.episode, &e.attempts, &e.arrivals, &e.lastAttempt, &e.redrivesTotal, &e.sameFailures, &e.granted,
		&firstSeen, &openedAt, &lastSeen, &expiresAt, &e.ingestSeq, &receivedAt, &settledAt, &e.settledSeq,
		&e.contentHash, &e.keyCheck, &e.payloadSHA256, &e.heldSHA256, &e.payloadBytes, &e.copy,
		&e.payloadAttempt, &payloadExpires, &e.senderID, &e.filename, &e.message, &e.blocked, &e.version, &e.cohort, &e.review, &e.disposition, &e.cohortDisposition)
	if err != nil || !found {
		return e, false, err
	}
	e.marks = dlq.ParseMarks(marks)
	e.firstSeen, e.openedAt, e.lastSeen, e.expiresAt = moment(firstSeen), moment(openedAt), moment(lastSeen), moment(expiresAt)
	e.receivedAt, e.settledAt, e.payloadExpires = moment(receivedAt), fromNullMS(settledAt), fromNullMS(payloadExpires)
	return e, true, nil
}

// entryByDoc looks for the id before the row: most documents that arrive are
// new, and a miss of this narrow question costs much less than one of the whole
// row's.
func (t *Tx) entryByDoc(sourceID int64, docID string) (entryRow, bool, error) {
	var id int64
	found, err := t.row(`select id from entry where source_id = $1 and doc_id = $2`, []any{sourceID, docID}, &id)
	if err != nil || !found {
		return entryRow{}, false, err
	}
	return t.entryByID(id)
}

func (t *Tx) entryByID(id int64) (entryRow, bool, error) {
	return t.entryWhere(`where e.id = $1`, id)
}

func (t *Tx) entryByDLQID(id string) (entryRow, bool, error) {
	return t.entryWhere(`where e.dlq_id = $1`, id)
}

func (e entryRow) place() place {
	return place{e.status, e.resolution, e.sourceID, e.cellID, e.fingerprintID, e.cohort, e.review, e.openedAt, e.expiresAt, e.episode}
}

func (e entryRow) evidencePosition() dlq.Position {
	return dlq.Position{IngestSeq: e.ingestSeq, LastSeen: e.lastSeenOfEvidence(), ReceivedAt: e.receivedAt}
}

// lastSeenOfEvidence is the entry's last_seen: it moves with the evidence only.
func (e entryRow) lastSeenOfEvidence() time.Time { return e.lastSeen }

func (e entryRow) standing() dlq.Standing {
	return dlq.Standing{
		Status: e.status, Evidence: e.evidencePosition(),
		Settled:  dlq.Position{IngestSeq: e.settledSeq, LastSeen: e.settledAt, ReceivedAt: e.settledAt},
		CohortID: e.cohort, Marks: e.marks, SameFailures: e.sameFailures, Grant: e.granted,
		OpenedAt: e.openedAt, ExpiresAt: e.expiresAt, Blocked: e.blocked,
	}
}

// mutable lists the values of the columns that change, in the order in which
// both statements below name them.
func (e entryRow) mutable() []any {
	return []any{e.status, e.resolution, e.marks.String(), e.cellID, e.fingerprintID, e.evidenceID, e.episode, e.attempts, e.arrivals, e.lastAttempt,
		e.redrivesTotal, e.sameFailures, e.granted, ms(e.firstSeen), ms(e.openedAt), ms(e.lastSeen), ms(e.expiresAt),
		e.ingestSeq, ms(e.receivedAt), msOrNull(e.settledAt), e.settledSeq, textOrNull(e.contentHash), e.keyCheck,
		textOrNull(e.payloadSHA256), textOrNull(e.heldSHA256), e.payloadBytes, e.copy, e.payloadAttempt, msOrNull(e.payloadExpires),
		textOrNull(e.senderID), e.filename, e.message, e.blocked}
}

// nextEntryID gives ids in the order of first arrival. The transaction is
// immediate, so that no other process can take the same.
func (t *Tx) nextEntryID() (int64, error) {
	if t.lastEntryID == 0 {
		if _, err := t.row(`select coalesce(max(id), 0) from entry`, nil, &t.lastEntryID); err != nil {
			return 0, fmt.Errorf("number the entry: %w", err)
		}
	}
	t.lastEntryID++
	return t.lastEntryID, nil
}

func (t *Tx) insertEntry(e entryRow) error {
	args := append([]any{e.dlqID, e.sourceID, e.docID}, e.mutable()...)
	args = append(args, e.id)
	_, err := t.exec(`insert into entry (dlq_id, source_id, doc_id, status, resolution, marks, cell_id, fingerprint_id, evidence_id, episode, attempts, arrivals, last_attempt,
		redrives_total, same_failures, granted, first_seen, opened_at, last_seen, expires_at, ingest_seq, received_at, settled_at, settled_seq, content_hash, key_check,
		payload_sha256, held_sha256, payload_bytes, payload_state, payload_attempt, payload_expires, sender_id, filename, message, blocked, id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37)`, args...)
	if err != nil {
		return fmt.Errorf("add entry: %w", err)
	}
	return nil
}

// saveEntry writes what became of an entry, and moves the counters with it. The
// guard is the state and the row's version that it was read with: the caller
// read it in this transaction, so a difference is a fault of the program.
func (t *Tx) saveEntry(was, is entryRow) error {
	if was.status != is.status && !dlq.MayMove(was.status, is.status) {
		return fmt.Errorf("no event moves an entry from %s to %s", was.status, is.status)
	}
	n, err := t.writeEntry(was, is)
	if err != nil {
		return fmt.Errorf("save entry: %w", err)
	}
	if n != 1 {
		return fmt.Errorf("entry %s moved while it was being changed", is.dlqID)
	}
	t.countMove(was.place(), is.place())
	switch {
	case is.evidenceID != was.evidenceID:
		err = t.textIsStale(is.id)
	case is.fingerprintID != was.fingerprintID:
		err = t.textMoves(was.id, was.fingerprintID)
	}
	if err != nil {
		return err
	}
	return t.reviewDispositions(was, is)
}

// writeEntry writes a row that was changed. What only moves to another state keeps
// its place in every index that does not name the state, and those are not touched:
// the database decides by the columns that a statement names.
func (t *Tx) writeEntry(was, is entryRow) (int64, error) {
	moved := was
	moved.status, moved.resolution, moved.marks, moved.sameFailures, moved.granted, moved.settledAt, moved.settledSeq = is.status, is.resolution, is.marks, is.sameFailures, is.granted, is.settledAt, is.settledSeq
	if slices.Equal(moved.mutable(), is.mutable()) {
		return t.exec(`update entry set status = $1, resolution = $2, marks = $3, same_failures = $4, granted = $5, settled_at = $6, settled_seq = $7, version = version + 1
			where id = $8 and status = $9 and version = $10`,
			is.status, is.resolution, is.marks.String(), is.sameFailures, is.granted, msOrNull(is.settledAt), is.settledSeq, is.id, was.status, was.version)
	}
	args := append(is.mutable(), is.id, was.status, was.version)
	return t.exec(`update entry set status = $1, resolution = $2, marks = $3, cell_id = $4, fingerprint_id = $5, evidence_id = $6, episode = $7, attempts = $8,
		arrivals = $9, last_attempt = $10, redrives_total = $11, same_failures = $12, granted = $13, first_seen = $14, opened_at = $15, last_seen = $16, expires_at = $17,
		ingest_seq = $18, received_at = $19, settled_at = $20, settled_seq = $21, content_hash = $22, key_check = $23, payload_sha256 = $24, held_sha256 = $25,
		payload_bytes = $26, payload_state = $27, payload_attempt = $28, payload_expires = $29, sender_id = $30, filename = $31, message = $32, blocked = $33,
		version = version + 1 where id = $34 and status = $35 and version = $36`, args...)
}
