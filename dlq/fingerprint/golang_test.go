package fingerprint

import (
	"strings"
	"testing"
)

func TestGoPanicsNeedTheirMessage(t *testing.T) {
	wantApart(t, goTrace, changed(t, goTrace, "bad magic 0x0001 at 512", "reading at 512: EOF"))
}

func TestGoRepanicIsTheFirstPanic(t *testing.T) {
	again := changed(t, goTrace, "at 512\n", "at 512 [recovered]\n\tpanic: job /data/a.pdf: bad magic\n",
		"running]:\n", "running]:\nmain.main.func2()\n\t/srv/app/main.go:15 +0xb4\npanic({0x8e2600?, 0xe1f250?})\n\t/usr/local/go/src/runtime/panic.go:860 +0x13a\n")
	wantSame(t, goTrace, again)
	// The handler of the handler panicked too: the last panic printed is the first.
	wantSame(t, goTrace, changed(t, again, "main.main.func2()", "main.report()\n\t/srv/app/main.go:11 +0x4\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:860 +0x13a\nmain.main.func2()"))
}

func TestGoRuntimeErrorIsAType(t *testing.T) {
	r := ofTrace(changed(t, goTrace, "bad magic 0x0001 at 512\n", "runtime error: index out of range [321] with length 321\n\ngoroutine 1 [running]:\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:9 +0x1\nruntime.goPanicIndex(0x1)\n\t/usr/local/go/src/runtime/panic.go:1 +0x2\n",
		"\ngoroutine 18 [running]:\n", ""))
	if r.Type != "runtime error" || r.Template != "index out of range [<int>] with length <int>" {
		t.Errorf("type %q, template %q", r.Type, r.Template)
	}
	wantFrames(t, r, "invoices.(*Header).parse@example.com/invoices", "invoices.Read@example.com/invoices", "main.run@main")
}

func TestGoFatalErrorIsReadFromTheGoroutineNotTheRuntimeStack(t *testing.T) {
	r := ofTrace(`fatal error: runtime: out of memory

runtime stack:
runtime.throw({0x993bee?, 0x2246?})
	/usr/local/go/src/runtime/panic.go:1229 +0x48 fp=0x7ffea20bf0b0 sp=0x7ffea20bf080 pc=0x484e28

goroutine 1 gp=0x91aabdee1e0 m=0 mp=0xe67580 [running]:
runtime.growslice(0x91aabff64c0, 0x482985?)
	/usr/local/go/src/runtime/slice.go:265 +0x573 fp=0x91aabe25780 sp=0x91aabe25710 pc=0x4876f3
example.com/pdf.grow(...)
	/srv/pdf/grow.go:387
main.main()
	/srv/main.go:9 +0x1

goroutine 2 [select]:
main.other()
	/srv/main.go:99 +0x1
`)
	if r.Type != "fatal error" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "pdf.grow@example.com/pdf", "main.main@main")
}

func TestGoStackEndsWhereTheGoroutineWasStarted(t *testing.T) {
	wantFrames(t, ofTrace("panic: x\n\ngoroutine 7 [running]:\nmain.work()\n\t/srv/main.go:9 +0x1\ncreated by main.main in goroutine 1\n\t/srv/main.go:3 +0x1\n"), "main.work@main")
}

func TestGoSymbolsAreNormalised(t *testing.T) {
	for symbol, want := range map[string]string{
		"rsc.io/pdf.(*buffer).errorf(0x312?, {0x9a2c04, 0x27}, {0x1?})": "pdf.(*buffer).errorf@rsc.io/pdf",
		"main.main.func1.2()":                "main.main.func@main",
		"main.process[...](0x1)":             "main.process@main",
		"main.(*Set[go.shape.int]).Add(0x1)": "main.(*Set).Add@main",
		"gopkg.in/yaml%2ev3.unmarshal(...)":  "yaml.v3.unmarshal@gopkg.in/yaml.v3",
		"github.com/x/y/v2.Open({0x1, 0x2})": "v2.Open@github.com/x/y/v2",
		"main.extract":                       "main.extract@main",
		"example.com/a.T.Read(0x1)":          "a.T.Read@example.com/a",
		"main.glob..func1()":                 "main.glob..func@main",
	} {
		f := goFrame(symbol)
		if got := f.String(); got != want {
			t.Errorf("%s read as %s, want %s", symbol, got, want)
		}
	}
}

const goWrapped = `zip: not a valid zip file
open workbook
example.com/sheet.Open
	/go/pkg/mod/example.com/sheet@v1/open.go:9
main.extract
	/srv/main.go:59
main.main
	/srv/main.go:132
runtime.main
	/usr/local/go/src/runtime/proc.go:290
`

func TestGoErrorWithAStackIsItsLayersAndFrames(t *testing.T) {
	r := ofTrace(goWrapped)
	if r.Type != "error" || r.Message != "zip: not a valid zip file" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantFrames(t, r, "sheet.Open@example.com/sheet", "main.extract@main", "main.main@main")
	wantApart(t, goWrapped, changed(t, goWrapped, "open workbook", "open archive"))
}

func TestGoErrorPrintsItsInnermostStackFirst(t *testing.T) {
	r := ofTrace(goWrapped + "job failed\nmain.run\n\t/srv/main.go:9\nmain.main\n\t/srv/main.go:132\n")
	wantFrames(t, r, "sheet.Open@example.com/sheet", "main.extract@main", "main.main@main")
	if !strings.Contains(r.Canonical, "wrap=main.run@main") {
		t.Errorf("no wrap frame in %q", r.Canonical)
	}
}

func TestGoSentinelMadeAtInitIsWhereItWasReturned(t *testing.T) {
	const init = "not found\nexample.com/store.init\n\t/go/pkg/mod/example.com/store@v1/errors.go:3\nruntime.doInit1\n\t/usr/local/go/src/runtime/proc.go:7\n"
	a := init + "read page\nmain.page\n\t/srv/main.go:9\nmain.main\n\t/srv/main.go:132\n"
	b := init + "read font\nmain.font\n\t/srv/main.go:19\nmain.main\n\t/srv/main.go:132\n"
	wantApart(t, a, b)
	wantFrames(t, ofTrace(a), "main.page@main", "main.main@main")
	if got := ofTrace(a).Message; got != "not found" {
		t.Errorf("message %q", got)
	}
}

func TestGoSentinelPassedOnWithoutAStackIsToldByItsMessages(t *testing.T) {
	const init = "not found\nexample.com/store.init\n\t/go/pkg/mod/example.com/store@v1/errors.go:3\nruntime.main\n\t/usr/local/go/src/runtime/proc.go:7\n"
	wantApart(t, init+"read page\n", init+"read font\n")
}

func TestGoDumpOfARecoveredPanicIsAPanic(t *testing.T) {
	r := ofTrace("2026/02/11 recovered: bad magic\ngoroutine 1 [running]:\nruntime/debug.Stack()\n\t/usr/local/go/src/runtime/debug/stack.go:26 +0x5e\nmain.main.func1()\n\t/srv/main.go:5 +0x1\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:9 +0x1\nmain.work()\n\t/srv/main.go:9 +0x1\n")
	if r.Type != "panic" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "main.work@main")
}

func TestGoInlineFramesAreFrames(t *testing.T) {
	wantFrames(t, ofTrace("bad magic\n  header.go in example.com/invoices.parse at line 12\n  main.go in main.main at line 4\n"), "invoices.parse@example.com/invoices", "main.main@main")
}
