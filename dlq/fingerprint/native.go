package fingerprint

import (
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

func nativeCounts(line string) bool {
	if nativeAddressed(line) || nativeFrame(line) != nil {
		return true
	}
	typ, _ := nativeHeadline(line)
	return typ != ""
}

// nativeAddressed says that a line begins with "#1 0x… in ", which nobody else
// prints. It spares the expressions below most lines.
func nativeAddressed(line string) bool {
	s, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#")
	if !ok {
		return false
	}
	s = strings.TrimLeft(strings.TrimLeft(s, "0123456789"), " ")
	if s, ok = strings.CutPrefix(s, "0x"); !ok {
		return false
	}
	return len(s) < maxLine && strings.HasPrefix(strings.TrimLeft(s, "0123456789abcdefABCDEF"), " in ")
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
	if nativeMachineryNames[name] || startsWithAny(name, nativeMachinery) || strings.HasPrefix(f.Unit, "vg_") || strings.HasPrefix(f.Unit, "vgpreload") {
		return true
	}
	return strings.Contains(name, "::") && rustNoise(f) && !strings.HasPrefix(name, "std::")
}

func nativeLibrary(f frame) bool {
	p := withSlashes(f.path)
	return nativeNoise(f) || strings.Contains(f.Unit, ".so") || strings.HasSuffix(f.Unit, ".dylib") || strings.HasPrefix(p, "/usr/") || strings.HasPrefix(p, "/lib") || strings.Contains(p, "/sysdeps/") || strings.HasPrefix(f.Function, "std::") || strings.HasPrefix(f.Function, "__libc_start")
}
