package handlers

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dlo/dlq"
)

func TestTheAddressAloneMakesThePageAgain(t *testing.T) {
	s := newSite(t)
	v, other := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleManager)
	for i := range pageRows + 10 {
		s.park(fmt.Sprintf(`"source":"wiki","doc_id":"d%03d","error_type":"E%03d"`, i, i))
	}
	for _, list := range []string{"/entries?q=source:wiki&sort=oldest", "/cohorts?source=wiki&sort=oldest"} {
		p := v.get(list)
		m := nextLink.FindStringSubmatch(p.body)
		if m == nil {
			t.Fatalf("%s has no further page", list)
		}
		next := html.UnescapeString(m[1])
		u, err := url.Parse(next)
		if err != nil || u.Query().Get("sort") != "oldest" || u.Query().Get("after") == "" || !strings.Contains(next, "wiki") {
			t.Errorf("the address is %s", next)
		}
		mine, theirs := v.get(next), other.get(next)
		rows := func(p answered) string { return fmt.Sprint(rowID.FindAllString(p.body, -1)) }
		if mine.status != http.StatusOK || rows(mine) != rows(theirs) || len(rowID.FindAllString(mine.body, -1)) != 10 {
			t.Errorf("%s: %d, %d rows", next, mine.status, len(rowID.FindAllString(mine.body, -1)))
		}
	}
}

func TestAPlaceThatIsNotThereLeadsToTheFirstPage(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	for i := range pageRows + 1 {
		s.park(fmt.Sprintf(`"source":"wiki","doc_id":"d%03d","error_type":"E"`, i))
	}
	cohort := s.park(`"source":"wiki","doc_id":"x","error_type":"E"`).Cohort
	foreign := nextLink.FindStringSubmatch(v.get("/entries?q=status:parked&sort=attempts").body)
	u, err := url.Parse(html.UnescapeString(foreign[1]))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ list, first string }{
		{"/entries?q=status:parked&sort=oldest", "/entries?q=status%3Aparked&amp;sort=oldest"},
		{"/cohorts/" + cohort + "?sort=oldest", "/cohorts/" + cohort + "?sort=oldest"},
		{"/cohorts?source=wiki", "/cohorts?source=wiki"},
	} {
		after := []string{"nonsense", "%00", "%ff", strings.Repeat("x", 5000), "eyJ2IjoxZTk5OSwiaSI6MX0"}
		if !strings.HasPrefix(c.list, "/cohorts?") {
			after = append(after, url.QueryEscape(u.Query().Get("after"))) // of another order
		}
		for _, a := range after {
			p := v.get(c.list + "&after=" + a)
			if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "This place in the list is not there") || !strings.Contains(p.body, `href="`+c.first+`"`) {
				t.Errorf("%s after %.20s: %d", c.list, a, p.status)
			}
		}
	}
}
