package fingerprint

import (
	"strings"
	"testing"
)

func TestAStackMadeOfMachineryAloneIsKept(t *testing.T) {
	for _, c := range map[string]struct {
		trace string
		want  []string
	}{
		"python":     {pyBlockText("queue.Empty", "get@/usr/lib/python3.11/multiprocessing/pool.py"), []string{"get@pool.py"}},
		"jvm":        {"java.lang.NullPointerException\n\tat java.base/java.util.Objects.requireNonNull(Objects.java:233)\n\tat java.base/java.util.concurrent.FutureTask.run(FutureTask.java:264)\n", []string{"requireNonNull@java.util.Objects", "run@java.util.concurrent.FutureTask"}},
		"go":         {"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\nruntime.gopark(0x1)\n\t/usr/local/go/src/runtime/proc.go:424 +0xce\n", []string{"runtime.gopark@runtime"}},
		"javascript": {"Error: read ECONNRESET\n    at TLSWrap.onStreamRead (node:internal/stream_base_commons:218:20)\n", []string{"onStreamRead@node:internal/stream_base_commons"}},
	} {
		wantFrames(t, ofTrace(c.trace), c.want...)
	}
}

func TestMachineryIsSkippedAtTheTopOnly(t *testing.T) {
	r := ofTrace("HeaderError: x\n    at parse (/srv/a.js:1:2)\n    at node:internal/main/run_main_module:28:49\n    at run (/srv/b.js:1:2)\n")
	wantFrames(t, r, "parse@a.js", "<anonymous>@node:internal/main/run_main_module", "run@b.js")
}

func TestACauseThatOnlyRepeatsItsParentIsPassedOver(t *testing.T) {
	repeated := "org.pdf.BrokenException: page 7\n\tat org.pdf.Reader.read(Reader.java:8)\n\tat org.pdf.Doc.open(Doc.java:9)\nCaused by: org.pdf.BrokenException: page 7\n\t... 45 more\n"
	r := ofTrace(repeated)
	if r.RootType != "" {
		t.Errorf("root %q", r.RootType)
	}
	wantFrames(t, r, "read@org.pdf.Reader", "open@org.pdf.Doc")
}

func TestACauseWithoutFramesIsToldWhereItWasPassedOn(t *testing.T) {
	caused := func(cause string) string {
		return "org.pdf.StageException: stage\n\tat org.pdf.Reader.read(Reader.java:8)\n\tat org.pdf.Doc.open(Doc.java:9)\nCaused by: " + cause + "\n\t... 2 more\n"
	}
	r := ofTrace(caused("java.io.EOFException: end"))
	if r.Type != "StageException" || r.RootType != "EOFException" {
		t.Errorf("type %q, root %q", r.Type, r.RootType)
	}
	wantFrames(t, r, "read@org.pdf.Reader", "open@org.pdf.Doc")
	wantApart(t, caused("java.io.EOFException: end"), caused("java.net.SocketException: end"))
}

func TestCanonicalTextNamesEachPartOnItsOwnLine(t *testing.T) {
	for _, trace := range append([]string{pyGroup(pyBlockText("a.A: x", "f@/a.py"), pyBlockText("b.B: x", "g@/b.py"))}, pythonTrace, javaTrace, goTrace, nodeTrace) {
		lines := strings.Split(strings.TrimSuffix(ofTrace(trace).Canonical, "\n"), "\n")
		if lines[0] != "f1" || lines[1] != "mode=trace" {
			t.Errorf("starts with %q", lines[:2])
		}
		for _, line := range lines[1:] {
			name, value, ok := strings.Cut(line, "=")
			if !ok || value == "" || !strings.Contains(" mode type root frame cycle wrap msg leaf ", " "+name+" ") {
				t.Errorf("line %q", line)
			}
		}
	}
}

func TestNoLineOfAKeyCanBeForgedByAMessage(t *testing.T) {
	r := ofTrace("Error: x\nframe=evil@evil.js\n    at parse (/srv/a.js:1:2)\n")
	if strings.Contains(r.Canonical, "\nframe=evil") {
		t.Errorf("canonical\n%s", r.Canonical)
	}
	r = Of(Input{ErrorType: "X\nmsg=y", ErrorMessage: "a\rroot=b"})
	if strings.Contains(r.Canonical, "\nroot=") || strings.Count(r.Canonical, "\n") != 4 {
		t.Errorf("canonical\n%q", r.Canonical)
	}
}
