package handlers

import (
	"context"

	"dlo/dlq"
)

// What the API answers about one thing, for a command that reads beside the server
// and prints the same. Store and Now are all that it needs.

// EntryRow is a document in a list, as GET /dead-letters has it.
func EntryRow(e dlq.Entry) any { return newEntryRow(e) }

// EntryAnswer is GET /dead-letters/{dlq_id}.
func (h *Handlers) EntryAnswer(ctx context.Context, by dlq.Actor, dlqID string) (any, error) {
	e, err := h.Store.Entry(ctx, by, dlqID)
	if err != nil {
		return nil, err
	}
	return h.entryDetail(ctx, by, e)
}

// CohortAnswer is GET /cohorts/{id}.
func (h *Handlers) CohortAnswer(ctx context.Context, by dlq.Actor, id string) (any, error) {
	return h.cohortDetail(ctx, by, id)
}

// OperationAnswer is GET /operations/{id}.
func (h *Handlers) OperationAnswer(ctx context.Context, o dlq.Operation) (any, error) {
	return h.operationDetail(ctx, o)
}
