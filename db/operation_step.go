package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"dlo/dlq"
)

// Where the items of an operation stand, step by step, and what follows: a step
// ends, the operation stops, pauses, asks, goes on. All of it is decided in the
// transaction of the change that it follows from.

// standsFor is by what an item is counted in operation_tally: its state, or of a
// settled one the outcome.
func standsFor(state dlq.ItemState, outcome dlq.OutcomeResult) string {
	if state == dlq.ItemSettled && outcome != "" {
		return string(outcome)
	}
	return string(state)
}

func (t *Tx) tallyItems(operationID string, step int, stands string, n int64) {
	t.jobSums.stands(stepStand{operationID, step, stands}, n)
}

// itemLands ends the flight of a redrive's item.
func (t *Tx) itemLands(r *dlq.Redrive, state dlq.ItemState, outcome dlq.OutcomeResult, why dlq.LeftOut) error {
	var step int
	found, err := t.row(`update item set state = $1, why = $2 where redrive_id = $3 and state = 'in_flight' returning step`, []any{state, why, r.ID}, &step)
	if err != nil {
		return fmt.Errorf("settle item: %w", err)
	}
	if !found {
		return nil
	}
	t.tallyItems(r.OperationID, step, string(dlq.ItemInFlight), -1)
	t.tallyItems(r.OperationID, step, standsFor(state, outcome), 1)
	t.itemMoved(r.OperationID, dlq.ItemInFlight, state, 1)
	return nil
}

// OperationSteps gives the steps of an operation with where their items stand.
func (s *Store) OperationSteps(ctx context.Context, operationID string) ([]dlq.OperationStep, error) {
	return operationSteps(ctx, s.reader(), operationID)
}

func operationSteps(ctx context.Context, r reader, operationID string) ([]dlq.OperationStep, error) {
	var out []dlq.OperationStep
	err := each(ctx, r, `select step, stands, items from operation_tally where operation_id = $1 and items <> 0 order by step, stands`, []any{operationID}, func(rows *sql.Rows) error {
		var step int
		var stands string
		var n int64
		if err := rows.Scan(&step, &stands, &n); err != nil {
			return err
		}
		if len(out) == 0 || out[len(out)-1].Step != step {
			out = append(out, dlq.OperationStep{Step: step, Counts: map[dlq.ItemState]int64{}, Outcomes: map[dlq.OutcomeResult]int64{}})
		}
		of := &out[len(out)-1]
		switch state := dlq.ItemState(stands); state {
		case dlq.ItemWaiting, dlq.ItemInFlight, dlq.ItemLeftOut, dlq.ItemCancelled, dlq.ItemSettled:
			of.Counts[state] += n
		default:
			of.Counts[dlq.ItemSettled] += n
			of.Outcomes[dlq.OutcomeResult(stands)] += n
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the steps of an operation: %w", err)
	}
	return out, nil
}

// OutcomeCounts counts the settled items of an operation by outcome.
func (s *Store) OutcomeCounts(ctx context.Context, operationID string) (map[dlq.OutcomeResult]int64, error) {
	steps, err := s.OperationSteps(ctx, operationID)
	out := map[dlq.OutcomeResult]int64{}
	for _, step := range steps {
		for outcome, n := range step.Outcomes {
			out[outcome] += n
		}
	}
	return out, err
}

// OperationOfCohort finds the newest redrive that was started about a cohort, or
// about one that was merged into it.
func (s *Store) OperationOfCohort(ctx context.Context, cohortID string) (dlq.Operation, bool, error) {
	list, err := operationsWhere(ctx, s.reader(), `where cohort_id in (select $1 union select id from cohort where merged_into = $1) and cohort_id <> '' and kind = 'redrive' and total > 0 order by id desc limit 1`, cohortID)
	if err != nil || len(list) == 0 {
		return dlq.Operation{}, false, err
	}
	return list[0], true, nil
}

// Strata lists the waiting items of an operation that is being prepared, for its
// canaries to be chosen from.
func (s *Store) Strata(ctx context.Context, operationID string) ([]dlq.ItemStratum, error) {
	var out []dlq.ItemStratum
	err := each(ctx, s.reader(), `select position, stratum, held from item where operation_id = $1 and state = 'waiting' order by position`, []any{operationID}, func(rows *sql.Rows) error {
		var i dlq.ItemStratum
		err := rows.Scan(&i.Position, &i.Stratum, &i.Held)
		out = append(out, i)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what to choose canaries from: %w", err)
	}
	return out, nil
}

// PlanSteps writes down which items of an operation that is being prepared go in
// which step before the rest.
func (s *Store) PlanSteps(ctx context.Context, operationID string, plan dlq.StepPlan) error {
	sizes, err := json.Marshal(plan.Sizes)
	if err != nil {
		return fmt.Errorf("write the sizes of steps: %w", err)
	}
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.countNow(); err != nil {
			return err
		}
		last := len(plan.Sizes)
		if _, err := tx.exec(`update item set step = $1 where operation_id = $2 and state = 'waiting' and step <> $1`, last, operationID); err != nil {
			return fmt.Errorf("plan steps: %w", err)
		}
		for step, positions := range plan.Chosen {
			if _, err := tx.exec(`update item set step = $1 where operation_id = $2 and state = 'waiting' and position in (select value from json_each($3))`, step+1, operationID, jsonList(positions)); err != nil {
				return fmt.Errorf("plan a step: %w", err)
			}
		}
		if _, err := tx.exec(`delete from operation_tally where operation_id = $1`, operationID); err != nil {
			return fmt.Errorf("count steps: %w", err)
		}
		if _, err := tx.exec(`insert into operation_tally (operation_id, step, stands, items) select operation_id, case state when 'waiting' then step else $1 end, state, count(*) from item where operation_id = $2 group by 2, 3`, last, operationID); err != nil {
			return fmt.Errorf("count steps: %w", err)
		}
		_, err := tx.exec(`update operation set sizes = $1 where id = $2`, string(sizes), operationID)
		return err
	})
}

// beginStep makes the next step of an operation the one that is under way.
func (t *Tx) beginStep(o *dlq.Operation, step int) error {
	o.Step, o.StepAt, o.AskAt = step, t.now, time.Time{}
	var ask any
	if step < o.Rest() {
		patience, err := t.canaryTime(o.ID, step)
		if err != nil {
			return err
		}
		o.AskAt = t.now.Add(patience)
		ask = ms(o.AskAt)
	}
	if _, err := t.exec(`update operation set step = $1, step_at = $2, ask_at = $3, repeats = 0, updated_at = $2 where id = $4`, step, ms(t.now), ask, o.ID); err != nil {
		return fmt.Errorf("begin a step: %w", err)
	}
	return nil
}

// canaryTime is how long a step is given before somebody is asked: as long as the
// most patient of its sources says.
func (t *Tx) canaryTime(operationID string, step int) (time.Duration, error) {
	var ids []int64
	if err := each(t.ctx, t, `select distinct e.source_id from (select entry_id from item where operation_id = $1 and state = 'waiting' and step <= $2 order by step, position limit 500) i join entry e on e.id = i.entry_id`, []any{operationID, step}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return 0, fmt.Errorf("find the sources of a step: %w", err)
	}
	patience := time.Duration(0)
	for _, id := range ids {
		src, err := t.sourceByID(id)
		if err != nil {
			return 0, err
		}
		patience = max(patience, src.Policy.Outcomes.CanaryTimeout.Std())
	}
	if patience == 0 {
		patience = 15 * time.Minute
	}
	return patience, nil
}

// goOn looks at where the step of a running redrive stands: it ends it, repeats
// it, or asks somebody. It says whether there is a new step to take items of.
func (t *Tx) goOn(o *dlq.Operation) (bool, error) {
	if o.Kind != dlq.OperationRedrive || o.State != dlq.OperationRunning || o.Step >= o.Rest() || o.StepWaiting > 0 {
		return false, nil
	}
	inFlight := o.Counts[dlq.ItemInFlight]
	if inFlight > 0 {
		if o.AskAt.IsZero() || t.now.Before(o.AskAt) {
			return false, nil
		}
		return false, t.pause(o, dlq.AsksTimeOut, fmt.Sprintf("%d of step %d have no outcome in the time that canaries have", inFlight, o.Step))
	}
	if err := t.countNow(); err != nil {
		return false, err
	}
	steps, err := operationSteps(t.ctx, t, o.ID)
	if err != nil {
		return false, err
	}
	var decisive int64
	for _, s := range steps {
		if s.Step == o.Step {
			decisive = s.Outcomes[dlq.OutcomeCommitted] + s.Outcomes[dlq.OutcomeSkipped] + s.Outcomes[dlq.OutcomeSuperseded] + s.Outcomes[dlq.OutcomeFailed]
		}
	}
	if decisive == 0 {
		return t.repeatStep(o)
	}
	if !o.GoOn {
		return false, t.pause(o, dlq.AsksStep, "")
	}
	return true, t.beginStep(o, o.Step+1)
}

// repeatsMost is how often a step is taken again because nothing came of it,
// before somebody is asked.
const repeatsMost = 3

// repeatStep takes as many items again as the step had, where none of them was
// committed or failed: they say nothing.
func (t *Tx) repeatStep(o *dlq.Operation) (bool, error) {
	var repeats int
	if _, err := t.row(`select repeats from operation where id = $1`, []any{o.ID}, &repeats); err != nil {
		return false, fmt.Errorf("read how often a step was repeated: %w", err)
	}
	if repeats >= repeatsMost {
		return false, t.pause(o, dlq.AsksTimeOut, fmt.Sprintf("nothing came of step %d, which was taken %d times: neither a commit nor a failure", o.Step, repeats+1))
	}
	n, err := t.promote(o.ID, o.Step, o.Sizes[o.Step-1])
	if err != nil || n == 0 {
		return false, err
	}
	if err := t.beginStep(o, o.Step); err != nil {
		return false, err
	}
	_, err = t.exec(`update operation set repeats = $1 where id = $2`, repeats+1, o.ID)
	return true, err
}

// promote moves waiting items of later steps into a step: of the rest first, and
// those whose stored copy is held before others.
func (t *Tx) promote(operationID string, step int, n int64) (int64, error) {
	moved := map[int]int64{}
	var positions []int64
	if err := each(t.ctx, t, `select position, step from item where operation_id = $1 and state = 'waiting' and step > $2 order by step desc, held desc, position limit $3`, []any{operationID, step, n}, func(rows *sql.Rows) error {
		var position int64
		var from int
		err := rows.Scan(&position, &from)
		positions, moved[from] = append(positions, position), moved[from]+1
		return err
	}); err != nil {
		return 0, fmt.Errorf("find items for a step: %w", err)
	}
	if _, err := t.exec(`update item set step = $1 where operation_id = $2 and position in (select value from json_each($3))`, step, operationID, jsonList(positions)); err != nil {
		return 0, fmt.Errorf("move items into a step: %w", err)
	}
	for from, count := range moved {
		t.tallyItems(operationID, from, string(dlq.ItemWaiting), -count)
	}
	t.tallyItems(operationID, step, string(dlq.ItemWaiting), int64(len(positions)))
	return int64(len(positions)), nil
}

// pause stops sending until what it asks for is there.
func (t *Tx) pause(o *dlq.Operation, asks dlq.OperationAsks, why string) error {
	if err := t.moveOperation(o, dlq.OperationPaused, why); err != nil {
		return err
	}
	o.Asks = asks
	if _, err := t.exec(`update operation set asks = $1 where id = $2`, asks, o.ID); err != nil {
		return fmt.Errorf("say what a paused operation asks for: %w", err)
	}
	if asks == dlq.AsksStep {
		return nil // its own pace: nothing to be told of
	}
	if err := t.audit(dlq.Policy("rule of redrives"), auditEntry{action: "operation.paused", operation: o.ID, detail: map[string]any{"asks": asks, "step": o.Step}}); err != nil {
		return err
	}
	return t.raiseAlert(dlq.Alert{Rule: dlq.AlertOperationPaused, Subject: "operation:" + o.ID, OperationID: o.ID, CohortID: o.CohortID, Why: "a redrive is paused: " + why})
}

// goesOn forgets what an operation asked for while it stood, and resolves what was
// raised for it.
func (t *Tx) goesOn(id string) error {
	if _, err := t.exec(`update operation set asks = '', try_at = null where id = $1`, id); err != nil {
		return fmt.Errorf("let an operation go on: %w", err)
	}
	for _, rule := range []dlq.AlertRule{dlq.AlertOperationStopped, dlq.AlertOperationPaused} {
		if err := t.resolveAlert(rule, "operation:"+id); err != nil {
			return err
		}
	}
	return nil
}

// brake holds a redrive's outcome against the stop rules of its operation: the
// first failure in the same cohort, unless its bytes are known to have changed,
// where it goes in steps; and the share of failures of any kind.
func (t *Tx) brake(r dlq.Redrive) error {
	if r.Outcome != dlq.OutcomeFailed {
		return nil
	}
	o, err := t.operation(r.OperationID)
	if err != nil || o.State != dlq.OperationRunning && o.State != dlq.OperationPaused {
		return err
	}
	v := r.Verdict()
	same := (r.OutcomeCohort == "" || r.OutcomeCohort == r.FailedCohort) && v.Bytes != dlq.ReadingChanged && r.OutcomeClass != dlq.ClassTransient
	steps, err := operationSteps(t.ctx, t, o.ID)
	if err != nil {
		return err
	}
	why := o.StopsAfter(steps, same)
	if why == "" || o.Counts[dlq.ItemWaiting]+o.Unsent == 0 {
		return nil // nothing is left to be kept back
	}
	if o.State == dlq.OperationPaused { // it stands already; that it may not go on as if nothing had been is what changes
		if err := t.moveOperation(&o, dlq.OperationRunning, ""); err != nil {
			return err
		}
	}
	if err := t.moveOperation(&o, dlq.OperationStopped, why); err != nil {
		return err
	}
	if _, err := t.exec(`update operation set asks = '', try_at = null where id = $1`, o.ID); err != nil {
		return fmt.Errorf("stop operation: %w", err)
	}
	if err := t.audit(dlq.Policy("stop rule"), auditEntry{action: "operation.stopped", operation: o.ID, source: r.Source, detail: map[string]any{"redrive": r.ID, "step": o.Step}}); err != nil {
		return err
	}
	return t.raiseAlert(dlq.Alert{Rule: dlq.AlertOperationStopped, Subject: "operation:" + o.ID, OperationID: o.ID, CohortID: o.CohortID, Why: "a redrive stopped: " + why})
}

// NextStep takes the next step of a redrive at once, also while the one before has
// no outcome yet; with rest, everything that is left.
func (s *Store) NextStep(ctx context.Context, by dlq.Actor, id string, rest bool, reason string, limit int) (dlq.Operation, error) {
	var out dlq.Operation
	err := s.update(ctx, func(tx *Tx) error {
		o, err := tx.operation(id)
		if err != nil {
			return err
		}
		asked := o.State == dlq.OperationPaused && (o.Asks == dlq.AsksStep || o.Asks == dlq.AsksTimeOut)
		switch {
		case o.State != dlq.OperationRunning && !asked:
			return dlq.Errorf(dlq.KindConflict, "the operation is %s, so no step can be taken; %s", o.State, dlq.WhatHelps(o))
		case o.Step >= o.Rest():
			return dlq.Errorf(dlq.KindConflict, "the last step is under way already")
		}
		if asked {
			if err := tx.moveOperation(&o, dlq.OperationRunning, ""); err != nil {
				return err
			}
		}
		step := o.Step + 1
		if rest {
			step = o.Rest()
		}
		if err := tx.beginStep(&o, step); err != nil {
			return err
		}
		if err := tx.audit(by, auditEntry{action: "operation.next", operation: id, detail: map[string]any{"step": step, "rest": rest}, reason: reason}); err != nil {
			return err
		}
		if err := tx.goesOn(id); err != nil {
			return err
		}
		if err := tx.step(o, limit); err != nil {
			return err
		}
		out, err = tx.operation(id)
		return err
	})
	return out, err
}

// SetGoOn says whether an operation takes its next steps by itself, and whether it
// returns by itself from a target that was down. Nil leaves either as it is.
func (s *Store) SetGoOn(ctx context.Context, by dlq.Actor, id string, goOn, returns *bool) (dlq.Operation, error) {
	var out dlq.Operation
	err := s.update(ctx, func(tx *Tx) error {
		o, err := tx.operation(id)
		if err != nil {
			return err
		}
		if o.State.Ended() {
			return dlq.Errorf(dlq.KindConflict, "the operation is %s", o.State)
		}
		if goOn != nil {
			o.GoOn = *goOn
		}
		if returns != nil {
			o.Returns = *returns
		}
		if _, err := tx.exec(`update operation set go_on = $1, returns = $2, updated_at = $3 where id = $4`, o.GoOn, o.Returns, ms(tx.now), id); err != nil {
			return fmt.Errorf("let an operation go on: %w", err)
		}
		if err := tx.audit(by, auditEntry{action: "operation.goes_on", operation: id, detail: map[string]any{"steps": o.GoOn, "target": o.Returns}}); err != nil {
			return err
		}
		if o.GoOn && o.State == dlq.OperationPaused && o.Asks == dlq.AsksStep {
			if err := tx.moveOperation(&o, dlq.OperationRunning, ""); err != nil {
				return err
			}
			if err := tx.goesOn(id); err != nil {
				return err
			}
		}
		out, err = tx.operation(id)
		return err
	})
	return out, err
}

// PauseForTarget pauses a running redrive whose deliveries fail: its target is
// down, and not its documents. One delivery is tried at a time from then on.
func (s *Store) PauseForTarget(ctx context.Context, id, why string, tryAt time.Time) error {
	return s.update(ctx, func(tx *Tx) error {
		o, err := tx.operation(id)
		if err != nil || o.State != dlq.OperationRunning || o.Counts[dlq.ItemWaiting]+o.Unsent == 0 {
			return err
		}
		if err := tx.pause(&o, dlq.AsksTarget, why); err != nil {
			return err
		}
		_, err = tx.exec(`update operation set try_at = $1 where id = $2`, ms(tryAt), id)
		return err
	})
}

// TriedTarget records what came of trying the target of a paused redrive: it goes
// on by itself if somebody asked for that, says that it could, or tries later.
func (s *Store) TriedTarget(ctx context.Context, id string, answers bool, tryAt time.Time) error {
	return s.update(ctx, func(tx *Tx) error {
		o, err := tx.operation(id)
		if err != nil || o.State != dlq.OperationPaused || o.Asks != dlq.AsksTarget {
			return err
		}
		switch {
		case !answers:
			_, err = tx.exec(`update operation set try_at = $1, updated_at = $2 where id = $3`, ms(tryAt), ms(tx.now), id)
			return err
		case !o.Returns:
			_, err = tx.exec(`update operation set try_at = null, why = $1, updated_at = $2 where id = $3`, "the target answers again; the redrive waits for somebody to resume it", ms(tx.now), id)
			return err
		}
		if err := tx.moveOperation(&o, dlq.OperationRunning, ""); err != nil {
			return err
		}
		if err := tx.goesOn(id); err != nil {
			return err
		}
		return tx.audit(dlq.Policy("delivery"), auditEntry{action: "operation.running", operation: id, detail: map[string]any{"why": "the target answers again"}})
	})
}

// ClaimTry claims one delivery of a redrive that is paused because its target is
// down, to see whether that answers again. Nil: there is none to send.
func (s *Store) ClaimTry(ctx context.Context, operationID, owner string, lease time.Duration) (*dlq.Redrive, error) {
	var out *dlq.Redrive
	err := s.update(ctx, func(tx *Tx) error {
		out = nil
		var id string
		found, err := tx.row(`select r.id from redrive r join operation o on o.id = r.operation_id join source s on s.id = r.source_id
			where r.operation_id = $1 and o.state = 'paused' and o.asks = 'target' and r.state in ('pending', 'claimed') and (r.state = 'pending' or r.lease_until <= $2) and s.paused = 0
			order by r.next_at, r.id limit 1`, []any{operationID, ms(tx.now)}, &id)
		if err != nil || !found {
			return err
		}
		if _, err := tx.exec(`update redrive set state = 'claimed', lease_owner = $1, lease_epoch = lease_epoch + 1, lease_until = $2 where id = $3`, owner, ms(tx.now.Add(lease)), id); err != nil {
			return fmt.Errorf("claim a delivery to try a target: %w", err)
		}
		out, err = tx.redriveWhere(`where r.id = $1`, id)
		return err
	})
	return out, err
}

// TryingOperations lists the redrives that are paused for their target and are to
// try it now.
func (s *Store) TryingOperations(ctx context.Context) ([]dlq.Operation, error) {
	return operationsWhere(ctx, s.reader(), `where try_at is not null and try_at <= $1 and state = 'paused' order by try_at, id limit 100`, ms(s.Now()))
}

// Defer puts a canary back that would not test the code, because its document is
// not known to be unchanged, and takes another in its place. False: there is no
// other, and it goes as it is.
func (s *Store) Defer(ctx context.Context, r dlq.Redrive) (bool, error) {
	deferred := false
	err := s.update(ctx, func(tx *Tx) error {
		deferred = false
		o, err := tx.operation(r.OperationID)
		if err != nil || o.State != dlq.OperationRunning || o.Step >= o.Rest() {
			return err
		}
		var one int
		other, err := tx.row(`select 1 from item where operation_id = $1 and state = 'waiting' and step > $2 and held = 1 limit 1`, []any{o.ID, o.Step}, &one)
		if err != nil || !other {
			return err
		}
		n, err := tx.exec(`update redrive set state = 'settled', settled_at = $1, lease_until = 0 where id = $2 and state = 'claimed' and lease_epoch = $3 and sent_at is null`, ms(tx.now), r.ID, r.LeaseEpoch)
		if err != nil || n == 0 {
			return err
		}
		if err := tx.park(&r); err != nil {
			return err
		}
		var step int
		if _, err := tx.row(`update item set state = 'waiting', redrive_id = null, held = 0 where redrive_id = $1 and state = 'in_flight' returning step`, []any{r.ID}, &step); err != nil {
			return fmt.Errorf("put a canary back: %w", err)
		}
		if _, err := tx.promote(o.ID, o.Step, 1); err != nil {
			return err
		}
		if _, err := tx.exec(`update item set step = $1 where operation_id = $2 and entry_id = $3 and state = 'waiting'`, o.Rest(), o.ID, r.EntryID); err != nil {
			return fmt.Errorf("put a canary back: %w", err)
		}
		tx.tallyItems(o.ID, step, string(dlq.ItemInFlight), -1)
		tx.tallyItems(o.ID, o.Rest(), string(dlq.ItemWaiting), 1)
		tx.itemMoved(o.ID, dlq.ItemInFlight, dlq.ItemWaiting, 1)
		// It was never sent, and stands in nobody's history.
		if _, err := tx.exec(`delete from redrive where id = $1 and sent_at is null`, r.ID); err != nil {
			return fmt.Errorf("put a canary back: %w", err)
		}
		deferred = true
		return nil
	})
	return deferred, err
}
