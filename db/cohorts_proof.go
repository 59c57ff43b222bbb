package db

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"dlo/dlq"
)

// What replays prove of the cohorts of a list, and which redrives of them are under
// way. The list is ordered by both, and SQL decides neither: the few cohorts that a
// proof or a redrive concerns are found first, and their ids handed to the order.

// provenMost is how many cohorts with a pass the order looks at, those of which most
// is stuck first. The proof of more is shown, and moves them to no other place.
const provenMost = 500

// proven concludes what the replays of a page prove.
func (c *cohortFill) proven() error {
	part := map[string][]dlq.VersionCount{}
	for id, cohort := range c.index {
		part[id] = cohort.FailedUnder
	}
	l, _ := c.ask()
	proofs, err := c.s.proofsOfPart(c.ctx, l, c.ids, part)
	for id, p := range proofs {
		c.index[id].Standing.Proof = p
	}
	return err
}

// proofsOfPart concludes what the replays of cohorts prove for those parked
// documents of theirs that count. What a proof says follows from all that the viewer
// may see, for a failure under the new version speaks against it wherever it is
// listed.
func (s *Store) proofsOfPart(ctx context.Context, l *cohortList, ids []string, part map[string][]dlq.VersionCount) (map[string]dlq.CohortProof, error) {
	whole := part
	if l.q.Narrows() {
		all := &cohortList{by: l.by, q: l.q}
		in := "(" + all.list(ids) + ")"
		var err error
		if whole, err = s.stuckUnder(ctx, all, in, all.visible("+c.source_id")); err != nil {
			return nil, err
		}
	}
	cohorts := make([]dlq.Cohort, len(ids))
	for i, id := range ids {
		cohorts[i] = dlq.Cohort{ID: id, FailedUnder: whole[id]}
	}
	proofs, err := s.CohortProofs(ctx, l.by, cohorts)
	if err != nil || !l.q.Narrows() {
		return proofs, err
	}
	for id, p := range proofs {
		proofs[id] = p.For(part[id])
	}
	return proofs, nil
}

// redrives finds the redrives about the cohorts of a page that have not ended.
func (c *cohortFill) redrives() error {
	open, err := c.s.openRedrives(c.ctx, c.by)
	for id, o := range open {
		if cohort := c.index[id]; cohort != nil {
			cohort.Standing.Redrive = &o
		}
	}
	return err
}

// openRedrives finds the newest redrive about each cohort that has not ended and
// that somebody may see. One about a cohort that was merged is about the one that
// it is in now.
func (s *Store) openRedrives(ctx context.Context, by dlq.Actor) (map[string]dlq.Operation, error) {
	list, err := operationsWhere(ctx, s.reader(), `where state not in ('done', 'cancelled') and cohort_id <> '' and kind = 'redrive' and total > 0 order by id desc limit 1000`)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids := make([]string, len(list))
	for i, o := range list {
		ids[i] = o.CohortID
	}
	now := map[string]string{}
	err = each(ctx, s.reader(), `select id, coalesce(merged_into, id) from cohort where id in (select value from json_each($1))`, []any{jsonTexts(ids)}, func(rows *sql.Rows) error {
		var id, live string
		err := rows.Scan(&id, &live)
		now[id] = live
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the cohorts of redrives: %w", err)
	}
	out := map[string]dlq.Operation{}
	hidden := map[string]bool{}
	for _, o := range list {
		id := now[o.CohortID]
		if _, newer := out[id]; newer || hidden[id] {
			continue
		}
		sees, err := s.SeesOperation(ctx, by, o)
		if err != nil {
			return nil, err
		}
		if hidden[id] = !sees; sees {
			out[id] = o
		}
	}
	return out, nil
}

// needsOfProof finds the cohorts that a stopped redrive or an unused proof makes
// urgent.
func (s *Store) needsOfProof(ctx context.Context, l *cohortList) error {
	open, err := s.openRedrives(ctx, l.by)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		if o := open[id]; (dlq.CohortStanding{Redrive: &o}).Stopped() {
			l.stopped = append(l.stopped, id)
		}
	}
	// Of what is stuck, a seek each.
	passed, err := s.texts(ctx, `select k.id from cohort k where `+inStates("k", []dlq.Status{dlq.StatusParked})+` and exists (select 1 from replay_tally t where t.cohort_id in `+withAbsorbed+`
		and t.verdict = 'fixed_by_code' and t.presumed = 0 and t.replays > 0) order by k.parked desc, k.id desc limit $1`, provenMost)
	if err != nil {
		return fmt.Errorf("find the cohorts of which a replay passed: %w", err)
	}
	if len(passed) == 0 {
		return nil
	}
	having, _, _ := l.q.Having.Split()
	part := &cohortList{filter: filter{proofs: l.proofs}, by: l.by, q: l.q}
	in, cells := "("+part.list(passed)+")", part.cellCondition(l.q, having, l.by)
	if cells != "" {
		cells = " and " + cells
	}
	under, err := s.stuckUnder(ctx, part, in, cells)
	if err != nil {
		return err
	}
	proofs, err := s.proofsOfPart(ctx, l, passed, under)
	if err != nil {
		return err
	}
	for _, id := range passed {
		standing := dlq.CohortStanding{Proof: proofs[id]}
		if o, under := open[id]; under {
			standing.Redrive = &o
		}
		if standing.Proven() {
			l.proven = append(l.proven, id)
		}
	}
	return nil
}

// ProofOfEntry is what replays prove of a document like one: of its cohort, its
// source, and the versions that it failed under, whatever its state is.
func (s *Store) ProofOfEntry(ctx context.Context, by dlq.Actor, c dlq.Cohort, e dlq.Entry) (dlq.Proof, error) {
	c.ID = e.CohortID
	c.FailedUnder = append(slices.Clone(c.FailedUnder), dlq.VersionCount{Source: e.Source, Versions: e.Versions})
	proofs, err := s.CohortProofs(ctx, by, []dlq.Cohort{c})
	return proofs[c.ID].Of(e.Source, e.Versions), err
}
