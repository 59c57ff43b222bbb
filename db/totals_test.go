package db_test

import (
	"slices"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestTotalsAreThoseOfTheDocuments(t *testing.T) {
	s := manyCohorts(t, 2)
	for _, by := range []dlq.Actor{dlqtest.Admin, dlqtest.Only(dlqtest.Reviewer, "wiki")} {
		totals, err := s.Totals(background, by)
		if err != nil {
			t.Fatal(err)
		}
		for text, got := range map[string]int64{"status:parked -reason:low_confidence": totals.Stuck, "status:parked reason:low_confidence": totals.InReview, "status:quarantined": totals.Quarantined,
			"status:redriving": totals.Redriving, "status:archived": totals.Archived, "status:parked expires:<7d": totals.Expiring} {
			if n, err := s.CountEntries(background, by, query(t, text)); err != nil || n != got {
				t.Errorf("%q of %v: %d, and the total is %d, %v", text, by.Sources, n, got, err)
			}
		}
		no := false
		if n, _, err := s.CountCohorts(background, by, dlq.CohortQuery{Review: &no, Open: true}); err != nil || n != totals.Cohorts {
			t.Errorf("%d cohorts are listed and the total is %d, %v", n, totals.Cohorts, err)
		}
	}
}

// Counting by cells is counting: for every query that it takes, the list has so
// many rows.
func TestACountByCellsIsTheListsLength(t *testing.T) {
	s := manyCohorts(t, 4)
	cohort := allCohorts(t, s, dlqtest.Admin, dlq.CohortQuery{})[0].ID
	for _, by := range []dlq.Actor{dlqtest.Admin, dlqtest.Only(dlqtest.Reviewer, "leases")} {
		for _, text := range []string{"", "status:parked", "-status:resolved", "status:open class:transient", "source:wiki", "cohort:" + cohort, "-cohort:" + cohort + " parser:p0", "cohort:nothing0", "status:parked status:archived", "type:E1,E2 -class:transient"} {
			list, next, err := s.Entries(background, by, query(t, text), dlq.SortLastSeen, "", 1000)
			if err != nil || next != "" {
				t.Fatal(err, next)
			}
			if n, err := s.CountEntries(background, by, query(t, text)); err != nil || n != int64(len(list)) {
				t.Errorf("%q of %v: counted %d, listed %d, %v", text, by.Sources, n, len(list), err)
			}
		}
	}
}

func TestDepthIsCountedBackFromNow(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	r := s.Park(t, dlqtest.Of("wiki", "1"), dlqtest.Held("1"))
	s.Park(t, dlqtest.Of("wiki", "review"), dlqtest.LowConfidence(0.4)) // no failure
	s.Clock.Advance(24 * time.Hour)
	s.Park(t, dlqtest.Of("wiki", "2"), dlqtest.Seen(s.Now()))
	s.Park(t, dlqtest.Of("leases", "3"), dlqtest.Seen(s.Now()))
	s.Clock.Advance(48 * time.Hour)
	bring(t, s, r.DLQID, dlq.StatusArchived)
	got, err := s.DepthByDay(background, dlqtest.Admin, 5)
	if err != nil || !slices.Equal(got["wiki"], []int64{0, 1, 2, 2, 1}) || !slices.Equal(got["leases"], []int64{0, 0, 1, 1, 1}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := s.DepthByDay(background, dlqtest.Only(dlqtest.Reviewer, "leases"), 5); err != nil || len(got) != 1 {
		t.Errorf("another source's depth is told: %v, %v", got, err)
	}
}

func TestAgesAreOfWhatIsStuck(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i, days := range []int{0, 8, 40, 100} {
		at := s.Now().AddDate(0, 0, -days)
		s.Park(t, dlqtest.Of("wiki", string(rune('a'+i))), dlqtest.Seen(at), dlqtest.FirstSeen(at), dlqtest.Held(string(rune('a'+i))))
	}
	day := 24 * time.Hour
	got, err := s.Aging(background, dlqtest.Only(dlqtest.Reviewer, "wiki"), []time.Duration{-time.Second, 7 * day, 30 * day, 90 * day})
	if err != nil || len(got) != 1 || !slices.Equal(got["wiki"], []int64{4, 3, 2, 1}) {
		t.Errorf("got %v, %v", got, err)
	}
	oldest, err := s.OldestOfSources(background, dlqtest.Admin)
	if err != nil || len(oldest) != 1 || !oldest[0].Opened.Equal(s.Now().AddDate(0, 0, -100)) {
		t.Errorf("got %v, %v", oldest, err)
	}
}
