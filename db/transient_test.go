package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// passesUnchanged replays documents of a source and defect that pass under the
// versions that they failed under, and answers the cohort.
func passesUnchanged(t *testing.T, s *dbtest.DB, source, defect string, docs ...string) (cohort string) {
	t.Helper()
	for _, doc := range docs {
		p := s.Park(t, dlqtest.Of(source, doc), dlqtest.Defect(defect), dlqtest.Held(source+doc), dlqtest.Seen(s.Now()))
		r := send(t, s, p.DLQID)
		s.Clock.Advance(time.Second)
		report(t, s, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted, Versions: r.FailedUnder, PayloadSHA256: r.FailedSHA256})
		cohort = p.Cohort
	}
	return cohort
}

// looksTransient are the alerts of that rule that stand, in words.
func looksTransient(t *testing.T, s *dbtest.DB, by dlq.Actor) string {
	t.Helper()
	list, err := s.Alerts(background, by, 100)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range list {
		if a.Rule == dlq.AlertLooksTransient && a.State != dlq.AlertResolved {
			out = append(out, fmt.Sprintf("%s %s %d", a.CohortID, a.Source, a.Value))
			if !strings.HasSuffix(a.Why, "the fix belongs in the retry layer's classifier") {
				t.Errorf("it does not say where the fix belongs: %s", a.Why)
			}
		}
	}
	return strings.Join(out, ", ")
}

func TestACohortThatPassesUnchangedRaisesOneAlert(t *testing.T) {
	s := withTarget(t)
	cohort := passesUnchanged(t, s, "wiki", "A", "1", "2", "3", "4")
	if got := looksTransient(t, s, dlqtest.Reviewer); got != "" {
		t.Errorf("four are too few: %s", got)
	}
	passesUnchanged(t, s, "wiki", "A", "5")
	if got := looksTransient(t, s, dlqtest.Reviewer); got != cohort+" wiki 5" {
		t.Errorf("after five: %q", got)
	}
	passesUnchanged(t, s, "wiki", "A", "6", "7")
	if got := looksTransient(t, s, dlqtest.Reviewer); got != cohort+" wiki 7" {
		t.Errorf("after seven: %q, want the one with a new count", got)
	}
	last := s.Park(t, dlqtest.Doc("8"), dlqtest.Defect("A"), dlqtest.Held("8"), dlqtest.Seen(s.Now()))
	replayed(t, s, last.DLQID, "A")
	if got := looksTransient(t, s, dlqtest.Reviewer); got != "" {
		t.Errorf("it stands although new code still fails: %s", got)
	}
	s.MustHold(t)
}

// The count of an alert says something of each source in it.
func TestWhoSeesOneSourceIsNotToldOfAnAlertAboutTwo(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	passesUnchanged(t, s, "wiki", "A", "1", "2", "3", "4", "5")
	wiki := dlqtest.Only(dlqtest.Reviewer, "wiki")
	if got := looksTransient(t, s, wiki); !strings.HasSuffix(got, "wiki 5") {
		t.Errorf("of their source alone: %q", got)
	}
	passesUnchanged(t, s, "leases", "A", "6")
	for _, source := range []string{"wiki", "leases"} {
		if got := looksTransient(t, s, dlqtest.Only(dlqtest.Reviewer, source)); got != "" {
			t.Errorf("who sees %s is told of another source: %q", source, got)
		}
	}
	if got := looksTransient(t, s, dlqtest.Reviewer); !strings.HasSuffix(got, " 6") {
		t.Errorf("somebody who sees all is told %q", got)
	}
}

func TestAMergeAndItsUndoMoveTheAlert(t *testing.T) {
	s := withTarget(t)
	a, b := passesUnchanged(t, s, "wiki", "A", "1", "2", "3"), passesUnchanged(t, s, "wiki", "B", "4", "5", "6", "7", "8")
	if got := looksTransient(t, s, dlqtest.Reviewer); got != b+" wiki 5" {
		t.Fatalf("before the merge: %q", got)
	}
	if _, err := s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: a, Others: []string{b}, Reason: "one"}); err != nil {
		t.Fatal(err)
	}
	if got := looksTransient(t, s, dlqtest.Reviewer); got != a+" wiki 8" {
		t.Errorf("after the merge: %q", got)
	}
	if _, err := s.UndoGrouping(background, dlqtest.Reviewer, a, "", ""); err != nil {
		t.Fatal(err)
	}
	if got := looksTransient(t, s, dlqtest.Reviewer); got != b+" wiki 5" {
		t.Errorf("after the undo: %q", got)
	}
}

func TestTheAlertIsOverWhenTheCohortIsQuiet(t *testing.T) {
	s := withTarget(t)
	passesUnchanged(t, s, "wiki", "A", "1", "2", "3", "4", "5")
	resolve := func() {
		t.Helper()
		if _, err := s.ResolveOverAlerts(background); err != nil {
			t.Fatal(err)
		}
	}
	s.Clock.Advance(13 * 24 * time.Hour)
	s.Park(t, dlqtest.Doc("6"), dlqtest.Defect("A"), dlqtest.Seen(s.Now()))
	s.Clock.Advance(13 * 24 * time.Hour)
	if resolve(); looksTransient(t, s, dlqtest.Reviewer) == "" {
		t.Error("it is over, and one came 13 days ago")
	}
	s.Clock.Advance(2 * 24 * time.Hour)
	if resolve(); looksTransient(t, s, dlqtest.Reviewer) != "" {
		t.Error("it stands after 15 quiet days")
	}
}
