package fingerprint

import (
	"regexp"
	"strings"
)

// javascript reads V8's stacks, as Node prints them with util.inspect.
var javascript = language{
	name:          "javascript",
	hints:         []string{"javascript", "js", "node", "nodejs", "typescript", "ts", "deno", "bun"},
	counts:        func(line string) bool { return jsFrame(line) != nil },
	frame:         func(lines []string, i int) *frame { return jsFrame(lines[i]) },
	belongs:       func(string) bool { return false },
	parse:         parseJavaScript,
	noise:         func(f frame) bool { return strings.HasPrefix(f.Unit, "node:") || f.Unit == "internal" },
	library:       jsLibrary,
	own:           func(f frame) bool { return !jsLibrary(f) },
	transparent:   jsTransparent,
	bare:          func(e *exception) bool { return lastSegment(e.typ) == "Error" && e.firstMessageLine() == "" },
	namedByLoader: jsNamedByLoader,
	generic:       set("Error", "UnhandledPromiseRejection"),
	identifier:    set("ReferenceError"),
	overflowText:  "Maximum call stack size exceeded",
	clean:         cleanJavaScript,
}

var (
	jsHeader = regexp.MustCompile(`^(\s*)(?:Uncaught |\(in promise\) |Unhandled\w* )*\[?([A-Za-z_$][\w$.]*)(?: \[(\w+)\])?(?:: (.*)|:|\s*)$`)
	// A logger's words may stand in front of the type.
	jsInLine    = regexp.MustCompile(`(?:^|[\s(\[:>|-])((?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception|Failure|Fault)|Error)(?: \[\w+\])?\)?(?:: (.*)|:?\s*)$`)
	jsBracketed = regexp.MustCompile(`^(\s*)\[([A-Za-z_$][\w$.]*)(?:: ([^\]]*))?\]\s*\{?$`)
	jsCause     = regexp.MustCompile(`^(\s*)(?:\[cause\]|cause|Caused by|caused by): (.*)$`)
	jsErrors    = regexp.MustCompile(`^(\s*)(?:\[errors\]|errors): \[$`)
	jsProperty  = regexp.MustCompile(`^(\s+)(name|message|code): ['"](.*?)['"],?$`)
	jsErrorName = regexp.MustCompile(`(?:Error|Exception|Failure|Fault|Rejection|Warning)$`)
	jsClosure   = regexp.MustCompile(`^(\w+(?:Exception|Error))Closure$`)
)

var jsLoaderFunctions = set("__w_pdfjs_require__", "__webpack_require__", "webpackUniversalModuleDefinition", "Module._compile", "_compile")

func jsLibrary(f frame) bool {
	p := withSlashes(f.path)
	return strings.Contains(p, "node_modules/") || strings.HasPrefix(p, "node:") || strings.Contains(p, "/.yarn/") || strings.Contains(p, "/.pnpm/")
}

var jsReadOfNothing = regexp.MustCompile(`Cannot (read|set) (?:property '([^']+)' of (undefined|null)|properties of (undefined|null) \((?:reading|setting) '([^']+)'\))`)

var jsRejected = regexp.MustCompile(`rejected with the reason ["'](.*?)["']?\.?$`)

// cleanJavaScript gives an access to nothing the words of one version of V8, and
// leaves of what Node says of a rejection its reason.
func cleanJavaScript(_, message string) string {
	if strings.Contains(message, "rejected with the reason") {
		if m := jsRejected.FindStringSubmatch(message); m != nil {
			message = m[1]
		}
	}
	return jsReadOfNothing.ReplaceAllString(message, "Cannot $1 property '$2$5' of $3$4")
}

// jsTransparent says that e only reports that a request failed; the cause says
// how.
func jsTransparent(e *exception) bool {
	return lastSegment(e.typ) == "TypeError" && strings.HasPrefix(e.firstMessageLine(), "fetch failed")
}

// jsNamedByLoader says that the innermost frame of a load-time stack is the
// closure of one exception class, so that classes differ by it.
func jsNamedByLoader(used []frame) bool {
	if len(used) == 0 {
		return false
	}
	m := jsClosure.FindStringSubmatch(used[0].Function)
	return m != nil && !strings.HasPrefix(m[1], "Base")
}

// jsLoaded says that a stack was taken while its module was being loaded.
func jsLoaded(frames []frame) bool {
	for i, f := range frames {
		if i == maxKeyFrames {
			break
		}
		if jsLoaderFunctions[f.Function] {
			return true
		}
	}
	return false
}

// jsOpen is an exception being read, with the indentation of its header.
type jsOpen struct {
	*exception
	indent int
	group  bool // its [errors] list is open
}

type jsParser struct {
	lines []string
	stack []jsOpen
	outer *exception
	seen  int
	count int
	done  bool // another error, printed later, has begun
}

func parseJavaScript(lines []string) parsed {
	p := jsParser{lines: lines}
	for i, line := range lines {
		p.line(i, line)
	}
	return parsed{outer: p.outer}
}

func (p *jsParser) line(i int, line string) {
	if p.done {
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if m := jsCause.FindStringSubmatch(line); m != nil && p.outer != nil {
		p.open(i, m[2], indent, true)
		p.seen = i + 1
		return
	}
	if m := jsErrors.FindStringSubmatch(line); m != nil {
		if p.outer == nil {
			p.bracketedAbove(i)
		}
		if at := p.holder(indent); at >= 0 {
			p.stack = p.stack[:at+1]
			p.stack[at].group = true
		}
		p.seen = i + 1
		return
	}
	if m := jsProperty.FindStringSubmatch(line); m != nil {
		p.property(indent, m[2], m[3])
		return
	}
	f := jsFrame(line)
	if f == nil {
		return
	}
	cur := p.current(i, indent)
	p.seen = i + 1
	if cur == nil {
		return
	}
	f.line = i
	if cur.frames = append(cur.frames, *f); len(cur.frames) > maxFrames {
		cur.frames = cur.frames[:maxFrames]
	}
	cur.loaded = jsLoaded(cur.frames)
}

// holder returns the index of the innermost open exception whose header is less
// indented than indent.
func (p *jsParser) holder(indent int) int {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if p.stack[i].indent < indent {
			return i
		}
	}
	return -1
}

// current returns the exception that a frame at line i belongs to, opening the
// one whose header stands above it if that is new.
func (p *jsParser) current(i, indent int) *exception {
	if n := len(p.stack); n > 0 && len(p.stack[n-1].frames) == 0 && !p.stack[n-1].group {
		p.continueMessage(p.stack[n-1].exception, i)
		return p.stack[n-1].exception
	}
	header, text := p.headerAbove(i)
	if header < 0 {
		if p.outer == nil {
			p.outer = &exception{raised: -1}
			p.stack = append(p.stack, jsOpen{exception: p.outer, indent: -1})
		}
		if n := len(p.stack); n > 0 {
			return p.stack[n-1].exception
		}
		return nil
	}
	at := len(p.lines[header]) - len(strings.TrimLeft(p.lines[header], " \t"))
	// What an error holds is indented by two at least, a logger's mark by one.
	if holder := p.holder(at); p.outer != nil && (holder < 0 || at < p.stack[holder].indent+2) {
		p.done = true
		return nil
	}
	e := p.open(header, text, at, false)
	if e != nil {
		p.continueMessage(e, i)
	}
	return e
}

// open starts an exception from its header text and hangs it on its holder.
func (p *jsParser) open(i int, text string, indent int, cause bool) *exception {
	if p.count++; p.count > maxExceptions {
		return nil
	}
	e := &exception{raised: i}
	e.typ, e.message = jsHeaderOf(text)
	if p.outer == nil {
		p.outer = e
	} else {
		at := p.holder(indent)
		if cause && at < 0 {
			at = len(p.stack) - 1 // "Caused by:" at the margin
		}
		if at < 0 {
			return nil
		}
		holder := p.stack[at]
		p.stack = p.stack[:at+1]
		switch {
		case holder.group && !cause:
			holder.leaves = append(holder.leaves, e)
		case holder.cause == nil:
			holder.cause = e
		default:
			return nil
		}
	}
	p.stack = append(p.stack, jsOpen{exception: e, indent: indent})
	return e
}

func jsHeaderOf(text string) (typ string, message []string) {
	text = strings.TrimSuffix(strings.TrimRight(text, " "), " {")
	if m := jsBracketed.FindStringSubmatch(text); m != nil {
		return m[2], []string{m[3]}
	}
	if m := jsHeader.FindStringSubmatch(text); m != nil {
		if m[2] == "error" {
			m[2] = "Error" // as Bun prints it, and loggers their level
		}
		return m[2], []string{m[4]}
	}
	return "", []string{text}
}

// headerAbove returns the nearest line above i, not yet read, that names an
// error, and the text from that name on; failing that one that names it behind a
// logger's words; failing that the nearest that has the form of a header; -1 if
// there is none.
func (p *jsParser) headerAbove(i int) (line int, text string) {
	from := max(p.seen, i-200)
	fallback, within, withinText := -1, -1, ""
	for j := i - 1; j >= from; j-- {
		l := p.lines[j]
		m := jsHeader.FindStringSubmatch(l)
		if m != nil && jsErrorName.MatchString(m[2]) && m[2] != "Warning" {
			return j, strings.TrimSpace(l)
		}
		if within < 0 && len(l) < maxTemplateInput {
			if m := jsInLine.FindStringSubmatch(l); m != nil {
				within, withinText = j, m[1]+": "+m[2]
			}
		}
		if m != nil && fallback < 0 && p.outer == nil && strings.Contains(l, ":") {
			fallback = j
		}
	}
	switch {
	case within >= 0 && (p.outer == nil || fallback < 0):
		return within, withinText
	case fallback >= 0:
		return fallback, strings.TrimSpace(p.lines[fallback])
	}
	return -1, ""
}

func (p *jsParser) bracketedAbove(i int) {
	for j := i - 1; j >= max(p.seen, i-5); j-- {
		if m := jsBracketed.FindStringSubmatch(p.lines[j]); m != nil {
			p.open(j, strings.TrimSpace(p.lines[j]), len(m[1]), false)
			return
		}
	}
}

func (p *jsParser) continueMessage(e *exception, frameAt int) {
	for _, l := range p.lines[min(max(e.raised+1, p.seen), frameAt):frameAt] {
		if len(e.message) < maxLines {
			e.message = append(e.message, l)
		}
	}
}

// property reads what inspect prints after the frames. A bare Error with a name
// of its own is of that type: the class set it after the stack was taken.
func (p *jsParser) property(indent int, name, value string) {
	at := p.holder(indent)
	if at < 0 || indent > p.stack[at].indent+2 {
		return
	}
	e := p.stack[at]
	switch name {
	case "name":
		if lastSegment(e.typ) == "Error" && value != "" && len(e.frames) > 0 {
			e.typ = value
		}
	case "message":
		if e.firstMessageLine() == "" && len(e.frames) > 0 {
			e.message = []string{value}
		}
	}
}
