package dlq

import (
	"strings"
	"testing"
	"time"
)

func TestDatesArePeriodsOfUTC(t *testing.T) {
	day := func(s string) time.Time {
		if s == "" {
			return time.Time{}
		}
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for text, want := range map[string][]string{
		"opened:2026-11":                  {"2026-11-01", "2026-12-01"},
		"opened:2026-12":                  {"2026-12-01", "2027-01-01"},
		"opened:2026-11-29":               {"2026-11-29", "2026-11-30"},
		"opened:2024-02-29":               {"2024-02-29", "2024-03-01"},
		"seen:2026-11..2027-01":           {"2026-11-01", "2027-02-01"},
		"seen:2026-11-29..2026-11-29":     {"2026-11-29", "2026-11-30"},
		"seen:2026-11-29..2026-12":        {"2026-11-29", "2027-01-01"},
		"opened:>=2026-11-01":             {"2026-11-01", ""},
		"opened:>2026-11":                 {"2026-12-01", ""},
		"opened:<2026-11":                 {"", "2026-11-01"},
		"opened:<=2026-11-29":             {"", "2026-11-30"},
		"-opened:2026-11,2026-12-24":      {"2026-11-01", "2026-12-01", "2026-12-24", "2026-12-25"},
		"opened:<2026-11,>=2027-01":       {"", "2026-11-01", "2027-01-01", ""},
		"opened:1970-01..9999-12":         {"1970-01-01", "10000-01-01"},
		`opened:"2026-11-29..2026-11-30"`: {"2026-11-29", "2026-12-01"},
	} {
		q, bad := ParseQuery(text)
		if len(bad) > 0 || len(q.Terms) != 1 || 2*len(q.Terms[0].Periods) != len(want) {
			t.Errorf("%s: %+v %+v", text, q.Terms, bad)
			continue
		}
		for i, p := range q.Terms[0].Periods {
			to := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
			if want[2*i+1] != "10000-01-01" {
				to = day(want[2*i+1])
			}
			if !p.From.Equal(day(want[2*i])) || !p.To.Equal(to) {
				t.Errorf("%s: from %s to %s", text, p.From, p.To)
			}
		}
	}
	for _, text := range []string{"opened:", "opened:november", "opened:2026", "opened:2026-13", "opened:2026-02-30", "opened:2026-1", "opened:2026-11-29T00:00:00Z", "opened:=2026-11", "opened:2026-12..2026-11", "opened:2026-11..", "opened:..2026-11",
		"opened:2026-11...2026-12", "opened:>2026-11..2026-12", "opened:1969-12", "opened:2026-11,", "seen:>30d", "opened:-2026-11"} {
		if _, bad := ParseQuery(text); len(bad) != 1 || bad[0].Term != text || !strings.Contains(bad[0].Expected, "2026-11") {
			t.Errorf("%s: %+v", text, bad)
		}
	}
}
