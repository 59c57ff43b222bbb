package redrive

import (
	"context"
	"fmt"
	"time"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
)

// OutcomeStore is what taking in an outcome needs of the store.
type OutcomeStore interface {
	Redrive(ctx context.Context, id string) (dlq.Redrive, error)
	// RedriveSecrets are those that a source's reports may be signed with.
	RedriveSecrets(ctx context.Context, name string) ([]string, error)
	// ApplyOutcome settles an outcome, in any order and any number of times.
	ApplyOutcome(ctx context.Context, by dlq.Actor, o dlq.Outcome, fp *dlq.Fingerprint) (dlq.OutcomeReceipt, error)
}

// Reporter takes in what pipelines report.
type Reporter struct {
	Store OutcomeStore
	Clock func() time.Time
	Wake  func() // tells the runner that a place is free; may be nil
}

// Report takes in one outcome as JSON. An outcome of what is not known here is
// kept, and answered as not applied; it is no error. The errors are KindForbidden
// and those of dlq.ParseOutcome.
func (r *Reporter) Report(ctx context.Context, by dlq.Actor, body []byte) (dlq.OutcomeReceipt, error) {
	return r.ReportAt(ctx, by, body, r.Clock())
}

// ReportAt is Report for an outcome that was told at a moment of which the
// server is sure. It stands for the time in an outcome that names none.
func (r *Reporter) ReportAt(ctx context.Context, by dlq.Actor, body []byte, at time.Time) (dlq.OutcomeReceipt, error) {
	if !by.May(dlq.MayReport) {
		return dlq.OutcomeReceipt{}, dlq.Errorf(dlq.KindForbidden, "this token may not report outcomes")
	}
	o, err := dlq.ParseOutcome(body, at)
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	source, err := r.sourceOf(ctx, by, o)
	if err != nil {
		return dlq.OutcomeReceipt{}, err
	}
	o.Told = true
	receipt, err := r.Store.ApplyOutcome(ctx, by, o, fingerprintOf(&o, source))
	if err != nil {
		return dlq.OutcomeReceipt{}, fmt.Errorf("apply the outcome of redrive %q: %w", o.RedriveID, err)
	}
	if r.Wake != nil {
		r.Wake()
	}
	return receipt, nil
}

// sourceOf gives the source of a failed outcome that names its redrive alone:
// what little there is to group by may include it.
func (r *Reporter) sourceOf(ctx context.Context, by dlq.Actor, o dlq.Outcome) (string, error) {
	if o.Source != "" || o.Failure == nil || o.RedriveID == "" {
		return o.Source, nil
	}
	redriven, err := r.Store.Redrive(ctx, o.RedriveID)
	if dlq.KindOf(err) == dlq.KindNotFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find redrive %s: %w", o.RedriveID, err)
	}
	if !by.SeesSource(redriven.Source) {
		return "", nil
	}
	return redriven.Source, nil
}

// fingerprintOf gives what a failed outcome groups under, and cuts its long
// texts to what is kept. Nil: it names nothing to group by, and its document
// stays in the cohort that it is in.
func fingerprintOf(o *dlq.Outcome, source string) *dlq.Fingerprint {
	f := o.Failure
	if f == nil {
		return nil
	}
	grouped := *f
	grouped.Source = source
	made := fingerprint.OfEnvelope(grouped)
	o.Cut = dlq.CutTexts(f)
	if made.Mode == fingerprint.ModeNone {
		return nil
	}
	return &made
}
