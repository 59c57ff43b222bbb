package db

import (
	"cmp"
	"fmt"

	"dlo/dlq"
)

// What operations do that are no redrives: the same transactions as the buttons
// of one document, a slice of documents at a time.

// actionTurn acts on one document of an operation. What does not allow it leaves
// the document out, with why, and never fails the operation.
func (t *Tx) actionTurn(o dlq.Operation, i dlq.Item) (dlq.ItemState, dlq.LeftOut, string, error) {
	err := t.actOf(o, i.DLQID)
	switch dlq.KindOf(err) {
	case "":
		return dlq.ItemSettled, "", "", nil
	case dlq.KindConflict:
		return dlq.ItemLeftOut, dlq.LeftState, "", nil
	case dlq.KindInvalid:
		return dlq.ItemLeftOut, cmp.Or(pastItsLimit[o.Kind], dlq.LeftPastLimit), "", nil
	case dlq.KindNotFound:
		return dlq.ItemLeftOut, dlq.LeftNotFound, "", nil
	}
	return "", "", "", err
}

// pastItsLimit is what it means that an operation, whose request was checked, is
// not valid at a document's turn.
var pastItsLimit = map[dlq.OperationKind]dlq.LeftOut{dlq.OperationDispose: dlq.LeftDatePassed}

func (t *Tx) actOf(o dlq.Operation, dlqID string) error {
	switch o.Kind {
	case dlq.OperationAssign:
		return t.assign(o.Actor, dlqID, o.Owner, o.Ticket, o.ID, o.Reason)
	case dlq.OperationDispose:
		if o.Disposition == nil {
			return fmt.Errorf("operation %s decides nothing", o.ID)
		}
		return t.disposeEntry(o.Actor, dlqID, *o.Disposition, o.ID)
	}
	return t.act(o.Actor, dlqID, dlq.Action{Kind: o.Kind, Reason: o.Reason, Days: o.Days, Until: o.Until, Grant: o.Grant}, o.ID)
}

// assign gives an entry an owner and a ticket. What is so already changes nothing
// and leaves no row in the trail.
func (t *Tx) assign(by dlq.Actor, dlqID, owner, ticket, operationID, reason string) error {
	e, src, err := t.visibleEntry(by, dlqID)
	if err != nil {
		return err
	}
	if e.status == dlq.StatusErased {
		return dlq.Errorf(dlq.KindConflict, "this document cannot be assigned: it is erased")
	}
	n, err := t.exec(`update entry set owner = $1, ticket = $2, version = version + 1 where id = $3 and (owner <> $1 or ticket <> $2)`, owner, ticket, e.id)
	if err != nil {
		return fmt.Errorf("assign entry: %w", err)
	}
	if n == 0 {
		return nil
	}
	return t.audit(by, auditEntry{action: "entry.assigned", entryID: e.id, dlqID: e.dlqID, source: src.Name(), operation: operationID, detail: map[string]any{"owner": owner, "ticket": ticket}, reason: reason})
}
