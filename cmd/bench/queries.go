package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dlo/db"
	"dlo/dlq"
)

const (
	growthMost     = 1.5                   // P5: of what grows with the history or not at all
	growthFloor    = 50 * time.Microsecond // what is quicker in both sizes is noise
	groupTimes     = 200.0                 // P6 at small
	groupTimesFull = 1_000.0               // P6 at full
	slowest        = 10 * time.Millisecond // P7, at the 95th percentile, at full
	slowestSmall   = 50 * time.Millisecond // at small, which runs where much else runs beside it
	queryRounds    = 100
	queryWarm      = 10
	queryParts     = 5
)

type queriesBench struct {
	scale
	Dir string `help:"Where the databases are built; the system's folder for temporary files by default. They are removed afterwards." placeholder:"FOLDER"`
}

// subject is what the questions of one database are about.
type subject struct {
	store   *db.Store
	by      dlq.Actor
	limited dlq.Actor
	cohort  string // the one with most that is stuck
	old     string // the one with the longest history
	fixed   string // the one of which a fix is declared, with most that is stuck
	next    string // the cursor after its first page
	entry   dlq.Entry
}

// question is one that a screen, a list or a report asks.
type question struct {
	name  string
	grows bool // held to P5, which names cohort lists and pages, the oldest, aging, depth, look-ups; the others are held to P7 alone
	ask   func(ctx context.Context, s *subject) error
}

// questions are all that is measured. A screen's new query is a line here.
func questions() []question {
	list := func(q dlq.CohortQuery, limited bool) func(context.Context, *subject) error {
		return func(ctx context.Context, s *subject) error {
			by := s.by
			if limited {
				by = s.limited
			}
			list, _, err := s.store.Cohorts(ctx, by, q, "", 50)
			return atLeastOne(len(list), err)
		}
	}
	entries := func(text string, sort dlq.EntrySort) func(context.Context, *subject) error {
		q := mustQuery(text)
		return func(ctx context.Context, s *subject) error {
			list, _, err := s.store.Entries(ctx, s.by, q, sort, "", 50)
			return atLeastOne(len(list), err)
		}
	}
	failures := false
	var out []question
	for _, sort := range dlq.CohortSorts {
		out = append(out, question{"cohort list by " + string(sort), true, list(dlq.CohortQuery{Review: &failures, Open: true, Sort: sort}, false)})
	}
	out = append(out,
		question{"cohort list of a class", true, list(dlq.CohortQuery{Review: &failures, Open: true, Class: "transient", Sort: dlq.CohortsByNeed}, false)},
		question{"cohort list of a query", true, list(dlq.CohortQuery{Review: &failures, Open: true, Having: mustQuery("parser:" + parserOf(historyDays-1) + " content:application/pdf"), Sort: dlq.CohortsByNeed}, false)},
		question{"cohort list of two sources", true, list(dlq.CohortQuery{Review: &failures, Open: true, Sort: dlq.CohortsByNeed}, true)},
		question{"cohort list, archived", true, list(dlq.CohortQuery{Status: dlq.StatusArchived, Sort: dlq.CohortsByDepth}, false)},
		question{"cohort list of a proof", false, list(dlq.CohortQuery{Review: &failures, Open: true, Having: mustQuery("proof:none"), Sort: dlq.CohortsByNeed}, false)},
		question{"how many cohorts", true, func(ctx context.Context, s *subject) error {
			n, _, err := s.store.CountCohorts(ctx, s.by, dlq.CohortQuery{Review: &failures, Open: true, Class: "transient"})
			return atLeastOne(int(n), err)
		}},
		question{"totals", true, func(ctx context.Context, s *subject) error { _, err := s.store.Totals(ctx, s.by); return err }},
		question{"totals of two sources", false, func(ctx context.Context, s *subject) error { _, err := s.store.Totals(ctx, s.limited); return err }},
		question{"cohort page", true, func(ctx context.Context, s *subject) error {
			_, err := s.store.Cohort(ctx, s.by, s.cohort)
			return err
		}},
		question{"cohort page, page 1 of documents", true, cohortEntries(func(*subject) string { return "" })},
		question{"cohort page, next page", true, cohortEntries(func(s *subject) string { return s.next })},
		question{"cohort page, replays", false, func(ctx context.Context, s *subject) error {
			_, err := s.store.CohortRedrives(ctx, s.by, s.cohort, 50)
			return err
		}},
		question{"versions by month", false, func(ctx context.Context, s *subject) error {
			list, err := s.store.VersionMonths(ctx, s.by, s.old)
			return atLeastOne(len(list), err)
		}},
		question{"oldest of each source", true, func(ctx context.Context, s *subject) error {
			list, err := s.store.OldestOfSources(ctx, s.by)
			return atLeastOne(len(list), err)
		}},
		question{"aging", true, func(ctx context.Context, s *subject) error {
			day := 24 * time.Hour
			_, err := s.store.Aging(ctx, s.by, []time.Duration{0, day, 7 * day, 30 * day, 90 * day})
			return err
		}},
		question{"depth over 90 days", true, func(ctx context.Context, s *subject) error {
			_, err := s.store.DepthByDay(ctx, s.by, 90)
			return err
		}},
		question{"look-up", true, func(ctx context.Context, s *subject) error {
			_, err := s.store.EntryByDoc(ctx, s.by, s.entry.Source, s.entry.DocID)
			return err
		}},
		question{"document", true, func(ctx context.Context, s *subject) error {
			_, err := s.store.Entry(ctx, s.by, s.entry.DLQID)
			if err == nil {
				_, err = s.store.Attempts(ctx, s.entry.ID, 50)
			}
			return err
		}},
		question{"documents stuck", true, entries("status:parked", dlq.SortLastSeen)},
		question{"documents of a proof", false, entries("status:parked proof:none", dlq.SortLastSeen)},
		question{"documents of a class", true, entries("status:parked class:transient", dlq.SortLastSeen)},
		question{"documents of a source", false, entries("status:parked source:source-1", dlq.SortLastSeen)},
		question{"documents of two sources", false, entries("source:source-1,source-2", dlq.SortLastSeen)},
		question{"documents of a source, by opening", false, entries("status:open source:source-1", dlq.SortOldest)},
		question{"documents but of a source", false, entries("-source:source-1", dlq.SortAttempts)},
		question{"documents stuck longest", true, entries("status:parked", dlq.SortOldest)},
		question{"documents that leave soon", true, entries("status:parked expires:<7d", dlq.SortExpires)},
		question{"count of a class", false, func(ctx context.Context, s *subject) error {
			n, err := s.store.CountEntries(ctx, s.by, mustQuery("status:parked class:transient"))
			return atLeastOne(int(n), err)
		}},
		question{"choices of the filters", false, func(ctx context.Context, s *subject) error { _, err := s.store.FilterChoices(ctx); return err }},
		question{"completion of a type", false, func(ctx context.Context, s *subject) error {
			list, err := s.store.QueryValues(ctx, s.by, "type", "Err", 10)
			return atLeastOne(len(list), err)
		}},
		question{"cohort page, fixes", true, func(ctx context.Context, s *subject) error {
			_, err := s.store.Fixes(ctx, s.by, []string{s.fixed})
			return err
		}},
		question{"report of versions, a year", false, func(ctx context.Context, s *subject) error {
			list, _, err := s.store.VersionReport(ctx, s.by, dlq.VersionReportQuery{From: benchNow.AddDate(-1, 0, 0)}, 2000)
			return atLeastOne(len(list), err)
		}},
		question{"what stopped", false, func(ctx context.Context, s *subject) error {
			_, _, err := s.store.StoppedSince(ctx, benchNow.Add(-time.Hour))
			return err
		}},
		question{"operations", false, func(ctx context.Context, s *subject) error {
			_, err := s.store.Operations(ctx, "", 50)
			return err
		}},
	)
	return out
}

func cohortEntries(cursor func(*subject) string) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		list, _, err := s.store.Entries(ctx, s.by, mustQuery("status:parked cohort:"+s.cohort), dlq.SortLastSeen, cursor(s), 50)
		return atLeastOne(len(list), err)
	}
}

func mustQuery(text string) dlq.Query {
	q, bad := dlq.ParseQuery(text)
	if len(bad) > 0 {
		panic(fmt.Sprintf("a query of the bench was not understood: %v", bad))
	}
	return q
}

func atLeastOne(n int, err error) error {
	if err == nil && n == 0 {
		err = errors.New("nothing was found to measure")
	}
	return err
}

// took is how long a question took.
type took struct{ p50, p95 time.Duration }

// Run measures every question at both sizes, and the cohort list against the
// GROUP BY that it replaces.
func (b queriesBench) Run(ctx context.Context) error {
	smallSize, largeSize := b.entries()
	if b.Scale == "full" {
		historyDays = 3650
	}
	small, _, _, err := b.measure(ctx, smallSize)
	if err != nil {
		return err
	}
	large, group, faults, err := b.measure(ctx, largeSize)
	if err != nil {
		return err
	}
	fmt.Printf("\n  %-34s %10s %10s %10s %8s\n", "p50, and p95 at the larger size", fmt.Sprintf("%dk", smallSize/1000), fmt.Sprintf("%dk", largeSize/1000), "p95", "growth")
	grew, slow := 0.0, time.Duration(0)
	for i, q := range questions() {
		growth := float64(max(large[i].p50, growthFloor)) / float64(max(small[i].p50, growthFloor))
		if q.grows {
			grew = max(grew, growth)
		}
		slow = max(slow, large[i].p95)
		fmt.Printf("  %-34s %10s %10s %10s %7.2f×\n", q.name, small[i].p50.Round(time.Microsecond), large[i].p50.Round(time.Microsecond), large[i].p95.Round(time.Microsecond), growth)
	}
	bound, most := groupTimes, slowestSmall
	if b.Scale == "full" {
		bound, most = groupTimesFull, slowest
	}
	times := float64(group.entries) / float64(group.counters)
	fmt.Printf("P5 what grows most takes %.2f times as long with ten times the entries (at most %.1f)\n", grew, growthMost)
	fmt.Printf("P6 the cohort list takes %s from its counters and %s by a GROUP BY over the entries: %.0f times as long (at least %.0f)\n", group.counters.Round(time.Microsecond), group.entries.Round(time.Millisecond), times, bound)
	fmt.Printf("P7 the slowest takes %s at the 95th percentile (less than %s)\n", slow.Round(time.Microsecond), most)
	fmt.Printf("P13 recount: %d rows differ\n", len(faults))
	var failed []string
	for claim, holds := range map[string]bool{"P5": grew <= growthMost, "P6": times >= bound, "P7": slow < most, "P13": len(faults) == 0} {
		if !holds {
			failed = append(failed, claim)
		}
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		return fmt.Errorf("queries: %v out of bounds", failed)
	}
	return nil
}

// grouped is the cohort list from counters, and from entries.
type grouped struct{ counters, entries time.Duration }

// measure builds a database of so many entries, asks every question, and
// recounts. Each question's plan is held to read no table whole.
func (b queriesBench) measure(ctx context.Context, entries int) (times []took, group grouped, faults []string, err error) {
	dir, err := os.MkdirTemp(b.Dir, "dlo-bench-")
	if err != nil {
		return nil, group, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "dlo.db")
	var asked sync.Map
	o := db.Options{Path: path, Key: make([]byte, 32), Clock: func() time.Time { return benchNow }, Asked: func(query string, args []any) { asked.LoadOrStore(query, args) }}
	began := time.Now()
	if err := buildHistory(ctx, o, entries); err != nil {
		return nil, group, nil, fmt.Errorf("build %d entries: %w", entries, err)
	}
	store, err := db.Open(ctx, o)
	if err != nil {
		return nil, group, nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	size, _ := store.Size()
	fmt.Printf("built %d entries in %s, %.2f GB\n", entries, time.Since(began).Round(time.Second), float64(size)/1e9)
	s, err := subjectOf(ctx, store)
	if err != nil {
		return nil, group, nil, err
	}
	began = time.Now()
	if times, err = askAll(ctx, s); err != nil {
		return nil, group, nil, err
	}
	fmt.Printf("  asked everything %d times in %s\n", queryRounds, time.Since(began).Round(time.Second))
	if group, err = groupBy(ctx, path); err != nil {
		return nil, group, nil, err
	}
	if err := holdPlans(ctx, store, &asked); err != nil {
		return nil, group, nil, err
	}
	began = time.Now()
	faults, err = store.Check(ctx)
	fmt.Printf("  recounted in %s: %d rows differ\n", time.Since(began).Round(time.Second), len(faults))
	for _, fault := range faults[:min(5, len(faults))] {
		fmt.Println("  ", fault)
	}
	return times, group, faults, err
}

func holdPlans(ctx context.Context, store *db.Store, asked *sync.Map) error {
	var err error
	asked.Range(func(query, args any) bool {
		steps, explainErr := store.ReadsWholeTable(ctx, query.(string), args.([]any))
		if explainErr != nil {
			err = errors.Join(err, explainErr)
		}
		if len(steps) > 0 {
			err = errors.Join(err, fmt.Errorf("%v in the plan of %s", steps, query))
		}
		return true
	})
	return err
}

// subjectOf finds what the questions are about.
func subjectOf(ctx context.Context, store *db.Store) (*subject, error) {
	s := &subject{store: store, by: dlq.Policy("bench"), limited: dlq.Policy("bench")}
	s.limited.Sources = []string{"source-1", "source-2"}
	list, _, err := store.Cohorts(ctx, s.by, dlq.CohortQuery{Open: true}, "", 1)
	if err := atLeastOne(len(list), err); err != nil {
		return s, err
	}
	s.cohort = list[0].ID
	if list, _, err = store.Cohorts(ctx, s.by, dlq.CohortQuery{Sort: dlq.CohortsByArrivals}, "", 1); err != nil {
		return s, err
	}
	s.old = list[0].ID
	if list, _, err = store.Cohorts(ctx, s.by, dlq.CohortQuery{Open: true, Having: mustQuery("fix:declared")}, "", 1); err != nil || len(list) == 0 {
		return s, errors.Join(err, errors.New("no cohort has a fix"))
	}
	s.fixed = list[0].ID
	entries, next, err := store.Entries(ctx, s.by, mustQuery("status:parked cohort:"+s.cohort), dlq.SortLastSeen, "", 50)
	if err != nil || next == "" {
		return s, errors.Join(err, errors.New("the largest cohort has one page alone"))
	}
	s.next, s.entry = next, entries[len(entries)/2]
	return s, nil
}

// askAll asks each question often, in turn, so that noise falls on all alike.
func askAll(ctx context.Context, s *subject) ([]took, error) {
	list := questions()
	times := make([][]time.Duration, len(list))
	for round := range queryRounds + queryWarm {
		for i, q := range list {
			began := time.Now()
			if err := q.ask(ctx, s); err != nil {
				return nil, fmt.Errorf("%s: %w", q.name, err)
			}
			if round >= queryWarm { // the first rounds warm the caches
				times[i] = append(times[i], time.Since(began))
			}
		}
	}
	out := make([]took, len(list))
	for i, t := range times {
		out[i] = took{quietest(t, 50), quietest(t, 95)}
	}
	return out, nil
}

// quietest is a percentile of the quietest of some parts of a measurement: what
// else runs on the machine only ever adds to it.
func quietest(t []time.Duration, percentile int) time.Duration {
	least := time.Duration(0)
	for part := range slices.Chunk(t, len(t)/queryParts) {
		sorted := slices.Clone(part)
		slices.Sort(sorted)
		if value := sorted[len(sorted)*percentile/100]; least == 0 || value < least {
			least = value
		}
	}
	return least
}

const (
	fromCounters = `select k.id, k.parked, k.quarantined, k.resolved, k.oldest_opened, k.last_seen from cohort k where k.review = 0 and k.merged_into is null order by k.parked desc, k.id desc limit 50`
	fromEntries  = `select f.cohort_id, count(case when e.status = 'parked' then 1 end) as parked, count(case when e.status = 'quarantined' then 1 end), count(case when e.status = 'resolved' then 1 end),
		min(case when e.status = 'parked' then e.opened_at end), max(e.last_seen) from entry e join fingerprint f on f.id = e.fingerprint_id group by f.cohort_id order by parked desc, f.cohort_id desc limit 50`
)

// groupBy reads the same list from the counters and from the entries.
func groupBy(ctx context.Context, path string) (grouped, error) {
	raw, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return grouped{}, err
	}
	defer raw.Close()
	raw.SetMaxOpenConns(1)
	read := func(query string, rounds int) (time.Duration, error) {
		var all []time.Duration
		for range rounds {
			began := time.Now()
			rows, err := raw.QueryContext(ctx, query)
			if err != nil {
				return 0, err
			}
			n := 0
			for rows.Next() {
				var id string
				var parked, quarantined, resolved int64
				var oldest, last sql.NullInt64
				if err := rows.Scan(&id, &parked, &quarantined, &resolved, &oldest, &last); err != nil {
					return 0, errors.Join(err, rows.Close())
				}
				n++
			}
			if err := errors.Join(rows.Err(), rows.Close(), atLeastOne(n, nil)); err != nil {
				return 0, err
			}
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		return all[len(all)/2], nil
	}
	var g grouped
	if g.counters, err = read(fromCounters, 51); err != nil {
		return g, err
	}
	g.entries, err = read(fromEntries, 3)
	return g, err
}
