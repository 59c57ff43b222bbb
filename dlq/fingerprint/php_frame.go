package fingerprint

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	phpNumbered     = regexp.MustCompile(`^#(\d+) (?:(.*?)\((\d+)\)|(\[internal function\])): (.+)$`)
	phpPlain        = regexp.MustCompile(`^(\d+) (\S.*\.php)\((\d+)\): (.+)$`) // CodeIgniter
	phpMain         = regexp.MustCompile(`^#(\d+) \{main\}`)
	phpConsole      = regexp.MustCompile(`^\s*([\w\\{}@>:.-]+(?:\(.*\))?)\(\) at (\S.*):(?:\d+|n/a)$`)
	phpConsoleAt    = regexp.MustCompile(`^\s+(?:\(\) )?at (\S.*\.php):\d+$`)
	phpList         = regexp.MustCompile(`^\s+(\d+)\s+(\S.*\.php):\d+$`)
	phpListCall     = regexp.MustCompile(`^\s{4,}([\w\\{}@>:-]+)\(.*\)$`)
	phpXdebug       = regexp.MustCompile(`^(?:PHP)?\s+(?:\d+\.\d+\s+\d+\s+)?(\d+)\. ([\w\\{}@>:-]+)\(.*\) (\S.*):\d+$`)
	phpHash         = regexp.MustCompile(`[0-9a-f]{32,}`)
	phpSpaceInClass = regexp.MustCompile(`(->|::)[\w\\]*\\\{closure\}`)
	phpTwig         = regexp.MustCompile(`__TwigTemplate_[0-9a-f]+`)
	phpContainer    = regexp.MustCompile(`\bContainer[0-9A-Za-z_]{7}\\`)
)

// phpCall is one line of a trace: what was called and where.
type phpCall struct {
	number   int
	function string
	path     string
	form     phpForm
}

type phpForm int

const (
	phpHash0     phpForm = iota // "#0 file(line): function(…)"
	phpAt                       // "function() at file:line", of Symfony's console
	phpRaisedAt                 // "at file:line" above those
	phpOutermost                // "1. function() file:line", of Xdebug: outermost first
	phpListed                   // "1  file:line" over the function, of Laravel's console
)

func phpCallIn(line string) (phpCall, bool) {
	t := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(t, "#") {
		return phpHashCall(t)
	}
	switch {
	case strings.Contains(line, "() at "):
		if m := phpConsole.FindStringSubmatch(clip(line, 4000)); m != nil {
			return phpCall{function: m[1], path: m[2], form: phpAt}, true
		}
		fallthrough
	case strings.Contains(line, "at ") && strings.Contains(line, ".php:"):
		if m := phpConsoleAt.FindStringSubmatch(clip(line, 4000)); m != nil {
			return phpCall{path: m[1], form: phpRaisedAt}, true
		}
	case strings.Contains(line, ".php(") && startsBlank(line) && t[0] >= '0' && t[0] <= '9':
		if m := phpPlain.FindStringSubmatch(clip(t, 4000)); m != nil {
			return phpHashCall("#" + t)
		}
	case strings.Contains(line, ".php:") && startsBlank(line) && t[0] >= '0' && t[0] <= '9':
		if m := phpList.FindStringSubmatch(clip(line, 4000)); m != nil {
			n, _ := strconv.Atoi(m[1])
			return phpCall{number: n, path: m[2], form: phpListed}, true
		}
		fallthrough
	case strings.Contains(line, ". ") && strings.Contains(line, ") ") && (strings.Contains(line, ".php:") || strings.Contains(line, "{main}")):
		if m := phpXdebug.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			return phpCall{number: n, function: phpFunction(m[2] + "("), path: m[3], form: phpOutermost}, true
		}
	}
	return phpCall{}, false
}

// phpHashCall reads "#3 /a/b.php(12): Class->method(…". What follows the name is
// not looked at: an argument may have broken the line.
func phpHashCall(t string) (phpCall, bool) {
	if m := phpMain.FindStringSubmatch(t); m != nil {
		n, _ := strconv.Atoi(m[1])
		return phpCall{number: n, function: "{main}"}, true
	}
	if !strings.Contains(t, "): ") && !strings.Contains(t, "]: ") {
		return phpCall{}, false
	}
	m := phpNumbered.FindStringSubmatch(clip(t, 4000))
	if m == nil {
		return phpCall{}, false
	}
	n, err := strconv.Atoi(m[1])
	function := phpFunction(m[5])
	if err != nil || function == "" {
		return phpCall{}, false
	}
	return phpCall{number: n, function: function, path: m[2] + m[4]}, true
}

// phpFunction returns the name in front of the arguments. The name of an
// anonymous class or, since 8.4, of a closure holds a place, which may have
// parentheses and colons of its own.
func phpFunction(s string) string {
	s = strings.ReplaceAll(s, `\\`, `\`)
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "({@ ")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "{closure"):
			b.WriteString("{closure}")
			s = ""
			if end := closing(rest, 0, '{', '}'); end >= 0 {
				s = rest[end+1:]
			}
			continue
		case strings.HasPrefix(rest, "@anonymous"):
			b.WriteString("@anonymous")
			s = afterAnonymous(rest[len("@anonymous"):])
			continue
		case rest[0] == '{' || rest[0] == '@':
			b.WriteByte(rest[0])
			s = rest[1:]
			continue
		}
		break
	}
	name := strings.TrimPrefix(b.String(), `\`)
	if i := strings.LastIndex(name, `\{closure}`); i >= 0 && !strings.ContainsAny(name, ">:") {
		name = name[i+1:] // since 8.4 the namespace is part of the place
	}
	name = phpSpaceInClass.ReplaceAllString(name, "$1{closure}")
	name = phpTwig.ReplaceAllString(name, "__TwigTemplate")
	return phpContainer.ReplaceAllString(name, `Container\`)
}

// afterAnonymous passes over the place that names an anonymous class.
func afterAnonymous(s string) string {
	arrow, colons := strings.Index(s, "->"), strings.Index(s, "::")
	switch {
	case arrow < 0 && colons < 0:
		return s
	case arrow < 0 || colons >= 0 && colons < arrow:
		return s[colons:]
	}
	return s[arrow:]
}

// phpUnit is the file's name; that of a compiled template is a hash.
func phpUnit(path string) string {
	if strings.HasPrefix(path, "[internal") {
		return path
	}
	path = strings.ReplaceAll(path, `\\`, `\`)
	if i := strings.Index(path, "(") + 1; i > 0 && strings.Contains(path[i:], "eval()'d code") {
		path = path[:i-1]
	}
	return phpHash.ReplaceAllString(baseName(path), "<hash>")
}

// phpCallAt reads the call at line i, whose name may stand on the next one.
func phpCallAt(lines []string, i int) (phpCall, bool) {
	c, ok := phpCallIn(lines[i])
	if !ok || c.form != phpListed {
		return c, ok
	}
	if i+1 == len(lines) {
		return c, false
	}
	m := phpListCall.FindStringSubmatch(clip(lines[i+1], 4000))
	if m == nil {
		return c, false
	}
	c.function = phpFunction(m[1] + "(")
	return c, true
}

// phpFrameAt reads the frame at line i. Its file is where the one above it was
// called from.
func phpFrameAt(lines []string, i int) *frame {
	c, ok := phpCallAt(lines, i)
	if !ok {
		return nil
	}
	path := ""
	if i > 0 {
		if above, ok := phpCallIn(lines[i-1]); ok && above.form == c.form {
			path = above.path
		} else if j := i - 1; j > 0 && phpLabel.MatchString(clip(lines[j], 200)) {
			path = phpPlaceOf(lines[j-1])
		}
	}
	return phpFrame(c.function, path, i)
}

func phpFrame(function, path string, line int) *frame {
	unit := phpUnit(path)
	if path == "" {
		unit = phpClassFile(function)
	}
	return &frame{Frame: Frame{Function: clip(function, 200), Unit: clip(unit, 200)}, path: path, line: line}
}

// phpClassFile is the file that a class of a namespace is in by convention, for
// traces that do not say where they were raised.
func phpClassFile(function string) string {
	end := strings.Index(function, "->")
	if end < 0 {
		end = strings.Index(function, "::")
	}
	if end < 0 {
		return ""
	}
	class := function[:end]
	slash := strings.LastIndexByte(class, '\\')
	if slash < 0 || strings.Contains(class, "@") {
		return ""
	}
	return class[slash+1:] + ".php"
}
