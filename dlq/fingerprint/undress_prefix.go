package fingerprint

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// frameForms are how a frame begins on a line, in any language that prints one
// frame a line, strictly enough that prose seldom matches: a text that every such
// line holds, and the form from there on.
var frameForms = []struct {
	sign string
	// word says that the sign is a word of its own, run that the frame begins
	// with the run of characters around the sign.
	word, run bool
	shape     *regexp.Regexp
}{
	{`File "`, false, false, regexp.MustCompile(`^File "[^"]*"(?:, line \d+| in )`)},
	{"at ", true, false, regexp.MustCompile(`^at (?:async )?(?:(?:new )?[^\s()]+(?: \[as [^\]]+\])? ?\(.*\)(?: ~?\[[^\]]*\])?|\S+:\d+:\d+)\s*\{?"?$`)},
	{"at ", true, false, regexp.MustCompile(`^at (?:[\w<>\[\], ?]+ )?[^\s()]+ ?\([^/:]*\)(?: \[0x[0-9a-f]+\]| <0x[^>]*>)?(?: in .*?:(?:line )?\d+)?\s*"?$`)},
	{".rb:", false, true, regexp.MustCompile(`^(?:[A-Za-z]:)?[^\s":]*\.rb:\d+:in `)},
	{".go:", false, true, regexp.MustCompile(`^\S*[\w-]\.go:\d+(?: \+0x[0-9a-f]+)?(?: fp=.*)?"?$`)},
	{"| ", false, false, regexp.MustCompile(`^\| (?:/|~|<|[A-Za-z]:\\)[^|]*:\d+ in \S+ *\|\s*$`)},
	{"│ ", false, false, regexp.MustCompile(`^│ (?:(?:/|~|<|[A-Za-z]:\\)[^│]*:\d+ in \S+ *│\s*$|❱ +\d+ │)`)},
	{"  + Exc", false, false, regexp.MustCompile(`^  \+ Exception Group Traceback `)},
	{"#", false, false, regexp.MustCompile(`^#\d+ (?:\S+\(\d+\)|\[internal function\]): `)},
	{"#", false, false, regexp.MustCompile(`^#\d+ +0x[0-9a-fA-F]{4,} in `)},
	{"+ ", false, false, regexp.MustCompile(`^\+ (?:CategoryInfo|FullyQualifiedErrorId) +: `)},
	{"@    ", false, false, regexp.MustCompile(`^@ {4,}0x[0-9a-f]{8,} `)},
	{"from ", false, false, regexp.MustCompile(`^from \S+:\d+:in `)},
	{"://", false, true, regexp.MustCompile(`^[^\s@]*@(?:https?|file|webpack\S*)://\S+:\d+:\d+"?$`)},
	// .NET's word for "at" is translated; three blanks before it are not.
	{"   ", false, false, regexp.MustCompile(`^ {3,9}\p{L}{1,4}:? [\p{L}_][^\s()/:"]*\.[^\s()/:"]+\([^/:]*\)(?: .*:\D{0,12}\d+)?\s*"?$`)},
	{"`", false, true, regexp.MustCompile("^[0-9a-f]{8}`[0-9a-f]{8} .*[\\w.]![^\\s!]")},
	{".py in ", false, true, regexp.MustCompile(`^\S+\.py in [\w<>.]+\(.*\)$`)},
	{"<ipython-input-", false, false, regexp.MustCompile(`^<ipython-input-\d+-[0-9a-f]+> in `)},
	{"Cell In[", false, false, regexp.MustCompile(`^Cell In\[\d+\], line \d+`)},
	{"File ", false, false, regexp.MustCompile(`^File \[?[^\s"]+\.py:\d+(?:\]\([^)]*\))?, in `)},
	{"#", false, false, regexp.MustCompile(`^#\d+ +0x[0-9a-fA-F]{4,} \S+ \(\S+ \+ 0x`)},
	{"at ", true, false, regexp.MustCompile(`^at [^,()]+, .*\.psm?1: \p{L}+ \d+\s*$`)},
	{"thread '", false, false, regexp.MustCompile(`^thread '[^']*'(?: \(\d+\))? panicked at `)},
	{"❯ ", false, false, regexp.MustCompile(`^❯ (?:\S+ )?\S+\.[cm]?[jt]sx?:\d+:\d+"?$`)},
}

// rubyNumber counts frames that Ruby prints outermost first: it is part of them.
var rubyNumber = regexp.MustCompile(`\s*\d+: $`)

// frameStart returns where on the line a frame begins; -1 if none does.
func frameStart(line string) int {
	first := -1
	for _, form := range frameForms {
		from := 0
		for range 8 { // a line that repeats the sign more often holds no frame
			i := strings.Index(line[from:], form.sign)
			if i < 0 {
				break
			}
			start := from + i
			from = start + len(form.sign)
			if form.run {
				start = strings.LastIndexAny(line[:start], " \t\"") + 1
			}
			if form.word && start > 0 && isWord(rune(line[start-1])) {
				continue
			}
			if form.shape.MatchString(line[start:]) {
				if first < 0 || start < first {
					first = start
				}
				break
			}
		}
	}
	return first
}

// shapeOf writes every number of a prefix, with the blanks that a logger pads it
// with, as 0.
func shapeOf(prefix string) string {
	var b strings.Builder
	for i := 0; i < len(prefix); {
		if n := paddedNumber(prefix[i:]); n > 0 {
			b.WriteByte('0')
			i += n
			continue
		}
		b.WriteByte(prefix[i])
		i++
	}
	return b.String()
}

// paddedNumber returns the length of the blanks and digits that s begins with; 0
// if it begins with no number.
func paddedNumber(s string) int {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	digits := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == digits {
		return 0
	}
	return i
}

// shapeEnd returns where the prefix of the given shape ends on line; 0 if line
// does not begin with it.
func shapeEnd(shape, line string) int {
	i := 0
	for j := 0; j < len(shape); j++ {
		switch {
		case shape[j] == '0':
			n := paddedNumber(line[i:])
			if n == 0 {
				return 0
			}
			i += n
		case i < len(line) && line[i] == shape[j]:
			i++
		default:
			return 0
		}
	}
	return i
}

// quotationMark says that a prefix is what mail, or a logger of the JVM, puts
// before every line of what it quotes.
func quotationMark(prefix string) bool {
	return strings.HasPrefix(prefix, ">") || strings.HasPrefix(prefix, "!")
}

// logPrefix cuts what a logger put in front of every line. The prefix is what
// the frame lines have in common before the frame itself, digits apart; it must
// hold a letter, a digit or a mail's quotation mark, so that indentation and the
// margins of exception groups are left alone.
func (u *undressed) logPrefix() {
	common, seen := "", 0
	for _, line := range u.lines {
		at := frameStart(line)
		if at < 0 {
			continue
		}
		head := line[:at]
		if strings.HasPrefix(line[at:], "from ") {
			head = rubyNumber.ReplaceAllString(head, "")
		}
		shape := shapeOf(head)
		if seen == 0 {
			common = shape
		}
		if common = commonPrefix(common, shape); !strings.ContainsFunc(common, isWord) && !quotationMark(common) {
			return
		}
		seen++
	}
	common = strings.TrimRight(common, " \t")
	// A test runner's mark stands before frames only.
	common = strings.TrimRight(strings.TrimSuffix(common, " #"), " \t")
	quoted := strings.HasSuffix(common, `"`)
	if !strings.ContainsFunc(common, isWord) && !quotationMark(common) {
		return
	}
	gap, matched := -1, 0
	ends := make([]int, len(u.lines))
	for i, line := range u.lines {
		end := shapeEnd(common, line)
		if end == 0 {
			continue
		}
		ends[i] = end
		matched++
		rest := line[end:]
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
