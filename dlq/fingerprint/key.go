package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// key is what one exception contributes to a canonical text.
type key struct {
	typ, rootType string
	frames        []frame // at most maxKeyFrames, innermost first
	deeper        []frame // those behind them, as many again; no part of the key
	cycle         []frame // set instead of frames for a recursion
	wrap          string
	template      string // set where type and frames tell too little
	leaves        []string
	message       string // of the outer exception, for people
	generic       bool
	recursion     bool
	loaded        bool // the frames name a class, not a failure
}

// keyOf chooses what to key e on. in lends its type and message where the trace
// has none. lang is nil only if e is nil.
func keyOf(lang *language, e *exception, in Input) key {
	if e == nil {
		return key{}
	}
	root := e.root()
	members := distinctLeaves(lang, root)
	if root != e && len(members) == 1 {
		// A group of one defect, itself the cause of e, is that defect.
		root = members[0].exception.root()
		members = nil
	}
	k := key{typ: lastSegment(e.typ), message: e.firstMessageLine()}
	if k.message == "" {
		k.message = firstLine(in.ErrorMessage)
	}
	rootType := lastSegment(root.typ)
	if named := in.typeName(); named != "" && lang.bare != nil && lang.bare(e) && !lang.generic[named] {
		// The stack carries a bare base class, or no type at all; the reporter
		// knew the real one.
		k.typ = named
		if root == e || lang.bare(root) {
			rootType = named
		}
	}
	if k.typ == "" {
		k.typ = in.typeName()
	}
	// A cause that was printed without a stack is told where it was passed on.
	stack := root
	if len(root.frames) == 0 {
		stack = e.deepestStack()
	}
	frames := withoutInlined(lang, stack.frames)
	used := withoutNoise(lang, collapse(frames))
	k.loaded = root.loaded
	k.generic = lang.generic[rootType] || rootType == ""
	if lang.recursion(rootType, root.firstMessageLine()) {
		k.recursion = true
		if c := recursionCycle(frames); c != nil {
			k.cycle, used = c, c
		}
	}
	if len(used) > maxKeyFrames {
		k.deeper = used[maxKeyFrames:min(len(used), 2*maxKeyFrames)]
		used = used[:maxKeyFrames]
	}
	k.frames = used
	if root != e {
		k.rootType = rootType
		if w := withoutNoise(lang, collapse(withoutInlined(lang, e.frames))); len(w) > 0 && stack != e {
			k.wrap = w[0].String()
		}
	}
	if message := keyMessage(root, in); !k.recursion && joins(lang, rootType, root, used) {
		k.template = lang.template(rootType, message)
	}
	if len(members) > 1 {
		for _, l := range members {
			sum := sha256.Sum256([]byte(l.short))
			k.leaves = append(k.leaves, hex.EncodeToString(sum[:16]))
		}
		slices.Sort(k.leaves)
		k.leaves = slices.Compact(k.leaves)
	}
	return k
}

// raisePoint is the text that stands for a member in the key of its group: with
// two callers more for each, every refactoring of a library would multiply over
// all combinations of members.
func (k key) raisePoint() string {
	if len(k.frames) > 1 {
		k.frames = k.frames[:1]
	}
	k.wrap = ""
	return k.text()
}

// joins says whether the message template belongs in the key: the type is a
// catch-all or names an identifier, or every used frame is the caller's own code
// in one file, so that the frames only say where a built-in was called.
func joins(lang *language, typ string, e *exception, used []frame) bool {
	if lang.constant[typ] {
		return false
	}
	if e.loaded {
		// The class's own stack tells the class; a generic one tells nothing.
		return lang.generic[typ] && !lang.namedByLoader(used)
	}
	if typ == "" || lang.generic[typ] || lang.identifier[typ] || e.steady != "" {
		return true
	}
	return lang.own != nil && oneOwnUnit(lang, used)
}

func oneOwnUnit(lang *language, used []frame) bool {
	for _, f := range used {
		if f.Unit != used[0].Unit || !lang.own(f) {
			return false
		}
	}
	return len(used) > 0
}

// keyMessage is the part of a message that may join a key: its first line, and
// the second where the first only announces it. Later lines are often document
// excerpts, or log lines that merely follow.
func keyMessage(e *exception, in Input) string {
	if e.steady != "" {
		return e.steady
	}
	text := strings.Join(e.message, "\n")
	if strings.TrimSpace(text) == "" {
		text = in.ErrorMessage
	}
	first := firstLine(text)
	if strings.HasSuffix(first, ":") || e.layered {
		return firstLines(text, 2)
	}
	return first
}

// withoutInlined drops the frames that a newer version of the runtime does not
// have, unless there are no others.
func withoutInlined(lang *language, frames []frame) []frame {
	if lang.inlined == nil || !slices.ContainsFunc(frames, lang.inlined) {
		return frames
	}
	kept := slices.DeleteFunc(slices.Clone(frames), lang.inlined)
	if len(kept) == 0 {
		return frames
	}
	return kept
}

// withoutNoise drops the frames at the top that every failure passes through.
// A stack made of nothing else is kept whole.
func withoutNoise(lang *language, frames []frame) []frame {
	for i, f := range frames {
		if !lang.noise(f) {
			return frames[i:]
		}
	}
	return frames
}

func (k key) text() string {
	var b canonical
	b.line("mode", ModeTrace)
	b.optional("type", k.typ)
	b.optional("root", k.rootType)
	if k.cycle != nil {
		for _, f := range k.cycle {
			b.line("cycle", f.String())
		}
	} else {
		for _, f := range k.frames {
			b.line("frame", f.String())
		}
	}
	b.optional("wrap", k.wrap)
	b.optional("msg", k.template)
	for _, l := range k.leaves {
		b.line("leaf", l)
	}
	return b.String()
}

func (k key) confidence() string {
	switch {
	case k.recursion || len(k.frames) == 0:
		return ConfidenceLow
	case len(k.frames) < maxKeyFrames || k.generic || k.loaded:
		return ConfidenceMedium
	}
	return ConfidenceHigh
}

// lastSegment returns the name of a type without its module, package or
// namespace: classes move between modules while the defect stays.
func lastSegment(typ string) string {
	typ = strings.TrimSpace(typ)
	if strings.ContainsAny(typ, " ") {
		return typ // "runtime error" and the like are not paths
	}
	typ = strings.TrimRight(typ, ".:\\/")
	if i := strings.LastIndexAny(typ, ".:\\/"); i >= 0 {
		typ = typ[i+1:]
	}
	return typ
}
