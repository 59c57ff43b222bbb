package handlers

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

// again signs somebody in whose session has ended meanwhile.
func (v *visitor) again(email string) {
	v.cookies = map[string]string{}
	v.get("/login")
	v.post("/login", "email", email, "password", sitePassword)
}

func TestWhatCameWhileSomebodyWasAwayIsToldUntilTheySeeIt(t *testing.T) {
	s := newSite(t)
	s.person("ann@example.com", dlq.RoleReviewer)
	s.person("lea@example.com", dlq.RoleReviewer, "leases")
	ann, lea := s.visitor(), s.visitor()
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	s.park(`"source":"leases","doc_id":"1","error_type":"L"`)
	const strip = "Since you last looked"
	for email, v := range map[string]*visitor{"ann@example.com": ann, "lea@example.com": lea} {
		v.again(email)
		if p := v.get("/cohorts"); p.status != http.StatusOK || strings.Contains(p.body, strip) {
			t.Errorf("%s is here for the first time: %d", email, p.status)
		}
	}
	s.clock.move(3 * time.Hour)
	s.park(`"source":"wiki","doc_id":"2","error_type":"B"`)
	s.park(`"source":"wiki","doc_id":"3","error_type":"C","error_class":"downstream_contract"`)
	s.clock.move(time.Minute)
	ann.again("ann@example.com")
	p := ann.get("/cohorts")
	for _, want := range []string{strip + ", 3 h ago", "2 new cohorts", "1 new alert"} {
		if !strings.Contains(p.body, want) {
			t.Errorf("%q is not said", want)
		}
	}
	link := regexp.MustCompile(`/cohorts\?new=\d+`).FindString(p.body)
	if rows := ann.get(link); strings.Count(rows.body, "data-row hx-disable") != 2 {
		t.Errorf("%s does not lead to the two", link)
	}
	alerts := regexp.MustCompile(`/alerts\?since=\d+`).FindString(p.body)
	if rows := ann.get(alerts); rows.status != http.StatusOK || !strings.Contains(rows.body, "Parsed documents are refused downstream") {
		t.Errorf("%s does not lead to the alert", alerts)
	}
	lea.again("lea@example.com")
	if p := lea.get("/cohorts"); strings.Contains(p.body, strip) {
		t.Error("who sees leases alone is told of wiki")
	}
	// What came after the page was drawn is not seen with it.
	until := strconv.FormatInt(s.clock.now().UnixMilli(), 10)
	s.clock.move(time.Minute)
	s.park(`"source":"wiki","doc_id":"4","error_type":"D"`)
	s.clock.move(time.Minute)
	if p := ann.post("/cohorts/seen", "until", until); p.status != http.StatusSeeOther || p.location != "/cohorts" {
		t.Errorf("got %d %q", p.status, p.location)
	}
	if p := ann.get("/cohorts"); !strings.Contains(p.body, "1 new cohort") || strings.Contains(p.body, "new alert") {
		t.Error("after Seen, what was seen is told, or what was not is lost")
	}
	for _, bad := range []string{"", "x", "-1", "999999999999999999999"} {
		if p := ann.post("/cohorts/seen", "until", bad); p.status != http.StatusUnprocessableEntity {
			t.Errorf("until %q: %d", bad, p.status)
		}
	}
}

func TestTheHomePageIsNarrowedByAQueryAndSaysSo(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A","parser_version":"p1"`)
	s.park(`"source":"wiki","doc_id":"2","error_type":"A","parser_version":"p2"`)
	s.park(`"source":"wiki","doc_id":"3","error_type":"B","parser_version":"p2"`)
	p := v.get("/cohorts?q=parser:p1&sort=oldest")
	for _, want := range []string{"1 of 2 cohorts", "The numbers are of the documents that match: 1 of 3 stuck.", "of 2</span>", `value="parser:p1"`, `name="sort" value="oldest"`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("%q is not said", want)
		}
	}
	if p := v.get("/cohorts?q=bogus:1"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "<mark>bogus:1</mark>") || !strings.Contains(p.body, "Nothing was looked for") {
		t.Errorf("a bad term: %d", p.status)
	}
	for _, hostile := range []string{"q=%00", "q=%ff", "q=%22", "text=%00", "text=%ff", "source=%00", "class=%ff&sort=%00", "after=x", "new=x&back=-1", "after=9.9.9-x"} {
		if p := v.get("/cohorts?" + hostile); p.status >= 500 {
			t.Errorf("%s: %d", hostile, p.status)
		}
	}
}
