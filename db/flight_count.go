package db

import (
	"fmt"

	"dlo/dlq"
)

// flightSums sums what a batch changes in the counts of operations, of replays and
// of deliveries, so that each is written once a batch and not once a redrive. It
// is written at the end of the batch, or as soon as a job asks how an operation
// stands: see countNow.
type flightSums struct {
	operations map[string]*itemSums
	steps      map[stepStand]int64
	replays    map[replayOf]*replaySum
	sources    map[int64]*deliverySums
}

type itemSums struct{ waiting, inFlight, settled, leftOut, cancelled int64 }

type stepStand struct {
	operation string
	step      int
	stands    string
}

type replayOf struct {
	cohort        string
	source, step  int64
	verdict       dlq.VerdictName
	presumed      bool
	other         dlq.VerdictName
	otherPresumed bool
	outcomeCohort string
}

type replaySum struct{ replays, lastAt int64 }

type deliverySums struct{ delivered, reported int64 }

// into gives the sums of a key, which need not be there yet.
func into[K comparable, V any](sums *map[K]*V, key K) *V {
	if *sums == nil {
		*sums = map[K]*V{}
	}
	v := (*sums)[key]
	if v == nil {
		v = new(V)
		(*sums)[key] = v
	}
	return v
}

func (f *flightSums) add(o flightSums) {
	for id, n := range o.operations {
		have := into(&f.operations, id)
		have.waiting += n.waiting
		have.inFlight += n.inFlight
		have.settled += n.settled
		have.leftOut += n.leftOut
		have.cancelled += n.cancelled
	}
	for k, n := range o.steps {
		f.stands(k, n)
	}
	for k, n := range o.replays {
		have := into(&f.replays, k)
		have.replays += n.replays
		have.lastAt = max(have.lastAt, n.lastAt)
	}
	for id, n := range o.sources {
		have := into(&f.sources, id)
		have.delivered += n.delivered
		have.reported += n.reported
	}
}

func (f *flightSums) stands(k stepStand, n int64) {
	if f.steps == nil {
		f.steps = map[stepStand]int64{}
	}
	f.steps[k] += n
}

// of gives the sum of a state.
func (s *itemSums) of(state dlq.ItemState) *int64 {
	switch state {
	case dlq.ItemWaiting:
		return &s.waiting
	case dlq.ItemInFlight:
		return &s.inFlight
	case dlq.ItemSettled:
		return &s.settled
	case dlq.ItemLeftOut:
		return &s.leftOut
	default:
		return &s.cancelled
	}
}

// countNow writes what the batch and the job have summed up to now, and ends the
// operations of which nothing waits or flies any more. Whoever reads how an
// operation stands, or counts anew, asks for it first. Should the job fail, the
// sums of the batch are taken up again: see Tx.run.
func (t *Tx) countNow() error {
	sums := t.sums
	if t.lent == nil {
		t.lent = &flightSums{}
	}
	t.lent.add(t.sums)
	sums.add(t.jobSums)
	t.sums, t.jobSums = flightSums{}, flightSums{}
	return t.applyFlights(sums)
}

func (t *Tx) applyFlights(sums flightSums) error {
	for k, n := range sums.steps {
		if n == 0 {
			continue
		}
		if _, err := t.exec(`insert into operation_tally (operation_id, step, stands, items) values ($1, $2, $3, $4)
			on conflict (operation_id, step, stands) do update set items = items + excluded.items`, k.operation, k.step, k.stands, n); err != nil {
			return fmt.Errorf("count the items of a step: %w", err)
		}
	}
	for id, n := range sums.operations {
		if _, err := t.exec(`update operation set waiting = waiting + $1, in_flight = in_flight + $2, settled = settled + $3, left_out = left_out + $4, cancelled = cancelled + $5, updated_at = $6 where id = $7`,
			n.waiting, n.inFlight, n.settled, n.leftOut, n.cancelled, ms(t.now), id); err != nil {
			return fmt.Errorf("count items: %w", err)
		}
		if n.inFlight < 0 {
			if err := t.finishOperation(id); err != nil {
				return err
			}
		}
	}
	for k, n := range sums.replays {
		if _, err := t.exec(`insert into replay_tally (cohort_id, source_id, step_id, verdict, presumed, other_verdict, other_presumed, outcome_cohort, replays, last_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			on conflict (cohort_id, source_id, step_id, verdict, presumed, other_verdict, other_presumed, outcome_cohort) do update set replays = replays + excluded.replays, last_at = max(last_at, excluded.last_at)`,
			k.cohort, k.source, k.step, k.verdict, k.presumed, k.other, k.otherPresumed, k.outcomeCohort, n.replays, n.lastAt); err != nil {
			return fmt.Errorf("count a replay: %w", err)
		}
	}
	for id, n := range sums.sources {
		if _, err := t.exec(`update source set delivered = delivered + $1, reported = reported + $2 where id = $3`, n.delivered, n.reported, id); err != nil {
			return fmt.Errorf("count deliveries: %w", err)
		}
	}
	return nil
}
