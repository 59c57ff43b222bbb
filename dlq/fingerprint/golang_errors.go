package fingerprint

import (
	"regexp"
	"slices"
	"strings"
)

// goForms are the one-line frames of packages that print stacks in a way of
// their own, with the groups that hold the file and the function.
var goForms = []struct {
	shape          *regexp.Regexp
	file, function int
}{
	{regexp.MustCompile(`^\s*(\S+\.go) in (\S+) at line \d+$`), 1, 2},
	{regexp.MustCompile(`^\s*(\S+\.go):\d+:? ([\p{L}_][^\s()]*(?:\(\*?\w+\)[^\s()]*)?)\(\)$`), 1, 2},
	{regexp.MustCompile(`^\s+([\p{L}_][^\s:]*\.[^\s:]+):((?:/|[A-Za-z]:)\S*\.go):\d+$`), 2, 1},
	{regexp.MustCompile(`^\s*--- at (\S+\.go):\d+ \(([^\s()]+)\) ---$`), 1, 2},
}

// goOneLine reads a frame that takes one line; nil if it is none.
func goOneLine(line string) *frame {
	if !strings.Contains(line, ".go") {
		return nil
	}
	for _, form := range goForms {
		if m := form.shape.FindStringSubmatch(line); m != nil {
			return goFrameOf(m[form.function], m[form.file])
		}
	}
	return nil
}

// goFrameOf makes a frame of a function that may come without its package: then
// its file stands for it.
func goFrameOf(symbol, file string) *frame {
	f := goFrame(symbol)
	f.path = file
	if strings.Contains(file, "/src/runtime/") && strings.Contains(strings.ToLower(symbol), "panic") {
		// The machinery of a panic is told by its package.
		f.Function, f.Unit = clip("runtime."+symbol, 300), "runtime"
		return &f
	}
	if f.Unit == "" || strings.HasPrefix(symbol, "(") || !strings.Contains(symbol, ".") || strings.IndexByte(symbol, '.') < strings.IndexByte(symbol, '(') {
		f.Function, f.Unit = clip(symbol, 300), clip(baseName(file), 300)
	}
	return &f
}

var (
	goAddress   = regexp.MustCompile(`^(\S+\.(?:go|s)):\d+ \(0x[0-9a-f]+\)$`)
	goSourced   = regexp.MustCompile(`^\t(\S+): `)
	goNamedType = regexp.MustCompile(`^\*([\w./]+\.\w+) (.+)$`)
)

// goAddressed reads the pair "file:line (address)", "function: source line".
func goAddressed(place, below string) *frame {
	m := goAddress.FindStringSubmatch(place)
	if m == nil {
		return nil
	}
	name := goSourced.FindStringSubmatch(below)
	if name == nil {
		return nil
	}
	return goFrameOf(name[1], m[1])
}

// goMargin takes off the margin in which a layered error prints a stack.
func goMargin(line string) string {
	if rest, ok := strings.CutPrefix(line, "  | "); ok {
		return rest
	}
	return line
}

var goLayer = regexp.MustCompile(`^(?:Wraps: )?\(\d+\) (.+)$`)

// goLayers reads an error that lists its layers by number, outermost first: the
// last stack is where it began and the last text what was said there. It returns
// nil for any other text.
func goLayers(lines []string) *exception {
	start := 0
	for start < len(lines) && !strings.HasPrefix(lines[start], "(1) ") {
		start++
	}
	if start == len(lines) {
		return nil
	}
	outer := &exception{typ: goErrorType, raised: -1}
	if start > 0 {
		outer.raised, outer.message = start-1, []string{lines[start-1]}
	}
	said, last := "", outer
	for i := start; i < len(lines); {
		if m := goLayer.FindStringSubmatch(lines[i]); m != nil && m[1] != "attached stack trace" {
			said = m[1]
		}
		frames, next := goStack(lines, i)
		if len(frames) == 0 {
			i++
			continue
		}
		if outer.frames != nil {
			last.cause = &exception{typ: goErrorType, raised: -1}
			last = last.cause
		}
		last.frames, i = frames, next
	}
	if last != outer {
		last.message = []string{said}
	}
	if outer.frames == nil {
		return nil
	}
	return outer
}

// outermostFirst says that a stack was printed from main inwards.
func outermostFirst(frames []frame) bool {
	starts := func(f frame) bool {
		return f.Function == "main.main" || f.Unit == "runtime" && !strings.Contains(strings.ToLower(f.Function), "panic")
	}
	n := len(frames)
	return n > 1 && starts(frames[0]) && !starts(frames[n-1])
}

// goErrorChain reads messages and stacks in turn, innermost first, as %+v of a
// wrapped error prints them. A sentinel made when its package was initialised
// carries that stack: the next one is where it was returned.
func goErrorChain(lines []string) *exception {
	if e := goLayers(lines); e != nil {
		return e
	}
	var chain []*exception
	var pending []string
	pendingAt := -1
	for i := 0; i < len(lines) && len(chain) < maxExceptions; {
		if one := goOneLine(lines[i]); one != nil {
			f := *one
			f.line = i
			if n := len(chain); n > 0 && pending == nil {
				chain[n-1].frames = append(chain[n-1].frames, f)
			} else {
				chain = append(chain, &exception{typ: goErrorType, message: pending, raised: pendingAt, frames: []frame{f}, layered: true})
				pending, pendingAt = nil, -1
			}
			i++
			continue
		}
		frames, next := goStack(lines, i)
		if len(frames) == 0 {
			if s := strings.TrimSpace(lines[i]); s != "" && len(pending) < maxLines {
				if pendingAt < 0 {
					pendingAt = i
				}
				pending = append(pending, s)
			}
			i++
			continue
		}
		chain = append(chain, &exception{typ: goErrorType, message: pending, raised: pendingAt, frames: frames, layered: true})
		pending, pendingAt = nil, -1
		i = next
	}
	if len(chain) == 0 {
		return nil
	}
	if first := chain[0]; first.raised >= 0 {
		n := afterLog(first.message)
		first.message, first.raised = first.message[n:], first.raised+n
	}
	for _, e := range chain {
		goNameAndOrder(e)
	}
	if goCausedBy(chain) {
		slices.Reverse(chain)
	}
	root := 0
	for root+1 < len(chain) && goInit.MatchString(chain[root].frames[0].Function) {
		chain[root+1].message = append(append([]string{}, chain[root].message...), chain[root+1].message...)
		root++
	}
	chain = chain[root:]
	if goInit.MatchString(chain[0].frames[0].Function) {
		// Only the sentinel has a stack. What was said when it was passed on is
		// then all there is to tell one return of it from another.
		chain[0].message = append(chain[0].message, pending...)
	}
	for i := len(chain) - 1; i > 0; i-- {
		chain[i].cause = chain[i-1]
	}
	return chain[len(chain)-1]
}

var goLogged = regexp.MustCompile(`^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d`)

// afterLog returns where a message begins behind what had been logged before: a
// line that begins with the time is none of it, unless it is the last.
func afterLog(message []string) int {
	for n := len(message) - 2; n >= 0; n-- {
		if goLogged.MatchString(message[n]) {
			return n + 1
		}
	}
	return 0
}

// goNameAndOrder settles what the forms differ in: whether the message starts
// with the error's type, and from which end the stack was printed.
func goNameAndOrder(e *exception) {
	if outermostFirst(e.frames) {
		slices.Reverse(e.frames)
	}
	// A stack of nothing but the panic is left as it is: every layer has a frame.
	if frames := afterPanic(e.frames); len(frames) > 0 && len(frames) < len(e.frames) && panicked(e.frames) {
		e.typ, e.frames = "panic", frames
	}
	if len(e.message) == 0 {
		return
	}
	if m := goNamedType.FindStringSubmatch(e.message[0]); m != nil {
		if typ := lastSegment(m[1]); !goGeneric[typ] {
			e.typ = typ
		}
		e.message[0] = m[2]
	}
}

// panicked says that a stack passes through the runtime's panic.
func panicked(frames []frame) bool {
	return slices.ContainsFunc(frames, func(f frame) bool { return f.Function == "runtime.gopanic" || f.Function == "panic" })
}

// goCausedBy says that the layers were printed from the outermost inwards, each
// announced as the cause of the one before, and takes the announcement off.
func goCausedBy(chain []*exception) bool {
	announced := false
	for _, e := range chain {
		if len(e.message) > 0 {
			rest, ok := strings.CutPrefix(e.message[0], "Caused by: ")
			e.message[0] = rest
			announced = announced || ok
		}
	}
	return announced
}
