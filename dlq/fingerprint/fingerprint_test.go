package fingerprint

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestEachLanguageIsRecognisedAndRead(t *testing.T) {
	want := map[string][]string{
		"python":     {"parse@header.py", "read@reader.py", "run@worker.py"},
		"jvm":        {"parse@com.example.invoices.Header", "read@com.example.invoices.Reader", "run@com.example.worker.Worker"},
		"go":         {"invoices.(*Header).parse@example.com/invoices", "invoices.Read@example.com/invoices", "main.run@main"},
		"javascript": {"parse@header.js", "read@reader.js", "run@worker.js"},
		"rust":       rustFrames,
		"powershell": {"@Import-Sheet.ps1"},
		"native":     {"pdf::XRef::readEntry@xref.cc", "pdf::Document::open@document.cc", "main@render.cc"},
		"dotnet":     {"Header.Parse@Acme.Invoices", "Reader.Read@Acme.Invoices", "Worker.Run@Acme"},
		"ruby":       {"parse@header.rb", "read@reader.rb", "open@reader.rb"},
		"php":        phpTraceFrames,
	}
	for language, trace := range traces {
		r := ofTrace(trace)
		if r.Language != language || r.Mode != ModeTrace {
			t.Errorf("%s read as %s, mode %s", language, r.Language, r.Mode)
		}
		wantFrames(t, r, want[language]...)
	}
}

func TestLinesPathsAddressesAndArgumentsDoNotCount(t *testing.T) {
	t.Run("python", func(t *testing.T) {
		wantSame(t, pythonTrace, changed(t, pythonTrace, "line 41", "line 7", "line 88", "line 1088", "/srv/venv/lib/python3.12", `/home/u/.cache/env/lib/python3.8`,
			"/srv/app", "/opt/job-7f3a", "at 512", "at 9", "              ^^^^^^^^^^\n", ""))
		wantSame(t, pythonTrace, changed(t, pythonTrace, "/srv/app/worker.py", `C:\app\worker.py`, "invoices.errors.", "invoices.exceptions."))
	})
	t.Run("jvm", func(t *testing.T) {
		wantSame(t, javaTrace, changed(t, javaTrace, ":12)", ":120)", ":88)", ") ~[invoices-2.0.jar:2.0]", "java.base/", "", "0x0001", "0xBEEF"))
	})
	t.Run("go", func(t *testing.T) {
		wantSame(t, goTrace, changed(t, goTrace, "0xc000012345", "0xc00077", "@v1.2.3", "@v1.9.0", "+0x1a5", "+0x9", "/go/pkg/mod/", "", "goroutine 18", "goroutine 7", "at 512", "at 1024", "(...)", "({0x1?, 0x2?})"))
	})
	t.Run("javascript", func(t *testing.T) {
		wantSame(t, nodeTrace, changed(t, nodeTrace, ":12:9", ":2:1", "/srv/app/node_modules", "file:///app/dist/node_modules", "header.js", "header.js?v=12"))
	})
}

func TestTypeFunctionAndModuleCount(t *testing.T) {
	wantApart(t, pythonTrace, changed(t, pythonTrace, "HeaderError: bad", "TrailerError: bad"))
	wantApart(t, pythonTrace, changed(t, pythonTrace, "in parse", "in parse_v2"))
	wantApart(t, pythonTrace, changed(t, pythonTrace, "invoices/header.py", "invoices/trailer.py"))
	wantApart(t, javaTrace, changed(t, javaTrace, "invoices.Header.parse", "orders.Header.parse"))
	wantApart(t, goTrace, changed(t, goTrace, "(*Header)", "(*Trailer)"))
	wantApart(t, nodeTrace, changed(t, nodeTrace, "reader.js", "stream.js"))
}

func TestFourthFrameDoesNotCount(t *testing.T) {
	deeper := changed(t, javaTrace, "java.base/java.lang.Thread.run(Thread.java:840)", "com.example.batch.Batch.run(Batch.java:9)")
	wantSame(t, javaTrace, deeper)
}

func TestResultHoldsWhatTheDigestIsMadeOf(t *testing.T) {
	r := ofTrace(pythonTrace)
	const canonical = "f1\nmode=trace\ntype=HeaderError\nframe=parse@header.py\nframe=read@reader.py\nframe=run@worker.py\n"
	if r.Canonical != canonical {
		t.Errorf("canonical %q, want %q", r.Canonical, canonical)
	}
	if r.Type != "HeaderError" || r.RootType != "" || r.Confidence != ConfidenceHigh {
		t.Errorf("type %q, root %q, confidence %q", r.Type, r.RootType, r.Confidence)
	}
	if want := `bad magic b'\x00\x01' at 512`; r.Message != want {
		t.Errorf("message %q, want %q", r.Message, want)
	}
	if want := "bad magic <str> at <int>"; r.Template != want {
		t.Errorf("template %q, want %q", r.Template, want)
	}
	if !regexp.MustCompile(`^f1:[0-9a-f]{32}$`).MatchString(r.String()) {
		t.Errorf("versioned digest %q", r)
	}
}

func TestColumnsFillInWhatTheTraceDoesNotSay(t *testing.T) {
	r := Of(Input{ErrorType: "acme.pdf.BrokenPage", ErrorMessage: "page 7 of 9"})
	if r.Mode != ModeMessage || r.Confidence != ConfidenceLow {
		t.Errorf("mode %s, confidence %s", r.Mode, r.Confidence)
	}
	if want := "f1\nmode=message\ntype=BrokenPage\nmsg=page <int> of <int>\n"; r.Canonical != want {
		t.Errorf("canonical %q, want %q", r.Canonical, want)
	}
	// A bare Error is what V8 prints for a class that sets its name too late.
	bare := "Error\n    at parse (/a/header.js:1:2)\n    at read (/a/reader.js:1:2)\n"
	if r := Of(Input{ErrorType: "HeaderError", Trace: bare}); r.Type != "HeaderError" {
		t.Errorf("type %q, want the reporter's", r.Type)
	}
	// A Go error that is printed with its stack names no type at all.
	layered := "no root object\nexample.com/pdf.(*Reader).trailer\n\t/src/pdf/reader.go:41\nexample.com/pdf.Open\n\t/src/pdf/open.go:12\nopen lease\nexample.com/intake.Parse\n\t/src/intake/parse.go:9\n"
	if r := Of(Input{ErrorType: "*pdf.DamagedError", Trace: layered}); r.Type != "DamagedError" {
		t.Errorf("type %q, want the reporter's", r.Type)
	}
	if r := Of(Input{ErrorType: "*fmt.wrapError", Trace: layered}); r.Type != goErrorType {
		t.Errorf("type %q: a wrapper's type tells nothing", r.Type)
	}
}

func TestUnknownTextFallsBackToItsMessage(t *testing.T) {
	for name, trace := range map[string]string{
		"perl":   "bad header at /app/a.pl line 3.\n\tmain::read('x') called at /app/b.pl line 9\n",
		"elixir": "** (HeaderError) bad header\n    (acme 0.1.0) lib/acme/header.ex:3: Acme.Header.read/1\n",
	} {
		r := ofTrace(trace)
		if r.Mode != ModeMessage || len(r.Frames) > 0 || r.Confidence != ConfidenceLow {
			t.Errorf("%s: mode %s, %d frames, confidence %s", name, r.Mode, len(r.Frames), r.Confidence)
		}
		if !strings.Contains(r.Canonical, "bad header") {
			t.Errorf("%s: the message is missing from %q", name, r.Canonical)
		}
	}
}

func TestNothingAtAllIsKeyedBySourceAndParser(t *testing.T) {
	r := Of(Input{Source: "mail", Parser: "pdf"})
	if want := "f1\nmode=none\nsource=mail\nparser=pdf\n"; r.Canonical != want || r.Confidence != ConfidenceLow {
		t.Errorf("canonical %q, confidence %s", r.Canonical, r.Confidence)
	}
	if other := Of(Input{Source: "mail", Parser: "docx"}); other.Digest == r.Digest {
		t.Error("another parser gives the same digest")
	}
}

func TestLowConfidenceIsKeyedBySourceStageAndBand(t *testing.T) {
	in := Input{Reason: "low_confidence", Source: "scans", Stage: "ocr", Confidence: 0.72, Trace: pythonTrace}
	r := Of(in)
	if want := "f1\nmode=confidence\nsource=scans\nstage=ocr\nband=0.70-0.75\n"; r.Canonical != want {
		t.Errorf("canonical %q, want %q", r.Canonical, want)
	}
}

func TestConfidenceBandsAreHalfOpenAndCoverTheScale(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.00-0.05", 0.049: "0.00-0.05", 0.05: "0.05-0.10", 0.7: "0.70-0.75", 0.749: "0.70-0.75", 0.75: "0.75-0.80",
		0.15: "0.15-0.20", 0.35: "0.35-0.40", 1: "0.95-1.00", 7: "0.95-1.00", -1: "0.00-0.05", math.Inf(1): "0.95-1.00",
	} {
		if got := confidenceBand(v); got != want {
			t.Errorf("band of %v is %s, want %s", v, got, want)
		}
	}
	for k := range 20 {
		bound := fmt.Sprintf("%.2f", float64(k)/20)
		v, err := strconv.ParseFloat(bound, 64)
		if got := confidenceBand(v); err != nil || !strings.HasPrefix(got, bound+"-") {
			t.Errorf("band of %s is %s", bound, got)
		}
	}
	if got := confidenceBand(math.NaN()); got != "0.00-0.05" {
		t.Errorf("band of NaN is %s", got)
	}
}

func TestConfidenceFollowsHowMuchIsKnown(t *testing.T) {
	for name, c := range map[string]struct{ trace, want string }{
		"three frames and a type": {pythonTrace, ConfidenceHigh},
		"one frame":               {"Traceback (most recent call last):\n  File \"/a/b.py\", line 1, in f\n    g()\nHeaderError: x\n", ConfidenceMedium},
		"a catch-all type":        {goTrace, ConfidenceMedium},
		"tail cut":                {pythonTrace[:strings.Index(pythonTrace, "invoices.errors")], ConfidenceLow},
	} {
		if got := ofTrace(c.trace).Confidence; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestHintOnlySettlesTies(t *testing.T) {
	tie := "HeaderError: x\n    at read (/a/reader.js:1:2)\n\n" +
		"Traceback (most recent call last):\n  File \"/a/b.py\", line 1, in f\nHeaderError: x\n"
	if got := Of(Input{Trace: tie, Language: "Node"}).Language; got != "javascript" {
		t.Errorf("tie with a hint went to %s", got)
	}
	if got := Of(Input{Trace: tie}).Language; got != "python" {
		t.Errorf("tie without a hint went to %s", got)
	}
	if got := Of(Input{Trace: javaTrace, Language: "python"}).Language; got != "jvm" {
		t.Errorf("a wrong hint made %s of a JVM trace", got)
	}
}
