package dlq

import (
	"strings"
	"time"
)

const (
	caveatSecond   = "Modification times have a resolution of one second: two edits within it look like none."
	caveatOlder    = "The source's document is now older than what failed: a restore, or another server."
	caveatTimeOnly = "A modification time moved; that the bytes did is likely, not certain."
	caveatCoarser  = "The two times are given with different precision; the coarser one was compared."
	caveatNoTime   = "A modification time at the very beginning of an epoch stands for no time known."
	caveatBadTime  = "A modification time is not a date with a time zone that can be relied on."
	caveatAsTime   = "The versions are points in time and were compared as such."
)

// instant is a moment and how finely it was written down.
type instant struct {
	at     time.Time
	digits int // of the fraction of a second, 0 to 9
}

// compareTimes compares modification times as instants, whatever notation each
// is in. Equal is unchanged, of the weakest grade; different says no more than
// that something happened (RFC 9110 §8.8.2.2).
func compareTimes(stored, current string) Evidence {
	if noText(stored) || noText(current) {
		return UnknownBytes("One side has no modification time.")
	}
	a, okA := parseInstant(stored)
	b, okB := parseInstant(current)
	if !okA || !okB {
		return UnknownBytes(caveatBadTime)
	}
	if a.meaningless() || b.meaningless() {
		return UnknownBytes(caveatNoTime)
	}
	coarser := ""
	if a.digits != b.digits {
		coarser = caveatCoarser
	}
	unit := secondOver(min(a.digits, b.digits))
	ta, tb := a.at.Truncate(unit), b.at.Truncate(unit)
	if ta.Equal(tb) {
		if unit < time.Second {
			return evidenceOf(ReadingUnchanged, GradeLastModified, "An equal modification time is weak evidence.", coarser)
		}
		return evidenceOf(ReadingUnchanged, GradeLastModified, caveatSecond, coarser)
	}
	if tb.Before(ta) {
		return evidenceOf(ReadingMaybeChanged, GradeLastModified, caveatOlder)
	}
	return evidenceOf(ReadingMaybeChanged, GradeLastModified, caveatTimeOnly)
}

func secondOver(digits int) time.Duration {
	unit := time.Second
	for range digits {
		unit /= 10
	}
	return unit
}

// meaningless says whether the time is one that programs write when they know
// none: the zero of .NET and Go, of FILETIME, the Unix epoch (or the second
// after it, which reproducible builds use) and the beginning of DOS time.
func (i instant) meaningless() bool {
	dos := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	return i.at.Unix() <= 1 || i.at.Truncate(time.Second).Equal(dos)
}

// parseInstant reads the three forms of an HTTP date (RFC 9110 §5.6.7), the
// date of a message with a numeric zone (RFC 5322 §3.3), and RFC 3339. What
// has no zone, or one that only a name gives, is no instant: time.Parse would
// make up an offset of zero for it. A weekday that does not fit the date is
// damage.
func parseInstant(raw string) (instant, bool) {
	s := strings.Trim(raw, " \t")
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return instant{at: t.UTC(), digits: fractionDigits(s)}, true
	}
	if zone, ok := strings.CutSuffix(s, " UTC"); ok {
		s = zone + " GMT"
	}
	for _, layout := range []string{
		"Mon, 02 Jan 2006 15:04:05 GMT",
		"Mon, 2 Jan 2006 15:04:05 GMT",
		"Mon, 2 Jan 2006 15:04:05 -0700",
		"Mon Jan _2 15:04:05 2006",
	} {
		t, err := time.Parse(layout, s)
		if err == nil {
			return instant{at: t.UTC()}, strings.HasPrefix(s, t.Weekday().String()[:3])
		}
	}
	return parseRFC850(s)
}

// parseRFC850 reads the obsolete form with its year of two digits. RFC 9110
// tells the century by the clock; the weekday tells it as well and needs none.
func parseRFC850(s string) (instant, bool) {
	t, err := time.Parse("Monday, 02-Jan-06 15:04:05 GMT", s)
	if err != nil {
		return instant{}, false
	}
	day, _, _ := strings.Cut(s, ",")
	for _, century := range []int{0, 100, -100} {
		c := time.Date(t.Year()+century, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
		if c.Weekday().String() == day {
			return instant{at: c}, true
		}
	}
	return instant{}, false
}

// fractionDigits counts the digits after the decimal point of an RFC 3339 time.
func fractionDigits(s string) int {
	_, after, ok := strings.Cut(s, ".")
	if !ok {
		return 0
	}
	n := 0
	for n < len(after) && after[n] >= '0' && after[n] <= '9' {
		n++
	}
	return min(n, 9)
}
