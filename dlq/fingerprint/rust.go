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

var (
	rustValue  = regexp.MustCompile(`^(.*?): (?:[A-Z]\w*(?:::\w+)*(?:\s*[{(].*)?|"[^"]*"|\(.*)$`)
	rustTicked = regexp.MustCompile("`([\\w:<>]+\\(\\))`")
)

const (
	rustPanic         = "panic"
	rustError         = "Error"
	rustStackOverflow = "stack overflow"
	rustOutOfMemory   = "memory allocation failed"
	rustFatal         = "fatal runtime error"
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

var rustMachinery = []string{
	"core::", "std::", "alloc::", "__rustc::", "rust_begin_unwind", "rust_panic", "__rust", "_rust", "rust_oom", "backtrace::", "test::",
	"anyhow::", "eyre::", "color_eyre::", "stable_eyre::", "failure::", "snafu::", "sentry_panic::", "log_panics::", "human_panic::", "better_panic::",
	"tokio::runtime::", "tokio::task::", "tokio::loom::", "tokio::util::", "tokio::park::", "futures_util::", "futures_core::", "rayon::", "rayon_core::", "tracing::", "panic_unwind::",
	// before 2021, std's modules were printed without the crate
	"panicking::", "sys_common::", "sys::", "result::unwrap_failed", "option::expect_failed",
}

// rustTraits own the methods of types that are not named.
var rustTraits = []string{"core::", "std::", "alloc::", "anyhow::", "eyre::"}

var rustEdges = set("main", "_main", "_start", "start_thread", "clone", "__clone", "clone3", "__clone3", "BaseThreadInitThunk", "RtlUserThreadStart", "invoke_main", "__scrt_common_main_seh", "thread_start", "_pthread_start", "_pthread_body", "__pthread_start")

// rustNoise tells the frames of the standard library and of error reporters.
// They stand between the caller's frames too (boxed closures, iterators), and
// what of them is left after inlining differs from build to build.
func rustNoise(f frame) bool {
	name := strings.TrimLeft(f.Function, "<&*(_[")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "mut "), "dyn ")
	if rustEdges[f.Function] || strings.HasPrefix(f.Function, "__libc_start") || strings.HasPrefix(f.Function, "__rust") || startsWithAny(name, rustMachinery) {
		return true
	}
	// <T as core::ops::FnOnce>::call_once: of a type that is not named, the
	// trait says whose it is.
	self, trait, ok := strings.Cut(name, " as ")
	if !ok || strings.Contains(self, "::") {
		return false
	}
	return startsWithAny(trait, rustTraits)
}

// rustLibrary goes by the file: cargo's registry and checkouts, a vendor folder,
// the compiler's own sources.
func rustLibrary(f frame) bool {
	p := withSlashes(f.path)
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
