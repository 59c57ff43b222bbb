package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"dlo/dlq"
)

// Moving documents behind a rule of grouping: slice by slice, so that arrivals
// are not held up. What a failure's place is made from is read here; the
// fingerprint itself is made by the caller.

// MovingSplits lists the splits whose documents are on their way.
func (s *Store) MovingSplits(ctx context.Context) ([]dlq.GroupingRule, error) {
	return groupingRules(ctx, s.reader(), `where r.state = 'moving' order by r.seq limit 100`)
}

// SplitWork lists the entries that a split has yet to look at, in the order in
// which it looks at them.
func (s *Store) SplitWork(ctx context.Context, ruleID string) ([]int64, error) {
	var after int64
	if _, err := s.one(ctx, `select after_id from grouping_rule where id = $1`, []any{ruleID}, &after); err != nil {
		return nil, fmt.Errorf("read the rule: %w", err)
	}
	var out []int64
	err := each(ctx, s.reader(), `select e.id from split_value v join entry e on e.fingerprint_id = v.fingerprint_id where v.rule_id = $1 and v.value_hash = (select min(value_hash) from split_value where rule_id = $1)`, []any{ruleID}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		if id > after {
			out = append(out, id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the documents of a split: %w", err)
	}
	slices.Sort(out)
	return out, nil
}

// mostRegrouped bounds how many attempts of one entry are looked at anew: its
// newest. Older ones stay where they were counted.
const mostRegrouped = 1000

// RegroupAttempts reads the failures of entries as a fingerprint is made from
// them: those that stand in one of the members.
func (s *Store) RegroupAttempts(ctx context.Context, entryIDs, members []int64) ([]dlq.RegroupAttempt, error) {
	var out []dlq.RegroupAttempt
	for _, id := range entryIDs {
		err := each(ctx, s.reader(), `select a.id, a.id = e.evidence_id, f.id, root.id, root.algorithm || ':' || root.digest, root.cohort_id, s.name, c.reason, c.error_class, c.error_type, c.content_type, c.stage, v.versions, a.confidence, a.detail
			from attempt a join entry e on e.id = $1 join source s on s.id = e.source_id join cell c on c.id = a.cell_id join fingerprint f on f.id = c.fingerprint_id join version_set v on v.id = c.version_set_id
			join fingerprint root on root.algorithm = f.algorithm and root.digest = case instr(f.digest, '/') when 0 then f.digest else substr(f.digest, 1, instr(f.digest, '/') - 1) end
			where a.id between $2 and $3 order by a.id desc limit $4`, []any{id, id << sequenceBits, id<<sequenceBits | (1<<sequenceBits - 1), mostRegrouped}, func(rows *sql.Rows) error {
			a := dlq.RegroupAttempt{EntryID: id}
			e := &a.Envelope
			var versions string
			var detail []byte
			if err := rows.Scan(&a.ID, &a.Current, &a.FingerprintID, &a.RootID, &a.Root, &a.RootCohort, &e.Source, &e.Reason, &e.ErrorClass, &e.ErrorType, &e.ContentType, &e.Stage, &versions, &e.Confidence, &detail); err != nil {
				return err
			}
			if members != nil && !slices.Contains(members, a.FingerprintID) {
				return nil
			}
			var d dlq.AttemptDetail
			if err := s.codec.unpackJSON(detail, &d); err != nil {
				return err
			}
			e.Versions = dlq.ParseVersions(versions)
			e.ErrorMessage, e.StackTrace = d.Message, d.Trace
			if d.Validation != "" {
				e.ValidationOutput = d.Validation
			}
			out = append(out, a)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the failures of a document: %w", err)
		}
	}
	return out, nil
}

// MoveSplit moves failures to where the splits in force send them, and remembers
// that the split has looked at every entry up to one. It answers how many entries
// moved; false says that the rule moves no more, because it was undone.
func (s *Store) MoveSplit(ctx context.Context, ruleID string, placed []dlq.Placed, upTo int64) (moved int64, goesOn bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		moved = 0
		var one int
		if goesOn, err = tx.row(`select 1 from grouping_rule where id = $1 and state = 'moving'`, []any{ruleID}, &one); err != nil || !goesOn {
			return err
		}
		for _, p := range placed {
			ref, err := tx.memberByID(p.FingerprintID)
			if err != nil {
				return err
			}
			to, err := tx.followSplits(ref, p.Now, p.Envelope.ComponentVersions(), p.Envelope.ContentType)
			if err != nil {
				return err
			}
			evidence, err := tx.moveAttempt(p.RegroupAttempt, ref, to)
			if err != nil {
				return err
			}
			if evidence {
				moved++
			}
		}
		if _, err := tx.exec(`update grouping_rule set after_id = $1, moved = moved + $2 where id = $3`, upTo, moved, ruleID); err != nil {
			return fmt.Errorf("remember how far a split is: %w", err)
		}
		return nil
	})
	return moved, goesOn, err
}

// FinishSplit says that a split has moved all that it had to.
func (s *Store) FinishSplit(ctx context.Context, ruleID string) error {
	return s.update(ctx, func(tx *Tx) error {
		var cohort string
		var moved int64
		done, err := tx.row(`update grouping_rule set state = 'done' where id = $1 and state = 'moving' returning cohort_id, moved`, []any{ruleID}, &cohort, &moved)
		if err != nil {
			return fmt.Errorf("finish a split: %w", err)
		}
		if !done {
			return nil
		}
		if _, err := tx.exec(`update cohort set last_seen = coalesce(`+newestOf+`, last_seen) where id = $1`, cohort); err != nil {
			return fmt.Errorf("find when the cohort was last seen: %w", err)
		}
		return tx.audit(dlq.Policy("grouping"), auditEntry{action: "cohort.split_done", cohort: cohort, detail: map[string]any{"rule": ruleID, "documents": moved}})
	})
}

func (t *Tx) memberByID(id int64) (fingerprintRef, error) {
	var ref fingerprintRef
	if _, err := t.row(`select f.id, f.cohort_id, c.review, f.splits from fingerprint f join cohort c on c.id = f.cohort_id where f.id = $1`, []any{id}, &ref.id, &ref.cohort, &ref.review, &ref.splits); err != nil {
		return ref, fmt.Errorf("find a member: %w", err)
	}
	return ref, nil
}

// moveAttempt gives one failure to another member, with everything that counts
// it. It answers whether the entry went with it, because the failure is its
// current evidence. A failure that moved meanwhile is left where it is.
func (t *Tx) moveAttempt(a dlq.RegroupAttempt, from, to fingerprintRef) (bool, error) {
	if from.id == to.id {
		return false, nil
	}
	var kind string
	var k cellKey
	var first, last int64
	found, err := t.row(`select a.kind, a.first_seen, a.last_seen, c.fingerprint_id, c.source_id, c.version_set_id, c.reason, c.error_class, c.error_type, c.content_type, c.stage
		from attempt a join cell c on c.id = a.cell_id where a.id = $1`, []any{a.ID}, &kind, &first, &last, &k.fingerprint, &k.source, &k.versions, &k.reason, &k.class, &k.errorType, &k.contentType, &k.stage)
	if err != nil {
		return false, fmt.Errorf("find a failure: %w", err)
	}
	if !found || k.fingerprint != from.id {
		return false, nil
	}
	k.fingerprint = to.id
	cell, err := t.cell(k)
	if err != nil {
		return false, err
	}
	if _, err := t.exec(`update attempt set cell_id = $1 where id = $2`, cell, a.ID); err != nil {
		return false, fmt.Errorf("move a failure: %w", err)
	}
	if err := t.traceLeaves(a.EntryID, a.ID); err != nil {
		return false, err
	}
	if kind == "arrival" {
		t.moveArrival(k.source, from, to, moment(first), moment(last))
	}
	if to.cohort != from.cohort {
		if err := t.moveReplays(a, to.cohort); err != nil {
			return false, err
		}
	}
	was, found, err := t.entryByID(a.EntryID)
	if err != nil || !found || was.evidenceID != a.ID {
		return false, err
	}
	is := was
	is.cellID, is.fingerprintID, is.cohort, is.review = cell, to.id, to.cohort, to.review
	t.rehome(was.cohort, is.cohort, is.status, 1)
	return true, t.saveEntry(was, is)
}

// moveArrival counts one arrival in another member.
func (t *Tx) moveArrival(source int64, from, to fingerprintRef, first, last time.Time) {
	t.job.days[fingerprintDay{from.id, source, dayOf(last)}]--
	t.job.days[fingerprintDay{to.id, source, dayOf(last)}]++
	t.job.cohort(from.cohort).arrivals--
	c := t.job.cohort(to.cohort)
	c.arrivals++
	c.firstSeen, c.lastSeen = earliest(c.firstSeen, ms(first)), max(c.lastSeen, ms(last))
}

// moveReplays takes the redrives of a failure along: what they proved is about
// the cohort that the failure is in.
func (t *Tx) moveReplays(a dlq.RegroupAttempt, cohort string) error {
	var ids []string
	cohorts := []string{cohort}
	if err := each(t.ctx, t, `select id, failed_cohort from redrive where entry_id = $1 and (failed_attempt = $2 or outcome_attempt = $2) order by id`, []any{a.EntryID, a.ID}, func(rows *sql.Rows) error {
		var id, was string
		err := rows.Scan(&id, &was)
		ids = append(ids, id)
		if !slices.Contains(cohorts, was) {
			cohorts = append(cohorts, was)
		}
		return err
	}); err != nil {
		return fmt.Errorf("find the replays of a failure: %w", err)
	}
	for _, id := range ids {
		if err := t.countReplay(id, -1); err != nil {
			return err
		}
		if _, err := t.exec(`update redrive set failed_cohort = case failed_attempt when $1 then $2 else failed_cohort end,
			outcome_cohort = case when outcome_attempt = $1 and outcome_cohort is not null then $2 else outcome_cohort end where id = $3`, a.ID, cohort, id); err != nil {
			return fmt.Errorf("move what a replay is about: %w", err)
		}
		if err := t.countReplay(id, 1); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return t.weighTransients(cohorts...)
}

// SplitMembers lists the members that a split names.
func (s *Store) SplitMembers(ctx context.Context, ruleID string) ([]int64, error) {
	var out []int64
	err := each(ctx, s.reader(), `select distinct fingerprint_id from split_value where rule_id = $1 order by 1`, []any{ruleID}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the members of a split: %w", err)
	}
	return out, nil
}
