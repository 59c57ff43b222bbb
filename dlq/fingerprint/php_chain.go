package fingerprint

import (
	"regexp"
	"slices"
)

var phpLabel = regexp.MustCompile(`(?i)^\W*(?:(?:PHP )?(?:stack|exception|back)[ _-]?trace|trace|call stack)\W*$`)

// phpBlock is an exception and its calls, not yet paired with their files.
type phpBlock struct {
	*exception
	place string // the file it was raised in
	calls []phpCall
	lines []int
}

// pair gives each call the file it is in, which is where the next inner
// call was made.
func (b *phpBlock) pair() {
	if len(b.calls) > 0 && b.calls[0].form == phpOutermost {
		slices.Reverse(b.calls)
		slices.Reverse(b.lines)
	}
	path := b.place
	for i, c := range b.calls {
		if c.form == phpRaisedAt {
			path = c.path
			continue
		}
		if i > 0 && path == "" {
			path = "[internal function]" // the engine called it, as a callback
		}
		b.frames = append(b.frames, *phpFrame(c.function, path, b.lines[i]))
		path = c.path
	}
	if len(b.calls) == 1 && b.calls[0].form == phpRaisedAt {
		b.frames = []frame{*phpFrame("", path, b.lines[0])} // only libraries called it, and they are folded away
	}
	b.frames = capped(b.frames)
}

type phpParser struct {
	lines  []string
	blocks []*phpBlock
	links  []phpLink // how each block is linked with the one before it
	seen   int
	xdebug bool
	done   bool
}

type phpLink int

const (
	phpNone     phpLink = iota
	phpNext             // it wraps the block before it
	phpPrevious         // it is the cause of the block before it
)

func parsePHP(lines []string) parsed {
	p := phpParser{lines: lines}
	for i, line := range lines {
		if p.done {
			break
		}
		p.line(i, line)
	}
	outer := p.chain()
	lendFrames(outer)
	return parsed{outer: outer}
}

func (p *phpParser) line(i int, line string) {
	c, ok := phpCallAt(p.lines, i)
	if !ok {
		return
	}
	if c.form == phpOutermost {
		if len(p.blocks) > 0 && !p.xdebug {
			return // Xdebug's stack repeats the one that was read
		}
		p.xdebug = true
	}
	if p.forged(i, c) {
		return
	}
	if p.starts(i, c) {
		p.begin(i)
		if p.done {
			return
		}
	}
	b := p.blocks[len(p.blocks)-1]
	// One call may only be the place of the raise, and of a stack that is printed
	// outermost first the end counts.
	if len(b.calls) < maxFrames+1 || c.form == phpOutermost && len(b.calls) < maxLines {
		b.calls = append(b.calls, c)
		b.lines = append(b.lines, i)
	}
	p.seen = i + 1
}

// forged says that the call at line i is part of an argument that holds line
// breaks: calls are counted, and a new count begins under a heading only.
func (p *phpParser) forged(i int, c phpCall) bool {
	if len(p.blocks) == 0 || c.form != phpHash0 {
		return false
	}
	calls := p.blocks[len(p.blocks)-1].calls
	if len(calls) == 0 {
		return false
	}
	last := calls[len(calls)-1]
	if c.number == 0 {
		return last.function != "{main}" && !phpLabel.MatchString(clip(p.lines[max(i-1, 0)], 200))
	}
	return last.function == "{main}" || c.number <= last.number
}

// starts says whether the call at line i is the first of a block.
func (p *phpParser) starts(i int, c phpCall) bool {
	if len(p.blocks) == 0 {
		return true
	}
	b := p.blocks[len(p.blocks)-1]
	if len(b.calls) == 0 {
		return false
	}
	switch c.form {
	case phpHash0:
		return c.number == 0
	case phpRaisedAt:
		return true
	case phpAt:
		return phpLabel.MatchString(clip(p.lines[max(i-1, 0)], 200))
	}
	return c.number <= b.calls[len(b.calls)-1].number
}

func (p *phpParser) begin(i int) {
	b, link := p.headerAbove(i)
	if len(p.blocks) > 0 && link == phpNone {
		p.done = true // another exception, printed later
		return
	}
	if len(p.blocks) == maxExceptions {
		if link == phpPrevious {
			p.done = true
			return
		}
		// The wrapper comes last: of a chain that is too long the ends are kept.
		p.blocks = append(p.blocks[:1], p.blocks[2:]...)
		p.links = append(p.links[:1], p.links[2:]...)
	}
	p.blocks = append(p.blocks, b)
	p.links = append(p.links, link)
}

func (p *phpParser) chain() *exception {
	var outer, last *exception
	for i, b := range p.blocks {
		b.pair()
		switch {
		case i == 0:
			outer = b.exception
		case p.links[i] == phpNext:
			b.cause = outer
			outer = b.exception
		default:
			last.cause = b.exception
		}
		last = b.exception
	}
	return outer
}
