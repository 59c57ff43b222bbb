package fingerprint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// native reads what debuggers, sanitizers, crash handlers and crash reporters
// print for C, C++ and whatever else has no runtime of its own to do it. They
// agree on little but a function and where it lives. There is seldom an
// exception: the signal, or what the sanitizer calls the fault, is the type.
var native = language{
	name:    "native",
	hints:   []string{"native", "c", "c++", "cpp", "objective-c", "swift"},
	counts:  nativeCounts,
	frame:   nativeFrameAt,
	belongs: func(line string) bool { return strings.HasPrefix(line, "   ") || strings.HasPrefix(line, "\t") },
	parse:   parseNative,
	noise:   nativeNoise,
	library: nativeLibrary,
	generic: set("SIGABRT", "abort", nativeAssertion, nativeCheck, "runtime error", "runtime_error", "logic_error", "exception", "FATAL ERROR"),
	// What a sanitizer calls it, and what Windows does.
	stackOverflow: set("stack-overflow", "STACK_OVERFLOW", "EXCEPTION_STACK_OVERFLOW"),
	clean:         cleanNative,
}

const (
	nativeAssertion = "Assertion failed"
	nativeCheck     = "Check failed"
)

// The layouts of a frame, each named after who prints it.
var (
	// gdb: #1  0x… in f (a=1) at x.c:12, or from /lib/x.so.6; lldb: frame #1: 0x… app`f(a=1) at x.c:12:3.
	nativeGDB  = regexp.MustCompile(`^#\d+\s+(?:0x[0-9a-fA-F]+ in )?(.+?) ?\(.*?(?:\) (at|from) (.+?)(?::\d+(?::\d+)?)?|\))$`)
	nativeLLDB = regexp.MustCompile("^\\s*\\*? ?frame #\\d+: 0x[0-9a-fA-F]+ ([^`]*)`(.+?)(?: \\+ \\d+)?(?: at ([^ ]+?):\\d+(?::\\d+)?)?(?: \\[[^\\]]*\\])*$")
	// sanitizers: #1 0x… in f(int) /x.c:12:3, or (/lib/x.so.6+0x…); without an address from ThreadSanitizer.
	nativeSanitizer = regexp.MustCompile(`^#\d+ (?:0x[0-9a-fA-F]+ )?(?:in )?((?:\(anonymous namespace\)|[^\s(]).*?)?(?:\s*\(([^()\s]+?)\s?\+ ?0x[0-9a-fA-F]+\)| (<null>|(?:[A-Za-z]:[\\/]|/|\.{1,2}/)?[^\s()\[\]]+\.\w+|[^\s()\[\]]*/[^\s()\[\]]+)(?::\d+(?::\d+)?)?(?: \([^()]*\+0x[0-9a-fA-F]+\))?)?(?: \(BuildId: [0-9a-f]*\))?$`)
	nativeChromium  = regexp.MustCompile(`^#\d+ 0x[0-9a-fA-F]+ (.+?) \[([^\]\s]+?)(?::\d+(?::\d+)?|\+0x[0-9a-fA-F]+)?\]$`)
	// systemd-coredump: #1  0x… f (libx.so.6 + 0x…).
	nativeCoredump = regexp.MustCompile(`^#\d+\s+0x[0-9a-fA-F]+ (\S.*?) \((\S+) \+ 0x[0-9a-fA-F]+\)$`)
	// Android: #01 pc 0004f2c4  /lib/x.so (f+164) (BuildId: …).
	nativeAndroid = regexp.MustCompile(`^#\d+\s+pc [0-9a-fA-F]+\s+(\S+)(?: \(offset 0x[0-9a-fA-F]+\))?(?: \((.+?)(?:\+\d+)?\))?(?: \(BuildId: [0-9a-f]+\)| \[\S+\]|: Routine .*)?$`)
	// backward-cpp: #1    Source "/x.cpp", line 12, in f; Object "/x.so", at 0x…, in f.
	nativeBackward = regexp.MustCompile(`^#\d+\s+(?:Source|Object) "([^"]*)", (?:line \d+|at 0x[0-9a-fA-F]+),(?: in (.*?)(?: \[0x[0-9a-fA-F]+\])?)?$`)
	// Valgrind, once its process number is cut off: at 0x…: f (x.c:12), by 0x…: f (in /lib/x.so).
	nativeValgrind = regexp.MustCompile(`^(?:==\d+==\s+)?\s*(?:at|by) 0x[0-9A-Fa-f]+: (.+?) \((?:in (\S.*?)|([^()\s]+):\d+)\)$`)
	nativeUnnamed  = regexp.MustCompile(`^(?:==\d+==\s+)?\s*(?:at|by) 0x[0-9A-Fa-f]+: (\S+)$`)
	// glibc: /lib/x.so.6(f+0x1f)[0x…].
	nativeGlibc = regexp.MustCompile(`^\s*(?:\d+\s+|\[\w+\]\s+)?((?:/|\.{1,2}/|[\w.-]+)[^\s()]*) ?\(([^()+]*(?:\([^()]*\)[^()+]*)*)?(?:\+0x[0-9a-fA-F]+)?\) ?\[(?:0x)?[0-9a-fA-F]+\]$`)
	// glog, Abseil, folly:     @     0x… f.
	nativeGlog = regexp.MustCompile(`^(?:PC: )?@\s+(?:0x)?[0-9a-fA-F]{6,16}(?:\s+(?:\(unknown\)\s|\d+\s)?\s*(\S.*?))?$`)
	// Boost.Stacktrace and std::stacktrace:  1# f at /x.cpp:12, or in ./app.
	nativeBoost = regexp.MustCompile(`^\s*\d+# (.+?)(?: (?:at|in) ((?:[A-Za-z]:[\\/])?[^:]+?)(?::\d+)?)?(?: \[0x[0-9a-fA-F]+\])?$`)
	// Node and V8:  1: 0x… f(int) [/usr/bin/node].
	nativeV8 = regexp.MustCompile(`^\s*\d+: 0x[0-9a-fA-F]+ (?:- )?(.+?) \[([^\]]+)\]$`)
	// WinDbg, Process Monitor, Visual Studio: module!f+0x1f [x.cpp @ 12].
	nativeWindows = regexp.MustCompile("^\\s*>?\\s*(?:[0-9a-fA-F]{2,3} +)?(?:(?:[0-9a-fA-F`]{8,17}|\\(Inline(?: Function)?\\)|-{8}`?-{8}|-{8})\\s+(?:: )?)*(?:[0-9a-fA-F`]{8,17}\\s+: )?([\\w.-]+![^\\[]+?)(?:\\+0x[0-9a-fA-F]+)?(?: Line \\d+(?:\\s+C\\S*)?)?(?:\\s*\\[([^\\]]+?)(?: ?@ ?\\d+|\\(\\d+\\))\\])?\\s*$")
	// a Windows program's own handler: 00007FFD4BE7DDAA 01:000000000003CDAA x.dll!f+0x4a C:\x.c+633.
	nativeSection = regexp.MustCompile(`^[0-9A-F]{8,16} \d\d:[0-9A-F]{8,16} ([^\s!]+)(?:!(\S.*?)\+0x[0-9a-fA-F]+(?: (\S.*)\+\d+)?)?$`)
	// WinDbg without a symbol: 00007fff`62c33370 … pdfium+0x3370.
	nativeOffsetOnly = regexp.MustCompile("^(?:[0-9a-fA-F]{2,3} +)?(?:[0-9a-fA-F]{8}`?[0-9a-fA-F]{8}\\s+(?:: )?)+([\\w.-]+)\\+0x[0-9a-fA-F]+$")
	// Solaris: libx.so.8`f+0x26c(1, 2).
	nativeSolaris = regexp.MustCompile("^([\\w.+-]+)`([\\w.$@~]+)(?:\\+0x[0-9a-f]+)?\\([0-9a-f, ]*\\)$")
	// Breakpad, Crashpad:  1  libx.so!f [x.cc : 12 + 0x5], libx.so + 0x12.
	nativeBreakpad = regexp.MustCompile(`^\s*\d+\s+([\w.+-]+)(?:!(.+?)(?: \[(\S+) : \d+ \+ 0x[0-9a-fA-F]+\]| \+ 0x[0-9a-fA-F]+)?| \+ 0x[0-9a-fA-F]+)$`)
	// macOS: 1   libx.dylib   0x… f + 123 (x.cpp:12).
	nativeApple = regexp.MustCompile(`^\d+\s+(\S.*?)\s+0x[0-9a-fA-F]{6,}\s+(.+?)(?: \+ \d+)?(?: \(([^()\s]+):\d+\))?(?: \[inlined\])?$`)
	// the JVM's own crash report: C  [libx.so+0x…]  f+0x1f.
	nativeHotspot = regexp.MustCompile(`^[CV]\s+\[([^\]\s+]+)(?:\+0x[0-9a-fA-F]+)?\](?:\s+(\S.*))?$`)
	nativeJava    = regexp.MustCompile(`^[jJ]\s+(?:\d+\s+(?:c[12]\s+)?)?([\w$.]+)\.([\w$<>]+)\(`)
)

var (
	nativePHP      = regexp.MustCompile(`^#\d+ [^()]+\(\d+\): `)
	nativeHandler  = regexp.MustCompile(`^#\d+\s+<signal handler called>`)
	nativeNumber   = regexp.MustCompile(`^\s*(?:\* )?(?:Stack )?(?:frame )?#?([0-9a-f]{1,3})(?:#|:|\s)`)
	nativeGDBHead  = regexp.MustCompile(`^#\d+\s+(?:0x[0-9a-fA-F]+ in )?[^\s(/\[{].*`)
	nativeOffset   = regexp.MustCompile(`\+0x[0-9a-fA-F]+$`)
	nativeSuffix   = regexp.MustCompile(`(?:\.(?:isra|constprop|part|cold|lto_priv|llvm)(?:\.\d+)*|@@?[A-Z]+_[\w.]+|@plt)+$`)
	nativeClone    = regexp.MustCompile(` \[clone [^\]]*\]|\[abi:\w+\]`)
	nativeLibFile  = regexp.MustCompile(`(\.so)(?:\.[\d.]+)?$|-[\d.]+(\.so)(?:\.[\d.]+)?$|\.\d+(?:\.\d+)*(\.dylib)$`)
	nativeLambda   = regexp.MustCompile(`\{lambda\([^{}]*\)#\d+\}|<lambda\([^<>]*\)>|<lambda_[0-9a-f]+>|'lambda\d*'(?:\([^()]*\))?|\$_\d+`)
	nativeNumbered = regexp.MustCompile(`(DisplayClass|b__|d__)\d+(?:_\d+)?`)
	nativeCrashed  = regexp.MustCompile(`(?i)^Thread \d+.*\bcrashed\b`)
	nativeThread   = regexp.MustCompile(`^Thread (\d+) \(`)
)

func nativeCounts(line string) bool {
	if nativeFrame(line) != nil {
		return true
	}
	typ, _ := nativeHeadline(line)
	return typ != ""
}

// nativeFrame reads a frame that is complete on one line; nil if it is none.
func nativeFrame(line string) *frame {
	t := strings.TrimSpace(line)
	if len(t) < 4 || len(t) > 4096 {
		return nil
	}
	switch {
	case t[0] == '#':
		return nativeHashFrame(t)
	case strings.HasPrefix(t, "Stack frame #"):
		return nativeHashFrame(strings.TrimPrefix(t, "Stack frame "))
	case strings.HasPrefix(t, "* frame #"), strings.HasPrefix(t, "frame #"):
		if m := nativeLLDB.FindStringSubmatch(t); m != nil {
			return nativeMade(m[2], m[3], m[1])
		}
		return nil
	case strings.HasPrefix(t, "=="), strings.HasPrefix(t, "at 0x"), strings.HasPrefix(t, "by 0x"):
		if m := nativeValgrind.FindStringSubmatch(t); m != nil {
			return nativeMade(m[1], m[3], m[2])
		}
		if m := nativeUnnamed.FindStringSubmatch(t); m != nil {
			return nativeMade(m[1], "", "")
		}
		return nil
	case t[0] == '@', strings.HasPrefix(t, "PC: @"):
		if m := nativeGlog.FindStringSubmatch(t); m != nil {
			return nativeMade(m[1], "", "")
		}
		return nil
	case t[len(t)-1] == ']' && strings.Contains(t, "("):
		if m := nativeGlibc.FindStringSubmatch(t); m != nil {
			return nativeMade(m[2], "", m[1])
		}
	case t[0] == 'C' || t[0] == 'V' || t[0] == 'j' || t[0] == 'J':
		if f := nativeHotspotFrame(t); f != nil {
			return f
		}
	}
	if t[len(t)-1] == ')' && strings.Contains(t, "`") {
		if m := nativeSolaris.FindStringSubmatch(t); m != nil {
			return nativeMade(m[2], "", m[1])
		}
	}
	if len(t) > 28 && strings.Contains(t[:28], ":0") {
		if m := nativeSection.FindStringSubmatch(t); m != nil {
			return nativeMade(m[2], m[3], m[1])
		}
	}
	if strings.Contains(t, "!") {
		return nativeBangFrame(t)
	}
	if t[0] < '0' || t[0] > '9' {
		return nil
	}
	if strings.Contains(t, "`") && strings.Contains(t, "+0x") {
		if m := nativeOffsetOnly.FindStringSubmatch(t); m != nil {
			return nativeMade("", "", m[1])
		}
		return nil
	}
	if m := nativeBoost.FindStringSubmatch(t); m != nil {
		return nativePlaced(m[1], m[2])
	}
	if !strings.Contains(t, "0x") {
		return nil
	}
	if m := nativeV8.FindStringSubmatch(t); m != nil {
		return nativeMade(m[1], "", m[2])
	}
	if m := nativeApple.FindStringSubmatch(t); m != nil && !strings.HasSuffix(m[1], ":") {
		return nativeMade(appleSymbol(m[2]), m[3], m[1])
	}
	if m := nativeBreakpad.FindStringSubmatch(t); m != nil {
		return nativeMade(m[2], m[3], m[1])
	}
	return nil
}

// nativeHashFrame reads the layouts that number frames as #1. PHP does so too:
// its number is followed by a path and arguments.
func nativeHashFrame(t string) *frame {
	if strings.Contains(t, nativeSignalFrame) && nativeHandler.MatchString(t) {
		return &frame{Frame: Frame{Function: nativeSignalFrame}}
	}
	if strings.Contains(t, "): ") && nativePHP.MatchString(t) {
		return nil
	}
	if strings.Contains(t, ` "`) {
		if m := nativeBackward.FindStringSubmatch(t); m != nil {
			return nativePlaced(m[2], m[1])
		}
	}
	if strings.Contains(t, " pc ") {
		if m := nativeAndroid.FindStringSubmatch(t); m != nil {
			return nativeMade(m[2], "", m[1])
		}
	}
	if strings.Contains(t, " + 0x") {
		if m := nativeCoredump.FindStringSubmatch(t); m != nil {
			return nativeMade(m[1], "", m[2])
		}
	}
	if strings.Contains(t, " at ") || strings.Contains(t, " from ") || strings.HasSuffix(t, ")") && strings.Contains(t, " in ") && strings.Contains(t, "  0x") {
		if m := nativeGDB.FindStringSubmatch(t); m != nil && !phpCall(m[1]) {
			if m[2] == "from" {
				return nativeMade(m[1], "", m[3])
			}
			return nativeMade(m[1], m[3], "")
		}
	}
	if t[len(t)-1] == ']' {
		if m := nativeChromium.FindStringSubmatch(t); m != nil {
			return nativePlaced(m[1], m[2])
		}
	}
	if !strings.Contains(t, " 0x") && !strings.Contains(t, "+0x") && !strings.Contains(t, "+ 0x") {
		return nil
	}
	if m := nativeSanitizer.FindStringSubmatch(t); m != nil && !phpCall(m[1]) {
		return nativeMade(strings.TrimPrefix(m[1], "in "), strings.Trim(m[3], "<>"), m[2])
	}
	return nil
}

func phpCall(function string) bool {
	return function != "" && strings.IndexByte("/[{", function[0]) >= 0
}

// nativeBangFrame reads module!function as Windows tools print it, and as
// Breakpad does, which numbers in decimal and has no columns of addresses. What
// stands for the file is the file; without one the module stays on the name.
func nativeBangFrame(t string) *frame {
	if '0' <= t[0] && t[0] <= '9' && (strings.Contains(t, " : ") || strings.Contains(t, " + 0x")) {
		if m := nativeBreakpad.FindStringSubmatch(t); m != nil {
			return nativeMade(m[2], m[3], m[1])
		}
	}
	if t[len(t)-1] == ':' {
		return nil // the instruction that failed, not a frame
	}
	if !strings.Contains(t, "0x") && !strings.Contains(t, "@") && !strings.Contains(t, " Line ") && !strings.Contains(t, "`") {
		return nil
	}
	m := nativeWindows.FindStringSubmatch(t)
	if m == nil {
		return nil
	}
	module, function, _ := strings.Cut(m[1], "!")
	name := nativeFunction(function)
	if name == "" {
		return nil
	}
	return &frame{Frame: Frame{Function: clip(module+"!"+name, 300), Unit: clip(baseName(m[2]), 200)}, path: m[2]}
}

// nativeHotspotFrame reads the native and the Java frames of the JVM's report.
func nativeHotspotFrame(t string) *frame {
	if m := nativeHotspot.FindStringSubmatch(t); m != nil {
		return nativeMade(m[2], "", m[1])
	}
	if m := nativeJava.FindStringSubmatch(t); m != nil && strings.Contains(t, "+") {
		return &frame{Frame: Frame{Function: clip(m[2], 200), Unit: clip(m[1], 300)}}
	}
	return nil
}

// nativePlaced makes a frame whose place is a source file or a binary.
func nativePlaced(symbol, place string) *frame {
	if nativeIsBinary(place) {
		return nativeMade(symbol, "", place)
	}
	return nativeMade(symbol, place, "")
}

func nativeIsBinary(path string) bool {
	name := baseName(path)
	return !strings.Contains(name, ".") || strings.Contains(name, ".so") || strings.HasSuffix(name, ".dylib") || strings.HasSuffix(name, ".dll") || strings.HasSuffix(name, ".exe")
}

// nativeMade makes a frame of a symbol with its source file or, for want of one,
// its module. Where neither the function nor where it lives is known it is nil.
func nativeMade(symbol, file, module string) *frame {
	name := nativeFunction(symbol)
	unit, path := baseName(strings.TrimSpace(file)), file
	if unit == "" || unit == "null" || unit == "unknown" {
		unit, path = nativeModule(module), module
	}
	if name == "" && unit == "" {
		return nil
	}
	return &frame{Frame: Frame{Function: clip(name, 300), Unit: clip(unit, 200)}, path: path}
}

// nativeModule is a module's name without its directory and version.
func nativeModule(path string) string {
	name := baseName(strings.TrimSpace(path))
	if i := strings.LastIndex(path, "!"); i >= 0 {
		name = path[i+1:] // x.apk!libx.so
	}
	if strings.Contains(name, ".so") || strings.HasSuffix(name, ".dylib") {
		return nativeLibFile.ReplaceAllString(name, "$1$2$3")
	}
	return name
}

// appleSymbol drops what stands in place of a symbol that is not known: an
// address of the image.
func appleSymbol(s string) string {
	if strings.HasPrefix(s, "0x") || s == "???" {
		return ""
	}
	return s
}

// nativeFunction reduces a symbol to the path of its function: no arguments, no
// template arguments, no return type, nothing that the compiler or the dynamic
// linker added.
func nativeFunction(symbol string) string {
	s := strings.TrimSpace(symbol)
	switch s {
	case "??", "???", "n/a", "(unknown)", "unknown", "<unknown>", "<unknown module>", "(below", "0x0":
		return ""
	}
	if strings.HasPrefix(s, "0x") && strings.Trim(s[2:], "0123456789abcdefABCDEF") == "" {
		return ""
	}
	if strings.Contains(s, "+0x") {
		s = nativeOffset.ReplaceAllString(s, "")
	}
	if strings.ContainsAny(s, ".@") {
		s = nativeSuffix.ReplaceAllString(s, "")
	}
	if strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "__Z") {
		s = demangled(s)
	}
	if strings.Contains(s, "::h") && rustHash.MatchString(s) || strings.Contains(s, "$LT$") || strings.Contains(s, "{{closure}}") {
		return rustFunction(s)
	}
	if strings.HasPrefix(s, "-[") || strings.HasPrefix(s, "+[") {
		return s // an Objective-C method
	}
	if strings.Contains(s, "[") {
		s = nativeClone.ReplaceAllString(s, "")
	}
	if strings.Contains(s, "lambda") || strings.Contains(s, "$_") {
		s = nativeLambda.ReplaceAllString(s, "{lambda}")
	}
	if strings.Contains(s, "__") {
		s = nativeNumbered.ReplaceAllString(s, "$1")
	}
	s = strings.ReplaceAll(s, "(anonymous namespace)", "{anonymous}")
	s = strings.ReplaceAll(s, "`anonymous namespace'", "{anonymous}")
	s = strings.ReplaceAll(s, "`anonymous-namespace'", "{anonymous}")
	s = withoutReturnType(withoutArguments(s))
	if strings.Contains(s, "std::__") {
		s = inlineNamespaces.Replace(s)
	}
	return s
}

// inlineNamespaces are the standard libraries' own, of one version or another.
var inlineNamespaces = strings.NewReplacer("std::__1::", "std::", "std::__ndk1::", "std::", "std::__cxx11::", "std::")

// withoutArguments drops argument lists and template arguments. Brackets that
// belong to an operator's name stay.
func withoutArguments(s string) string {
	if !strings.ContainsAny(s, "(<") {
		return s
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if depth == 0 && c == 'o' && strings.HasPrefix(s[i:], "operator") && (i == 0 || !isWord(rune(s[i-1]))) {
			n := operatorLength(s[i:])
			b.WriteString(s[i : i+n])
			i += n - 1
			continue
		}
		switch {
		case c == '(' || c == '<' && i > 0 && !strings.HasPrefix(s[i:], "<>"):
			depth++
		case depth > 0 && (c == ')' || c == '>' && s[i-1] != '-'):
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	out := strings.TrimSpace(b.String())
	for _, qualifier := range []string{" const", " volatile", " &&", " &", " noexcept"} {
		out = strings.TrimSuffix(out, qualifier)
	}
	return strings.TrimSpace(out)
}

// operatorLength is how much of s, which starts with "operator", is the
// operator's name.
func operatorLength(s string) int {
	n := len("operator")
	if strings.HasPrefix(s[n:], "()") {
		return n + 2
	}
	for n < len(s) && strings.IndexByte("<>=-+*/%^&|~!,[]", s[n]) >= 0 {
		n++
		if s[n-1] == '<' && n < len(s) && isWord(rune(s[n])) && n > len("operator")+1 {
			return n - 1 // operator==<T>
		}
	}
	return n
}

// withoutReturnType drops what stands before the name of a template's function.
func withoutReturnType(s string) string {
	name := s
	if i := strings.Index(s, "operator"); i >= 0 {
		name = s[:i]
	}
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		return s[i+1:]
	}
	return s
}

// demangled decodes the names of an Itanium-mangled symbol and leaves out its
// types. What it cannot read it leaves as it is.
func demangled(symbol string) string {
	s := strings.TrimPrefix(strings.TrimPrefix(symbol, "_"), "_Z")
	s = strings.TrimPrefix(s, "Z")
	nested := strings.HasPrefix(s, "N")
	if nested {
		s = strings.TrimLeft(s[1:], "rVK")
	}
	var names []string
	for s != "" && len(names) < 32 {
		if rest, ok := strings.CutPrefix(s, "St"); ok {
			names, s = append(names, "std"), rest
			continue
		}
		switch c := s[0]; {
		case c >= '1' && c <= '9':
			digits := 1
			for digits < len(s) && digits < 4 && s[digits] >= '0' && s[digits] <= '9' {
				digits++
			}
			n, _ := strconv.Atoi(s[:digits])
			if digits+n > len(s) {
				return symbol
			}
			name := s[digits : digits+n]
			if strings.HasPrefix(name, "_GLOBAL__N") {
				name = "{anonymous}"
			}
			names, s = append(names, name), s[digits+n:]
		case c == 'L':
			s = s[1:]
			continue
		case c == 'I' && len(names) > 0:
			s = afterTemplateArguments(s)
			continue
		case (c == 'C' || c == 'D') && len(names) > 0 && len(s) > 1 && s[1] >= '0' && s[1] <= '5':
			last := names[len(names)-1]
			if c == 'D' {
				last = "~" + last
			}
			names, s = append(names, last), s[2:]
		default:
			s = ""
		}
		if !nested && (len(names) == 0 || names[len(names)-1] != "std") {
			break
		}
	}
	if len(names) == 0 {
		return symbol
	}
	return strings.Join(names, "::")
}

// afterTemplateArguments returns what follows the mangled arguments, I…E, that s
// starts with; "" where they do not end.
func afterTemplateArguments(s string) string {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '1' && c <= '9':
			digits := i
			for i < len(s) && i-digits < 4 && s[i] >= '0' && s[i] <= '9' {
				i++
			}
			n, _ := strconv.Atoi(s[digits:i])
			i += n - 1
		case c == 'S':
			i++ // a substitution: its letter opens nothing
		case strings.IndexByte("INXJLF", c) >= 0:
			depth++
		case c == 'E':
			if depth--; depth == 0 {
				return s[i+1:]
			}
		}
	}
	return ""
}

// nativeFrameAt reads the frame at line i. gdb breaks long argument lists over
// lines that it indents.
func nativeFrameAt(lines []string, i int) *frame {
	line := lines[i]
	if strings.HasPrefix(strings.TrimSpace(line), "#") && nativeGDBHead.MatchString(strings.TrimSpace(line)) && len(line) < 1024 {
		for j := i + 1; j < len(lines) && j <= i+4 && nativeGoesOn(line, lines[j]); j++ {
			line += " " + strings.TrimSpace(lines[j])
		}
	}
	f := nativeFrame(line)
	if f == nil {
		return nil
	}
	f.line = i
	return f
}

// nativeGoesOn says that gdb broke a frame between two lines: in an argument
// list, or before the place.
func nativeGoesOn(line, next string) bool {
	if len(next) > 1024 || !strings.HasPrefix(next, "   ") {
		return false
	}
	if strings.Count(line, "(") > strings.Count(line, ")") {
		return true
	}
	rest := strings.TrimSpace(next)
	return strings.HasSuffix(line, ")") && (strings.HasPrefix(rest, "from ") || strings.HasPrefix(rest, "at "))
}

// parseNative takes the stack of the thread that crashed, and the first line
// that says why.
func parseNative(lines []string) parsed {
	e := nativeReason(lines)
	stack := nativeCrashStack(nativeStacks(lines))
	e.frames = capped(afterSignal(stack))
	if len(e.frames) == 0 && e.raised < 0 {
		return parsed{}
	}
	if len(e.frames) == 0 {
		e.frames = nativePlaceOf(lines, e.raised)
	}
	return parsed{outer: e}
}

// nativeStack is one run of frames with what was said of its thread.
type nativeStack struct {
	frames  []frame
	thread  int // gdb's number; 0 where there is none
	crashed bool
	// outermostFirst says that the frames are numbered downwards.
	outermostFirst bool
}

// innermostFirst returns the frames in the order of this package.
func (s nativeStack) innermostFirst() []frame {
	if s.outermostFirst {
		slices.Reverse(s.frames)
	}
	return s.frames
}

func nativeStacks(lines []string) []nativeStack {
	var stacks []nativeStack
	last, rising, blank := -1, false, true
	next := nativeStack{}
	for i, line := range lines {
		if f := nativeFrameAt(lines, i); f != nil {
			number := nativeNumberOf(line)
			falling := last > 0 && number == last-1 && !rising
			if len(stacks) == 0 || number == 0 && !falling || number < 0 && blank {
				if len(stacks) == maxExceptions {
					return stacks
				}
				stacks, next, last, rising = append(stacks, next), nativeStack{}, -1, false
			}
			stacks[len(stacks)-1].outermostFirst = falling
			rising = rising || last >= 0 && number > last
			last, blank = number, false
			s := &stacks[len(stacks)-1]
			if len(s.frames) < maxLines {
				s.frames = append(s.frames, *f)
			}
			continue
		}
		if strings.TrimSpace(line) == "" {
			blank = true
			continue
		}
		if m := nativeThread.FindStringSubmatch(line); m != nil {
			next.thread, _ = strconv.Atoi(m[1])
			blank = true
		}
		if strings.HasPrefix(line, "Thread ") && nativeCrashed.MatchString(line) {
			next.crashed = true
			blank = true
		}
	}
	return stacks
}

func nativeNumberOf(line string) int {
	t := strings.TrimSpace(line)
	m := nativeNumber.FindStringSubmatch(t)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseInt(m[1], 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// nativeCrashStack chooses the thread that is said to have crashed, or that shows
// how it did; gdb's thread 1 is the one that got the signal. Else the first: what
// follows is where memory was freed or allocated.
func nativeCrashStack(stacks []nativeStack) []frame {
	if len(stacks) == 0 {
		return nil
	}
	threads := false
	for _, s := range stacks {
		if s.crashed {
			return s.innermostFirst()
		}
		threads = threads || s.thread > 0
	}
	if !threads {
		return stacks[0].innermostFirst()
	}
	for _, s := range stacks {
		for _, f := range s.frames {
			if f.Function == nativeSignalFrame || f.Function == "abort" || f.Function == "__GI_abort" || f.Function == "raise" || f.Function == "__GI_raise" {
				return s.innermostFirst()
			}
		}
	}
	for _, s := range stacks {
		if s.thread == 1 {
			return s.innermostFirst()
		}
	}
	return stacks[0].innermostFirst()
}

const nativeSignalFrame = "<signal handler called>"

var nativeTrampolines = set(nativeSignalFrame, "_sigtramp", "__restore_rt", "__kernel_rt_sigreturn", "__sigaction", "ntdll!KiUserExceptionDispatcher", "ntdll!KiUserExceptionDispatch")

// afterSignal drops the handler that ran on the stack of what it handles, and
// the machinery of raising above the code. A C library without symbols in the
// middle of a stack that aborts is where the handler was entered.
func afterSignal(frames []frame) []frame {
	aborts := false
	for _, f := range frames {
		aborts = aborts || f.Function == "abort" || f.Function == "gsignal" || f.Function == "raise"
	}
	for i := len(frames) - 2; i >= 0; i-- {
		f := frames[i]
		if nativeTrampolines[f.Function] || aborts && f.Function == "" && nativeLibc(f) && !nativeLibc(frames[i+1]) && !nativeStartsProgram(frames[i+1:]) {
			frames = frames[i+1:]
			break
		}
	}
	for i, f := range frames {
		if !nativeNoise(f) {
			return frames[i:]
		}
	}
	return frames
}

func nativeLibc(f frame) bool {
	return strings.HasPrefix(f.Unit, "libc.so") || strings.HasPrefix(f.Unit, "libc-") || strings.HasPrefix(f.Unit, "libpthread") || f.Unit == "libsystem_platform.dylib"
}

func nativeStartsProgram(rest []frame) bool {
	return len(rest) < 2 || rest[0].Function == "_start"
}

var nativeMachinery = []string{
	"__interceptor_", "___interceptor_", "__interposed_", "wrap_", "__asan", "__ubsan", "__msan", "__tsan", "__lsan", "__hwasan", "__sanitizer", "asan_", "_asan_", "sanitizer_", "fuzzer::", "__cxa_", "__cxxabiv1::", "__gxx_", "_Unwind_",
	"__libc_", "__GI_", "__pthread_kill", "__assert", "__stack_chk", "__fortify", "__chk_fail", "__memcpy", "__memmove", "__memset", "__memcmp", "__strlen", "__strcpy", "__strcmp", "__strncpy", "__strchr", "__mem", "__str",
	"std::terminate", "std::__terminate", "std::__throw", "std::rethrow", "std::abort", "std::__glibcxx_assert", "std::__1::__throw", "std::unexpected", "__gnu_cxx::", "demangling_terminate_handler", "abort_message", "_objc_terminate", "objc_exception_", "__exceptionPreprocess", "+[NSException", "-[NSException", "_CF_throw",
	"boost::stacktrace::", "base::debug::", "logging::LogMessage", "logging::CheckError", "google::LogMessage", "google::logging_fail", "google::(", "absl::", "llvm::sys::PrintStackTrace", "llvm::sys::RunSignalHandlers", "backward::", "folly::symbolizer", "cpptrace::",
	"malloc_", "malloc@", "_int_", "szone_", "nanov2_", "tiny_free", "free_list", "_malloc", "_platform_mem", "_platform_str", "_szone", "qt_message", "QMessageLogger::", "qFatal", "g_assertion", "g_logv", "g_log", "_g_log", "_invoke_watson", "_invalid_parameter", "_CxxThrow", "RaiseException", "RtlRaise", "_CallSETranslator", "_purecall",
	"operator new", "operator delete", "v8::base::OS::Abort", "V8_Fatal", "v8::internal::V8::FatalProcessOutOfMemory", "node::Abort", "node::OnFatalError", "node::OOMErrorHandler", "v8::Utils::ReportOOMFailure",
}

var nativeMachineryNames = set(nativeSignalFrame, "raise", "gsignal", "abort", "_abort", "kill", "killpg", "pthread_kill", "tgkill", "terminate", "_sigtramp", "__restore_rt", "malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "posix_memalign", "aligned_alloc", "memalign", "_free_base", "_malloc_base",
	"memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strcpy", "strncpy", "strcmp", "strncmp", "strcat", "strchr", "strdup", "strndup", "backtrace", "print_backtrace", "_exit", "exit", "printf", "abort_with_payload", "__abort", "__kill", "DebugBreak", "__debugbreak", "Abort", "report_invalid_pointer")

// nativeSystemModules raise and carry exceptions on Windows.
var nativeSystemModules = set("ntdll", "kernelbase", "kernel32", "ucrtbase", "ucrtbased", "vcruntime140", "vcruntime140d", "vcruntime140_1", "msvcrt", "msvcr120", "msvcr110", "msvcr100", "msvcp140", "wow64", "wow64cpu", "verifier", "vrfcore")

func nativeNoise(f frame) bool {
	name := f.Function
	if module, rest, ok := strings.Cut(name, "!"); ok {
		module = strings.TrimSuffix(strings.ToLower(module), ".dll")
		if nativeSystemModules[module] {
			return true
		}
		name = rest
	}
	if name == "" {
		return nativeLibc(f) || f.Unit == "" || nativeSystemModules[strings.TrimSuffix(strings.ToLower(f.Unit), ".dll")]
	}
	if nativeMachineryNames[name] || strings.HasPrefix(f.Unit, "vg_") || strings.HasPrefix(f.Unit, "vgpreload") {
		return true
	}
	for _, m := range nativeMachinery {
		if strings.HasPrefix(name, m) {
			return true
		}
	}
	return strings.Contains(name, "::") && rustNoise(f) && !strings.HasPrefix(name, "std::")
}

func nativeLibrary(f frame) bool {
	p := strings.ReplaceAll(f.path, `\`, "/")
	return nativeNoise(f) || strings.Contains(f.Unit, ".so") || strings.HasSuffix(f.Unit, ".dylib") || strings.HasPrefix(p, "/usr/") || strings.HasPrefix(p, "/lib") || strings.Contains(p, "/sysdeps/") || strings.HasPrefix(f.Function, "std::") || strings.HasPrefix(f.Function, "__libc_start")
}

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

// nativeHeadline reads a line that says why a program died: what to call it, and
// its message. Both are empty for any other line.
func nativeHeadline(line string) (typ, message string) {
	if len(line) > 2048 || !containsAny(line, nativeHeadlineHints) {
		return "", ""
	}
	t := strings.TrimSpace(line)
	if m := nativeFault.FindStringSubmatch(t); m != nil {
		return nativeFaultName(m[1]), m[1]
	}
	if m := nativeSummary.FindStringSubmatch(t); m != nil {
		return m[1], t
	}
	if m := nativeUncaught.FindStringSubmatch(t); m != nil {
		return m[1], m[2]
	}
	if m := nativeLibFuzzer.FindStringSubmatch(t); m != nil {
		return m[1], m[1]
	}
	if m := nativeUndefined.FindStringSubmatch(t); m != nil {
		return "runtime error", m[2]
	}
	if m := nativeThrown.FindStringSubmatch(t); m != nil {
		return m[1], m[2]
	}
	if nativeTerminated.MatchString(t) {
		return "SIGABRT", t
	}
	if m := nativeGlibcError.FindStringSubmatch(t); m != nil {
		return strings.TrimSpace(m[1]), strings.TrimSpace(m[1] + strings.TrimSuffix(m[2], " ***"))
	}
	if m := nativeAssert.FindStringSubmatch(t); m != nil {
		return nativeAssertion, m[1] + m[2] + m[3]
	}
	if m := nativeChecked.FindStringSubmatch(t); m != nil {
		return nativeCheck, m[1]
	}
	if m := nativeMemcheck.FindStringSubmatch(t); m != nil {
		return m[1], strings.TrimPrefix(t, "==")
	}
	return nativeSignal(t)
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// nativeSignal names the signal or the exception of the operating system.
func nativeSignal(t string) (typ, message string) {
	if m := nativeNamed.FindStringSubmatch(t); m != nil {
		if m[1] != "" {
			return m[1], t
		}
		return m[2], t
	}
	if strings.Contains(t, "xception") || strings.Contains(t, "rror") || strings.Contains(t, "ode") {
		if m := nativeCode.FindStringSubmatch(t); m != nil {
			return nativeCodes[strings.ToLower(m[1])], t
		}
	}
	if m := nativeSignaled.FindStringSubmatch(t); m != nil && nativeSignals[m[1]] != "" {
		return nativeSignals[m[1]], t
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
	if m := nativeUndefined.FindStringSubmatch(strings.TrimSpace(lines[at])); m != nil {
		return []frame{{Frame: Frame{Unit: clip(baseName(m[1]), 200)}, path: m[1], line: at}}
	}
	return nil
}

// cleanNative drops what a signal's line holds beside its name.
func cleanNative(typ, message string) string {
	if strings.HasPrefix(typ, "SIG") {
		return ""
	}
	return message
}
