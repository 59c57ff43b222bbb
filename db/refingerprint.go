package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"dlo/dlq"
)

// Moving to a new version of the fingerprint. Each new digest is a member beside
// the old ones; documents move to it slice by slice, within the cohort that they
// are in or into a part of it, and never into another: what would merge cohorts
// is left to a person.

// EntriesAfter lists the ids of entries, in their order, after one.
func (s *Store) EntriesAfter(ctx context.Context, after int64, limit int) ([]int64, error) {
	var out []int64
	err := each(ctx, s.reader(), `select id from entry where id > $1 order by id limit $2`, []any{after, limit}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list entries: %w", err)
	}
	return out, nil
}

// MovingRefingerprint gives the move to a new algorithm that is under way.
func (s *Store) MovingRefingerprint(ctx context.Context) (dlq.Refingerprinting, bool, error) {
	var r dlq.Refingerprinting
	found, err := s.one(ctx, `select id, from_algorithm, to_algorithm, after_id, moved, stayed from refingerprint where state = 'moving'`, nil, &r.ID, &r.From, &r.To, &r.After, &r.Moved, &r.Stayed)
	if err != nil {
		return r, false, fmt.Errorf("find a move to a new fingerprint: %w", err)
	}
	return r, found, nil
}

// BeginRefingerprint makes the members and the parts that a plan names. From
// then on new failures follow them; MoveRefingerprint moves those that are here.
func (s *Store) BeginRefingerprint(ctx context.Context, by dlq.Actor, plan dlq.RegroupPlan) error {
	return s.update(ctx, func(tx *Tx) error {
		id := tx.newID()
		if _, err := tx.exec(`insert into refingerprint (id, from_algorithm, to_algorithm, state, made_at, actor) values ($1, $2, $3, 'moving', $4, $5)`, id, plan.From, plan.To, ms(tx.now), by.Name); err != nil {
			if isUnique(err) {
				return dlq.Errorf(dlq.KindConflict, "a move to a new fingerprint is under way already").Because(err)
			}
			return fmt.Errorf("begin the move to a new fingerprint: %w", err)
		}
		for _, d := range plan.Digests {
			if err := tx.beginDigest(id, d); err != nil {
				return err
			}
		}
		return tx.audit(by, auditEntry{action: "fingerprint.moving", detail: map[string]any{"from": plan.From, "to": plan.To, "digests": len(plan.Digests), "splits": plan.Splits(), "merges_left": plan.Merges()}})
	})
}

func (t *Tx) beginDigest(run string, d dlq.RegroupDigest) error {
	if _, found, err := t.member(d.Fingerprint.Algorithm, d.Fingerprint.Digest); err != nil || found {
		return err // a failure that arrived since made it already
	}
	var olds []int64
	for _, root := range d.Roots {
		algorithm, digest, _ := strings.Cut(root, ":")
		old, found, err := t.member(algorithm, digest)
		if err != nil {
			return err
		}
		if found {
			olds = append(olds, old.id)
		}
	}
	home := d.Home
	if d.Part {
		c, err := t.cohortOfPlan(d.Home)
		if err != nil {
			return err
		}
		if home, err = t.addCohort(newCohort{fingerprint: d.Fingerprint, sourceID: c.sourceID, review: c.review, splitFrom: d.Home, part: "told apart by fingerprint " + d.Fingerprint.Algorithm}); err != nil {
			return err
		}
		if _, err := t.exec(`update cohort set grouping = grouping + 1 where id = $1`, d.Home); err != nil {
			return fmt.Errorf("mark the grouping as changed: %w", err)
		}
		if err := t.audit(dlq.Policy("fingerprint "+d.Fingerprint.Algorithm), auditEntry{action: "cohort.split_from", cohort: home, detail: map[string]any{"from": d.Home}}); err != nil {
			return err
		}
	}
	ref, err := t.succeed(d.Fingerprint, home, olds)
	if err != nil || !d.Part {
		return err
	}
	if _, err := t.exec(`insert into refingerprint_part (refingerprint_id, from_cohort, fingerprint_id, to_cohort) values ($1, $2, $3, $4)`, run, d.Home, ref.id, home); err != nil {
		return fmt.Errorf("remember a part: %w", err)
	}
	return nil
}

func (t *Tx) cohortOfPlan(id string) (groupingCohort, error) {
	c := groupingCohort{id: id}
	if _, err := t.row(`select review, source_id from cohort where id = $1`, []any{id}, &c.review, &c.sourceID); err != nil {
		return c, fmt.Errorf("find cohort: %w", err)
	}
	return c, nil
}

// MoveRefingerprint moves failures to the members of the new algorithm, and
// remembers that every entry up to one was looked at.
func (s *Store) MoveRefingerprint(ctx context.Context, run string, placed []dlq.Placed, upTo int64) error {
	return s.update(ctx, func(tx *Tx) error {
		var moved, stayed int64
		for _, p := range placed {
			to, may, err := tx.newMember(run, p)
			if err != nil {
				return err
			}
			if !may {
				if p.Current {
					stayed++
				}
				continue
			}
			from, err := tx.memberByID(p.FingerprintID)
			if err != nil {
				return err
			}
			evidence, err := tx.moveAttempt(p.RegroupAttempt, from, to)
			if err != nil {
				return err
			}
			if evidence {
				moved++
			}
		}
		if _, err := tx.exec(`update refingerprint set after_id = $1, moved = moved + $2, stayed = stayed + $3 where id = $4 and state = 'moving'`, upTo, moved, stayed, run); err != nil {
			return fmt.Errorf("remember how far the move to a new fingerprint is: %w", err)
		}
		return nil
	})
}

// newMember finds the member of the new algorithm for a failure, splits
// followed. False says that it is in another cohort: the failure stays.
func (t *Tx) newMember(run string, p dlq.Placed) (fingerprintRef, bool, error) {
	ref, found, err := t.member(p.Now.Algorithm, p.Now.Digest)
	if err != nil {
		return ref, false, err
	}
	if !found { // it became known since the plan was made
		if ref, err = t.succeed(p.Now, p.RootCohort, []int64{p.RootID}); err != nil {
			return ref, false, err
		}
	}
	if ref.cohort != p.RootCohort {
		var one int
		part, err := t.row(`select 1 from refingerprint_part where refingerprint_id = $1 and from_cohort = $2 and fingerprint_id = $3`, []any{run, p.RootCohort, ref.id}, &one)
		if err != nil {
			return ref, false, fmt.Errorf("find a part: %w", err)
		}
		if !part {
			return ref, false, nil
		}
	}
	to, err := t.followSplits(ref, p.Now, p.Envelope.ComponentVersions(), p.Envelope.ContentType)
	return to, true, err
}

// FinishRefingerprint says that every document was looked at.
func (s *Store) FinishRefingerprint(ctx context.Context, run string) error {
	return s.update(ctx, func(tx *Tx) error {
		var moved, stayed int64
		done, err := tx.row(`update refingerprint set state = 'done' where id = $1 and state = 'moving' returning moved, stayed`, []any{run}, &moved, &stayed)
		if err != nil || !done {
			return err
		}
		return tx.audit(dlq.Policy("fingerprint"), auditEntry{action: "fingerprint.moved", detail: map[string]any{"documents": moved, "stayed": stayed}})
	})
}
