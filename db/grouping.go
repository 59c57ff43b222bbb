package db

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"dlo/dlq"
)

// Which member of which cohort a failure belongs to. Members come from the
// algorithm; merges and splits are rules of people, which outrank it: a merge
// moves members to another cohort, a split derives members from one.

// memberFor finds the member that an arrival belongs to, splits followed.
func (t *Tx) memberFor(a dlq.Arrival, sourceID int64, review bool) (fingerprintRef, error) {
	f := a.Fingerprint
	ref, found, err := t.member(f.Algorithm, f.Digest)
	if err != nil {
		return ref, err
	}
	if !found {
		if ref, err = t.firstOfItsKind(f, sourceID, review); err != nil {
			return ref, err
		}
	}
	return t.followSplits(ref, f, a.Envelope.ComponentVersions(), a.Envelope.ContentType)
}

// firstOfItsKind makes a member of a fingerprint that nobody has seen. It joins
// the cohort that the failure had under an older algorithm, and is else a cohort
// of its own.
func (t *Tx) firstOfItsKind(f dlq.Fingerprint, sourceID int64, review bool) (fingerprintRef, error) {
	for _, former := range f.Former {
		was, found, err := t.member(former.Algorithm, former.Digest)
		if err != nil {
			return was, err
		}
		if found {
			return t.succeed(f, was.cohort, []int64{was.id})
		}
	}
	return t.fingerprint(f, sourceID, review)
}

// succeed makes the member of a new algorithm that goes on for older ones: it is
// in a cohort, and the splits in force of those hold for it as well.
func (t *Tx) succeed(f dlq.Fingerprint, cohort string, olds []int64) (fingerprintRef, error) {
	id, err := t.addMember(f, cohort, nil)
	if err != nil {
		return fingerprintRef{}, err
	}
	if len(olds) == 1 { // of several, none is what it came from
		if _, err := t.exec(`update fingerprint set follows = $1 where id = $2`, olds[0], id); err != nil {
			return fingerprintRef{}, fmt.Errorf("remember what a member follows: %w", err)
		}
	}
	for _, old := range olds {
		if _, err := t.exec(`insert into split_value (rule_id, fingerprint_id, value_hash, value, cohort_id) select v.rule_id, $1, v.value_hash, v.value, v.cohort_id from split_value v
			join grouping_rule r on r.id = v.rule_id where v.fingerprint_id = $2 and r.state <> 'undone' on conflict do nothing`, id, old); err != nil {
			return fingerprintRef{}, fmt.Errorf("take over a split: %w", err)
		}
	}
	if _, err := t.exec(`update fingerprint set splits = (select count(distinct rule_id) from split_value where fingerprint_id = $1) where id = $1`, id); err != nil {
		return fingerprintRef{}, fmt.Errorf("take over a split: %w", err)
	}
	return t.memberByID(id)
}

// splitOf is one split in force of one member.
type splitOf struct {
	rule string
	by   dlq.SplitBy
}

// deepestSplit bounds how often one member can be split anew.
const deepestSplit = 8

// followSplits takes a failure to the member that the splits of its own derive
// for it. A value that no split names stays where it is.
func (t *Tx) followSplits(ref fingerprintRef, f dlq.Fingerprint, versions dlq.Versions, contentType string) (fingerprintRef, error) {
	for range deepestSplit {
		if ref.splits == 0 {
			return ref, nil
		}
		splits, err := t.splitsOf(ref.id)
		if err != nil {
			return ref, err
		}
		derived := false
		for _, s := range splits {
			next, found, err := t.derive(ref, s, f, s.by.ValueOf(f, versions, contentType))
			if err != nil {
				return ref, err
			}
			if found {
				ref, derived = next, true
				break
			}
		}
		if !derived {
			return ref, nil
		}
	}
	return ref, nil
}

func (t *Tx) splitsOf(fingerprintID int64) ([]splitOf, error) {
	var out []splitOf
	err := each(t.ctx, t, `select distinct r.id, r.attribute, r.component, r.seq from split_value v join grouping_rule r on r.id = v.rule_id
		where v.fingerprint_id = $1 and r.state in ('moving', 'done') order by r.seq`, []any{fingerprintID}, func(rows *sql.Rows) error {
		var s splitOf
		var seq int64
		err := rows.Scan(&s.rule, &s.by.Attribute, &s.by.Component, &seq)
		out = append(out, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the splits of a member: %w", err)
	}
	return out, nil
}

// derive finds the member of a value, or makes it, where the split names the
// value.
func (t *Tx) derive(parent fingerprintRef, s splitOf, f dlq.Fingerprint, value string) (fingerprintRef, bool, error) {
	var cohort string
	found, err := t.row(`select coalesce(c.merged_into, c.id) from split_value v join cohort c on c.id = v.cohort_id where v.rule_id = $1 and v.fingerprint_id = $2 and v.value_hash = $3`, []any{s.rule, parent.id, dlq.SplitHash(value)}, &cohort)
	if err != nil || !found {
		return parent, false, err
	}
	if _, err := t.row(`select algorithm, digest, canonical from fingerprint where id = $1`, []any{parent.id}, &f.Algorithm, &f.Digest, &f.Canonical); err != nil {
		return parent, false, fmt.Errorf("read the member that is split: %w", err)
	}
	f = f.Derived(s.rule, s.by, value)
	ref, found, err := t.member(f.Algorithm, f.Digest)
	if err != nil {
		return parent, false, err
	}
	if !found {
		if ref.id, err = t.addMember(f, cohort, &derivation{parent.id, s.rule}); err != nil {
			return parent, false, err
		}
		ref.cohort, ref.review = cohort, parent.review
		if err := t.headPart(cohort, ref.id, f); err != nil {
			return parent, false, err
		}
	}
	ref.from = append(slices.Clone(parent.from), parent.id)
	return ref, true, nil
}

// headPart gives a part the heading of its first failure: what was split may have
// been several fingerprints, of which the part has one.
func (t *Tx) headPart(cohort string, member int64, f dlq.Fingerprint) error {
	frame := ""
	if len(f.Frames) > 0 {
		frame = f.Frames[0].String()
	}
	_, err := t.exec(`update cohort set error_type = $1, template = $2, frame = $3, confidence = $4 where id = $5 and split_from is not null and not exists (select 1 from fingerprint where cohort_id = $5 and id <> $6)`,
		storable(f.Type), storable(f.Template), storable(frame), f.Confidence, cohort, member)
	if err != nil {
		return fmt.Errorf("name a part: %w", err)
	}
	return nil
}

// sameDefect says whether a failure is in the cohort that its entry is in. While
// a split moves its documents, one that has not moved yet stands where it stood
// before, and that is no other defect.
func (t *Tx) sameDefect(was entryRow, fp fingerprintRef) (bool, error) {
	var one int
	if fp.cohort == was.cohort {
		return true, nil
	}
	if !slices.Contains(fp.from, was.fingerprintID) {
		part, err := t.row(`select 1 from refingerprint_part p join refingerprint r on r.id = p.refingerprint_id where r.state = 'moving' and r.after_id < $1 and p.from_cohort = $2 and p.to_cohort = $3 limit 1`, []any{was.id, was.cohort, fp.cohort}, &one)
		if err != nil {
			return false, fmt.Errorf("find the move to a new fingerprint: %w", err)
		}
		return part, nil
	}
	moving, err := t.row(`select 1 from split_value v join grouping_rule r on r.id = v.rule_id where v.fingerprint_id = $1 and r.state = 'moving' and r.after_id < $2 limit 1`, []any{was.fingerprintID, was.id}, &one)
	if err != nil {
		return false, fmt.Errorf("find the split that moves: %w", err)
	}
	return moving, nil
}

// groupingCohort is what a rule needs to know of a cohort.
type groupingCohort struct {
	id, mergedInto, errorType, template, confidence, frame string
	review                                                 bool
	sourceID, grouping, firstSeen, lastSeen                int64
}

// liveCohort finds a cohort that can be merged or split, for somebody who sees
// all of it: a rule about a cohort is one about every document in it.
func (t *Tx) liveCohort(by dlq.Actor, id string) (groupingCohort, error) {
	var c groupingCohort
	var into sql.NullString
	algorithm, digest, _ := strings.Cut(id, ":")
	found, err := t.row(`select id, merged_into, review, error_type, template, confidence, frame, source_id, grouping, first_seen, last_seen from cohort
		where id = $1 or id = (select cohort_id from fingerprint where algorithm = $2 and digest = $3)`, []any{id, algorithm, digest}, &c.id, &into, &c.review, &c.errorType, &c.template, &c.confidence, &c.frame, &c.sourceID, &c.grouping, &c.firstSeen, &c.lastSeen)
	if err != nil {
		return c, fmt.Errorf("find cohort: %w", err)
	}
	if !found {
		return c, dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
	}
	c.mergedInto = into.String
	if err := t.seesWhole(by, c.id); err != nil {
		return c, err
	}
	if c.mergedInto != "" {
		return c, dlq.Errorf(dlq.KindConflict, "this cohort was merged into cohort %s; go on there", c.mergedInto)
	}
	return c, nil
}

// seesWhole refuses somebody who sees only a part of a cohort, and tells one who
// sees none of it nothing.
func (t *Tx) seesWhole(by dlq.Actor, cohortID string) error {
	seen, err := t.seesSources(by, cohortID)
	if err == nil && !seen && len(by.Sources) > 0 {
		err = dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
	}
	return err
}

// seesNothingElse refuses somebody who does not see all that a cohort holds,
// which may be nothing.
func (t *Tx) seesNothingElse(by dlq.Actor, cohortID string) error {
	_, err := t.seesSources(by, cohortID)
	return err
}

// seesSources says whether somebody sees a document of a cohort, and refuses where
// it has others.
func (t *Tx) seesSources(by dlq.Actor, cohortID string) (seen bool, err error) {
	if len(by.Sources) == 0 {
		return true, nil
	}
	hidden := false
	err = each(t.ctx, t, `select distinct s.name from fingerprint f join cell l on l.fingerprint_id = f.id join source s on s.id = l.source_id where f.cohort_id = $1 order by s.name`, []any{cohortID}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		if by.SeesSource(name) {
			seen = true
		} else {
			hidden = true
		}
		return err
	})
	switch {
	case err != nil:
		return false, fmt.Errorf("find the sources of a cohort: %w", err)
	case hidden && seen:
		return seen, dlq.Errorf(dlq.KindForbidden, "this cohort also has documents of sources that are not yours; somebody who sees all of them can merge or split it")
	case hidden:
		return seen, dlq.Errorf(dlq.KindNotFound, "there is no such cohort")
	}
	return seen, nil
}

// groupingMoved refuses a decision about a grouping that has changed since the
// person looked.
func groupingMoved(c groupingCohort, asked int64) error {
	if asked != 0 && asked != c.grouping {
		return dlq.Errorf(dlq.KindConflict, "the grouping of this cohort changed while you looked (you saw state %d, it is in state %d now); look at it again", asked, c.grouping)
	}
	return nil
}

// counts are what the counters say of some members.
type memberCounts struct {
	status   map[dlq.Status]int64
	arrivals int64
}

// countsOf counts what members hold, this transaction's own changes included.
func (t *Tx) countsOf(members []int64) (memberCounts, error) {
	c := memberCounts{status: map[dlq.Status]int64{}}
	for _, id := range members {
		cells := map[int64]bool{}
		if err := each(t.ctx, t, `select l.id, m.status, m.entries from cell l left join cell_month m on m.cell_id = l.id where l.fingerprint_id = $1`, []any{id}, func(rows *sql.Rows) error {
			var cell int64
			var status sql.NullString
			var n sql.NullInt64
			if err := rows.Scan(&cell, &status, &n); err != nil {
				return err
			}
			cells[cell] = true
			c.status[dlq.Status(status.String)] += n.Int64
			return nil
		}); err != nil {
			return c, fmt.Errorf("count a member: %w", err)
		}
		var arrivals int64
		if _, err := t.row(`select coalesce(sum(arrivals), 0) from fingerprint_day where fingerprint_id = $1`, []any{id}, &arrivals); err != nil {
			return c, fmt.Errorf("count a member's arrivals: %w", err)
		}
		c.arrivals += arrivals
		for _, pending := range []deltas{t.batch, t.job} {
			for k, n := range pending.cells {
				if cells[k.cell] {
					c.status[k.status] += n
				}
			}
			for k, n := range pending.days {
				if k.fingerprint == id {
					c.arrivals += n
				}
			}
		}
	}
	delete(c.status, "")
	return c, nil
}

// moveMembers gives members to another cohort, with what the counters say of
// them.
func (t *Tx) moveMembers(members []int64, from, to string) error {
	counts, err := t.countsOf(members)
	if err != nil {
		return err
	}
	for status, n := range counts.status {
		t.job.cohort(from).status[status] -= n
		t.job.cohort(to).status[status] += n
		t.rehome(from, to, status, n)
	}
	t.job.cohort(from).arrivals -= counts.arrivals
	t.job.cohort(to).arrivals += counts.arrivals
	t.reorder(from, to)
	for _, id := range members {
		if _, err := t.exec(`update fingerprint set cohort_id = $1 where id = $2 and cohort_id = $3`, to, id, from); err != nil {
			return fmt.Errorf("move a member: %w", err)
		}
	}
	return nil
}

func (t *Tx) membersOf(cohortID string) ([]int64, error) {
	return t.ids(`select id from fingerprint where cohort_id = $1 order by id`, cohortID)
}

func (t *Tx) ids(query string, args ...any) ([]int64, error) {
	var out []int64
	err := each(t.ctx, t, query, args, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find members: %w", err)
	}
	return out, nil
}

// touch remembers how a cohort stood before a rule.
func (t *Tx) touch(rule string, c groupingCohort) error {
	if _, err := t.exec(`insert into grouping_touch (rule_id, cohort_id, merged_into, first_seen, last_seen) values ($1, $2, $3, $4, $5)`, rule, c.id, textOrNull(c.mergedInto), c.firstSeen, c.lastSeen); err != nil {
		return fmt.Errorf("remember the grouping: %w", err)
	}
	if _, err := t.exec(`update cohort set grouping = grouping + 1 where id = $1`, c.id); err != nil {
		return fmt.Errorf("mark the grouping as changed: %w", err)
	}
	return nil
}

func (t *Tx) addRule(r dlq.GroupingRule) error {
	_, err := t.exec(`insert into grouping_rule (id, kind, cohort_id, state, attribute, component, made_at, actor, seq) values ($1, $2, $3, $4, $5, $6, $7, $8, (select coalesce(max(seq), 0) + 1 from grouping_rule))`,
		r.ID, r.Kind, r.CohortID, r.State, r.By.Attribute, r.By.Component, ms(t.now), r.Actor)
	if err != nil {
		return fmt.Errorf("keep the rule: %w", err)
	}
	return nil
}

// nothingMoves refuses a rule about a cohort whose documents are on their way.
func (t *Tx) nothingMoves(cohortID string) error {
	var rule string
	moving, err := t.row(`select r.id from grouping_rule r join grouping_touch g on g.rule_id = r.id where r.state = 'moving' and g.cohort_id = $1 limit 1`, []any{cohortID}, &rule)
	if err != nil {
		return fmt.Errorf("find what moves: %w", err)
	}
	if moving {
		return dlq.Errorf(dlq.KindConflict, "a split of this cohort is still moving its documents; wait until it is done, or undo it")
	}
	return nil
}

// words of a list of values for the trail: how many there are, and never what
// they say, because a template may quote a document.
func valueCount(n int) string {
	if n == 1 {
		return "1 value"
	}
	return fmt.Sprintf("%d values", n)
}
