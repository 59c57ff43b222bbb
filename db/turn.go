package db

import (
	"cmp"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// turnsAhead is what the entries of one slice of an operation need at their turn,
// read for all of them at once.
type turnsAhead struct {
	entries map[int64]turnAhead
	// sent are the keys that the slice itself has brought in flight. Two documents
	// may have the same one, and one of them goes.
	sent map[keyOf]bool
}

type turnAhead struct {
	under        string // versions of the failure, in their canonical form
	uri, version sql.NullString
	registered   bool // its key is committed already
	reserved     bool // it waits elsewhere, or its key is in flight
}

type keyOf struct {
	source int64
	key    string
}

func (t *Tx) turnsAhead(o dlq.Operation, items []dlq.Item) (turnsAhead, error) {
	ahead := turnsAhead{entries: make(map[int64]turnAhead, len(items)), sent: map[keyOf]bool{}}
	if o.Kind != dlq.OperationRedrive || o.State == dlq.OperationCancelled {
		return ahead, nil
	}
	ids := make([]int64, len(items))
	for i, item := range items {
		ids[i] = item.EntryID
	}
	err := each(t.ctx, t, `select e.id, v.versions, a.payload_uri, a.source_version,
		exists (select 1 from commit_register g where g.source_id = e.source_id and g.content_hash = e.content_hash),
		exists (select 1 from redrive r where r.source_id = e.source_id and r.content_hash = e.content_hash and r.state in ('pending', 'claimed', 'delivered'))
			or exists (select 1 from item i join operation p on p.id = i.operation_id where i.entry_id = e.id and i.state = 'waiting' and i.operation_id <> $1 and p.kind = 'redrive' and p.state not in ('done', 'cancelled'))
		from json_each($2) j join entry e on e.id = j.value join attempt a on a.id = e.evidence_id join cell c on c.id = a.cell_id join version_set v on v.id = c.version_set_id`,
		[]any{o.ID, jsonList(ids)}, func(rows *sql.Rows) error {
			var id int64
			var a turnAhead
			err := rows.Scan(&id, &a.under, &a.uri, &a.version, &a.registered, &a.reserved)
			ahead.entries[id] = a
			return err
		})
	if err != nil {
		return ahead, fmt.Errorf("read what is to be redriven: %w", err)
	}
	return ahead, nil
}

// of gives what was read of an entry, and what the slice has done since.
func (ahead turnsAhead) of(e entryRow) turnAhead {
	a := ahead.entries[e.id]
	if ahead.sent[keyOf{e.sourceID, e.contentHash}] {
		a.reserved = true
	}
	return a
}

// askRedrive decides whether a redrive takes an entry.
func askRedrive(o dlq.Operation, src dlq.Source, e entryRow, a turnAhead) dlq.Eligibility {
	c := dlq.Candidate{Status: e.status, HasKey: e.contentHash != "", HasTarget: src.Policy.Redrive.URL != "", SameFailures: e.sameFailures, Grant: e.granted,
		Threshold: src.Policy.PoisonThreshold, Mode: cmp.Or(o.Mode, src.Policy.Redrive.Mode), Copy: e.copy}
	if c.Status == dlq.StatusParked {
		c.InFlight, c.Registered = a.reserved, a.registered
	}
	return c.Ask()
}
