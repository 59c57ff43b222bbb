package fingerprint

import (
	"regexp"
	"strings"
)

// rust reads what the standard library prints for a panic, the reports of
// anyhow, eyre and color-eyre, and captured backtraces. A panic has no class:
// the template always joins the key.
var rust = language{
	name:          "rust",
	hints:         []string{"rust", "rs"},
	counts:        rustCounts,
	frame:         rustFrameAt,
	belongs:       func(line string) bool { return rustPlaceOf(line) != "" },
	parse:         parseRust,
	noise:         rustNoise,
	library:       rustLibrary,
	generic:       set(rustPanic, rustError),
	stackOverflow: set(rustStackOverflow),
	clean:         cleanRust,
}

const (
	rustPanic         = "panic"
	rustError         = "Error"
	rustStackOverflow = "stack overflow"
	rustOutOfMemory   = "memory allocation failed"
	rustFatal         = "fatal runtime error"
)

var (
	rustPlace     = regexp.MustCompile(`^((?:[A-Za-z]:[\\/])?[^:'"]+\.\w+):\d+(?::\d+)?:?$`)
	rustOldEnd    = regexp.MustCompile(`['"](?:,|:| at) \(?((?:[A-Za-z]:[\\/])?[^:'"]+\.\w+):\d+(?::\d+)?\)?$`)
	rustPrinted   = regexp.MustCompile(`\{ fn: "([^"]+)"(?:, file: "([^"]*)", line: \d+)? ?\}`)
	rustCauseItem = regexp.MustCompile(`^\s*\d+: (.*)$`)
	rustLocation  = regexp.MustCompile(`^\s*(?:Location:\s*|at )?((?:[A-Za-z]:[\\/])?[^:\s'"][^:'"]*\.rs):\d+(?::\d+)?$`)
	rustOverflows = regexp.MustCompile(`thread '[^']*'(?: \(\d+\))? has overflowed its stack`)
	rustAllocates = regexp.MustCompile(`memory allocation of \d+ bytes failed`)

	rustHash       = regexp.MustCompile(`::h[0-9a-f]{16,20}\w{0,4}$`)
	rustClosure    = regexp.MustCompile(`::(?:\{\{?[\w:#. -]*\}?\}|(?:closure|closure_env|async_fn|async_fn_env|async_block|async_block_env)\$\d+|closure\.\d+)`)
	rustCrateHash  = regexp.MustCompile(`\[[0-9a-f]{8,16}\]`)
	rustImplNumber = regexp.MustCompile(`(\bimpl\$|#)\d+`)
	rustVersion    = regexp.MustCompile(`-\d+\.\d+\S*$|-[0-9a-f]{16}$`)
	rustCheckout   = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
	rustValue      = regexp.MustCompile(`^(.*?): (?:[A-Z]\w*(?:::\w+)*(?:\s*[{(].*)?|"[^"]*"|\(.*)$`)
	rustTicked     = regexp.MustCompile("`([\\w:<>]+\\(\\))`")

	rustEscapes = strings.NewReplacer("_$LT$", "<", "$LT$", "<", "$GT$", ">", "$u20$", " ", "$u7b$", "{", "$u7d$", "}", "$u5b$", "[", "$u5d$", "]",
		"$RF$", "&", "$BP$", "*", "$C$", ",", "$LP$", "(", "$RP$", ")", "$u27$", "'", "$u3b$", ";", "$u2b$", "+", "..", "::")
)

// rustCounts takes the lines that only this runtime prints: numbered symbols and
// their places, and the header, since most panics come without a backtrace.
func rustCounts(line string) bool {
	switch {
	case strings.Contains(line, "panicked at "):
		if strings.Contains(line, "thread '") {
			return true
		}
		_, _, ok := rustHeader([]string{line}, 0)
		return ok
	case strings.Contains(line, ".rs:"):
		return rustPlaceOf(line) != "" || strings.HasPrefix(strings.TrimSpace(line), "Location:")
	case strings.Contains(line, "Caused by:"), strings.Contains(line, "Location:"):
		// Others write the cause on the same line.
		t := strings.TrimSpace(line)
		return t == "Caused by:" || t == "Location:"
	case strings.Contains(line, "has overflowed its stack"), strings.HasPrefix(line, "fatal runtime error: "), strings.HasPrefix(line, "The application panicked (crashed)."):
		return true
	case strings.Contains(line, "memory allocation of "):
		return rustAllocates.MatchString(line)
	case strings.Contains(line, `{ fn: "`):
		return rustPrinted.MatchString(line)
	}
	return rustSymbolOf(line) != ""
}

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

func rustFunction(symbol string) string {
	s := rustHash.ReplaceAllString(symbol, "")
	if strings.Contains(s, "$") {
		s = rustEscapes.Replace(s)
	}
	s = rustCrateHash.ReplaceAllString(s, "")
	s = rustClosure.ReplaceAllString(s, "")
	s = rustImplNumber.ReplaceAllString(s, "$1")
	return rustSelf(withoutTypeArguments(s))
}

// rustSelf writes <a::B>::f, as newer compilers name a method, as a::B::f.
func rustSelf(s string) string {
	if !strings.HasPrefix(s, "<") {
		return s
	}
	end := rustClosing(s)
	if end < 0 {
		return s
	}
	inner := s[1:end]
	if strings.Contains(inner, " ") || !strings.Contains(inner, "::") {
		return s
	}
	return inner + s[end+1:]
}

// rustClosing returns where the bracket that opens s ends; -1 if it does not.
func rustClosing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '<':
			depth++
		case s[i] == '>' && (i == 0 || s[i-1] != '-'):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// withoutTypeArguments drops <…> behind a name: one compiler prints them, the
// other does not. A bracket that starts a path segment is part of its name.
func withoutTypeArguments(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	dropped := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case dropped > 0 && c == '<':
			dropped++
		case dropped > 0 && c == '>' && s[i-1] != '-':
			dropped--
		case dropped > 0:
		case c == '<' && i > 0 && (isWord(rune(s[i-1])) || s[i-1] == '$'):
			dropped = 1
		case c == '<' && turbofish(s, i):
			dropped = 1
			trimmed := strings.TrimSuffix(b.String(), "::")
			b.Reset()
			b.WriteString(trimmed)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// turbofish says that the bracket at i holds type arguments, as in f::<T>: it
// closes at the end of its path, or the path's next segment is a closure.
func turbofish(s string, i int) bool {
	if i < 3 || s[i-2:i] != "::" || strings.HasPrefix(s[i:], "<impl ") {
		return false
	}
	end := rustClosing(s[i:min(len(s), i+2000)])
	return end > 0 && !strings.Contains(s[i:i+end], " as ") && (i+end+1 == len(s) || s[i+end+1] != ':')
}

// rustFileOf guesses the file of a function from its path: the last module, or
// the root of the crate.
func rustFileOf(function string) string {
	path := function
	for _, mark := range []string{"::<impl ", " as "} {
		if i := strings.Index(path, mark); i >= 0 {
			path = path[:i] + "::_"
			if mark == " as " {
				path += "::_" // the type itself stands where a function would
			}
		}
	}
	segments := strings.Split(strings.TrimLeft(path, "<&*"), "::")
	if len(segments) < 2 {
		return ""
	}
	last := segments[len(segments)-1]
	segments = segments[:len(segments)-1]
	for len(segments) > 1 {
		if s := segments[len(segments)-1]; s != "" && s != "_" && (s[0] < 'A' || s[0] > 'Z') {
			return s + ".rs"
		}
		segments = segments[:len(segments)-1]
	}
	if last == "main" {
		return "main.rs"
	}
	return "lib.rs"
}

var rustMachinery = []string{
	"core::", "std::", "alloc::", "__rustc::", "rust_begin_unwind", "rust_panic", "__rust", "_rust", "rust_oom", "backtrace::", "test::",
	"anyhow::", "eyre::", "color_eyre::", "stable_eyre::", "failure::", "snafu::", "sentry_panic::", "log_panics::", "human_panic::", "better_panic::",
	"tokio::runtime::", "tokio::task::", "tokio::loom::", "tokio::util::", "tokio::park::", "futures_util::", "futures_core::", "rayon::", "rayon_core::", "tracing::", "panic_unwind::",
	// before 2021, std's modules were printed without the crate
	"panicking::", "sys_common::", "sys::", "result::unwrap_failed", "option::expect_failed",
}

var rustEdges = set("main", "_main", "_start", "start_thread", "clone", "__clone", "clone3", "__clone3", "BaseThreadInitThunk", "RtlUserThreadStart", "invoke_main", "__scrt_common_main_seh", "thread_start", "_pthread_start", "_pthread_body", "__pthread_start")

// rustNoise tells the frames of the standard library and of error reporters.
// They stand between the caller's frames too (boxed closures, iterators), and
// what of them is left after inlining differs from build to build.
func rustNoise(f frame) bool {
	name := strings.TrimLeft(f.Function, "<&*(_[")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "mut "), "dyn ")
	if rustEdges[f.Function] || strings.HasPrefix(f.Function, "__libc_start") || strings.HasPrefix(f.Function, "__rust") {
		return true
	}
	for _, m := range rustMachinery {
		if strings.HasPrefix(name, m) {
			return true
		}
	}
	// <T as core::ops::FnOnce>::call_once: of a type that is not named, the
	// trait says whose it is.
	self, trait, ok := strings.Cut(name, " as ")
	if !ok || strings.Contains(self, "::") {
		return false
	}
	for _, m := range rustMachinery[:3] {
		if strings.HasPrefix(trait, m) {
			return true
		}
	}
	return strings.HasPrefix(trait, "anyhow::") || strings.HasPrefix(trait, "eyre::")
}

// rustLibrary goes by the file: cargo's registry and checkouts, a vendor folder,
// the compiler's own sources.
func rustLibrary(f frame) bool {
	p := strings.ReplaceAll(f.path, `\`, "/")
	return rustNoise(f) || strings.Contains(p, "/registry/src/") || strings.Contains(p, "/git/checkouts/") || strings.Contains(p, "/vendor/") ||
		strings.HasPrefix(p, "/rustc/") || strings.Contains(p, "/rustlib/src/") || strings.HasPrefix(p, "src/libstd/") || strings.HasPrefix(p, "src/libcore/") || strings.HasPrefix(p, "src/liballoc/")
}

// cleanRust cuts what one run put into a message: the value that was unwrapped,
// and the one that expect prints behind its text.
func cleanRust(typ, message string) string {
	if i := strings.Index(message, "on an `Err` value:"); i >= 0 {
		message = message[:i+len("on an `Err` value:")]
	} else if i := strings.Index(message, "on an `Ok` value:"); i >= 0 {
		message = message[:i+len("on an `Ok` value:")]
	} else if typ == rustPanic {
		if m := rustValue.FindStringSubmatch(message); m != nil {
			message = m[1] + ":"
		}
	}
	return rustTicked.ReplaceAllString(message, "$1")
}

func parseRust(lines []string) parsed {
	for i, line := range lines {
		switch {
		case strings.Contains(line, "panicked at "):
			if e, next, ok := rustHeader(lines, i); ok {
				e.frames = rustStack(lines, next, e.frames)
				return parsed{outer: e}
			}
		case strings.HasPrefix(strings.TrimSpace(line), "The application panicked (crashed)."):
			return parsed{outer: rustReport(lines, i)}
		case rustOverflows.MatchString(line):
			return parsed{outer: &exception{typ: rustStackOverflow, message: []string{"the thread has overflowed its stack"}, raised: i, frames: rustStack(lines, i+1, nil)}}
		case rustAllocates.MatchString(line):
			return parsed{outer: &exception{typ: rustOutOfMemory, message: []string{rustAllocates.FindString(line)}, raised: i, frames: rustStack(lines, i+1, nil)}}
		case strings.HasPrefix(line, "fatal runtime error: "):
			return parsed{outer: &exception{typ: rustFatal, message: []string{strings.TrimPrefix(line, "fatal runtime error: ")}, raised: i, frames: rustStack(lines, i+1, nil)}}
		}
	}
	return parsed{outer: rustErrorReport(lines)}
}

// rustHeader reads a panic's header at line i: place then message, or before
// 1.73 the quoted message then the place. It returns the line after it.
func rustHeader(lines []string, i int) (*exception, int, bool) {
	_, rest, ok := strings.Cut(lines[i], "panicked at ")
	if !ok {
		return nil, 0, false
	}
	e := &exception{typ: rustPanic, raised: i}
	rest = strings.TrimSpace(rest)
	if place := rustPlace.FindStringSubmatch(rest); place != nil {
		e.frames = rustPlaceFrames(place[1], i)
		e.message = []string{""} // the header itself holds nothing of it
		next := i + 1
		for next < len(lines) && !rustMessageEnds(lines[next]) && len(e.message) < maxLines {
			e.message = append(e.message, lines[next])
			next++
		}
		return e, next, true
	}
	if rest == "" || rest[0] != '\'' && rest[0] != '"' && rest[0] != '(' {
		return nil, 0, false
	}
	for next := i; next < len(lines); next++ {
		text := lines[next]
		if next == i {
			text = rest[1:]
		} else if rustMessageEnds(text) {
			break
		}
		if end := rustOldEnd.FindStringSubmatchIndex(text); end != nil {
			e.message = append(e.message, text[:end[0]])
			e.frames = rustPlaceFrames(text[end[2]:end[3]], i)
			return e, next + 1, true
		}
		e.message = append(e.message, text)
	}
	e.message = e.message[:min(1, len(e.message))]
	return e, i + 1, len(e.message) > 0
}

// rustMessageEnds says that a panic's message ends above the line.
func rustMessageEnds(line string) bool {
	t := strings.TrimSpace(line)
	return strings.HasPrefix(t, "note: ") || strings.EqualFold(t, "stack backtrace:") || strings.Contains(line, "panicked at ") || strings.HasPrefix(t, "thread panicked") || rustSymbolOf(line) != ""
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
	p := strings.ReplaceAll(path, `\`, "/")
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

// rustReport reads color-eyre's report of a panic.
func rustReport(lines []string, i int) *exception {
	e := &exception{typ: rustPanic, raised: i}
	var place []frame
	for j := i + 1; j < len(lines) && j <= i+40; j++ {
		t := strings.TrimSpace(lines[j])
		if message, ok := strings.CutPrefix(t, "Message:"); ok && e.message == nil {
			e.message, e.raised = []string{strings.TrimSpace(message)}, j
		}
		if m := rustLocation.FindStringSubmatch(t); m != nil && strings.HasPrefix(t, "Location:") && place == nil {
			place = rustPlaceFrames(m[1], j)
		}
	}
	e.frames = rustStack(lines, i+1, place)
	return e
}

// rustErrorReport reads an error that reached main or a log with its causes:
// what anyhow and eyre print for {:?}. The deepest cause is what went wrong.
func rustErrorReport(lines []string) *exception {
	e := &exception{typ: rustError, raised: -1}
	var causes []string
	var place []frame
	inCauses, stackAt := false, 0
	for i, line := range lines {
		t := strings.TrimSpace(line)
		switch {
		case rustSymbolOf(line) != "" && rustFrameAt(lines, i) != nil, strings.HasPrefix(strings.ToLower(t), "stack backtrace:"):
			inCauses = false
			if stackAt == 0 {
				stackAt = i
			}
		case stackAt > 0:
		case t == "Caused by:":
			inCauses = true
		case t == "Location:" || strings.HasPrefix(t, "Location:"):
			inCauses = false
		case strings.Contains(line, ".rs:") && rustLocation.MatchString(line):
			if place == nil {
				place = rustPlaceFrames(rustLocation.FindStringSubmatch(line)[1], i)
			}
		case inCauses && t != "" && line != t:
			if m := rustCauseItem.FindStringSubmatch(line); m != nil {
				t = m[1]
			}
			causes = append(causes, t)
		case t == "Error:":
			inCauses, e.raised = true, i // color-eyre numbers the error itself too
		case t == "":
		case strings.HasPrefix(t, "Error: "):
			inCauses = false
			e.raised, e.message = i, []string{strings.TrimPrefix(t, "Error: ")}
		default:
			inCauses = false
			if e.message == nil && len(causes) == 0 {
				e.raised, e.message = i, []string{t}
			}
		}
	}
	if e.message == nil && len(causes) > 0 {
		e.message, causes = causes[:1], causes[1:]
	}
	if len(causes) > 0 {
		e.steady = causes[len(causes)-1]
	}
	e.frames = rustStack(lines, stackAt, place)
	if e.message == nil && len(e.frames) == 0 {
		return nil
	}
	return e
}
