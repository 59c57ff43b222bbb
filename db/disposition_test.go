package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dlo/db"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func decide(t testing.TB, s *dbtest.DB, dlqID string, n dlq.NewDisposition) {
	t.Helper()
	if err := s.Dispose(background, dlqtest.Reviewer, dlqID, n); err != nil {
		t.Fatal(err)
	}
}

func decideCohort(t testing.TB, s *dbtest.DB, id string, n dlq.NewDisposition) {
	t.Helper()
	if err := s.DisposeCohort(background, dlqtest.Reviewer, id, n); err != nil {
		t.Fatal(err)
	}
}

func endDispositions(t testing.TB, s *dbtest.DB) int {
	t.Helper()
	n, err := s.EndDispositions(background, 200)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func cohortOf(t testing.TB, s *dbtest.DB, id string) dlq.Cohort {
	t.Helper()
	c, err := s.Cohort(background, dlqtest.Admin, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lastAct is the newest row of the trail: its action, and its detail.
func lastAct(t testing.TB, s *dbtest.DB) dlq.AuditRow {
	t.Helper()
	rows, err := s.AuditTrail(background, 0, 1)
	if err != nil || len(rows) == 0 {
		t.Fatal(err)
	}
	return rows[0]
}

func underParser(version string) func(*dlq.Arrival) {
	return dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = version })
}

func taggedAs(etag string) func(*dlq.Arrival) {
	return dlqtest.With(func(e *dlq.Envelope) { e.SourceVersion = etag })
}

func TestADispositionStandsWithItsReasonAndIsTakenOff(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode, Reason: "the parser chokes on it"})
	e := s.Entry(t, r.DLQID)
	got, err := s.Disposed(background, e.ID, "")
	if err != nil || e.Disposition != dlq.DispositionNeedsCode || got.Reason != "the parser chokes on it" || got.By != dlqtest.Reviewer.Name || !got.At.Equal(s.Now()) {
		t.Errorf("%q, %+v, %v", e.Disposition, got, err)
	}
	row := lastAct(t, s)
	if row.Action != "entry.disposed" || row.Reason != "the parser chokes on it" || strings.Contains(row.Detail, "chokes") || row.Source != "wiki" {
		t.Errorf("the trail says %+v", row)
	}
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode, Reason: "the parser chokes on it"})
	if again := lastAct(t, s); again.Seq != row.Seq {
		t.Error("what stands already was decided again")
	}
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionAcceptedLoss})
	decide(t, s, r.DLQID, dlq.NewDisposition{})
	if e := s.Entry(t, r.DLQID); e.Disposition != dlq.DispositionNone {
		t.Errorf("taken off, %q stands", e.Disposition)
	}
	if row := lastAct(t, s); row.Action != "entry.disposition_ended" || !strings.Contains(row.Detail, "by_hand") {
		t.Errorf("the trail says %+v", row)
	}
	if got := s.Lines(t, `select kind || ' ' || ended_why from disposition order by id`); strings.Join(got, ", ") != "needs_code replaced, accepted_loss by_hand" {
		t.Errorf("the history is %v", got)
	}
	decide(t, s, r.DLQID, dlq.NewDisposition{})
	s.MustHold(t)
}

func TestADispositionHidesNothingFromDepth(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionAcceptedLoss})
	decideCohort(t, s, r.Cohort, dlq.NewDisposition{Disposition: dlq.DispositionAcceptedLoss})
	totals, err := s.Totals(background, dlqtest.Admin)
	if err != nil || totals.Stuck != 1 || totals.Cohorts != 1 {
		t.Errorf("%+v, %v", totals, err)
	}
	list, _, err := s.Cohorts(background, dlqtest.Admin, dlq.CohortQuery{Open: true}, "", 10)
	if err != nil || len(list) != 1 || list[0].Disposition != dlq.DispositionAcceptedLoss {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhatLastsUntilTheDocumentChangesEndsWithOtherBytes(t *testing.T) {
	s := dbtest.Open(t)
	at := s.Now()
	again := func(options ...func(*dlq.Arrival)) dlq.Receipt {
		at = at.Add(time.Minute)
		return s.Park(t, append([]func(*dlq.Arrival){dlqtest.Doc("d"), dlqtest.Seen(at), dlqtest.Event(at.String())}, options...)...)
	}
	r := again(dlqtest.Held("one"), taggedAs(`"1"`))
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsSource, Until: dlq.UntilDocument})
	decideCohort(t, s, r.Cohort, dlq.NewDisposition{Disposition: dlq.DispositionNeedsSource, Until: dlq.UntilDocument})
	again(dlqtest.Held("one"), taggedAs(`"2"`))
	if e := s.Entry(t, r.DLQID); e.Disposition != dlq.DispositionNeedsSource {
		t.Fatal("the same bytes under another tag ended it")
	}
	s.Park(t, dlqtest.Doc("d"), dlqtest.Held("older"), dlqtest.Seen(at.Add(-time.Hour)), dlqtest.Event("late"))
	if e := s.Entry(t, r.DLQID); e.Disposition != dlq.DispositionNeedsSource {
		t.Fatal("an arrival that is older than the evidence ended it")
	}
	again(dlqtest.Held("two"))
	if e, c := s.Entry(t, r.DLQID), cohortOf(t, s, r.Cohort); e.Disposition != dlq.DispositionNone || c.Disposition != dlq.DispositionNone {
		t.Errorf("other bytes failed, and %q and %q stand", e.Disposition, c.Disposition)
	}
	rows, err := s.AuditOfEntry(background, s.Entry(t, r.DLQID).ID, 5)
	if err != nil || rows[0].Action != "entry.disposition_ended" || !strings.Contains(rows[0].Detail, `"why":"document"`) || rows[0].ActorKind != dlq.ActorPolicy {
		t.Errorf("%+v, %v", rows, err)
	}
	s.MustHold(t)
}

func TestWhatWaitsForCodeEndsWithItsDeployment(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t, dlqtest.Doc("1"), underParser("pdf@1"))
	s.Park(t, dlqtest.Doc("2"), underParser("pdf@2"))
	s.Park(t, dlqtest.Of("leases", "3"), underParser("pdf@1"))
	deploy := func(source, component, version string) {
		t.Helper()
		if _, err := s.RecordDeployment(background, dlqtest.Admin, source, component, version, nil); err != nil {
			t.Fatal(err)
		}
	}
	deploy("wiki", "parser", "pdf@9") // before it was decided
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode, Until: dlq.UntilCode})
	decideCohort(t, s, r.Cohort, dlq.NewDisposition{Disposition: dlq.DispositionWaiting, Until: dlq.UntilCode})
	if endDispositions(t, s) != 0 {
		t.Fatal("what ran before the decision ended it")
	}
	deploy("wiki", "embedder", "e@2")
	deploy("wiki", "parser", "pdf@1")
	deploy("other", "parser", "pdf@3")
	if e, c := s.Entry(t, r.DLQID), cohortOf(t, s, r.Cohort); e.Disposition != dlq.DispositionNeedsCode || c.Disposition != dlq.DispositionWaiting {
		t.Fatalf("code that is none of its business ended it: %q, %q", e.Disposition, c.Disposition)
	}
	deploy("wiki", "parser", "pdf@2") // other code for the document, and not for its cohort
	if e, c := s.Entry(t, r.DLQID), cohortOf(t, s, r.Cohort); e.Disposition != dlq.DispositionNone || c.Disposition != dlq.DispositionWaiting {
		t.Errorf("%q and %q stand", e.Disposition, c.Disposition)
	}
	deploy("leases", "parser", "pdf@3")
	if c := cohortOf(t, s, r.Cohort); c.Disposition != dlq.DispositionNone {
		t.Errorf("%q stands", c.Disposition)
	}
	if row := s.Lines(t, `select detail from audit where action = 'cohort.disposition_ended'`); len(row) != 1 || !strings.Contains(row[0], `"why":"code"`) {
		t.Errorf("the trail says %v", row)
	}
}

func TestADateAndADoubledCountEndInTheSweep(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t, dlqtest.Doc("0"))
	other := s.Park(t, dlqtest.Doc("other"), dlqtest.Defect("Other"))
	s.Park(t, dlqtest.Doc("1"))
	tomorrow := s.Now().AddDate(0, 0, 1)
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsRule, Until: dlq.UntilDoubles})
	decide(t, s, other.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionWaiting, Date: tomorrow})
	decideCohort(t, s, r.Cohort, dlq.NewDisposition{Disposition: dlq.DispositionAcceptedLoss, Until: dlq.UntilDoubles})
	s.Park(t, dlqtest.Doc("2"))
	s.Clock.Set(tomorrow.Add(-time.Millisecond))
	if endDispositions(t, s) != 0 {
		t.Fatal("one ended before its time")
	}
	s.Park(t, dlqtest.Doc("3"))
	s.Clock.Set(tomorrow)
	if n := endDispositions(t, s); n != 3 {
		t.Errorf("%d ended, want 3", n)
	}
	if e, o, c := s.Entry(t, r.DLQID), s.Entry(t, other.DLQID), cohortOf(t, s, r.Cohort); e.Disposition+o.Disposition+c.Disposition != "" {
		t.Errorf("%q, %q and %q stand", e.Disposition, o.Disposition, c.Disposition)
	}
	if endDispositions(t, s) != 0 {
		t.Error("what had ended ended again")
	}
}

func TestNothingIsDecidedOfWhatIsNotOpenOrNotTheirs(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("x"))
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode})
	if err := s.Dispose(background, dlqtest.Only(dlqtest.Reviewer, "leases"), r.DLQID, dlq.NewDisposition{}); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("somebody of another source: %v", err)
	}
	send(t, s, r.DLQID)
	s.Clock.Advance(time.Minute)
	report(t, s, dlq.Outcome{Source: "wiki", DocID: s.Entry(t, r.DLQID).DocID, Result: dlq.OutcomeCommitted})
	e := s.Entry(t, r.DLQID)
	if e.Status != dlq.StatusResolved || e.Disposition != dlq.DispositionNone {
		t.Fatalf("it is %s, and %q stands", e.Status, e.Disposition)
	}
	if err := s.Dispose(background, dlqtest.Reviewer, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode}); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("of what is resolved: %v", err)
	}
	if err := s.DisposeCohort(background, dlqtest.Reviewer, "none", dlq.NewDisposition{}); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("of a cohort that there is not: %v", err)
	}
	s.MustHold(t)
}

// Whoever looks for what is over looks at what lasts until something, and at no
// document that nothing was decided of.
func TestTheSweepOfDispositionsReadsNoTable(t *testing.T) {
	s := dbtest.Open(t)
	for i := range 20 {
		r := s.Park(t, dlqtest.Doc(fmt.Sprint(i)), underParser("pdf@1"))
		decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionWaiting, Until: dlq.Untils[1+i%4], Date: map[bool]time.Time{true: s.Now().Add(time.Hour)}[dlq.Untils[1+i%4] == dlq.UntilDate]})
	}
	plans, err := s.Plans(func() error {
		if _, err := s.RecordDeployment(background, dlqtest.Admin, "wiki", "parser", "pdf@2", nil); err != nil {
			return err
		}
		_, err := s.EndDispositions(background, 10)
		return err
	})
	if err != nil || len(plans) == 0 {
		t.Fatal(err)
	}
	for q, plan := range plans {
		for _, line := range plan {
			if db.ReadsWhole(line) && !strings.HasPrefix(q, "insert into") && !strings.HasSuffix(q, "from audit order by seq desc limit 1") {
				t.Errorf("%s\n\tin the plan of %.200s", line, strings.Join(strings.Fields(q), " "))
			}
		}
	}
}
