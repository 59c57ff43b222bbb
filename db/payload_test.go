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

func TestOnlyOldBytesThatNobodyHoldsAreForgotten(t *testing.T) {
	s := dbtest.Open(t)
	s.Park(t, dlqtest.Held("held"))
	for _, text := range []string{"old", "again", "back"} {
		if err := s.RememberPayload(background, dlqtest.Digest(text), 3); err != nil {
			t.Fatal(err)
		}
	}
	s.Clock.Advance(25 * time.Hour)
	for _, text := range []string{"fresh", "again"} {
		if err := s.RememberPayload(background, dlqtest.Digest(text), 5); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Now().Add(-24 * time.Hour)
	orphans, err := s.Orphans(background, before, 10)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(orphans)
	want := []string{dlqtest.Digest("old"), dlqtest.Digest("back")}
	slices.Sort(want)
	if !slices.Equal(orphans, want) {
		t.Errorf("%d orphans, want old and back", len(orphans))
	}
	// The bytes of "back" were put again, and of what is held or fresh a sweep
	// that was cut off may speak too late.
	for range 2 {
		if err := s.ForgetOrphans(background, before, []string{dlqtest.Digest("old"), dlqtest.Digest("held"), dlqtest.Digest("fresh")}); err != nil {
			t.Fatal(err)
		}
	}
	for text, held := range map[string]bool{"held": true, "old": false, "back": true, "fresh": true, "again": true} {
		if got, err := s.HoldsPayload(background, dlqtest.Digest(text)); err != nil || got != held {
			t.Errorf("%s is held: %v, %v", text, got, err)
		}
	}
	s.MustHold(t)
}

func TestEveryPayloadIsVisitedOnce(t *testing.T) {
	s := dbtest.Open(t)
	var rows []string
	for i := range 1203 {
		rows = append(rows, fmt.Sprintf("('%s', %d, 0)", dlqtest.Digest(fmt.Sprint(i)), i))
	}
	s.Exec(t, `insert into payload (sha256, bytes, stored_at) values `+strings.Join(rows, ", "))
	seen := map[string]int64{}
	if err := s.Payloads(background, func(sha string, size int64) error {
		if _, twice := seen[sha]; twice {
			t.Errorf("%s twice", sha)
		}
		seen[sha] = size
		return nil
	}); err != nil || len(seen) != 1203 || seen[dlqtest.Digest("7")] != 7 {
		t.Errorf("%d visited, %v", len(seen), err)
	}
}

func TestACorruptCopyIsMarkedForEverybodyWhoHoldsIt(t *testing.T) {
	s := dbtest.Open(t)
	a, b := s.Park(t, dlqtest.Doc("a"), dlqtest.Held("v")), s.Park(t, dlqtest.Doc("b"), dlqtest.Held("v"))
	for range 2 {
		if err := s.MarkPayloadCorrupt(background, s.Entry(t, a.DLQID).ID); err != nil {
			t.Fatal(err)
		}
	}
	if s.Entry(t, a.DLQID).Copy != dlq.CopyCorrupt || s.Entry(t, b.DLQID).Copy != dlq.CopyCorrupt {
		t.Error("one of the two is not marked")
	}
	list, err := s.Alerts(background, dlqtest.Reviewer, 10)
	if err != nil || len(list) != 1 || list[0].Rule != dlq.AlertPayloadCorrupt || list[0].State != dlq.AlertFiring {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.PayloadIsSound(background, dlqtest.Digest("v")); err != nil {
		t.Fatal(err)
	}
	if s.Entry(t, a.DLQID).Copy != dlq.CopyHeld || s.Entry(t, b.DLQID).Copy != dlq.CopyHeld {
		t.Error("one of the two is still marked, though the bytes were stored anew")
	}
	if list, err = s.Alerts(background, dlqtest.Reviewer, 10); err != nil || list[0].State != dlq.AlertResolved {
		t.Errorf("%+v, %v", list, err)
	}
	s.MustHold(t)
}

func TestRejectedEnvelopesAreKeptAsTheyCame(t *testing.T) {
	s := dbtest.Open(t)
	bodies := []string{"{", "\x00\xff", strings.Repeat("x", dlq.MaxEnvelope+10)}
	for _, body := range bodies {
		if err := s.KeepRejected(background, dlqtest.Pipeline, "wiki", []byte(body), `{"detail":"no"}`); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Rejected(background, "wiki", 10)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d kept, %v", len(list), err)
	}
	for i, r := range list {
		want := bodies[len(bodies)-1-i]
		if string(r.Body) != want[:min(len(want), dlq.MaxEnvelope)] || r.Bytes != int64(len(want)) || r.Actor != "pipeline" || r.Problem != `{"detail":"no"}` {
			t.Errorf("%d of %d bytes kept of %d", len(r.Body), r.Bytes, len(want))
		}
	}
	if n, err := s.CountRejected(background, "wiki"); err != nil || n != 3 {
		t.Error(n, err)
	}
	if list, err := s.Rejected(background, "", 10); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

func TestAnAlertIsOneForOneCondition(t *testing.T) {
	s := dbtest.Open(t)
	broken := func(doc string) {
		s.Park(t, dlqtest.Doc(doc), dlqtest.Class(dlq.ClassDownstreamContract))
	}
	broken("1")
	list, err := s.Alerts(background, dlqtest.Reviewer, 10)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := s.AcknowledgeAlert(background, dlqtest.Reviewer, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := s.AcknowledgeAlert(background, dlqtest.Reviewer, list[0].ID); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("acknowledged twice: %v", err)
	}
	s.Clock.Advance(time.Minute)
	broken("2")
	list, err = s.Alerts(background, dlqtest.Reviewer, 10)
	if err != nil || len(list) != 1 || list[0].State != dlq.AlertAcknowledged || list[0].AcknowledgedBy != "reviewer@example.com" || !list[0].Since.Equal(dlqtest.Now) || !list[0].UpdatedAt.Equal(s.Now()) {
		t.Errorf("%+v, %v", list, err)
	}
	if n, err := s.StandingAlerts(background, dlqtest.Reviewer); err != nil || n != 1 {
		t.Error(n, err)
	}
}
