package db

import (
	"fmt"

	"dlo/dlq"
)

// weighTransient fires the alert that a cohort looks transient, or resolves it, by
// what its replays prove now. It is called in the transaction of whatever changes
// that; of a cohort that went into another it weighs the other.
func (t *Tx) weighTransient(cohort string) error {
	if err := t.countNow(); err != nil {
		return err
	}
	lead := cohort
	if _, err := t.row(`select coalesce(merged_into, id) from cohort where id = $1`, []any{cohort}, &lead); err != nil {
		return fmt.Errorf("find the cohort that goes on: %w", err)
	}
	if lead != cohort {
		if err := t.resolveAlert(dlq.AlertLooksTransient, "cohort:"+cohort); err != nil {
			return err
		}
	}
	var transient, broken, sources, source int64
	if _, err := t.row(`select coalesce(sum(case v when 'transient' then n end), 0), coalesce(sum(case v when 'still_broken' then n end), 0),
		count(distinct case v when 'transient' then source_id end), coalesce(max(case v when 'transient' then source_id end), 0)
		from (select case when t.outcome_cohort <> '' and coalesce((select o.merged_into from cohort o where o.id = t.outcome_cohort), t.outcome_cohort) <> $1 then t.other_verdict else t.verdict end as v,
		t.replays as n, t.source_id from replay_tally t where t.cohort_id in (select id from cohort where id = $1 or merged_into = $1) and t.replays <> 0) x`,
		[]any{lead}, &transient, &broken, &sources, &source); err != nil {
		return fmt.Errorf("count the replays that passed with nothing changed: %w", err)
	}
	subject := "cohort:" + lead
	if !dlq.LooksTransient(transient, broken) {
		return t.resolveAlert(dlq.AlertLooksTransient, subject)
	}
	if sources > 1 {
		source = 0 // its count is of several: it is for those who see them all
	}
	if err := t.raiseAlert(dlq.Alert{Rule: dlq.AlertLooksTransient, Subject: subject, SourceID: source, CohortID: lead, Value: transient,
		Why: fmt.Sprintf("%d replays passed although neither the document nor the code had changed, and none failed again with new code: the fix belongs in the retry layer's classifier", transient)}); err != nil {
		return err
	}
	if _, err := t.exec(`update alert set source_id = $1 where rule = $2 and subject = $3 and state in ('firing', 'acknowledged') and source_id is distinct from $1`, idOrNull(source), dlq.AlertLooksTransient, subject); err != nil {
		return fmt.Errorf("say whose alert it is: %w", err)
	}
	return nil
}

// weighTransients is weighTransient for each of some cohorts.
func (t *Tx) weighTransients(cohorts ...string) error {
	for _, id := range cohorts {
		if err := t.weighTransient(id); err != nil {
			return err
		}
	}
	return nil
}
