package fingerprint

import (
	"regexp"
	"strconv"
	"strings"
)

// unescape decodes the escapes that JSON and Python's repr have in common. What
// it does not know it leaves as it is.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '"', '\'', '\\', '/':
			b.WriteByte(s[i])
		case 'u', 'x':
			digits := 4
			if s[i] == 'x' {
				digits = 2
			}
			if i+digits >= len(s) {
				b.WriteByte('\\')
				b.WriteByte(s[i])
				continue
			}
			n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil {
				b.WriteByte('\\')
				b.WriteByte(s[i])
				continue
			}
			b.WriteRune(rune(n))
			i += digits
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// quotedText returns what is inside the quotes that begin at s[0], still
// escaped, and how much of s it took; false where they are not closed.
func quotedText(s string) (inner string, n int, ok bool) {
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return s[1:i], i + 1, true
		}
	}
	return "", len(s), false
}

// wholeQuotation undoes quotation that covers all of s: a Python repr, with the
// b of bytes, or a list of them, as Python prints a formatted traceback. Text
// that breaks its lines is not quoted.
func wholeQuotation(s string) (string, bool) {
	s = strings.TrimLeft(s, "bru")
	switch {
	case len(s) < 2 || strings.Contains(s, "\n"):
		return "", false
	case s[0] == '\'' || s[0] == '"':
		if inner, n, ok := quotedText(s); ok && n == len(s) {
			return unescape(inner), true
		}
	case s[0] == '[' && s[len(s)-1] == ']':
		return quotedLines(s[1 : len(s)-1])
	}
	return "", false
}

// quotedLines reads strings separated by commas as the lines of a text.
func quotedLines(s string) (string, bool) {
	var b strings.Builder
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, ", ") {
		s = strings.TrimLeft(s, "bu")
		if s == "" || s[0] != '\'' && s[0] != '"' {
			return "", false
		}
		inner, n, ok := quotedText(s)
		if !ok {
			return "", false
		}
		b.WriteString(strings.TrimSuffix(unescape(inner), "\n") + "\n")
		s = s[n:]
	}
	return b.String(), b.Len() > 0
}

var (
	quotedField = regexp.MustCompile(`(?:^|[\s({,])["']?\w+["']?[=:] ?["']`)
	listOfLines = regexp.MustCompile(`\[[bu]?['"]`)
)

// fieldQuotation finds the quoted field of a line, as logfmt writes them, or the
// quoted list at its end, that holds a trace.
func fieldQuotation(s string) (string, bool) {
	if at := listOfLines.FindStringIndex(s); at != nil && strings.HasSuffix(s, "]") {
		if lines, ok := quotedLines(s[at[0]+1 : len(s)-1]); ok && traceShape.MatchString(lines) {
			return lines, true
		}
	}
	best := ""
	for from := 0; from < len(s); {
		at := quotedField.FindStringIndex(s[from:])
		if at == nil {
			break
		}
		open := from + at[1] - 1
		inner, n, ok := quotedText(s[open:])
		if !ok {
			inner = s[open+1:] // the record was cut
		}
		if len(inner) > len(best) && strings.Count(inner, `\n`) > 1 && traceShape.MatchString(inner) {
			best = inner
		}
		from = open + n
	}
	return unescape(best), best != ""
}
