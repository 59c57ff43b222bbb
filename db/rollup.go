package db

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"dlo/dlq"
)

// deltas sums what a batch changes in the counters, so that each counter is
// written once a batch. The counters are written in the transaction of what
// they count: they are never behind, and Check recounts them.
type deltas struct {
	cohorts map[string]*cohortDelta
	cells   map[cellMonth]int64
	days    map[fingerprintDay]int64
	sources map[sourceDay]*sourceDelta
}

type cohortDelta struct {
	status    map[dlq.Status]int64
	arrivals  int64
	firstSeen int64
	lastSeen  int64
	// moved is how many of the stuck ones that came or went did so by a rule of
	// grouping or a refingerprinting alone. Nothing failed, so they bring no
	// cohort back.
	moved int64
	order orderDelta
}

type cellMonth struct {
	cell, month int64
	status      dlq.Status
}

type fingerprintDay struct{ fingerprint, source, day int64 }

type sourceDay struct {
	source, day int64
	review      bool
}

type sourceDelta struct {
	arrivals, opened, parked, unparked, resolved, assumed, archived, erased int64
	lastArrival                                                             int64
}

func newDeltas() deltas {
	return deltas{map[string]*cohortDelta{}, map[cellMonth]int64{}, map[fingerprintDay]int64{}, map[sourceDay]*sourceDelta{}}
}

func (d deltas) cohort(id string) *cohortDelta {
	c := d.cohorts[id]
	if c == nil {
		c = &cohortDelta{status: map[dlq.Status]int64{}}
		d.cohorts[id] = c
	}
	return c
}

func (d deltas) source(k sourceDay) *sourceDelta {
	s := d.sources[k]
	if s == nil {
		s = &sourceDelta{}
		d.sources[k] = s
	}
	return s
}

func (d deltas) add(o deltas) {
	for id, c := range o.cohorts {
		have := d.cohort(id)
		for status, n := range c.status {
			have.status[status] += n
		}
		have.arrivals += c.arrivals
		have.moved += c.moved
		have.lastSeen = max(have.lastSeen, c.lastSeen)
		have.firstSeen = earliest(have.firstSeen, c.firstSeen)
		have.order.add(c.order)
	}
	for k, n := range o.cells {
		d.cells[k] += n
	}
	for k, n := range o.days {
		d.days[k] += n
	}
	for k, s := range o.sources {
		have := d.source(k)
		have.arrivals += s.arrivals
		have.opened += s.opened
		have.parked += s.parked
		have.unparked += s.unparked
		have.resolved += s.resolved
		have.assumed += s.assumed
		have.archived += s.archived
		have.erased += s.erased
		have.lastArrival = max(have.lastArrival, s.lastArrival)
	}
}

func earliest(a, b int64) int64 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// place is where the counters see an entry.
type place struct {
	status      dlq.Status
	resolution  dlq.Resolution
	source      int64
	cell        int64
	fingerprint int64
	cohort      string
	review      bool
	openedAt    time.Time
	expiresAt   time.Time
	episode     int64
}

// countMove moves an entry's counters from where it was to where it is. The
// zero place is before its first arrival.
func (t *Tx) countMove(was, is place) {
	d := t.job
	if was.status != "" {
		d.cohort(was.cohort).status[was.status]--
		d.cells[cellMonth{was.cell, monthOf(was.openedAt), was.status}]--
	}
	d.cohort(is.cohort).status[is.status]++
	d.cells[cellMonth{is.cell, monthOf(is.openedAt), is.status}]++
	d.orderMove(was, is)
	today := dayOf(t.now)
	if was.status == dlq.StatusParked && (is.status != dlq.StatusParked || was.review != is.review) {
		d.source(sourceDay{was.source, today, was.review}).unparked++
	}
	day := d.source(sourceDay{is.source, today, is.review})
	if is.status == dlq.StatusParked && (was.status != dlq.StatusParked || was.review != is.review) {
		day.parked++
	}
	if was.status == "" || is.episode != was.episode {
		day.opened++
	}
	if was.status == is.status {
		return
	}
	switch {
	case is.status == dlq.StatusResolved && is.resolution == dlq.ResolvedAssumed:
		day.assumed++
	case is.status == dlq.StatusResolved:
		day.resolved++
	case is.status == dlq.StatusArchived:
		day.archived++
	case is.status == dlq.StatusErased:
		day.erased++
	}
}

// rehome says that of the entries which the job moves from a cohort to another
// some go there as they are, n of them in a state.
func (t *Tx) rehome(from, to string, status dlq.Status, n int64) {
	if from == to || !slices.Contains(stuckStates, status) {
		return
	}
	t.job.cohort(from).moved -= n
	t.job.cohort(to).moved += n
}

// countArrival counts one accepted arrival in a cohort, a day and a source.
func (t *Tx) countArrival(source int64, fp fingerprintRef, e dlq.Envelope) {
	at := *e.LastSeenAt
	c := t.job.cohort(fp.cohort)
	c.arrivals++
	c.lastSeen = max(c.lastSeen, ms(at))
	c.firstSeen = earliest(c.firstSeen, ms(*e.FirstSeenAt))
	t.job.days[fingerprintDay{fp.id, source, dayOf(at)}]++
	s := t.job.source(sourceDay{source, dayOf(t.now), fp.review})
	s.arrivals++
	s.lastArrival = max(s.lastArrival, ms(t.now))
}

// applyDeltas writes the sums of the batch. The order is fixed, so that two
// engines and two runs do the same.
func (t *Tx) applyDeltas() error {
	d := t.batch
	if err := t.applyFlights(t.sums); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(d.cohorts)) {
		c := d.cohorts[id]
		if _, err := t.exec(`update cohort set parked = parked + $1, redriving = redriving + $2, quarantined = quarantined + $3,
			archived = archived + $4, resolved = resolved + $5, erased = erased + $6, arrivals = arrivals + $7,
			first_seen = case when $8 > 0 and $8 < first_seen then $8 else first_seen end, last_seen = max(last_seen, $9),
			returned_at = case when parked + redriving + quarantined = 0 and archived + resolved + erased > 0 and $1 + $2 + $3 - $12 > 0 then $11 else returned_at end
			where id = $10`,
			c.status[dlq.StatusParked], c.status[dlq.StatusRedriving], c.status[dlq.StatusQuarantined],
			c.status[dlq.StatusArchived], c.status[dlq.StatusResolved], c.status[dlq.StatusErased], c.arrivals,
			c.firstSeen, c.lastSeen, id, ms(t.now), c.moved); err != nil {
			return fmt.Errorf("count in cohort: %w", err)
		}
		if err := t.applyOrder(id, c.order); err != nil {
			return err
		}
	}
	cells := map[int64]map[dlq.Status]int64{}
	for k, n := range d.cells {
		if n == 0 {
			continue
		}
		if cells[k.cell] == nil {
			cells[k.cell] = map[dlq.Status]int64{}
		}
		cells[k.cell][k.status] += n
		if _, err := t.exec(`insert into cell_month (cell_id, month, status, entries) values ($1, $2, $3, $4)
			on conflict (cell_id, month, status) do update set entries = entries + excluded.entries`,
			k.cell, k.month, k.status, n); err != nil {
			return fmt.Errorf("count in cell: %w", err)
		}
	}
	for id, c := range cells {
		if _, err := t.exec(`update cell set parked = parked + $1, redriving = redriving + $2, quarantined = quarantined + $3,
			archived = archived + $4, resolved = resolved + $5, erased = erased + $6 where id = $7`,
			c[dlq.StatusParked], c[dlq.StatusRedriving], c[dlq.StatusQuarantined], c[dlq.StatusArchived], c[dlq.StatusResolved], c[dlq.StatusErased], id); err != nil {
			return fmt.Errorf("count in cell: %w", err)
		}
	}
	for k, n := range d.days {
		if _, err := t.exec(`insert into fingerprint_day (fingerprint_id, source_id, day, arrivals) values ($1, $2, $3, $4)
			on conflict (fingerprint_id, source_id, day) do update set arrivals = arrivals + excluded.arrivals`,
			k.fingerprint, k.source, k.day, n); err != nil {
			return fmt.Errorf("count in day: %w", err)
		}
	}
	for k, s := range d.sources {
		if _, err := t.exec(`insert into source_day (source_id, day, review, arrivals, opened, parked, unparked, resolved, assumed, archived, erased)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
			on conflict (source_id, day, review) do update set arrivals = arrivals + excluded.arrivals, opened = opened + excluded.opened,
			parked = parked + excluded.parked, unparked = unparked + excluded.unparked, resolved = resolved + excluded.resolved,
			assumed = assumed + excluded.assumed, archived = archived + excluded.archived, erased = erased + excluded.erased`,
			k.source, k.day, k.review, s.arrivals, s.opened, s.parked, s.unparked, s.resolved, s.assumed, s.archived, s.erased); err != nil {
			return fmt.Errorf("count in source: %w", err)
		}
		if s.lastArrival == 0 {
			continue
		}
		if _, err := t.exec(`update source set last_arrival_at = max(last_arrival_at, $1) where id = $2`, s.lastArrival, k.source); err != nil {
			return fmt.Errorf("mark the source's last arrival: %w", err)
		}
	}
	return nil
}
