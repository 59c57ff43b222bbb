package fingerprint

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// frameStart finds where the frame begins on a line of any language that prints
// one frame a line, strictly enough that prose seldom matches.
var frameStart = regexp.MustCompile(
	`File "[^"]*"(?:, line \d+| in )` +
		`|\bat (?:async )?(?:new )?[^\s()]+(?: \[as [^\]]+\])? ?\(.*\)(?: ~?\[[^\]]*\])?\s*\{?"?$` +
		`|\bat (?:async )?\S+:\d+:\d+\s*\{?"?$` +
		`|[^\s"]*[\w-]\.go:\d+(?: \+0x[0-9a-f]+)?(?: fp=.*)?"?$` +
		`|[│|] (?:/|~|<|[A-Za-z]:\\)[^|│]*:\d+ in \S+ *[|│]\s*$` +
		`|│ ❱ +\d+ │` +
		`|  \+ Exception Group Traceback ` +
		`|#\d+ (?:\S+\(\d+\)|\[internal function\]): ` +
		`|from \S+:\d+:in ` +
		`|[^\s@]*@(?:https?|file|webpack\S*)://\S+:\d+:\d+"?$` +
		`|❯ (?:\S+ )?\S+\.[cm]?[jt]sx?:\d+:\d+"?$`)

// frameSigns are texts without one of which no line matches frameStart.
var frameSigns = []string{`File "`, "at ", ".go:", "#", "from ", "://", "❯", "│", "| ", "+ Exc"}

func holdsSign(line string, signs []string) bool {
	for _, sign := range signs {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}

// digits are a number with the blanks that a logger pads it with.
var digits = regexp.MustCompile(`[ \t]*\d+`)

// logPrefix cuts what a logger put in front of every line. The prefix is what
// the frame lines have in common before the frame itself, digits apart; it must
// hold a letter, a digit or a mail's quotation mark, so that indentation and the
// margins of exception groups are left alone.
func (u *undressed) logPrefix() {
	common, seen := "", 0
	for _, line := range u.lines {
		if !holdsSign(line, frameSigns) {
			continue
		}
		at := frameStart.FindStringIndex(line)
		if at == nil {
			continue
		}
		shape := digits.ReplaceAllString(line[:at[0]], "0")
		if seen == 0 {
			common = shape
		}
		if common = commonPrefix(common, shape); !strings.ContainsFunc(common, isWord) && !strings.HasPrefix(common, ">") {
			return
		}
		seen++
	}
	common = strings.TrimRight(common, " \t")
	quoted := strings.HasSuffix(common, `"`)
	if !strings.ContainsFunc(common, isWord) && !strings.HasPrefix(common, ">") {
		return
	}
	pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(common), "0", `[ \t]*\d+`))
	gap, matched := -1, 0
	ends := make([]int, len(u.lines))
	for i, line := range u.lines {
		at := pattern.FindStringIndex(line)
		if at == nil {
			continue
		}
		ends[i] = at[1]
		matched++
		rest := line[at[1]:]
		if body := strings.TrimLeft(rest, " "); body != "" && (gap < 0 || len(rest)-len(body) < gap) {
			gap = len(rest) - len(body)
		}
	}
	// One frame shows nothing in common: then most of the lines must have it.
	if seen < 2 && (matched < 2 || matched*2 < len(u.lines)) {
		return
	}
	for i, end := range ends {
		if end == 0 {
			continue
		}
		rest := u.lines[i][end:]
		rest = rest[min(max(gap, 0), len(rest)-len(strings.TrimLeft(rest, " "))):]
		if quoted {
			rest = strings.TrimSuffix(rest, `"`)
		}
		u.lines[i] = rest
	}
	u.step("log prefix cut from each line")
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 127
}
