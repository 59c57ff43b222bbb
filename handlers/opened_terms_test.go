package handlers

import (
	"slices"
	"testing"
	"time"

	"dlo/dlq"
)

func TestMonthsBecomeTermsThatFindThemAgain(t *testing.T) {
	month := func(s string) time.Time {
		if s == "" {
			return time.Time{}
		}
		m, err := time.Parse("2006-01", s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct{ from, to, want string }{
		{"2026-11", "2026-12", "opened:2026-11"}, {"2026-12", "2027-01", "opened:2026-12"}, {"2026-11", "2027-02", "opened:2026-11..2027-01"},
		{"", "2026-06", "opened:<2026-06"}, {"2026-06", "", "opened:>=2026-06"}, {"", "", ""},
	} {
		terms := openedIn(month(c.from), month(c.to))
		if c.want == "" && terms == nil {
			continue
		}
		if !slices.Equal(terms, []string{c.want}) {
			t.Errorf("from %q to %q: %v, want %s", c.from, c.to, terms, c.want)
			continue
		}
		q, bad := dlq.ParseQuery(c.want)
		if len(bad) > 0 || q.Terms[0].Periods[0] != (dlq.Period{From: month(c.from), To: month(c.to)}) {
			t.Errorf("%s is read as %+v %+v", c.want, q.Terms, bad)
		}
	}
}

func TestDatesAreSaidInWordsAndOffered(t *testing.T) {
	for text, want := range map[string]string{
		"opened:2026-11":             "opened in Nov 2026",
		"seen:2026-11-29":            "failed last on 29 Nov 2026",
		"-seen:2026-11,2026-12-24":   "not failed last in Nov 2026 or on 24 Dec 2026",
		"opened:>=2026-11-01":        "opened on 1 Nov 2026 or later",
		"opened:<2026-11":            "opened before 1 Nov 2026",
		"opened:2026-11..2027-01":    "opened from 1 Nov 2026 to 31 Jan 2027",
		"seen:2026-11-29..2026-12-2": "",
	} {
		q, bad := dlq.ParseQuery(text)
		if want == "" {
			if len(bad) == 0 {
				t.Errorf("%s was understood", text)
			}
			continue
		}
		if len(bad) > 0 || termWords(q.Terms[0]) != want {
			t.Errorf("%s: %+v %q, want %q", text, bad, termWords(q.Terms[0]), want)
		}
	}
	at, _ := dlq.CompleteAt("opened:", 7)
	for _, c := range fixedChoices(at, time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600))) {
		if _, bad := dlq.ParseQuery("opened:" + c.value); len(bad) > 0 {
			t.Errorf("%s is offered and not understood", c.value)
		}
		if c.hint == "last month" && c.value != "2025-11" {
			t.Errorf("the last month of 31 Dec 2025 UTC is %s", c.value)
		}
	}
	if at, _ := dlq.CompleteAt("opened:", 7); len(fixedChoices(at, noon)) != 6 {
		t.Error("no dates are offered")
	}
}
