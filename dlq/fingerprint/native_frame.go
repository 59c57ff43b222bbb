package fingerprint

import (
	"regexp"
	"strings"
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
	nativePHP     = regexp.MustCompile(`^#\d+ [^()]+\(\d+\): `)
	nativeHandler = regexp.MustCompile(`^#\d+\s+<signal handler called>`)
	nativeNumber  = regexp.MustCompile(`^\s*(?:\* )?(?:Stack )?(?:frame )?#?([0-9a-f]{1,3})(?:#|:|\s)`)
	nativeGDBHead = regexp.MustCompile(`^#\d+\s+(?:0x[0-9a-fA-F]+ in )?[^\s(/\[{].*`)
	nativeLibFile = regexp.MustCompile(`(\.so)(?:\.[\d.]+)?$|-[\d.]+(\.so)(?:\.[\d.]+)?$|\.\d+(?:\.\d+)*(\.dylib)$`)
	nativeCrashed = regexp.MustCompile(`(?i)^Thread \d+.*\bcrashed\b`)
	nativeThread  = regexp.MustCompile(`^Thread (\d+) \(`)
)

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
		if m := nativeGDB.FindStringSubmatch(t); m != nil && !pathNotName(m[1]) {
			if m[2] == "from" || nativeLibFile.MatchString(m[3]) {
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
	if m := nativeSanitizer.FindStringSubmatch(t); m != nil && !pathNotName(m[1]) {
		return nativeMade(strings.TrimPrefix(m[1], "in "), strings.Trim(m[3], "<>"), m[2])
	}
	return nil
}

func pathNotName(function string) bool {
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

// nativeFrameAt reads the frame at line i. gdb breaks long argument lists over
// lines that it indents.
func nativeFrameAt(lines []string, i int) *frame {
	line := lines[i]
	if i+1 < len(lines) && nativeGoesOn(line, lines[i+1]) && strings.HasPrefix(strings.TrimSpace(line), "#") && nativeGDBHead.MatchString(strings.TrimSpace(line)) && len(line) < 1024 {
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
