package handlers

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/web"
)

// Words that several screens share: how a number, a span, a moment, a text from
// outside and an address are written. The domain's words are in
// words_domain.go.

// shown makes a text that came from outside safe to look at: what cannot be
// seen, or would turn its neighbours round, becomes a chip.
func shown(s string) components.Text {
	segments := web.Visible(s)
	out := make(components.Text, len(segments))
	for i, seg := range segments {
		out[i] = components.Segment{Text: seg.Text, Chip: seg.Chip}
	}
	return out
}

// shownLine is shown for a cell of a table: line breaks become blanks, and what
// is longer than limit characters is cut, which it says with an ellipsis.
func shownLine(s string, limit int) components.Text {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit]) + "…"
	}
	return shown(s)
}

// grouped writes a number with separators: 1,234.
func grouped[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// counted writes a number with its noun: "1 document", "1,234 documents".
func counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// documents is counted for the most frequent noun.
func documents[N int | int64](n N) string { return counted(n, "document", "documents") }

// span writes how long something lasts in its one largest unit: "94 d", "5 h",
// "12 min", "now" for less than a minute. It rounds down, so that nothing is
// said to be older than it is.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return grouped(int64(d/(24*time.Hour))) + " d"
}

// ago writes a moment in the past as a span: "3 d ago", "just now".
func ago(now, at time.Time) string {
	d := now.Sub(at)
	if d < time.Minute {
		return "just now"
	}
	return span(d) + " ago"
}

// until writes a moment to come as a span: "in 3 d", "due now".
func until(now, at time.Time) string {
	d := at.Sub(now)
	if d < time.Minute {
		return "due now"
	}
	return "in " + span(d)
}

// byteSize writes a size: "812 bytes", "4.5 MB". Units are powers of 1,000.
func byteSize(n int64) string {
	if n < 0 {
		return "size not known"
	}
	if n < 1000 {
		return counted(n, "byte", "bytes")
	}
	v, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if v /= 1000; v < 999.95 {
			break
		}
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + unit
}

// dateOf writes a day: 29 Nov 2026.
func dateOf(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// moment is a point in time for the page, which a script puts into the viewer's
// zone. The zero time is no moment.
func moment(t time.Time) components.Time {
	if t.IsZero() {
		return components.Time{}
	}
	t = t.UTC()
	return components.Time{ISO: t.Format(time.RFC3339), UTC: t.Format("2 Jan 2006 15:04") + " UTC", Short: t.Format("2 Jan 15:04")}
}

// day is a moment of which the page says the date alone.
func day(t time.Time) components.Time {
	return keeping(t, dateOf(t))
}

// since is a moment of which the page says how long ago it was.
func since(now, t time.Time) components.Time {
	return keeping(t, ago(now, t))
}

func keeping(t time.Time, short string) components.Time {
	m := moment(t)
	if m.Zero() {
		return m
	}
	m.Short, m.Keep = short, true
	return m
}

// shortID is the head of an id that people tell one thing from another by.
func shortID(id string) string {
	prefix := ""
	if at := strings.IndexByte(id, ':'); at >= 0 {
		prefix, id = id[:at+1], id[at+1:]
	}
	return prefix + id[:min(len(id), 10)]
}

// Addresses of pages.

func cohortHref(id string) string    { return "/cohorts/" + url.PathEscape(id) }
func entryHref(dlqID string) string  { return "/entries/" + url.PathEscape(dlqID) }
func operationHref(id string) string { return "/operations/" + url.PathEscape(id) }
func sourceHref(name string) string  { return "/sources/" + url.PathEscape(name) }

// entriesHref is the list of what a query matches. Every number on a screen
// leads to one.
func entriesHref(q string) string { return "/entries?" + url.Values{"q": {q}}.Encode() }

// confirmHref is the page that confirms an action on what a query matches.
// Expect is the number that the person saw; negative where they saw none.
func confirmHref(action dlq.OperationKind, q string, expect int64, back string) string {
	v := url.Values{"action": {string(action)}, "q": {q}, "back": {back}}
	if expect >= 0 {
		v.Set("expect", strconv.FormatInt(expect, 10))
	}
	return "/confirm?" + v.Encode()
}

// confirmEntryHref is the page that confirms an action on one document.
func confirmEntryHref(action dlq.OperationKind, dlqID, back string) string {
	return "/confirm?" + url.Values{"action": {string(action)}, "id": {dlqID}, "back": {back}}.Encode()
}

// verbatim is a name that somebody gave. It stays as it is written even where a
// sentence starts with it: a source called wiki is not called Wiki.
type verbatim string

// sentence begins a message of a store or a rule with a capital, unless its
// first word is verbatim, and ends it with a full stop, for where it stands by
// itself.
func sentence(format string, args ...any) string {
	s := strings.TrimSpace(fmt.Sprintf(format, args...))
	named := false
	if len(args) > 0 && strings.HasPrefix(format, "%s") {
		_, named = args[0].(verbatim)
	}
	if !named {
		s = sentenceStart(s)
	}
	if s != "" && !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "!") {
		s += "."
	}
	return s
}

// sentenceStart writes the first letter as a capital. A first word that holds an
// @ is an address or a program with its version, and stays as it is written.
func sentenceStart(s string) string {
	if word, _, _ := strings.Cut(s, " "); strings.Contains(word, "@") {
		return s
	}
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
