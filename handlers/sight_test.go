package handlers

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestWhoSeesSomeSourcesReadsOnlyTheirRowsOfTheTrail(t *testing.T) {
	s := newSite(t)
	s.three()
	mine := s.park(`"source":"leases","doc_id":"10","error_message":"x"`).DLQID
	v := s.signIn(dlq.RoleReviewer, "leases")
	v.post("/confirm/do", "action", "archive", "id", mine, "reason", "seen by the owner")
	s.person("colleague@example.com", dlq.RoleReviewer)
	p := v.get("/audit")
	if p.status != http.StatusOK || !strings.Contains(p.body, "seen by the owner") {
		t.Errorf("their own row: %d, or it is not there", p.status)
	}
	if newest := s.trail()[0]; newest.Action != "person.added" || newest.Source != "" {
		t.Fatalf("the newest row is %s of %q", newest.Action, newest.Source)
	}
	for _, hidden := range []string{"colleague@example.com", "person.added"} {
		if strings.Contains(p.body, hidden) {
			t.Errorf("the page shows %s, which is of no source", hidden)
		}
	}
	if !strings.Contains(p.body, "not of your sources") {
		t.Error("the page does not say that rows are left out")
	}
}

func TestOneRuleSaysWhoKnowsOfARowOrAnAlert(t *testing.T) {
	limited, all := dlq.Actor{Kind: dlq.ActorPerson, Sources: []string{"wiki"}}, dlq.Actor{Kind: dlq.ActorPerson}
	for _, c := range []struct {
		by     dlq.Actor
		source string
		want   bool
	}{{all, "", true}, {all, "leases", true}, {limited, "wiki", true}, {limited, "leases", false}, {limited, "", false}} {
		if got := seesAuditRow(c.by, dlq.AuditRow{Source: c.source}); got != c.want {
			t.Errorf("a row of %q for %v: %v", c.source, c.by.Sources, got)
		}
		if got := seesAlert(c.by, dlq.Alert{Source: c.source}); got != c.want {
			t.Errorf("an alert of %q for %v: %v", c.source, c.by.Sources, got)
		}
	}
}

// railCount is the number beside a line of the rail; empty without one.
func railCount(page, href string) string {
	m := regexp.MustCompile(`(?s)<a[^>]*href="` + href + `"[^>]*>.*?</a>`).FindString(page)
	if n := regexp.MustCompile(`<span class="count[^"]*">([^<]*)</span>`).FindStringSubmatch(m); n != nil {
		return n[1]
	}
	return ""
}

// alarm parks a document that raises an alert of its source.
func (s *site) alarm(source, doc string) {
	s.t.Helper()
	s.park(fmt.Sprintf(`"source":%q,"doc_id":%q,"error_class":"downstream_contract","error_type":"%sError"`, source, doc, source+doc))
}

func TestTheRailOfSomeSourcesCountsNothingOfOthers(t *testing.T) {
	s := newSite(t)
	s.three()
	s.alarm("wiki", "a")
	s.alarm("wiki", "b")
	s.alarm("leases", "c")
	boss := s.signIn(dlq.RoleAdmin)
	boss.post("/confirm/do", "action", "redrive", "q", "source:wiki", "expect", "5", "mode", "held", "reason", "fix deployed")
	for _, c := range []struct {
		name               string
		visitor            *visitor
		alerts, operations string
	}{{"all sources", boss, "3", "1"}, {"leases", s.signIn(dlq.RoleReviewer, "leases"), "1", ""}, {"a source without anything", s.signIn(dlq.RoleAnalyst, "invoices"), "", ""}} {
		body := c.visitor.get("/alerts").body
		for href, want := range map[string]string{"/alerts": c.alerts, "/operations": c.operations} {
			if got := railCount(body, href); got != want {
				t.Errorf("%s: %s counts %q, want %q", c.name, href, got, want)
			}
		}
	}
}

func TestAnAlertBeyondTheNewestIsJudgedLikeAnyOther(t *testing.T) {
	s := newSite(t)
	s.alarm("wiki", "first")
	list, err := s.store.Alerts(t.Context(), dlqtest.Reviewer, 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d alerts, %v", len(list), err)
	}
	oldest := list[0].ID
	for i := range alertsRead {
		s.alarm("leases", fmt.Sprint(i))
	}
	if body := s.signIn(dlq.RoleAdmin, "wiki").get("/alerts").body; !strings.Contains(body, oldest) {
		t.Error("what fires elsewhere pushed an alert from the page of somebody who sees nothing of it")
	}
	v := s.signIn(dlq.RoleReviewer, "leases")
	if p := v.post("/alerts/" + oldest + "/acknowledge"); p.status != http.StatusNotFound {
		t.Errorf("an old alert of another source: %d", p.status)
	}
	if p := v.post("/alerts/01JNOWHERE/acknowledge"); p.status != http.StatusNotFound {
		t.Errorf("an alert that is not there: %d", p.status)
	}
	if p := s.signIn(dlq.RoleManager).post("/alerts/" + oldest + "/acknowledge"); p.status != http.StatusSeeOther {
		t.Errorf("who sees all sources: %d", p.status)
	}
}
