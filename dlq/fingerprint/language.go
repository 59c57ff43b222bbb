package fingerprint

import "strings"

// Bounds on the work that one hostile trace can cause.
const (
	maxHead  = 256 << 10 // bytes looked at from the start of a text
	maxTail  = 256 << 10 // and from its end
	maxLines = 4000
	// where a trace begins in a message at the latest
	maxMessageHead = 64 << 10
	maxLine        = 4096 // bytes
	maxExceptions  = 50
	maxFrames      = 500 // of one exception
	maxGroupDepth  = 8
	maxCycle       = 8
	maxKeyFrames   = 3
	maxRulePairs   = 20
	maxMessage     = 2000 // bytes of Result.Message
)

// language is what the algorithm needs to know of one runtime. Adding one is a
// file with a value of this type and a line in the list below.
type language struct {
	name  string
	hints []string // what an envelope may call it
	// counts says whether a line is a stack frame of this language.
	counts func(line string) bool
	// frame reads the frame that starts at line i; nil if none does. It agrees
	// with what parse reads, and serves to show a trace.
	frame func(lines []string, i int) *frame
	// belongs says that a line continues the frame above it.
	belongs func(line string) bool
	// parse reads undressed lines. It sorts frames innermost first and resolves
	// in which direction the language prints its chains.
	parse func(lines []string) parsed
	// noise says that a frame belongs to machinery every failure passes through.
	noise func(frame) bool
	// inlined says that newer versions of the runtime have no such frame: the
	// frame above it has the same place; nil where there are none.
	inlined func(frame) bool
	// library says that a frame is not the caller's own code.
	library func(frame) bool
	// own says that a frame is known to be the caller's own code; nil where the
	// trace cannot tell.
	own func(frame) bool
	// transparent says that an exception with a cause only carries it.
	transparent func(*exception) bool
	// bare says that the trace holds a base class with no message.
	bare func(*exception) bool
	// namedByLoader says that a load-time stack still names the class.
	namedByLoader func([]frame) bool
	generic       map[string]bool // types that tell nothing by themselves
	identifier    map[string]bool // types whose message names what was not found
	constant      map[string]bool // types whose wording belongs to the runtime's version
	stackOverflow map[string]bool
	overflowText  string // the message of a stack overflow that has no type of its own
	// clean prepares a message of the given type for its template; may be nil.
	clean func(typ, message string) string
}

// languages in the order that settles ties.
var languages = []*language{&python, &jvm, &golang, &javascript, &dotnet, &ruby, &php, &rust, &powershell, &native}

func (l *language) recursion(typ, message string) bool {
	return l.stackOverflow[typ] || l.overflowText != "" && strings.Contains(message, l.overflowText)
}

func (l *language) template(typ, message string) string {
	if l.clean != nil {
		message = l.clean(typ, message)
	}
	return Template(message)
}

// chooseLanguage returns the language with most frame lines, nil where no line
// is a frame of any. Ties go to the hint, then to the order of the list.
func chooseLanguage(lines []string, hint string) *language {
	counts := make([]int, len(languages))
	for _, line := range lines {
		if len(line) > maxLine {
			continue
		}
		for i, l := range languages {
			if l.counts(line) {
				counts[i]++
			}
		}
	}
	if l := bridged(lines, counts); l != nil {
		return l
	}
	best := -1
	for i := range languages {
		if counts[i] == 0 {
			continue
		}
		if best < 0 || counts[i] > counts[best] || counts[i] == counts[best] && languages[i].hinted(hint) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return languages[best]
}

func (l *language) hinted(hint string) bool {
	hint = strings.ToLower(strings.TrimSpace(hint))
	for _, h := range l.hints {
		if hint == h {
			return true
		}
	}
	return false
}

// bridged settles a trace that crosses from one runtime into another: the side
// where the exception was raised wins, whichever printed more frames.
func bridged(lines []string, counts []int) *language {
	intoPython, intoJVM := false, false
	for _, line := range lines {
		intoPython = intoPython || strings.Contains(line, "PythonException: Traceback (most recent call last)")
		intoJVM = intoJVM || strings.Contains(line, "Py4JJavaError: ")
	}
	switch {
	case intoPython && countOf(&python, counts) > 0:
		return &python
	case intoJVM && countOf(&jvm, counts) > 0:
		return &jvm
	}
	return nil
}

func countOf(l *language, counts []int) int {
	for i := range languages {
		if languages[i] == l {
			return counts[i]
		}
	}
	return 0
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// capped keeps the innermost frames of a stack that is too long to keep whole.
func capped(frames []frame) []frame {
	if len(frames) > maxFrames {
		return frames[:maxFrames]
	}
	return frames
}

// lendFrames gives a cause that was never thrown, and so has no stack, the frames
// of the exception that it was handed to: that is where it was made.
func lendFrames(e *exception) {
	for n := 0; e != nil && e.cause != nil && n < maxExceptions; n, e = n+1, e.cause {
		if c := e.cause; len(c.frames) == 0 && len(c.leaves) == 0 && !c.sameAs(e) {
			c.frames = e.frames
		}
	}
}
