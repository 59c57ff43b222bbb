package db_test

import (
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// wentBack says whether a cohort was ever said to be back.
func wentBack(t *testing.T, s *dbtest.DB, cohort string) bool {
	t.Helper()
	return s.Int(t, "select count(*) from cohort where id = ? and returned_at is not null", cohort) == 1
}

// archivedAlone parks a document of a defect and archives it, so that nothing of
// its cohort is stuck.
func archivedAlone(t *testing.T, s *dbtest.DB, defect, doc string) (cohort string) {
	t.Helper()
	r := s.Park(t, dlqtest.Doc(doc), dlqtest.Defect(defect), dlqtest.Held(doc))
	bring(t, s, r.DLQID, dlq.StatusArchived)
	return r.Cohort
}

func TestWhatAMergeOrItsUndoMovesIsNotBack(t *testing.T) {
	s := withTarget(t)
	stays := archivedAlone(t, s, "A", "1")
	other := s.Park(t, dlqtest.Doc("3"), dlqtest.Defect("B"), dlqtest.Held("3"))
	archivedAlone(t, s, "B", "4") // so that the other one has some of both
	rule, err := s.MergeCohorts(background, dlqtest.Reviewer, dlq.MergeRequest{CohortID: stays, Others: []string{other.Cohort}, Reason: "one defect"})
	if err != nil {
		t.Fatal(err)
	}
	if wentBack(t, s, stays) {
		t.Error("a merge with a cohort that has stuck documents brought it back")
	}
	if _, err := s.UndoGrouping(background, dlqtest.Reviewer, stays, rule.ID, ""); err != nil {
		t.Fatal(err)
	}
	if wentBack(t, s, stays) || wentBack(t, s, other.Cohort) {
		t.Error("the undo of a merge brought a cohort back")
	}
	s.Clock.Advance(time.Hour)
	s.Park(t, dlqtest.Doc("5"), dlqtest.Defect("A"), dlqtest.Seen(s.Now()))
	if !wentBack(t, s, stays) {
		t.Error("a new failure did not bring it back")
	}
	s.MustHold(t)
}

func TestWhatASplitOrARefingerprintingMovesIsNotBack(t *testing.T) {
	s := withTarget(t)
	part := archivedAlone(t, s, "A", "1")
	stuck := s.Park(t, dlqtest.Doc("2"), dlqtest.Defect("B"), dlqtest.Held("2"))
	// What moved first was archived; what is stuck comes with a later slice.
	s.MoveEntry(t, stuck.DLQID, s.Lines(t, "select algorithm || ':' || digest from fingerprint where cohort_id = ?", part)[0])
	if s.Entry(t, stuck.DLQID).CohortID != part {
		t.Fatal("nothing moved")
	}
	if wentBack(t, s, part) {
		t.Error("a document that moved brought the cohort back")
	}
	bring(t, s, stuck.DLQID, dlq.StatusArchived)
	s.Clock.Advance(time.Hour)
	if err := s.Act(background, dlqtest.Reviewer, stuck.DLQID, dlq.Action{Kind: dlq.OperationRestore}); err != nil {
		t.Fatal(err)
	}
	if !wentBack(t, s, part) {
		t.Error("a restored document did not bring it back")
	}
	s.MustHold(t)
}

func TestADocumentThatFailsOtherwiseBringsBackTheCohortItComesTo(t *testing.T) {
	s := withTarget(t)
	cohort := archivedAlone(t, s, "A", "1")
	s.Park(t, dlqtest.Doc("2"), dlqtest.Defect("B"))
	s.Clock.Advance(time.Hour)
	if r := s.Park(t, dlqtest.Doc("2"), dlqtest.Defect("A"), dlqtest.Seen(s.Now())); r.Cohort != cohort {
		t.Fatal("it failed of something else")
	}
	if !wentBack(t, s, cohort) {
		t.Error("an arrival that is stuck there now did not bring it back")
	}
}
