package db_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func under(component, version string) func(*dlq.Arrival) {
	return dlqtest.With(func(e *dlq.Envelope) {
		e.ParserVersion = ""
		e.Versions = map[string]string{component: version}
	})
}

func TestNotRunningNowIsAboutTheSourceOfEachDocument(t *testing.T) {
	s := withTarget(t, "wiki", "leases", "silent")
	for i, source := range []string{"wiki", "leases", "silent"} {
		s.Park(t, dlqtest.Of(source, source+" old"), under("parser", "1"), dlqtest.Event(fmt.Sprint("a", i)))
		s.Park(t, dlqtest.Of(source, source+" new"), under("parser", "2"), dlqtest.Event(fmt.Sprint("b", i)))
		s.Park(t, dlqtest.Of(source, source+" other"), under("mapper", "1"), dlqtest.Event(fmt.Sprint("c", i)))
	}
	deploy := func(source, component, version string, stopped []string) {
		t.Helper()
		s.Clock.Advance(time.Minute)
		if _, err := s.RecordDeployment(background, dlqtest.Admin, source, component, version, stopped); err != nil {
			t.Fatal(err)
		}
	}
	check := func(text string, want ...string) {
		t.Helper()
		if got := found(t, s, text); !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", text, got, want)
		}
	}
	check("parser:!current") // nobody said what runs
	check("parser:current")
	deploy("wiki", "parser", "1", nil)
	deploy("wiki", "parser", "2", nil)
	deploy("leases", "parser", "1", nil)
	check("parser:!current", "leases new", "wiki old")
	check("parser:current", "leases old", "wiki new")
	check("-parser:!current", "leases old", "leases other", "silent new", "silent old", "silent other", "wiki new", "wiki other")
	check("parser:1,!current", "leases new", "leases old", "silent old", "wiki old")
	deploy("wiki", "parser", "1", nil) // a rollback: what fails under 2 does not run
	check("source:wiki parser:!current", "wiki new")
	deploy("wiki", "parser", "2", []string{}) // both run, as in a rolling deploy
	check("source:wiki parser:!current")
	check("version:parser@!current", "leases new")
	check("version:mapper@1", "leases other", "silent other", "wiki other")
	check("version:mapper@!current")
	deploy("wiki", "mapper", "2.5.0", nil)
	check("version:mapper@!current", "wiki other")
}

func TestMineIsWhoeverAsks(t *testing.T) {
	s := withTarget(t, "wiki")
	for i, owner := range []string{dlqtest.Reviewer.Name, dlqtest.Admin.Name, ""} {
		r := s.Park(t, dlqtest.Doc(fmt.Sprint(i)), dlqtest.Event(fmt.Sprint(i)))
		if owner != "" {
			if err := s.Assign(background, dlqtest.Reviewer, r.DLQID, owner, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		by   dlq.Actor
		text string
		want int64
	}{{dlqtest.Reviewer, "owner:me", 1}, {dlqtest.Reviewer, "owner:me,nobody", 2}, {dlqtest.Admin, "-owner:me", 2}, {dlqtest.Pipeline, "owner:me", 0}, {dlqtest.Reviewer, "owner:" + dlqtest.Admin.Name, 1}} {
		if n, err := s.CountEntries(background, c.by, query(t, c.text)); err != nil || n != c.want {
			t.Errorf("%s for %s: %d, want %d (%v)", c.text, c.by.Name, n, c.want, err)
		}
	}
}

func TestAFixIsDeployedWhereItRunsAndTheDocumentDidNotFailUnderIt(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	old := s.Park(t, dlqtest.Of("wiki", "old"), under("parser", "1"), dlqtest.Event("1"))
	s.Park(t, dlqtest.Of("wiki", "fixed"), under("parser", "2"), dlqtest.Event("2"))
	s.Park(t, dlqtest.Of("leases", "elsewhere"), under("parser", "1"), dlqtest.Event("3"))
	s.Park(t, dlqtest.Of("wiki", "another"), dlqtest.Defect("Other"), dlqtest.Event("4"))
	s.Exec(t, `insert into fix (id, cohort_id, component, version, declared_at, actor) values ('f', $1, 'parser', '2', 1, 'x')`, old.Cohort)
	if _, err := s.RecordDeployment(background, dlqtest.Admin, "wiki", "parser", "2", nil); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{"fix:deployed": {"old"}, "fix:declared": {"elsewhere", "fixed", "old"}, "fix:none": {"another"}, "fix:none,deployed": {"another", "old"}} {
		if got := found(t, s, text); !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", text, got, want)
		}
	}
	s.Exec(t, `update fix set withdrawn_at = 2`)
	if got := found(t, s, "fix:declared,deployed"); len(got) != 0 {
		t.Errorf("a fix that was withdrawn still counts: %v", got)
	}
}

// Counts whose terms cells and states answer never look at an entry, and no list
// reads more than its page, whatever its states and its order.
func TestListsAndCountsReadWhatTheyNeed(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i := range 60 {
		s.Park(t, dlqtest.Of([]string{"wiki", "leases"}[i%2], fmt.Sprint("doc-", i)), dlqtest.Defect(fmt.Sprint("E", i%3)), dlqtest.Event(fmt.Sprint(i)), dlqtest.Held(fmt.Sprint(i)))
	}
	index(t, s)
	wiki := dlqtest.Only(dlqtest.Reviewer, "wiki")
	for _, text := range []string{"", "status:open", "status:parked -reason:low_confidence", "parser:!current", "fix:declared source:wiki", "type:E1 class:ambiguous_parse", "version:mapper@1", "-source:wiki status:parked,archived", "cohort:" + dlqtest.Fingerprint("E1").Digest[:8]} {
		for _, by := range []dlq.Actor{dlqtest.Admin, wiki} {
			plans, err := s.Plans(func() error { _, err := s.CountEntries(background, by, query(t, text)); return err })
			if err != nil {
				t.Fatal(err)
			}
			for q, plan := range plans {
				if strings.HasPrefix(q, "select coalesce(sum") {
					continue
				}
				if strings.HasPrefix(q, "select count(*)") {
					t.Errorf("%q is counted entry by entry: %s", text, plan)
				}
			}
		}
	}
	for _, text := range []string{"", "status:open", "status:parked", "status:archived,resolved", "-status:parked"} {
		for _, sort := range []dlq.EntrySort{dlq.SortLastSeen, dlq.SortOldest, dlq.SortExpires, dlq.SortAttempts} {
			for step := range listPlan(t, s, dlqtest.Admin, text, sort) {
				if db.ReadsWhole(step) {
					t.Errorf("%q by %s: %s", text, sort, step)
				}
			}
			inState := false // only what was read of each state may be sorted, a page of each
			for step := range listPlan(t, s, dlqtest.Admin, text, sort) {
				if strings.HasPrefix(step, "CO-ROUTINE") {
					inState = true
				} else if strings.HasPrefix(step, "SCAN (subquery") {
					inState = false
				} else if inState && strings.Contains(step, "TEMP B-TREE") {
					t.Errorf("%q by %s sorts everything of a state", text, sort)
				}
			}
		}
	}
	for _, text := range []string{"doc-17", `"E1 at offset"`, "-root doc-17 status:parked", "label:region=eu", "url:wiki", "doc-17 source:wiki age:>1h", "owner:me@example.com", "id:doc-3 status:open", "sha256:" + dlqtest.Digest("7")[:10] + " source:wiki", "status:open", "parser:!current", "disposition:waiting status:parked", "opened:2026-11", "opened:<2026-11,2026-12 source:wiki", "seen:2026-11-29 parser:1", "-opened:2026-11 seen:>=2026-11"} {
		for _, by := range []dlq.Actor{dlqtest.Admin, wiki} {
			for step := range listPlan(t, s, by, text, dlq.SortLastSeen) {
				if db.ReadsWhole(step) {
					t.Errorf("%q for %v: %s", text, by.Sources, step)
				}
				if (strings.Contains(text, "doc") || strings.HasPrefix(text, "sha256")) && strings.Contains(step, "entry_by_status") {
					t.Errorf("%q for %v begins with every document of a state: %s", text, by.Sources, step)
				}
			}
		}
	}
}

func listPlan(t *testing.T, s interface {
	Plans(func() error) (map[string][]string, error)
	Entries(context.Context, dlq.Actor, dlq.Query, dlq.EntrySort, string, int) ([]dlq.Entry, string, error)
}, by dlq.Actor, text string, sort dlq.EntrySort) func(func(string) bool) {
	t.Helper()
	plans, err := s.Plans(func() error {
		_, next, err := s.Entries(background, by, query(t, text), sort, "", 5)
		if err == nil && next != "" {
			_, _, err = s.Entries(background, by, query(t, text), sort, next, 5)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var q string
	for text := range plans {
		if strings.HasPrefix(text, "select e.id, e.dlq_id") {
			q = text
		}
	}
	return slices.Values(plans[q])
}

func TestAListOfWhatWasDecidedOfFewBeginsWithIt(t *testing.T) {
	s := withTarget(t, "wiki")
	s.Park(t, dlqtest.Doc("other"), dlqtest.Defect("Other"))
	alone := s.Park(t, dlqtest.Doc("alone"), dlqtest.Defect("Alone"))
	s.Park(t, dlqtest.Doc("with its cohort"), dlqtest.Defect("Cohort"))
	s.Park(t, dlqtest.Doc("but this"), dlqtest.Defect("Cohort"), dlqtest.Event("but"))
	s.Exec(t, `update entry set disposition = 'waiting' where dlq_id = $1`, alone.DLQID)
	s.Exec(t, `update cohort set disposition = 'waiting' where id = (select f.cohort_id from entry e join fingerprint f on f.id = e.fingerprint_id where e.doc_id = 'but this')`)
	s.Exec(t, `update entry set disposition = 'needs_code' where doc_id = 'but this'`)
	plans, err := s.Plans(func() error {
		for text, want := range map[string][]string{"disposition:waiting": {"alone", "with its cohort"}, "disposition:needs_code": {"but this"}, "disposition:none": {"other"}, "disposition:none,waiting": {"alone", "other", "with its cohort"}, "-disposition:waiting": {"but this", "other"}} {
			if got := found(t, s, text); !slices.Equal(got, want) {
				t.Errorf("%s finds %v, want %v", text, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	own, ofCohort := false, false
	for _, plan := range plans {
		steps := fmt.Sprint(plan)
		if strings.Contains(steps, "chosen") {
			own, ofCohort = own || strings.Contains(steps, "entry_disposition"), ofCohort || strings.Contains(steps, "cohort_disposition")
		}
	}
	if !own || !ofCohort {
		t.Errorf("the indexes of what was decided are not read: %v", plans)
	}
}

// Whole months and days are ranges of the indexes of moments, in every state.
func TestDatesAreCountedByTheirIndexes(t *testing.T) {
	s := withTarget(t, "wiki")
	for i := range 20 {
		s.Park(t, dlqtest.Of("wiki", fmt.Sprint("doc-", i)), dlqtest.Event(fmt.Sprint(i)), dlqtest.Seen(dlqtest.Now.AddDate(0, 0, -i)))
	}
	for text, want := range map[string][]string{"opened:2026-11": {"entry_by_opening"}, "seen:>=2026-11-29": {"entry_by_status"}, "opened:<2026-11,>=2027-01": {"entry_by_opening"}} {
		plans, err := s.Plans(func() error { _, err := s.CountEntries(background, dlqtest.Admin, query(t, text)); return err })
		if err != nil {
			t.Fatal(err)
		}
		for q, plan := range plans {
			if strings.HasPrefix(q, "select count(*)") && (!strings.Contains(fmt.Sprint(plan), want[0]) || !strings.Contains(fmt.Sprint(plan), "SEARCH e ")) {
				t.Errorf("%s: %s", text, plan)
			}
		}
	}
}

// Of what is settled no cell is counted where the sources are known: the page must
// not take that for nothing.
func TestWhatIsSettledOfSomeSourcesIsListedOldestFirst(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	gone := s.Park(t, dlqtest.Of("wiki", "gone"), dlqtest.Event("1"))
	s.Park(t, dlqtest.Of("wiki", "stuck"), dlqtest.Event("2"))
	bring(t, s, gone.DLQID, dlq.StatusArchived)
	for _, by := range []dlq.Actor{dlqtest.Admin, dlqtest.Only(dlqtest.Reviewer, "wiki", "leases")} {
		for _, text := range []string{"status:archived,resolved,erased", "status:archived,resolved source:wiki,leases"} {
			list, _, err := s.Entries(background, by, query(t, text), dlq.SortOldest, "", 10)
			if err != nil || len(list) != 1 || list[0].DocID != "gone" {
				t.Errorf("%s for %v: %d documents, %v", text, by.Sources, len(list), err)
			}
		}
	}
}
