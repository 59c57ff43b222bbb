package fingerprint

import (
	"regexp"
	"slices"
	"strings"
)

var (
	rubyElided   = regexp.MustCompile(`^\s*\.\.\. ?\d+ levels\.\.\.`)
	rubyCausedBy = regexp.MustCompile(`^(?:#|=>)?\s*(?:Caused by|Causes|Cause|caused by)\s*:?\s*(.*)$`)
)

type rubyParser struct {
	lines   []string
	chain   []*exception // outermost first
	pending []frame      // numbered frames above their exception, outermost first
	seen    int          // lines before this one are read
	reverse bool         // causes are printed before what they caused
	done    bool
}

func parseRuby(lines []string) parsed {
	p := rubyParser{lines: lines}
	for i, line := range lines {
		if p.done {
			break
		}
		p.line(i, line)
	}
	p.flush()
	if len(p.chain) == 0 {
		return parsed{}
	}
	for _, e := range p.chain {
		placeInternals(e.frames)
		e.frames = capped(e.frames)
	}
	if p.reverse {
		slices.Reverse(p.chain)
	}
	for i := 0; i+1 < len(p.chain); i++ {
		p.chain[i].cause = p.chain[i+1]
	}
	lendFrames(p.chain[0])
	return parsed{outer: p.chain[0]}
}

// placeInternals gives methods that the interpreter defines in Ruby the file of
// their caller, as methods that it defines in C have it: which is which differs
// between versions.
func placeInternals(frames []frame) {
	for i := len(frames) - 2; i >= 0; i-- {
		if strings.HasPrefix(frames[i].Unit, "<internal:") {
			frames[i].Unit = frames[i+1].Unit
		}
	}
}

func (p *rubyParser) line(i int, line string) {
	c, ok := rubyCallIn(line)
	if !ok {
		p.text(i, line)
		return
	}
	f := *rubyFrame(line)
	f.line = i
	switch {
	case c.numbered:
		p.reverse = true
		if len(p.pending) < maxLines {
			p.pending = append(p.pending, f)
		}
		p.seen = i + 1
		return
	case !c.from && strings.HasPrefix(c.rest, ": "):
		p.raised(i, c, f)
	case len(p.chain) == 0:
		p.begin(i, f)
	default:
		p.add(i, f)
	}
	p.seen = i + 1
}

// raised reads "file:line:in `method': message (Type)", which begins an
// exception, or ends one whose frames were printed above it.
func (p *rubyParser) raised(i int, c rubyCall, f frame) {
	if len(p.chain) > 0 && !p.reverse && p.textBefore(i) {
		p.done = true // something else was printed in between
		return
	}
	e := &exception{raised: i, frames: []frame{f}}
	e.typ, e.message = p.typeAndMessage(i, strings.TrimPrefix(c.rest, ": "))
	p.under(e)
}

// under gives e the numbered frames that were printed above it.
func (p *rubyParser) under(e *exception) {
	for j := len(p.pending) - 1; j >= 0; j-- {
		e.frames = append(e.frames, p.pending[j])
	}
	p.pending = nil
	p.push(e)
}

// push keeps the innermost of a chain that is too long to keep whole.
func (p *rubyParser) push(e *exception) {
	if len(p.chain) < maxExceptions {
		p.chain = append(p.chain, e)
		return
	}
	if p.reverse {
		copy(p.chain[1:], p.chain[2:])
	}
	p.chain[len(p.chain)-1] = e
}

// textBefore says whether anything was printed between the last line read and i.
func (p *rubyParser) textBefore(i int) bool {
	for _, l := range p.lines[min(p.seen, i):i] {
		if strings.TrimSpace(l) != "" {
			return true
		}
	}
	return false
}

func (p *rubyParser) add(i int, f frame) {
	e := p.chain[len(p.chain)-1]
	if len(e.frames) <= 1 {
		p.continueMessage(e, i)
	}
	if len(e.frames) < maxLines {
		e.frames = append(e.frames, f)
	}
}

// continueMessage adds the lines between an exception's first line and its
// second: the rest of the message, suggestions, the source with a marker.
func (p *rubyParser) continueMessage(e *exception, i int) {
	if e.raised < 0 {
		return
	}
	from := max(p.seen, e.raised+len(e.message))
	for j := min(from, i); j < i && len(e.message) < maxLines; j++ {
		if rubyElided.MatchString(p.lines[j]) {
			return
		}
		e.message = append(e.message, strings.TrimSpace(p.lines[j]))
	}
}

// begin reads the first frame of a backtrace that a logger printed under the
// type and the message.
func (p *rubyParser) begin(i int, f frame) {
	e := p.headerAbove(i)
	e.frames = []frame{f}
	p.push(e)
}

// text reads a line that is no frame: where a logger goes on with a cause, its
// header stands between two backtraces.
func (p *rubyParser) text(i int, line string) {
	if len(p.pending) > 0 {
		// In irb the exception under numbered frames has no place of its own.
		if typ, message, ok := rubyHeaderOf(line); ok {
			p.under(&exception{typ: typ, message: []string{message}, raised: i})
			p.seen = i + 1
		}
		return
	}
	if len(p.chain) == 0 || p.reverse || len(p.chain[len(p.chain)-1].frames) == 0 {
		return
	}
	t := strings.TrimSpace(line)
	if t == "" || rubyElided.MatchString(t) {
		return
	}
	cause := strings.Contains(t, "ause")
	if cause {
		if m := rubyCausedBy.FindStringSubmatch(clip(t, 4000)); m != nil {
			p.caused(i, m[1])
			return
		}
	}
	if typ, _, ok := rubyHeaderOf(t); ok && rubyThrowable.MatchString(typ) && len(p.chain[len(p.chain)-1].frames) > 1 {
		p.done = true
	}
}

// caused opens the cause that a logger announced, named on the same line or on
// the next.
func (p *rubyParser) caused(i int, rest string) {
	j := i
	for rest == "" && j+1 < len(p.lines) && j < i+3 {
		j++
		rest = strings.TrimSpace(p.lines[j])
	}
	typ, message, ok := rubyHeaderOf(rest)
	if !ok {
		return
	}
	p.push(&exception{typ: typ, message: []string{message}, raised: j})
	p.seen = j + 1
}

// flush makes an exception of numbered frames that none followed.
func (p *rubyParser) flush() {
	if len(p.pending) == 0 || len(p.chain) > 0 {
		return
	}
	p.under(&exception{raised: -1})
}
