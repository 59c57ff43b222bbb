package redrive_test

import (
	"net/http"
	"testing"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/outbound"
	"dlo/dlq"
)

func TestATargetThatMovesIsFoundAtItsNewAddressUnderTheSameID(t *testing.T) {
	s := newStand(t)
	s.target.answers(answer(503, ""))
	id := s.park("1", "one", "")
	o := s.start(id)
	s.run()
	redriveID := s.redrive(id).ID
	moved := newTarget(t)
	s.policy.Redrive.URL = moved.URL + "/elsewhere"
	s.put(s.policy)
	other := s.park("2", "two", "")
	s.start(other)
	s.clock.advance(time.Minute)
	s.run()
	if n := len(s.target.got()); n != 1 {
		t.Errorf("the old address was sent %d deliveries", n)
	}
	got := moved.got()
	if len(got) != 2 {
		t.Fatalf("the new address was sent %d deliveries", len(got))
	}
	ids := map[string]bool{got[0].text("redrive_id"): true, got[1].text("redrive_id"): true}
	if !ids[redriveID] || s.redrive(id).State != dlq.RedriveDelivered || s.operation(o.ID).State == dlq.OperationPaused {
		t.Errorf("it was sent %v, redrive %s", ids, s.redrive(id).State)
	}
}

func TestATargetThatIsGoneAndComesBackElsewhereTakesWhatIsLeft(t *testing.T) {
	s := newStand(t)
	s.target.answers(answer(410, ""))
	id := s.park("1", "one", "")
	o := s.start(id)
	s.run()
	if s.operation(o.ID).State != dlq.OperationPaused {
		t.Fatalf("the operation is %s", s.operation(o.ID).State)
	}
	back := newTarget(t)
	s.policy.Redrive.URL = back.URL
	s.put(s.policy)
	_, err := s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationRunning, "it moved")
	s.must(err)
	s.run()
	if len(back.got()) != 1 || s.redrive(id).State != dlq.RedriveDelivered {
		t.Errorf("sent %d deliveries, redrive %s", len(back.got()), s.redrive(id).State)
	}
	alerts, err := s.store.Alerts(s.ctx, reviewer, 10)
	s.must(err)
	for _, a := range alerts {
		if a.Rule == dlq.AlertTargetGone && a.State != dlq.AlertResolved {
			t.Errorf("the alert still stands: %+v", a)
		}
	}
}

func TestATargetThatTakesItAndNeverSaysMoreIsOverdue(t *testing.T) {
	s := newStand(t)
	s.target.answers(answer(202, ""))
	id := s.park("1", "one", "")
	s.start(id)
	s.run()
	s.clock.advance(s.policy.Outcomes.Timeout.Std() - time.Second)
	parked, _, err := s.store.SettleOverdue(s.ctx, 10)
	s.must(err)
	if parked != 0 || s.status(id) != dlq.StatusRedriving {
		t.Errorf("a second early: %d parked, entry %s", parked, s.status(id))
	}
	s.clock.advance(time.Second)
	parked, _, err = s.store.SettleOverdue(s.ctx, 10)
	s.must(err)
	if e := s.entry(id); parked != 1 || e.Status != dlq.StatusParked || !e.Marks.Has(dlq.MarkNoOutcome) || e.SameFailures != 0 {
		t.Errorf("%d parked, entry %s, marks %s, %d same failures", parked, e.Status, e.Marks, e.SameFailures)
	}
	if n := len(s.target.got()); n != 1 {
		t.Errorf("what was taken was sent %d times", n)
	}
}

func TestATargetBehindOurOwnGuardIsUndeliveredAtOnceAndNotTriedForADay(t *testing.T) {
	s := newStand(t)
	s.o.Sender = webhook.New(outbound.New(outbound.Options{}), s.clock.Now) // loopback is not open
	id := s.park("1", "one", "")
	s.start(id)
	s.run()
	r := s.redrive(id)
	if len(s.target.got()) != 0 || r.Outcome != dlq.OutcomeUndelivered || r.Deliveries != 1 || s.status(id) != dlq.StatusParked {
		t.Errorf("redrive %q after %d deliveries, entry %s", r.Outcome, r.Deliveries, s.status(id))
	}
	if r.LastError == "" || r.LastStatus != 0 {
		t.Errorf("it says %d %q", r.LastStatus, r.LastError)
	}
}

func TestASecretThatIsReplacedInMidOperationSignsWhatIsLeft(t *testing.T) {
	s := newStand(t)
	s.target.answers(inTurn(answer(503, ""), answer(http.StatusAccepted, "")))
	id := s.park("1", "one", "")
	s.start(id)
	s.run()
	s.policy.Redrive.Secret = "whsec_bmV4dCBzZWNyZXQgb2YgdGhlIHNvdXJjZSB3"
	s.put(s.policy)
	s.clock.advance(time.Minute)
	s.run()
	got := s.target.got()
	if len(got) != 2 {
		t.Fatalf("%d deliveries", len(got))
	}
	for _, known := range []string{secret, s.policy.Redrive.Secret} {
		if _, err := dlq.CheckSignature(got[1].header, got[1].raw, []string{known}, s.clock.Now()); err != nil {
			t.Errorf("a pipeline that knows one of the two secrets: %v", err)
		}
	}
	if _, err := dlq.CheckSignature(got[0].header, got[0].raw, []string{s.policy.Redrive.Secret}, s.clock.Now().Add(-time.Minute)); err == nil {
		t.Error("the first delivery was signed with a secret that came later")
	}
}
