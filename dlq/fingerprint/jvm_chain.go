package fingerprint

import (
	"regexp"
	"strings"
)

var (
	jvmLink      = regexp.MustCompile(`^(\s*)(Caused by|Suppressed|Wrapped by): (.*)$`)
	jvmHeader    = regexp.MustCompile(`^\s*(?:<#[0-9a-f]+> )?(?:Exception in thread "[^"]*" )?([\w$]+(?:\.[\w$]+)*)(?:[:;](?: (.*))?|\s*)$`)
	jvmInLine    = regexp.MustCompile(`(?:^|[\s:(–-])([a-zA-Z_][\w$]*(?:\.[\w$]+)+(?:Exception|Error|Throwable|Failure|Fault|Interrupt))(?:[:;] ?(.*)|\s*)$`)
	jvmMore      = regexp.MustCompile(`^\s*\.\.\. (?:\d+ (?:more|common frames omitted|frames? (?:truncated|excluded|omitted)|lines? (?:matching|omitted))|suppressed \d+ lines?)`)
	jvmThrowable = regexp.MustCompile(`(?:Exception|Error|Throwable|Failure|Fault)$`)
)

func parseJVM(lines []string) parsed {
	p := jvmParser{lines: lines}
	for i, line := range lines {
		p.line(i, line)
	}
	if len(p.chain) == 0 {
		return parsed{}
	}
	p.withoutCopies()
	p.withTask()
	for _, e := range p.chain {
		e.frames = capped(e.frames)
	}
	if p.rootFirst {
		for i := len(p.chain) - 1; i > 0; i-- {
			p.chain[i].cause = p.chain[i-1]
		}
		lendFrames(p.chain[len(p.chain)-1])
		return parsed{outer: p.chain[len(p.chain)-1]}
	}
	for i := 0; i+1 < len(p.chain); i++ {
		p.chain[i].cause = p.chain[i+1]
	}
	lendFrames(p.chain[0])
	return parsed{outer: p.chain[0]}
}

type jvmParser struct {
	lines      []string
	chain      []*exception
	seen       int  // lines before this one belong to an earlier exception
	suppressed int  // indentation of a suppressed block being passed over; 0 if none is
	rootFirst  bool // logback's rootFirst: "Wrapped by" follows what it wraps
	copies     map[*exception]bool
	task       *exception // what Spark's driver printed of the task that failed
	done       bool
}

// coroutineBoundary stands between the frames of an exception and those of the
// coroutine that waited for it.
func coroutineBoundary(line string) bool {
	return strings.Contains(line, "_COROUTINE._BOUNDARY") || strings.Contains(line, "(Coroutine boundary)")
}

// driver ends the frames of a task: Spark prints the whole exception of the task
// as the message of the driver's, and then the driver's own frames.
func (p *jvmParser) driver(i int) {
	e := p.chain[len(p.chain)-1]
	p.seen = i + 1
	if p.task != nil || len(p.chain) > 1 || len(e.frames) == 0 {
		return
	}
	m := jvmInLine.FindStringSubmatch(clip(e.firstMessageLine(), 16<<10))
	if m == nil || lastSegment(m[1]) == lastSegment(e.typ) {
		return
	}
	p.task = &exception{typ: m[1], message: []string{m[2]}, frames: e.frames, raised: e.raised}
	e.frames = nil
}

// withTask makes the task's exception the cause of the driver's, unless that was
// printed as well.
func (p *jvmParser) withTask() {
	if p.task != nil && len(p.chain) == 1 {
		p.chain = append(p.chain, p.task)
	}
}

// withoutCopies drops the exceptions that kotlinx.coroutines made of others only
// to show who waited: the original is the cause, with the same type and message.
func (p *jvmParser) withoutCopies() {
	kept := p.chain[:0:0]
	for i, e := range p.chain {
		if p.copies[e] && i+1 < len(p.chain) && e.sameAs(p.chain[i+1]) {
			continue
		}
		kept = append(kept, e)
	}
	p.chain = kept
}

func (p *jvmParser) line(i int, line string) {
	if p.done {
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if p.suppressed > 0 {
		if indent >= p.suppressed || strings.TrimSpace(line) == "" {
			return
		}
		p.suppressed = 0
	}
	if m := jvmLinkIn(line); m != nil {
		p.link(i, m[2], m[3], indent)
		return
	}
	if strings.Contains(line, "... ") && jvmMore.MatchString(line) {
		p.seen = i + 1
		return
	}
	if len(p.chain) > 0 && strings.HasPrefix(line, "Driver stacktrace:") {
		p.driver(i)
		return
	}
	if len(p.chain) > 0 && coroutineBoundary(line) {
		if p.copies == nil {
			p.copies = map[*exception]bool{}
		}
		p.copies[p.chain[len(p.chain)-1]] = true
		p.seen = i + 1
		return
	}
	f := jvmFrame(line)
	if f == nil {
		return
	}
	if len(p.chain) == 0 || p.startsAnother(i) {
		if len(p.chain) > 0 {
			// A second, unrelated exception: the first is the one reported.
			p.done = true
			return
		}
		p.chain = append(p.chain, p.headerAbove(i))
	}
	cur := p.chain[len(p.chain)-1]
	if len(cur.frames) == 0 {
		p.continueMessage(cur, i)
	}
	p.seen = i + 1
	if f.Function == "" {
		return
	}
	f.line = i
	cur.frames = append(cur.frames, *f)
}

// jvmLinkIn matches a line that links an exception with the one before it.
func jvmLinkIn(line string) []string {
	if !strings.Contains(line, "Caused by: ") && !strings.Contains(line, "Suppressed: ") && !strings.Contains(line, "Wrapped by: ") {
		return nil
	}
	return jvmLink.FindStringSubmatch(line)
}

// startsAnother says whether an exception header stands between the last frame
// read and line i.
func (p *jvmParser) startsAnother(i int) bool {
	cur := p.chain[len(p.chain)-1]
	if len(cur.frames) == 0 {
		return false
	}
	for _, l := range p.lines[p.seen:i] {
		if typ, _, ok := jvmHeaderOf(l); ok && jvmThrowable.MatchString(typ) {
			return true
		}
	}
	return false
}

func (p *jvmParser) link(i int, kind, rest string, indent int) {
	if kind == "Suppressed" {
		// Its frames and its own causes are printed at this indentation or
		// deeper; what follows with less belongs to the exception above it.
		p.suppressed = max(indent, 1)
		return
	}
	p.seen = i + 1
	if strings.HasPrefix(rest, "[CIRCULAR REFERENCE") || len(p.chain) >= maxExceptions {
		return
	}
	if kind == "Wrapped by" {
		p.rootFirst = true
	}
	e := &exception{raised: i}
	if typ, message, ok := jvmHeaderOf(rest); ok {
		e.typ, e.message = typ, []string{message}
	} else {
		e.message = []string{rest}
	}
	p.chain = append(p.chain, e)
}

// continueMessage adds the lines between a header and its first frame.
func (p *jvmParser) continueMessage(e *exception, frameAt int) {
	if e.raised < 0 {
		return
	}
	for _, l := range p.lines[min(e.raised+1, frameAt):frameAt] {
		if len(e.message) < maxLines {
			e.message = append(e.message, strings.TrimSpace(l))
		}
	}
}

func jvmHeaderOf(line string) (typ, message string, ok bool) {
	m := jvmHeader.FindStringSubmatch(line)
	if m == nil || !strings.Contains(m[1], ".") && !jvmThrowable.MatchString(m[1]) {
		return "", "", false
	}
	if jvmGeneric[m[1]] {
		// The runtime prints the package of these: what has none is a program's
		// own introduction.
		if typ, message, ok := jvmHeaderOf(m[2]); ok && strings.Contains(typ, ".") && jvmThrowable.MatchString(typ) {
			return typ, message, true
		}
	}
	return m[1], m[2], true
}

// headerAbove finds the line that names the exception whose first frame is at i.
// Messages have many lines and loggers print in front, so it prefers the
// earliest line that is a throwable's header by itself, then the nearest that
// is any qualified name, then one with a throwable somewhere in it.
func (p *jvmParser) headerAbove(i int) *exception {
	from := max(p.seen, i-60)
	above := p.lines[from:i]
	for j, l := range above {
		// Py4J prints its own header, then the JVM's after a colon.
		if rest, ok := strings.CutPrefix(l, ": "); ok {
			if typ, message, ok := jvmHeaderOf(rest); ok {
				return &exception{typ: typ, message: []string{message}, raised: from + j}
			}
		}
	}
	for j, l := range above {
		if typ, message, ok := jvmHeaderOf(l); ok && jvmThrowable.MatchString(typ) {
			return &exception{typ: typ, message: []string{message}, raised: from + j}
		}
	}
	for j := len(above) - 1; j >= 0; j-- {
		if m := jvmInLine.FindStringSubmatch(above[j]); m != nil {
			return &exception{typ: m[1], message: []string{m[2]}, raised: from + j}
		}
	}
	for j := len(above) - 1; j >= 0; j-- {
		if typ, message, ok := jvmHeaderOf(above[j]); ok {
			return &exception{typ: typ, message: []string{message}, raised: from + j}
		}
	}
	return &exception{raised: -1}
}
