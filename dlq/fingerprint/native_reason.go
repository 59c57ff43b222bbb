package fingerprint

import (
	"regexp"
	"strings"
)

// The lines that say why, each in the words of who prints it.
var (
	nativeFault      = regexp.MustCompile(`(?:ERROR|WARNING): (?:Address|Leak|Memory|Thread|HWAddress|UndefinedBehavior)Sanitizer:? ?(?:attempting )?(.*)$`)
	nativeSummary    = regexp.MustCompile(`SUMMARY: (?:\w+Sanitizer|libFuzzer): (?:\d+ byte\(s\) )?([A-Za-z][\w-]*(?: race| (?:leaked|deadlock))?)`)
	nativeUndefined  = regexp.MustCompile(`^(\S+):\d+:\d+: runtime error: (.*)$`)
	nativeLibFuzzer  = regexp.MustCompile(`ERROR: libFuzzer: ([\w-]+(?: signal)?)`)
	nativeThrown     = regexp.MustCompile(`terminat\w+ (?:called after throwing an instance of|due to uncaught exception of type) '?([\w:]+)(?:<.*?>)?'?(?:: ?(.*))?$`)
	nativeUncaught   = regexp.MustCompile(`Terminating app due to uncaught exception '(\w+)'(?:, reason: '(.*?)'?)?$`)
	nativeTerminated = regexp.MustCompile(`^terminate called (?:without an active exception|recursively)|terminating due to (uncaught foreign exception|unexpected exception)|terminating$`)
	nativeGlibcError = regexp.MustCompile("^(?:\\*\\*\\* (?:Error in [`'].*?': )?)?(double free or corruption|free\\(\\): [a-z -]+|malloc\\(\\): [a-z ]+|realloc\\(\\): [a-z ]+|munmap_chunk\\(\\): [a-z ]+|malloc_consolidate\\(\\): [a-z ]+|corrupted (?:size vs\\. prev_size|double-linked list)[a-z ]*|stack smashing detected|buffer overflow detected|longjmp causes uninitialized stack frame|invalid pointer)\\b(.*)$")
	nativeAssert     = regexp.MustCompile("(?:^|: )Assertion [`'](.*)' failed\\.?|Assertion failed: \\(?(.*?)\\)?, (?:function|file) |^(?:ASSERT|CHECK) failed: (.*)$")
	nativeChecked    = regexp.MustCompile(`(?:FATAL|F\d{4}).*\] ?(?:Check failed: )(.*)$`)
	nativeMemcheck   = regexp.MustCompile(`^(?:==\d+==\s*)?(Invalid (?:read|write|free\(\))|Conditional jump or move depends on uninitialised value\(s\)|Use of uninitialised value|Mismatched free\(\)|Syscall param \S+ points to|Jump to the invalid address|Source and destination overlap in \w+)`)
	nativeNamed      = regexp.MustCompile(`\b(SIG(?:SEGV|ABRT|BUS|FPE|ILL|TRAP|SYS|KILL|XCPU))\b|\b(EXCEPTION_(?:ACCESS_VIOLATION|STACK_OVERFLOW|INT_DIVIDE_BY_ZERO|ILLEGAL_INSTRUCTION|BREAKPOINT|GUARD_PAGE|IN_PAGE_ERROR)\w*)`)
	nativeSignaled   = regexp.MustCompile(`(?i)\bsignal:? (\d+)\b`)
	nativeCode       = regexp.MustCompile(`(?i)(?:0x)?(c0000005|c00000fd|c0000094|c000001d|c0000374|c0000409|80000003|e06d7363|c0000006)\b`)
	nativeOOM        = regexp.MustCompile(`^FATAL ERROR: (.*)$`)
	nativeWhat       = regexp.MustCompile(`^\s*what\(\):\s*(.*)$`)
	nativeSegfault   = regexp.MustCompile(`(?i)^(?:.*: )?(?:line \d+: \s*\d+ )?Segmentation fault\b`)
)

var nativeSignals = map[string]string{"4": "SIGILL", "5": "SIGTRAP", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE", "9": "SIGKILL", "11": "SIGSEGV"}

// nativeCodes are the exceptions of Windows, by the names of its headers.
var nativeCodes = map[string]string{"c0000005": "ACCESS_VIOLATION", "c00000fd": "STACK_OVERFLOW", "c0000094": "INTEGER_DIVIDE_BY_ZERO", "c000001d": "ILLEGAL_INSTRUCTION",
	"c0000374": "HEAP_CORRUPTION", "c0000409": "STACK_BUFFER_OVERRUN", "80000003": "BREAKPOINT", "e06d7363": "CPP_EXCEPTION", "c0000006": "IN_PAGE_ERROR"}

var nativeHeadlineHints = []string{"anitizer", "runtime error: ", "libFuzzer", "terminat", "***", "free", "malloc", "corrupt", "smashing", "realloc", "munmap", "sserti", "ASSERT", "Check failed", "CHECK failed",
	"==", "nvalid", "ninitialised", "SIG", "EXCEPTION_", "ignal", "c0000", "C0000", "80000003", "e06d7363", "E06D7363", "FATAL ERROR: ", "egmentation fault"}

// nativeHeadlines are the forms of such lines, each with texts without one of
// which no line has it, and what it says.
var nativeHeadlines = []struct {
	signs []string
	shape *regexp.Regexp
	read  func(line string, m []string) (typ, message string)
}{
	{[]string{"anitizer"}, nativeFault, func(_ string, m []string) (string, string) { return nativeFaultName(m[1]), m[1] }},
	{[]string{"SUMMARY: "}, nativeSummary, func(line string, m []string) (string, string) { return m[1], line }},
	{[]string{"Terminating app"}, nativeUncaught, func(_ string, m []string) (string, string) { return m[1], m[2] }},
	{[]string{"libFuzzer: "}, nativeLibFuzzer, func(_ string, m []string) (string, string) { return m[1], m[1] }},
	{[]string{"runtime error: "}, nativeUndefined, func(_ string, m []string) (string, string) { return "runtime error", m[2] }},
	{[]string{"terminat"}, nativeThrown, func(_ string, m []string) (string, string) { return m[1], m[2] }},
	{[]string{"terminat"}, nativeTerminated, func(line string, _ []string) (string, string) { return "SIGABRT", line }},
	{[]string{"free", "malloc", "realloc", "munmap_", "corrupted ", "smashing", "overflow", "longjmp", "invalid pointer"}, nativeGlibcError, func(_ string, m []string) (string, string) {
		return strings.TrimSpace(m[1]), strings.TrimSpace(m[1] + strings.TrimSuffix(m[2], " ***"))
	}},
	{[]string{"ssertion ", "ASSERT", "CHECK"}, nativeAssert, func(_ string, m []string) (string, string) { return nativeAssertion, m[1] + m[2] + m[3] }},
	{[]string{"Check failed: "}, nativeChecked, func(_ string, m []string) (string, string) { return nativeCheck, m[1] }},
	{[]string{"Invalid ", "Conditional ", "ninitialised ", "Mismatched ", "Syscall ", "Jump ", "overlap "}, nativeMemcheck, func(line string, m []string) (string, string) {
		return m[1], strings.TrimPrefix(line, "==")
	}},
}

// nativeHeadline reads a line that says why a program died: what to call it, and
// its message. Both are empty for any other line.
func nativeHeadline(line string) (typ, message string) {
	if len(line) > 2048 || !holdsSign(line, nativeHeadlineHints) {
		return "", ""
	}
	t := strings.TrimSpace(line)
	for _, h := range nativeHeadlines {
		if !holdsSign(t, h.signs) {
			continue
		}
		if m := h.shape.FindStringSubmatch(t); m != nil {
			return h.read(t, m)
		}
	}
	return nativeSignal(t)
}

var nativeCodeHints = []string{"c0000", "C0000", "80000003", "e06d7363", "E06D7363"}

func nativeNamedIn(t string) []string {
	if !strings.Contains(t, "SIG") && !strings.Contains(t, "EXCEPTION_") {
		return nil
	}
	return nativeNamed.FindStringSubmatch(t)
}

// nativeSignal names the signal or the exception of the operating system.
func nativeSignal(t string) (typ, message string) {
	if m := nativeNamedIn(t); m != nil {
		if m[1] != "" {
			return m[1], t
		}
		return m[2], t
	}
	if holdsSign(t, nativeCodeHints) && (strings.Contains(t, "xception") || strings.Contains(t, "rror") || strings.Contains(t, "ode")) {
		if m := nativeCode.FindStringSubmatch(t); m != nil {
			return nativeCodes[strings.ToLower(m[1])], t
		}
	}
	if strings.Contains(t, "ignal") || strings.Contains(t, "IGNAL") {
		if m := nativeSignaled.FindStringSubmatch(t); m != nil && nativeSignals[m[1]] != "" {
			return nativeSignals[m[1]], t
		}
	}
	if m := nativeOOM.FindStringSubmatch(t); m != nil {
		return "FATAL ERROR", m[1]
	}
	if nativeSegfault.MatchString(t) {
		return "SIGSEGV", t
	}
	return "", ""
}

// nativeFaultName is what a sanitizer calls a fault; some it only describes.
func nativeFaultName(text string) string {
	switch {
	case strings.HasPrefix(text, "free on address which was not"):
		return "bad-free"
	case strings.HasPrefix(text, "requested allocation size"), strings.HasPrefix(text, "allocator is "):
		return "allocation-size-too-big"
	case strings.HasPrefix(text, "DEADLYSIGNAL"):
		return ""
	case strings.HasPrefix(text, "detected memory leaks"):
		return "memory leak"
	}
	for _, end := range []string{" on ", " (", ": ", " in ", "\n"} {
		if i := strings.Index(text, end); i >= 0 {
			text = text[:i]
		}
	}
	return text
}

// nativeReason finds why the program died. A signal is the poorest answer: what
// the program said before it got one says more.
func nativeReason(lines []string) *exception {
	e := &exception{raised: -1}
	poor := true
	for i, line := range lines {
		if m := nativeWhat.FindStringSubmatch(line); m != nil && e.raised >= 0 && len(e.message) == 1 && e.message[0] == "" {
			e.message[0] = m[1]
			continue
		}
		typ, message := nativeHeadline(line)
		if typ == "" {
			continue
		}
		weak := strings.HasPrefix(typ, "SIG") || strings.HasPrefix(typ, "EXCEPTION_") || nativeCodes[strings.ToLower(typ)] != ""
		if e.raised >= 0 && (!poor || weak) {
			continue
		}
		if e.raised >= 0 && nativeFrameBetween(lines[e.raised:i]) {
			break // said of another stack
		}
		e.typ, e.message, e.raised, poor = typ, []string{message}, i, weak
	}
	return e
}

func nativeFrameBetween(lines []string) bool {
	for i := range lines {
		if nativeFrame(lines[i]) != nil {
			return true
		}
	}
	return false
}

// nativePlaceOf is the frame of a fault that was reported without a stack but
// with its place: by the compiler's checks, or in the head of the JVM's report.
func nativePlaceOf(lines []string, at int) []frame {
	for i := at; i < len(lines) && i < at+40; i++ {
		if rest, ok := strings.CutPrefix(lines[i], "# "); ok && len(rest) > 3 && strings.IndexByte("CVjJ", rest[0]) >= 0 {
			if f := nativeHotspotFrame(rest); f != nil {
				f.line = i
				return []frame{*f}
			}
		}
	}
	for i := at + 1; i < len(lines) && i < at+6; i++ {
		if f := nativeShownFrame(lines, i); f != nil {
			return []frame{*f}
		}
	}
	if m := nativeUndefined.FindStringSubmatch(strings.TrimSpace(lines[at])); m != nil {
		return []frame{{Frame: Frame{Unit: clip(baseName(m[1]), 200)}, path: m[1], line: at}}
	}
	return nil
}

// nativeShownFrame reads the innermost frame as gdb shows it before anybody asks
// for the others: without a number, over several lines.
func nativeShownFrame(lines []string, i int) *frame {
	if !strings.HasPrefix(lines[i], "0x") || !strings.Contains(lines[i], " in ") {
		return nil
	}
	place := "#0  " + strings.TrimSpace(lines[i])
	for j := i + 1; j < len(lines) && j < i+4; j++ {
		if strings.Contains(place, ") at ") || strings.Contains(place, ") from ") {
			break
		}
		place += " " + strings.TrimSpace(lines[j])
	}
	f := nativeFrame(clip(place, maxLine))
	if f != nil {
		f.line = i
	}
	return f
}

// cleanNative drops what a signal's line holds beside its name.
func cleanNative(typ, message string) string {
	if strings.HasPrefix(typ, "SIG") {
		return ""
	}
	return message
}
