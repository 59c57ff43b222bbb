package fingerprint

import (
	"regexp"
	"slices"
	"strings"
)

// pythonTools writes what rich, pytest, a notebook service and a debugger show
// of a Python traceback as the interpreter prints it.
func (u *undressed) pythonTools() {
	var rich, pytest, linked, debugger bool
	for _, line := range u.lines {
		rich = rich || isRichHead(line)
		pytest = pytest || strings.HasPrefix(line, "E  ")
		linked = linked || (strings.HasPrefix(line, "[") || strings.HasPrefix(line, "File [")) && strings.Contains(line, "](")
		debugger = debugger || strings.HasPrefix(line, "Exception has occurred: ")
	}
	if rich {
		u.lines = withoutRichBoxes(u.lines)
		u.step("rich's boxes taken off")
	}
	if linked {
		for i, line := range u.lines {
			u.lines[i] = notebookLink.ReplaceAllString(line, "$1$2 in ")
		}
	}
	if pytest {
		if lines := fromPytest(u.lines); lines != nil {
			u.lines = lines
			u.step("pytest's report read as a traceback")
		}
	}
	if debugger {
		if lines := fromDebugger(u.lines); lines != nil {
			u.lines = lines
			u.step("a debugger's stack turned round")
		}
	}
}

var notebookLink = regexp.MustCompile(`^(File )?\[([^\]]+)\]\((?:https?|file|vscode[\w-]*):[^)]*\),? in `)

const pyHeading = "Traceback (most recent call last):"

var (
	richFrame  = regexp.MustCompile(`^(\S.*):(\d+) in (\S+)$`)
	richSource = regexp.MustCompile(`^[❱>] +\d+ [│|]?[ │|]*(.*)$`)
	richOpen   = regexp.MustCompile(`:\d+$| in$`) // breaks before a blank
	richPath   = regexp.MustCompile(`^(?:/|~|[A-Za-z]:\\|<|\.{0,2}/|\w+/)`)
)

func isRichHead(line string) bool {
	i := strings.Index(line, "Traceback (most recent call last)")
	if i <= 0 {
		return false
	}
	head := strings.TrimLeft(line[:i], " ")
	return strings.HasPrefix(head, "╭") || strings.HasPrefix(head, "┌") || strings.HasPrefix(head, "+--")
}

// richBox reads one box: what is inside its border, frame by frame.
type richBox struct {
	out  []string
	path string // of a frame that takes several lines
}

func withoutRichBoxes(lines []string) []string {
	var out []string
	indent := 0
	for i := 0; i < len(lines); i++ {
		if !isRichHead(lines[i]) {
			out = append(out, outdented(lines[i], indent))
			continue
		}
		indent = len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
		box := richBox{out: append(out, pyHeading)}
		for i++; i < len(lines); i++ {
			inner, ok := insideBorder(lines[i])
			if !ok {
				break
			}
			box.line(inner)
		}
		out = box.out
		if i < len(lines) && !isRichFoot(lines[i]) {
			i-- // the box was cut
		}
	}
	return rejoinedLinks(out)
}

func isRichFoot(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "╰") || strings.HasPrefix(line, "└") || strings.HasPrefix(line, "+-")
}

// outdented takes off the indentation that a logger's columns gave to a box and
// to what is printed under it.
func outdented(line string, indent int) string {
	blanks := len(line) - len(strings.TrimLeft(line, " "))
	return strings.TrimRight(line[min(indent, blanks):], " ")
}

// rejoinedLinks puts together the sentences between tracebacks that a narrow
// terminal broke.
func rejoinedLinks(lines []string) []string {
	out := lines[:0:0]
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		for _, link := range []string{pyDirectCause, pyContext} {
			joined := strings.TrimSpace(line)
			for n := i + 1; len(joined) > 10 && joined != link && strings.HasPrefix(link, joined) && n < len(lines) && n < i+6; n++ {
				if joined += " " + strings.TrimSpace(lines[n]); joined == link {
					line, i = link, n
				}
			}
		}
		out = append(out, line)
	}
	return out
}

// insideBorder returns a line of a box without its sides.
func insideBorder(line string) (string, bool) {
	line = strings.TrimSpace(line)
	for _, side := range []string{"│", "|"} {
		if rest, ok := strings.CutPrefix(line, side); ok {
			return strings.TrimSpace(strings.TrimSuffix(rest, side)), true
		}
	}
	return "", false
}

func (b *richBox) line(inner string) {
	if m := richSource.FindStringSubmatch(inner); m != nil {
		b.path = ""
		b.out = append(b.out, "    "+m[1])
		return
	}
	switch {
	case inner == "" || strings.HasPrefix(inner, "╭") || strings.HasPrefix(inner, "│"):
		b.path = ""
		return
	case b.path == "" && !richPath.MatchString(inner):
		return
	case richOpen.MatchString(b.path):
		b.path += " " + inner
	default:
		b.path += inner
	}
	if m := richFrame.FindStringSubmatch(b.path); m != nil {
		b.out = append(b.out, `  File "`+m[1]+`", line `+m[2]+", in "+m[3])
		b.path = ""
	}
	if len(b.path) > maxTemplateInput {
		b.path = ""
	}
}

var (
	pytestPlace  = regexp.MustCompile(`^(\S.*\.pyx?):(\d+): ?(?:in (\S+))?([A-Za-z_][\w.]*)?$`)
	pytestDef    = regexp.MustCompile(`^ {4,}(?:async )?def (\w+)\(`)
	pytestMarked = regexp.MustCompile(`^> +(\S.*)$`)
	pytestError  = regexp.MustCompile(`^E +(\S.*)$`)
	pytestHead   = regexp.MustCompile(`^_{3,} .+ _{3,}$`)
)

// fromPytest reads the first failure of a test report; nil where there is none.
func fromPytest(lines []string) []string {
	out := []string{pyHeading}
	function, source, last := "<module>", "", ""
	var said []string
	for i, line := range lines {
		if pytestHead.MatchString(line) && len(said) > 0 {
			break
		}
		if m := pytestDef.FindStringSubmatch(line); m != nil {
			function = m[1]
		} else if m := pytestMarked.FindStringSubmatch(line); m != nil {
			source = m[1]
		} else if m := pytestError.FindStringSubmatch(line); m != nil {
			said = append(said, m[1])
		} else if m := pytestPlace.FindStringSubmatch(line); m != nil {
			if m[3] != "" {
				function, source = m[3], ""
				if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    ") {
					source = strings.TrimSpace(lines[i+1])
				}
			}
			out = append(out, `  File "`+m[1]+`", line `+m[2]+", in "+function, "    "+source)
			function, source, last = "<module>", "", m[4]
		}
	}
	if len(said) == 0 || len(out) < 2 {
		return nil
	}
	if !pyException.MatchString(said[0]) || strings.HasPrefix(said[0], "assert") {
		// The report shows what the assertion compared, and its type at the end.
		if last == "" {
			last = "AssertionError"
		}
		said[0] = last + ": " + said[0]
	}
	return append(out, said...)
}

// fromDebugger turns round a stack that a debugger shows innermost first, under
// a line that names the exception and one that is its message.
func fromDebugger(lines []string) []string {
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Exception has occurred: ") })
	typ, _, _ := strings.Cut(strings.TrimPrefix(lines[at], "Exception has occurred: "), " ")
	var message []string
	var frames [][]string
	for _, line := range lines[at+1:] {
		switch {
		case pyFile.MatchString(line):
			frames = append(frames, []string{line})
		case len(frames) == 0:
			message = append(message, line)
		case strings.HasPrefix(line, "    "):
			frames[len(frames)-1] = append(frames[len(frames)-1], line)
		}
	}
	if len(frames) == 0 || typ == "" {
		return nil
	}
	out := append(slices.Clone(lines[:at]), pyHeading)
	for i := len(frames) - 1; i >= 0; i-- {
		out = append(out, frames[i]...)
	}
	return append(out, header(typ, strings.Join(message, "\n")))
}
