package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"dlo/dlq"
)

// MergeCohorts makes one cohort of several: their members go to the one that
// stays, whose owner, ticket and runbook lead. Arrivals follow their members. It
// answers the rule, by which the merge can be undone.
func (s *Store) MergeCohorts(ctx context.Context, by dlq.Actor, r dlq.MergeRequest) (dlq.GroupingRule, error) {
	if err := r.Check(); err != nil {
		return dlq.GroupingRule{}, err
	}
	var rule dlq.GroupingRule
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		rule, err = tx.mergeCohorts(by, r)
		return err
	})
	return rule, err
}

func (t *Tx) mergeCohorts(by dlq.Actor, r dlq.MergeRequest) (dlq.GroupingRule, error) {
	rule := dlq.GroupingRule{ID: t.newID(), Kind: dlq.GroupingMerge, State: dlq.GroupingDone, MadeAt: t.now, Actor: by.Name}
	stays, err := t.liveCohort(by, r.CohortID)
	if err == nil {
		err = groupingMoved(stays, r.Grouping)
	}
	if err == nil {
		err = t.nothingMoves(stays.id)
	}
	if err != nil {
		return rule, err
	}
	rule.CohortID = stays.id
	var others []groupingCohort
	for i, id := range r.Others {
		other, err := t.liveCohort(by, id)
		if dlq.KindOf(err) == dlq.KindNotFound {
			return rule, dlq.Invalid("the merge was not understood", dlq.Fault{Pointer: fmt.Sprintf("/cohorts/%d", i), Detail: "the id or a fingerprint of a cohort expected"})
		}
		if err == nil {
			err = t.nothingMoves(other.id)
		}
		switch {
		case err != nil:
			return rule, err
		case other.id == stays.id:
			return rule, dlq.Invalid("a cohort cannot be merged with itself", dlq.Fault{Pointer: fmt.Sprintf("/cohorts/%d", i), Detail: "another cohort expected"})
		case other.review != stays.review:
			return rule, dlq.Errorf(dlq.KindConflict, "one of these is a cohort of failures and the other one of low-confidence results, which are no failures; they stay apart")
		case slices.Contains(rule.Others, other.id):
			continue // named twice, by its id and by a fingerprint
		}
		others, rule.Others = append(others, other), append(rule.Others, other.id)
	}
	if err := t.addRule(rule); err != nil {
		return rule, err
	}
	if err := t.touch(rule.ID, stays); err != nil {
		return rule, err
	}
	for _, other := range others {
		if err := t.mergeOne(by, r, rule.ID, stays, other); err != nil {
			return rule, err
		}
	}
	if err := t.weighTransients(rule.Others...); err != nil {
		return rule, err
	}
	return rule, t.audit(by, auditEntry{action: "cohort.merged", cohort: stays.id, reason: r.Reason, detail: map[string]any{"rule": rule.ID, "cohorts": rule.Others}})
}

func (t *Tx) mergeOne(by dlq.Actor, r dlq.MergeRequest, rule string, stays, other groupingCohort) error {
	if err := t.touch(rule, other); err != nil {
		return err
	}
	members, err := t.membersOf(other.id)
	if err != nil {
		return err
	}
	for _, id := range members {
		if _, err := t.exec(`insert into grouping_move (rule_id, fingerprint_id, from_cohort) values ($1, $2, $3)`, rule, id, other.id); err != nil {
			return fmt.Errorf("remember what a merge moves: %w", err)
		}
	}
	if err := t.moveMembers(members, other.id, stays.id); err != nil {
		return err
	}
	d := t.job.cohort(stays.id)
	d.firstSeen, d.lastSeen = earliest(d.firstSeen, other.firstSeen), max(d.lastSeen, other.lastSeen)
	if waits := t.batch.cohorts[other.id]; waits != nil { // of this batch, and not in its row yet
		d.firstSeen, d.lastSeen = earliest(d.firstSeen, waits.firstSeen), max(d.lastSeen, waits.lastSeen)
	}
	// Those that went into the other one go on with it, so that every cohort that
	// is no more names the one that is.
	if err := t.goOnWith(rule, other.id, stays.id); err != nil {
		return err
	}
	return t.audit(by, auditEntry{action: "cohort.merged_into", cohort: other.id, reason: r.Reason, detail: map[string]any{"rule": rule, "into": stays.id}})
}

// goOnWith lets a cohort, and all that were merged into it before, name the one
// that they are in now.
func (t *Tx) goOnWith(rule, from, to string) error {
	var before []string
	if err := each(t.ctx, t, `select id from cohort where merged_into = $1 order by id`, []any{from}, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		before = append(before, id)
		return err
	}); err != nil {
		return fmt.Errorf("find what was merged before: %w", err)
	}
	for _, id := range before {
		if _, err := t.exec(`insert into grouping_touch (rule_id, cohort_id, merged_into, first_seen, last_seen) select $1, id, merged_into, first_seen, last_seen from cohort where id = $2 on conflict do nothing`, rule, id); err != nil {
			return fmt.Errorf("remember the grouping: %w", err)
		}
	}
	for _, id := range append(before, from) {
		if _, err := t.exec(`update cohort set merged_into = $1 where id = $2`, to, id); err != nil {
			return fmt.Errorf("merge a cohort: %w", err)
		}
	}
	return nil
}

// SplitCohort takes the failures with certain values of an attribute out of a
// cohort, into one of their own each, or together. New failures follow at once;
// documents that are there move in the background.
func (s *Store) SplitCohort(ctx context.Context, by dlq.Actor, r dlq.SplitRequest) (dlq.GroupingRule, error) {
	if err := r.Check(); err != nil {
		return dlq.GroupingRule{}, err
	}
	var rule dlq.GroupingRule
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		rule, err = tx.splitCohort(by, r)
		return err
	})
	return rule, err
}

func (t *Tx) splitCohort(by dlq.Actor, r dlq.SplitRequest) (dlq.GroupingRule, error) {
	rule := dlq.GroupingRule{ID: t.newID(), Kind: dlq.GroupingSplit, State: dlq.GroupingMoving, By: r.By, MadeAt: t.now, Actor: by.Name}
	was, err := t.liveCohort(by, r.CohortID)
	if err == nil {
		err = groupingMoved(was, r.Grouping)
	}
	if err == nil {
		err = t.nothingMoves(was.id)
	}
	if err != nil {
		return rule, err
	}
	rule.CohortID = was.id
	if err := t.addRule(rule); err != nil {
		return rule, err
	}
	if err := t.touch(rule.ID, was); err != nil {
		return rule, err
	}
	members, err := t.membersOf(was.id)
	if err != nil {
		return rule, err
	}
	if err := t.notTooDeep(was.id); err != nil {
		return rule, err
	}
	parts, err := t.addParts(rule.ID, was, r)
	if err != nil {
		return rule, err
	}
	for i, value := range r.Values {
		for _, id := range members {
			if _, err := t.exec(`insert into split_value (rule_id, fingerprint_id, value_hash, value, cohort_id) values ($1, $2, $3, $4, $5)`, rule.ID, id, dlq.SplitHash(value), value, parts[i]); err != nil {
				return rule, fmt.Errorf("keep a value of the split: %w", err)
			}
		}
		rule.Values = append(rule.Values, dlq.SplitValue{Value: value, CohortID: parts[i]})
		if !slices.Contains(rule.Others, parts[i]) {
			rule.Others = append(rule.Others, parts[i])
		}
	}
	for _, id := range members {
		if _, err := t.exec(`update fingerprint set splits = splits + 1 where id = $1`, id); err != nil {
			return rule, fmt.Errorf("mark a member as split: %w", err)
		}
	}
	for _, id := range rule.Others {
		if err := t.audit(by, auditEntry{action: "cohort.split_from", cohort: id, reason: r.Reason, detail: map[string]any{"rule": rule.ID, "from": was.id}}); err != nil {
			return rule, err
		}
	}
	return rule, t.audit(by, auditEntry{action: "cohort.split", cohort: was.id, reason: r.Reason, detail: map[string]any{"rule": rule.ID, "by": r.By.String(), "values": valueCount(len(r.Values)), "cohorts": rule.Others}})
}

// notTooDeep refuses a split that would never take effect.
func (t *Tx) notTooDeep(cohortID string) error {
	var deepest int
	if _, err := t.row(`select coalesce(max(length(digest) - length(replace(digest, '/', ''))), 0) from fingerprint where cohort_id = $1`, []any{cohortID}, &deepest); err != nil {
		return fmt.Errorf("count splits of splits: %w", err)
	}
	if deepest >= deepestSplit {
		return dlq.Errorf(dlq.KindConflict, "this cohort is the part of a part, %d times over, and cannot be split again; undo one of the splits above it", deepest)
	}
	return nil
}

// addParts makes the cohorts that a split sends documents to: a cohort a value,
// in their order, or one for all.
func (t *Tx) addParts(rule string, was groupingCohort, r dlq.SplitRequest) ([]string, error) {
	parts := make([]string, len(r.Values))
	for i, value := range r.Values {
		if i > 0 && r.Together {
			parts[i] = parts[0]
			continue
		}
		f := dlq.Fingerprint{Type: was.errorType, Template: was.template, Confidence: was.confidence}
		if r.By.Attribute == dlq.SplitTemplate && !r.Together {
			f.Template = value
		}
		id, err := t.addCohort(newCohort{fingerprint: f, sourceID: was.sourceID, review: was.review, splitFrom: was.id, part: partWords(r, i)})
		if err != nil {
			return nil, err
		}
		if _, err := t.exec(`update cohort set frame = $1 where id = $2`, was.frame, id); err != nil {
			return nil, fmt.Errorf("name a part: %w", err)
		}
		if err := t.touch(rule, groupingCohort{id: id, firstSeen: ms(t.now)}); err != nil {
			return nil, err
		}
		parts[i] = id
	}
	return parts, nil
}

// partWords say which part of a cohort went out.
func partWords(r dlq.SplitRequest, i int) string {
	value := r.Values[i]
	if value == "" {
		value = "not said"
	}
	if r.Together && len(r.Values) > 1 {
		value = fmt.Sprintf("%s and %d more", head(value, 80), len(r.Values)-1)
	}
	return r.By.Words() + ": " + head(value, 160)
}

// UndoGrouping takes the newest rule about a cohort back, or the one that is
// named. A later rule about one of the same cohorts has to be undone first.
func (s *Store) UndoGrouping(ctx context.Context, by dlq.Actor, cohortID, ruleID, reason string) (dlq.GroupingRule, error) {
	if len(reason) > 2000 {
		return dlq.GroupingRule{}, dlq.Invalid("the undo was not understood", dlq.Fault{Pointer: "/reason", Detail: "at most 2000 bytes expected"})
	}
	var rule dlq.GroupingRule
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		rule, err = tx.undoGrouping(by, cohortID, ruleID, reason)
		return err
	})
	return rule, err
}

func (t *Tx) undoGrouping(by dlq.Actor, cohortID, ruleID, reason string) (dlq.GroupingRule, error) {
	cohort, err := t.liveCohort(by, cohortID)
	if err != nil {
		return dlq.GroupingRule{}, err
	}
	rules, err := groupingRules(t.ctx, t, `where r.state <> 'undone' and r.id in (select rule_id from grouping_touch where cohort_id = $1) and ($2 = '' or r.id = $2) order by r.seq desc limit 1`, cohort.id, ruleID)
	if err != nil {
		return dlq.GroupingRule{}, err
	}
	if len(rules) == 0 {
		return dlq.GroupingRule{}, dlq.Errorf(dlq.KindConflict, "there is no merge or split of this cohort that could be undone")
	}
	rule := rules[0]
	var later, laterKind string
	found, err := t.row(`select r.id, r.kind from grouping_rule r join grouping_touch g on g.rule_id = r.id where r.state <> 'undone' and r.seq > (select seq from grouping_rule where id = $1)
		and g.cohort_id in (select cohort_id from grouping_touch where rule_id = $1) order by r.seq desc limit 1`, []any{rule.ID}, &later, &laterKind)
	if err != nil {
		return rule, fmt.Errorf("find later rules: %w", err)
	}
	if found {
		return rule, dlq.Errorf(dlq.KindConflict, "a later %s is about the same cohorts; undo that one first (%s)", laterKind, later)
	}
	for _, id := range append([]string{rule.CohortID}, rule.Others...) {
		if err := t.seesNothingElse(by, id); err != nil {
			return rule, err
		}
	}
	if rule.Kind == dlq.GroupingMerge {
		err = t.unmerge(rule)
	} else {
		err = t.unsplit(rule)
	}
	if err != nil {
		return rule, err
	}
	if err := t.weighTransients(append([]string{rule.CohortID}, rule.Others...)...); err != nil {
		return rule, err
	}
	rule.State, rule.UndoneAt, rule.UndoneBy = dlq.GroupingUndone, t.now, by.Name
	if _, err := t.exec(`update grouping_rule set state = 'undone', undone_at = $1, undone_by = $2 where id = $3`, ms(t.now), by.Name, rule.ID); err != nil {
		return rule, fmt.Errorf("undo the rule: %w", err)
	}
	if _, err := t.exec(`update cohort set grouping = grouping + 1 where id in (select cohort_id from grouping_touch where rule_id = $1)`, rule.ID); err != nil {
		return rule, fmt.Errorf("mark the grouping as changed: %w", err)
	}
	for _, id := range append([]string{rule.CohortID}, rule.Others...) {
		if err := t.audit(by, auditEntry{action: "cohort." + string(rule.Kind) + "_undone", cohort: id, reason: reason, detail: map[string]any{"rule": rule.ID}}); err != nil {
			return rule, err
		}
	}
	return rule, nil
}

// unmerge gives every member back to the cohort that it came from.
func (t *Tx) unmerge(rule dlq.GroupingRule) error {
	back := map[string][]int64{}
	if err := each(t.ctx, t, `select m.from_cohort, m.fingerprint_id from grouping_move m join fingerprint f on f.id = m.fingerprint_id where m.rule_id = $1 and f.cohort_id = $2 order by m.fingerprint_id`, []any{rule.ID, rule.CohortID}, func(rows *sql.Rows) error {
		var from string
		var id int64
		err := rows.Scan(&from, &id)
		back[from] = append(back[from], id)
		return err
	}); err != nil {
		return fmt.Errorf("find what the merge moved: %w", err)
	}
	for _, from := range rule.Others {
		members, err := t.withDerivedSince(back[from], from, rule)
		if err != nil {
			return err
		}
		if err := t.replaysBack(members, rule.CohortID, from); err != nil {
			return err
		}
		if err := t.moveMembers(members, rule.CohortID, from); err != nil {
			return err
		}
	}
	if _, err := t.exec(`update cohort set merged_into = (select g.merged_into from grouping_touch g where g.rule_id = $1 and g.cohort_id = cohort.id)
		where id in (select cohort_id from grouping_touch where rule_id = $1)`, rule.ID); err != nil {
		return fmt.Errorf("undo the merge: %w", err)
	}
	return t.timesAnew(rule)
}

// withDerivedSince adds to members of a merged cohort what came to be of them
// since: what splits derived, which are undone by now; what a split that sends to
// that cohort derived for a value that was new; and what goes on for one of them
// under a newer algorithm.
func (t *Tx) withDerivedSince(members []int64, from string, rule dlq.GroupingRule) ([]int64, error) {
	all := slices.Clone(members)
	sent, err := t.ids(`select f.id from fingerprint f join split_value v on v.rule_id = f.rule_id and v.fingerprint_id = f.parent_id and v.value_hash = substr(f.digest, -12)
		where f.cohort_id = $1 and v.cohort_id = $2 order by f.id`, rule.CohortID, from)
	if err != nil {
		return nil, err
	}
	add := func(ids []int64) {
		for _, id := range ids {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	add(sent)
	for i := 0; i < len(all); i++ {
		derived, err := t.ids(`select f.id from fingerprint f left join grouping_rule r on r.id = f.rule_id where f.cohort_id = $2
			and (f.follows = $1 or f.parent_id = $1 and r.seq > (select seq from grouping_rule where id = $3)) order by f.id`, all[i], rule.CohortID, rule.ID)
		if err != nil {
			return nil, err
		}
		add(derived)
	}
	return all, nil
}

// replaysBack takes the replays along that were made while cohorts were one: they
// name the cohort that stayed, and are about members that leave it again.
func (t *Tx) replaysBack(members []int64, merged, from string) error {
	ids, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("name the members: %w", err)
	}
	for column, attempt := range map[string]string{"failed_cohort": "failed_attempt", "outcome_cohort": "outcome_attempt"} {
		if _, err := t.exec(`update redrive set `+column+` = $1 where failed_cohort in ($1, $2) and `+column+` = $2
			and (select c.fingerprint_id from attempt a join cell c on c.id = a.cell_id where a.id = redrive.`+attempt+`) in (select value from json_each($3))`, from, merged, string(ids)); err != nil {
			return fmt.Errorf("give replays back: %w", err)
		}
	}
	return t.recountReplays(merged, from)
}

// unsplit gives all that a part holds to the cohort that was split: what this
// split derived, and what later ones, which are undone by now, derived from that.
// Nothing is rewritten: the derived members stay, as members of it.
func (t *Tx) unsplit(rule dlq.GroupingRule) error {
	for _, part := range rule.Others {
		members, err := t.membersOf(part)
		if err != nil {
			return err
		}
		if err := t.moveMembers(members, part, rule.CohortID); err != nil {
			return err
		}
		if err := t.goOnWith(rule.ID, part, rule.CohortID); err != nil {
			return err
		}
	}
	if _, err := t.exec(`update fingerprint set splits = splits - 1 where id in (select fingerprint_id from split_value where rule_id = $1)`, rule.ID); err != nil {
		return fmt.Errorf("undo the split: %w", err)
	}
	return t.timesAnew(rule)
}

// newestOf is when a document of a cohort failed last, found by the index of the
// newest of each state.
const newestOf = `(select max((select max(e.last_seen) from entry e where e.fingerprint_id = f.id and e.status = st.status))
	from fingerprint f cross join (select 'parked' as status union all select 'redriving' union all select 'quarantined' union all select 'archived' union all select 'resolved' union all select 'erased') st
	where f.cohort_id = cohort.id)`

// timesAnew sets when the cohorts of a rule were first and last seen from what
// they hold now. What they held before the rule is remembered; what came since
// is found by the index of the newest of each state.
func (t *Tx) timesAnew(rule dlq.GroupingRule) error {
	_, err := t.exec(`update cohort set
		first_seen = (select g.first_seen from grouping_touch g where g.rule_id = $1 and g.cohort_id = cohort.id),
		last_seen = max((select g.last_seen from grouping_touch g where g.rule_id = $1 and g.cohort_id = cohort.id),
			coalesce(`+newestOf+`, 0))
		where id in (select cohort_id from grouping_touch where rule_id = $1)`, rule.ID)
	if err != nil {
		return fmt.Errorf("find when the cohorts were seen: %w", err)
	}
	return nil
}

const groupingRuleColumns = `r.id, r.kind, r.state, r.cohort_id, r.attribute, r.component, r.moved, r.made_at, r.actor, r.undone_at, r.undone_by`

func groupingRules(ctx context.Context, rd reader, where string, args ...any) ([]dlq.GroupingRule, error) {
	var out []dlq.GroupingRule
	err := each(ctx, rd, `select `+groupingRuleColumns+` from grouping_rule r `+where, args, func(rows *sql.Rows) error {
		var r dlq.GroupingRule
		var made int64
		var undone sql.NullInt64
		err := rows.Scan(&r.ID, &r.Kind, &r.State, &r.CohortID, &r.By.Attribute, &r.By.Component, &r.Moved, &made, &r.Actor, &undone, &r.UndoneBy)
		r.MadeAt, r.UndoneAt = fromMS(made), fromNullMS(undone)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the rules of a grouping: %w", err)
	}
	for i := range out {
		if err := fillRule(ctx, rd, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fillRule reads which cohorts a rule is about, and the values of a split.
func fillRule(ctx context.Context, rd reader, r *dlq.GroupingRule) error {
	query := `select cohort_id, '' from grouping_touch where rule_id = $1 and merged_into is null and cohort_id <> (select cohort_id from grouping_rule where id = $1) order by 1`
	if r.Kind == dlq.GroupingSplit {
		query = `select distinct cohort_id, value from split_value where rule_id = $1 order by 2, 1`
	}
	err := each(ctx, rd, query, []any{r.ID}, func(rows *sql.Rows) error {
		var cohort, value string
		err := rows.Scan(&cohort, &value)
		if !slices.Contains(r.Others, cohort) {
			r.Others = append(r.Others, cohort)
		}
		if r.Kind == dlq.GroupingSplit {
			r.Values = append(r.Values, dlq.SplitValue{Value: value, CohortID: cohort})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read a rule: %w", err)
	}
	return nil
}
