package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"dlo/dlq"
)

const entryColumns = `e.id, e.dlq_id, s.name, e.doc_id, e.status, e.resolution, e.marks, f.cohort_id, f.algorithm || ':' || f.digest, c.reason, c.error_class, c.error_type, e.message,
	c.stage, c.content_type, e.filename, v.versions, e.episode, e.attempts, e.arrivals, e.redrives_total, e.same_failures, e.granted, e.first_seen, e.opened_at, e.last_seen, e.expires_at,
	e.settled_at, e.ingest_seq, coalesce(e.content_hash, ''), e.key_check, coalesce(e.payload_sha256, ''), coalesce(e.payload_bytes, -1), e.payload_state, coalesce(e.held_sha256, ''),
	coalesce(e.payload_attempt, 0), e.payload_expires, e.evidence_id, coalesce(e.sender_id, ''), e.owner, e.ticket, e.disposition, e.version`

const entryJoins = ` join cell c on c.id = e.cell_id join source s on s.id = e.source_id join fingerprint f on f.id = e.fingerprint_id join version_set v on v.id = c.version_set_id `

const entryFrom = ` from entry e` + entryJoins

func scanEntry(rows *sql.Rows) (dlq.Entry, error) {
	var e dlq.Entry
	var marks, versions string
	var first, opened, last, expires int64
	var settled, copyExpires sql.NullInt64
	err := rows.Scan(&e.ID, &e.DLQID, &e.Source, &e.DocID, &e.Status, &e.Resolution, &marks, &e.CohortID, &e.Fingerprint, &e.Reason, &e.ErrorClass, &e.ErrorType, &e.Message,
		&e.Stage, &e.ContentType, &e.Filename, &versions, &e.Episode, &e.Attempts, &e.Arrivals, &e.RedrivesTotal, &e.SameFailures, &e.Granted, &first, &opened, &last, &expires,
		&settled, &e.IngestSeq, &e.ContentHash, &e.KeyCheck, &e.PayloadSHA256, &e.PayloadBytes, &e.Copy, &e.HeldSHA256,
		&e.CopyOfAttempt, &copyExpires, &e.EvidenceID, &e.SenderID, &e.Owner, &e.Ticket, &e.Disposition, &e.Version)
	if err != nil {
		return e, err
	}
	e.Marks, e.Versions = dlq.ParseMarks(marks), dlq.ParseVersions(versions)
	e.FirstSeen, e.OpenedAt, e.LastSeen, e.ExpiresAt = moment(first), moment(opened), moment(last), moment(expires)
	e.SettledAt, e.CopyExpires = fromNullMS(settled), fromNullMS(copyExpires)
	return e, nil
}

func (s *Store) entriesWhere(ctx context.Context, where string, args ...any) ([]dlq.Entry, error) {
	return s.entriesOf(ctx, `select `+entryColumns+entryFrom+where, args...)
}

func (s *Store) entriesOf(ctx context.Context, query string, args ...any) ([]dlq.Entry, error) {
	var out []dlq.Entry
	err := each(ctx, s.reader(), query, args, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read entries: %w", err)
	}
	return out, nil
}

// Entry finds an entry by our id, for an actor who may see its source.
func (s *Store) Entry(ctx context.Context, by dlq.Actor, dlqID string) (dlq.Entry, error) {
	return s.visible(by)(s.entriesWhere(ctx, `where e.dlq_id = $1`, dlqID))
}

// EntryByDoc finds an entry by its identity.
func (s *Store) EntryByDoc(ctx context.Context, by dlq.Actor, source, docID string) (dlq.Entry, error) {
	return s.visible(by)(s.entriesWhere(ctx, `where e.source_id = (select id from source where name = $1) and e.doc_id = $2`, source, docID))
}

func (s *Store) visible(by dlq.Actor) func([]dlq.Entry, error) (dlq.Entry, error) {
	return func(list []dlq.Entry, err error) (dlq.Entry, error) {
		if err != nil {
			return dlq.Entry{}, err
		}
		if len(list) == 0 || !by.SeesSource(list[0].Source) {
			return dlq.Entry{}, dlq.Errorf(dlq.KindNotFound, "there is no such document")
		}
		return list[0], nil
	}
}

// Linked lists the other entries that have the same bytes, at most limit.
func (s *Store) Linked(ctx context.Context, by dlq.Actor, e dlq.Entry, limit int) ([]dlq.Entry, error) {
	if e.PayloadSHA256 == "" {
		return nil, nil
	}
	list, err := s.entriesWhere(ctx, `where e.payload_sha256 = $1 and e.id <> $2 order by e.id limit $3`, e.PayloadSHA256, e.ID, limit)
	out := list[:0]
	for _, other := range list {
		if by.SeesSource(other.Source) {
			out = append(out, other)
		}
	}
	return out, err
}

const attemptColumns = `a.id, a.kind, a.why, a.episode, coalesce(a.redrive_id, ''), f.cohort_id, f.algorithm || ':' || f.digest, c.reason, c.error_class, c.error_type, c.stage, c.content_type,
	v.versions, a.attempts, a.received_at, a.first_seen, a.last_seen, a.ingest_seq, coalesce(a.source_version, ''), a.source_updated_at, coalesce(a.cursor, ''), coalesce(a.source_url, ''),
	coalesce(a.payload_sha256, ''), coalesce(a.payload_bytes, -1), coalesce(a.payload_uri, ''), coalesce(a.filename, ''), a.confidence, coalesce(a.processing, ''), coalesce(a.indexed_version, ''), a.actor`

const attemptFrom = ` from attempt a join cell c on c.id = a.cell_id join fingerprint f on f.id = c.fingerprint_id join version_set v on v.id = c.version_set_id `

func scanAttempt(rows *sql.Rows, more ...any) (dlq.Attempt, error) {
	var a dlq.Attempt
	var versions string
	var received, first, last int64
	var updated sql.NullInt64
	into := []any{&a.ID, &a.Kind, &a.Why, &a.Episode, &a.RedriveID, &a.CohortID, &a.Fingerprint, &a.Reason, &a.ErrorClass, &a.ErrorType, &a.Stage, &a.ContentType,
		&versions, &a.Attempts, &received, &first, &last, &a.IngestSeq, &a.SourceVersion, &updated, &a.Cursor, &a.SourceURL,
		&a.PayloadSHA256, &a.PayloadBytes, &a.PayloadURI, &a.Filename, &a.Confidence, &a.Processing, &a.IndexedVersion, &a.Actor}
	if err := rows.Scan(append(into, more...)...); err != nil {
		return a, err
	}
	a.Versions, a.ReceivedAt, a.FirstSeen, a.LastSeen, a.SourceUpdatedAt = dlq.ParseVersions(versions), moment(received), moment(first), moment(last), fromNullMS(updated)
	return a, nil
}

// Attempts lists an entry's history without its long texts: the newest limit of
// it, newest first.
func (s *Store) Attempts(ctx context.Context, entryID int64, limit int) ([]dlq.Attempt, error) {
	var out []dlq.Attempt
	err := each(ctx, s.reader(), `select `+attemptColumns+attemptFrom+`where a.id between $1 and $2 order by a.id desc limit $3`,
		[]any{entryID << sequenceBits, entryID<<sequenceBits | (1<<sequenceBits - 1), limit}, func(rows *sql.Rows) error {
			a, err := scanAttempt(rows)
			out = append(out, a)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	return out, nil
}

// Attempt finds one attempt with its long texts.
func (s *Store) Attempt(ctx context.Context, id int64) (dlq.Attempt, error) {
	var out dlq.Attempt
	found := false
	err := each(ctx, s.reader(), `select `+attemptColumns+`, a.detail`+attemptFrom+`where a.id = $1`, []any{id}, func(rows *sql.Rows) error {
		var detail []byte
		a, err := scanAttempt(rows, &detail)
		if err != nil {
			return err
		}
		out, found = a, true
		return s.codec.unpackJSON(detail, &out.Detail)
	})
	if err != nil {
		return out, fmt.Errorf("read attempt: %w", err)
	}
	if !found {
		return out, dlq.Errorf(dlq.KindNotFound, "there is no such attempt")
	}
	return out, nil
}

// Notes lists the notes on an entry, or on a cohort and those that were merged
// into it, newest first.
func (s *Store) Notes(ctx context.Context, entryID int64, cohortID string, limit int) ([]dlq.Note, error) {
	where, arg := `entry_id = $1`, any(entryID)
	if cohortID != "" {
		where, arg = `cohort_id in (select id from cohort where id = $1 or merged_into = $1)`, cohortID
	}
	var out []dlq.Note
	err := each(ctx, s.reader(), `select author, written_at, body from note where `+where+` order by id desc limit $2`, []any{arg, limit}, func(rows *sql.Rows) error {
		var n dlq.Note
		var at int64
		err := rows.Scan(&n.Author, &at, &n.Body)
		n.WrittenAt = fromMS(at)
		out = append(out, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return out, nil
}

// SaveProbe keeps what a source said of an entry's document, and the reading of
// it against the current evidence.
func (s *Store) SaveProbe(ctx context.Context, entryID, attemptID int64, said dlq.SourceNow, reading dlq.Evidence) error {
	now, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("write what the source said: %w", err)
	}
	evidence, err := json.Marshal(reading)
	if err != nil {
		return fmt.Errorf("write the reading: %w", err)
	}
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec(`insert into probe (entry_id, asked_at, said, reading, grade, evidence, of_attempt) values ($1, $2, $3, $4, $5, $6, $7)
			on conflict (entry_id) do update set asked_at = excluded.asked_at, said = excluded.said, reading = excluded.reading, grade = excluded.grade, evidence = excluded.evidence, of_attempt = excluded.of_attempt`,
			entryID, ms(tx.now), string(now), reading.Bytes, reading.Grade, string(evidence), attemptID)
		if err != nil {
			return fmt.Errorf("keep what the source said: %w", err)
		}
		return nil
	})
}

// LastReadings gives the reading of what each entry's source said last, by the
// entry's id. One that was not asked since its current evidence came is absent.
func (s *Store) LastReadings(ctx context.Context, entries []dlq.Entry) (map[int64]dlq.Evidence, error) {
	out := map[int64]dlq.Evidence{}
	if len(entries) == 0 {
		return out, nil
	}
	ids := make([]any, len(entries))
	evidence := map[int64]int64{}
	for i, e := range entries {
		ids[i], evidence[e.ID] = e.ID, e.EvidenceID
	}
	err := each(ctx, s.reader(), `select entry_id, of_attempt, evidence from probe where entry_id in (`+placeholders(len(ids))+`)`, ids, func(rows *sql.Rows) error {
		var id, attempt int64
		var text string
		if err := rows.Scan(&id, &attempt, &text); err != nil {
			return err
		}
		if evidence[id] != attempt {
			return nil
		}
		var reading dlq.Evidence
		err := json.Unmarshal([]byte(text), &reading)
		out[id] = reading
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what the sources said: %w", err)
	}
	return out, nil
}

// LastProbe gives what the source said last of an entry's document. False says
// that it was not asked since the current evidence came.
func (s *Store) LastProbe(ctx context.Context, e dlq.Entry) (dlq.SourceNow, dlq.Evidence, bool, error) {
	var said, evidence string
	var now dlq.SourceNow
	var reading dlq.Evidence
	found, err := s.one(ctx, `select said, evidence from probe where entry_id = $1 and of_attempt = $2`, []any{e.ID, e.EvidenceID}, &said, &evidence)
	if err != nil || !found {
		return now, reading, false, err
	}
	if err := json.Unmarshal([]byte(said), &now); err != nil {
		return now, reading, false, fmt.Errorf("read what the source said: %w", err)
	}
	if err := json.Unmarshal([]byte(evidence), &reading); err != nil {
		return now, reading, false, fmt.Errorf("read what the source said: %w", err)
	}
	return now, reading, true, nil
}
