package fingerprint

import (
	"regexp"
	"strings"
)

var (
	wholeFileLine = regexp.MustCompile(`^\s*(?:[|+ ]*\s)?File ".*"(?:, line \d+(?:, in .+)?| in .+)$`)
	openFileLine  = regexp.MustCompile(`^\s*(?:[|+ ]*\s)?File "`)
	wrapRest      = regexp.MustCompile(`^(?:\d*,? ?in \S+|\d+)$`)
	wrapName      = regexp.MustCompile(`^[\w<>.]+$`)
)

// consoleWrap joins Python frame lines that a console of fixed width broke.
func (u *undressed) consoleWrap() {
	out := u.lines[:0:0]
	for i := 0; i < len(u.lines); i++ {
		line := u.lines[i]
		if openFileLine.MatchString(line) {
			for range 2 {
				joined, ok := unwrapFileLine(line, u.lines[i+1:])
				if !ok {
					break
				}
				line = joined
				i++
				u.step("lines broken by a console joined")
			}
		}
		out = append(out, line)
	}
	u.lines = out
}

// unwrapFileLine joins line with the first of rest if that is its remainder.
func unwrapFileLine(line string, rest []string) (string, bool) {
	if len(rest) == 0 || rest[0] == "" || rest[0][0] == ' ' || rest[0][0] == '\t' {
		return line, false
	}
	next := rest[0]
	if !wholeFileLine.MatchString(line) {
		if strings.HasSuffix(line, ",") || strings.HasSuffix(line, `" in`) || strings.HasSuffix(line, "line") || strings.HasSuffix(line, ", in") {
			return line + " " + next, strings.Contains(line+" "+next, `", line `)
		}
		return line + next, strings.Contains(line+next, `"`) && len(next) < 200
	}
	if wrapRest.MatchString(next) && !strings.Contains(line, ", in ") {
		return line + next, true
	}
	// "in g" + "et_pages": complete as it stands, but a frame is followed by its
	// indented source line, and only then by the unindented exception.
	sourceFollows := len(rest) > 1 && strings.HasPrefix(rest[1], "    ")
	if wrapName.MatchString(next) && sourceFollows {
		return line + next, true
	}
	return line, false
}
