package db_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// parkUnder parks documents of a source that failed under a version of the
// parser, or under none that is said, and answers their cohort.
func parkUnder(t *testing.T, s *dbtest.DB, source, parser string, docs ...string) string {
	t.Helper()
	var cohort string
	for _, doc := range docs {
		cohort = s.Park(t, dlqtest.Of(source, doc), dlqtest.Seen(s.Now()), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = parser })).Cohort
	}
	return cohort
}

func declare(t *testing.T, s *dbtest.DB, cohort, version string) string {
	t.Helper()
	id, _, err := s.DeclareFix(background, dlqtest.Reviewer, cohort, dlq.FixDeclaration{Component: "parser", Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func fixOf(t *testing.T, s *dbtest.DB, by dlq.Actor, cohort string) dlq.Fix {
	t.Helper()
	all, err := s.Fixes(background, by, []string{cohort})
	if err != nil || len(all[cohort]) == 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[cohort][0]
}

func inWords(f dlq.Fix) string {
	var out []string
	for _, in := range f.Sources {
		live := ""
		if !in.Since.IsZero() {
			live = fmt.Sprintf(" live since %d", int(in.Since.Sub(dlqtest.Now)/time.Minute))
		}
		out = append(out, fmt.Sprintf("%s %d replaced %d unsaid %d under %d returned%s", in.Source, in.Replaced, in.Unsaid, in.Under, in.Returned, live))
	}
	return strings.Join(out, "; ")
}

func TestAFixSaysWhatItReplacesAndWhereItRuns(t *testing.T) {
	s := dbtest.Open(t)
	cohort := parkUnder(t, s, "wiki", "1", "1", "2", "3")
	parkUnder(t, s, "wiki", "2", "4")
	parkUnder(t, s, "wiki", "", "5")
	parkUnder(t, s, "leases", "1", "6")
	declare(t, s, cohort, "3")
	if got, want := inWords(fixOf(t, s, dlqtest.Reviewer, cohort)), "wiki 4 replaced 1 unsaid 0 under 0 returned; leases 1 replaced 0 unsaid 0 under 0 returned"; got != want {
		t.Errorf("declared: %q, want %q", got, want)
	}
	if got, want := inWords(fixOf(t, s, dlqtest.Only(dlqtest.Reviewer, "leases"), cohort)), "leases 1 replaced 0 unsaid 0 under 0 returned"; got != want {
		t.Errorf("who sees one source is told %q, want %q", got, want)
	}

	s.Clock.Advance(10 * time.Minute)
	deploy(t, s, dlq.DeploymentReport{Component: "parser", Version: "3"})
	f := fixOf(t, s, dlqtest.Reviewer, cohort)
	if got, want := inWords(f), "wiki 4 replaced 1 unsaid 0 under 0 returned live since 10; leases 1 replaced 0 unsaid 0 under 0 returned"; got != want || f.State() != dlq.FixPartlyLive {
		t.Errorf("live: %s, %q, want %q", f.State(), got, want)
	}
	r, ok := f.Proposes()
	n, err := s.CountEntries(background, dlqtest.Reviewer, query(t, r.Query))
	if !ok || err != nil || n != r.Documents || n != 4 {
		t.Errorf("the query %q finds %d, and %d are proposed: %v", r.Query, n, r.Documents, err)
	}

	// One failed under it as a replay would, one came anew.
	s.Clock.Advance(10 * time.Minute)
	parkUnder(t, s, "wiki", "3", "1", "7")
	f = fixOf(t, s, dlqtest.Reviewer, cohort)
	if got, want := inWords(f), "wiki 3 replaced 1 unsaid 2 under 1 returned live since 10; leases 1 replaced 0 unsaid 0 under 0 returned"; got != want || f.State() != dlq.FixFailed {
		t.Errorf("failed: %s, %q, want %q", f.State(), got, want)
	}
}

func TestADeploymentProposesWhatItsVersionWasDeclaredToFix(t *testing.T) {
	s := dbtest.Open(t)
	cohort := parkUnder(t, s, "wiki", "1", "1", "2")
	parkUnder(t, s, "leases", "1", "3")
	declare(t, s, cohort, "3")
	other := s.Park(t, dlqtest.Of("mail", "9"), dlqtest.Defect("Other")).Cohort
	declare(t, s, other, "3")
	live := func() int64 { return s.Int(t, "select count(*) from audit where action = 'fix.live'") }
	for range 2 { // told twice, proposed each time, written down once
		deploy(t, s, dlq.DeploymentReport{Component: "parser", Version: "3"})
		list, more, err := s.FixProposals(background, dlqtest.Pipeline, "wiki", "parser", "3")
		if err != nil || more || len(list) != 1 || list[0].Fix.CohortID != cohort || list[0].Redrive.Documents != 2 || list[0].Redrive.Query != "cohort:"+cohort+" status:parked -parser:3 source:wiki" {
			t.Errorf("%+v, %v %v", list, more, err)
		}
		if live() != 1 {
			t.Errorf("%d rows of the trail say that the fix is live", live())
		}
	}
	if list, _, err := s.FixProposals(background, dlqtest.Pipeline, "leases", "parser", "3"); err != nil || len(list) != 0 {
		t.Errorf("proposed where it does not run: %+v, %v", list, err)
	}
	deploy(t, s, dlq.DeploymentReport{Component: "parser", Version: "1"})
	s.Clock.Advance(time.Minute)
	deploy(t, s, dlq.DeploymentReport{Component: "parser", Version: "3"})
	if live() != 2 {
		t.Errorf("after a rollback and back it went live %d times", live())
	}
	if _, fault, err := s.VerifyAudit(background); err != nil || fault != "" {
		t.Errorf("%q, %v", fault, err)
	}
}

func TestAFixIsDeclaredOnceAndWithdrawnOnce(t *testing.T) {
	s := dbtest.Open(t)
	cohort := parkUnder(t, s, "wiki", "1", "1")
	id, created, err := s.DeclareFix(background, dlqtest.Reviewer, cohort, dlq.FixDeclaration{Component: "parser", Version: "3", Note: "a"})
	if err != nil || !created {
		t.Fatal(created, err)
	}
	for i, note := range []string{"a", "b"} {
		again, created, err := s.DeclareFix(background, dlqtest.Reviewer, cohort, dlq.FixDeclaration{Component: "parser", Version: "3", Note: note})
		if err != nil || created || again != id {
			t.Errorf("said again: %s %v %v", again, created, err)
		}
		if n := s.Int(t, "select count(*) from audit where action like 'fix.%'"); n != int64(i+1) {
			t.Errorf("%d rows of the trail", n)
		}
	}
	if f := fixOf(t, s, dlqtest.Reviewer, cohort); f.Note != "b" || f.Actor != dlqtest.Reviewer.Name {
		t.Errorf("%+v", f)
	}
	for range 2 {
		if err := s.WithdrawFix(background, dlqtest.Reviewer, cohort, id, "it was another defect"); err != nil {
			t.Fatal(err)
		}
	}
	if f := fixOf(t, s, dlqtest.Reviewer, cohort); f.State() != dlq.FixWithdrawn || f.WithdrawnBy != dlqtest.Reviewer.Name || len(f.Sources) != 0 {
		t.Errorf("%+v", f)
	}
	if n := s.Int(t, "select count(*) from audit where action = 'fix.withdrawn'"); n != 1 {
		t.Errorf("withdrawn %d times", n)
	}
	if again := declare(t, s, cohort, "3"); again == id {
		t.Error("what was withdrawn was declared back to life")
	}
	other := s.Park(t, dlqtest.Doc("9"), dlqtest.Defect("Other")).Cohort
	if err := s.WithdrawFix(background, dlqtest.Reviewer, other, id, ""); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("withdrawn from another cohort: %v", err)
	}
	if _, _, err := s.DeclareFix(background, dlqtest.Reviewer, "01NONE", dlq.FixDeclaration{Component: "parser", Version: "3"}); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("declared on no cohort: %v", err)
	}
	for i := range dlq.MaxFixes {
		_, _, err = s.DeclareFix(background, dlqtest.Reviewer, cohort, dlq.FixDeclaration{Component: "parser", Version: fmt.Sprint("v", i)})
	}
	var e *dlq.Error
	if !errors.As(err, &e) || e.Kind != dlq.KindConflict {
		t.Errorf("one too many: %v", err)
	}
}

func TestAFixOfAMergedCohortIsOfTheOneThatStands(t *testing.T) {
	s := dbtest.Open(t)
	into := parkUnder(t, s, "wiki", "1", "1")
	merged := s.Park(t, dlqtest.Doc("2"), dlqtest.Defect("Other"), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = "1" })).Cohort
	third := s.Park(t, dlqtest.Doc("3"), dlqtest.Defect("Third"), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = "1" })).Cohort
	id := declare(t, s, third, "3")
	for _, m := range [][2]string{{third, merged}, {merged, into}} {
		if _, err := s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: m[1], Others: []string{m[0]}, Reason: "the same defect"}); err != nil {
			t.Fatal(err)
		}
	}
	f := fixOf(t, s, dlqtest.Reviewer, into)
	if f.ID != id || f.CohortID != into || f.DeclaredOn != third || f.Counts().Replaced != 3 {
		t.Errorf("%+v", f)
	}
	deploy(t, s, dlq.DeploymentReport{Component: "parser", Version: "3"})
	list, _, err := s.FixProposals(background, dlqtest.Pipeline, "wiki", "parser", "3")
	if err != nil || len(list) != 1 || list[0].Fix.CohortID != into {
		t.Errorf("%+v, %v", list, err)
	}
	if n := s.Int(t, "select count(*) from audit where action = 'fix.live' and cohort_id = ?", into); n != 1 {
		t.Errorf("%d rows in the trail of the cohort that stands", n)
	}
	if _, _, err := s.DeclareFix(background, dlqtest.Reviewer, third, dlq.FixDeclaration{Component: "parser", Version: "4"}); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("declared on a cohort that was merged: %v", err)
	}
	if err := s.WithdrawFix(background, dlqtest.Reviewer, into, id, ""); err != nil {
		t.Error(err)
	}
}

func TestTheReportOfVersionsCountsWhatSomebodyMaySee(t *testing.T) {
	s := dbtest.Open(t)
	month := func(m int) time.Time { return dlqtest.Now.AddDate(0, -m, 0) }
	for i, m := range []int{0, 0, 1, 8, 9} {
		s.Park(t, dlqtest.Of("wiki", fmt.Sprint(i)), dlqtest.Seen(month(m)))
	}
	s.Park(t, dlqtest.Of("leases", "1"), dlqtest.Seen(month(0)), dlqtest.With(func(e *dlq.Envelope) { e.ContentType = "text/csv" }))
	s.Park(t, dlqtest.Of("leases", "2"), dlqtest.LowConfidence(0.3))
	gone := s.Park(t, dlqtest.Of("leases", "3"), dlqtest.Seen(month(0)))
	if err := s.Act(background, dlqtest.Reviewer, gone.DLQID, dlq.Action{Kind: dlq.OperationArchive}); err != nil {
		t.Fatal(err)
	}
	count := func(by dlq.Actor, q dlq.VersionReportQuery) string {
		list, more, err := s.VersionReport(background, by, q, 50)
		if err != nil || more {
			t.Fatal(more, err)
		}
		var out []string
		for _, c := range list {
			when := "earlier"
			if !c.Month.IsZero() {
				when = c.Month.Format("2006-01")
			}
			out = append(out, fmt.Sprintf("%s %s %d", c.Source, when, c.Documents))
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	now, before := month(0).Format("2006-01"), month(1).Format("2006-01")
	for _, c := range []struct {
		name string
		by   dlq.Actor
		q    dlq.VersionReportQuery
		want string
	}{
		{"what is stuck, half a year in months", dlqtest.Reviewer, dlq.VersionReportQuery{From: month(5)}, fmt.Sprintf("leases %s 1, wiki %s 1, wiki %s 2, wiki earlier 2", now, before, now)},
		{"for who sees one source", dlqtest.Only(dlqtest.Reviewer, "leases"), dlq.VersionReportQuery{From: month(5)}, fmt.Sprintf("leases %s 1", now)},
		{"asked for a source that is not theirs", dlqtest.Only(dlqtest.Reviewer, "leases"), dlq.VersionReportQuery{From: month(5), Sources: []string{"wiki"}}, ""},
		{"of a content type", dlqtest.Reviewer, dlq.VersionReportQuery{From: month(5), ContentType: "text/csv"}, fmt.Sprintf("leases %s 1", now)},
		{"up to a month", dlqtest.Reviewer, dlq.VersionReportQuery{From: month(5), To: month(1)}, fmt.Sprintf("wiki %s 1, wiki earlier 2", before)},
		{"of no source", dlqtest.Reviewer, dlq.VersionReportQuery{Sources: []string{}}, ""},
		{"all that ever failed", dlqtest.Reviewer, dlq.VersionReportQuery{From: month(5), Sources: []string{"leases"}, All: true}, fmt.Sprintf("leases %s 2", now)},
	} {
		if got := count(c.by, c.q); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if list, more, err := s.VersionReport(background, dlqtest.Reviewer, dlq.VersionReportQuery{}, 2); err != nil || len(list) != 2 || !more {
		t.Errorf("%d cells, more %v, %v", len(list), more, err)
	}
}

func TestPlacesAreReadFromBothEndsOfACohort(t *testing.T) {
	s := dbtest.Open(t)
	var cohort string
	for i := range 10 {
		source := "wiki"
		if i == 9 {
			source = "leases"
		}
		cohort = s.Park(t, dlqtest.Of(source, fmt.Sprint(i)), dlqtest.Seen(dlqtest.Now.Add(time.Duration(i)*time.Minute)), dlqtest.Seq(int64(100+i)), dlqtest.With(func(e *dlq.Envelope) { e.CursorAtArrival = fmt.Sprint("c", i) })).Cohort
	}
	words := func(by dlq.Actor, ends int) string {
		list, err := s.Places(background, by, cohort, ends)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, p := range list {
			for _, place := range p.Places {
				out = append(out, fmt.Sprint(p.Source, *place.Seq, place.Cursor))
			}
		}
		return strings.Join(out, " ")
	}
	if got, want := words(dlqtest.Reviewer, 2), "wiki100c0 wiki101c1 wiki108c8 leases109c9"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := words(dlqtest.Only(dlqtest.Reviewer, "leases"), 2), "leases109c9"; got != want {
		t.Errorf("who sees one source: %q, want %q", got, want)
	}
	if got := strings.Count(words(dlqtest.Reviewer, 50), "c"); got != 10 {
		t.Errorf("%d of ten places, each once", got)
	}
}

func TestEveryReaderKnowsTheFixOfACohortThatWasMerged(t *testing.T) {
	s := dbtest.Open(t)
	park := func(doc, defect string) string {
		return s.Park(t, dlqtest.Doc(doc), dlqtest.Defect(defect), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = "1" })).Cohort
	}
	into, merged, plain := park("1", "A"), park("2", "B"), park("3", "C")
	park("4", "C")
	id := declare(t, s, merged, "3")
	rule, err := s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: into, Others: []string{merged}, Reason: "the same defect"})
	if err != nil {
		t.Fatal(err)
	}
	deploy(t, s, dlq.DeploymentReport{Component: "parser", Version: "3"})
	found := func(text string) int {
		t.Helper()
		list, _, err := s.Entries(background, dlqtest.Reviewer, query(t, text), dlq.SortLastSeen, "", 9)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for text, want := range map[string]int{"fix:declared": 2, "fix:deployed": 2, "fix:none": 2} {
		if got := found(text); got != want {
			t.Errorf("%s finds %d documents, not %d", text, got, want)
		}
	}
	if f := fixOf(t, s, dlqtest.Reviewer, into); f.ID != id || f.Counts().Replaced != 2 {
		t.Errorf("the page: %+v", f)
	}
	list := allCohorts(t, s, dlqtest.Reviewer, dlq.CohortQuery{Open: true, Sort: dlq.CohortsByNeed})
	if len(list) != 2 || list[0].ID != into || list[1].ID != plain || len(list[0].Standing.Fixes) != 1 || dlq.NeedOf(list[0], s.Now()) != dlq.NeedTest {
		t.Errorf("the list: %+v", list)
	}
	again, created, err := s.DeclareFix(background, dlqtest.Reviewer, into, dlq.FixDeclaration{Component: "parser", Version: "3", Note: "said again"})
	if err != nil || created || again != id {
		t.Errorf("said again: %s %v %v", again, created, err)
	}
	for i := 1; i < dlq.MaxFixes; i++ {
		if _, _, err := s.DeclareFix(background, dlqtest.Reviewer, into, dlq.FixDeclaration{Component: "parser", Version: fmt.Sprint("v", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.DeclareFix(background, dlqtest.Reviewer, into, dlq.FixDeclaration{Component: "parser", Version: "last"}); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("one too many: %v", err)
	}
	if _, err := s.UndoGrouping(background, dlqtest.Reviewer, into, rule.ID, ""); err != nil {
		t.Fatal(err)
	}
	if got := found("fix:declared cohort:" + merged); got != 1 {
		t.Errorf("the undo lost the fix: %d documents", got)
	}
}

func TestFixesThatWereWithdrawnHideNoneThatStands(t *testing.T) {
	s := dbtest.Open(t)
	cohort, other := parkUnder(t, s, "wiki", "1", "1"), s.Park(t, dlqtest.Doc("9"), dlqtest.Defect("Other")).Cohort
	standing := declare(t, s, cohort, "3")
	s.Exec(t, `with recursive n (i) as (select 1 union all select i + 1 from n where i < 700)
		insert into fix (id, cohort_id, component, version, declared_at, actor, withdrawn_at, withdrawn_by) select 'w' || i, case when i % 2 then $1 else $2 end, 'parser', 'v' || i, $3 + i, 'x', $3 + i, 'x' from n`, cohort, other, s.Now().UnixMilli())
	all, err := s.Fixes(background, dlqtest.Reviewer, []string{cohort, other})
	if err != nil {
		t.Fatal(err)
	}
	list := all[cohort]
	i := slices.IndexFunc(list, func(f dlq.Fix) bool { return f.ID == standing })
	if i < 0 {
		t.Fatal("the fix that stands is not among them")
	}
	if i != len(list)-1 || len(list) < 2 {
		t.Errorf("it is number %d of %d: not newest first", i, len(list))
	}
	if list[i].Counts().Replaced != 1 {
		t.Errorf("%+v", list[i])
	}
}

func TestADeploymentIsToldOfTheFixesWithMostDocuments(t *testing.T) {
	s := dbtest.Open(t)
	var batch []dlq.Arrival
	park := func(defect, parser string, n int) {
		for i := range n {
			batch = append(batch, dlqtest.Arrival(dlqtest.Of("wiki", fmt.Sprint(defect, " ", i)), dlqtest.Defect(defect), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = parser })))
		}
	}
	for i := range 101 {
		park(fmt.Sprint("E", i), "1", 1)
	}
	park("Under", "3", 5) // failed under the fix: nothing to send
	park("Most", "1", 3)
	receipts, err := s.RecordArrivals(background, batch)
	if err != nil {
		t.Fatal(err)
	}
	cohorts := map[string]bool{}
	for _, r := range receipts {
		cohorts[r.Cohort] = true
	}
	most := receipts[len(receipts)-1].Cohort
	for id := range cohorts {
		declare(t, s, id, "3")
	}
	deploy(t, s, dlq.DeploymentReport{Component: "parser", Version: "3"})
	list, more, err := s.FixProposals(background, dlqtest.Pipeline, "wiki", "parser", "3")
	if err != nil || !more || len(list) != 100 {
		t.Fatalf("%d proposals, more %v, %v", len(list), more, err)
	}
	if list[0].Fix.CohortID != most || list[0].Redrive.Documents != 3 {
		t.Errorf("first comes %+v", list[0].Redrive)
	}
}
