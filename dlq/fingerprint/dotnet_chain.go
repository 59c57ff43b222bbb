package fingerprint

import (
	"regexp"
	"strings"
)

var (
	dotnetInner    = regexp.MustCompile(`^---> \([^()]*#\d+\) (.*)$`)
	dotnetLabelled = regexp.MustCompile(`(?i)^[-*=>\s]*inner ?exception[^:]{0,20}:\s*(.+)$`)
	dotnetNumbered = regexp.MustCompile(`^Inner Exception \d+:$`)
	dotnetRepeats  = regexp.MustCompile(`^Repeat(?:ed)? \d+ times:$`)
)

// dotnetOpen is an exception whose text has begun and not ended.
type dotnetOpen struct {
	*exception
	member bool // of an AggregateException's list
}

type dotnetParser struct {
	lines     []string
	outer     *exception
	open      []dotnetOpen
	beyond    int // exceptions nested deeper than are kept
	count     int
	inMessage bool
	bracketed bool // ASP.NET's error page, which prints the innermost exception first
	repeat    int  // where a block of repeated frames began; -1 if none is open
	done      bool // another exception, printed later, has begun
}

func parseDotnet(lines []string) parsed {
	p := dotnetParser{lines: lines, repeat: -1}
	for i, line := range lines {
		if p.done {
			break
		}
		p.line(i, line)
	}
	settleMembers(p.outer, 0)
	lendFrames(p.outer)
	return parsed{outer: p.outer}
}

// settleMembers decides for each AggregateException between its two ways to
// print what it holds: the chain has the first only, the list at the end has all.
func settleMembers(e *exception, depth int) {
	for ; e != nil && depth < 2*maxExceptions; e, depth = e.cause, depth+1 {
		switch {
		case len(e.leaves) == 1 && e.cause == nil:
			e.cause, e.leaves = e.leaves[0], nil
		case len(e.leaves) == 1:
			e.leaves = nil
		case len(e.leaves) > 1:
			e.cause = nil
			for _, l := range e.leaves {
				settleMembers(l, depth+1)
				lendFrames(l)
			}
		}
	}
}

func (p *dotnetParser) line(i int, line string) {
	t := strings.TrimSpace(line)
	if t == "" {
		return
	}
	switch f := dotnetFrame(line); {
	case f != nil:
		p.frame(i, f)
	case strings.HasPrefix(t, "--->"):
		p.arrow(i, t)
	case dotnetSeparates(t):
		p.separator(i, line)
	case p.outer != nil:
		p.text(i, t)
	case strings.HasPrefix(t, "Stack overflow."):
		p.push(i, &exception{message: []string{"Stack overflow."}, raised: i}, false)
	}
	p.closeMembers(t)
}

// closeMembers ends a member of a list for each "<---" at the end of a line.
func (p *dotnetParser) closeMembers(t string) {
	for strings.HasSuffix(t, "<---") {
		t = strings.TrimSpace(strings.TrimSuffix(t, "<---"))
		for n := len(p.open); n > 1; n = len(p.open) {
			top := p.open[n-1]
			p.open = p.open[:n-1]
			if top.member {
				break
			}
		}
		p.beyond, p.inMessage = 0, false
	}
}

func (p *dotnetParser) top() *exception {
	if len(p.open) == 0 {
		return nil
	}
	return p.open[len(p.open)-1].exception
}

// push opens an exception inside the one that is open. Those nested too deep are
// only counted, so that each separator still ends the right one.
func (p *dotnetParser) push(i int, e *exception, member bool) {
	if p.count++; p.count > maxExceptions {
		p.beyond++
		return
	}
	holder := p.top()
	switch {
	case holder == nil:
		p.outer = e
	case member:
		holder.leaves = append(holder.leaves, e)
	case holder.cause == nil:
		holder.cause = e
	default:
		p.beyond++
		return
	}
	p.open = append(p.open, dotnetOpen{e, member})
	p.inMessage = true
}

func (p *dotnetParser) frame(i int, f *frame) {
	if p.outer == nil {
		p.begin(i)
	}
	p.inMessage = false
	e := p.top()
	if p.beyond > 0 || len(e.frames) >= maxFrames {
		return
	}
	f.line = i
	e.frames = append(e.frames, *f)
}

// arrow reads a line that begins with "--->": an inner exception of the chain,
// or a member of the list that ends an AggregateException's text.
func (p *dotnetParser) arrow(i int, t string) {
	if p.outer == nil {
		p.begin(i)
	}
	if m := dotnetInner.FindStringSubmatch(t); m != nil {
		p.header(i, m[1], true)
		return
	}
	p.header(i, strings.TrimSpace(strings.TrimPrefix(t, "--->")), false)
}

// header opens the exception that text names, and those that follow on the line.
func (p *dotnetParser) header(i int, text string, member bool) {
	text = strings.TrimSuffix(text, "<---")
	first, rest := cutArrow(text)
	e := &exception{raised: i}
	if typ, message, ok := dotnetHeaderOf(first); ok {
		e.typ, e.message = typ, []string{message}
	} else {
		e.message = []string{first}
	}
	p.push(i, e, member)
	for n := 0; rest != "" && n < maxExceptions; n++ {
		first, rest = cutArrow(rest)
		typ, message, _ := dotnetHeaderOf(first)
		p.push(i, &exception{typ: typ, message: []string{message}, raised: i}, false)
	}
}

// separator ends the inner exception whose frames it follows. The other kind
// only says that the exception was thrown again: it stands at the margin, while
// the end of an inner exception is indented like the frames.
func (p *dotnetParser) separator(i int, line string) {
	if p.repeatEnds(i, line) || len(p.open) == 0 {
		return
	}
	p.inMessage = false
	top := p.open[len(p.open)-1]
	if p.beyond == 0 && (len(p.open) == 1 || top.member) {
		return
	}
	if !p.endsInner(i, line) {
		return
	}
	if p.beyond > 0 {
		p.beyond--
		return
	}
	p.open = p.open[:len(p.open)-1]
}

func (p *dotnetParser) endsInner(i int, line string) bool {
	switch {
	case strings.Contains(line, "inner exception"):
		return true
	case strings.Contains(line, "previous location"):
		return false
	}
	if e := p.top(); len(e.frames) > 0 && !startsBlank(p.lines[e.frames[0].line]) {
		// Somebody trimmed the lines. An exception that is thrown again says so in
		// the next frame.
		if i+1 < len(p.lines) {
			next := p.lines[i+1]
			return !strings.Contains(next, "ExceptionDispatchInfo") && !strings.Contains(next, "TaskAwaiter")
		}
		return true
	}
	return startsBlank(line)
}

// text reads a line that has no form of its own.
func (p *dotnetParser) text(i int, t string) {
	e := p.top()
	if dotnetRepeats.MatchString(t) {
		p.repeat = len(e.frames)
		p.inMessage = false
		return
	}
	if strings.Trim(t, "-") == "" {
		p.repeatEnds(i, t)
		return
	}
	if p.inMessage {
		p.continueMessage(i, t)
		return
	}
	if dotnetNumbered.MatchString(t) && i+1 < len(p.lines) {
		if next := strings.TrimSpace(p.lines[i+1]); next != "" {
			t += " " + next
		}
	}
	if m := dotnetLabelled.FindStringSubmatch(clip(t, 16<<10)); m != nil {
		if _, _, ok := dotnetHeaderOf(m[1]); ok {
			p.header(i, m[1], false)
		}
		return
	}
	if p.bracketed {
		if m := dotnetBracketed.FindStringSubmatch(t); m != nil && dotnetThrowable.MatchString(m[1]) && p.count < maxExceptions {
			p.count++
			p.outer = &exception{typ: m[1], message: []string{m[2]}, raised: i, cause: p.outer}
			p.open = []dotnetOpen{{p.outer, false}}
			p.inMessage = true
			return
		}
	}
	if strings.Contains(t, "Exception") && dotnetInLine.MatchString(clip(t, 4000)) {
		p.done = true
	}
}

// repeatEnds says whether the line closes a block that the runtime printed once
// for many rounds of a recursion, and if so writes the block out as a cycle.
func (p *dotnetParser) repeatEnds(i int, line string) bool {
	if p.repeat < 0 || strings.Trim(line, "- ") != "" {
		return false
	}
	e := p.top()
	if len(e.frames) == p.repeat {
		return true // the line that opens the block
	}
	block := append([]frame{}, e.frames[p.repeat:]...)
	for n := 0; n < 3 && len(e.frames)+len(block) <= maxFrames; n++ {
		e.frames = append(e.frames, block...)
	}
	p.repeat = -1
	return true
}

// continueMessage adds a line to the message of the open exception. Its end may
// name an inner one.
func (p *dotnetParser) continueMessage(i int, t string) {
	t = visualStudioMessage(t)
	if t == "" || dotnetStackName.MatchString(clip(t, 100)) {
		return
	}
	before, rest := cutArrow(strings.TrimSuffix(t, "<---"))
	if e := p.top(); e != nil && p.beyond == 0 && len(e.message) < maxLines {
		e.message = append(e.message, before)
	}
	if rest != "" {
		p.header(i, rest, false)
	}
}
