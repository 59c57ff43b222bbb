package fingerprint

import "strings"

// exception is one exception of a trace, in the shape all languages share.
type exception struct {
	typ     string   // as printed, with module or package
	message []string // lines
	frames  []frame  // innermost first
	// cause is the exception this one was deliberately raised from. What was
	// only being handled at the time (Python's implicit context, a suppressed
	// exception, another goroutine) is not here.
	cause *exception
	// leaves are the members of an exception group.
	leaves []*exception
	// raised is the line of the trace that names the exception; -1 if none does.
	raised int
	// loaded says that the stack was taken while the library was being loaded
	// and so names the class, not the failure.
	loaded bool
	// layered says that the message has a line for each layer that wrapped it.
	layered bool
	// steady stands for the message in the key where the language prints
	// something that says the same in every run and locale.
	steady string
}

// frame is a normalised frame with what is needed to judge and to show it.
type frame struct {
	Frame
	path   string // as printed
	source string // the source line under it, trimmed; Python only
	line   int    // its line in the undressed trace
	flush  bool   // printed without indentation; Python only
	repeat int    // how many more times it was printed as repeated
}

// parsed is what a language makes of a trace.
type parsed struct {
	outer *exception // the exception that reached the queue; nil where none could be read
	cut   bool       // the end is missing, so the frames that are left are the wrong ones
}

func (e *exception) hasFrames() bool {
	for n := 0; e != nil && n < maxExceptions; n++ {
		if len(e.frames) > 0 {
			return true
		}
		for _, l := range e.leaves {
			if len(l.frames) > 0 {
				return true
			}
		}
		e = e.cause
	}
	return false
}

func (e *exception) firstMessageLine() string {
	for _, l := range e.message {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return ""
}

func (e *exception) sameAs(o *exception) bool {
	return lastSegment(e.typ) == lastSegment(o.typ) && e.firstMessageLine() == o.firstMessageLine()
}

// root follows deliberate causes to the deepest one. A link that only repeats
// its parent and has no frames of its own adds nothing and is passed over.
func (e *exception) root() *exception {
	deepest := e
	for n, c := 0, e.cause; c != nil && n < maxExceptions; n, c = n+1, c.cause {
		if len(c.frames) == 0 && c.sameAs(deepest) {
			continue
		}
		deepest = c
	}
	return deepest
}

// deepestStack returns the exception nearest to the root whose frames were
// printed; e itself where none were.
func (e *exception) deepestStack() *exception {
	root, deepest := e.root(), e
	for n, c := 0, e; c != nil && n < maxExceptions; n, c = n+1, c.cause {
		if len(c.frames) > 0 {
			deepest = c
		}
		if c == root {
			break
		}
	}
	return deepest
}

// unwrap replaces a wrapper that says nothing of its own by what it holds.
func unwrap(lang *language, e *exception) *exception {
	for n := 0; e != nil && lang != nil && n < maxExceptions; n++ {
		inner := held(lang, e)
		if inner == nil {
			return e
		}
		e = inner
	}
	return e
}

// held returns what a transparent wrapper holds, or nil where e is none.
func held(lang *language, e *exception) *exception {
	if leaves := distinctLeaves(lang, e); len(leaves) == 1 {
		return leaves[0].exception
	}
	if e.cause == nil || len(e.leaves) > 0 {
		return nil
	}
	if lang.transparent != nil && lang.transparent(e) {
		return e.cause
	}
	return nil
}

// leaf is a member of a group: the canonical text it would have alone, which
// decides what is distinct, and a shorter one that stands for it in the key of
// its group.
type leaf struct {
	exception *exception
	short     string
}

// distinctLeaves flattens nested groups and returns each distinct member once:
// how tasks were nested is not what failed, and one defect hit by every task of
// a group is one defect.
func distinctLeaves(lang *language, e *exception) []leaf {
	var out []leaf
	seen := map[string]bool{}
	budget := maxExceptions
	var walk func(*exception, int)
	walk = func(g *exception, depth int) {
		for _, l := range g.leaves {
			budget--
			if budget < 0 || depth > maxGroupDepth {
				return
			}
			if len(l.leaves) > 0 {
				walk(l, depth+1)
				continue
			}
			l = unwrap(lang, l)
			k := keyOf(lang, l, Input{})
			if text := k.text(); !seen[text] {
				seen[text] = true
				out = append(out, leaf{l, k.raisePoint()})
			}
		}
	}
	walk(e, 0)
	return out
}

// collapse removes recursion from frames: equal neighbours become one, and a
// cycle of up to maxCycle frames seen three times or more becomes one pass.
func collapse(frames []frame) []frame {
	var out []frame
	for _, f := range frames {
		if n := len(out); n > 0 && out[n-1].Frame == f.Frame {
			out[n-1].repeat += f.repeat + 1
			continue
		}
		out = append(out, f)
	}
	kept := out[:0:0]
	for i := 0; i < len(out); {
		period, end := cycleAt(out, i)
		if period == 0 {
			kept = append(kept, out[i])
			i++
			continue
		}
		kept = append(kept, out[i:i+period]...)
		i = end
	}
	return kept
}

// cycleAt returns the shortest period of a cycle that starts at i and repeats
// at least three times, and where its last whole pass ends; 0 if there is none.
func cycleAt(frames []frame, i int) (period, end int) {
	for p := 2; p <= maxCycle && i+3*p <= len(frames); p++ {
		n := i
		for n+p < len(frames) && frames[n].Frame == frames[n+p].Frame {
			n++
		}
		if passes := (n - i) / p; passes >= 2 {
			return p, i + (passes+1)*p
		}
	}
	return 0, 0
}

// recursionCycle returns the cycle that fills most of the stack, rotated so
// that its smallest frame comes first: where the limit happened to hit depends
// on the interpreter, the cycle does not. It is nil where nothing repeats.
func recursionCycle(frames []frame) []frame {
	best, bestStart, bestPeriod := 0, 0, 0
	for p := 1; p <= maxCycle; p++ {
		for i := 0; i+p < len(frames); {
			n, covered := i, 0
			for n+p < len(frames) && frames[n].Frame == frames[n+p].Frame {
				covered += 1 + frames[n].repeat
				n++
			}
			if n-i >= 2*p {
				for _, f := range frames[n : n+p] {
					covered += 1 + f.repeat
				}
				if covered > best {
					best, bestStart, bestPeriod = covered, i, p
				}
			}
			i = n + 1
		}
	}
	if bestPeriod == 0 {
		return nil
	}
	return smallestRotation(frames[bestStart : bestStart+bestPeriod])
}

func smallestRotation(cycle []frame) []frame {
	rotated := func(by int) []frame { return append(append([]frame{}, cycle[by:]...), cycle[:by]...) }
	best := rotated(0)
	for by := 1; by < len(cycle); by++ {
		if c := rotated(by); lessFrames(c, best) {
			best = c
		}
	}
	return best
}

func lessFrames(a, b []frame) bool {
	for i := range a {
		if x, y := a[i].String(), b[i].String(); x != y {
			return x < y
		}
	}
	return false
}
