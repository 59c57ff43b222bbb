package dlq

import (
	"strings"
	"time"
)

// Period is from a moment up to another, which is not in it. Zero at either side
// is without an end there.
type Period struct {
	From, To time.Time
}

// Has says whether a moment lies in the period.
func (p Period) Has(t time.Time) bool {
	return !t.Before(p.From) && (p.To.IsZero() || t.Before(p.To))
}

// What is expected in place of a date, in words.
const (
	expectedDate  = "a month or a day, such as 2026-11 or 2026-11-29, a comparison such as >=2026-11-01, or a range such as 2026-11..2027-01"
	expectedRange = "a range that does not end before it begins, such as 2026-11..2027-01"
)

// parsePeriod reads a value of a date: a month, a day, both ends of a range, or a
// comparison. Days and months are those of UTC, so that a link means the same to
// whoever opens it.
func parsePeriod(s string) (p Period, expected string) {
	if from, to, ok := strings.Cut(s, ".."); ok {
		first, okFirst := calendarPeriod(from)
		last, okLast := calendarPeriod(to)
		switch {
		case !okFirst || !okLast:
			return p, expectedDate
		case last.To.Before(first.To):
			return p, expectedRange
		}
		return Period{first.From, last.To}, ""
	}
	compare, rest := splitComparison(s)
	named, ok := calendarPeriod(rest)
	if !ok {
		return p, expectedDate
	}
	switch compare {
	case "<":
		return Period{To: named.From}, ""
	case "<=":
		return Period{To: named.To}, ""
	case ">":
		return Period{From: named.To}, ""
	case ">=":
		return Period{From: named.From}, ""
	}
	return named, ""
}

// calendarPeriod is a month or a day.
func calendarPeriod(s string) (Period, bool) {
	if day, err := time.Parse("2006-01-02", s); err == nil && day.Year() >= 1970 {
		return Period{day, day.AddDate(0, 0, 1)}, true
	}
	if month, err := time.Parse("2006-01", s); err == nil && month.Year() >= 1970 {
		return Period{month, month.AddDate(0, 1, 0)}, true
	}
	return Period{}, false
}
