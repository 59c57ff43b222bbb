package db_test

import (
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
)

// waitsForCode is a document that failed under parser 1 and waits for other
// code, as does its cohort, where parser 1, parser 2 and chunker 9 were deployed
// before.
func waitsForCode(t *testing.T) (s *dbtest.DB, stands func(string) bool) {
	t.Helper()
	s = dbtest.Open(t)
	s.Clock.Advance(time.Hour)
	deploy(t, s, reported("1", 1))
	deploy(t, s, reported("2", 10))
	deploy(t, s, dlq.DeploymentReport{Component: "chunker", Version: "9"})
	r := s.Park(t, underParser("1"))
	decide(t, s, r.DLQID, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode, Until: dlq.UntilCode})
	decideCohort(t, s, r.Cohort, dlq.NewDisposition{Disposition: dlq.DispositionNeedsCode, Until: dlq.UntilCode})
	return s, func(after string) bool {
		t.Helper()
		endDispositions(t, s)
		entry, cohort := s.Entry(t, r.DLQID).Disposition, cohortOf(t, s, r.Cohort).Disposition
		if entry != cohort {
			t.Errorf("after %s %q stands of the document and %q of its cohort", after, entry, cohort)
		}
		return entry != dlq.DispositionNone
	}
}

func now(version string, stopped ...string) dlq.DeploymentReport {
	return dlq.DeploymentReport{Component: "parser", Version: version, Stopped: stopped}
}

func TestARollbackToWhatFailedEndsNothingAndWhatFollowsItDoes(t *testing.T) {
	s, stands := waitsForCode(t)
	s.Clock.Advance(time.Minute)
	deploy(t, s, now("1"))
	if !stands("the rollback") {
		t.Fatal("the rollback to the version that failed ended it")
	}
	s.Clock.Advance(time.Minute)
	deploy(t, s, now("2"))
	if stands("the next deployment") {
		t.Error("another version was deployed after the rollback, and it stands")
	}
}

func TestWhatRanAlreadyIsNoDeploymentWhenItIsSaidAgain(t *testing.T) {
	s, stands := waitsForCode(t)
	for range 4 {
		s.Clock.Advance(time.Minute)
		deploy(t, s, now("2"))
	}
	deploy(t, s, dlq.DeploymentReport{Component: "chunker", Version: "10"})
	if !stands("the same again") {
		t.Fatal("a start of what ran already ended it")
	}
	s.Clock.Advance(time.Minute)
	deploy(t, s, now("3"))
	if stands("a new version") {
		t.Error("a version was deployed after equal reports, and it stands")
	}
}

func TestALateReportOfThePastEndsNothing(t *testing.T) {
	s, stands := waitsForCode(t)
	for _, r := range []dlq.DeploymentReport{reported("0", 5), reported("2", 4, "1"), reported("", 12, "1")} {
		if !deploy(t, s, r) && r.Version != "" {
			t.Fatalf("%+v moved nothing", r)
		}
		if !stands("a late report") {
			t.Fatalf("%+v, of what no longer runs, ended it", r)
		}
	}
	deploy(t, s, reported("3", 30)) // late as well, and it runs
	if stands("a late report of what runs") {
		t.Error("another version is said to run now, and it stands")
	}
}

// A rolling deploy says of a version twice: that it runs beside another, and
// that the other stopped.
func TestARollingDeployOfOtherCodeEndsItWhenItBegins(t *testing.T) {
	s, stands := waitsForCode(t)
	s.Clock.Advance(time.Minute)
	deploy(t, s, now("1", "none"))
	s.Clock.Advance(time.Minute)
	deploy(t, s, now("1", "2"))
	if !stands("a rolling deploy of what failed") {
		t.Fatal("a rolling deploy of what failed ended it")
	}
	s.Clock.Advance(time.Minute)
	deploy(t, s, now("3", "none"))
	if stands("the begin of a rolling deploy") {
		t.Error("another version began beside what failed, and it stands")
	}
}
