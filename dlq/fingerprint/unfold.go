package fingerprint

import (
	"regexp"
	"strings"
)

var (
	foldedFrame = regexp.MustCompile("[ \\t]+(at (?:async |new )?(?:[\\w$<>+/`\\[\\],@|-]*\\.[\\w$.<>+/`\\[\\],@|-]* ?\\(|[\\w$<>]+ \\([^()\\s]*:\\d+:\\d+\\))|--- [^-]{5,120} ---|Caused by: [\\w$.]+|\\.\\.\\. \\d+ more)")
	foldedPHP   = regexp.MustCompile(`[ \t]+(Stack trace:|#\d+ (?:\S[^#]{0,250}?\(\d+\): |\[internal function\]: |\{main\})|Next [\w\\]+: |thrown in )`)
)

// unfold breaks traces that a form, a table or a browser made one line of. Two
// frames on a line are the sign: no runtime prints them so.
func (u *undressed) unfold() {
	var out []string
	folded := false
	for _, line := range u.lines {
		broken := line
		switch {
		case strings.Contains(line, " Stack trace:") && strings.Contains(line, " #0 "):
			broken = foldedPHP.ReplaceAllString(line, "\n$1")
		case strings.Count(line, "at ")-strings.Count(line, "(eval at ") > 1 && strings.Count(line, ")") > 1 && len(foldedFrame.FindAllStringIndex(line, 2)) > 1:
			broken = foldedFrame.ReplaceAllString(line, "\n   $1")
			if strings.Count(broken, "\n   at ") < 2 {
				broken = line
			}
		}
		if broken == line {
			out = append(out, line)
			continue
		}
		folded = true
		out = append(out, strings.Split(broken, "\n")...)
		if len(out) > 2*maxLines {
			break
		}
	}
	if folded {
		u.lines = out[:min(len(out), maxLines)]
		u.step("one line broken into frames")
	}
}
