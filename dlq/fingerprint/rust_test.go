package fingerprint

import (
	"strings"
	"testing"
)

const rustTrace = `thread 'main' panicked at /home/app/.cargo/registry/src/index.crates.io-6f17d22bba15001f/invoices-0.3.1/src/header.rs:12:9:
called ` + "`Result::unwrap()` on an `Err`" + ` value: BadMagic(513)
stack backtrace:
   0: rust_begin_unwind
             at /rustc/7120fdac7a6e55a5e4b606256042890b36067052/library/std/src/panicking.rs:665:5
   1: core::panicking::panic_fmt
             at /rustc/7120fdac7a6e55a5e4b606256042890b36067052/library/core/src/panicking.rs:74:14
   2: core::result::unwrap_failed
             at /rustc/7120fdac7a6e55a5e4b606256042890b36067052/library/core/src/result.rs:1679:5
   3: core::result::Result<T,E>::unwrap
             at /rustc/7120fdac7a6e55a5e4b606256042890b36067052/library/core/src/result.rs:1102:23
   4: invoices::header::Header::parse
             at /home/app/.cargo/registry/src/index.crates.io-6f17d22bba15001f/invoices-0.3.1/src/header.rs:12:9
   5: invoices::reader::<impl invoices::Reader>::read
             at /home/app/.cargo/registry/src/index.crates.io-6f17d22bba15001f/invoices-0.3.1/src/reader.rs:88:20
   6: worker::run
             at ./src/worker.rs:41:25
   7: worker::main
             at ./src/main.rs:9:5
note: Some details are omitted, run with ` + "`RUST_BACKTRACE=full`" + ` for a verbose backtrace.
`

var rustFrames = []string{"invoices::header::Header::parse@header.rs", "invoices::reader::<impl invoices::Reader>::read@reader.rs", "worker::run@worker.rs"}

func TestRustPanicsAreReadInEveryLayout(t *testing.T) {
	wantRead(t, "rust", map[string]readAs{
		"short backtrace": {rustTrace, "panic", rustFrames},
		"full backtrace with addresses and hashes": {`thread 'tokio-runtime-worker' (4711) panicked at src/header.rs:12:9:
bad magic
stack backtrace:
   0:     0x55d0c0de - std::backtrace_rs::backtrace::libunwind::trace::h1234567890abcdef
                               at /rustc/43a2/library/std/src/../../backtrace/src/backtrace/libunwind.rs:116:5
   1:     0x55d0c0df - std::panicking::begin_panic_handler::{{closure}}::h1234567890abcdef
   2:     0x55d0c0e0 - __rustc[4794b31dd7191200]::rust_begin_unwind
   3:     0x55d0c0e1 - core::panicking::panic_fmt::h1234567890abcdef
   4:     0x55d0c0e2 - invoices::header::Header::parse::{{closure}}::h1234567890abcdef
                               at /srv/src/header.rs:12:9
   5:     0x55d0c0e3 - core::iter::traits::iterator::Iterator::for_each::call::{{closure}}::h1234567890abcdef
   6:     0x55d0c0e4 - <alloc::vec::Vec<T,A> as core::iter::traits::collect::Extend<T>>::extend::h1234567890abcdef
   7:     0x55d0c0e5 - <invoices::Reader as core::convert::TryFrom<&[u8]>>::try_from::h1234567890abcdef
                               at /srv/src/reader.rs:9:1
   8:     0x55d0c0e6 - tokio::runtime::task::harness::poll_future::h1234567890abcdef
   9:     0x55d0c0e7 - start_thread
  10:                0x0 - <unknown>
`, "panic", []string{"invoices::header::Header::parse@header.rs", "<invoices::Reader as core::convert::TryFrom>::try_from@reader.rs"}},
		"before 1.73 with an old standard library": {`thread 'main' panicked at 'missing colorspace [67, 83, 112]', /home/app/.cargo/registry/src/github.com-1ecc6299db9ec823/invoices-0.6.1/src/lib.rs:1248:85
stack backtrace:
   0: backtrace::backtrace::libunwind::trace
             at /cargo/registry/src/github.com-1ecc6299db9ec823/backtrace-0.3.40/src/backtrace/libunwind.rs:88
   1: std::panicking::default_hook
             at src/libstd/panicking.rs:205
   2: invoices::colors::get
             at /home/app/.cargo/registry/src/github.com-1ecc6299db9ec823/invoices-0.6.1/src/colors.rs:1248
   3: worker::main
             at src/main.rs:9
`, "panic", []string{"invoices::colors::get@colors.rs", "worker::main@main.rs"}},
		"Windows": {`thread 'main' panicked at src\header.rs:12:9:
bad magic
stack backtrace:
   0: std::panicking::begin_panic_handler
             at /rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library\std\src\panicking.rs:681
   1: core::panicking::panic_fmt
             at /rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library\core\src\panicking.rs:75
   2: invoices::header::parse<alloc::string::String>
             at C:\Users\app\.cargo\registry\src\index.crates.io-1949cf8c6b5b557f\invoices-0.3.1\src\header.rs:12
   3: invoices::reader::impl$2::read
             at C:\Users\app\.cargo\registry\src\index.crates.io-1949cf8c6b5b557f\invoices-0.3.1\src\reader.rs:9
   4: worker::main::closure$0
             at .\src\main.rs:9
   5: core::ops::function::FnOnce::call_once<void (*)(),tuple$<> >
             at /rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library\core\src\ops\function.rs:250
   6: BaseThreadInitThunk
`, "panic", []string{"invoices::header::parse@header.rs", "invoices::reader::impl$::read@reader.rs", "worker::main@main.rs"}},
		"without debug information": {"thread 'main' panicked at src/a.rs:1:2:\nx\nstack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\n   2: invoices::header::Header::parse\n   3: invoices::open\n   4: worker::main\n",
			"panic", []string{"invoices::header::Header::parse@header.rs", "invoices::open@lib.rs", "worker::main@main.rs"}},
		"an inlined caller has no number": {"thread 'main' panicked at src/a.rs:1:2:\nx\nstack backtrace:\n   0: core::panicking::panic\n             at /rustc/9/library/core/src/panicking.rs:1\n   1: invoices::page::kids\n             at src/page.rs:3\n      invoices::page::count\n             at src/page.rs:9\n   2: worker::main\n             at src/main.rs:1\n",
			"panic", []string{"invoices::page::kids@page.rs", "invoices::page::count@page.rs", "worker::main@main.rs"}},
		"newer symbol names": {"thread 'main' panicked at src/a.rs:1:2:\nx\nstack backtrace:\n   0: core[0123456789abcdef]::panicking::panic\n   1: <invoices[0123456789abcdef]::header::Header>::parse::<alloc::string::String>\n   2: <invoices::Reader as std::io::Read>::read\n   3: invoices::run::{closure#0}\n",
			"panic", []string{"invoices::header::Header::parse@header.rs", "<invoices::Reader as std::io::Read>::read@lib.rs", "invoices::run@lib.rs"}},
		"no backtrace": {"thread 'main' (624981) panicked at /usr/local/cargo/registry/src/index.crates.io-1949cf8c6b5b557f/pdf-extract-0.10.0/src/lib.rs:1383:31:\nbad\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			"panic", []string{"@lib.rs", "@pdf-extract"}},
		"a crate of a checked out workspace": {"thread 'main' panicked at /home/ci/.cargo/git/checkouts/hayro-296364bfe862bcd9/ea64797/hayro-syntax/src/function/type0.rs:170:22:\nbad\n",
			"panic", []string{"@type0.rs", "@hayro-syntax"}},
		"a logger's line": {"2026-02-11T09:42:13Z ERROR panic: thread 'main' panicked at 'bad magic': src/header.rs:12\n", "panic", []string{"@header.rs"}},
		"color-eyre's panic": {`The application panicked (crashed).
Message:  bad magic
Location: src/header.rs:12

  ━━━━━━━━━━━━━━━━━━ BACKTRACE ━━━━━━━━━━━━━━━━━━
                ⋮ 6 frames hidden ⋮
   7: invoices::header::Header::parse::h1234567890abcdef
      at /srv/src/header.rs:12
   8: worker::main::h1234567890abcdef
      at /srv/src/main.rs:9
                ⋮ 10 frames hidden ⋮
`, "panic", []string{"invoices::header::Header::parse@header.rs", "worker::main@main.rs"}},
		"anyhow's backtrace": {`Error: could not read the invoice

Caused by:
    0: bad header
    1: invalid digit found in string

Stack backtrace:
   0: anyhow::error::<impl core::convert::From<E> for anyhow::Error>::from
             at /home/app/.cargo/registry/src/index.crates.io-6f17d22bba15001f/anyhow-1.0.75/src/error.rs:551:25
   1: <core::result::Result<T,F> as core::ops::try_trait::FromResidual<core::result::Result<core::convert::Infallible,E>>>::from_residual
             at /rustc/9/library/core/src/result.rs:1963:27
   2: <E as anyhow::context::ext::StdError>::ext_context
   3: invoices::header::parse
             at ./src/header.rs:12:15
   4: worker::main
             at ./src/main.rs:5:13
`, "Error", []string{"invoices::header::parse@header.rs", "worker::main@main.rs"}},
		"eyre's location": {"Error: could not read\n\nCaused by:\n    bad magic\n\nLocation:\n    src/header.rs:12:9\n", "Error", []string{"@header.rs"}},
		"a backtrace printed by {:?}": {`Error { msg: "bad", backtrace: Backtrace [{ fn: "invoices::header::parse", file: "./src/header.rs", line: 12 }, { fn: "core::ops::function::FnOnce::call_once", file: "/rustc/9/library/core/src/ops/function.rs", line: 250 }, { fn: "worker::main", file: "./src/main.rs", line: 9 }] }`,
			"Error", []string{"invoices::header::parse@header.rs", "worker::main@main.rs"}},
	})
}

func TestRustSymbolsAreNormalised(t *testing.T) {
	for symbol, want := range map[string]string{
		"invoices::xls::Xls<RS>::parse::{{closure}}::{{closure}}":                    "invoices::xls::Xls::parse",
		"<invoices::xls::Xls<std::io::BufReader<std::fs::File>>>::parse":             "invoices::xls::Xls::parse",
		"invoices::read::<alloc::string::String, fn(u8) -> bool>":                    "invoices::read",
		"<invoices::Row as core::iter::Iterator>::next::h0123456789abcdef":           "<invoices::Row as core::iter::Iterator>::next",
		"<&mut invoices::Row<T> as core::iter::Iterator>::next":                      "<&mut invoices::Row as core::iter::Iterator>::next",
		"_$LT$invoices..Row$u20$as$u20$core..fmt..Debug$GT$::fmt::h0123456789abcdef": "<invoices::Row as core::fmt::Debug>::fmt",
		"invoices::run::{async_block#0}":                                             "invoices::run",
		"invoices::run::async_block$0":                                               "invoices::run",
		"paint::Worker::main::h7aa39d8b37dc5347Vco":                                  "paint::Worker::main",
	} {
		if got := rustFunction(symbol); got != want {
			t.Errorf("%s read as %s, want %s", symbol, got, want)
		}
	}
}

func TestRustMachineryIsToldFromTheCallersCode(t *testing.T) {
	for symbol, noise := range map[string]bool{
		"core::option::Option<T>::unwrap": true, "<T as core::convert::Into<U>>::into": true, "<usize as core::slice::index::SliceIndex<[T]>>::index": true,
		"<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once": true, "__rustc::rust_begin_unwind": true, "rust_begin_unwind": true,
		"<core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once": true, "tokio::runtime::task::raw::poll": true,
		"invoices::core::run": false, "<invoices::Row as core::fmt::Debug>::fmt": false, "<dyn invoices::Source as std::io::Read>::read": false, "corelib::run": false,
	} {
		if got := rustNoise(rustFrame(symbol, "")); got != noise {
			t.Errorf("%s: noise %v", symbol, got)
		}
	}
}

func TestRustUnwrapIsOneDefectWhateverTheValue(t *testing.T) {
	wantSame(t, rustTrace, changed(t, rustTrace, "BadMagic(513)", "Io(Os { code: 2, kind: NotFound })"))
	none := "thread 'main' panicked at src/a.rs:1:2:\n"
	wantSame(t, none+"failed to open: Os { code: 2, kind: NotFound, message: \"x\" }\n", none+"failed to open: Custom { kind: InvalidData, error: \"y\" }\n")
	wantApart(t, none+"failed to open: NotFound\n", none+"failed to read: NotFound\n")
	wantApart(t, none+"called `Result::unwrap()` on an `Err` value: A\n", none+"called `Option::unwrap()` on a `None` value\n")
}

func TestRustPanicIsTheSameOfEveryThreadVersionAndBuild(t *testing.T) {
	wantSame(t, rustTrace, changed(t, rustTrace, "thread 'main'", "thread 'worker-7' (99)", "invoices-0.3.1", "invoices-0.4.0", "/home/app/.cargo", "/usr/local/cargo", ":12:9", ":19:4", "7120fdac7a6e55a5e4b606256042890b36067052", "43a2e9d2c72db101f5fedac8b3acb78981b06bf2"))
	wantSame(t, rustTrace, changed(t, rustTrace, "header.rs:12:9:\ncalled `Result::unwrap()` on an `Err` value: BadMagic(513)\n", "header.rs:12:9:\ncalled `Result::unwrap()` on an `Err` value: BadMagic(513)\n\n"))
	const place = "src/header.rs:12:9"
	wantSame(t, "thread 'main' panicked at 'bad magic', "+place+"\n", "thread '<unnamed>' panicked at "+place+":\nbad magic\n")
}

func TestRustPanicWithoutABacktraceIsToldByItsCrateAndMessage(t *testing.T) {
	const a = "thread 'main' panicked at /c/.cargo/registry/src/i-1949cf8c6b5b557f/lopdf-0.1.0/src/lib.rs:3:1:\nbad\n"
	wantApart(t, a, changed(t, a, "lopdf", "calamine"))
	wantApart(t, a, changed(t, a, "bad", "worse"))
	wantSame(t, a, changed(t, a, "lopdf-0.1.0", "lopdf-0.2.0-rc.1", ":3:1", ":9:9"))
}

func TestRustSecondPanicIsNotTheDefect(t *testing.T) {
	second := "thread 'main' panicked at src/drop.rs:3:5:\nlock poisoned\nstack backtrace:\n   0: worker::drop\n             at ./src/drop.rs:3:5\nthread panicked while processing panic. aborting.\n"
	wantSame(t, rustTrace, rustTrace+second)
}

func TestRustMessageOfManyLinesEndsAtTheBacktrace(t *testing.T) {
	r := ofTrace("thread 'main' panicked at src/a.rs:1:2:\nassertion `left == right` failed: page count\n  left: 3\n right: 5\nstack backtrace:\n   0: invoices::page::count\n")
	if r.Message != "assertion `left == right` failed: page count" {
		t.Errorf("message %q", r.Message)
	}
	wantFrames(t, r, "invoices::page::count@page.rs")
	r = ofTrace("thread 'main' panicked at 'assertion failed: `(left == right)`\n  left: `3`,\n right: `5`', src/a.rs:1:2\n")
	if !strings.HasPrefix(r.Message, "assertion failed: ") {
		t.Errorf("message %q", r.Message)
	}
	wantFrames(t, r, "@a.rs")
}

func TestRustErrorIsItsDeepestCause(t *testing.T) {
	const a = "Error: could not read /in/a.pdf\n\nCaused by:\n    0: while parsing the trailer\n    1: invalid digit found in string\n"
	wantSame(t, a, changed(t, a, "/in/a.pdf", "/in/b.pdf", "0: while parsing the trailer", "0: while parsing the table"))
	wantApart(t, a, changed(t, a, "invalid digit found in string", "unexpected end of file"))
	with := func(message, trace string) string { return Of(Input{ErrorMessage: message, Trace: trace}).Digest }
	if with("could not read", a) == with("could not read", changed(t, a, "invalid digit found in string", "unexpected end of file")) {
		t.Error("the same, want apart: the cause is only in the trace")
	}
	// color-eyre numbers the error itself.
	r := ofTrace("Error: \n   0: could not read\n   1: invalid digit found in string\n\nLocation:\n   src/main.rs:14\n")
	if r.Message != "could not read" || r.Template != "could not read" || !strings.Contains(r.Canonical, "msg=invalid digit found in string") {
		t.Errorf("message %q of\n%s", r.Message, r.Canonical)
	}
	wantFrames(t, r, "@main.rs")
}

func TestRustProcessThatDiesWithoutAPanicIsNamed(t *testing.T) {
	for trace, typ := range map[string]string{
		"\nthread 'main' has overflowed its stack\nfatal runtime error: stack overflow\nAborted (core dumped)\n": "stack overflow",
		"memory allocation of 4294967296 bytes failed\nAborted (core dumped)\n":                                  "memory allocation failed",
		"fatal runtime error: Rust cannot catch foreign exceptions\n":                                            "fatal runtime error",
	} {
		if r := ofTrace(trace); r.Type != typ || r.Language != "rust" {
			t.Errorf("%q read as %s of %s", trace, r.Type, r.Language)
		}
	}
	wantSame(t, "thread 'main' has overflowed its stack\n", "thread 'worker-12' (77) has overflowed its stack\n")
	wantSame(t, "memory allocation of 4294967296 bytes failed\n", "memory allocation of 17 bytes failed\n")
}

func TestRustLeavesOtherLanguagesTheirLines(t *testing.T) {
	for name, line := range map[string]string{
		"java":       "Caused by: java.io.IOException: x",
		"ruby":       "\t 2: from /srv/a.rb:3:in `f'",
		"node":       "    at f (/a/b.js:1:2)",
		"rule":       "  3: field is required",
		"causes":     "    0: could not read the header",
		"C++":        " 3: 0xd5b1b0 v8::Utils::ReportOOMFailure(char const*) [node]",
		".net":       "   at Acme.Header.Parse(String name) in C:\\src\\Header.cs:line 12",
		"php":        "#0 /app/b.php(9): Doc::read('x')",
		"go":         "panic: invoice::bad",
		"validation": "0: invoice::total: must be positive",
	} {
		if rustCounts(line) {
			t.Errorf("%s: taken for Rust: %q", name, line)
		}
	}
}

func TestRustAnnotatesASymbolWithItsPlace(t *testing.T) {
	got := kinds(rustTrace)
	want := []string{"raise", "message", "text", "library", "library", "library", "library", "library", "library", "library", "library", "key0", "key0", "key1", "key1", "key2", "key2", "frame", "frame", "text"}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
