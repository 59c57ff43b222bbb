package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"dlo/dlq"
)

// auditEntry is what happened, before it has a place in the chain. The detail
// holds identity and counts, never a document's content.
type auditEntry struct {
	action    string
	entryID   int64
	dlqID     string
	cohort    string
	operation string
	source    string
	detail    map[string]any
	reason    string // typed by the person; kept beside the trail, because it can be erased
}

// genesis is what the first row is chained to.
const genesis = "dead letter office audit 1"

// audit appends a row to the trail, in the transaction of what it is about.
// Each row's hash covers the one before it, so that an edited, removed or
// reordered row shows.
func (t *Tx) audit(by dlq.Actor, a auditEntry) error {
	detail := ""
	if len(a.detail) > 0 {
		b, err := json.Marshal(a.detail)
		if err != nil {
			return fmt.Errorf("write the audit row of %s: %w", a.action, err)
		}
		detail = string(b)
	}
	if t.remembered.head == nil {
		head := auditHead{hash: genesis}
		if _, err := t.row(`select seq, hash from audit order by seq desc limit 1`, nil, &head.seq, &head.hash); err != nil {
			return fmt.Errorf("read the audit trail's head: %w", err)
		}
		t.remembered.head = &head
	}
	head := t.remembered.head
	row := dlq.AuditRow{Seq: head.seq + 1, At: t.now, ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name, Action: a.action,
		EntryID: a.entryID, DLQID: a.dlqID, CohortID: a.cohort, OperationID: a.operation, Source: a.source, Detail: detail}
	row.Hash = chain(row, head.hash)
	var entryID any
	if a.entryID != 0 {
		entryID = a.entryID
	}
	if _, err := t.exec(`insert into audit (seq, at, actor_kind, actor_id, actor_name, action, entry_id, dlq_id, cohort_id, operation_id, source, detail, hash)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		row.Seq, ms(row.At), row.ActorKind, row.ActorID, row.ActorName, row.Action, entryID, row.DLQID, row.CohortID, row.OperationID, row.Source, row.Detail, row.Hash); err != nil {
		return fmt.Errorf("append to the audit trail: %w", err)
	}
	head.seq, head.hash = row.Seq, row.Hash
	if a.reason == "" {
		return nil
	}
	if _, err := t.exec(`insert into reason (audit_seq, body) values ($1, $2)`, row.Seq, a.reason); err != nil {
		return fmt.Errorf("keep a reason: %w", err)
	}
	return nil
}

// chain hashes the row after the one before it. Every field is preceded by its
// length, so that no two rows have the same bytes.
func chain(r dlq.AuditRow, previous string) string {
	h := sha256.New()
	var n [8]byte
	field := func(s string) {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	number := func(v int64) {
		binary.BigEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	field(previous)
	number(r.Seq)
	number(ms(r.At))
	for _, s := range []string{string(r.ActorKind), r.ActorID, r.ActorName, r.Action} {
		field(s)
	}
	number(r.EntryID)
	for _, s := range []string{r.DLQID, r.CohortID, r.OperationID, r.Source, r.Detail} {
		field(s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Audit appends a row for something that changes nothing else here: a sign-in,
// a download, a denial.
func (s *Store) Audit(ctx context.Context, by dlq.Actor, action string, entry *dlq.Entry, source string, detail map[string]any) error {
	return s.update(ctx, func(tx *Tx) error {
		a := auditEntry{action: action, source: source, detail: detail}
		if entry != nil {
			a.entryID, a.dlqID, a.source = entry.ID, entry.DLQID, entry.Source
		}
		return tx.audit(by, a)
	})
}

const auditColumns = `seq, at, actor_kind, actor_id, actor_name, action, coalesce(entry_id, 0), dlq_id, cohort_id, operation_id, source, detail, hash, coalesce((select body from reason where audit_seq = audit.seq), '')`

func scanAudit(rows *sql.Rows) (dlq.AuditRow, error) {
	var r dlq.AuditRow
	var at int64
	err := rows.Scan(&r.Seq, &at, &r.ActorKind, &r.ActorID, &r.ActorName, &r.Action, &r.EntryID, &r.DLQID, &r.CohortID, &r.OperationID, &r.Source, &r.Detail, &r.Hash, &r.Reason)
	r.At = fromMS(at)
	return r, err
}

func (s *Store) auditWhere(ctx context.Context, where string, args ...any) ([]dlq.AuditRow, error) {
	var out []dlq.AuditRow
	err := each(ctx, s.reader(), `select `+auditColumns+` from audit `+where, args, func(rows *sql.Rows) error {
		r, err := scanAudit(rows)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit trail: %w", err)
	}
	return out, nil
}

// AuditTrail lists the trail from its newest row, before a sequence number
// where that is not 0.
func (s *Store) AuditTrail(ctx context.Context, before int64, limit int) ([]dlq.AuditRow, error) {
	if before == 0 {
		before = 1 << 62
	}
	return s.auditWhere(ctx, `where seq < $1 order by seq desc limit $2`, before, limit)
}

// AuditOfEntry lists what was done to an entry, newest first.
func (s *Store) AuditOfEntry(ctx context.Context, entryID int64, limit int) ([]dlq.AuditRow, error) {
	return s.auditWhere(ctx, `where entry_id = $1 order by seq desc limit $2`, entryID, limit)
}

// AuditOfCohort lists what was done to a cohort as such, newest first, and to
// those that were merged into it.
func (s *Store) AuditOfCohort(ctx context.Context, cohortID string, limit int) ([]dlq.AuditRow, error) {
	return s.auditWhere(ctx, `where cohort_id in (select id from cohort where id = $1 or merged_into = $1) and cohort_id <> '' order by seq desc limit $2`, cohortID, limit)
}

// AuditHead gives the newest row; its Seq is 0 on an empty trail.
func (s *Store) AuditHead(ctx context.Context) (dlq.AuditRow, error) {
	rows, err := s.auditWhere(ctx, `order by seq desc limit 1`)
	if err != nil || len(rows) == 0 {
		return dlq.AuditRow{}, err
	}
	return rows[0], nil
}

// VerifyAudit walks the chain from its first row. The fault names the first row
// that does not follow from the one before it; it is empty when all do.
func (s *Store) VerifyAudit(ctx context.Context) (rows int64, fault string, err error) {
	previous, want := genesis, int64(1)
	err = each(ctx, s.reader(), `select `+auditColumns+` from audit order by seq`, nil, func(r *sql.Rows) error {
		row, err := scanAudit(r)
		if err != nil || fault != "" {
			return err
		}
		switch {
		case row.Seq != want:
			fault = fmt.Sprintf("audit row %d is missing", want)
		case row.Hash != chain(row, previous):
			fault = fmt.Sprintf("audit row %d does not follow from the one before it", row.Seq)
		}
		previous = row.Hash
		want++
		rows++
		return nil
	})
	if err != nil {
		return rows, "", fmt.Errorf("verify the audit trail: %w", err)
	}
	return rows, fault, nil
}
