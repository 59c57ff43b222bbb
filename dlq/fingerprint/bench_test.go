//go:build unix

package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// traceOf grows a trace of every language to about n bytes, by frames in the
// layout of its runtime.
var traceOf = map[string]func(n int) string{
	"python": func(n int) string {
		return "Traceback (most recent call last):\n" + frames(n, "  File \"/srv/venv/lib/python3.12/site-packages/invoices/reader%d.py\", line %d, in read\n    return Header.parse(block)\n           ^^^^^^^^^^^^^^^^^^^\n") + "invoices.errors.HeaderError: bad magic b'\\x00' at 512\n"
	},
	"jvm": func(n int) string {
		return "com.example.invoices.HeaderException: bad magic 0x0001 at 512\n" + frames(n, "\tat com.example.invoices.Reader%d.read(Reader.java:%d) ~[invoices-1.2.jar:1.2]\n")
	},
	"go": func(n int) string {
		return "panic: bad magic 0x0001 at 512\n\ngoroutine 18 [running]:\n" + frames(n, "example.com/invoices.(*Reader%d).Read(0xc000012345, {0xc0000a0000, 0x200, 0x200})\n\t/go/pkg/mod/example.com/invoices@v1.2.3/reader.go:%d +0x2b\n")
	},
	"javascript": func(n int) string {
		return "HeaderError: bad magic 0x0001 at 512\n" + frames(n, "    at async Reader.read%d (/srv/app/node_modules/invoices/lib/reader.js:%d:20)\n")
	},
	"dotnet": func(n int) string {
		return "Acme.Invoices.HeaderException: bad magic 0x0001 at 512\n" + frames(n, "   at Acme.Invoices.Reader%d.Read(Stream stream, Int32 offset) in C:\\src\\Invoices\\Reader.cs:line %d\n")
	},
	"ruby": func(n int) string {
		return "/srv/app/header.rb:12:in `parse': bad magic (Invoices::HeaderError)\n" + frames(n, "\tfrom /srv/gems/invoices-1.2.3/lib/invoices/reader%d.rb:%d:in `block in read'\n")
	},
	"php": func(n int) string {
		return "PHP Fatal error:  Uncaught Acme\\HeaderException: bad magic in /srv/app/Header.php:12\nStack trace:\n" + frames(n, "#%d /srv/app/vendor/acme/invoices/src/Reader.php(%d): Acme\\Invoices\\Reader->read('%%PDF-1.4...')\n")
	},
	"rust": func(n int) string {
		return "thread 'main' panicked at src/header.rs:12:9:\nbad magic\nstack backtrace:\n" + frames(n, "%4d: <invoices::Reader as core::convert::TryFrom<&[u8]>>::try_from::{{closure}}::h1234567890abcdef\n             at /home/app/.cargo/registry/src/index.crates.io-6f17d22bba15001f/invoices-0.3.1/src/reader.rs:%d:20\n")
	},
	"powershell": func(n int) string {
		return "Exception             : System.Management.Automation.RuntimeException: Cannot index into a null array.\nCategoryInfo          : InvalidOperation: (:) [], RuntimeException\nFullyQualifiedErrorId : NullArray\nScriptStackTrace      : at Get-Header, C:\\m\\Sheets.psm1: line 429\n" +
			frames(n, "                        at Import-Sheet%d, C:\\Program Files\\WindowsPowerShell\\Modules\\Sheets\\Sheets.psm1: line %d\n")
	},
	"native": func(n int) string {
		return "==4711==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000114 at pc 0x55d0c0de\nREAD of size 4 at 0x602000000114 thread T0\n" +
			frames(n, "    #%d 0x55d0c0e0 in pdf::Document::open(std::vector<char, std::allocator<char> > const&) /build/pdf-1.2/src/document.cc:%d:9\n")
	},
	"native, gdb": func(n int) string {
		return "Program received signal SIGSEGV, Segmentation fault.\n" + frames(n, "#%d  0x00005555555b5974 in Content::image (this=0x5555556cc8e0, args=0x7fffffffd960, \n    n=0) at Content.cc:%d\n")
	},
	"no language": func(n int) string {
		return frames(n, "Syntax Warning (%d): Illegal entry in bfrange block at offset %d\n")
	},
}

func frames(n int, format string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, format, i, i*7+1)
	}
	return b.String()
}

// BenchmarkTrace holds every language to what an arrival may cost: a usual trace
// of 4 KiB under 1 ms, the largest that is looked at whole under 50 ms.
func BenchmarkTrace(b *testing.B) {
	for name, make := range traceOf {
		for _, size := range []int{4 << 10, 256 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) { benchmarkInput(b, Input{Trace: make(size)}) })
		}
	}
}

// BenchmarkHostile is the same for texts that were made, or happen, to cost more.
func BenchmarkHostile(b *testing.B) {
	const size = 256 << 10
	inputs := map[string]Input{
		"one line":               {Trace: strings.Repeat("a", size)},
		"one line of words":      {Trace: strings.Repeat("at 0x1 in [a] ", size/14)},
		"500 causes, java":       {Trace: strings.Repeat("com.example.AException: x\n\tat com.example.A.a(A.java:1)\nCaused by: ", 500)},
		"500 causes, python":     {Trace: strings.Repeat(pythonTrace+"\n"+pyDirectCause+"\n\n", 500)},
		"500 causes, javascript": {Trace: nodeTrace + strings.Repeat("  [cause]: Error: x\n      at f (/a/b.js:1:2) {\n", 500)},
		"500 causes, rust":       {Trace: "Error: x\n\nCaused by:\n" + numbered("    %d: could not read the page\n", 500)},
		"10000 failed rules":     {Validation: failedRules(10_000), Reason: reasonValidation},
		"10000 failed lines":     {Validation: numbered("lines[%d].sku: must not be null\n", 10_000), Reason: reasonValidation},
		"bytes of a PDF":         {Trace: documentBytes(size)},
		"a long message":         {ErrorMessage: strings.Repeat("bad magic b'\\x00' at 512 in /a/b.pdf; ", size/38)},
		"escaped JSON":           {Trace: jsonString(traceOf["native"](size))},
	}
	for name, in := range inputs {
		b.Run(name, func(b *testing.B) { benchmarkInput(b, in) })
	}
	for name, make := range hostile {
		b.Run(name, func(b *testing.B) { benchmarkInput(b, Input{Trace: make(size)}) })
	}
}

func benchmarkInput(b *testing.B, in Input) {
	b.SetBytes(int64(len(in.Trace) + len(in.Validation) + len(in.ErrorMessage)))
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		Of(in)
	}
	spent := processorTime(b) - before
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// processorTime is what the process has used so far: the elapsed time of a
// machine that others work on as well tells little.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func failedRules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"type":"missing","loc":["lines",%d,"sku"],"msg":"Field required"}`, i)
	}
	return "[" + b.String()[1:] + "]"
}

// documentBytes looks like a document that was sent in the place of its trace.
func documentBytes(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("%PDF-1.7\r%\xe2\xe3\xcf\xd3\r\n")
	for i := 1; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d 0 obj\n<</Filter/FlateDecode/Length 512>>stream\n", i)
		for range 512 {
			b.WriteByte(byte(random.IntN(256)))
		}
		b.WriteString("\nendstream\nendobj\n")
	}
	return b.String()
}
