package fingerprint

import "strings"

// Kinds of a Line.
const (
	LineText    = "text"    // anything else: headers, prose, what a program printed
	LineFrame   = "frame"   // a frame of the caller's own code, with its source line
	LineLibrary = "library" // a frame of a library or a runtime: runs of them can be folded
	LineKey     = "key"     // a frame the fingerprint was made from
	LineRaise   = "raise"   // names an exception
	LineMessage = "message" // continues an exception's message
)

// Line is one line of an undressed trace. A frame that takes two lines (Go's
// file, Python's source) has the same kind on both.
type Line struct {
	Text  string
	Kind  string // one of the Line constants
	Frame int    // for LineKey: index into Result.Frames; else -1
}

// Annotate returns the trace of in line by line as the fingerprint r read it:
// undressed, with the frames of the key marked. It returns at most 4,000 lines,
// and none for an empty trace. If r is not the fingerprint of in (a stored one of
// another version), no line is marked as key. The text is hostile: escape it.
func Annotate(in Input, r Result) []Line {
	a := analyse(in)
	out := make([]Line, len(a.lines))
	for i, text := range a.lines {
		out[i] = Line{Text: text, Kind: LineText, Frame: -1}
	}
	if a.lang == nil || a.parsed.outer == nil {
		return out
	}
	m := marker{lang: a.lang, texts: a.lines, lines: out}
	m.exceptions(a.parsed.outer, 0)
	if a.result.Mode == ModeTrace && r.Digest == a.result.Digest {
		for n, f := range a.key {
			m.mark(f.line, LineKey, n)
		}
	}
	m.frames()
	return out
}

type marker struct {
	lang  *language
	texts []string
	lines []Line
}

func (m marker) mark(i int, kind string, frame int) {
	if i >= 0 && i < len(m.lines) {
		m.lines[i].Kind, m.lines[i].Frame = kind, frame
	}
}

// exceptions marks the lines that name an exception and those that continue its
// message.
func (m marker) exceptions(e *exception, depth int) {
	for n := 0; e != nil && n < maxExceptions; n, e = n+1, e.cause {
		m.mark(e.raised, LineRaise, -1)
		if e.raised >= 0 {
			for i := 1; i < len(e.message) && e.raised+i < len(m.lines); i++ {
				if strings.TrimSpace(m.lines[e.raised+i].Text) == "" {
					continue
				}
				m.mark(e.raised+i, LineMessage, -1)
			}
		}
		if depth < maxGroupDepth {
			for _, l := range e.leaves {
				m.exceptions(l, depth+1)
			}
		}
	}
}

// frames marks every frame line of the trace, also of exceptions that were left
// out of the key, and carries its kind to the lines that belong to it.
func (m marker) frames() {
	kind, n := LineText, -1
	for i := range m.lines {
		l := &m.lines[i]
		switch {
		case l.Kind == LineRaise || l.Kind == LineMessage:
			kind, n = LineText, -1
		case l.Kind == LineKey:
			kind, n = l.Kind, l.Frame
		default:
			if f := m.lang.frame(m.texts, i); f != nil {
				kind, n = LineFrame, -1
				if m.lang.library(*f) {
					kind = LineLibrary
				}
				l.Kind = kind
				continue
			}
			if kind != LineText && m.lang.belongs(l.Text) {
				l.Kind, l.Frame = kind, n
				continue
			}
			kind, n = LineText, -1
		}
	}
}
