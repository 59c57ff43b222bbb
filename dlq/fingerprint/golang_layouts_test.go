package fingerprint

import (
	"strings"
	"testing"
)

// goCase is a layout with what a Go engineer reads in it.
type goCase struct {
	trace, typ, message string
	frames              []string
}

func checkGo(t *testing.T, cases map[string]goCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := ofTrace(c.trace)
			if r.Language != "go" || r.Type != c.typ || r.Message != c.message {
				t.Errorf("language %q, type %q, message %q, want type %q, message %q", r.Language, r.Type, r.Message, c.typ, c.message)
			}
			wantFrames(t, r, c.frames...)
		})
	}
}

const goWork = "main.parse(0x1)\n\t/srv/parse.go:9 +0x1\nmain.main()\n\t/srv/main.go:3 +0x1\n"

var goWorkFrames = []string{"main.parse@main", "main.main@main"}

func TestGoPanicFormsAreRead(t *testing.T) {
	checkGo(t, map[string]goCase{
		"a closure of a method that was inlined into another": {"panic: open lease: EOF\n\ngoroutine 1 [running]:\nmain.(*Queue).next.(*Worker).run.func1(0xc000012345)\n\t/srv/worker.go:9 +0x1\n" + goWork, "panic", "open lease: EOF",
			append([]string{"main.(*Worker).run.func@main"}, goWorkFrames...)},
		"an error value":          {"panic: open lease: EOF\n\ngoroutine 1 [running]:\n" + goWork, "panic", "open lease: EOF", goWorkFrames},
		"a value of another type": {"panic: main.Problem{Code:7}\n\ngoroutine 1 [running]:\n" + goWork, "panic", "main.Problem{Code:7}", goWorkFrames},
		"recovered and raised again, as Go 1.23 says it": {"panic: bad magic [recovered, repanicked]\n\ngoroutine 1 [running]:\nmain.handle.func1()\n\t/srv/main.go:8 +0x1\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:785 +0x1\n" + goWork,
			"panic", "bad magic", goWorkFrames},
		"raised again as another": {"panic: bad magic [recovered]\n\tpanic: job 7: bad magic\n\ngoroutine 1 [running]:\nmain.handle.func1()\n\t/srv/main.go:8 +0x1\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:785 +0x1\n" + goWork,
			"panic", "bad magic", goWorkFrames},
		"a nil pointer, with its signal": {"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x873876]\n\ngoroutine 1 [running]:\n" + goWork,
			"runtime error", "invalid memory address or nil pointer dereference", goWorkFrames},
		"a nil pointer through the panic machinery": {"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x873876]\n\ngoroutine 1 [running]:\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:785 +0x1\nruntime.panicmem(...)\n\t/usr/local/go/src/runtime/panic.go:262\nruntime.sigpanic()\n\t/usr/local/go/src/runtime/signal_unix.go:917 +0x1\n" + goWork,
			"runtime error", "invalid memory address or nil pointer dereference", goWorkFrames},
		"an error that wraps a runtime error": {"panic: interface conversion: interface {} is nil, not string\n\ngoroutine 1 [running]:\n" + goWork, "panic", "interface conversion: interface {} is nil, not string", goWorkFrames},
		"a deadlock":                          {"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n" + goWork, "fatal error", "all goroutines are asleep - deadlock!", goWorkFrames},
		"a data race on a map": {"fatal error: concurrent map writes\n\ngoroutine 34 [running]:\nmain.parse(0x1)\n\t/srv/parse.go:9 +0x1\ncreated by main.main in goroutine 1\n\t/srv/main.go:3 +0x1\n\ngoroutine 1 [sleep]:\ntime.Sleep(0x1)\n\t/usr/local/go/src/runtime/time.go:300 +0x1\n",
			"fatal error", "concurrent map writes", []string{"main.parse@main"}},
		"a signal in C": {"fatal error: unexpected signal during runtime execution\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x7f]\n\nruntime stack:\nruntime.throw({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:1023 +0x5c fp=0x1 sp=0x2 pc=0x3\n\ngoroutine 1 gp=0xc000006fc0 m=0 mp=0x5 [syscall]:\nruntime.cgocall(0x4f, 0xc0)\n\t/usr/local/go/src/runtime/cgocall.go:157 +0x4b fp=0x1 sp=0x2 pc=0x3\nmain._Cfunc_render(0x0)\n\t_cgo_gotypes.go:48 +0x45 fp=0x1 sp=0x2 pc=0x3\nmain.main()\n\t/srv/main.go:3 +0x1 fp=0x1 sp=0x2 pc=0x3\n",
			"fatal error", "unexpected signal during runtime execution", []string{"main._Cfunc_render@main", "main.main@main"}},
		"a signal that arrived in C": {"SIGSEGV: segmentation violation\nPC=0x7f m=0 sigcode=1 addr=0x0\nsignal arrived during cgo execution\n\ngoroutine 1 gp=0xc000006fc0 m=0 mp=0x5 [syscall]:\nruntime.cgocall(0x4f, 0xc0)\n\t/usr/local/go/src/runtime/cgocall.go:157 +0x4b\nmain._Cfunc_render(0x0)\n\t_cgo_gotypes.go:48 +0x45\nmain.main()\n\t/srv/main.go:3 +0x1\n\nrax    0x0\nrbx    0x7f\n",
			"fatal error", "SIGSEGV: segmentation violation", []string{"main._Cfunc_render@main", "main.main@main"}},
		"a server that recovered": {"2026/02/11 09:42:13 http: panic serving 10.0.0.7:50212: runtime error: index out of range [3] with length 3\ngoroutine 12 [running]:\nnet/http.(*conn).serve.func1()\n\t/usr/local/go/src/net/http/server.go:1947 +0xbe\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:785 +0x1\n" + goWork,
			"runtime error", "index out of range [3] with length 3", goWorkFrames},
		"a panic logged with its stack": {"2026/02/11 09:42:13 recovered: bad magic\ngoroutine 12 [running]:\nruntime/debug.Stack()\n\t/usr/local/go/src/runtime/debug/stack.go:26 +0x5e\nmain.handle.func1()\n\t/srv/main.go:8 +0x1\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:785 +0x1\n" + goWork,
			"panic", "recovered: bad magic", goWorkFrames},
		"goexit": {"fatal error: no goroutines (main called runtime.Goexit) - deadlock!\n\ngoroutine 7 [chan receive]:\n" + goWork, "fatal error", "no goroutines (main called runtime.Goexit) - deadlock!", goWorkFrames},
		"a test that panicked": {"--- FAIL: TestParse (0.00s)\npanic: bad magic [recovered]\n\tpanic: bad magic\n\ngoroutine 7 [running]:\ntesting.tRunner.func1.2({0x1, 0x2})\n\t/usr/local/go/src/testing/testing.go:1632 +0x1\ntesting.tRunner.func1()\n\t/usr/local/go/src/testing/testing.go:1635 +0x1\npanic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:785 +0x1\n" + goWork,
			"panic", "bad magic", goWorkFrames},
		"files indented by spaces":     {"panic: bad magic\n\ngoroutine 1 [running]:\nmain.parse(0x1)\n        /srv/parse.go:9 +0x1\nmain.main()\n        /srv/main.go:3 +0x1\n", "panic", "bad magic", goWorkFrames},
		"cut in the middle of a frame": {"panic: bad magic\n\ngoroutine 1 [running]:\n" + goWork + "example.com/worker.Run(0xc000\n", "panic", "bad magic", goWorkFrames},
	})
}

func TestGoErrorsThatCarryTheirStackAreRead(t *testing.T) {
	checkGo(t, map[string]goCase{
		"cockroachdb/errors": {"open lease: no root object\n(1) attached stack trace\n  -- stack trace:\n  | main.stage\n  | \t/srv/stage.go:7\n  | [...repeated from below...]\nWraps: (2) open lease\nWraps: (3) attached stack trace\n  -- stack trace:\n  | main.parse\n  | \t/srv/parse.go:9\n  | main.stage\n  | \t/srv/stage.go:7\n  | main.main\n  | \t/srv/main.go:3\n  | runtime.main\n  | \t/usr/local/go/src/runtime/proc.go:283\nWraps: (4) no root object\nError types: (1) *withstack.withStack (2) *errutil.withPrefix (3) *withstack.withStack (4) *errutil.leafError\n",
			"error", "open lease: no root object", []string{"main.parse@main", "main.stage@main", "main.main@main"}},
		"go-errors": {"*errors.errorString no root object\n/srv/parse.go:9 (0x4a3f2b)\n\tparse: return errors.New(\"no root object\")\n/srv/main.go:3 (0x4a3f00)\n\tmain: parse()\n/usr/local/go/src/runtime/proc.go:283 (0x43)\n\tmain: fn()\n",
			"error", "no root object", []string{"parse@parse.go", "main@main.go", "main@proc.go"}},
		"eris":                        {"no root object\n\tmain.main:/srv/main.go:3\n\tmain.parse:/srv/parse.go:9\n", "error", "no root object", goWorkFrames},
		"tracerr":                     {"no root object\n/srv/parse.go:9 main.parse()\n/srv/main.go:3 main.main()\n/usr/local/go/src/runtime/proc.go:283 runtime.main()\n", "error", "no root object", []string{"main.parse@main", "main.main@main", "runtime.main@runtime"}},
		"palantir's stacktrace":       {"open lease\n --- at /srv/stage.go:7 (stage) ---\nCaused by: no root object\n --- at /srv/parse.go:9 (T.parse) ---\n", "error", "open lease", []string{"T.parse@T"}},
		"file: function()":            {"no root object\ngithub.com/x/pdf/parse.go:9: parse()\ngithub.com/x/pdf/main.go:3: main()\n", "error", "no root object", []string{"parse@parse.go", "main@main.go"}},
		"logrus's caller and a stack": {"time=\"2026-02-11T09:42:13Z\" level=error msg=\"parse failed\" error=\"no root object\" stack=\"no root object\\nmain.parse\\n\\t/srv/parse.go:9\\nmain.main\\n\\t/srv/main.go:3\"", "error", "no root object", goWorkFrames},
		"zap's verbose error": {`{"level":"error","ts":1.5,"msg":"parse failed","error":"open lease: no root object","errorVerbose":"no root object\nmain.parse\n\t/srv/parse.go:9\nmain.main\n\t/srv/main.go:3\nopen lease\nmain.stage\n\t/srv/stage.go:7","stacktrace":"main.report\n\t/srv/report.go:5\nmain.main\n\t/srv/main.go:4"}`,
			"error", "open lease", goWorkFrames},
	})
}

func TestGoErrorsAreToldApartByTheirMessages(t *testing.T) {
	const verbose = "no root object\nmain.parse\n\t/srv/parse.go:9\nmain.main\n\t/srv/main.go:3\n"
	wantApart(t, verbose, strings.Replace(verbose, "root object", "page tree", 1))
	wantSame(t, strings.Replace(verbose, "root object", "object 7", 1), strings.Replace(verbose, "root object", "object 12", 1))
}

func TestGoVersionsOfOneModuleStayApartFromItsSuccessor(t *testing.T) {
	a := "panic: x\n\ngoroutine 1 [running]:\nexample.com/pdf/v2.Read(0x1)\n\t/go/pkg/mod/example.com/pdf/v2@v2.1.0/read.go:9 +0x1\n"
	wantSame(t, a, strings.Replace(a, "@v2.1.0/read.go:9", "@v2.9.3/read.go:77", 1))
	wantApart(t, a, strings.Replace(a, "pdf/v2.Read", "pdf/v3.Read", 1))
}

func TestGoManyPanicsWithoutAGoroutineCostNoMoreThanTheirLines(t *testing.T) {
	r := ofTrace(strings.Repeat("panic: x\n", 3000) + "goroutine 1 [running]:\n")
	if r.Mode != ModeMessage {
		t.Errorf("mode %s", r.Mode)
	}
}
