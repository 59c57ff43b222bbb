package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/bits"
	"strings"
	"time"

	"dlo/dlq"
)

const operationColumns = `(select count(*) from redrive r where r.operation_id = operation.id and r.state in ('pending', 'claimed') and r.sent_at is null),
	(select coalesce(sum(t.items), 0) from operation_tally t where t.operation_id = operation.id and t.stands = 'waiting' and t.step <= operation.step),
	id, kind, state, why, query, expect, reason, actor_kind, actor_id, actor_name, mode, accept_unknown, canary, step, rate, concurrency, stop_share,
	days, until, grant_kind, total, waiting, in_flight, settled, left_out, cancelled, created_at, updated_at, ended_at,
	cohort_id, sizes, go_on, asks, step_at, ask_at, pause_share, same_stops, base_settled, base_failed, returns, try_at, proof, fields`

// operationFields are what only some kinds of operation have.
type operationFields struct {
	Owner       string              `json:"owner,omitempty"`
	Ticket      string              `json:"ticket,omitempty"`
	Disposition *dlq.NewDisposition `json:"disposition,omitempty"`
}

func scanOperation(scan func(...any) error) (dlq.Operation, error) {
	var o dlq.Operation
	var canary, sizes, proof, fields string
	var until, created, updated int64
	var ended, stepAt, askAt, tryAt sql.NullInt64
	var waiting, inFlight, settled, leftOut, cancelled int64
	if err := scan(&o.Unsent, &o.StepWaiting, &o.ID, &o.Kind, &o.State, &o.Why, &o.Query, &o.Expect, &o.Reason, &o.Actor.Kind, &o.Actor.ID, &o.Actor.Name, &o.Mode, &o.AcceptUnknown, &canary, &o.Step,
		&o.Rate, &o.Concurrency, &o.StopShare, &o.Days, &until, &o.Grant, &o.Total, &waiting, &inFlight, &settled, &leftOut, &cancelled, &created, &updated, &ended,
		&o.CohortID, &sizes, &o.GoOn, &o.Asks, &stepAt, &askAt, &o.PauseShare, &o.SameStops, &o.BaseSettled, &o.BaseFailed, &o.Returns, &tryAt, &proof, &fields); err != nil {
		return o, err
	}
	o.Until, o.CreatedAt, o.UpdatedAt, o.EndedAt = fromMS(until), fromMS(created), fromMS(updated), fromNullMS(ended)
	o.StepAt, o.AskAt, o.TryAt = fromNullMS(stepAt), fromNullMS(askAt), fromNullMS(tryAt)
	o.Counts = map[dlq.ItemState]int64{dlq.ItemWaiting: waiting, dlq.ItemInFlight: inFlight, dlq.ItemSettled: settled, dlq.ItemLeftOut: leftOut, dlq.ItemCancelled: cancelled}
	var more operationFields
	for _, f := range []struct {
		text string
		into any
	}{{canary, &o.Canary}, {sizes, &o.Sizes}, {fields, &more}} {
		if err := json.Unmarshal([]byte(f.text), f.into); err != nil {
			return o, fmt.Errorf("read operation %s: %w", o.ID, err)
		}
	}
	o.Owner, o.Ticket, o.Disposition = more.Owner, more.Ticket, more.Disposition
	if proof != "" {
		o.Proof = &dlq.Forecast{}
		return o, json.Unmarshal([]byte(proof), o.Proof)
	}
	return o, nil
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
	proof := ""
	if o.Proof != nil {
		b, err := json.Marshal(o.Proof)
		if err != nil {
			return o, fmt.Errorf("write what was known of an operation's cohort: %w", err)
		}
		proof = string(b)
	}
	fields, err := json.Marshal(operationFields{o.Owner, o.Ticket, o.Disposition})
	if err != nil {
		return o, fmt.Errorf("write the fields of an operation: %w", err)
	}
	err = s.update(ctx, func(tx *Tx) error {
		o.ID, o.State, o.CreatedAt, o.UpdatedAt = tx.newID(), dlq.OperationPreparing, tx.now, tx.now
		if _, err := tx.exec(`insert into operation (id, kind, state, query, expect, reason, actor_kind, actor_id, actor_name, mode, accept_unknown, canary, rate, concurrency, stop_share,
			days, until, grant_kind, created_at, updated_at, cohort_id, go_on, pause_share, returns, proof, fields) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19, $20, $21, $22, $23, $24, $25)`,
			o.ID, o.Kind, o.State, o.Query, o.Expect, o.Reason, o.Actor.Kind, o.Actor.ID, o.Actor.Name, o.Mode, o.AcceptUnknown, string(canary), o.Rate, o.Concurrency, o.StopShare,
			o.Days, until, o.Grant, ms(tx.now), o.CohortID, o.GoOn, o.PauseShare, o.Returns, proof, string(fields)); err != nil {
			return fmt.Errorf("add operation: %w", err)
		}
		return tx.audit(o.Actor, auditEntry{action: "operation." + string(o.Kind), operation: o.ID, cohort: o.CohortID, detail: map[string]any{"expect": o.Expect, "mode": o.Mode}, reason: o.Reason})
	})
	return o, err
}

// AddItems writes a slice of an operation's membership: each entry waits, or is
// left out with why. Names that are not found are left out as such; so is what the
// actor may not see, which keeps no trace here. The caller keeps slices small
// (some hundreds), so that arrivals are not held up: by the time that it took
// itself, without the one in which it waited for others.
func (s *Store) AddItems(ctx context.Context, o dlq.Operation, position int, dlqIDs []string) (took time.Duration, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		found, err := tx.candidates(o, dlqIDs)
		if err != nil {
			return err
		}
		counts := map[dlq.ItemState]int64{}
		rest := len(o.Canary) + 1
		args := make([]any, 0, itemsAtOnce*itemColumns)
		for i, dlqID := range dlqIDs {
			c := found[dlqID]
			state, why := dlq.ItemWaiting, dlq.LeftOut("")
			if c.Status == "" {
				state, why = dlq.ItemLeftOut, dlq.LeftNotFound
			} else if o.Kind == dlq.OperationRedrive { // an action says so itself, at the entry's turn
				if e := c.Ask(); e.LeftOut != "" && !e.Quarantine { // at its turn it is quarantined, not before
					state, why = dlq.ItemLeftOut, e.LeftOut
				}
			}
			counts[state]++
			args = append(args, o.ID, c.entry, dlqID, position+i, rest, state, why, c.stratum, c.current)
			if len(args) == cap(args) || i == len(dlqIDs)-1 {
				rows := len(args) / itemColumns
				if _, err := tx.exec(`insert into item (operation_id, entry_id, dlq_id, position, step, state, why, stratum, held) values `+rowsOf(rows, itemColumns), args...); err != nil {
					return fmt.Errorf("add items: %w", err)
				}
				args = args[:0]
			}
		}
		for state, n := range counts {
			tx.tallyItems(o.ID, rest, string(state), n)
		}
		_, err = tx.exec(`update operation set total = total + $1, waiting = waiting + $2, left_out = left_out + $3, updated_at = $4 where id = $5`,
			len(dlqIDs), counts[dlq.ItemWaiting], counts[dlq.ItemLeftOut], ms(tx.now), o.ID)
		if err != nil {
			return fmt.Errorf("count items: %w", err)
		}
		return nil
	})
	return took, err
}

const (
	itemsAtOnce = 100
	itemColumns = 9
)

// rowsOf are the placeholders of so many rows of values.
func rowsOf(rows, columns int) string {
	list := make([]string, rows)
	for r := range list {
		marks := make([]string, columns)
		for c := range marks {
			marks[c] = fmt.Sprintf("$%d", r*columns+c+1)
		}
		list[r] = "(" + strings.Join(marks, ", ") + ")"
	}
	return strings.Join(list, ", ")
}

// itemCandidate is a candidate with what a canary is chosen by.
type itemCandidate struct {
	dlq.Candidate
	entry   int64
	stratum int64
	current bool // the stored copy is of the failure
}

// candidates says of entries what decides whether an operation takes them. One
// that is not found, or that the actor may not see, is not among them.
func (t *Tx) candidates(o dlq.Operation, dlqIDs []string) (map[string]itemCandidate, error) {
	out := make(map[string]itemCandidate, len(dlqIDs))
	type row struct {
		id     string
		source int64
		c      itemCandidate
	}
	var list []row
	err := each(t.ctx, t, `select e.id, e.dlq_id, e.source_id, e.status, e.content_hash is not null, e.same_failures, e.granted, e.payload_state, e.payload_state = 'held' and e.payload_attempt = e.evidence_id,
		e.status = 'parked' and exists (select 1 from commit_register g where g.source_id = e.source_id and g.content_hash = e.content_hash),
		e.status = 'parked' and (exists (select 1 from redrive r where r.source_id = e.source_id and r.content_hash = e.content_hash and r.state in ('pending', 'claimed', 'delivered'))
			or exists (select 1 from item i join operation p on p.id = i.operation_id where i.entry_id = e.id and i.state = 'waiting' and i.operation_id <> $1 and p.kind = 'redrive' and p.state not in ('done', 'cancelled'))),
		c.version_set_id, c.content_type, e.opened_at, coalesce(e.payload_bytes, -1)
		from json_each($2) j join entry e on e.dlq_id = j.value join cell c on c.id = e.cell_id`, []any{o.ID, jsonTexts(dlqIDs)}, func(rows *sql.Rows) error {
		var r row
		var set, opened, bytes int64
		var content string
		err := rows.Scan(&r.c.entry, &r.id, &r.source, &r.c.Status, &r.c.HasKey, &r.c.SameFailures, &r.c.Grant, &r.c.Copy, &r.c.current, &r.c.Registered, &r.c.InFlight, &set, &content, &opened, &bytes)
		r.c.stratum = stratumOf(set, content, monthOf(moment(opened)), bytes)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read candidates: %w", err)
	}
	for _, r := range list {
		src, err := t.sourceByID(r.source)
		if err != nil {
			return nil, err
		}
		if !o.Actor.SeesSource(src.Name()) {
			continue
		}
		p := src.Policy
		r.c.HasTarget, r.c.Threshold, r.c.Mode = p.Redrive.URL != "", p.PoisonThreshold, cmp.Or(o.Mode, p.Redrive.Mode)
		out[r.id] = r.c
	}
	return out, nil
}

// stratumOf gives one number to documents that are alike: of one version set and
// content type, of one month, of about one size.
func stratumOf(versions int64, content string, month, bytes int64) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d %d", versions, content, month, bits.Len64(uint64(max(bytes, 0)))/3)
	return int64(h.Sum64() >> 1)
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
			if err := tx.beginStep(&o, 1); err != nil {
				return err
			}
		} else if _, err := tx.goOn(&o); err != nil {
			return err
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
		if err := tx.countNow(); err != nil {
			return err
		}
		if err := tx.finishOperation(id); err != nil { // of which nothing was taken
			return err
		}
		out, err = tx.operation(id)
		return err
	})
	return out, err
}

func (t *Tx) operation(id string) (dlq.Operation, error) {
	if err := t.countNow(); err != nil {
		return dlq.Operation{}, err
	}
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
		was := o.State
		if err := tx.moveOperation(&o, to, why); err != nil {
			return err
		}
		if err := tx.audit(by, auditEntry{action: "operation." + string(to), operation: id, reason: why}); err != nil {
			return err
		}
		switch to {
		case dlq.OperationCancelled:
			err = tx.cancelUnsent(id)
		case dlq.OperationPaused:
			_, err = tx.exec(`update operation set asks = $1 where id = $2`, dlq.AsksPerson, id)
		case dlq.OperationRunning:
			err = tx.resume(o, was)
		}
		if err != nil {
			return err
		}
		if to == dlq.OperationCancelled {
			if err := tx.goesOn(id); err != nil {
				return err
			}
		}
		out, err = tx.operation(id)
		return err
	})
	return out, err
}

// resume lets a paused or stopped operation go on. What stopped it has been looked
// at: failures in the same cohort stop it no more, and the share of failures is
// counted from here.
func (t *Tx) resume(o dlq.Operation, was dlq.OperationState) error {
	if err := t.goesOn(o.ID); err != nil {
		return err
	}
	if o.Kind == dlq.OperationRedrive && o.Step < o.Rest() && o.Step > 0 { // its canaries have their time again
		patience, err := t.canaryTime(o.ID, o.Step)
		if err != nil {
			return err
		}
		if _, err := t.exec(`update operation set ask_at = $1 where id = $2`, ms(t.now.Add(patience)), o.ID); err != nil {
			return fmt.Errorf("give canaries time: %w", err)
		}
	}
	if was != dlq.OperationStopped {
		return nil
	}
	_, err := t.exec(`update operation set same_stops = 0,
		base_settled = (select coalesce(sum(items), 0) from operation_tally where operation_id = $1 and stands in ('committed', 'skipped', 'superseded', 'failed')),
		base_failed = (select coalesce(sum(items), 0) from operation_tally where operation_id = $1 and stands = 'failed') where id = $1`, o.ID)
	if err != nil {
		return fmt.Errorf("count failures anew: %w", err)
	}
	return nil
}

// cancelMost is how many unsent redrives one transaction parks. Nothing is sent for
// an operation that is cancelled; the sweep parks what is left.
const cancelMost = 500

func (t *Tx) cancelUnsent(operationID string) error {
	list, err := redrivesWhere(t.ctx, t, `where r.operation_id = $1 and (r.state = 'pending' or (r.state = 'claimed' and r.lease_until <= $2)) order by r.id limit $3`, operationID, ms(t.now), cancelMost)
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
	if o.Kind == dlq.OperationProbe && o.State == dlq.OperationRunning {
		return nil // its items wait for an answer from outside; see Asked
	}
	var items []dlq.Item
	if err := each(t.ctx, t, `select entry_id, dlq_id, position, step from item where operation_id = $1 and state = 'waiting' and ($3 = 0 or step <= $3) order by step, position limit $2`, []any{o.ID, limit, upTo(o)}, func(rows *sql.Rows) error {
		var i dlq.Item
		err := rows.Scan(&i.EntryID, &i.DLQID, &i.Position, &i.Step)
		items = append(items, i)
		return err
	}); err != nil {
		return fmt.Errorf("read items: %w", err)
	}
	ahead, err := t.turnsAhead(o, items)
	if err != nil {
		return err
	}
	for _, i := range items {
		state, why, redriveID, err := t.turn(o, i, ahead)
		if err != nil {
			return err
		}
		if _, err := t.exec(`update item set state = $1, why = $2, redrive_id = $3 where operation_id = $4 and position = $5`, state, why, textOrNull(redriveID), o.ID, i.Position); err != nil {
			return fmt.Errorf("move item: %w", err)
		}
		outcome := dlq.OutcomeResult("")
		if state == dlq.ItemSettled && redriveID != "" {
			outcome = dlq.OutcomeSkipped // its key is committed: nothing was sent
		}
		t.tallyItems(o.ID, i.Step, string(dlq.ItemWaiting), -1)
		t.tallyItems(o.ID, i.Step, standsFor(state, outcome), 1)
		t.itemMoved(o.ID, dlq.ItemWaiting, state, 1)
	}
	return nil
}

// upTo is the step whose items are taken at most; 0: all of them.
func upTo(o dlq.Operation) int {
	if o.State == dlq.OperationCancelled || o.Kind != dlq.OperationRedrive {
		return 0
	}
	return o.Step
}

// turn does to one entry what its operation is for.
func (t *Tx) turn(o dlq.Operation, i dlq.Item, ahead turnsAhead) (dlq.ItemState, dlq.LeftOut, string, error) {
	if o.State == dlq.OperationCancelled {
		return dlq.ItemCancelled, "", "", nil
	}
	if o.Kind == dlq.OperationRedrive {
		return t.redriveTurn(o, i, ahead)
	}
	return t.actionTurn(o, i)
}

func (t *Tx) redriveTurn(o dlq.Operation, i dlq.Item, ahead turnsAhead) (dlq.ItemState, dlq.LeftOut, string, error) {
	was, found, err := t.entryByID(i.EntryID)
	if err != nil || !found {
		return dlq.ItemLeftOut, dlq.LeftNotFound, "", err
	}
	src, err := t.sourceByID(was.sourceID)
	if err != nil {
		return "", "", "", err
	}
	a := ahead.of(was)
	eligible := askRedrive(o, src, was, a)
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
	id, err := t.insertRedrive(o, src, was, a)
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
		skipped, err := t.redriveWhere(`where r.id = $1`, id)
		if err != nil {
			return "", "", "", err
		}
		if err := t.keepVerdict(*skipped); err != nil {
			return "", "", "", err
		}
		return dlq.ItemSettled, "", id, t.audit(o.Actor, auditEntry{action: "entry.skipped", entryID: is.id, dlqID: is.dlqID, source: src.Name(), operation: o.ID})
	}
	ahead.sent[keyOf{was.sourceID, was.contentHash}] = true
	is.status, is.granted = dlq.StatusRedriving, false
	if err := t.saveEntry(was, is); err != nil {
		return "", "", "", err
	}
	return dlq.ItemInFlight, "", id, t.audit(o.Actor, auditEntry{action: "entry.redrive", entryID: is.id, dlqID: is.dlqID, source: src.Name(), operation: o.ID, detail: map[string]any{"redrive": id, "mode": o.Mode}})
}

func (t *Tx) insertRedrive(o dlq.Operation, src dlq.Source, e entryRow, a turnAhead) (string, error) {
	id := t.newID()
	giveUp := t.now.Add(src.Policy.Redrive.Retry.Budget.Std())
	state := dlq.RedrivePending
	if a.registered {
		state = dlq.RedriveSettled
	}
	_, err := t.exec(`insert into redrive (id, operation_id, entry_id, source_id, content_hash, mode, accept_unknown, state, failed_attempt, failed_cohort, failed_sha256, payload_uri, source_version,
		failed_under, created_at, next_at, give_up_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16)`,
		id, o.ID, e.id, e.sourceID, e.contentHash, cmp.Or(o.Mode, src.Policy.Redrive.Mode), o.AcceptUnknown, state, e.evidenceID, e.cohort, textOrNull(e.payloadSHA256), a.uri, a.version, a.under, ms(t.now), ms(giveUp))
	if err != nil {
		return "", fmt.Errorf("add redrive: %w", err)
	}
	return id, nil
}

// itemMoved keeps an operation's counts. When nothing of it waits or flies any
// more, writing them ends it.
func (t *Tx) itemMoved(operationID string, from, to dlq.ItemState, n int64) {
	sums := into(&t.jobSums.operations, operationID)
	*sums.of(from) -= n
	*sums.of(to) += n
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
	return s.ItemsOfStep(ctx, operationID, 0, state, outcome, after, limit)
}

// ItemsOfStep lists the items of one step of an operation as Items does; of step 0
// those of all. What was left out is in the last step.
func (s *Store) ItemsOfStep(ctx context.Context, operationID string, step int, state dlq.ItemState, outcome dlq.OutcomeResult, after int64, limit int) ([]dlq.Item, error) {
	var out []dlq.Item
	err := each(ctx, s.reader(), `select i.entry_id, i.dlq_id, i.position, i.step, coalesce(s.name, ''), coalesce(e.doc_id, ''), i.state, i.why, coalesce(i.redrive_id, ''), coalesce(r.outcome, '')
		from item i left join entry e on e.id = i.entry_id left join source s on s.id = e.source_id left join redrive r on r.id = i.redrive_id
		where i.operation_id = $1 and i.position > $2 and ($3 = '' or i.state = $3) and ($4 = '' or r.outcome = $4) and ($5 = 0 or i.step = $5) order by i.position limit $6`, []any{operationID, after, state, outcome, step, limit}, func(rows *sql.Rows) error {
		i := dlq.Item{OperationID: operationID}
		if err := rows.Scan(&i.EntryID, &i.DLQID, &i.Position, &i.Step, &i.Source, &i.DocID, &i.State, &i.Why, &i.RedriveID, &i.Outcome); err != nil {
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

// CancelledOperations lists the cancelled operations of which something still
// waits or is in flight, oldest first.
func (s *Store) CancelledOperations(ctx context.Context, limit int) ([]dlq.Operation, error) {
	return operationsWhere(ctx, s.reader(), `where state = 'cancelled' and (waiting > 0 or in_flight > 0) order by id limit $1`, limit)
}
