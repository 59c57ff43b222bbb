package dlq

import (
	"testing"
	"time"
)

// The table of states and events, cell by cell: what each event does to an entry
// in each of the six states.

var (
	tableNow  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	sentAt    = tableNow.Add(-time.Hour)
	lastSeen  = tableNow.Add(-24 * time.Hour)
	threshold = 3
)

// standingIn is an entry in a state: opened and last seen a day ago, and if
// redriving, sent an hour ago.
func standingIn(s Status) Standing {
	at := Position{LastSeen: lastSeen, ReceivedAt: lastSeen}
	st := Standing{Status: s, Evidence: at, Settled: at, CohortID: "c", OpenedAt: lastSeen, ExpiresAt: lastSeen.Add(90 * 24 * time.Hour), Code: CodeUnknown}
	if s == StatusRedriving {
		st.Flight = &Flight{RedriveID: "R", Sent: true, SentAt: sentAt}
	}
	return st
}

func seenAt(t time.Time) Position { return Position{LastSeen: t, ReceivedAt: t} }

var newer, older = seenAt(tableNow), seenAt(lastSeen.Add(-time.Hour))

func TestNewerArrival(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  Status
		redrive string // that it names
		echoes  bool
		at      Position
		before  func(*Standing)
		want    ArrivalEffect // but for Why
	}{
		{"parked", StatusParked, "", false, newer, nil, ArrivalEffect{Status: StatusParked, ReplaceEvidence: true}},
		{"redriving, named", StatusRedriving, "R", true, newer, nil, ArrivalEffect{Status: StatusParked, ReplaceEvidence: true, Failure: ReplayNamed, SameFailures: 1}},
		{"redriving, named, at the threshold", StatusRedriving, "R", true, newer, func(s *Standing) { s.SameFailures = 2 },
			ArrivalEffect{Status: StatusQuarantined, ReplaceEvidence: true, Failure: ReplayNamed, SameFailures: 3, Poisoned: true}},
		{"redriving, presumed", StatusRedriving, "", false, newer, nil,
			ArrivalEffect{Status: StatusParked, ReplaceEvidence: true, Failure: ReplayPresumed, SameFailures: 1, Marks: Marks{MarkPresumed}}},
		{"redriving, presumed, at the threshold", StatusRedriving, "", false, newer, func(s *Standing) { s.SameFailures = 2 },
			ArrivalEffect{Status: StatusQuarantined, ReplaceEvidence: true, Failure: ReplayPresumed, SameFailures: 3, Poisoned: true, Marks: Marks{MarkPresumed}}},
		{"redriving, unattributed, after the send", StatusRedriving, "", true, newer, func(s *Standing) { s.SameFailures = 2 },
			ArrivalEffect{Status: StatusParked, ReplaceEvidence: true, Failure: ReplayUnrelated, SameFailures: 2}},
		{"redriving, unattributed, before the send", StatusRedriving, "", true, seenAt(sentAt.Add(-time.Minute)), nil, ArrivalEffect{Status: StatusRedriving}},
		{"redriving, from a pipeline that names none, before the send", StatusRedriving, "", false, seenAt(sentAt.Add(-time.Minute)), nil, ArrivalEffect{Status: StatusRedriving}},
		{"redriving, not sent yet", StatusRedriving, "", false, newer, func(s *Standing) { s.Flight = &Flight{RedriveID: "R"} }, ArrivalEffect{Status: StatusRedriving}},
		{"quarantined", StatusQuarantined, "", false, newer, func(s *Standing) { s.SameFailures = 3 }, ArrivalEffect{Status: StatusQuarantined, ReplaceEvidence: true, SameFailures: 3}},
		{"archived", StatusArchived, "", false, newer, nil, ArrivalEffect{Status: StatusParked, ReplaceEvidence: true, Renew: true}},
		{"resolved", StatusResolved, "", false, newer, func(s *Standing) { s.SameFailures, s.Marks = 2, Marks{MarkLate} },
			ArrivalEffect{Status: StatusParked, NewEpisode: true, ReplaceEvidence: true, LeaveRegister: true, Marks: Marks{MarkReturned}}},
		{"erased", StatusErased, "", false, newer, nil, ArrivalEffect{Status: StatusParked, NewEpisode: true, ReplaceEvidence: true}},
		{"erased and blocked", StatusErased, "", false, newer, func(s *Standing) { s.Blocked = true }, ArrivalEffect{Status: StatusErased, CountOnly: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := standingIn(c.status)
			if c.before != nil {
				c.before(&s)
			}
			got := s.Arrive(c.at, c.redrive, c.echoes, true, threshold)
			sameArrival(t, got, c.want)
		})
	}
}

func sameArrival(t *testing.T, got, want ArrivalEffect) {
	t.Helper()
	if got.Marks.String() != want.Marks.String() {
		t.Errorf("marks %q, want %q", got.Marks, want.Marks)
	}
	got.Marks, want.Marks = nil, nil
	got.Why, want.Why = "", ""
	a, b := got, want
	if a.Status != b.Status || a.ReplaceEvidence != b.ReplaceEvidence || a.NewEpisode != b.NewEpisode || a.Renew != b.Renew || a.Failure != b.Failure ||
		a.LeaveRegister != b.LeaveRegister || a.CountOnly != b.CountOnly || a.SameAttempt != b.SameAttempt || a.SameFailures != b.SameFailures || a.Poisoned != b.Poisoned {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

func TestArrivalThatIsNotNewerChangesNothingInAnyState(t *testing.T) {
	for _, status := range Statuses {
		for _, echoes := range []bool{false, true} {
			got := standingIn(status).Arrive(older, "", echoes, true, threshold)
			if got.Why != ArrivalHistory {
				t.Errorf("%s: it is %s", status, got.Why)
			}
			sameArrival(t, got, ArrivalEffect{Status: status})
		}
	}
}

func TestFailureOfARedriveThatItsOutcomeReportedIsOneAttempt(t *testing.T) {
	for _, status := range Statuses {
		s := standingIn(status)
		s.Named = &Settled{RedriveID: "Q", Outcome: OutcomeFailed, AttemptID: 7, Reported: true}
		got := s.Arrive(newer, "Q", true, true, threshold)
		sameArrival(t, got, ArrivalEffect{Status: status, SameAttempt: true})

		// A second arrival that names the redrive is another event: history.
		s.Named.Reported = false
		sameArrival(t, s.Arrive(newer, "Q", true, true, threshold), ArrivalEffect{Status: status})
	}
}

func TestRedriveAsked(t *testing.T) {
	able := Candidate{Status: StatusParked, HasKey: true, HasTarget: true, Threshold: threshold, Mode: ModeAuto, Copy: CopyHeld}
	for _, c := range []struct {
		name   string
		change func(*Candidate)
		want   Eligibility
	}{
		{"parked", func(*Candidate) {}, Eligibility{}},
		{"parked, at the threshold", func(c *Candidate) { c.SameFailures = 3 }, Eligibility{LeftOut: LeftQuarantined, Quarantine: true}},
		{"parked, over the threshold", func(c *Candidate) { c.SameFailures = 4 }, Eligibility{LeftOut: LeftQuarantined, Quarantine: true}},
		{"parked, at the threshold with a grant", func(c *Candidate) { c.SameFailures, c.Grant = 3, true }, Eligibility{}},
		{"parked, key in the register", func(c *Candidate) { c.Registered = true }, Eligibility{Skip: true}},
		{"parked, no key", func(c *Candidate) { c.HasKey = false }, Eligibility{LeftOut: LeftNoIdentity}},
		{"parked, no target", func(c *Candidate) { c.HasTarget = false }, Eligibility{LeftOut: LeftNoTarget}},
		{"parked, key in the register and no target", func(c *Candidate) { c.Registered, c.HasTarget = true, false }, Eligibility{Skip: true}},
		{"parked, reserved or its key in flight", func(c *Candidate) { c.InFlight = true }, Eligibility{LeftOut: LeftInFlight}},
		{"parked, never held, held asked", func(c *Candidate) { c.Mode, c.Copy = ModeHeld, CopyNever }, Eligibility{LeftOut: LeftNoPayload}},
		{"parked, expired, held asked", func(c *Candidate) { c.Mode, c.Copy = ModeHeld, CopyExpired }, Eligibility{LeftOut: LeftPayloadExpired}},
		{"parked, corrupt, held asked", func(c *Candidate) { c.Mode, c.Copy = ModeHeld, CopyCorrupt }, Eligibility{LeftOut: LeftPayloadCorrupt}},
		{"parked, corrupt, auto", func(c *Candidate) { c.Copy = CopyCorrupt }, Eligibility{LeftOut: LeftPayloadCorrupt}},
		{"parked, corrupt, source asked", func(c *Candidate) { c.Mode, c.Copy = ModeSource, CopyCorrupt }, Eligibility{}},
		{"parked, never held, auto", func(c *Candidate) { c.Copy = CopyNever }, Eligibility{}},
		{"parked, expired, auto", func(c *Candidate) { c.Copy = CopyExpired }, Eligibility{}},
		{"redriving", func(c *Candidate) { c.Status = StatusRedriving }, Eligibility{LeftOut: LeftInFlight}},
		{"quarantined", func(c *Candidate) { c.Status = StatusQuarantined }, Eligibility{LeftOut: LeftQuarantined}},
		{"archived", func(c *Candidate) { c.Status = StatusArchived }, Eligibility{LeftOut: LeftArchived}},
		{"resolved", func(c *Candidate) { c.Status = StatusResolved }, Eligibility{LeftOut: LeftResolved}},
		{"erased", func(c *Candidate) { c.Status = StatusErased }, Eligibility{LeftOut: LeftErased}},
	} {
		candidate := able
		c.change(&candidate)
		if got := candidate.Ask(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestDeliveredThenItsOutcome(t *testing.T) {
	for result, resolution := range map[OutcomeResult]Resolution{OutcomeCommitted: ResolvedCommitted, OutcomeSkipped: ResolvedSkipped, OutcomeSuperseded: ResolvedSuperseded} {
		e := standingIn(StatusRedriving).Settle(result, newer, false, false, true, threshold)
		registers := result != OutcomeSuperseded
		if !e.Applied || e.Status != StatusResolved || e.Resolution != resolution || !e.SettleFlight || e.Register != registers {
			t.Errorf("%s: %+v", result, e)
		}
	}
	for have, want := range map[int]Status{0: StatusParked, 1: StatusParked, 2: StatusQuarantined, 3: StatusQuarantined} {
		s := standingIn(StatusRedriving)
		s.SameFailures = have
		e := s.Settle(OutcomeFailed, newer, false, false, true, threshold)
		if !e.Applied || e.Status != want || e.SameFailures != have+1 || e.Poisoned != (want == StatusQuarantined) || !e.Attempt || !e.SettleFlight || e.Register {
			t.Errorf("failed after %d: %+v", have, e)
		}
	}
}

func TestFailureInAnotherCohortCountsAnewOnlyOnChangedCode(t *testing.T) {
	for _, c := range []struct {
		same bool
		code Code
		want int
	}{{true, CodeMoved, 3}, {true, CodeSame, 3}, {true, CodeUnknown, 3}, {false, CodeMoved, 1}, {false, CodeSame, 3}, {false, CodeUnknown, 3}} {
		if got := NextSameFailures(2, c.same, c.code); got != c.want {
			t.Errorf("same cohort %v, code %s: %d, want %d", c.same, c.code, got, c.want)
		}
	}
}

func TestNoOutcomeInTime(t *testing.T) {
	for _, mode := range []OutcomeMode{OutcomesReported, OutcomesResponse, OutcomesCheck} {
		s := standingIn(StatusRedriving)
		s.SameFailures = 2
		if e := s.Silence(mode); e.Status != StatusParked || !e.Marks.Has(MarkNoOutcome) || e.SameFailures != 2 || !e.SettleFlight || e.Register {
			t.Errorf("%s: %+v", mode, e)
		}
	}
	e := standingIn(StatusRedriving).Silence(OutcomesAssumed)
	if e.Status != StatusResolved || e.Resolution != ResolvedAssumed || !e.Marks.Has(MarkAssumed) || !e.SettleFlight || e.Register {
		t.Errorf("assumed: %+v", e)
	}
}

func TestLateCommittedOrSkipped(t *testing.T) {
	for _, result := range []OutcomeResult{OutcomeCommitted, OutcomeSkipped} {
		for status, want := range map[Status]Status{StatusParked: StatusResolved, StatusRedriving: StatusResolved, StatusQuarantined: StatusResolved, StatusArchived: StatusResolved,
			StatusResolved: StatusResolved, StatusErased: StatusErased} {
			e := standingIn(status).Settle(result, newer, true, false, true, threshold)
			if e.Status != want || !e.Applied || !e.Register || e.SettleFlight {
				t.Errorf("%s, late %s: %+v", status, result, e)
			}
			if marked := e.Marks.Has(MarkLate); marked != (status != want) {
				t.Errorf("%s, late %s: marked late %v", status, result, marked)
			}
		}
		for _, status := range []Status{StatusParked, StatusRedriving} {
			e := standingIn(status).Settle(result, older, true, false, true, threshold)
			if e.Status != status || e.Applied || e.Register || !e.History || e.Why == "" {
				t.Errorf("%s, late %s before the arrival that stands: %+v", status, result, e)
			}
		}
	}
}

func TestLateCommitIsHeldAgainstTheSequenceBeforeTheTime(t *testing.T) {
	low, high := int64(1), int64(2)
	s := standingIn(StatusParked)
	s.Evidence.IngestSeq = &high
	if e := s.Settle(OutcomeCommitted, Position{IngestSeq: &low, LastSeen: tableNow}, true, false, true, threshold); e.Status != StatusParked {
		t.Errorf("a later commit of an older version: %s", e.Status)
	}
	s.Evidence.IngestSeq = &low
	if e := s.Settle(OutcomeCommitted, Position{IngestSeq: &high, LastSeen: older.LastSeen}, true, false, true, threshold); e.Status != StatusResolved {
		t.Errorf("an earlier commit of a newer version: %s", e.Status)
	}
}

func TestLateFailedOrSuperseded(t *testing.T) {
	for _, result := range []OutcomeResult{OutcomeFailed, OutcomeSuperseded} {
		for _, status := range Statuses {
			s := standingIn(status)
			s.SameFailures = 2
			e := s.Settle(result, newer, true, false, true, threshold)
			if e.Status != status || e.Register || e.SettleFlight || e.Attempt || e.Poisoned || e.SameFailures != 2 {
				t.Errorf("%s, late %s: %+v", status, result, e)
			}
			if status == StatusErased {
				if e.Applied || e.History {
					t.Errorf("erased, late %s is not dropped: %+v", result, e)
				}
				continue
			}
			if !e.History {
				t.Errorf("%s, late %s leaves no history", status, result)
			}
			if contradicts := status == StatusResolved; e.Contradicts != contradicts {
				t.Errorf("%s, late %s contradicts %v", status, result, e.Contradicts)
			}
		}
	}
}

func TestCommittedWithoutARedrive(t *testing.T) {
	for status, want := range map[Status]Status{StatusParked: StatusResolved, StatusRedriving: StatusResolved, StatusQuarantined: StatusResolved, StatusArchived: StatusResolved,
		StatusResolved: StatusResolved, StatusErased: StatusErased} {
		e := standingIn(status).Settle(OutcomeCommitted, newer, false, true, true, threshold)
		if e.Status != want || e.SettleFlight != (status == StatusRedriving) {
			t.Errorf("%s: %+v", status, e)
		}
		if status != want && e.Resolution != ResolvedSuperseded {
			t.Errorf("%s is resolved as %s", status, e.Resolution)
		}
		if status == StatusResolved && !e.Register {
			t.Errorf("%s: its key does not enter the register", status)
		}
	}
	for _, status := range []Status{StatusParked, StatusRedriving, StatusQuarantined, StatusArchived} {
		if e := standingIn(status).Settle(OutcomeCommitted, older, false, true, true, threshold); e.Status != status || e.Applied || e.Why == "" {
			t.Errorf("%s, and older than its failure: %+v", status, e)
		}
	}
}

func TestActions(t *testing.T) {
	const conflict, nothing = "409", "no change"
	for _, c := range []struct {
		action Action
		want   [6]string // by Statuses: parked, redriving, quarantined, archived, resolved, erased
	}{
		{Action{Kind: OperationExtend, Days: 30}, [6]string{"parked", "redriving", "quarantined", conflict, conflict, conflict}},
		{Action{Kind: OperationQuarantine}, [6]string{"quarantined", conflict, nothing, conflict, conflict, conflict}},
		{Action{Kind: OperationRelease, Grant: GrantOne}, [6]string{conflict, conflict, "parked", conflict, conflict, conflict}},
		{Action{Kind: OperationRelease, Grant: GrantReset}, [6]string{conflict, conflict, "parked", conflict, conflict, conflict}},
		{Action{Kind: OperationArchive}, [6]string{"archived", conflict, "archived", nothing, conflict, conflict}},
		{Action{Kind: OperationRestore}, [6]string{nothing, conflict, conflict, "parked", conflict, conflict}},
	} {
		for i, status := range Statuses {
			e, err := standingIn(status).Act(c.action, DefaultPolicy("wiki").Retention, tableNow)
			got := string(e.Status)
			switch {
			case KindOf(err) == KindConflict:
				got = conflict
			case err != nil:
				got = err.Error()
			case !e.Changes:
				got = nothing
			}
			if got != c.want[i] {
				t.Errorf("%s %s of %s: %s, want %s", c.action.Kind, c.action.Grant, status, got, c.want[i])
			}
		}
	}
}

func TestReleaseLetsOneThroughOrCountsAnew(t *testing.T) {
	s := standingIn(StatusQuarantined)
	s.SameFailures = 3
	one, err := s.Act(Action{Kind: OperationRelease, Grant: GrantOne}, DefaultPolicy("wiki").Retention, tableNow)
	if err != nil || !one.Granted || one.SameFailures != 3 {
		t.Errorf("one more: %+v, %v", one, err)
	}
	reset, err := s.Act(Action{Kind: OperationRelease, Grant: GrantReset}, DefaultPolicy("wiki").Retention, tableNow)
	if err != nil || reset.Granted || reset.SameFailures != 0 {
		t.Errorf("reset: %+v, %v", reset, err)
	}
	if _, err := s.Act(Action{Kind: OperationRelease}, DefaultPolicy("wiki").Retention, tableNow); KindOf(err) != KindInvalid {
		t.Errorf("no grant: %v", err)
	}
}

func TestNoEventMovesAnEntryWhereTheTableHasNoMove(t *testing.T) {
	moved := func(from, to Status, by string) {
		if from != to && !MayMove(from, to) {
			t.Errorf("%s moves %s to %s", by, from, to)
		}
	}
	for _, status := range Statuses {
		s := standingIn(status)
		for _, at := range []Position{newer, older} {
			for _, yes := range []bool{false, true} {
				for _, named := range []string{"", "R"} {
					moved(status, s.Arrive(at, named, yes, true, threshold).Status, "an arrival")
				}
				for _, result := range ReportableOutcomes {
					moved(status, s.Settle(result, at, yes, false, true, threshold).Status, "an outcome")
					moved(status, s.Settle(result, at, false, yes, true, threshold).Status, "an outcome without a redrive")
				}
			}
		}
		for _, kind := range OperationKinds {
			if e, err := s.Act(Action{Kind: kind, Days: 30, Grant: GrantOne}, DefaultPolicy("wiki").Retention, tableNow); err == nil {
				moved(status, e.Status, string(kind))
			}
		}
	}
}
