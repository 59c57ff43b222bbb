package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

var entryOrders = []dlq.EntrySort{dlq.SortLastSeen, dlq.SortOldest, dlq.SortExpires, dlq.SortAttempts, "no such order"}

// walk pages through a list, doing something between the pages.
func walk(t *testing.T, s *dbtest.DB, by dlq.Actor, q dlq.Query, sort dlq.EntrySort, limit int, between func(page int)) []string {
	t.Helper()
	var ids []string
	cursor := ""
	for page := 0; ; page++ {
		list, next, err := s.Entries(background, by, q, sort, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			ids = append(ids, e.DLQID)
		}
		if len(list) > limit || page > 1000 {
			t.Fatalf("page %d has %d rows", page, len(list))
		}
		if next == "" {
			return ids
		}
		cursor = next
		if between != nil {
			between(page)
		}
	}
}

func TestPagingVisitsEveryRowOnceWhileOthersArrive(t *testing.T) {
	for _, sort := range entryOrders {
		t.Run(string(sort), func(t *testing.T) {
			s := dbtest.Open(t)
			want := map[string]bool{}
			for i := range 37 { // many are alike in what they are sorted by
				r := s.Park(t, dlqtest.Doc(fmt.Sprint("old ", i)), dlqtest.Spent(1+i%3), dlqtest.Seen(dlqtest.Now.Add(time.Duration(i%5)*time.Hour)))
				want[r.DLQID] = true
			}
			ids := walk(t, s, dlqtest.Admin, dlq.Query{}, sort, 4, func(page int) {
				s.Park(t, dlqtest.Doc(fmt.Sprint("new ", page)), dlqtest.Spent(1+page%3), dlqtest.Seen(dlqtest.Now.Add(time.Duration(page%7)*time.Hour)))
			})
			seen := map[string]bool{}
			for _, id := range ids {
				if seen[id] {
					t.Errorf("%s was visited twice", id)
				}
				seen[id] = true
			}
			for id := range want {
				if !seen[id] {
					t.Errorf("%s was not visited", id)
				}
			}
		})
	}
}

func TestListsAreInTheOrderAskedFor(t *testing.T) {
	s := dbtest.Open(t)
	for _, n := range []int{3, 1, 2} {
		s.Park(t, dlqtest.Doc(fmt.Sprint(n)), dlqtest.Spent(n), dlqtest.Seen(dlqtest.Now.Add(time.Duration(n)*time.Hour)), dlqtest.FirstSeen(dlqtest.Now.Add(-time.Duration(n)*day)))
	}
	for sort, want := range map[dlq.EntrySort]string{dlq.SortLastSeen: "3 2 1", dlq.SortOldest: "3 2 1", dlq.SortExpires: "3 2 1", dlq.SortAttempts: "3 2 1", "": "3 2 1"} {
		list, _, err := s.Entries(background, dlqtest.Admin, dlq.Query{}, sort, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		var docs []string
		for _, e := range list {
			docs = append(docs, e.DocID)
		}
		if got := strings.Join(docs, " "); got != want {
			t.Errorf("by %q: %s, want %s", sort, got, want)
		}
	}
}

func TestACursorThatIsNoneIsRefused(t *testing.T) {
	s := dbtest.Open(t)
	for _, cursor := range []string{"x", "!!!", "e30x", strings.Repeat("A", 10_000), "' or 1=1 --"} {
		if _, _, err := s.Entries(background, dlqtest.Admin, dlq.Query{}, dlq.SortLastSeen, cursor, 10); dlq.KindOf(err) != dlq.KindInvalid {
			t.Errorf("entries after %.20q: %v", cursor, err)
		}
		if _, _, err := s.Cohorts(background, dlqtest.Admin, dlq.CohortQuery{}, cursor, 10); dlq.KindOf(err) != dlq.KindInvalid {
			t.Errorf("cohorts after %.20q: %v", cursor, err)
		}
	}
}

func TestCohortsArePagedOnceEach(t *testing.T) {
	s := dbtest.Open(t)
	for i := range 23 {
		for n := range 1 + i%3 {
			s.Park(t, dlqtest.Doc(fmt.Sprint(i, " ", n)), dlqtest.Defect(fmt.Sprint("E", i)), dlqtest.Seen(dlqtest.Now.Add(time.Duration(i%4)*time.Hour)))
		}
	}
	for _, sort := range []dlq.CohortSort{dlq.CohortsByDepth, dlq.CohortsByLastSeen, dlq.CohortsByArrivals, dlq.CohortsByAge} {
		seen := map[string]bool{}
		cursor := ""
		for page := 0; page < 50; page++ {
			list, next, err := s.Cohorts(background, dlqtest.Admin, dlq.CohortQuery{Sort: sort}, cursor, 4)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				if seen[c.ID] {
					t.Errorf("by %s, %s twice", sort, c.ID)
				}
				seen[c.ID] = true
			}
			if cursor = next; next == "" {
				break
			}
		}
		if len(seen) != 23 {
			t.Errorf("by %s, %d cohorts, want 23", sort, len(seen))
		}
	}
}

func TestACohortSaysWhatIsInIt(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t, dlqtest.Doc("1"), dlqtest.FirstSeen(dlqtest.Now.Add(-85*day)))
	s.Park(t, dlqtest.Doc("2"), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = "pdfminer.six@2" }))
	s.Park(t, dlqtest.Of("leases", "3"))
	archived := s.Park(t, dlqtest.Doc("4"))
	bring(t, s, archived.DLQID, dlq.StatusArchived)
	s.Clock.Advance(time.Hour)
	c, err := s.Cohort(background, dlqtest.Admin, r.Cohort)
	if err != nil {
		t.Fatal(err)
	}
	if c.Parked() != 3 || c.Counts[dlq.StatusArchived] != 1 || c.Arrivals != 4 || c.Expiring != 1 || !c.Oldest.Equal(dlqtest.Now.Add(-85*day)) {
		t.Errorf("%+v", c)
	}
	if len(c.FailedUnder) != 3 || !slices.Equal(c.Sources, []string{"wiki", "leases"}) || !slices.Equal(c.Fingerprints, []string{r.Fingerprint}) {
		t.Errorf("%+v", c)
	}
	if c.Daily[len(c.Daily)-1] != 4 || len(c.Daily) != 30 {
		t.Errorf("by day %v", c.Daily)
	}
	byPrint, err := s.Cohort(background, dlqtest.Admin, r.Fingerprint)
	if err != nil || byPrint.ID != c.ID {
		t.Errorf("by its fingerprint: %+v, %v", byPrint, err)
	}
	if _, err := s.Cohort(background, dlqtest.Admin, "01K"); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("a cohort that is none: %v", err)
	}
}

func TestWhoSeesSomeSourcesSeesNothingOfOthers(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	mine := s.Park(t, dlqtest.Doc("1"), dlqtest.Held("v"))
	theirs := s.Park(t, dlqtest.Of("leases", "1"), dlqtest.Held("v"), dlqtest.FirstSeen(dlqtest.Now.Add(-85*day)))
	apart := s.Park(t, dlqtest.Of("leases", "2"), dlqtest.Defect("LeaseError"), dlqtest.FirstSeen(dlqtest.Now.Add(-85*day)))
	s.Clock.Advance(time.Hour)
	by := dlqtest.Only(dlqtest.Reviewer, "wiki")
	notFound := func(what string, err error) {
		t.Helper()
		if dlq.KindOf(err) != dlq.KindNotFound {
			t.Errorf("%s: %v, want not found", what, err)
		}
	}
	_, err := s.Store.Entry(background, by, theirs.DLQID)
	notFound("an entry", err)
	_, err = s.EntryByDoc(background, by, "leases", "1")
	notFound("an entry by its document", err)
	_, err = s.Cohort(background, by, apart.Cohort)
	notFound("a cohort", err)
	notFound("an action", s.Act(background, by, theirs.DLQID, dlq.Action{Kind: dlq.OperationArchive}))
	notFound("an assignment", s.Assign(background, by, theirs.DLQID, "me", "T-1"))
	notFound("a note", s.Note(background, by, theirs.DLQID, "", "hello"))
	for _, text := range []string{"", "status:open", "-source:wiki", "source:leases,wiki", "id:1"} {
		q := query(t, text)
		list, _, err := s.Entries(background, by, q, "", "", 10)
		n, countErr := s.CountEntries(background, by, q)
		ids, membersErr := s.Members(background, by, q)
		if err != nil || countErr != nil || membersErr != nil {
			t.Fatal(err, countErr, membersErr)
		}
		if int64(len(list)) != n || len(ids) != len(list) {
			t.Errorf("%q: %d listed, %d counted, %d members", text, len(list), n, len(ids))
		}
		for _, e := range list {
			if e.Source != "wiki" {
				t.Errorf("%q shows a document of %s", text, e.Source)
			}
		}
	}
	list, _, err := s.Cohorts(background, by, dlq.CohortQuery{}, "", 10)
	if err != nil || len(list) != 1 || list[0].ID != mine.Cohort {
		t.Fatalf("cohorts %+v, %v", list, err)
	}
	c := list[0]
	if c.Parked() != 1 || !slices.Equal(c.Sources, []string{"wiki"}) || len(c.FailedUnder) != 1 || c.Expiring != 0 || !c.Oldest.Equal(dlqtest.Now) {
		t.Errorf("a shared cohort shows %d parked, sources %v, failed under %v, %d leaving, oldest %v", c.Parked(), c.Sources, c.FailedUnder, c.Expiring, c.Oldest)
	}
	totals, err := s.Totals(background, by)
	if err != nil || totals.Stuck != 1 || totals.NetWeek != 1 || totals.Expiring != 0 || totals.OldestSource != "wiki" || totals.Cohorts != 1 {
		t.Errorf("totals %+v, %v", totals, err)
	}
	candidates, err := s.Candidates(background, by, []string{mine.DLQID, theirs.DLQID, "none"}, "")
	if err != nil || candidates[0].Status != dlq.StatusParked || candidates[1].Status != "" || candidates[2].Status != "" {
		t.Errorf("candidates %+v, %v", candidates, err)
	}
	if o := report(t, s, dlq.Outcome{Source: "wiki", DocID: "9", Result: dlq.OutcomeCommitted}); o.Applied {
		t.Errorf("an outcome of nothing: %+v", o)
	}
	limited := dlqtest.Only(dlqtest.Pipeline, "wiki")
	if o, err := s.ApplyOutcome(background, limited, dlq.Outcome{Source: "leases", DocID: "1", Result: dlq.OutcomeCommitted, At: s.Now()}, nil); err != nil || o.Applied || o.DLQID != "" {
		t.Errorf("an outcome of another source: %+v, %v", o, err)
	}
}

func query(t testing.TB, text string) dlq.Query {
	t.Helper()
	q, bad := dlq.ParseQuery(text)
	if len(bad) > 0 {
		t.Fatalf("%q: %+v", text, bad)
	}
	return q
}

func TestNotesAndOwners(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Assign(background, dlqtest.Reviewer, r.DLQID, "analyst@example.com", "T-1"))
	must(s.AssignCohort(background, dlqtest.Reviewer, r.Cohort, "team", "T-2"))
	must(s.Note(background, dlqtest.Reviewer, r.DLQID, "", "of the entry"))
	must(s.Note(background, dlqtest.Reviewer, "", r.Cohort, "of the cohort"))
	if e := s.Entry(t, r.DLQID); e.Owner != "analyst@example.com" || e.Ticket != "T-1" {
		t.Errorf("%+v", e)
	}
	c, err := s.Cohort(background, dlqtest.Admin, r.Cohort)
	if err != nil || c.Owner != "team" || c.Ticket != "T-2" {
		t.Errorf("%+v, %v", c, err)
	}
	of, err := s.Notes(background, s.Entry(t, r.DLQID).ID, "", 10)
	if err != nil || len(of) != 1 || of[0].Body != "of the entry" || of[0].Author != "reviewer@example.com" || !of[0].WrittenAt.Equal(dlqtest.Now) {
		t.Errorf("%+v, %v", of, err)
	}
	if of, err = s.Notes(background, 0, r.Cohort, 10); err != nil || len(of) != 1 || of[0].Body != "of the cohort" {
		t.Errorf("%+v, %v", of, err)
	}
	if err := s.Note(background, dlqtest.Reviewer, "", "none", "x"); dlq.KindOf(err) != dlq.KindNotFound {
		t.Error(err)
	}
	if err := s.AssignCohort(background, dlqtest.Reviewer, "none", "x", ""); dlq.KindOf(err) != dlq.KindNotFound {
		t.Error(err)
	}
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)))
	if e := s.Entry(t, r.DLQID); e.Owner != "analyst@example.com" || e.Ticket != "T-1" {
		t.Errorf("a newer failure took the owner away: %+v", e)
	}
}

func TestWhatASourceSaidIsOfTheEvidenceItWasHeldAgainst(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	e := s.Entry(t, r.DLQID)
	said, reading := dlq.SourceNow{ETag: `"v2"`}, dlq.Evidence{Bytes: dlq.ReadingChanged, Grade: dlq.GradeStrongETag, Caveats: []string{}}
	if err := s.SaveProbe(background, e.ID, e.EvidenceID, said, reading); err != nil {
		t.Fatal(err)
	}
	now, evidence, asked, err := s.LastProbe(background, e)
	if err != nil || !asked || now.ETag != `"v2"` || evidence.Bytes != dlq.ReadingChanged {
		t.Errorf("%+v %+v %v, %v", now, evidence, asked, err)
	}
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)))
	if _, _, asked, err := s.LastProbe(background, s.Entry(t, r.DLQID)); err != nil || asked {
		t.Errorf("asked since the newer evidence: %v, %v", asked, err)
	}
}
