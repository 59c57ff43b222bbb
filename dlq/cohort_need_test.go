package dlq

import (
	"testing"
	"time"
)

func TestWhatACohortNeedsIsTheFirstThatHolds(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	flood := append(make([]int64, 29), 20)
	everything := Cohort{Daily: flood, Counts: map[Status]int64{StatusQuarantined: 1}, Standing: CohortStanding{Alerts: 1, NextExpiry: now.Add(time.Hour), Fixes: []FixStanding{{Untested: true}}}}
	for _, c := range []struct {
		name string
		c    Cohort
		want Need
	}{
		{"nothing", Cohort{}, NeedNothing},
		{"an alert", Cohort{Standing: CohortStanding{Alerts: 1}}, NeedLook},
		{"a flood", Cohort{Daily: flood}, NeedLook},
		{"back after a fix, and another is untested", Cohort{Standing: CohortStanding{Fixes: []FixStanding{{Untested: true}, {Returned: 1}}}}, NeedLook},
		{"an untested fix before a deadline", Cohort{Standing: CohortStanding{Fixes: []FixStanding{{}, {Untested: true}}, NextExpiry: now}}, NeedTest},
		{"a fix that is not live", Cohort{Standing: CohortStanding{Fixes: []FixStanding{{Runs: true}}}}, NeedNothing},
		{"a deadline before poison", Cohort{Counts: map[Status]int64{StatusQuarantined: 3}, Standing: CohortStanding{NextExpiry: now.Add(ExpiresSoon - 1)}}, NeedDeadline},
		{"a deadline that is far", Cohort{Standing: CohortStanding{NextExpiry: now.Add(ExpiresSoon)}}, NeedNothing},
		{"poison", Cohort{Counts: map[Status]int64{StatusQuarantined: 1}}, NeedVerdict},
		{"all of it", everything, NeedLook},
	} {
		if got := NeedOf(c.c, now); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	everything.Disposition = "needs_code"
	if got := NeedOf(everything, now); got != NeedDecided {
		t.Errorf("what was decided needs %d still", got)
	}
}

func TestAFloodIsManyMoreThanOnADayBefore(t *testing.T) {
	for _, c := range []struct {
		daily []int64
		want  bool
	}{
		{nil, false}, {[]int64{20}, true}, {[]int64{19}, false}, {[]int64{0, 0, 20}, true}, {[]int64{4, 4, 20}, true}, {[]int64{5, 4, 20}, false}, {[]int64{20, 20, 99}, false}, {[]int64{20, 20, 100}, true},
	} {
		if got := Flood(c.daily); got != c.want {
			t.Errorf("%v: %v", c.daily, got)
		}
	}
}

func TestADeclaredFixIsLiveWhereItRunsBesideWhatFailed(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	under := func(source, parser string, n int64) VersionCount {
		return VersionCount{Source: source, Versions: Versions{"parser": parser, "connector": "c1"}, Parked: n}
	}
	runs := func(source, component, version string) RunningVersion {
		return RunningVersion{Source: source, Component: component, Version: version, Since: at}
	}
	for _, c := range []struct {
		name    string
		under   []VersionCount
		running []RunningVersion
		sent    time.Time
		want    FixStanding
	}{
		{"it runs nowhere", []VersionCount{under("wiki", "1", 3)}, nil, time.Time{}, FixStanding{}},
		{"it runs", []VersionCount{under("wiki", "1", 3), under("leases", "1", 4)}, []RunningVersion{runs("wiki", "parser", "2")}, time.Time{}, FixStanding{Runs: true, Since: at, Covers: 3, Untested: true}},
		{"it runs elsewhere", []VersionCount{under("wiki", "1", 3)}, []RunningVersion{runs("leases", "parser", "2")}, time.Time{}, FixStanding{Runs: true}},
		{"another component has that version", []VersionCount{under("wiki", "1", 3)}, []RunningVersion{runs("wiki", "chunker", "2")}, time.Time{}, FixStanding{}},
		{"sent before it ran", []VersionCount{under("wiki", "1", 3)}, []RunningVersion{runs("wiki", "parser", "2")}, at.Add(-1), FixStanding{Runs: true, Since: at, Covers: 3, Untested: true}},
		{"sent since", []VersionCount{under("wiki", "1", 3)}, []RunningVersion{runs("wiki", "parser", "2")}, at, FixStanding{Runs: true, Since: at, Covers: 3}},
		{"it came back", []VersionCount{under("wiki", "1", 3), under("wiki", "2", 1)}, []RunningVersion{runs("wiki", "parser", "2")}, at, FixStanding{Runs: true, Since: at, Covers: 3, Returned: 1}},
		{"failures that name no parser", []VersionCount{{Source: "wiki", Versions: Versions{"connector": "c1"}, Parked: 3}}, []RunningVersion{runs("wiki", "parser", "2")}, time.Time{}, FixStanding{Runs: true}},
	} {
		c.want.Component, c.want.Version = "parser", "2"
		if got := (DeclaredFix{"parser", "2"}).Stands(c.under, c.running, c.sent); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestTheMarkMovesWhenSomebodySaysSoOrComesBack(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	first, changed := Look{}.Visit(noon)
	if !changed || first != (Look{noon, noon}) {
		t.Errorf("the first visit: %+v", first)
	}
	if l, changed := first.Visit(noon.Add(LookGrain - 1)); changed || l != first {
		t.Errorf("the page drawn again writes: %+v", l)
	}
	on, changed := first.Visit(noon.Add(50 * time.Minute))
	if !changed || on.Until != noon || on.Visited != noon.Add(50*time.Minute) {
		t.Errorf("the mark moves while somebody looks: %+v", on)
	}
	if on, _ = on.Visit(noon.Add(100 * time.Minute)); on.Until != noon {
		t.Errorf("the mark moves while somebody looks: %+v", on)
	}
	back, _ := on.Visit(noon.Add(100*time.Minute + LookPause))
	if back.Until != noon.Add(100*time.Minute) {
		t.Errorf("what they saw on their last visit is told again: %+v", back)
	}
	seen := back.Seen(noon.Add(3*time.Hour), noon.Add(4*time.Hour))
	if seen.Until != noon.Add(3*time.Hour) {
		t.Errorf("what came after the page was drawn is lost: %+v", seen)
	}
	if l := seen.Seen(noon, noon.Add(4*time.Hour)); l.Until != seen.Until {
		t.Errorf("an old page moves the mark back: %+v", l)
	}
	if l := seen.Seen(noon.AddDate(100, 0, 0), noon.Add(4*time.Hour)); l.Until != noon.Add(4*time.Hour) {
		t.Errorf("the mark lies in the future: %+v", l)
	}
}
