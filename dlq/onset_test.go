package dlq

import (
	"testing"
	"time"
)

func in(source, component, version string, at time.Time) SourceDeployment {
	return SourceDeployment{Deployment{Component: component, Version: version, StartedAt: at}, source}
}

func TestTheBeginOfADefectIsReadFromTheRegister(t *testing.T) {
	first := hour(100)
	mapper, parser := in("wiki", "mapper", "2.5.0", first.Add(-4*time.Minute)), in("wiki", "parser", "3", first.Add(-3*time.Hour))
	named := func(versions ...string) func(SourceDeployment) bool {
		return func(d SourceDeployment) bool {
			for _, v := range versions {
				if d.Version == v {
					return true
				}
			}
			return false
		}
	}
	for _, c := range []struct {
		name   string
		b      Beginning
		kind   OnsetKind
		at     string
		gap    time.Duration
		others int
	}{
		{"no first failure", Beginning{}, OnsetUnknown, "", 0, 0},
		{"shortly after one", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{mapper}}, OnsetAfter, "2.5.0", 4 * time.Minute, 0},
		{"in the same millisecond", Beginning{First: mapper.StartedAt, Registered: hour(0), Near: []SourceDeployment{mapper}}, OnsetAfter, "2.5.0", 0, 0},
		{"of several the last", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{parser, mapper}}, OnsetAfter, "2.5.0", 4 * time.Minute, 1},
		{"of several the one under which documents failed", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{parser, mapper}, FailedUnder: named("3")}, OnsetAfter, "3", 3 * time.Hour, 1},
		{"in several sources at once, the first by name", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "3", hour(99)), in("leases", "parser", "4", hour(99))}}, OnsetAfter, "4", time.Hour, 1},
		{"the register is empty", Beginning{First: first}, OnsetBeforeRegister, "", 0, 0},
		{"older than the register", Beginning{First: first, Registered: hour(101)}, OnsetBeforeRegister, "", 0, 0},
		{"none near", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "1", hour(51))}}, OnsetAlone, "", 0, 0},
		{"two days before is near", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "1", hour(52))}}, OnsetAfter, "1", 48 * time.Hour, 0},
		{"one after it explains nothing", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "4", first.Add(time.Minute))}}, OnsetAlone, "", 0, 0},
		{"by a clock that is behind, of what failures name", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "4", first.Add(2*time.Minute))}, FailedUnder: named("4")}, OnsetWith, "4", 2 * time.Minute, 0},
		{"no clock is an hour behind", Beginning{First: first, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "4", first.Add(time.Hour))}, FailedUnder: named("4")}, OnsetAlone, "", 0, 0},
		{"the report of the very first version came late", Beginning{First: first, Registered: first.Add(time.Minute), Near: []SourceDeployment{in("wiki", "parser", "4", first.Add(time.Minute))}, FailedUnder: named("4")}, OnsetWith, "4", time.Minute, 0},
		{"known to the day: the same day", Beginning{First: hour(96), ToTheDay: true, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "4", hour(107))}}, OnsetAfter, "4", 0, 0},
		{"known to the day: the day before", Beginning{First: hour(96), ToTheDay: true, Registered: hour(0), Near: []SourceDeployment{in("wiki", "parser", "4", hour(73))}}, OnsetAfter, "4", 24 * time.Hour, 0},
	} {
		if c.b.FailedUnder == nil {
			c.b.FailedUnder = named()
		}
		if got := c.b.Onset(); got.Kind != c.kind || got.At.Version != c.at || got.Gap != c.gap || got.Others != c.others {
			t.Errorf("%s: %s %q after %v with %d others; want %s %q %v %d", c.name, got.Kind, got.At.Version, got.Gap, got.Others, c.kind, c.at, c.gap, c.others)
		}
	}
}

func TestTheEndOfADefectIsReadFromTheRegister(t *testing.T) {
	for _, c := range []struct {
		name string
		last time.Time
		now  time.Time
		near []SourceDeployment
		want string
	}{
		{"none came since", hour(10), hour(100), []SourceDeployment{in("wiki", "parser", "2", hour(12))}, "2"},
		{"old workers failed on for a while", hour(10), hour(100), []SourceDeployment{in("wiki", "parser", "2", hour(10).Add(-30*time.Minute))}, "2"},
		{"it failed long after", hour(10), hour(100), []SourceDeployment{in("wiki", "parser", "2", hour(8))}, ""},
		{"too early to tell", hour(10), hour(30), []SourceDeployment{in("wiki", "parser", "2", hour(12))}, ""},
		{"deployed long after the last", hour(10), hour(200), []SourceDeployment{in("wiki", "parser", "2", hour(60))}, ""},
		{"of several the first", hour(10), hour(100), []SourceDeployment{in("wiki", "parser", "3", hour(14)), in("wiki", "parser", "2", hour(12))}, "2"},
		{"nothing ever came", time.Time{}, hour(100), []SourceDeployment{in("wiki", "parser", "2", hour(12))}, ""},
	} {
		got, ok := Stopped(c.last, c.now, c.near)
		if got.Version != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.name, got.Version, ok, c.want)
		}
	}
}
