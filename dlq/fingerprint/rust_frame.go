package fingerprint

import (
	"regexp"
	"strings"
)

var (
	rustPrinted  = regexp.MustCompile(`\{ fn: "([^"]+)"(?:, file: "([^"]*)", line: \d+)? ?\}`)
	rustVersion  = regexp.MustCompile(`-\d+\.\d+\S*$|-[0-9a-f]{16}$`)
	rustCheckout = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
)

// rustPlaceOf reads the line under a symbol; "" if it is none. It is written out
// since every line of every trace passes here.
func rustPlaceOf(line string) string {
	if !strings.Contains(line, " at ") || len(line) > longestRustLine {
		return ""
	}
	place, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "at ")
	if !ok || strings.ContainsAny(place, "()") {
		return ""
	}
	path := withoutNumber(place)
	if path == place {
		return ""
	}
	path = withoutNumber(path)
	if strings.HasSuffix(path, ".rs") || strings.ContainsAny(path, `/\`) && strings.LastIndexByte(path, '.') > strings.LastIndexAny(path, `/\`) {
		return path
	}
	return ""
}

// withoutNumber drops a line or column, ":12", from the end of s.
func withoutNumber(s string) string {
	t := strings.TrimRight(s, "0123456789")
	if t == s || !strings.HasSuffix(t, ":") || len(t) < 3 {
		return s
	}
	return t[:len(t)-1]
}

// longestRustLine is more than the longest symbol with its type arguments.
const longestRustLine = 8 << 10

// rustSymbolOf reads the symbol of a numbered line; "" if it is none. A list of
// causes is numbered too: a symbol has a path and no sentence.
func rustSymbolOf(line string) string {
	if len(line) > longestRustLine {
		return ""
	}
	t := strings.TrimLeft(line, " \t")
	s := strings.TrimLeft(t, "0123456789")
	if s == t || !strings.HasPrefix(s, ": ") {
		return ""
	}
	s = strings.TrimSpace(s[2:])
	if address, rest, ok := strings.Cut(s, " - "); ok && strings.HasPrefix(address, "0x") && !strings.Contains(address, " ") {
		s = strings.TrimSpace(rest)
	}
	if !strings.Contains(s, "::") {
		if rustEdges[s] || s == "<unknown>" || strings.HasPrefix(s, "rust_") || strings.HasPrefix(s, "__rust") || strings.HasPrefix(s, "__libc_start") {
			return s
		}
		return ""
	}
	if !isWord(rune(s[0])) && strings.IndexByte("<&{*[($", s[0]) < 0 || strings.HasPrefix(s, "0x") || strings.Contains(s, ": ") || rustSentence(s) {
		return ""
	}
	return s
}

// rustSentence says that s has a blank outside of brackets.
func rustSentence(s string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			if s[i] != '>' || i == 0 || s[i-1] != '-' {
				depth--
			}
		case ' ':
			if depth <= 0 {
				return true
			}
		}
	}
	return false
}

// rustFrameAt reads the symbol at line i with the place under it. A function
// that was inlined has no number of its own; its place says that it is one.
func rustFrameAt(lines []string, i int) *frame {
	symbol, path := rustSymbolOf(lines[i]), ""
	if i+1 < len(lines) {
		path = rustPlaceOf(lines[i+1])
	}
	if symbol == "" && path != "" && i > 0 && rustPlaceOf(lines[i-1]) != "" {
		if s := strings.TrimSpace(lines[i]); strings.HasPrefix(lines[i], "    ") && strings.Contains(s, "::") && !rustSentence(s) {
			symbol = s
		}
	}
	if symbol == "" || symbol == "<unknown>" {
		return nil
	}
	f := rustFrame(symbol, path)
	f.line = i
	return &f
}

// rustFrame normalises a symbol. Its unit is the file; without debug information
// there is none, and the module that the symbol names is the best guess at it.
func rustFrame(symbol, path string) frame {
	function := rustFunction(symbol)
	unit := baseName(path)
	if unit == "" {
		unit = rustFileOf(function)
	}
	return frame{Frame: Frame{Function: clip(function, 300), Unit: clip(unit, 200)}, path: path}
}

// rustPlaceFrames makes a frame of the place of a panic, for want of a stack. A
// registry's path names the crate as well, and lib.rs is a file of every crate.
func rustPlaceFrames(path string, line int) []frame {
	frames := []frame{{Frame: Frame{Unit: baseName(path)}, path: path, line: line}}
	if crate := rustCrateOf(path); crate != "" {
		frames = append(frames, frame{Frame: Frame{Unit: crate}, path: path, line: line})
	}
	return frames
}

// rustCrateOf reads the crate off a path that cargo made, without its version.
func rustCrateOf(path string) string {
	p := withSlashes(path)
	if !strings.Contains(p, "/registry/src/") && !strings.Contains(p, "/git/checkouts/") && !strings.Contains(p, "/vendor/") {
		return ""
	}
	folder, _, ok := cutLast(p, "/src/")
	if !ok {
		folder, _, _ = cutLast(p, "/")
	}
	parent, name, _ := cutLast(folder, "/")
	if rustCheckout.MatchString(name) {
		name = baseName(parent)
	}
	return rustVersion.ReplaceAllString(name, "")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// rustStack reads the backtrace that follows a header, up to the next header: a
// second panic, while the first was being handled, is not the defect. Without a
// backtrace the place of the panic is all there is.
func rustStack(lines []string, i int, place []frame) []frame {
	var all []frame
	for ; i < len(lines) && len(all) < maxLines; i++ {
		if len(all) > 0 && strings.Contains(lines[i], "panicked at ") || strings.HasPrefix(lines[i], "thread panicked while") {
			break
		}
		if f := rustFrameAt(lines, i); f != nil {
			if rustRestarts(lines[i]) && len(all) > 0 {
				break // another backtrace
			}
			all = append(all, *f)
			continue
		}
		all = append(all, rustPrintedFrames(lines[i], i)...)
	}
	if kept := rustOwnFrames(all); len(kept) > 0 {
		return capped(kept)
	}
	if len(place) > 0 {
		return place
	}
	return capped(all)
}

func rustRestarts(line string) bool {
	t := strings.TrimSpace(line)
	return strings.HasPrefix(t, "0:")
}

// rustPrintedFrames reads a backtrace that was printed with {:?}: all on one
// line.
func rustPrintedFrames(line string, at int) []frame {
	if !strings.Contains(line, `{ fn: "`) {
		return nil
	}
	var frames []frame
	for _, m := range rustPrinted.FindAllStringSubmatch(line, maxFrames) {
		f := rustFrame(m[1], m[2])
		f.line = at
		frames = append(frames, f)
	}
	return frames
}

func rustOwnFrames(frames []frame) []frame {
	var kept []frame
	for _, f := range frames {
		if !rustNoise(f) {
			kept = append(kept, f)
		}
	}
	return kept
}
