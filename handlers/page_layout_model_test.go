package handlers

import (
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/web"
)

func TestTheRailHasWhatTheRoleMayOpen(t *testing.T) {
	for role, want := range map[dlq.Role]string{
		dlq.RoleAnalyst:  "Cohorts Documents Operations Quarantine Reports Sources Alerts",
		dlq.RoleReviewer: "Cohorts Documents Operations Quarantine Reports Sources Alerts Audit",
		dlq.RoleManager:  "Cohorts Documents Operations Quarantine Reports Sources Alerts Audit",
		dlq.RoleAuditor:  "Cohorts Documents Operations Quarantine Reports Sources Alerts Audit",
		dlq.RoleAdmin:    "Cohorts Documents Operations Quarantine Reports Sources Alerts Audit Settings",
	} {
		var got []string
		phone := 0
		for _, n := range navFor(dlq.Person{Role: role}, "/cohorts", standing{}) {
			got = append(got, n.Text)
			if n.Phone {
				phone++
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", role, got, want)
		}
		if phone != 4 {
			t.Errorf("%s: %d in the bottom bar, want 4", role, phone)
		}
	}
}

func TestTheRailCountsWhatWaits(t *testing.T) {
	s := standing{totals: dlq.Totals{Cohorts: 38, Stuck: 2842, Quarantined: 17}, operations: 1, alerts: 2}
	for _, n := range navFor(dlq.Person{Role: dlq.RoleAdmin}, "/cohorts/01K", s) {
		want := map[string]string{"Cohorts": "38", "Documents": "2,842", "Operations": "1", "Quarantine": "17", "Alerts": "2"}[n.Text]
		if n.Count != want || n.Current != (n.Text == "Cohorts") {
			t.Errorf("%s: count %q, current %v", n.Text, n.Count, n.Current)
		}
	}
	for _, n := range navFor(dlq.Person{Role: dlq.RoleAdmin}, "/cohortsomething", standing{}) {
		if n.Count != "" || n.Current {
			t.Errorf("%s: count %q, current %v", n.Text, n.Count, n.Current)
		}
	}
}

func TestAPauseIsOnEveryPageAndEndsWhereOneMay(t *testing.T) {
	paused := standing{pausedBy: "manager@example.com"}
	n := newFrame(dlq.Person{Role: dlq.RoleReviewer}, "/", paused).Notices
	if len(n) != 1 || n[0].Title != "All redrives are paused by manager@example.com." || len(n[0].Do) != 1 || n[0].Do[0].Href != "/resume" {
		t.Errorf("got %+v", n)
	}
	if n := newFrame(dlq.Person{Role: dlq.RoleAnalyst}, "/", paused).Notices; len(n) != 1 || len(n[0].Do) != 0 {
		t.Errorf("an analyst is offered what is refused: %+v", n)
	}
	if n := newFrame(dlq.Person{Role: dlq.RoleReviewer, Sources: []string{"wiki"}}, "/", paused).Notices; len(n) != 1 || len(n[0].Do) != 0 {
		t.Errorf("a reviewer of one source is offered what is refused: %+v", n)
	}
	if n := newFrame(dlq.Person{Role: dlq.RoleReviewer}, "/", standing{}).Notices; len(n) != 0 {
		t.Errorf("got %+v", n)
	}
}

func TestWhoIsSignedInAndWhatTheySeeIsSaid(t *testing.T) {
	f := newFrame(dlq.Person{Email: "reviewer@example.com", Role: dlq.RoleReviewer, Sources: []string{"wiki", "leases"}}, "/", standing{flashes: []web.Flash{{Tone: "warn", Text: "So it is.", LinkText: "See", Link: "/x"}}})
	if f.User != "reviewer@example.com" || f.Role != "reviewer" || f.Scope != "wiki, leases" {
		t.Errorf("got %+v", f)
	}
	if want := (components.Flash{Tone: components.Deadline, Text: "So it is.", Link: components.Link{Text: "See", Href: "/x"}}); len(f.Flashes) != 1 || f.Flashes[0] != want {
		t.Errorf("got %+v", f.Flashes)
	}
	if got := newFrame(dlq.Person{Role: dlq.RoleAdmin}, "/", standing{}).Scope; got != "all sources" {
		t.Errorf("got %q", got)
	}
}

func TestErrorPagesSayWhatWasKeptAndWhatToDo(t *testing.T) {
	m := newProblem("POST", 409, "This has changed meanwhile", "412 matched when you looked, 418 match now", "r1")
	if m.Sentence != "412 matched when you looked, 418 match now." || m.Kept != "Nothing was changed." {
		t.Errorf("got %+v", m)
	}
	if m := newProblem("POST", 500, "t", "s", "r"); m.Kept != "" {
		t.Errorf("nobody knows what an internal fault left: %q", m.Kept)
	}
	if m := newProblem("GET", 404, "t", "s", "r"); m.Kept != "" || len(m.Links) == 0 {
		t.Errorf("got %+v", m)
	}
}
