package handlers

import (
	"context"

	"dlo/dlq"
	"dlo/dlq/regroup"
	"dlo/views/cohort"

	"github.com/a-h/templ"
)

// separated is what tells passed from failed apart where a cohort's proof is
// mixed.
type separated struct {
	proof dlq.Proof
	found bool // something does
	is    dlq.Separation
}

// fillSeparated finds what tells passed from failed apart, where some of a cohort
// get past their error and some do not.
func (h *Handlers) fillSeparated(ctx context.Context, f *cohortFacts) error {
	proof := f.prove.proofs.Shown()
	if proof.State != dlq.ProofMixed {
		return nil
	}
	s := separated{proof: proof}
	var err error
	if s.is, s.found, err = regroup.Separation(ctx, h.Store, f.by, f.cohort.ID, proof.Step); err != nil {
		return err
	}
	f.separated = &s
	return nil
}

// separatesLive draws that anew for somebody who watches a redrive. While it sends,
// nothing is: each drawing would read the texts of hundreds of failures.
func (h *Handlers) separatesLive(ctx context.Context, f *cohortFacts) ([]templ.Component, error) {
	if f.prove.op.State == dlq.OperationRunning {
		return nil, nil
	}
	if err := h.fillSeparated(ctx, f); err != nil {
		return nil, err
	}
	var err error
	if f.separated != nil {
		f.grouping, err = h.Store.Grouping(ctx, f.by, f.cohort.ID)
	}
	return []templ.Component{cohort.SeparatesRegion(newSeparates(*f))}, err
}
