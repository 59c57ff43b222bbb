package db_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// manyCohorts is a store with cohorts in every standing: alerts, floods, fixes
// that run, were tried, came back, deadlines, quarantine, and decisions.
func manyCohorts(t testing.TB, seed uint64) *dbtest.DB {
	t.Helper()
	s := withTarget(t, "wiki", "leases")
	rnd := rand.New(rand.NewPCG(seed, 7))
	start := s.Now()
	var batch []dlq.Arrival
	for n := range 260 {
		defect, source := fmt.Sprint("E", rnd.IntN(24)), []string{"wiki", "leases"}[rnd.IntN(2)]
		at := start.Add(-time.Duration(rnd.IntN(100*24)) * time.Hour)
		if rnd.IntN(12) == 0 {
			at = start.Add(-time.Minute)
		}
		batch = append(batch, dlqtest.Arrival(dlqtest.Of(source, fmt.Sprint(n)), dlqtest.Defect(defect), dlqtest.Seen(at), dlqtest.FirstSeen(at), dlqtest.Received(start), dlqtest.Held(fmt.Sprint(n)),
			dlqtest.Class([]dlq.FailureClass{dlq.ClassTransient, dlq.ClassAmbiguousParse}[rnd.IntN(2)]),
			dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = fmt.Sprint("p", rnd.IntN(3)) })))
	}
	for n := range 25 { // a flood
		batch = append(batch, dlqtest.Arrival(dlqtest.Of("wiki", fmt.Sprint("flood", n)), dlqtest.Defect("Flood"), dlqtest.Seen(start), dlqtest.Received(start), dlqtest.Held(fmt.Sprint("flood", n))))
	}
	receipts, err := s.RecordArrivals(background, batch)
	if err != nil {
		t.Fatal(err)
	}
	cohorts := map[string]bool{}
	for i, r := range receipts {
		cohorts[r.Cohort] = true
		switch rnd.IntN(14) {
		case 0:
			bring(t, s, r.DLQID, dlq.StatusQuarantined)
		case 1:
			bring(t, s, r.DLQID, dlq.StatusArchived)
		case 2:
			send(t, s, r.DLQID)
		case 5, 6:
			sent := send(t, s, r.DLQID)
			s.Clock.Advance(time.Minute)
			report(t, s, dlq.Outcome{RedriveID: sent.ID, Result: dlq.OutcomeCommitted, Versions: dlq.Versions{"parser": fmt.Sprint("p", rnd.IntN(4))}})
		case 3:
			if err := s.Act(background, dlqtest.Reviewer, r.DLQID, dlq.Action{Kind: dlq.OperationExtend, Days: 60}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 100 {
			s.Clock.Advance(time.Hour)
			for source, version := range map[string]string{"wiki": "p2", "leases": "p1"} {
				if _, err := s.RecordDeployment(background, dlqtest.Admin, source, "parser", version, nil); err != nil {
					t.Fatal(err)
				}
			}
			s.Clock.Advance(time.Hour)
		}
	}
	for i, id := range slices.Sorted(keysOf(cohorts)) {
		switch i % 8 {
		case 0:
			s.Exec(t, `insert into fix (id, cohort_id, component, version, declared_at, actor) values ($1, $2, 'parser', $3, 1, 'x')`, fmt.Sprint("fix", i), id, fmt.Sprint("p", rnd.IntN(5)))
		case 1:
			s.Exec(t, `insert into alert (id, rule, subject, state, source_id, cohort_id, why, since, updated_at) values ($1, 'downstream_contract', $2, $3, $4, $5, '', 1, 1)`, fmt.Sprint("alert", i), "cohort:"+id, []string{"firing", "acknowledged"}[rnd.IntN(2)], 1+rnd.IntN(2), id)
		case 2:
			if rnd.IntN(2) == 0 {
				if err := s.DisposeCohort(background, dlqtest.Reviewer, id, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode}); err != nil {
					t.Fatal(err)
				}
			}
		case 4, 5: // a redrive in steps that did not go to its end
			if rnd.IntN(2) == 0 {
				s.Exec(t, `insert into operation (id, kind, state, asks, query, expect, reason, actor_kind, actor_id, actor_name, total, cohort_id, created_at, updated_at) values ($1, 'redrive', $2, $3, '', 1, 'x', $4, $5, 'x', 1, $6, 1, 1)`,
					fmt.Sprint("redrive", i), []string{"stopped", "running", "paused"}[rnd.IntN(3)], []string{"step", "target"}[rnd.IntN(2)], dlqtest.Admin.Kind, dlqtest.Admin.ID, id)
			}
		case 3: // a version that nothing failed under
			s.Exec(t, `insert into fix (id, cohort_id, component, version, declared_at, actor) values ($1, $2, 'parser', 'p9', 1, 'x')`, fmt.Sprint("fix", i), id)
		}
	}
	if _, err := s.RecordDeployment(background, dlqtest.Admin, "wiki", "parser", "p9", []string{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func keysOf[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// allCohorts reads a list to its end, some rows a page.
func allCohorts(t testing.TB, s *dbtest.DB, by dlq.Actor, q dlq.CohortQuery) []dlq.Cohort {
	t.Helper()
	var out []dlq.Cohort
	for cursor := ""; ; {
		list, next, err := s.Cohorts(background, by, q, cursor, 4)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list...)
		if next == "" {
			return out
		}
		cursor = next
	}
}

func TestTheOrderOfNeedsIsTheRuleOfNeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("a rule of what is stored, which starts nothing: it is held in the whole run")
	}
	found := map[dlq.Need]int{}
	for seed := range uint64(6) {
		s := manyCohorts(t, seed)
		for _, by := range []dlq.Actor{dlqtest.Admin, dlqtest.Only(dlqtest.Reviewer, "wiki")} {
			for _, q := range []dlq.CohortQuery{{Open: true}, {}, {Open: true, Class: "transient"}, {Open: true, Having: query(t, "parser:p0 status:parked")}, {Status: dlq.StatusQuarantined}} {
				q.Sort = dlq.CohortsByNeed
				list := allCohorts(t, s, by, q)
				want := slices.Clone(list)
				depth := func(c dlq.Cohort) int64 {
					if q.Status != "" {
						return c.Counts[q.Status]
					}
					return c.Parked()
				}
				slices.SortFunc(want, func(a, b dlq.Cohort) int {
					return cmp.Or(cmp.Compare(dlq.NeedOf(a, s.Now()), dlq.NeedOf(b, s.Now())), cmp.Compare(depth(b), depth(a)), cmp.Compare(b.ID, a.ID))
				})
				for i := range list {
					found[dlq.NeedOf(list[i], s.Now())]++
					if list[i].ID != want[i].ID {
						t.Fatalf("seed %d, %v of %v: row %d is %s, which needs %d, and %s needs %d", seed, q, by.Sources, i, list[i].ID, dlq.NeedOf(list[i], s.Now()), want[i].ID, dlq.NeedOf(want[i], s.Now()))
					}
				}
			}
		}
		s.Exec(t, `delete from operation where id like 'redrive%'`) // which hold nothing
		s.MustHold(t)
	}
	for need := dlq.NeedLook; need <= dlq.NeedDecided; need++ {
		if found[need] == 0 {
			t.Errorf("no cohort needs %d: the test tells nothing of it", need)
		}
	}
}

func TestEveryOrderShowsEachCohortOnceAndInItsOrder(t *testing.T) {
	s := manyCohorts(t, 3)
	for _, by := range []dlq.Actor{dlqtest.Admin, dlqtest.Only(dlqtest.Reviewer, "leases")} {
		for _, q := range []dlq.CohortQuery{{}, {Open: true}, {Open: true, Class: "transient"}} {
			var ids []string
			for _, sort := range dlq.CohortSorts {
				q.Sort = sort
				list := allCohorts(t, s, by, q)
				var got []string
				for i, c := range list {
					got = append(got, c.ID)
					if i == 0 {
						continue
					}
					before := list[i-1]
					ok := true
					switch sort {
					case dlq.CohortsByDepth:
						ok = before.Parked() >= c.Parked()
					case dlq.CohortsByAge:
						ok = c.Oldest.IsZero() || !before.Oldest.IsZero() && !before.Oldest.After(c.Oldest)
					case dlq.CohortsByExpiry:
						ok = c.Standing.NextExpiry.IsZero() || !before.Standing.NextExpiry.IsZero() && !before.Standing.NextExpiry.After(c.Standing.NextExpiry)
					case dlq.CohortsByArrivals:
						ok = before.Arrivals >= c.Arrivals
					}
					if !ok {
						t.Errorf("%v of %v by %s: %s comes before %s", q, by.Sources, sort, before.ID, c.ID)
					}
				}
				slices.Sort(got)
				if ids == nil {
					ids = got
				}
				if !slices.Equal(got, ids) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("%v of %v by %s: the pages hold other cohorts than by %s", q, by.Sources, sort, dlq.CohortSorts[0])
				}
				if n, documents, err := s.CountCohorts(background, by, q); err != nil || n != int64(len(list)) || documents != sumParked(list) {
					t.Errorf("%v of %v: counted %d with %d, %v; the pages hold %d with %d", q, by.Sources, n, documents, err, len(list), sumParked(list))
				}
			}
		}
	}
}

func sumParked(list []dlq.Cohort) int64 {
	var sum int64
	for _, c := range list {
		sum += c.Parked()
	}
	return sum
}

// The numbers of a part are what the list of documents counts for the same
// question.
func TestTheNumbersOfAPartAreThoseOfItsDocuments(t *testing.T) {
	s := manyCohorts(t, 5)
	for _, by := range []dlq.Actor{dlqtest.Admin, dlqtest.Only(dlqtest.Reviewer, "wiki")} {
		for _, text := range []string{"class:transient", "source:leases", "parser:p0,p1 -class:transient", "type:E3", "parser:p2 status:parked", "-parser:p2", "source:nowhere"} {
			having := query(t, text)
			listed := map[string]bool{}
			for _, c := range allCohorts(t, s, by, dlq.CohortQuery{Having: having}) {
				listed[c.ID] = true
				cells, _, _ := having.Split()
				for _, status := range dlq.Statuses {
					q := query(t, "cohort:"+c.ID+" status:"+string(status))
					all, err := s.CountEntries(background, by, q)
					if err != nil {
						t.Fatal(err)
					}
					q.Terms = append(q.Terms, cells.Terms...)
					n, err := s.CountEntries(background, by, q)
					if err != nil || n != c.Counts[status] || all != c.Whole[status] {
						t.Errorf("%q of %v: %s has %d of %d %s, and its documents are %d of %d, %v", text, by.Sources, c.ID, c.Counts[status], c.Whole[status], status, n, all, err)
					}
				}
			}
			for _, c := range allCohorts(t, s, by, dlq.CohortQuery{}) {
				q := query(t, text+" cohort:"+c.ID)
				if n, err := s.CountEntries(background, by, q); err != nil || (n > 0) != listed[c.ID] {
					t.Errorf("%q of %v: %d documents of %s match, %v, and it is listed: %v", text, by.Sources, n, c.ID, err, listed[c.ID])
				}
			}
		}
	}
}

func TestATermAboutDocumentsChoosesCohortsAndNarrowsNothing(t *testing.T) {
	s := withTarget(t)
	for i, age := range []int{1, 40, 2} {
		at := s.Now().AddDate(0, 0, -age)
		s.Park(t, dlqtest.Doc(fmt.Sprint(i)), dlqtest.Defect([]string{"A", "A", "B"}[i]), dlqtest.Seen(at), dlqtest.FirstSeen(at))
	}
	list := allCohorts(t, s, dlqtest.Admin, dlq.CohortQuery{Open: true, Having: query(t, "age:>30d")})
	if len(list) != 1 || list[0].ErrorType != "A" || list[0].Parked() != 2 || list[0].Whole != nil {
		t.Errorf("got %+v", list)
	}
}

func TestACohortThatIsMergedIsInNoListAndNoTotal(t *testing.T) {
	s := withTarget(t)
	kept, gone := s.Park(t, dlqtest.Doc("1"), dlqtest.Defect("A")), s.Park(t, dlqtest.Doc("2"), dlqtest.Defect("B"))
	s.Exec(t, `update cohort set merged_into = $1 where id = $2`, kept.Cohort, gone.Cohort)
	if list := allCohorts(t, s, dlqtest.Admin, dlq.CohortQuery{}); len(list) != 1 || list[0].ID != kept.Cohort {
		t.Errorf("got %+v", list)
	}
	if c, err := s.Cohort(background, dlqtest.Admin, gone.Cohort); err != nil || c.ID != kept.Cohort {
		t.Errorf("its own page is that of %v, %v", c.ID, err)
	}
}

// Nobody learns from a cursor how large a cohort is beyond what they may see.
func TestACursorSaysNothingOfOtherSources(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i := range 9 {
		s.Park(t, dlqtest.Of("leases", fmt.Sprint(i)), dlqtest.Defect("A"))
	}
	s.Park(t, dlqtest.Of("wiki", "1"), dlqtest.Defect("A"))
	s.Park(t, dlqtest.Of("wiki", "2"), dlqtest.Defect("B"))
	for _, sort := range []dlq.CohortSort{dlq.CohortsByDepth, dlq.CohortsByArrivals} {
		list, next, err := s.Cohorts(background, dlqtest.Only(dlqtest.Reviewer, "wiki"), dlq.CohortQuery{Sort: sort}, "", 1)
		if err != nil || next != string(sort)+"-1-"+list[0].ID {
			t.Errorf("by %s: %q, %v", sort, next, err)
		}
	}
}

func TestACohortReturnsWhenSomethingOfItIsStuckAgain(t *testing.T) {
	s := withTarget(t)
	before := s.Now().Add(-time.Second)
	r := s.Park(t, dlqtest.Doc("1"), dlqtest.Defect("A"), dlqtest.Held("1"))
	back := func() int64 {
		n, _, err := s.CountCohorts(background, dlqtest.Admin, dlq.CohortQuery{Open: true, Back: before})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.Park(t, dlqtest.Doc("2"), dlqtest.Defect("A"))
	if back() != 0 {
		t.Error("a new cohort is said to be back")
	}
	bring(t, s, r.DLQID, dlq.StatusArchived)
	if err := s.Act(background, dlqtest.Reviewer, r.DLQID, dlq.Action{Kind: dlq.OperationRestore}); err != nil {
		t.Fatal(err)
	}
	if back() != 0 {
		t.Error("it is said to be back while another document was stuck all along")
	}
	for _, c := range allCohorts(t, s, dlqtest.Admin, dlq.CohortQuery{}) {
		list, _, err := s.Entries(background, dlqtest.Admin, query(t, "cohort:"+c.ID), dlq.SortLastSeen, "", 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			bring(t, s, e.DLQID, dlq.StatusArchived)
		}
	}
	s.Clock.Advance(time.Hour)
	s.Park(t, dlqtest.Doc("3"), dlqtest.Defect("A"), dlqtest.Seen(s.Now()))
	if back() != 1 {
		t.Error("it is not said to be back")
	}
}

func TestTheOrderOfACohortIsRecountedAndMended(t *testing.T) {
	s := withTarget(t)
	for i := range 3 {
		at := s.Now().AddDate(0, 0, -i)
		s.Park(t, dlqtest.Doc(fmt.Sprint(i)), dlqtest.Seen(at), dlqtest.FirstSeen(at))
	}
	s.MustHold(t)
	for _, damage := range []string{`update cohort set oldest_opened = 1`, `update cohort set next_expiry = null`, `update cell set parked = parked + 1`} {
		s.Exec(t, damage)
		if faults, err := s.Check(background); err != nil || len(faults) == 0 {
			t.Errorf("%s: the check finds nothing, %v", damage, err)
		}
		if err := s.RepairCounters(background); err != nil {
			t.Fatal(err)
		}
		s.MustHold(t)
	}
}
