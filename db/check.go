package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// Check looks for what must never be: a damaged page, a counter that a recount
// does not agree with, entries without their evidence, an audit chain with a
// gap. Each fault is a line that names it.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	var faults []string
	for _, check := range []func(context.Context) ([]string, error){s.checkPages, s.checkReferences, s.checkCohorts, s.checkCohortOrder, s.checkGrouping, s.checkCells, s.checkSources, s.checkOperations, s.checkReplays, s.checkDispositions, s.checkAudit} {
		found, err := check(ctx)
		if err != nil {
			return faults, fmt.Errorf("check the database: %w", err)
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

func (s *Store) lines(ctx context.Context, query string, args ...any) ([]string, error) {
	var out []string
	err := each(ctx, s.reader(), query, args, func(rows *sql.Rows) error {
		var line string
		err := rows.Scan(&line)
		out = append(out, line)
		return err
	})
	return out, err
}

func (s *Store) checkPages(ctx context.Context) ([]string, error) {
	found, err := s.lines(ctx, `select integrity_check from pragma_integrity_check where integrity_check <> 'ok'`)
	if err != nil {
		return nil, err
	}
	more, err := s.lines(ctx, `select 'row ' || rowid || ' of ' || "table" || ' points to nothing in ' || parent from pragma_foreign_key_check limit 20`)
	return append(found, more...), err
}

func (s *Store) checkReferences(ctx context.Context) ([]string, error) {
	return s.lines(ctx, `select 'entry ' || e.dlq_id || ' has no evidence' from entry e where not exists (select 1 from attempt a where a.id = e.evidence_id)
		union all select 'entry ' || e.dlq_id || ' says that bytes are held which no payload row has' from entry e where e.payload_state = 'held' and not exists (select 1 from payload p where p.sha256 = e.held_sha256)
		union all select 'entry ' || e.dlq_id || ' is redriving without a redrive in flight' from entry e where e.status = 'redriving' and not exists (select 1 from redrive r where r.entry_id = e.id and r.state <> 'settled')
		union all select 'entry ' || e.dlq_id || ' and its cell disagree on the fingerprint' from entry e join cell c on c.id = e.cell_id where c.fingerprint_id <> e.fingerprint_id
		union all select 'entry ' || e.dlq_id || ' counts ' || e.last_attempt || ' attempts and has another number of rows' from entry e
			where e.last_attempt <> (select count(*) from attempt a where a.id between e.id * 1048576 and e.id * 1048576 + 1048575)
		limit 100`)
}

const recountCohorts = `select f.cohort_id as id, count(case when e.status = 'parked' then 1 end) as parked, count(case when e.status = 'redriving' then 1 end) as redriving,
	count(case when e.status = 'quarantined' then 1 end) as quarantined, count(case when e.status = 'archived' then 1 end) as archived,
	count(case when e.status = 'resolved' then 1 end) as resolved, count(case when e.status = 'erased' then 1 end) as erased
	from entry e join fingerprint f on f.id = e.fingerprint_id group by f.cohort_id`

func (s *Store) checkCohorts(ctx context.Context) ([]string, error) {
	found, err := s.lines(ctx, `select 'cohort ' || c.id || ' counts other entries than it has' from cohort c left join (`+recountCohorts+`) r on r.id = c.id
		where c.parked <> coalesce(r.parked, 0) or c.redriving <> coalesce(r.redriving, 0) or c.quarantined <> coalesce(r.quarantined, 0)
		or c.archived <> coalesce(r.archived, 0) or c.resolved <> coalesce(r.resolved, 0) or c.erased <> coalesce(r.erased, 0) order by c.id limit 100`)
	if err != nil {
		return nil, err
	}
	more, err := s.lines(ctx, `select 'cohort ' || c.id || ' counts ' || c.arrivals || ' arrivals and its days ' || coalesce(sum(d.arrivals), 0)
		from cohort c left join fingerprint f on f.cohort_id = c.id left join fingerprint_day d on d.fingerprint_id = f.id group by c.id having c.arrivals <> coalesce(sum(d.arrivals), 0) limit 100`)
	return append(found, more...), err
}

const recountOrder = `select f.cohort_id as id, min(e.opened_at) as oldest_opened, min(e.expires_at) as next_expiry
	from entry e join fingerprint f on f.id = e.fingerprint_id where e.status = 'parked' group by f.cohort_id`

func (s *Store) checkCohortOrder(ctx context.Context) ([]string, error) {
	return s.lines(ctx, `select 'cohort ' || c.id || ' names another ' || case when c.oldest_opened is distinct from r.oldest_opened then 'oldest' else 'expiry' end || ' than its entries have'
		from cohort c left join (`+recountOrder+`) r on r.id = c.id
		where c.oldest_opened is distinct from r.oldest_opened or c.next_expiry is distinct from r.next_expiry order by c.id limit 100`)
}

// checkGrouping looks for members of a cohort that is no more, for cohorts that
// went into one that is no more, and for splits that are not counted.
func (s *Store) checkGrouping(ctx context.Context) ([]string, error) {
	return s.lines(ctx, `select 'fingerprint ' || f.algorithm || ':' || f.digest || ' is in cohort ' || c.id || ', which went into another' from fingerprint f join cohort c on c.id = f.cohort_id where c.merged_into is not null
		union all select 'cohort ' || c.id || ' went into ' || c.merged_into || ', which went into another' from cohort c join cohort o on o.id = c.merged_into where o.merged_into is not null
		union all select 'fingerprint ' || f.algorithm || ':' || f.digest || ' counts ' || f.splits || ' splits and is named by others' from fingerprint f
			where f.splits <> (select count(distinct v.rule_id) from split_value v join grouping_rule r on r.id = v.rule_id where v.fingerprint_id = f.id and r.state <> 'undone')
		limit 100`)
}

// recountCells counts entries anew as cell_month has them.
const recountCells = `select e.cell_id, cast(strftime('%Y', e.opened_at / 1000, 'unixepoch') as integer) * 12 + cast(strftime('%m', e.opened_at / 1000, 'unixepoch') as integer) - 1 as month, e.status, count(*) as entries
	from entry e group by 1, 2, 3`

// sumOfMonths is what the months of each cell add up to.
const sumOfMonths = `select cell_id as id, coalesce(sum(case when status = 'parked' then entries end), 0) as parked, coalesce(sum(case when status = 'redriving' then entries end), 0) as redriving,
	coalesce(sum(case when status = 'quarantined' then entries end), 0) as quarantined, coalesce(sum(case when status = 'archived' then entries end), 0) as archived,
	coalesce(sum(case when status = 'resolved' then entries end), 0) as resolved, coalesce(sum(case when status = 'erased' then entries end), 0) as erased from cell_month group by cell_id`

func (s *Store) checkCells(ctx context.Context) ([]string, error) {
	found, err := s.lines(ctx, `select 'cell ' || l.id || ' counts other entries than its months' from cell l left join (`+sumOfMonths+`) m on m.id = l.id
		where l.parked <> coalesce(m.parked, 0) or l.redriving <> coalesce(m.redriving, 0) or l.quarantined <> coalesce(m.quarantined, 0)
		or l.archived <> coalesce(m.archived, 0) or l.resolved <> coalesce(m.resolved, 0) or l.erased <> coalesce(m.erased, 0) order by l.id limit 100`)
	if err != nil {
		return nil, err
	}
	more, err := s.lines(ctx, `select 'cell ' || x.cell_id || ' in month ' || x.month || ' counts ' || sum(x.counted) || ' ' || x.status || ' and has ' || sum(x.has)
		from (select cell_id, month, status, entries as counted, 0 as has from cell_month union all select r.cell_id, r.month, r.status, 0, r.entries from (`+recountCells+`) r) x
		group by x.cell_id, x.month, x.status having sum(x.counted) <> sum(x.has) limit 100`)
	return append(found, more...), err
}

// recountSources compares what the days of each source say is stuck with the
// entries that are.
const recountSources = `select coalesce(d.source_id, r.source_id) as source_id, coalesce(d.review, r.review) as review, coalesce(d.stuck, 0) as counted, coalesce(r.stuck, 0) as stuck
	from (select source_id, review, sum(parked - unparked) as stuck from source_day group by source_id, review) d
	full outer join (select e.source_id, c.review, count(*) as stuck from entry e join fingerprint f on f.id = e.fingerprint_id join cohort c on c.id = f.cohort_id
	where e.status = 'parked' group by e.source_id, c.review) r on r.source_id = d.source_id and r.review = d.review
	where coalesce(d.stuck, 0) <> coalesce(r.stuck, 0)`

func (s *Store) checkSources(ctx context.Context) ([]string, error) {
	return s.lines(ctx, `select 'the days of source ' || s.name || ' leave ' || x.counted || case x.review when 1 then ' in review' else ' parked' end || ' and it has ' || x.stuck
		from (`+recountSources+`) x join source s on s.id = x.source_id order by s.name, x.review limit 100`)
}

const recountOperations = `select operation_id as id, count(*) as total, count(case when state = 'waiting' then 1 end) as waiting, count(case when state = 'in_flight' then 1 end) as in_flight,
	count(case when state = 'settled' then 1 end) as settled, count(case when state = 'left_out' then 1 end) as left_out, count(case when state = 'cancelled' then 1 end) as cancelled
	from item group by operation_id`

// recountSteps counts items as operation_tally has them.
const recountSteps = `select i.operation_id, i.step, case i.state when 'settled' then coalesce(nullif(r.outcome, ''), 'settled') else i.state end as stands, count(*) as items
	from item i left join redrive r on r.id = i.redrive_id group by 1, 2, 3`

func (s *Store) checkOperations(ctx context.Context) ([]string, error) {
	return s.lines(ctx, `select 'operation ' || o.id || ' counts other items than it has' from operation o left join (`+recountOperations+`) i on i.id = o.id
		where o.total <> coalesce(i.total, 0) or o.waiting <> coalesce(i.waiting, 0) or o.in_flight <> coalesce(i.in_flight, 0) or o.settled <> coalesce(i.settled, 0)
		or o.left_out <> coalesce(i.left_out, 0) or o.cancelled <> coalesce(i.cancelled, 0)
		union all select 'operation ' || x.operation_id || ' counts ' || sum(x.counted) || ' items that are ' || x.stands || ' in step ' || x.step || ' and has ' || sum(x.has)
			from (select operation_id, step, stands, items as counted, 0 as has from operation_tally union all select operation_id, step, stands, 0, items from (`+recountSteps+`)) x
			group by x.operation_id, x.step, x.stands having sum(x.counted) <> sum(x.has) order by 1 limit 100`)
}

func (s *Store) checkAudit(ctx context.Context) ([]string, error) {
	_, fault, err := s.VerifyAudit(ctx)
	if err != nil || fault == "" {
		return nil, err
	}
	return []string{fault}, nil
}

// RepairCounters sets the counters of cohorts, cells and operations, and the
// times that cohorts are ordered by, to what a recount finds, and a cohort's arrivals to the sum of its days. The days of a
// source keep what they say; what they leave out is put right today.
func (s *Store) RepairCounters(ctx context.Context) error {
	return s.update(ctx, func(tx *Tx) error {
		for _, statement := range []string{
			`update cohort set (parked, redriving, quarantined, archived, resolved, erased) = (select coalesce(max(r.parked), 0), coalesce(max(r.redriving), 0), coalesce(max(r.quarantined), 0), coalesce(max(r.archived), 0), coalesce(max(r.resolved), 0), coalesce(max(r.erased), 0) from (` + recountCohorts + `) r where r.id = cohort.id)`,
			`update cohort set arrivals = (select coalesce(sum(d.arrivals), 0) from fingerprint f join fingerprint_day d on d.fingerprint_id = f.id where f.cohort_id = cohort.id)`,
			`delete from cell_month`,
			`insert into cell_month (cell_id, month, status, entries) ` + recountCells,
			`update cell set (parked, redriving, quarantined, archived, resolved, erased) = (select coalesce(max(m.parked), 0), coalesce(max(m.redriving), 0), coalesce(max(m.quarantined), 0), coalesce(max(m.archived), 0), coalesce(max(m.resolved), 0), coalesce(max(m.erased), 0) from (` + sumOfMonths + `) m where m.id = cell.id)`,
			`update cohort set oldest_opened = ` + oldestOfMembers + `, next_expiry = ` + expiryOfMembers,
			`update operation set (total, waiting, in_flight, settled, left_out, cancelled) = (select coalesce(max(i.total), 0), coalesce(max(i.waiting), 0), coalesce(max(i.in_flight), 0), coalesce(max(i.settled), 0), coalesce(max(i.left_out), 0), coalesce(max(i.cancelled), 0) from (` + recountOperations + `) i where i.id = operation.id)`,
			`delete from operation_tally`,
			`insert into operation_tally (operation_id, step, stands, items) ` + recountSteps,
			`delete from replay_tally`,
			replaysCounted + ` where verdict is not null` + replaysGrouped,
		} {
			if _, err := tx.exec(statement); err != nil {
				return fmt.Errorf("recount: %w", err)
			}
		}
		tx.batch = newDeltas() // the recount has seen what this batch changed
		if _, err := tx.exec(`insert into source_day (source_id, day, review, parked, unparked) select source_id, $1, review, case when stuck > counted then stuck - counted else 0 end, case when counted > stuck then counted - stuck else 0 end from (`+recountSources+`) x where true
			on conflict (source_id, day, review) do update set parked = source_day.parked + excluded.parked, unparked = source_day.unparked + excluded.unparked`, dayOf(tx.now)); err != nil {
			return fmt.Errorf("recount the days of sources: %w", err)
		}
		return tx.audit(dlq.Policy("check --repair"), auditEntry{action: "counters.repaired"})
	})
}
