package handlers

import (
	"context"

	"dlo/dlq"
	"dlo/dlq/regroup"
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
	proofs, err := h.Store.CohortProofs(ctx, f.by, []dlq.Cohort{f.cohort})
	if err != nil {
		return err
	}
	proof := proofs[f.cohort.ID].Shown()
	if proof.State != dlq.ProofMixed {
		return nil
	}
	s := separated{proof: proof}
	if s.is, s.found, err = regroup.Separation(ctx, h.Store, f.by, f.cohort.ID, proof.Step); err != nil {
		return err
	}
	f.separated = &s
	return nil
}
