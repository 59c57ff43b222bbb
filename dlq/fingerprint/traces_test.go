package fingerprint

import (
	"strings"
	"testing"
)

// One small failure in each language, for tests that dress or disturb it.
const (
	pythonTrace = `Traceback (most recent call last):
  File "/srv/app/worker.py", line 41, in run
    invoice = read(path)
              ^^^^^^^^^^
  File "/srv/venv/lib/python3.12/site-packages/invoices/reader.py", line 88, in read
    return Header.parse(block)
  File "/srv/venv/lib/python3.12/site-packages/invoices/header.py", line 12, in parse
    raise HeaderError(f"bad magic {magic!r} at {offset}")
invoices.errors.HeaderError: bad magic b'\x00\x01' at 512
`
	javaTrace = `com.example.invoices.HeaderException: bad magic 0x0001 at 512
	at com.example.invoices.Header.parse(Header.java:12)
	at com.example.invoices.Reader.read(Reader.java:88)
	at com.example.worker.Worker.run(Worker.java:41)
	at java.base/java.lang.Thread.run(Thread.java:840)
`
	goTrace = `panic: bad magic 0x0001 at 512

goroutine 18 [running]:
example.com/invoices.(*Header).parse(0xc000012345, {0xc0000a0000, 0x200, 0x200})
	/go/pkg/mod/example.com/invoices@v1.2.3/header.go:12 +0x1a5
example.com/invoices.Read({0x1234, 0x5})
	/go/pkg/mod/example.com/invoices@v1.2.3/reader.go:88 +0x2b
main.run(...)
	/srv/app/main.go:41
main.main()
	/srv/app/main.go:20 +0x99
`
	nodeTrace = `HeaderError: bad magic 0x0001 at 512
    at Header.parse (/srv/app/node_modules/invoices/lib/header.js:12:9)
    at read (/srv/app/node_modules/invoices/lib/reader.js:88:20)
    at async run (/srv/app/src/worker.js:41:3)
    at async Promise.all (index 0)
`
)

var traces = map[string]string{"python": pythonTrace, "jvm": javaTrace, "go": goTrace, "javascript": nodeTrace, "dotnet": dotnetTrace, "ruby": rubyTrace, "php": phpTrace, "rust": rustTrace, "powershell": psTrace, "native": asanTrace}

func ofTrace(trace string) Result { return Of(Input{Trace: trace}) }

// wantSame and wantApart compare two traces and show both canonical texts.
func wantSame(t *testing.T, a, b string) {
	t.Helper()
	if x, y := ofTrace(a), ofTrace(b); x.Digest != y.Digest {
		t.Errorf("apart, want the same:\n%s\n%s", x.Canonical, y.Canonical)
	}
}

func wantApart(t *testing.T, a, b string) {
	t.Helper()
	if x, y := ofTrace(a), ofTrace(b); x.Digest == y.Digest {
		t.Errorf("the same, want apart:\n%s", x.Canonical)
	}
}

func wantFrames(t *testing.T, r Result, want ...string) {
	t.Helper()
	var got []string
	for _, f := range r.Frames {
		got = append(got, f.String())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("frames %q, want %q", got, want)
	}
}

// changed replaces old by new and fails if that changes nothing.
func changed(t *testing.T, text string, oldNew ...string) string {
	t.Helper()
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			t.Fatalf("nothing to replace: %q", oldNew[i])
		}
	}
	return strings.NewReplacer(oldNew...).Replace(text)
}

func prefixed(text string, prefix func(line int) string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		b.WriteString(prefix(n) + line)
		n++
	}
	return b.String()
}
