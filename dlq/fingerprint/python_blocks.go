package fingerprint

import "strings"

// pyNode is one margin level of an exception group: the lines at that level, and
// after which line each member was printed.
type pyNode struct {
	level    int
	lines    []pyLine
	children []pyChildAt
}

type pyLine struct {
	text  string
	index int // in the undressed trace
}

type pyChildAt struct {
	after int // index into the parent's lines
	node  *pyNode
}

func parsePython(lines []string) parsed {
	lines = pythonMargin(lines)
	if e := pythonFault(lines); e != nil {
		return parsed{outer: e}
	}
	root := pythonTree(lines)
	budget := maxExceptions
	return root.parse(&budget)
}

// pythonMargin takes off the blanks that stand before the first heading: where
// an exception is named is told by its indentation.
func pythonMargin(lines []string) []string {
	for _, line := range lines {
		if !strings.Contains(line, "Traceback (most recent call last):") {
			continue
		}
		blanks := len(line) - len(strings.TrimLeft(line, " "))
		if blanks == 0 || !strings.HasPrefix(line[blanks:], "Traceback (") {
			return lines
		}
		out := make([]string, len(lines))
		for i, l := range lines {
			out[i] = outdented(l, blanks)
		}
		return out
	}
	return lines
}

// pythonTree sorts lines by the margins of exception groups. A trace without
// groups is one node.
func pythonTree(lines []string) *pyNode {
	root := &pyNode{}
	stack := []*pyNode{root}
	top := func() *pyNode { return stack[len(stack)-1] }
	popTo := func(level int) {
		for len(stack) > 1 && top().level > level {
			stack = stack[:len(stack)-1]
		}
	}
	grouped := false
	for i, line := range lines {
		if strings.Contains(line, "+ Exception Group Traceback") {
			grouped = true
		}
		if !grouped {
			root.lines = append(root.lines, pyLine{line, i})
			continue
		}
		if m := pyChild.FindStringSubmatch(line); m != nil {
			level := len(m[1]) / 2
			if m[2] != "" {
				level++
			}
			popTo(level - 1)
			if len(stack) > maxGroupDepth {
				continue
			}
			child := &pyNode{level: level}
			top().children = append(top().children, pyChildAt{len(top().lines), child})
			stack = append(stack, child)
			continue
		}
		if m := pyLastChild.FindStringSubmatch(line); m != nil {
			popTo(len(m[1])/2 - 1)
			continue
		}
		if m := pyMargin.FindStringSubmatch(line); m != nil {
			level := len(m[1]) / 2
			popTo(level)
			top().level = max(top().level, level)
			text := strings.TrimPrefix(line[len(m[1])+1:], " ")
			top().lines = append(top().lines, pyLine{text, i})
			continue
		}
		popTo(0)
		root.lines = append(root.lines, pyLine{line, i})
	}
	return root
}

// pyBlock is one traceback as printed, outermost frame first.
type pyBlock struct {
	exception
	printed   []frame
	closed    bool   // its exception line was read
	link      string // the sentence between it and the next
	remote    bool   // quoted from another process
	headed    bool   // its heading was read
	messageAt int
}

func (n *pyNode) parse(budget *int) parsed {
	blocks := n.blocks(budget)
	if len(blocks) == 0 {
		return parsed{}
	}
	last := blocks[len(blocks)-1]
	if !last.closed {
		return parsed{outer: &exception{raised: -1}, cut: true}
	}
	outer := &last.exception
	for i := len(blocks) - 1; i > 0; i-- {
		earlier := blocks[i-1]
		if !earlier.closed || !deliberate(earlier, blocks[i]) {
			break
		}
		blocks[i].cause = &earlier.exception
	}
	return parsed{outer: outer}
}

// deliberate says whether later was raised because of earlier. Python prints
// "During handling" both where a handler translates one exception into another
// and where it trips over its own bug. It is a translation if the handler itself
// raised: the new exception's raise point is the function that the context
// passed out of, and its line is a raise statement.
func deliberate(earlier, later *pyBlock) bool {
	switch earlier.link {
	case pyDirectCause:
		return true
	case pyContext:
		if len(earlier.printed) == 0 || len(later.printed) == 0 {
			return false
		}
		handler, raised := earlier.printed[0], later.printed[len(later.printed)-1]
		return handler.Frame == raised.Frame && handler.path == raised.path && strings.HasPrefix(raised.source, "raise")
	}
	return false
}

// blocks reads the tracebacks of one level in the order they were printed.
func (n *pyNode) blocks(budget *int) []*pyBlock {
	var out []*pyBlock
	var cur *pyBlock
	open := func() {
		if cur = nil; len(out) < maxExceptions {
			cur = &pyBlock{exception: exception{raised: -1}}
			out = append(out, cur)
		}
	}
	remote, child := false, 0
	for i, l := range n.lines {
		for ; child < len(n.children) && n.children[child].after <= i; child++ {
			cur.adopt(n.children[child].node, budget)
		}
		text := strings.TrimRight(l.text, " \t")
		switch {
		case pyHeader.MatchString(text):
			if cur != nil && cur.empty() {
				*cur = pyBlock{exception: exception{raised: -1}} // a heading over nothing
			} else if cur == nil || cur.closed || len(cur.printed) > 0 {
				open()
			}
			if cur != nil {
				cur.remote, cur.layered, cur.headed = remote, remote, true
			}
			remote = false
			continue
		case text == pyDirectCause || text == pyContext:
			if cur != nil {
				cur.link = text
			}
			cur = nil
			continue
		case strings.HasSuffix(strings.TrimRight(text, ": "), "RemoteTraceback"):
			remote = true
			cur = nil
			continue
		case text == `"""`:
			if cur != nil && cur.closed {
				cur.messageAt = -1
			}
			continue
		}
		if f := pythonFrame(text); f != nil && !(cur != nil && cur.closed) {
			if cur == nil {
				open()
			}
			if cur != nil {
				f.line, f.flush = l.index, strings.HasPrefix(text, "File ")
				cur.printed = append(cur.printed, *f)
			}
			continue
		}
		if cur != nil {
			cur.read(text, l.index)
		}
	}
	for ; child < len(n.children); child++ {
		cur.adopt(n.children[child].node, budget)
	}
	kept := out[:0]
	for _, b := range out {
		if len(b.printed) == 0 && !b.closed {
			continue
		}
		for i := len(b.printed) - 1; i >= 0; i-- {
			b.frames = append(b.frames, b.printed[i])
		}
		b.frames = capped(b.frames)
		kept = append(kept, b)
	}
	return kept
}

// adopt parses a member of a group and hangs it on the group.
func (b *pyBlock) adopt(n *pyNode, budget *int) {
	if *budget--; b == nil || *budget < 0 {
		return
	}
	if p := n.parse(budget); p.outer != nil && !p.cut {
		b.leaves = append(b.leaves, p.outer)
	}
}

// read takes a line that is neither a frame nor a header.
func (b *pyBlock) read(text string, index int) {
	if b.closed {
		if m := pyDjangoText.FindStringSubmatch(text); m != nil {
			b.message = []string{m[1]}
		} else if b.messageAt >= 0 && len(b.message) < maxLines {
			b.message = append(b.message, text)
		}
		return
	}
	if text == "" {
		return
	}
	if len(b.printed) == 0 {
		// A group that was never raised, or a stack that was left out.
		if m := pyException.FindStringSubmatch(text); m != nil && b.headed && pyNamesError.MatchString(text) {
			b.close(m, index)
		}
		return
	}
	if m := pyRepeated.FindStringSubmatch(text); m != nil {
		last := &b.printed[len(b.printed)-1]
		for _, c := range m[1] {
			last.repeat = last.repeat*10 + int(c-'0')
		}
		return
	}
	if text[0] == ' ' || text[0] == '\t' {
		if last := &b.printed[len(b.printed)-1]; last.source == "" {
			last.source = strings.TrimSpace(text)
		}
		return
	}
	if last := &b.printed[len(b.printed)-1]; last.flush && last.source == "" && !pyNamesError.MatchString(text) {
		last.source = text // a trace that lost its indentation
		return
	}
	if m := pyDjangoType.FindStringSubmatch(text); m != nil {
		b.typ, b.closed, b.raised = m[1], true, index
		return
	}
	if m := pyException.FindStringSubmatch(text); m != nil {
		b.close(m, index)
	}
}

// close takes the line that names the exception.
func (b *pyBlock) close(m []string, index int) {
	b.typ, b.closed, b.raised = strings.ReplaceAll(m[1], "<locals>.", ""), true, index
	b.message = []string{m[2]}
	if !strings.Contains(m[0], ":") {
		b.messageAt = -1 // it has no message: what follows was printed by others
	}
}

// empty says that nothing but headings was read.
func (b *pyBlock) empty() bool {
	return len(b.printed) == 0 && len(b.leaves) == 0 && b.link == ""
}
