package fingerprint

import (
	"regexp"
	"strings"
)

var python = language{
	name:    "python",
	hints:   []string{"python", "py", "python3", "cpython"},
	counts:  func(line string) bool { return pythonFrame(line) != nil },
	frame:   func(lines []string, i int) *frame { return pythonFrame(lines[i]) },
	belongs: pythonBelongs,
	parse:   parsePython,
	noise:   pythonNoise,
	// Since 3.12 a comprehension is part of its function, a generator is not.
	inlined:     func(f frame) bool { return pyComprehensions[f.Function] },
	library:     pythonLibrary,
	own:         func(f frame) bool { return !pythonLibrary(f) },
	transparent: pythonTransparent,
	generic:     set("Exception", "BaseException", "RuntimeError", "AssertionError", "Fatal Python error"),
	identifier:  set("KeyError", "ModuleNotFoundError", "ImportError", "NameError", "UnboundLocalError", "AttributeError"),
	// The wording of a syntax error changes with each interpreter.
	constant:      set("SyntaxError", "IndentationError", "TabError"),
	stackOverflow: set("RecursionError"),
	overflowText:  "maximum recursion depth exceeded",
	clean:         cleanPython,
}

var (
	pyHeader       = regexp.MustCompile(`Traceback \(most recent call last\):?\s*$|^Traceback:\s*$`)
	pyFile         = regexp.MustCompile(`^\s*File "(.+?)", line \d+(?:,? in (.+?))?\s*$`)
	pyDjango       = regexp.MustCompile(`^File "(.+?)" in (\S+)\s*$`)
	pyNotebook     = regexp.MustCompile(`^(?:File ((?:[A-Za-z]:)?[^:"]+\.pyx?)|((?:~|/|[A-Za-z]:[\\/])[^:"]+\.pyx?|[^\s:"]+\.pyx?))(?::\d+)?,? in ([\w<>.]+)\s*\(.*\)?$`)
	pyCell         = regexp.MustCompile(`^(?:<ipython-input-\d+-[0-9a-f]+>|(?:Cell |Input )?In ?\[\d+\]|Cell In\[\d+\])(?:,? in (?:<cell line: \d+>|([\w<>.]+))(?:\s*\(.*)?$|, line \d+)`)
	pyRepeated     = regexp.MustCompile(`^\s*\[Previous line repeated (\d{1,9}) more times?\]`)
	pyException    = regexp.MustCompile(`^([A-Za-z_]\w*(?:\.(?:<locals>\.)?[A-Za-z_]\w*)*)(?::(?: (.*))?|\s*)$`)
	pyNamesError   = regexp.MustCompile(`^(?:[A-Za-z_]\w*\.)+\w+(?::|$)|^[A-Za-z_]\w*(?:Error|Exception|Warning|Exit|Interrupt|Failure|Fault|Group)(?::|$)|^[A-Z]\w*: |^Exception Type: `)
	pyDjangoType   = regexp.MustCompile(`^Exception Type: (\S+)`)
	pyDjangoText   = regexp.MustCompile(`^Exception Value: ?(.*)`)
	pyMargin       = regexp.MustCompile(`^( *)(?:\||(\+ )Exception Group Traceback)`)
	pyChild        = regexp.MustCompile(`^( *)\+(-\+)?-{4,} (\d+|\.\.\.) -{4,}$`)
	pyLastChild    = regexp.MustCompile(`^( *)\+-{8,}$`)
	pyLibraryPath  = regexp.MustCompile(`(?i)/(?:site|dist)-packages/|/lib(?:64)?/(?:python|pypy)\d|/python[\d.]*/lib/|^<frozen |\.zip/`)
	pyFrozen       = regexp.MustCompile(`^<frozen ([\w.]+)>$`)
	pyExtension    = regexp.MustCompile(`^(.+?)\.(?:cpython-\w+|cp\d+|abi3|pypy\w+)[\w-]*\.(so|pyd)$`)
	pyDjangoSource = regexp.MustCompile(`^ ?\d+\. `)
)

const (
	pyDirectCause = "The above exception was the direct cause of the following exception:"
	pyContext     = "During handling of the above exception, another exception occurred:"
)

// pythonFrame reads one frame line; nil if it is none.
func pythonFrame(line string) *frame {
	if i := strings.IndexByte(line, '|'); i >= 0 && strings.Trim(line[:i], " ") == "" {
		line = strings.TrimLeft(line[i+1:], "|")
	}
	if strings.Contains(line, "File \"") {
		if m := pyFile.FindStringSubmatch(line); m != nil {
			return newPythonFrame(m[1], m[2])
		}
		if m := pyDjango.FindStringSubmatch(line); m != nil {
			return newPythonFrame(m[1], m[2])
		}
		return nil
	}
	if strings.Contains(line, ".py") && strings.Contains(line, " in ") {
		if m := pyNotebook.FindStringSubmatch(line); m != nil {
			// Notebooks print the class too, tracebacks do not.
			return newPythonFrame(m[1]+m[2], m[3][strings.LastIndexByte(m[3], '.')+1:])
		}
	}
	if strings.HasPrefix(line, "<ipython") || strings.HasPrefix(line, "Cell ") || strings.HasPrefix(line, "In") {
		if m := pyCell.FindStringSubmatch(line); m != nil {
			f := newPythonFrame("<ipython-input>", m[1])
			if f.Function == "" {
				f.Function = "<module>"
			}
			return f
		}
	}
	return nil
}

// pythonBelongs says that a line is a source line, a marker or an elision.
func pythonBelongs(line string) bool {
	line = strings.TrimLeft(line, "|")
	if i := strings.Index(line, "|  "); i >= 0 && strings.Trim(line[:i], " ") == "" {
		line = line[i+1:]
	}
	return strings.HasPrefix(line, "    ") || pyRepeated.MatchString(line) || pyDjangoSource.MatchString(line)
}

func newPythonFrame(path, function string) *frame {
	function = strings.TrimSpace(function)
	if i := strings.LastIndex(function, "<locals>."); i >= 0 {
		function = function[i+len("<locals>."):]
	}
	if name, ok := strings.CutPrefix(function, "**"); ok && strings.HasSuffix(name, "**") {
		function = "__" + strings.TrimSuffix(name, "**") + "__" // a page took the underscores for bold type
	}
	return &frame{Frame: Frame{Function: clip(function, 200), Unit: clip(pythonUnit(path), 200)}, path: path}
}

func pythonUnit(path string) string {
	if m := pyFrozen.FindStringSubmatch(path); m != nil {
		path = strings.ReplaceAll(m[1], ".", "/") + ".py"
	}
	unit := baseName(path)
	if strings.HasSuffix(unit, ".pyc") || strings.HasSuffix(unit, ".pyo") {
		unit = unit[:len(unit)-1]
	}
	if m := pyExtension.FindStringSubmatch(unit); m != nil {
		unit = m[1] + "." + m[2]
	}
	return unit
}

func pythonLibrary(f frame) bool {
	return pyLibraryPath.MatchString(withSlashes(f.path))
}

var pyComprehensions = set("<listcomp>", "<dictcomp>", "<setcomp>")

var pythonMachinery = set("__get_result@_base.py", "result@_base.py", "get@pool.py", "map@pool.py", "reraise@six.py")

func pythonNoise(f frame) bool {
	return pythonMachinery[f.String()] || strings.HasPrefix(f.Function, "_bootstrap") ||
		strings.HasPrefix(f.Unit, "_bootstrap") && pythonLibrary(f)
}

// pythonTransparent says that e is the second half of an exception that crossed
// a process boundary: the parent raises it again, and the text of the child's
// traceback, its cause, has the frames that count.
func pythonTransparent(e *exception) bool {
	return e.cause.layered && lastSegment(e.typ) == lastSegment(e.cause.typ)
}

var (
	// What an interpreter looked for and did not find, whatever words its
	// version has for that.
	pyMissing = map[string]*regexp.Regexp{
		"AttributeError":    regexp.MustCompile(`(has no attribute '[^']+')`),
		"NameError":         regexp.MustCompile(`(name '[^']+' is not defined)`),
		"ImportError":       regexp.MustCompile(`(cannot import name '[^']+')`),
		"UnboundLocalError": regexp.MustCompile(`(local variable '[^']+')`),
	}
	// A KeyError prints its key quoted. Where that is a sentence that names what
	// was missing, the sentence counts.
	pyKeySentence = regexp.MustCompile(`^"(\w+ [^"]*'[^'"]+'[^"]*)"$`)
)

// cleanPython keeps of such a message what was looked for, not on what: the
// receiver is whatever value the document led to.
func cleanPython(typ, message string) string {
	if missing := pyMissing[typ]; missing != nil {
		if m := missing.FindStringSubmatch(message); m != nil {
			return m[1]
		}
	}
	if m := pyKeySentence.FindStringSubmatch(message); m != nil && typ == "KeyError" {
		return m[1]
	}
	return message
}
