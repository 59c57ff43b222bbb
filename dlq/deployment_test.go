package dlq

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var midnight = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func hour(h int) time.Time { return midnight.Add(time.Duration(h) * time.Hour) }

func plainDeploy(version string, h int) DeploymentReport {
	return DeploymentReport{Component: "parser", Version: version, At: hour(h)}
}

func TestWhatRanFollowsFromTheReportsInTheirOrder(t *testing.T) {
	rolling := func(version string, h int, stopped ...string) DeploymentReport {
		r := plainDeploy(version, h)
		r.Stopped = append([]string{}, stopped...)
		return r
	}
	for _, c := range []struct {
		name    string
		reports []DeploymentReport
		want    string
	}{
		{"nothing", nil, ""},
		{"one", []DeploymentReport{plainDeploy("1", 1)}, "1 from 1"},
		{"a plain deployment replaces every other", []DeploymentReport{plainDeploy("1", 1), rolling("2", 2), plainDeploy("3", 3)}, "1 1-3, 2 2-3, 3 from 3"},
		{"a rolling one replaces none, and its end the one named", []DeploymentReport{plainDeploy("1", 1), rolling("2", 2), rolling("2", 5, "1")}, "1 1-5, 2 from 2"},
		{"a rollback is a deployment", []DeploymentReport{plainDeploy("1", 1), plainDeploy("2", 2), plainDeploy("1", 3)}, "1 1-2, 2 2-3, 1 from 3"},
		{"said again it goes on", []DeploymentReport{plainDeploy("1", 1), plainDeploy("1", 2)}, "1 from 1"},
		{"stopped alone", []DeploymentReport{plainDeploy("1", 1), rolling("", 4, "1")}, "1 1-4"},
		{"stopped of what does not run", []DeploymentReport{plainDeploy("1", 1), rolling("", 4, "7")}, "1 from 1"},
		{"it cannot stop itself", []DeploymentReport{plainDeploy("1", 1), rolling("1", 4, "1")}, "1 from 1"},
		{"replaced in its own millisecond it never ran", []DeploymentReport{plainDeploy("1", 1), plainDeploy("2", 1)}, "2 from 1"},
	} {
		var got []string
		for _, d := range Ran(nil, c.reports) {
			from := int(d.StartedAt.Sub(midnight) / time.Hour)
			if d.StoppedAt.IsZero() {
				got = append(got, fmt.Sprintf("%s from %d", d.Version, from))
				continue
			}
			got = append(got, fmt.Sprintf("%s %d-%d", d.Version, from, int(d.StoppedAt.Sub(midnight)/time.Hour)))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, ", "), c.want)
		}
	}
}

func TestAReportOfADeploymentNamesEachFault(t *testing.T) {
	many := make([]string, maxStopped+1)
	for i := range many {
		many[i] = "v"
	}
	for _, c := range []struct {
		name   string
		report DeploymentReport
		want   []string
	}{
		{"good", DeploymentReport{Component: "parser", Version: "1", Stopped: []string{"0"}}, nil},
		{"stopped alone", DeploymentReport{Component: "parser", Stopped: []string{"0"}}, nil},
		{"empty", DeploymentReport{}, []string{"/component", "/version"}},
		{"no version and nothing stopped", DeploymentReport{Component: "parser", Stopped: []string{}}, []string{"/version"}},
		{"NUL", DeploymentReport{Component: "par\x00ser", Version: "1\x00", Stopped: []string{"\x00"}}, []string{"/component", "/version", "/stopped/0"}},
		{"not UTF-8", DeploymentReport{Component: "parser", Version: "\xff"}, []string{"/version"}},
		{"too long", DeploymentReport{Component: strings.Repeat("p", MaxComponent+1), Version: strings.Repeat("v", MaxVersion+1)}, []string{"/component", "/version"}},
		{"too many", DeploymentReport{Component: "parser", Version: "1", Stopped: many}, []string{"/stopped"}},
		{"to come", DeploymentReport{Component: "parser", Version: "1", At: hour(1)}, []string{"/at"}},
		{"by a clock that is ahead", DeploymentReport{Component: "parser", Version: "1", At: midnight.Add(time.Minute)}, nil},
		{"before time began", DeploymentReport{Component: "parser", Version: "1", At: time.UnixMilli(-5)}, []string{"/at"}},
	} {
		got := pointersOf(c.report.Check(midnight))
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := (DeploymentReport{At: midnight.Add(time.Minute)}).Settle(midnight).At; !got.Equal(midnight) {
		t.Errorf("a clock that is ahead makes a deployment of %v", got)
	}
}
