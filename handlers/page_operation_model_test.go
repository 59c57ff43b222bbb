package handlers

import (
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/views/components"
)

func labels(actions []components.Action) string {
	var out []string
	for _, a := range actions {
		out = append(out, a.Label)
	}
	return strings.Join(out, ", ")
}

func TestTheBrakesOfAnOperationAreThoseThatWork(t *testing.T) {
	for _, c := range []struct {
		state dlq.OperationState
		role  dlq.Role
		want  string
	}{
		{dlq.OperationPreparing, dlq.RoleReviewer, ""},
		{dlq.OperationRunning, dlq.RoleReviewer, "Pause, Cancel"},
		{dlq.OperationRunning, dlq.RoleManager, "Pause"},
		{dlq.OperationRunning, dlq.RoleAnalyst, ""},
		{dlq.OperationPaused, dlq.RoleReviewer, "Go on, Cancel"},
		{dlq.OperationPaused, dlq.RoleManager, ""},
		{dlq.OperationStopped, dlq.RoleAdmin, "Go on, Cancel"},
		{dlq.OperationDone, dlq.RoleReviewer, ""},
		{dlq.OperationCancelled, dlq.RoleReviewer, ""},
	} {
		f := operationFacts{operation: dlq.Operation{ID: "01K", Kind: dlq.OperationRedrive, State: c.state, Total: 3}, by: dlq.Actor{Kind: dlq.ActorPerson, Role: c.role}, now: noon}
		actions := operationActions(f)
		if got := labels(actions); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.state, c.role, got, c.want)
		}
		moves := map[string]dlq.OperationState{"Pause": dlq.OperationPaused, "Go on": dlq.OperationRunning, "Cancel": dlq.OperationCancelled}
		for _, a := range actions {
			if !dlq.MayMoveOperation(c.state, moves[a.Label]) {
				t.Errorf("%s has a button %q that the rules refuse", c.state, a.Label)
			}
		}
		if poll := newOperationRunning(f).Poll; (poll == "") != c.state.Ended() {
			t.Errorf("%s: asks again at %q", c.state, poll)
		}
	}
}

func TestProgressTellsWhatGotInFromWhatFailed(t *testing.T) {
	o := dlq.Operation{ID: "01K", Kind: dlq.OperationRedrive, State: dlq.OperationRunning, Total: 1000,
		Counts: map[dlq.ItemState]int64{dlq.ItemWaiting: 500, dlq.ItemInFlight: 100, dlq.ItemSettled: 350, dlq.ItemLeftOut: 50}}
	p := operationProgress(o, map[dlq.OutcomeResult]int64{dlq.OutcomeCommitted: 200, dlq.OutcomeSkipped: 50, dlq.OutcomeFailed: 60, dlq.OutcomeNoOutcome: 40})
	var got []string
	sum := 0
	for _, part := range p.Parts {
		got = append(got, part.Text)
		sum += part.Share
		if part.Href == "" {
			t.Errorf("%s opens nothing", part.Text)
		}
	}
	if want := "250 got in, 60 failed again, 40 without a result, 100 in flight, 50 left out"; strings.Join(got, ", ") != want || sum != 500 || p.Label != "350 of 1,000 settled" {
		t.Errorf("got %v, %d tenths of a percent, %q", got, sum, p.Label)
	}
}

func TestAnItemSaysWhatItsReplayProved(t *testing.T) {
	r := &dlq.Redrive{ID: "r", State: dlq.RedriveSettled, Sent: dlq.ModeHeld, SentAt: noon, SettledAt: noon, Outcome: dlq.OutcomeCommitted, FailedUnder: dlq.Versions{"parser": "1"}, Running: dlq.Running{"parser": {"2"}},
		Bytes: dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest}}
	i := newOperationItem(operationItem{item: dlq.Item{DLQID: "01J", Source: "wiki", DocID: "7", State: dlq.ItemSettled, RedriveID: "r", Outcome: dlq.OutcomeCommitted}, redrive: r}, noon)
	if i.Verdict != "New code fixed it" || i.Bytes.Text != "unchanged · digest" || i.Code.Text != "parser changed" || i.State.Tone != components.Good {
		t.Errorf("got %+v", i)
	}
	left := newOperationItem(operationItem{item: dlq.Item{DLQID: "01J", State: dlq.ItemLeftOut, Why: dlq.LeftGoneAtSource}}, noon)
	if !strings.HasPrefix(left.Why, "Gone at its source") || left.Verdict != "" || left.Document.String() != "01J" {
		t.Errorf("got %+v", left)
	}
}

func TestWhatIsStillStuckOfARedriveCanBeRedrivenOnceItEnded(t *testing.T) {
	f := operationFacts{operation: dlq.Operation{ID: "01K", Kind: dlq.OperationRedrive, State: dlq.OperationDone}, outcomes: map[dlq.OutcomeResult]int64{dlq.OutcomeFailed: 3}, by: dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleReviewer}}
	a := operationAgain(f)
	if a == nil || !strings.Contains(a.Href, "q=operation%3A01K+status%3Aparked") {
		t.Fatalf("got %+v", a)
	}
	for name, change := range map[string]func(*operationFacts){
		"running":        func(f *operationFacts) { f.operation.State = dlq.OperationRunning },
		"nothing failed": func(f *operationFacts) { f.outcomes = map[dlq.OutcomeResult]int64{dlq.OutcomeCommitted: 3} },
		"an analyst":     func(f *operationFacts) { f.by.Role = dlq.RoleAnalyst },
		"an archive":     func(f *operationFacts) { f.operation.Kind = dlq.OperationArchive },
	} {
		g := f
		change(&g)
		if a := operationAgain(g); a != nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestWhyADocumentIsInQuarantine(t *testing.T) {
	by := func(action, reason string) dlq.AuditRow {
		return dlq.AuditRow{Action: action, ActorName: "reviewer@example.com", Reason: reason, At: noon}
	}
	for _, c := range []struct {
		name  string
		audit []dlq.AuditRow
		want  string
	}{
		{"the threshold", nil, "Failed the same way: 3 identical failed replays of 3."},
		{"a person", []dlq.AuditRow{by("payload.viewed", ""), by("entry.quarantine", "test file")}, "Put here by reviewer@example.com: test file."},
		{"a person, before it was released and failed again", []dlq.AuditRow{by("entry.release", ""), by("entry.quarantine", "test file")}, "Failed the same way: 3 identical failed replays of 3."},
	} {
		if got := quarantineWhy(poisonEntry{entry: dlq.Entry{SameFailures: 3}, audit: c.audit}, 3); got != c.want {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
}

func TestTheIdenticalFailuresStandSideBySideOldestFirst(t *testing.T) {
	failed := func(day int, cohort string) dlq.Redrive {
		return dlq.Redrive{State: dlq.RedriveSettled, Outcome: dlq.OutcomeFailed, OutcomeCohort: cohort, SentAt: noon, SettledAt: noon.AddDate(0, 0, day), FailedUnder: dlq.Versions{"parser": "1"}}
	}
	p := poisonEntry{entry: dlq.Entry{DLQID: "01J", Source: "wiki", CohortID: "c", SameFailures: 2}, redrives: []dlq.Redrive{failed(3, "c"), failed(2, "other"), failed(1, "c"), failed(0, "c")}}
	row := newQuarantineRow(p, quarantineFacts{threshold: map[string]int{"wiki": 2}, by: dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleReviewer}, now: noon})
	if len(row.Same) != 2 || row.Same[0].When != moment(noon.AddDate(0, 0, 1)) || row.Same[1].When != moment(noon.AddDate(0, 0, 3)) {
		t.Errorf("got %+v", row.Same)
	}
	if got := labels(row.Actions); got != "Release one more, Count anew, Keep longer, Archive, Assign" {
		t.Errorf("got %q", got)
	}
}
