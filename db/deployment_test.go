package db_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func ranIn(t *testing.T, s *dbtest.DB, source string) []string {
	t.Helper()
	src, err := s.Source(background, source)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	after := ""
	for {
		list, next, err := s.DeploymentHistory(background, src.ID, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			until := "now"
			if !d.StoppedAt.IsZero() {
				until = fmt.Sprint(int(d.StoppedAt.Sub(dlqtest.Now) / time.Minute))
			}
			out = append(out, fmt.Sprintf("%s %d-%s", d.Version, int(d.StartedAt.Sub(dlqtest.Now)/time.Minute), until))
		}
		if next == "" {
			slices.Sort(out)
			return out
		}
		after = next
	}
}

func deploy(t *testing.T, s *dbtest.DB, r dlq.DeploymentReport) bool {
	t.Helper()
	_, changed, err := s.Deploy(background, dlqtest.Pipeline, "wiki", r)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func reported(version string, minute int, stopped ...string) dlq.DeploymentReport {
	return dlq.DeploymentReport{Component: "parser", Version: version, Stopped: stopped, At: dlqtest.Now.Add(time.Duration(minute) * time.Minute)}
}

func TestALateReportTakesItsPlaceAmongTheOthers(t *testing.T) {
	s := dbtest.Open(t)
	s.Clock.Advance(time.Hour)
	deploy(t, s, reported("1", 1))
	deploy(t, s, reported("3", 30))
	deploy(t, s, reported("2", 10)) // told after what replaced it
	if got, want := ranIn(t, s, "wiki"), []string{"1 1-10", "2 10-30", "3 30-now"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	deploy(t, s, reported("3", 20)) // it ran earlier than was known
	if got, want := ranIn(t, s, "wiki"), []string{"1 1-10", "2 10-20", "3 20-now"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAVersionSaidAgainIsNotReplacedByALateReportOfAnotherBefore(t *testing.T) {
	s := dbtest.Open(t)
	s.Clock.Advance(time.Hour)
	for minute := 1; minute <= 9; minute++ { // as at every start
		if changed := deploy(t, s, reported("2", minute)); changed != (minute == 1) {
			t.Errorf("minute %d: changed %v", minute, changed)
		}
	}
	if n := s.Int(t, "select count(*) from deployment_report"); n != 3 {
		t.Errorf("%d reports are kept of nine equal ones", n)
	}
	deploy(t, s, reported("1", 5))
	if got, want := ranIn(t, s, "wiki"), []string{"1 5-9", "2 1-5", "2 9-now"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheSameReportTwiceChangesNothingAndIsWrittenOnce(t *testing.T) {
	s := dbtest.Open(t)
	s.Clock.Advance(time.Hour)
	for range 2 {
		deploy(t, s, reported("1", 1))
		deploy(t, s, reported("2", 2, "1"))
		deploy(t, s, reported("", 3, "2"))
	}
	if got, want := ranIn(t, s, "wiki"), []string{"1 1-2", "2 2-3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if n := s.Int(t, "select count(*) from deployment_report"); n != 3 {
		t.Errorf("%d reports are kept of three", n)
	}
	if n := s.Int(t, "select count(*) from audit where action = 'deployment'"); n != 3 {
		t.Errorf("%d rows of the trail for three deployments", n)
	}
}

func TestTheOrderInWhichReportsComeDoesNotMatter(t *testing.T) {
	reports := []dlq.DeploymentReport{reported("1", 1), reported("2", 5, "none"), reported("2", 9, "1"), reported("1", 12), reported("3", 20), reported("", 25, "3"), reported("3", 30), reported("3", 40)}
	var want []string
	for round := range 8 {
		s := dbtest.Open(t)
		s.Clock.Advance(time.Hour)
		order := slices.Clone(reports)
		if round > 0 {
			r := rand.New(rand.NewPCG(uint64(round), 7))
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		for _, r := range order {
			deploy(t, s, r)
		}
		got := ranIn(t, s, "wiki")
		if round == 0 {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("round %d: %q, want %q", round, got, want)
		}
	}
	if got := []string{"1 1-9", "1 12-20", "2 5-12", "3 20-25", "3 30-now"}; !slices.Equal(got, want) {
		t.Errorf("in their order: %q, want %q", want, got)
	}
}

func TestADeploymentSaysWhetherItIsARollbackOrARollingOne(t *testing.T) {
	s := dbtest.Open(t)
	s.Clock.Advance(time.Hour)
	deploy(t, s, reported("1", 1))
	deploy(t, s, reported("2", 5, "none"))
	deploy(t, s, reported("2", 9, "1"))
	deploy(t, s, reported("1", 12))
	src, err := s.Source(background, "wiki")
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.DeploymentsBetween(background, src.ID, dlqtest.Now, s.Now(), 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprint(d.Version, " ", d.Again, " ", d.Beside))
	}
	if want := "1 false false, 2 false true, 1 true false"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if since, err := s.RegisteredSince(background, src.ID); err != nil || !since.Equal(dlqtest.Now.Add(time.Minute)) {
		t.Errorf("registered since %v, %v", since, err)
	}
}

func TestVersionsThatFailuresNameAndNobodyRegisteredAreSeen(t *testing.T) {
	s := dbtest.Open(t)
	under := func(doc string, v dlq.Versions) {
		s.Park(t, dlqtest.Doc(doc), dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion, e.Versions = "", v }))
	}
	under("1", dlq.Versions{"parser": "1", "ocr": "5"})
	under("2", dlq.Versions{"parser": "2", "ocr": "5"})
	if _, _, err := s.Deploy(background, dlqtest.Pipeline, "wiki", dlq.DeploymentReport{Component: "parser", Version: "2"}); err != nil {
		t.Fatal(err)
	}
	src, err := s.Source(background, "wiki")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.SeenVersions(background, src.ID, 10)
	if want := []dlq.SeenVersion{{Component: "ocr", Version: "5", Documents: 2, Parked: 2}, {Component: "parser", Version: "1", Documents: 1, Parked: 1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	cohort := s.Entry(t, s.Park(t, dlqtest.Doc("1")).DLQID).CohortID
	all, err := s.KnownVersions(background, dlqtest.Reviewer, cohort, 10)
	if want := []dlq.SeenVersion{{Component: "parser", Version: "2"}, {Component: "ocr", Version: "5"}, {Component: "parser", Version: "1"}, {Component: "parser", Version: "pdfminer.six@20221105"}}; err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%+v, %v", all, err)
	}
	known, err := s.KnownVersions(background, dlqtest.Only(dlqtest.Reviewer, "leases"), cohort, 10)
	if err != nil || len(known) != 0 {
		t.Errorf("who may not see the source is told %+v, %v", known, err)
	}
}
