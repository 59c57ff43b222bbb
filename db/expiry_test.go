package db_test

import (
	"fmt"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func archive(t testing.TB, s *dbtest.DB, limit int) int {
	t.Helper()
	n, err := s.ArchiveExpired(background, limit)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnEntryIsArchivedWhenItsTimeIsOverAndNotBefore(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	s.Clock.Set(s.Entry(t, r.DLQID).ExpiresAt.Add(-time.Millisecond))
	if n := archive(t, s, 10); n != 0 {
		t.Errorf("%d archived a millisecond too early", n)
	}
	s.Clock.Advance(time.Millisecond)
	if n := archive(t, s, 10); n != 1 || s.Entry(t, r.DLQID).Status != dlq.StatusArchived {
		t.Errorf("%d archived, it is %s", n, s.Entry(t, r.DLQID).Status)
	}
	rows, err := s.AuditOfEntry(background, s.Entry(t, r.DLQID).ID, 10)
	if err != nil || len(rows) != 1 || rows[0].Action != "entry.expired" || rows[0].ActorName != "entry_ttl of wiki" {
		t.Errorf("%+v, %v", rows, err)
	}
	s.MustHold(t)
}

func TestWhatLeavesFirstIsArchivedFirst(t *testing.T) {
	s := dbtest.Open(t)
	var got []dlq.Receipt
	for i := range 5 {
		got = append(got, s.Park(t, dlqtest.Doc(fmt.Sprint(i)), dlqtest.FirstSeen(dlqtest.Now.Add(-time.Duration(i)*day))))
	}
	s.Clock.Advance(100 * day)
	if n := archive(t, s, 2); n != 2 {
		t.Fatalf("%d archived, want 2", n)
	}
	for i, r := range got {
		if archived := s.Entry(t, r.DLQID).Status == dlq.StatusArchived; archived != (i >= 3) {
			t.Errorf("entry %d: archived %v", i, archived)
		}
	}
	if n := archive(t, s, 10); n != 3 {
		t.Errorf("%d archived, want the other 3", n)
	}
}

func TestOnlyWhatIsParkedAndNotReservedExpires(t *testing.T) {
	s := withTarget(t)
	park := func(doc string) dlq.Receipt { return s.Park(t, dlqtest.Doc(doc), dlqtest.Held(doc)) }
	redriving, quarantined, resolved, waiting, free := park("redriving"), park("quarantined"), park("resolved"), park("waiting"), park("free")
	bring(t, s, resolved.DLQID, dlq.StatusResolved)
	bring(t, s, quarantined.DLQID, dlq.StatusQuarantined)
	bring(t, s, redriving.DLQID, dlq.StatusRedriving)
	o, err := s.CreateOperation(background, dlq.Operation{Kind: dlq.OperationRedrive, Mode: dlq.ModeAuto, Reason: "a test", Actor: dlqtest.Reviewer})
	if err == nil {
		_, err = s.AddItems(background, o, 1, []string{waiting.DLQID})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(100 * day)
	if n := archive(t, s, 10); n != 1 || s.Entry(t, free.DLQID).Status != dlq.StatusArchived {
		t.Errorf("%d archived, want the free one alone", n)
	}
	if _, err := s.MoveOperation(background, dlqtest.Reviewer, o.ID, dlq.OperationCancelled, "a test"); err != nil {
		t.Fatal(err)
	}
	if n := archive(t, s, 10); n != 1 || s.Entry(t, waiting.DLQID).Status != dlq.StatusArchived {
		t.Errorf("%d archived after the operation let it go", n)
	}
	s.MustHold(t)
}
