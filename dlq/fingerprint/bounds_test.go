package fingerprint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fragments are what hostile or broken traces are made of.
var fragments = []string{
	pythonTrace, javaTrace, goTrace, nodeTrace, "Traceback (most recent call last):\n", "  File \"/a/b.py\", line 1, in f\n", "  + Exception Group Traceback (most recent call last):\n",
	"  +-+---------------- 1 ----------------\n", "    +---------------- 2 ----------------\n", "    +------------------------------------\n", "  | ", "    | ",
	pyDirectCause + "\n", pyContext + "\n", "\"\"\"\n", "x.RemoteTraceback: \n", "  [Previous line repeated 984 more times]\n", "KeyError: 'a'\n", "Caused by: java.io.IOException: x\n", "\tSuppressed: a.B: c\n",
	"Wrapped by: a.B: c\n", "\t... 3 more\n", "[CIRCULAR REFERENCE: x]\n", "\tat a.B.c(B.java:1)\n", "panic: x [recovered]\n", "\tpanic: y\n", "goroutine 1 [running]:\n", "main.f(...)\n", "\t/a/b.go:1 +0x1\n",
	"fatal error: stack overflow\n", "created by main.main\n", "  [cause]: Error: x\n", "  [errors]: [\n", "    at f (/a/b.js:1:2) {\n", "  name: 'X',\n", "  message: 'y'\n", "}\n", "[AggregateError: x] {\n", "{\"stack\":\"", "\\n\\n", "\x1b[31m", "&quot;", "\u0000",
	rustTrace, psTrace, psThrow, asanTrace, gdbTrace, "thread 'main' panicked at src/a.rs:1:2:\n", "thread 'main' panicked at 'x', src/a.rs:1:2\n", "stack backtrace:\n", "   0: a::b::{{closure}}::h0123456789abcdef\n", "             at ./src/a.rs:1:2\n", "Caused by:\n", "    0: x\n",
	"Location:\n", "{ fn: \"a::b\", file: \"a.rs\", line: 1 }", "_ZN1a1bE", "<a::B<c> as d>::e", "At C:\\a b\\c.ps1:1 char:2\n", "+     x\n", "+     ~\n", "    + CategoryInfo          : A: (b:C) [D], E\n", "    + FullyQualifiedErrorId : F\n", "X: /a.ps1:1\n", "Line |\n", "  1 | x\n", "    | ~\n", "at <ScriptBlock>, <No file>: line 1\n",
	"#0  0x1 in f (a=1) at a.c:3\n", "#1 <signal handler called>\n", "    #0 0x1 in f(int) /a/b.cc:1:2\n", "==1== Invalid read of size 4\n", "==1==    at 0x4C2: f (a.c:1)\n", "/lib/a.so(f+0x1)[0x2]\n", "0000`0001 0000`0002 m!f+0x3\n", "0   a.dylib   0x000000010a f + 1\n", "Thread 0 Crashed:\n", "Thread 1 (Thread 0x1):\n", " 1# f at a.cpp:3\n", "C  [a.so+0x1]  f+0x2\n", "SIGSEGV\n",
	dotnetTrace, rubyTrace, phpTrace, "   at A.B.C(String s) in C:\\a.cs:line 1\n", " ---> A.B.InnerException: x\n", "A.B.OuterException: x ---> A.B.InnerException: y\n", "   --- End of inner exception stack trace ---\n",
	"---> (Inner Exception #0) A.B.InnerException: x<---\n", "<---", "[A.PageException: x]\n   A.B.C(String s) +12\n", "Stack overflow.\nRepeat 9 times:\n--------\n", "  HResult=0x8\n", "Inner Exception 1:\n",
	"/a/b.rb:1:in `f': x (E::F)\n", "\tfrom /a/b.rb:1:in `g'\n", "\t2: from /a/b.rb:1:in `g'\n", "E::FError: x\n/a/b.rb:1:in `g'\n", "Caused by:\n", "\t ... 9 levels...\n",
	"PHP Fatal error:  Uncaught A\\B: x in /a/b.php:1\nStack trace:\n", "#0 /a/b.php(1): A\\B->c('x')\n", "#1 [internal function]: {closure}()\n", "#2 {main}\n", "\nNext A\\C: y in /a/b.php:1\nStack trace:\n",
	"[object] (A\\\\B(code: 0): x at /a/b.php:1)\n[stacktrace]\n", "[previous exception] ", "PHP   1. {main}() /a/b.php:0\n", " A->b() at /a/b.php:1\n", "  at /a/b.php:1\n", "  1  /a/b.php:1\n      A::b()\n", " Stack trace: #0 ",
	"\xff", "(", "[", "'", "\"", "{", "\t", "2026-02-11T09:42:13Z w ", "\r", " ", "\n",
}

func drawTrace(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 25).Draw(t, "pieces") {
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			b.WriteString(rapid.StringN(0, 20, 80).Draw(t, "text"))
			continue
		}
		b.WriteString(rapid.SampledFrom(fragments).Draw(t, "fragment"))
	}
	return b.String()
}

func checkResult(t interface {
	Errorf(string, ...any)
	Helper()
}, in Input) {
	t.Helper()
	r := Of(in)
	if len(r.Digest) != 32 || r.Version != "f1" || !strings.HasPrefix(r.Canonical, "f1\nmode="+r.Mode+"\n") || len(r.Frames) > 3 || r.Confidence == "" {
		t.Errorf("malformed result %+v", r)
	}
	if again := Of(in); again.Canonical != r.Canonical {
		t.Errorf("not the same twice:\n%s\n%s", r.Canonical, again.Canonical)
	}
	for i, l := range Annotate(in, r) {
		if i >= maxLines || (l.Kind == LineKey) != (l.Frame >= 0) || l.Frame >= len(r.Frames) {
			t.Errorf("line %d: %+v", i, l)
		}
	}
}

func TestAnyTraceGivesAWellFormedResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkResult(t, Input{Trace: drawTrace(t), ErrorType: rapid.String().Draw(t, "type"), ErrorMessage: rapid.String().Draw(t, "message"), Validation: drawTrace(t)})
	})
}

func TestAnyTraceIsTheSameUnderDressing(t *testing.T) {
	stack := func(t *rapid.T) string {
		switch rapid.SampledFrom([]string{"python", "jvm", "go", "javascript", "rust", "native", "dotnet", "ruby", "php"}).Draw(t, "language") {
		case "dotnet":
			b := rapid.StringMatching(`Acme\.[a-z]{1,5}\.[A-Z][a-z]{1,9}Exception: [a-zA-Z0-9 '(),.]{0,40}x`).Draw(t, "error") + "\n"
			for range rapid.IntRange(1, 12).Draw(t, "depth") {
				b += rapid.StringMatching(`   at Acme\.[A-Z][a-z]{1,5}\.[A-Z][a-z]{1,9}\((String [a-z]{1,9})?\)( in /src/[a-z]{1,9}\.cs:line [1-9][0-9]{0,3})?`).Draw(t, "frame") + "\n"
			}
			return b
		case "ruby":
			b := "/app/a.rb:1:in `f': " + rapid.StringMatching(`[a-zA-Z0-9 ,.]{0,40}x \([A-Z][a-z]{1,9}Error\)`).Draw(t, "error") + "\n"
			for range rapid.IntRange(1, 12).Draw(t, "depth") {
				b += rapid.StringMatching("\tfrom /(app|gems)/[a-z]{1,9}\\.rb:[1-9][0-9]{0,3}:in `[a-z]{1,9}'").Draw(t, "frame") + "\n"
			}
			return b
		case "php":
			b := "PHP Fatal error:  Uncaught " + rapid.StringMatching(`Acme\\[A-Z][a-z]{1,9}Exception: [a-zA-Z0-9 ,.]{0,40}x`).Draw(t, "error") + " in /app/a.php:3\nStack trace:\n"
			for n := range rapid.IntRange(1, 12).Draw(t, "depth") {
				b += fmt.Sprintf("#%d ", n) + rapid.StringMatching(`/(app|vendor)/[a-z]{1,9}\.php\([1-9][0-9]{0,3}\): Acme\\[A-Z][a-z]{1,9}->[a-z]{1,9}\('[a-z]{0,9}'\)`).Draw(t, "frame") + "\n"
			}
			return b
		case "python":
			var frames []string
			for range rapid.IntRange(1, 12).Draw(t, "depth") {
				frames = append(frames, rapid.StringMatching(`[a-z_]{1,9}@/(app|lib/python3/site-packages)/[a-z]{1,9}\.py`).Draw(t, "frame"))
			}
			return pyBlockText(rapid.StringMatching(`([a-z]{1,5}\.)?[A-Z][a-z]{1,9}Error: [a-zA-Z0-9 '(),.]{0,40}x`).Draw(t, "error"), frames...)
		case "jvm":
			b := rapid.StringMatching(`com\.[a-z]{1,5}\.[A-Z][a-z]{1,9}Exception: [a-zA-Z0-9 '(),.]{0,40}x`).Draw(t, "error") + "\n"
			for range rapid.IntRange(1, 12).Draw(t, "depth") {
				b += rapid.StringMatching(`\tat com\.[a-z]{1,5}\.[A-Z][a-z]{1,9}\.[a-z]{1,9}\([A-Z][a-z]{1,9}\.java:[1-9][0-9]{0,3}\)`).Draw(t, "frame") + "\n"
			}
			return b
		case "go":
			b := "panic: " + rapid.StringMatching(`[a-zA-Z0-9 '(),.]{0,40}x`).Draw(t, "error") + "\n\ngoroutine 1 [running]:\n"
			for range rapid.IntRange(1, 12).Draw(t, "depth") {
				b += rapid.StringMatching(`[a-z]{1,9}\.[A-Za-z]{1,9}`).Draw(t, "function") + "(0x1)\n" + rapid.StringMatching(`\t/srv/[a-z]{1,9}\.go:[1-9][0-9]{0,3} \+0x[1-9a-f]`).Draw(t, "file") + "\n"
			}
			return b
		case "rust":
			b := "thread 'main' panicked at src/a.rs:1:2:\n" + rapid.StringMatching(`[a-zA-Z0-9 '(),.]{0,40}x`).Draw(t, "error") + "\nstack backtrace:\n"
			for n := range rapid.IntRange(1, 12).Draw(t, "depth") {
				b += fmt.Sprintf("%4d: ", n) + rapid.StringMatching(`[a-z]{1,9}::[a-z]{1,9}`).Draw(t, "function") + "\n" + rapid.StringMatching(`             at \./src/[a-z]{1,9}\.rs:[1-9][0-9]{0,3}:[1-9]`).Draw(t, "file") + "\n"
			}
			return b
		case "native":
			b := "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000114\n"
			for n := range rapid.IntRange(1, 12).Draw(t, "depth") {
				b += fmt.Sprintf("    #%d 0x55d0c0dd in ", n) + rapid.StringMatching(`[a-z]{1,9}::[a-z]{1,9}\(int\) /src/[a-z]{1,9}\.cc:[1-9][0-9]{0,3}:[1-9]`).Draw(t, "frame") + "\n"
			}
			return b
		}
		b := rapid.StringMatching(`[A-Z][a-z]{1,9}Error: [a-zA-Z0-9 '(),.]{0,40}x`).Draw(t, "error") + "\n"
		for range rapid.IntRange(1, 12).Draw(t, "depth") {
			b += rapid.StringMatching(`    at [a-z]{1,9} \(/(app|node_modules)/[a-z]{1,9}\.js:[1-9][0-9]{0,3}:[1-9]\)`).Draw(t, "frame") + "\n"
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		trace := stack(t)
		want := ofTrace(trace)
		for name, dress := range map[string]func(string) string{
			"CRLF":    func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			"colours": func(s string) string { return prefixed(s, func(int) string { return "\x1b[1;35m" }) + "\x1b[0m" },
			"prefix": func(s string) string {
				return prefixed(s, func(n int) string { return fmt.Sprintf("2026-02-11T09:42:%02d.%03dZ pod-7 stderr F ", n, n*7) })
			},
			"all": func(s string) string {
				return strings.ReplaceAll(prefixed(s, func(n int) string { return fmt.Sprintf("\x1b[2mapp-%d  |\x1b[0m ", 1) }), "\n", "\r\n")
			},
		} {
			if got := ofTrace(dress(trace)); got.Digest != want.Digest {
				t.Errorf("%s:\n%s\nbare:\n%s\nof\n%s", name, got.Canonical, want.Canonical, trace)
			}
		}
	})
}

func jsonString(s string) string {
	return "{\"stack\":\"" + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(s) + "\"}"
}

// hostile are shapes on which a careless parser takes quadratic time or worse.
var hostile = map[string]func(n int) string{
	"one long line":    func(n int) string { return strings.Repeat("a", n) },
	"one long frame":   func(n int) string { return "\tat a." + strings.Repeat("b.", n/2) + "c(B.java:1)" },
	"open brackets":    func(n int) string { return "Error: " + strings.Repeat("[{(", n/3) + "\n    at f (/a/b.js:1:2)" },
	"slashes":          func(n int) string { return "Error: x" + strings.Repeat("/a", n/2) + "\n    at f (/a/b.js:1:2)" },
	"quotes":           func(n int) string { return "Error: " + strings.Repeat("a'b\"", n/4) + "\n    at f (/a/b.js:1:2)" },
	"hex letters":      func(n int) string { return "Error: " + strings.Repeat("abcdef", n/6) + "\n    at f (/a/b.js:1:2)" },
	"frames":           func(n int) string { return "Error: x\n" + strings.Repeat("    at f (/a/b.js:1:2)\n", n/23) },
	"different frames": func(n int) string { return "Error: x\n" + numbered("    at f%d (/a/b.js:1:2)\n", n/24) },
	"headers": func(n int) string {
		return strings.Repeat("Traceback (most recent call last):\nKeyError: x\n", n/48) + pythonTrace
	},
	"causes": func(n int) string {
		return javaTrace + strings.Repeat("Caused by: a.B: c\n\tat a.B.c(B.java:1)\n", n/40)
	},
	"group members": func(n int) string {
		return "  + Exception Group Traceback (most recent call last):\n  | File\n" + strings.Repeat("  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/a/b.py\", line 1, in f\n    | E: x\n", n/130)
	},
	"panics":          func(n int) string { return strings.Repeat("thread 'a' panicked at 'x\n", n/26) },
	"Rust symbols":    func(n int) string { return numbered("   1: a::b<c<d>>::{{closure}}::e%d\n", n/36) },
	"one Rust symbol": func(n int) string { return "   1: " + strings.Repeat("<a::b<", n/6) },
	"Rust causes":     func(n int) string { return "Error: x\n\nCaused by:\n" + numbered("    %d: x\n", n/12) },
	"printed backtrace": func(n int) string {
		return "Backtrace [" + strings.Repeat("{ fn: \"a::b\", file: \"a.rs\", line: 1 }, ", n/42)
	},
	"PowerShell places":      func(n int) string { return strings.Repeat("At C:\\a\\b.ps1:1 char:2\n+ x\n+ ~\n", n/33) },
	"one PowerShell place":   func(n int) string { return "At C:\\" + strings.Repeat("a b\\", n/4) + ".ps1:1" },
	"gdb frames":             func(n int) string { return numbered("#1  0x1 in f%d (a=1,\n    b=2) at a.c:3\n", n/40) },
	"open gdb frames":        func(n int) string { return strings.Repeat("#1  0x1 in f (a=1,\n", n/20) },
	"sanitizer stacks":       func(n int) string { return strings.Repeat("    #0 0x1 in f(int) /a/b.cc:1:2\n\n", n/36) },
	"C++ template arguments": func(n int) string { return "    #0 0x1 in f" + strings.Repeat("<a<(", n/4) + " /a/b.cc:1:2" },
	"columns of addresses":   func(n int) string { return strings.Repeat("00000000`00000000 ", n/18) + "m!f+0x1" },
	"exclamation marks":      func(n int) string { return strings.Repeat("a! 0x1 [", n/8) },
	"mangled names":          func(n int) string { return "/a.so(_ZN" + strings.Repeat("1a", n/2) + "E+0x1)[0x2]" },
	"escapes":                func(n int) string { return strings.Repeat(`\n\\n`, n/6) },
	"JSON log lines":         func(n int) string { return strings.Repeat("{\"log\":\"    at f (/a/b.js:1:2)\"}\n", n/34) },
	"prefixed frames":        func(n int) string { return strings.Repeat("2026-02-11 w    at f (/a/b.js:1:2)\n", n/36) },
	"goroutines":             func(n int) string { return strings.Repeat("panic: x\n", n/9) },
	"one long .NET frame":    func(n int) string { return "   at A." + strings.Repeat("b.", n/2) + "c(String s) in C:\\a.cs:line 1" },
	"open .NET brackets":     func(n int) string { return "   at " + strings.Repeat("A<[(", n/4) },
	".NET tuples":            func(n int) string { return "   at " + strings.Repeat("(a) ", n/4) + "A.B()" },
	".NET words":             func(n int) string { return strings.Repeat("   at a b c d e f g h i A.B(x y) and more\n", n/42) },
	".NET arrows": func(n int) string {
		return "A.BException: " + strings.Repeat(" ---> A.CException: x", n/21) + "\n   at A.B.C()\n"
	},
	".NET arrows to nothing": func(n int) string { return "A.BException: " + strings.Repeat("---> ", n/5) + "\n   at A.B.C()\n" },
	".NET chain": func(n int) string {
		return strings.Repeat(" ---> A.CException: x\n", n/60) + "   at A.B.C()\n" + strings.Repeat("   --- End of inner exception stack trace ---\n   at A.B.C()\n", n/80)
	},
	".NET members": func(n int) string {
		return dotnetTrace + strings.Repeat("---> (Inner Exception #0) A.CException: x\n", n/42)
	},
	".NET members closed": func(n int) string { return dotnetTrace + strings.Repeat("<---", n/4) },
	".NET frames":         func(n int) string { return "A.BException: x\n" + numbered("   at A.B.C%d(String s)\n", n/24) },
	"one long Ruby frame": func(n int) string { return "\tfrom /a/" + strings.Repeat("b/", n/2) + "c.rb:1:in `f'" },
	"Ruby places":         func(n int) string { return strings.Repeat(":1:in x", n/7) + "\n\tfrom /a/b.rb:1:in `f'" },
	"Ruby frames":         func(n int) string { return "/a/b.rb:1:in `f': x (E)\n" + numbered("\tfrom /a/b.rb:1:in `f%d'\n", n/28) },
	"Ruby frames numbered": func(n int) string {
		return strings.Repeat("\t9: from /a/b.rb:1:in `f'\n", n/28) + "/a/b.rb:1:in `f': x (E)\n"
	},
	"Ruby causes":        func(n int) string { return strings.Repeat("/a/b.rb:1:in `f': x (E)\n\tfrom /a/b.rb:1:in `g'\n", n/48) },
	"Ruby messages":      func(n int) string { return strings.Repeat("/a/b.rb:1:in `f': x\n", n/20) },
	"one long PHP frame": func(n int) string { return "#0 /a/" + strings.Repeat("b/", n/2) + "c.php(1): f()" },
	"PHP argument":       func(n int) string { return "#0 /a/c.php(1): f('" + strings.Repeat("{closure:(a): ", n/14) },
	"PHP frames": func(n int) string {
		return phpTrace[:90] + "\nStack trace:\n" + numbered("#%d /a/b.php(1): f()\n", n/24)
	},
	"PHP chain": func(n int) string {
		return strings.Repeat("Next A\\B: x in /a/b.php:1\nStack trace:\n#0 /a/b.php(1): f()\n#1 {main}\n\n", n/76)
	},
	"PHP folded": func(n int) string {
		return "A\\B: x in /a/b.php:1 Stack trace: #0 " + strings.Repeat("/a/b.php(1): f() #1 ", n/20)
	},
	"PHP folded nothing": func(n int) string { return "x Stack trace: #0 " + strings.Repeat(" #1 a", n/5) },
	"folded frames":      func(n int) string { return "A.BException: x" + strings.Repeat(" at A.B(c)", n/10) },
	"folded nothing":     func(n int) string { return strings.Repeat(" at (a)", n/7) },
	"folded at":          func(n int) string { return strings.Repeat(" at a", n/5) + "(b) at c(d)" },
	"PHP headings":       func(n int) string { return strings.Repeat("Stack trace:\n", n/13) + "#0 /a/b.php(1): f()\n" },
	"PHP in and at": func(n int) string {
		return "Uncaught A\\B: " + strings.Repeat(" in a at b", n/10) + "\nStack trace:\n#0 /a/b.php(1): f()\n"
	},
	"stacks of an error": func(n int) string { return strings.Repeat("x\nmain.f\n\t/a/b.go:1\n", n/20) },
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestHostileTracesStayWithinTheLimits(t *testing.T) {
	for name, repeat := range hostile {
		text := repeat(1 << 20)
		a := analyse(Input{Trace: text, Validation: text})
		if len(a.lines) > maxLines {
			t.Errorf("%s: %d lines", name, len(a.lines))
		}
		exceptions, frames := size(a.parsed.outer)
		if exceptions > maxExceptions+1 || frames > maxFrames {
			t.Errorf("%s: %d exceptions, at most %d frames", name, exceptions, frames)
		}
		if n := len(a.result.Canonical); n > 16<<10 {
			t.Errorf("%s: a canonical text of %d bytes", name, n)
		}
	}
}

// size counts the exceptions under e and the frames of the largest.
func size(e *exception) (exceptions, frames int) {
	if e == nil {
		return 0, 0
	}
	exceptions, frames = 1, len(e.frames)
	for _, inner := range append([]*exception{e.cause}, e.leaves...) {
		n, f := size(inner)
		exceptions, frames = exceptions+n, max(frames, f)
	}
	return exceptions, frames
}

// BenchmarkHostileRatio reports how many times as long eight times the text
// takes: about 8 where the work is linear, 64 where it is quadratic. It compares
// times with each other, so that a slow machine does not matter.
func BenchmarkHostileRatio(b *testing.B) {
	best := func(text string) time.Duration {
		least := time.Duration(1 << 62)
		for range 3 {
			start := time.Now()
			Of(Input{Trace: text, Validation: text})
			least = min(least, time.Since(start))
		}
		return max(least, 200*time.Microsecond)
	}
	for name, repeat := range hostile {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				small, large := best(repeat(64<<10)), best(repeat(512<<10))
				ratio := float64(large) / float64(small)
				b.ReportMetric(ratio, "ratio")
				b.ReportMetric(float64(large.Milliseconds()), "ms-at-512KiB")
				if ratio > 24 {
					b.Errorf("eight times the text took %.0f times as long (%v, %v)", ratio, small, large)
				}
			}
		})
	}
}

func BenchmarkOf(b *testing.B) {
	for name, trace := range traces {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(trace)))
			b.ReportAllocs()
			for b.Loop() {
				Of(Input{Trace: trace})
			}
		})
	}
	for _, n := range []int{64 << 10, 128 << 10, 256 << 10, 512 << 10} {
		b.Run(fmt.Sprintf("hostile frames/%dKiB", n>>10), func(b *testing.B) {
			text := hostile["different frames"](n)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Of(Input{Trace: text})
			}
		})
	}
}
