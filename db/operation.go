package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"dlo/dlq"
)

const operationColumns = `(select count(*) from redrive r where r.operation_id = operation.id and r.state in ('pending', 'claimed') and r.sent_at is null), id, kind, state, why, query, expect, reason, actor_kind, actor_id, actor_name, mode, accept_unknown, canary, step, rate, concurrency, stop_share,
	days, until, grant_kind, total, waiting, in_flight, settled, left_out, cancelled, created_at, updated_at, ended_at`

func scanOperation(scan func(...any) error) (dlq.Operation, error) {
	var o dlq.Operation
	var canary string
	var until, created, updated int64
	var ended sql.NullInt64
	var waiting, inFlight, settled, leftOut, cancelled int64
	if err := scan(&o.Unsent, &o.ID, &o.Kind, &o.State, &o.Why, &o.Query, &o.Expect, &o.Reason, &o.Actor.Kind, &o.Actor.ID, &o.Actor.Name, &o.Mode, &o.AcceptUnknown, &canary, &o.Step,
		&o.Rate, &o.Concurrency, &o.StopShare, &o.Days, &until, &o.Grant, &o.Total, &waiting, &inFlight, &settled, &leftOut, &cancelled, &created, &updated, &ended); err != nil {
		return o, err
	}
	o.Until, o.CreatedAt, o.UpdatedAt, o.EndedAt = fromMS(until), fromMS(created), fromMS(updated), fromNullMS(ended)
	o.Counts = map[dlq.ItemState]int64{dlq.ItemWaiting: waiting, dlq.ItemInFlight: inFlight, dlq.ItemSettled: settled, dlq.ItemLeftOut: leftOut, dlq.ItemCancelled: cancelled}
	return o, json.Unmarshal([]byte(canary), &o.Canary)
}

func operationsWhere(ctx context.Context, r reader, where string, args ...any) ([]dlq.Operation, error) {
	var out []dlq.Operation
	err := each(ctx, r, `select `+operationColumns+` from operation `+where, args, func(rows *sql.Rows) error {
		o, err := scanOperation(rows.Scan)
		out = append(out, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	return out, nil
}

// Operation finds one operation.
func (s *Store) Operation(ctx context.Context, id string) (dlq.Operation, error) {
	list, err := operationsWhere(ctx, s.reader(), `where id = $1`, id)
	if err != nil {
		return dlq.Operation{}, err
	}
	if len(list) == 0 {
		return dlq.Operation{}, dlq.Errorf(dlq.KindNotFound, "there is no such operation")
	}
	return list[0], nil
}

// SeesOperation says whether somebody may know of an operation. Who is limited to
// sources sees it if all of its entries are of them, because its query, its
// reason and its counts speak of all; one that found no entry, if they asked for
// it themselves.
func (s *Store) SeesOperation(ctx context.Context, by dlq.Actor, o dlq.Operation) (bool, error) {
	if len(by.Sources) == 0 {
		return true, nil
	}
	var f filter
	mine := f.list(by.Sources)
	var ours, others bool
	_, err := s.one(ctx, `select coalesce(max(s.name in (`+mine+`)), 0), coalesce(max(s.name not in (`+mine+`)), 0)
		from item i join entry e on e.id = i.entry_id join source s on s.id = e.source_id where i.operation_id = `+f.arg(o.ID), f.args, &ours, &others)
	if err != nil {
		return false, fmt.Errorf("find whose an operation is: %w", err)
	}
	return !others && (ours || o.Actor.Kind == by.Kind && o.Actor.ID == by.ID), nil
}

// Operations lists operations, newest first, before an id where that is not
// empty.
func (s *Store) Operations(ctx context.Context, before string, limit int) ([]dlq.Operation, error) {
	if before == "" {
		before = "~" // after every ULID
	}
	return operationsWhere(ctx, s.reader(), `where id < $1 order by id desc limit $2`, before, limit)
}

// OpenOperations lists the operations that have not ended: those that run first,
// so that no number of paused ones hides them, and oldest first within.
func (s *Store) OpenOperations(ctx context.Context) ([]dlq.Operation, error) {
	return operationsWhere(ctx, s.reader(), `where state not in ('done', 'cancelled') order by state <> 'running', id limit 1000`)
}

// CreateOperation writes an operation in the state preparing, without items.
func (s *Store) CreateOperation(ctx context.Context, o dlq.Operation) (dlq.Operation, error) {
	canary, err := json.Marshal(o.Canary)
	if err != nil || o.Canary == nil {
		canary = []byte("[]")
	}
	var until int64
	if !o.Until.IsZero() {
		until = ms(o.Until)
	}
	err = s.update(ctx, func(tx *Tx) error {
		o.ID, o.State, o.CreatedAt, o.UpdatedAt = tx.newID(), dlq.OperationPreparing, tx.now, tx.now
		if _, err := tx.exec(`insert into operation (id, kind, state, query, expect, reason, actor_kind, actor_id, actor_name, mode, accept_unknown, canary, rate, concurrency, stop_share,
			days, until, grant_kind, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19)`,
			o.ID, o.Kind, o.State, o.Query, o.Expect, o.Reason, o.Actor.Kind, o.Actor.ID, o.Actor.Name, o.Mode, o.AcceptUnknown, string(canary), o.Rate, o.Concurrency, o.StopShare,
			o.Days, until, o.Grant, ms(tx.now)); err != nil {
			return fmt.Errorf("add operation: %w", err)
		}
		return tx.audit(o.Actor, auditEntry{action: "operation." + string(o.Kind), operation: o.ID, detail: map[string]any{"expect": o.Expect, "mode": o.Mode}, reason: o.Reason})
	})
	return o, err
}

// AddItems writes a slice of an operation's membership: each entry waits, or is
// left out with why. Names that are not found are left out as such. The caller
// keeps slices small (some hundreds), so that arrivals are not held up.
func (s *Store) AddItems(ctx context.Context, o dlq.Operation, position int, dlqIDs []string) error {
	return s.update(ctx, func(tx *Tx) error {
		counts := map[dlq.ItemState]int64{}
		for i, dlqID := range dlqIDs {
			e, found, err := tx.entryByDLQID(dlqID)
			if err != nil {
				return err
			}
			if found { // what the actor may not see is not found, and keeps no trace here
				src, err := tx.sourceByID(e.sourceID)
				if err != nil {
					return err
				}
				if !o.Actor.SeesSource(src.Name()) {
					e, found = entryRow{}, false
				}
			}
			state, why := dlq.ItemWaiting, dlq.LeftOut("")
			if !found {
				state, why = dlq.ItemLeftOut, dlq.LeftNotFound
			} else if why, err = tx.leaveOut(o, e); err != nil {
				return err
			} else if why != "" {
				state = dlq.ItemLeftOut
			}
			counts[state]++
			if _, err := tx.exec(`insert into item (operation_id, entry_id, dlq_id, position, state, why) values ($1, $2, $3, $4, $5, $6)`,
				o.ID, e.id, dlqID, position+i, state, why); err != nil {
				return fmt.Errorf("add item: %w", err)
			}
		}
		_, err := tx.exec(`update operation set total = total + $1, waiting = waiting + $2, left_out = left_out + $3, updated_at = $4 where id = $5`,
			len(dlqIDs), counts[dlq.ItemWaiting], counts[dlq.ItemLeftOut], ms(tx.now), o.ID)
		if err != nil {
			return fmt.Errorf("count items: %w", err)
		}
		return nil
	})
}

// leaveOut says why an operation leaves an entry out, if it does.
func (t *Tx) leaveOut(o dlq.Operation, e entryRow) (dlq.LeftOut, error) {
	if o.Kind != dlq.OperationRedrive {
		return "", nil // an action says so itself, at the entry's turn
	}
	eligible, err := t.askRedrive(o, e)
	if err != nil || eligible.Quarantine {
		return "", err // it is quarantined at its turn, not before
	}
	return eligible.LeftOut, nil
}

// askRedrive gathers what decides whether a redrive takes an entry, and decides.
func (t *Tx) askRedrive(o dlq.Operation, e entryRow) (dlq.Eligibility, error) {
	src, err := t.sourceByID(e.sourceID)
	if err != nil {
		return dlq.Eligibility{}, err
	}
	c := dlq.Candidate{Status: e.status, HasKey: e.contentHash != "", HasTarget: src.Policy.Redrive.URL != "", SameFailures: e.sameFailures, Grant: e.granted,
		Threshold: src.Policy.PoisonThreshold, Mode: cmp.Or(o.Mode, src.Policy.Redrive.Mode), Copy: e.copy}
	if c.Status == dlq.StatusParked {
		if c.InFlight, err = t.reserved(o.ID, e); err != nil {
			return dlq.Eligibility{}, err
		}
		if c.Registered, err = t.registered(e.sourceID, e.contentHash); err != nil {
			return dlq.Eligibility{}, err
		}
	}
	return c.Ask(), nil
}

// reserved says whether the entry waits in another operation that has not
// ended, or its key is in flight.
func (t *Tx) reserved(operationID string, e entryRow) (bool, error) {
	var one int
	waits, err := t.row(`select 1 from item i join operation o on o.id = i.operation_id
		where i.entry_id = $1 and i.state = 'waiting' and i.operation_id <> $2 and o.kind = 'redrive' and o.state not in ('done', 'cancelled') limit 1`, []any{e.id, operationID}, &one)
	if err != nil || waits {
		return waits, err
	}
	return t.row(`select 1 from redrive where source_id = $1 and content_hash = $2 and state in ('pending', 'claimed', 'delivered')`, []any{e.sourceID, e.contentHash}, &one)
}

// StartOperation ends the preparation, and takes the first step of at most
// limit entries in the same transaction.
func (s *Store) StartOperation(ctx context.Context, id string, limit int) (dlq.Operation, error) {
	return s.stepOperation(ctx, id, limit, true)
}

// StepOperation takes the next at most limit waiting entries of a running
// operation; of a cancelled one it marks them cancelled.
func (s *Store) StepOperation(ctx context.Context, id string, limit int) (dlq.Operation, error) {
	return s.stepOperation(ctx, id, limit, false)
}

func (s *Store) stepOperation(ctx context.Context, id string, limit int, start bool) (dlq.Operation, error) {
	var out dlq.Operation
	err := s.update(ctx, func(tx *Tx) error {
		o, err := tx.operation(id)
		if err != nil {
			return err
		}
		if start {
			if err := tx.moveOperation(&o, dlq.OperationRunning, ""); err != nil {
				return err
			}
		}
		if o.State == dlq.OperationCancelled { // what was under way when it was cancelled, and came back
			if err := tx.cancelUnsent(id); err != nil {
				return err
			}
		}
		if o.State == dlq.OperationRunning || o.State == dlq.OperationCancelled {
			if err := tx.step(o, limit); err != nil {
				return err
			}
		}
		if err := tx.finishOperation(id); err != nil {
			return err
		}
		out, err = tx.operation(id)
		return err
	})
	return out, err
}

func (t *Tx) operation(id string) (dlq.Operation, error) {
	list, err := operationsWhere(t.ctx, t, `where id = $1`, id)
	if err != nil {
		return dlq.Operation{}, err
	}
	if len(list) == 0 {
		return dlq.Operation{}, dlq.Errorf(dlq.KindNotFound, "there is no such operation")
	}
	return list[0], nil
}

func (t *Tx) moveOperation(o *dlq.Operation, to dlq.OperationState, why string) error {
	if !dlq.MayMoveOperation(o.State, to) {
		return dlq.Errorf(dlq.KindConflict, "the operation is %s and cannot become %s", o.State, to)
	}
	var ended any
	if to.Ended() {
		ended = ms(t.now)
	}
	n, err := t.exec(`update operation set state = $1, why = $2, updated_at = $3, ended_at = $4 where id = $5 and state = $6`, to, why, ms(t.now), ended, o.ID, o.State)
	if err != nil {
		return fmt.Errorf("move operation: %w", err)
	}
	if n != 1 {
		return dlq.Errorf(dlq.KindConflict, "the operation is no longer %s", o.State)
	}
	o.State, o.Why = to, why
	return nil
}

// MoveOperation pauses, resumes or cancels an operation. Cancelling frees its
// waiting entries at once, because they are reserved by the operation's state;
// what was not sent yet is parked again, and what was sent keeps its outcome.
func (s *Store) MoveOperation(ctx context.Context, by dlq.Actor, id string, to dlq.OperationState, why string) (dlq.Operation, error) {
	var out dlq.Operation
	err := s.update(ctx, func(tx *Tx) error {
		o, err := tx.operation(id)
		if err != nil {
			return err
		}
		if err := tx.moveOperation(&o, to, why); err != nil {
			return err
		}
		if err := tx.audit(by, auditEntry{action: "operation." + string(to), operation: id, reason: why}); err != nil {
			return err
		}
		if to == dlq.OperationCancelled {
			if err := tx.cancelUnsent(id); err != nil {
				return err
			}
		}
		out, err = tx.operation(id)
		return err
	})
	return out, err
}

func (t *Tx) cancelUnsent(operationID string) error {
	list, err := redrivesWhere(t.ctx, t, `where r.operation_id = $1 and (r.state = 'pending' or (r.state = 'claimed' and r.lease_until <= $2)) order by r.id`, operationID, ms(t.now))
	if err != nil {
		return err
	}
	for i := range list {
		if err := t.park(&list[i]); err != nil {
			return err
		}
		if err := t.settleRedrive(&list[i], settlement{outcome: dlq.OutcomeCancelled, at: t.now}); err != nil {
			return err
		}
	}
	return nil
}

// park takes an entry whose redrive did not reach its pipeline out of flight.
func (t *Tx) park(r *dlq.Redrive) error {
	was, found, err := t.entryByID(r.EntryID)
	if err != nil || !found || was.status != dlq.StatusRedriving {
		return err
	}
	src, err := t.sourceByID(was.sourceID)
	if err != nil {
		return err
	}
	is := was
	is.status = dlq.StatusParked
	// Past the threshold only a grant can have let it go, and nothing was
	// replayed: the grant still stands.
	is.granted = was.sameFailures >= src.Policy.PoisonThreshold
	return t.saveEntry(was, is)
}

func (t *Tx) step(o dlq.Operation, limit int) error {
	var items []dlq.Item
	var positions []int64
	if err := each(t.ctx, t, `select entry_id, dlq_id, position from item where operation_id = $1 and state = 'waiting' order by position limit $2`, []any{o.ID, limit}, func(rows *sql.Rows) error {
		var i dlq.Item
		var position int64
		if err := rows.Scan(&i.EntryID, &i.DLQID, &position); err != nil {
			return err
		}
		items, positions = append(items, i), append(positions, position)
		return nil
	}); err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	for n, i := range items {
		state, why, redriveID, err := t.turn(o, i)
		if err != nil {
			return err
		}
		if _, err := t.exec(`update item set state = $1, why = $2, redrive_id = $3 where operation_id = $4 and position = $5`, state, why, textOrNull(redriveID), o.ID, positions[n]); err != nil {
			return fmt.Errorf("move item: %w", err)
		}
		if err := t.itemMoved(o.ID, dlq.ItemWaiting, state, 1); err != nil {
			return err
		}
	}
	return nil
}

// turn does to one entry what its operation is for.
func (t *Tx) turn(o dlq.Operation, i dlq.Item) (dlq.ItemState, dlq.LeftOut, string, error) {
	if o.State == dlq.OperationCancelled {
		return dlq.ItemCancelled, "", "", nil
	}
	if o.Kind == dlq.OperationRedrive {
		return t.redriveTurn(o, i)
	}
	err := t.act(o.Actor, i.DLQID, actionOf(o))
	switch dlq.KindOf(err) {
	case "":
		return dlq.ItemSettled, "", "", nil
	case dlq.KindConflict:
		return dlq.ItemLeftOut, dlq.LeftState, "", nil
	case dlq.KindInvalid:
		return dlq.ItemLeftOut, dlq.LeftPastLimit, "", nil
	case dlq.KindNotFound:
		return dlq.ItemLeftOut, dlq.LeftNotFound, "", nil
	}
	return "", "", "", err
}

func (t *Tx) redriveTurn(o dlq.Operation, i dlq.Item) (dlq.ItemState, dlq.LeftOut, string, error) {
	was, found, err := t.entryByID(i.EntryID)
	if err != nil || !found {
		return dlq.ItemLeftOut, dlq.LeftNotFound, "", err
	}
	eligible, err := t.askRedrive(o, was)
	if err != nil {
		return "", "", "", err
	}
	src, err := t.sourceByID(was.sourceID)
	if err != nil {
		return "", "", "", err
	}
	is := was
	switch {
	case eligible.Quarantine:
		is.status = dlq.StatusQuarantined
		if err := t.saveEntry(was, is); err != nil {
			return "", "", "", err
		}
		if err := t.audit(dlq.Policy("poison threshold"), auditEntry{action: "entry.quarantined", entryID: is.id, dlqID: is.dlqID, source: src.Name(), operation: o.ID}); err != nil {
			return "", "", "", err
		}
		return dlq.ItemLeftOut, eligible.LeftOut, "", t.poisonAlert(src, is)
	case eligible.LeftOut != "":
		return dlq.ItemLeftOut, eligible.LeftOut, "", nil
	}
	id, err := t.insertRedrive(o, src, was)
	if err != nil {
		return "", "", "", err
	}
	if eligible.Skip {
		is.status, is.resolution, is.settledAt, is.granted = dlq.StatusResolved, dlq.ResolvedSkipped, t.now, false
		if err := t.saveEntry(was, is); err != nil {
			return "", "", "", err
		}
		if _, err := t.exec(`update redrive set state = 'settled', outcome = 'skipped', outcome_at = $1, settled_at = $1 where id = $2`, ms(t.now), id); err != nil {
			return "", "", "", fmt.Errorf("settle redrive: %w", err)
		}
		return dlq.ItemSettled, "", id, t.audit(o.Actor, auditEntry{action: "entry.skipped", entryID: is.id, dlqID: is.dlqID, source: src.Name(), operation: o.ID})
	}
	is.status, is.granted = dlq.StatusRedriving, false
	if err := t.saveEntry(was, is); err != nil {
		return "", "", "", err
	}
	return dlq.ItemInFlight, "", id, t.audit(o.Actor, auditEntry{action: "entry.redrive", entryID: is.id, dlqID: is.dlqID, source: src.Name(), operation: o.ID, detail: map[string]any{"redrive": id, "mode": o.Mode}})
}

func (t *Tx) insertRedrive(o dlq.Operation, src dlq.Source, e entryRow) (string, error) {
	var under string
	var uri, version sql.NullString
	if _, err := t.row(`select v.versions, a.payload_uri, a.source_version from attempt a join cell c on c.id = a.cell_id join version_set v on v.id = c.version_set_id where a.id = $1`,
		[]any{e.evidenceID}, &under, &uri, &version); err != nil {
		return "", fmt.Errorf("read the failing attempt: %w", err)
	}
	id := t.newID()
	giveUp := t.now.Add(src.Policy.Redrive.Retry.Budget.Std())
	state := dlq.RedrivePending
	if registered, err := t.registered(e.sourceID, e.contentHash); err != nil {
		return "", err
	} else if registered {
		state = dlq.RedriveSettled
	}
	_, err := t.exec(`insert into redrive (id, operation_id, entry_id, source_id, content_hash, mode, accept_unknown, state, failed_attempt, failed_cohort, failed_sha256, payload_uri, source_version,
		failed_under, created_at, next_at, give_up_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16)`,
		id, o.ID, e.id, e.sourceID, e.contentHash, cmp.Or(o.Mode, src.Policy.Redrive.Mode), o.AcceptUnknown, state, e.evidenceID, e.cohort, textOrNull(e.payloadSHA256), uri, version, under, ms(t.now), ms(giveUp))
	if err != nil {
		return "", fmt.Errorf("add redrive: %w", err)
	}
	return id, nil
}

// itemMoved keeps an operation's counts, and ends it when nothing of it waits or
// flies any more.
func (t *Tx) itemMoved(operationID string, from, to dlq.ItemState, n int64) error {
	delta := func(s dlq.ItemState) int64 {
		var d int64
		if s == from {
			d -= n
		}
		if s == to {
			d += n
		}
		return d
	}
	_, err := t.exec(`update operation set waiting = waiting + $1, in_flight = in_flight + $2, settled = settled + $3, left_out = left_out + $4, cancelled = cancelled + $5, updated_at = $6 where id = $7`,
		delta(dlq.ItemWaiting), delta(dlq.ItemInFlight), delta(dlq.ItemSettled), delta(dlq.ItemLeftOut), delta(dlq.ItemCancelled), ms(t.now), operationID)
	if err != nil {
		return fmt.Errorf("count items: %w", err)
	}
	if from == dlq.ItemInFlight {
		return t.finishOperation(operationID)
	}
	return nil
}

// finishOperation ends an operation of which nothing waits or flies any more.
func (t *Tx) finishOperation(id string) error {
	_, err := t.exec(`update operation set state = 'done', ended_at = $1, updated_at = $1 where id = $2 and state = 'running' and waiting = 0 and in_flight = 0`, ms(t.now), id)
	if err != nil {
		return fmt.Errorf("finish operation: %w", err)
	}
	return nil
}

// VoidPreparations cancels the operations whose membership was being written
// when the server stopped: nothing of them was done. It is called before the
// server listens.
func (s *Store) VoidPreparations(ctx context.Context) (int64, error) {
	var n int64
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		n, err = tx.exec(`update operation set state = 'cancelled', why = $1, ended_at = $2, updated_at = $2 where state = 'preparing'`,
			"the server stopped while its membership was being written; nothing was done", ms(tx.now))
		if err != nil || n == 0 {
			return err
		}
		return tx.audit(dlq.Policy("start of the server"), auditEntry{action: "operation.voided", detail: map[string]any{"operations": n}})
	})
	return n, err
}

// Items lists the items of an operation in their order, after a position: all, or
// those in a state, or with an outcome.
func (s *Store) Items(ctx context.Context, operationID string, state dlq.ItemState, outcome dlq.OutcomeResult, after int64, limit int) ([]dlq.Item, error) {
	var out []dlq.Item
	err := each(ctx, s.reader(), `select i.entry_id, i.dlq_id, i.position, coalesce(s.name, ''), coalesce(e.doc_id, ''), i.state, i.why, coalesce(i.redrive_id, ''), coalesce(r.outcome, '')
		from item i left join entry e on e.id = i.entry_id left join source s on s.id = e.source_id left join redrive r on r.id = i.redrive_id
		where i.operation_id = $1 and i.position > $2 and ($3 = '' or i.state = $3) and ($4 = '' or r.outcome = $4) order by i.position limit $5`, []any{operationID, after, state, outcome, limit}, func(rows *sql.Rows) error {
		i := dlq.Item{OperationID: operationID}
		if err := rows.Scan(&i.EntryID, &i.DLQID, &i.Position, &i.Source, &i.DocID, &i.State, &i.Why, &i.RedriveID, &i.Outcome); err != nil {
			return err
		}
		out = append(out, i)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	return out, s.judgeItems(ctx, out)
}

// judgeItems fills in what the outcome of each item's redrive says.
func (s *Store) judgeItems(ctx context.Context, items []dlq.Item) error {
	var ids []any
	for _, i := range items {
		if i.Outcome != "" {
			ids = append(ids, i.RedriveID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	list, err := redrivesWhere(ctx, s.reader(), `where r.id in (`+placeholders(len(ids))+`)`, ids...)
	if err != nil {
		return err
	}
	verdicts := map[string]dlq.VerdictName{}
	for _, r := range list {
		verdicts[r.ID] = r.Verdict().Name
	}
	for n := range items {
		items[n].Verdict = verdicts[items[n].RedriveID]
	}
	return nil
}

// LeftOutCounts counts the items that an operation left out, by why.
func (s *Store) LeftOutCounts(ctx context.Context, operationID string) (map[dlq.LeftOut]int64, error) {
	out := map[dlq.LeftOut]int64{}
	err := each(ctx, s.reader(), `select why, count(*) from item where operation_id = $1 and state = 'left_out' group by why`, []any{operationID}, func(rows *sql.Rows) error {
		var why dlq.LeftOut
		var n int64
		if err := rows.Scan(&why, &n); err != nil {
			return err
		}
		out[why] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count what was left out: %w", err)
	}
	return out, nil
}

// OutcomeCounts counts the settled items of an operation by outcome.
func (s *Store) OutcomeCounts(ctx context.Context, operationID string) (map[dlq.OutcomeResult]int64, error) {
	out := map[dlq.OutcomeResult]int64{}
	err := each(ctx, s.reader(), `select outcome, count(*) from redrive where operation_id = $1 and state = 'settled' and outcome <> '' group by outcome`, []any{operationID}, func(rows *sql.Rows) error {
		var r dlq.OutcomeResult
		var n int64
		if err := rows.Scan(&r, &n); err != nil {
			return err
		}
		out[r] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count outcomes: %w", err)
	}
	return out, nil
}

// CancelledOperations lists the cancelled operations of which something still
// waits or is in flight, oldest first.
func (s *Store) CancelledOperations(ctx context.Context, limit int) ([]dlq.Operation, error) {
	return operationsWhere(ctx, s.reader(), `where state = 'cancelled' and (waiting > 0 or in_flight > 0) order by id limit $1`, limit)
}
