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
		if live := newOperationRunning(f).Live.URL; (live == "") != c.state.Ended() {
			t.Errorf("%s: asks again at %q", c.state, live)
		}
	}
}

func TestProgressTellsWhatGotInFromWhatFailed(t *testing.T) {
	o := dlq.Operation{ID: "01K", Kind: dlq.OperationRedrive, State: dlq.OperationRunning, Total: 1000,
		Counts: map[dlq.ItemState]int64{dlq.ItemInFlight: 600, dlq.ItemSettled: 350, dlq.ItemLeftOut: 50}, Unsent: 580}
	p := operationProgress(o, map[dlq.OutcomeResult]int64{dlq.OutcomeCommitted: 200, dlq.OutcomeSkipped: 50, dlq.OutcomeFailed: 60, dlq.OutcomeNoOutcome: 40})
	var got []string
	sum := 0
	for _, part := range p.Parts {
		got = append(got, part.Text)
		if !part.Rest {
			sum += part.Share
		}
		if part.Href == "" {
			t.Errorf("%s opens nothing", part.Text)
		}
	}
	if want := "250 got in, 60 failed again, 40 without a result, 20 on their way, 50 left out, 580 to be sent"; strings.Join(got, ", ") != want || sum != 420 || p.Label != "350 of 1,000 settled" {
		t.Errorf("got %v, %d tenths of a percent, %q", got, sum, p.Label)
	}
}

func TestWhatWaitsToBeSentIsNotSaidToBeOnItsWay(t *testing.T) {
	for _, c := range []struct {
		state            dlq.OperationState
		why              string
		inFlight, unsent int64
		want             string
	}{
		{dlq.OperationRunning, "", 285, 283, "2 documents are on their way, 283 are to be sent."},
		{dlq.OperationPaused, "paused by reviewer@example.com", 285, 285, "Paused by reviewer@example.com. 285 documents are to be sent."},
		{dlq.OperationCancelled, "cancelled by reviewer@example.com", 1, 0, "Cancelled by reviewer@example.com. 0 are done, 1 is in flight and keeps its outcome, 0 were not started."},
		{dlq.OperationRunning, "", 3, 4, "3 documents are to be sent."}, // one was sent between the two counts
	} {
		f := operationFacts{operation: dlq.Operation{ID: "01K", Kind: dlq.OperationRedrive, State: c.state, Why: c.why, Total: 300, Counts: map[dlq.ItemState]int64{dlq.ItemInFlight: c.inFlight}, Unsent: c.unsent}}
		if got := operationWhy(f); got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
		tiles := map[string]string{}
		for _, s := range newOperationRunning(f).Counts {
			tiles[s.Label] = s.Value
		}
		if unsent := min(c.unsent, c.inFlight); tiles["to be sent"] != grouped(unsent) || tiles["on their way"] != grouped(c.inFlight-unsent) {
			t.Errorf("%s: %v", c.state, tiles)
		}
	}
	wait := newOperationItem(operationItem{item: dlq.Item{State: dlq.ItemInFlight, RedriveID: "r"}, redrive: &dlq.Redrive{State: dlq.RedrivePending}}, noon)
	way := newOperationItem(operationItem{item: dlq.Item{State: dlq.ItemInFlight, RedriveID: "r"}, redrive: &dlq.Redrive{State: dlq.RedriveDelivered, SentAt: noon, AcceptedAt: noon}}, noon)
	if wait.State.Text != "to be sent" || way.State.Text != "on its way" {
		t.Errorf("items: %q and %q", wait.State.Text, way.State.Text)
	}
}

func TestEachNumberOfAnOperationOpensItsItems(t *testing.T) {
	f := operationFacts{operation: dlq.Operation{ID: "01K", Kind: dlq.OperationRedrive, State: dlq.OperationDone, Total: 9, Counts: map[dlq.ItemState]int64{dlq.ItemSettled: 7, dlq.ItemLeftOut: 1, dlq.ItemCancelled: 1}},
		outcomes: map[dlq.OutcomeResult]int64{dlq.OutcomeCommitted: 4, dlq.OutcomeFailed: 2, dlq.OutcomeUndelivered: 1, dlq.OutcomeCancelled: 1}, choice: itemChoice{outcome: dlq.OutcomeFailed}}
	m := newOperationPage(f)
	for _, s := range m.Running.Counts {
		want := map[string]string{"committed": "?outcome=committed", "failed again": "?outcome=failed", "not delivered": "?outcome=undelivered", "left out": "?state=left_out", "cancelled": "?state=cancelled", "to be sent": "?state=in_flight", "on their way": "?state=in_flight"}[s.Label]
		if s.Href != "/operations/01K"+want+"#items" || want == "" {
			t.Errorf("%s leads to %s", s.Label, s.Href)
		}
	}
	for i, want := range []string{"?outcome=committed", "?outcome=failed", "?outcome=undelivered", "?state=left_out", "?state=cancelled"} {
		if got := m.Running.Progress.Parts[i]; got.Href != "/operations/01K"+want+"#items" {
			t.Errorf("%s leads to %s", got.Text, got.Href)
		}
	}
	var on []string
	for _, c := range m.Filters {
		if c.On {
			on = append(on, c.Text+" "+c.Count)
		}
	}
	if strings.Join(on, ", ") != "Failed again 2" {
		t.Errorf("chosen: %v of %+v", on, m.Filters)
	}
}

func TestOnlyARedriveHasResults(t *testing.T) {
	o := dlq.Operation{ID: "01K", Kind: dlq.OperationQuarantine, State: dlq.OperationDone, Total: 3, Counts: map[dlq.ItemState]int64{dlq.ItemSettled: 3}}
	p := operationProgress(o, map[dlq.OutcomeResult]int64{})
	if len(p.Parts) != 1 || p.Parts[0].Text != "3 done" || p.Label != "3 of 3 done" {
		t.Errorf("got %+v", p)
	}
}

func TestAnItemThatWasNotDeliveredSaysWhy(t *testing.T) {
	r := &dlq.Redrive{State: dlq.RedriveSettled, SentAt: noon, SettledAt: noon, Outcome: dlq.OutcomeUndelivered, LastStatus: 422, LastError: "the target answered 422"}
	if got := newOperationItem(operationItem{item: dlq.Item{State: dlq.ItemSettled, Outcome: dlq.OutcomeUndelivered, RedriveID: "r"}, redrive: r}, noon); got.Why != "The target answered 422." {
		t.Errorf("got %q", got.Why)
	}
	taken := dlq.Redrive{State: dlq.RedriveDelivered, SentAt: noon, AcceptedAt: noon, LastError: "the answer was not understood"}
	if got := flightWhy(taken, noon); got != "Taken just now, no outcome yet. The answer was not understood." {
		t.Errorf("got %q", got)
	}
}

func TestPausingEverythingIsNotOfferedToWhoIsLimitedToSomeSources(t *testing.T) {
	by := dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleManager}
	if got := labels(newOperationsPage(operationsFacts{by: by}).Actions); got != "Pause all redrives" {
		t.Errorf("for every source: %q", got)
	}
	by.Sources = []string{"wiki"}
	if got := labels(newOperationsPage(operationsFacts{by: by}).Actions); got != "" {
		t.Errorf("for one source: %q", got)
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
