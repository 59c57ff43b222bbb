package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestFirstMembersAreTheFirstOfTheMembers(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i := range 20 {
		s.Park(t, dlqtest.Of([]string{"wiki", "leases"}[i%2], fmt.Sprint(i)), dlqtest.Defect(fmt.Sprint("E", i%3)), dlqtest.Held(fmt.Sprint(i)), dlqtest.Event(fmt.Sprint(i)))
	}
	for _, by := range []dlq.Actor{dlqtest.Reviewer, dlqtest.Only(dlqtest.Reviewer, "wiki")} {
		for _, text := range []string{"status:parked", "source:wiki", "source:leases", "id:3"} {
			q := query(t, text)
			all, err := s.Members(background, by, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, most := range []int{1, 5, 20} {
				var first []string
				plans, err := s.Plans(func() (err error) { first, err = s.FirstMembers(background, by, q, most); return err })
				if err != nil || !slices.Equal(first, all[:min(most, len(all))]) {
					t.Errorf("%q, the first %d for %v: %v, %v; all are %v", text, most, by.Sources, first, err, all)
				}
				asked := 0
				for statement, plan := range plans {
					if !strings.HasPrefix(statement, "select e.dlq_id") {
						continue
					}
					asked++
					for _, line := range plan {
						if db.ReadsWhole(line) {
							t.Errorf("%q: %s in the plan of %.200s", text, line, strings.Join(strings.Fields(statement), " "))
						}
					}
				}
				if asked == 0 {
					t.Fatal("no question was seen")
				}
			}
		}
	}
}

func TestAlertsAreCountedAndListedForWhoeverAsks(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i, source := range []string{"wiki", "wiki", "leases"} {
		s.Park(t, dlqtest.Of(source, fmt.Sprint(i)), dlqtest.Defect(fmt.Sprint("E", i)), dlqtest.Event(fmt.Sprint(i)), func(a *dlq.Arrival) { a.Envelope.ErrorClass = string(dlq.ClassDownstreamContract) })
	}
	for _, c := range []struct {
		by   dlq.Actor
		want int64
	}{{dlqtest.Reviewer, 3}, {dlqtest.Only(dlqtest.Reviewer, "wiki"), 2}, {dlqtest.Only(dlqtest.Reviewer, "wiki", "leases"), 3}, {dlqtest.Only(dlqtest.Reviewer, "invoices"), 0}} {
		if n, err := s.StandingAlerts(background, c.by); err != nil || n != c.want {
			t.Errorf("for %v: %d, %v; want %d", c.by.Sources, n, err, c.want)
		}
		list, err := s.Alerts(background, c.by, 10)
		if err != nil || int64(len(list)) != c.want {
			t.Errorf("for %v: %d listed, %v; want %d", c.by.Sources, len(list), err, c.want)
		}
	}
}

func TestReplaysOfASharedCohortAreListedForWhoeverAsks(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	var cohort string
	for i, source := range []string{"wiki", "leases", "leases"} {
		r := s.Park(t, dlqtest.Of(source, fmt.Sprint(i)), dlqtest.Held(fmt.Sprint(i)), dlqtest.Event(fmt.Sprint(i)), dlqtest.Defect("Same"))
		if cohort == "" {
			cohort = r.Cohort
		} else if r.Cohort != cohort {
			t.Fatalf("the cohort of %s is another", source)
		}
		send(t, s, r.DLQID)
		s.Clock.Advance(time.Minute)
	}
	for _, c := range []struct {
		by   dlq.Actor
		want []string
	}{
		{dlqtest.Reviewer, []string{"leases", "leases"}},
		{dlqtest.Only(dlqtest.Reviewer, "wiki"), []string{"wiki"}},
		{dlqtest.Only(dlqtest.Reviewer, "invoices"), nil},
	} {
		list, err := s.CohortRedrives(background, c.by, cohort, 2)
		var got []string
		for _, r := range list {
			got = append(got, r.Source)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("for %v: replays of %v, %v; want %v", c.by.Sources, got, err, c.want)
		}
	}
}
