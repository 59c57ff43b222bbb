package handlers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/views/components"
)

// bareSource is a source that nobody set up.
func bareSource() sourcePageFacts {
	return sourcePageFacts{sourceFacts: sourceFacts{source: dlq.Source{Policy: dlq.DefaultPolicy("wiki")}}, by: dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleManager}, now: noon}
}

func TestAPipelineThatNeverReportedIsAskedAbout(t *testing.T) {
	f := bareSource()
	if n := newNever(f); n != nil {
		t.Error("nothing was sent yet")
	}
	f.source.Delivered = 12
	n := newNever(f)
	if n == nil || len(n.Choices) != 4 || !n.Choices[0].Current || !strings.Contains(n.Sentence, "took 12 redrives and never reported an outcome") {
		t.Fatalf("got %+v", n)
	}
	f.by.Role = dlq.RoleReviewer
	if n := newNever(f); len(n.Choices) != 0 || !strings.Contains(n.Sentence, "A manager can choose.") {
		t.Errorf("a reviewer: %+v", n)
	}
	f.source.Reported = 1
	if n := newNever(f); n != nil {
		t.Error("it has reported")
	}
	f.source.Reported, f.source.Policy.Outcomes.Mode = 0, dlq.OutcomesResponse
	if n := newNever(f); n != nil {
		t.Error("its answers are the outcome")
	}
}

func TestWhatAPolicySaysInVainIsSaidToBeSo(t *testing.T) {
	f := bareSource()
	f.source.Policy.Outcomes.Mode, f.source.Policy.Outcomes.CheckURL, f.source.Policy.Alerts.URL = dlq.OutcomesCheck, "https://index.example.com/{doc_id}", "https://chat.example.com"
	var idle []string
	for _, group := range policyGroups(f) {
		for _, row := range group.Rows {
			if strings.Contains(row.Note, "not acted on yet") {
				idle = append(idle, row.Key)
			}
		}
	}
	if want := []string{"Copies", "Records", "Depth", "Age", "Space for copies", "Alerts go to"}; !slices.Equal(idle, want) {
		t.Errorf("said of %v, want %v", idle, want)
	}
	f.source.Delivered = 3
	if n := newNever(f); n != nil {
		t.Errorf("the index is asked, and reports are waited for: %+v", n)
	}
}

func TestTheLadderHasASnippetForEachStepThatIsNotTaken(t *testing.T) {
	f := bareSource()
	done := 0
	for _, r := range newLadder(f) {
		if r.Done {
			done++
		}
		if !r.Done && r.Name != "Park" && r.Snippet == nil {
			t.Errorf("%s has nothing to paste", r.Name)
		}
	}
	if done != 0 {
		t.Errorf("%d steps are taken of a source that nobody set up", done)
	}
	f.newest = dlq.Entry{DLQID: "01J", Copy: dlq.CopyHeld, Versions: dlq.Versions{"parser": "1"}}
	f.source.Policy.Redrive.URL, f.source.Reported, f.running = "https://x.example.com", 1, dlq.Running{"parser": {"1"}}
	for _, r := range newLadder(f) {
		if !r.Done || r.Snippet != nil || r.Says == "" {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
}

func TestWithoutATargetTheSourceSaysWhatToDo(t *testing.T) {
	f := bareSource()
	var all []string
	for _, n := range sourceNotices(f) {
		all = append(all, n.Title)
	}
	if got := strings.Join(all, " "); !strings.Contains(got, "No redrive target.") || strings.Contains(got, "unsigned") {
		t.Errorf("got %q", got)
	}
	f.source.Policy.Redrive.URL = "https://pipeline.example.com"
	if n := sourceNotices(f)[0]; n.Title != "Redrives go unsigned." {
		t.Errorf("got %q", n.Title)
	}
	f.source.HasSecret = true
	if n := sourceNotices(f)[0]; n.Tone == components.Deadline {
		t.Errorf("got %q", n.Title)
	}
}

func TestARefusedEnvelopeShowsEveryFaultAndItsText(t *testing.T) {
	f := bareSource()
	f.rejected = 25
	f.refused = []dlq.RejectedEnvelope{{ReceivedAt: noon, Body: []byte("{\"doc_id\":\"\u202e\"}"), Bytes: 16, Problem: `{"detail":"not understood","errors":[{"pointer":"/a","detail":"one"},{"pointer":"/b","detail":"two"}]}`},
		{Body: []byte(strings.Repeat("x", rejectedTextMost+1)), Bytes: 90_000, Problem: `{"detail":"not JSON"}`}, {Problem: "?"}}
	r := newRejected(f)
	if r.Summary != "25 refused, the newest 3 here" || len(r.Rows[0].Faults) != 2 || r.Rows[0].Faults[1].Pointer.String() != "/b" || !strings.Contains(r.Rows[0].Text.String(), "U+202E") {
		t.Errorf("got %q %+v", r.Summary, r.Rows[0])
	}
	if r.Rows[1].Faults[0].Detail.String() != "not JSON" || !strings.Contains(r.Rows[1].Cut, "of 90.0 kB") {
		t.Errorf("got %+v", r.Rows[1].Cut)
	}
	if r.Rows[2].Faults[0].Detail.String() != "?" {
		t.Errorf("got %+v", r.Rows[2])
	}
}

func TestATokenIsCheckedBeforeItIsMade(t *testing.T) {
	for _, c := range []struct {
		sent tokenSent
		want string
	}{
		{tokenSent{name: "worker", scopes: []dlq.Scope{dlq.ScopeIngest}}, ""},
		{tokenSent{name: "worker", scopes: []dlq.Scope{dlq.ScopeIngest}, source: "wiki", days: "90"}, ""},
		{tokenSent{}, "/name /scopes"},
		{tokenSent{name: strings.Repeat("x", 101), scopes: []dlq.Scope{dlq.ScopeRead}, days: "0"}, "/name /days"},
		{tokenSent{name: "a\nb", scopes: []dlq.Scope{dlq.ScopeRead}, source: "a\x01", days: "soon"}, "/name /source /days"},
	} {
		token, faults := c.sent.token(noon)
		var got []string
		for _, f := range faults {
			got = append(got, f.Pointer)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: faults at %v, want %q", c.sent, got, c.want)
		}
		if c.sent.days == "90" && !token.ExpiresAt.Equal(noon.AddDate(0, 0, 90)) {
			t.Errorf("it ends %s", token.ExpiresAt)
		}
	}
}

func TestWhoCannotBeTakenAwayHasNoSuchButton(t *testing.T) {
	people := []dlq.Person{{ID: "1", Email: "admin@example.com", Role: dlq.RoleAdmin}, {ID: "2", Email: "analyst@example.com", Role: dlq.RoleAnalyst}, {ID: "3", Email: "gone@example.com", Role: dlq.RoleAdmin, Disabled: true}}
	m := newUsersPage(usersFacts{people: people, self: "1"})
	for i, want := range []string{"New password", "New password, Sign out everywhere, Disable", "Enable"} {
		if got := labels(m.Rows[i].Actions); got != want {
			t.Errorf("%s: %q, want %q", people[i].Email, got, want)
		}
	}
	if m.Rows[0].Role != nil || m.Rows[0].Why == "" || m.Rows[1].Role == nil {
		t.Error("the last admin can be changed, or nobody can")
	}
}

func TestAnAlertLeadsToTheNarrowestThingItIsAbout(t *testing.T) {
	for _, c := range []struct {
		alert dlq.Alert
		want  string
	}{
		{dlq.Alert{Rule: dlq.AlertPoison, DLQID: "01J", CohortID: "c", Source: "wiki"}, "/entries/01J"},
		{dlq.Alert{Rule: dlq.AlertContract, DLQID: "01J", CohortID: "c", Source: "wiki"}, "/cohorts/c"},
		{dlq.Alert{Rule: dlq.AlertOperationStopped, OperationID: "01K", Source: "wiki"}, "/operations/01K"},
		{dlq.Alert{Rule: dlq.AlertTargetGone, Source: "wiki"}, "/sources/wiki"},
	} {
		if got := alertHref(c.alert); got != c.want {
			t.Errorf("%s: %q, want %q", c.alert.Rule, got, c.want)
		}
	}
}

func TestTheTrailIsPagedWithoutGaps(t *testing.T) {
	var rows []dlq.AuditRow
	for i := range auditShown {
		rows = append(rows, dlq.AuditRow{Seq: int64(500 - i), Action: "x", Hash: fmt.Sprintf("%064d", i), Source: []string{"wiki", "leases"}[i%2]})
	}
	m := newAuditPage(rows, 501, dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleAuditor})
	if len(m.Rows) != auditShown || m.Pager.Next.Href != "/audit?before=401" || m.Pager.Prev.Href != "/audit" {
		t.Errorf("%d rows, %+v", len(m.Rows), m.Pager)
	}
	m = newAuditPage(rows, 0, dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleAuditor, Sources: []string{"wiki"}})
	if len(m.Rows) != auditShown/2 || !strings.Contains(m.Pager.Summary, "50 of them not of your sources") {
		t.Errorf("%d rows, %q", len(m.Rows), m.Pager.Summary)
	}
}
