package handlers

import (
	"context"

	"dlo/dlq"
)

// Who may know of what, where the store does not already leave it out: pages and
// the API ask the same questions. Somebody who is limited to some sources knows
// of what is theirs alone; a thing that names no source is about everything.

// seesAuditRow says whether somebody may read a row of the trail.
func seesAuditRow(by dlq.Actor, r dlq.AuditRow) bool { return seesThingOf(by, r.Source) }

// seesAlert says whether somebody may know of an alert.
func seesAlert(by dlq.Actor, a dlq.Alert) bool { return seesThingOf(by, a.Source) }

func seesThingOf(by dlq.Actor, source string) bool {
	return len(by.Sources) == 0 || source != "" && by.SeesSource(source)
}

// mayPauseAll says whether somebody may use the one switch for every source.
func mayPauseAll(by dlq.Actor) bool { return by.May(dlq.MayPause) && len(by.Sources) == 0 }

// visibleAlert finds an alert that somebody may know of.
func (h *Handlers) visibleAlert(ctx context.Context, by dlq.Actor, id string) (dlq.Alert, error) {
	a, err := h.Store.Alert(ctx, id)
	if err == nil && !seesAlert(by, a) {
		err = dlq.Errorf(dlq.KindNotFound, "there is no such alert")
	}
	return a, err
}

// visibleOperations leaves out the operations that somebody may not know of.
func (h *Handlers) visibleOperations(ctx context.Context, by dlq.Actor, list []dlq.Operation) ([]dlq.Operation, error) {
	if len(by.Sources) == 0 {
		return list, nil
	}
	var out []dlq.Operation
	for _, o := range list {
		sees, err := h.Store.SeesOperation(ctx, by, o)
		if err != nil {
			return nil, err
		}
		if sees {
			out = append(out, o)
		}
	}
	return out, nil
}

// visibleOperation finds an operation that somebody may know of.
func (h *Handlers) visibleOperation(ctx context.Context, by dlq.Actor, id string) (dlq.Operation, error) {
	o, err := h.Store.Operation(ctx, id)
	if err != nil {
		return o, err
	}
	sees, err := h.Store.SeesOperation(ctx, by, o)
	if err == nil && !sees {
		err = dlq.Errorf(dlq.KindNotFound, "there is no such operation")
	}
	return o, err
}
