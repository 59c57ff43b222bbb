package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// dispositionRow is a disposition that stands, and what it stands on.
type dispositionRow struct {
	id          string
	entryID     int64  // 0 of a cohort's
	cohortID    string // of an entry's: the cohort that the entry is in now
	afterReport int64
	decided     dlq.Decided
}

// The reason is read from beside the audit trail, where an erasure removes it.
const dispositionColumns = `d.id, coalesce(d.entry_id, 0), coalesce(d.cohort_id, (select f.cohort_id from entry e join fingerprint f on f.id = e.fingerprint_id where e.id = d.entry_id)), d.after_report,
	d.kind, d.until_kind, d.until_at, d.open_then, d.decided_at, d.actor, coalesce((select body from reason where audit_seq = d.audit_seq), '')`

func dispositionsWhere(ctx context.Context, r reader, where string, args ...any) ([]dispositionRow, error) {
	var out []dispositionRow
	err := each(ctx, r, `select `+dispositionColumns+` from disposition d where d.ended_at is null and `+where, args, func(rows *sql.Rows) error {
		var d dispositionRow
		var until sql.NullInt64
		var at int64
		if err := rows.Scan(&d.id, &d.entryID, &d.cohortID, &d.afterReport, &d.decided.Disposition, &d.decided.Until, &until, &d.decided.OpenThen, &at, &d.decided.By, &d.decided.Reason); err != nil {
			return err
		}
		d.decided.Date, d.decided.At = fromNullMS(until), moment(at)
		out = append(out, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read dispositions: %w", err)
	}
	return out, nil
}

func standingDisposition(ctx context.Context, r reader, entryID int64, cohortID string) (dispositionRow, bool, error) {
	where, arg := `d.cohort_id = $1 and d.cohort_id is not null`, any(cohortID)
	if entryID != 0 {
		where, arg = `d.entry_id = $1 and d.entry_id is not null`, entryID
	}
	list, err := dispositionsWhere(ctx, r, where, arg)
	if err != nil || len(list) == 0 {
		return dispositionRow{}, false, err
	}
	return list[0], true, nil
}

// Disposed reads what stands decided of an entry, or with entryID 0 of a cohort.
// Nothing decided is the zero value.
func (s *Store) Disposed(ctx context.Context, entryID int64, cohortID string) (dlq.Decided, error) {
	d, _, err := standingDisposition(ctx, s.reader(), entryID, cohortID)
	return d.decided, err
}

// Dispose decides something of an entry without acting on it, or takes off what
// stands. What stands already changes nothing.
func (s *Store) Dispose(ctx context.Context, by dlq.Actor, dlqID string, n dlq.NewDisposition) error {
	return s.update(ctx, func(tx *Tx) error { return tx.disposeEntry(by, dlqID, n, "") })
}

// disposeEntry is Dispose within a transaction, and of an operation where one is
// named.
func (t *Tx) disposeEntry(by dlq.Actor, dlqID string, n dlq.NewDisposition, operationID string) error {
	n, err := n.Check(t.now)
	if err != nil {
		return err
	}
	e, src, err := t.visibleEntry(by, dlqID)
	if err != nil {
		return err
	}
	if n.Disposition != dlq.DispositionNone && !e.status.Open() {
		return dlq.Errorf(dlq.KindConflict, "nothing can be decided of this document: it is %s", e.status)
	}
	a := auditEntry{action: "entry.disposed", entryID: e.id, dlqID: e.dlqID, source: src.Name(), operation: operationID}
	changed, err := t.dispose(by, e.id, e.cohort, n, a)
	if err != nil || !changed {
		return err
	}
	_, err = t.exec(`update entry set version = version + 1 where id = $1`, e.id)
	return err
}

// DisposeCohort is Dispose for a cohort. Whether somebody may know of it is the
// caller's question, as with AssignCohort.
func (s *Store) DisposeCohort(ctx context.Context, by dlq.Actor, cohortID string, n dlq.NewDisposition) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := n.Check(tx.now)
		if err != nil {
			return err
		}
		var one int
		found, err := tx.row(`select 1 from cohort where id = $1`, []any{cohortID}, &one)
		if err != nil {
			return fmt.Errorf("find cohort: %w", err)
		}
		if !found {
			return dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
		}
		_, err = tx.dispose(by, 0, cohortID, n, auditEntry{action: "cohort.disposed", cohort: cohortID})
		return err
	})
}

// dispose says whether anything changed.
func (t *Tx) dispose(by dlq.Actor, entryID int64, cohortID string, n dlq.NewDisposition, a auditEntry) (changed bool, err error) {
	standing, found, err := standingDisposition(t.ctx, t, entryID, cohortID)
	if err != nil {
		return false, err
	}
	if n.Disposition == dlq.DispositionNone {
		if !found {
			return false, nil
		}
		return true, t.endDispositionIn(standing, dlq.EndedByHand, by, n.Reason, a.operation)
	}
	if found && n.Same(standing.decided) {
		return false, nil
	}
	if found {
		if err := t.closeDisposition(standing, dlq.EndedReplaced, by); err != nil {
			return false, err
		}
	}
	a.detail, a.reason = map[string]any{"disposition": n.Disposition}, n.Reason
	if n.Until != dlq.UntilTakenOff {
		a.detail["until"] = n.Until
	}
	if !n.Date.IsZero() {
		a.detail["date"] = n.Date
	}
	if err := t.audit(by, a); err != nil {
		return false, err
	}
	var seq, newest, open int64
	if _, err := t.row(`select max(seq) from audit`, nil, &seq); err != nil {
		return false, fmt.Errorf("find the decision in the audit trail: %w", err)
	}
	if newest, err = t.newestDeployment(); err != nil {
		return false, err
	}
	if open, err = t.openDocuments(cohortID); err != nil {
		return false, err
	}
	var ofEntry, ofCohort any = nil, cohortID
	if entryID != 0 {
		ofEntry, ofCohort = entryID, nil
	}
	if _, err := t.exec(`insert into disposition (id, entry_id, cohort_id, kind, until_kind, until_at, open_then, after_report, decided_at, actor, audit_seq)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, t.newID(), ofEntry, ofCohort, n.Disposition, n.Until, msOrNull(n.Date), open, newest, ms(t.now), by.Name, seq); err != nil {
		return false, fmt.Errorf("keep a disposition: %w", err)
	}
	return true, t.markDisposition(entryID, cohortID, n.Disposition)
}

// markDisposition writes what lists and the query language read.
func (t *Tx) markDisposition(entryID int64, cohortID string, d dlq.Disposition) error {
	var err error
	if entryID != 0 {
		_, err = t.exec(`update entry set disposition = $1 where id = $2`, d, entryID)
	} else {
		_, err = t.exec(`update cohort set disposition = $1 where id = $2`, d, cohortID)
	}
	if err != nil {
		return fmt.Errorf("mark a disposition: %w", err)
	}
	return nil
}

// openDocuments counts a cohort's open documents, those of this batch aside.
func (t *Tx) openDocuments(cohortID string) (int64, error) {
	var n int64
	if _, err := t.row(`select parked + redriving + quarantined + archived from cohort where id = $1`, []any{cohortID}, &n); err != nil {
		return 0, fmt.Errorf("count open documents: %w", err)
	}
	return n, nil
}

func (t *Tx) closeDisposition(d dispositionRow, why dlq.EndOfDisposition, by dlq.Actor) error {
	if _, err := t.exec(`update disposition set ended_at = $1, ended_why = $2, ended_by = $3 where id = $4 and ended_at is null`, ms(t.now), why, by.Name, d.id); err != nil {
		return fmt.Errorf("end a disposition: %w", err)
	}
	return nil
}

// endDisposition ends one for good: what it stood on needs a decision again, and
// the activity says why.
func (t *Tx) endDisposition(d dispositionRow, why dlq.EndOfDisposition, by dlq.Actor, reason string) error {
	return t.endDispositionIn(d, why, by, reason, "")
}

// endDispositionIn is endDisposition by an operation, where one is named.
func (t *Tx) endDispositionIn(d dispositionRow, why dlq.EndOfDisposition, by dlq.Actor, reason, operationID string) error {
	if err := t.closeDisposition(d, why, by); err != nil {
		return err
	}
	if err := t.markDisposition(d.entryID, d.cohortID, dlq.DispositionNone); err != nil {
		return err
	}
	a := auditEntry{action: "cohort.disposition_ended", cohort: d.cohortID, operation: operationID, detail: map[string]any{"disposition": d.decided.Disposition, "why": why}, reason: reason}
	if d.entryID != 0 {
		e, found, err := t.entryByID(d.entryID)
		if err != nil || !found {
			return err
		}
		src, err := t.sourceByID(e.sourceID)
		if err != nil {
			return err
		}
		a.action, a.cohort, a.entryID, a.dlqID, a.source = "entry.disposition_ended", "", e.id, e.dlqID, src.Name()
	}
	return t.audit(by, a)
}

var dispositions = dlq.Policy("dispositions")

// reviewDispositions ends what an entry's change brings to an end: that of the
// entry, and that of the cohort whose document it was. It asks nothing where
// nothing was decided.
func (t *Tx) reviewDispositions(was, is entryRow) error {
	left := was.status.Open() && !is.status.Open()
	replaced := was.evidenceID != is.evidenceID
	if was.disposition == dlq.DispositionNone && was.cohortDisposition == dlq.DispositionNone || !left && !replaced {
		return nil
	}
	since := dlq.SinceDecided{Now: t.now, Document: dlq.ReadingUnknown}
	if replaced {
		var err error
		if since.Document, err = t.documentSince(was, is); err != nil {
			return err
		}
	}
	if was.disposition != dlq.DispositionNone {
		ofEntry := since
		ofEntry.Left = left
		if err := t.reviewDisposition(was.id, was.cohort, ofEntry); err != nil {
			return err
		}
	}
	if was.cohortDisposition != dlq.DispositionNone {
		return t.reviewDisposition(0, was.cohort, since)
	}
	return nil
}

func (t *Tx) reviewDisposition(entryID int64, cohortID string, since dlq.SinceDecided) error {
	d, found, err := standingDisposition(t.ctx, t, entryID, cohortID)
	if err != nil || !found {
		return err
	}
	if why, over := d.decided.Over(since); over {
		return t.endDisposition(d, why, dispositions, "")
	}
	return nil
}

// documentSince reads whether the document changed between two pieces of
// evidence of one entry.
func (t *Tx) documentSince(was, is entryRow) (dlq.Reading, error) {
	src, err := t.sourceByID(was.sourceID)
	if err != nil {
		return dlq.ReadingUnknown, err
	}
	var sides [2]dlq.Attempt
	for i, e := range []entryRow{was, is} {
		var updated sql.NullInt64
		if _, err := t.row(`select coalesce(source_version, ''), source_updated_at from attempt where id = $1`, []any{e.evidenceID}, &sides[i].SourceVersion, &updated); err != nil {
			return dlq.ReadingUnknown, fmt.Errorf("read the evidence: %w", err)
		}
		sides[i].PayloadSHA256, sides[i].SourceUpdatedAt = e.payloadSHA256, fromNullMS(updated)
	}
	return dlq.DocumentSince(src.Policy.Probe.Kind, sides[0], sides[1]), nil
}

// EndDispositions ends those that time or numbers brought to an end: a date that
// came, a cohort that doubled, code that was deployed. At most limit of each.
func (s *Store) EndDispositions(ctx context.Context, limit int) (int, error) {
	n := 0
	err := s.update(ctx, func(tx *Tx) error {
		n = 0
		due, err := dispositionsWhere(tx.ctx, tx, `d.until_kind = 'date' and d.until_at <= $1 order by d.until_at, d.id limit $2`, ms(tx.now), limit)
		if err != nil {
			return err
		}
		doubled, err := tx.doubledDispositions(limit)
		if err != nil {
			return err
		}
		for _, d := range append(due, doubled...) {
			open, err := tx.openDocuments(d.cohortID)
			if err != nil {
				return err
			}
			why, over := d.decided.Over(dlq.SinceDecided{Now: tx.now, OpenNow: open})
			if !over {
				continue
			}
			if err := tx.endDisposition(d, why, dispositions, ""); err != nil {
				return err
			}
			n++
		}
		ended, err := tx.endByCode(limit)
		n += ended
		return err
	})
	return n, err
}

// doubledDispositions are those whose cohort holds twice what it held. Each is
// counted in its cohort's own row.
func (t *Tx) doubledDispositions(limit int) ([]dispositionRow, error) {
	var ids []any
	err := each(t.ctx, t, `select d.id from disposition d
		join cohort c on c.id = coalesce(d.cohort_id, (select f.cohort_id from entry e join fingerprint f on f.id = e.fingerprint_id where e.id = d.entry_id))
		where d.ended_at is null and d.until_kind = 'doubles' and c.parked + c.redriving + c.quarantined + c.archived >= 2 * max(d.open_then, 1)
		order by d.id limit $1`, []any{limit}, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find cohorts that doubled: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return dispositionsWhere(t.ctx, t, `d.id in (`+placeholders(len(ids))+`) order by d.id`, ids...)
}

// newestDeployment is the number of the newest report with which a version began
// to run. The register's own rows have no number that lasts.
func (t *Tx) newestDeployment() (int64, error) {
	var n int64
	if _, err := t.row(`select coalesce(max(id), 0) from deployment_report where began = 1`, nil, &n); err != nil {
		return 0, fmt.Errorf("find the newest deployment: %w", err)
	}
	return n, nil
}

// endByCode holds the deployments that came since against what waits for code.
// What they do not end is not held against them again.
func (t *Tx) endByCode(limit int) (int, error) {
	newest, err := t.newestDeployment()
	if err != nil {
		return 0, err
	}
	waiting, err := dispositionsWhere(t.ctx, t, `d.until_kind = 'code' and d.after_report < $1 order by d.after_report, d.id limit $2`, newest, limit)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, d := range waiting {
		runs, upTo, err := t.otherCodeRuns(d, newest)
		if err != nil {
			return n, err
		}
		if why, over := d.decided.Over(dlq.SinceDecided{Now: t.now, CodeRuns: runs}); over {
			if err := t.endDisposition(d, why, dispositions, ""); err != nil {
				return n, err
			}
			n++
			continue
		}
		if _, err := t.exec(`update disposition set after_report = $1 where id = $2`, upTo, d.id); err != nil {
			return n, fmt.Errorf("remember what was deployed: %w", err)
		}
	}
	return n, nil
}

// deploymentsHeld is how many deployments are held against a disposition at once.
const deploymentsHeld = 2000

// otherCodeRuns says whether something was deployed since that is other code for
// what a disposition stands on, in the source of its failures, and up to which
// report that was looked at.
func (t *Tx) otherCodeRuns(d dispositionRow, newest int64) (runs bool, upTo int64, err error) {
	query, arg := `select distinct l.source_id, v.versions from fingerprint f join cell l on l.fingerprint_id = f.id join version_set v on v.id = l.version_set_id join cell_month m on m.cell_id = l.id
		where f.cohort_id = $1 and m.status in ('parked', 'redriving', 'quarantined', 'archived') and m.entries > 0 order by l.source_id, v.versions limit 2000`, any(d.cohortID)
	if d.entryID != 0 {
		query, arg = `select e.source_id, v.versions from entry e join cell c on c.id = e.cell_id join version_set v on v.id = c.version_set_id where e.id = $1`, d.entryID
	}
	under := map[int64][]dlq.Versions{}
	if err := each(t.ctx, t, query, []any{arg}, func(rows *sql.Rows) error {
		var source int64
		var versions string
		err := rows.Scan(&source, &versions)
		under[source] = append(under[source], dlq.ParseVersions(versions))
		return err
	}); err != nil {
		return false, 0, fmt.Errorf("read what it failed under: %w", err)
	}
	n := 0
	err = each(t.ctx, t, `select id, source_id, component, version from deployment_report where began = 1 and id > $1 order by id limit $2`, []any{d.afterReport, deploymentsHeld}, func(rows *sql.Rows) error {
		var source int64
		var component, version string
		n++
		err := rows.Scan(&upTo, &source, &component, &version)
		runs = runs || dlq.OtherCode(under[source], component, version)
		return err
	})
	if err != nil {
		return false, 0, fmt.Errorf("read what was deployed since: %w", err)
	}
	if n < deploymentsHeld {
		upTo = newest
	}
	return runs, upTo, nil
}

// dispositionsPerDeployment is how many are looked at in the transaction of a
// deployment; the sweep does the rest.
const dispositionsPerDeployment = 100

// checkDispositions finds what lists say of dispositions and their rows do not.
func (s *Store) checkDispositions(ctx context.Context) ([]string, error) {
	return s.lines(ctx, `select 'entry ' || e.dlq_id || ' shows a disposition that does not stand' from entry e where e.disposition <> coalesce((select d.kind from disposition d where d.entry_id = e.id and d.ended_at is null), '')
		union all select 'cohort ' || c.id || ' shows a disposition that does not stand' from cohort c where c.disposition <> coalesce((select d.kind from disposition d where d.cohort_id = c.id and d.ended_at is null), '')
		limit 100`)
}
