package fingerprint

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
)

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// dressings are what transport and display do to a trace, with the step that
// undressing reports.
func dressings(t *testing.T) map[string]struct {
	step  string
	dress func(string) string
} {
	return map[string]struct {
		step  string
		dress func(string) string
	}{
		"CRLF":    {"line ends unified", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		"lone CR": {"line ends unified", func(s string) string { return strings.ReplaceAll(s, "\n", "\r") }},
		"BOM":     {"NUL and byte order marks dropped", func(s string) string { return "\uFEFF" + s + "\x00" }},
		"colours": {"terminal colours removed", func(s string) string {
			return prefixed(s, func(int) string { return "\x1b[1;31m\x1b]8;;http://x\x07" }) + "\x1b[0m"
		}},
		"container prefix": {"log prefix cut from each line", func(s string) string {
			return prefixed(s, func(n int) string { return fmt.Sprintf("2026-02-11T09:42:13.%03dZ worker-7 stderr F ", n) })
		}},
		"compose prefix": {"log prefix cut from each line", func(s string) string {
			return prefixed(s, func(int) string { return "parser-1  | " })
		}},
		"quoted prefix": {"log prefix cut from each line", func(s string) string {
			var b strings.Builder
			for line := range strings.Lines(s) {
				b.WriteString(`[20-Feb-2020 08:42:40] WARNING: [pool www] child 70 said into stderr: "` + strings.TrimSuffix(line, "\n") + "\"\n")
			}
			return b.String()
		}},
		"JSON object": {"taken out of a JSON object", func(s string) string {
			return jsonOf(t, map[string]any{"level": 50, "message": "job failed", "err": map[string]any{"message": "x", "stack": s}})
		}},
		"JSON object in a JSON object": {"taken out of a JSON object", func(s string) string {
			return jsonOf(t, map[string]any{"message": jsonOf(t, map[string]any{"stack_trace": s})})
		}},
		"JSON string": {"JSON string decoded", func(s string) string { return jsonOf(t, s) }},
		"list of lines in JSON": {"taken out of a JSON object", func(s string) string {
			return jsonOf(t, map[string]any{"exc_info": strings.Split(s, "\n")})
		}},
		"JSON log lines": {"taken out of JSON log lines", func(s string) string {
			var b strings.Builder
			for line := range strings.Lines(s) {
				b.WriteString(jsonOf(t, map[string]any{"log": line, "stream": "stderr"}) + "\n")
			}
			return b.String()
		}},
		"escapes": {"escapes decoded", func(s string) string {
			quoted := jsonOf(t, s)
			return quoted[1 : len(quoted)-1]
		}},
		"HTML": {"HTML entities decoded", func(s string) string { return html.EscapeString(s) + "&quot;" }},
	}
}

func TestDressingDoesNotChangeTheFingerprint(t *testing.T) {
	for dressing, d := range dressings(t) {
		for language, trace := range traces {
			if dressing == "HTML" && language != "python" {
				trace += "<b>" // make sure there is something to decode
			}
			bare, dressed := ofTrace(traces[language]), ofTrace(d.dress(trace))
			if bare.Digest != dressed.Digest {
				t.Errorf("%s, %s:\n%s\n%s", dressing, language, bare.Canonical, dressed.Canonical)
			}
			if !slices.Contains(dressed.Steps, d.step) {
				t.Errorf("%s, %s: steps %q, want %q among them", dressing, language, dressed.Steps, d.step)
			}
			if len(bare.Steps) > 0 {
				t.Errorf("%s: a bare trace was undressed: %q", language, bare.Steps)
			}
		}
	}
}

func TestInvalidBytesAreReplacedNotKept(t *testing.T) {
	r := ofTrace(changed(t, pythonTrace, "HeaderError: bad", "HeaderError: bad \xff"))
	if want := "bad \uFFFD magic"; !strings.HasPrefix(r.Message, want) {
		t.Errorf("message %q, want it to start with %q", r.Message, want)
	}
	if r.Digest != ofTrace(pythonTrace).Digest {
		t.Error("an invalid byte in the message changed the digest")
	}
}

func TestPrefixOfTheFirstLineAloneStays(t *testing.T) {
	logged := "2026-02-11 09:42:13 ERROR worker failed\n" + javaTrace
	wantSame(t, javaTrace, logged)
	if steps := ofTrace(logged).Steps; len(steps) > 0 {
		t.Errorf("steps %q", steps)
	}
}

func TestPrefixOfOneFrameAloneStays(t *testing.T) {
	if steps := ofTrace("java.io.IOException: x\n[main] \tat a.B.c(B.java:1)\none\ntwo\n").Steps; len(steps) > 0 {
		t.Errorf("steps %q", steps)
	}
}

func TestWrappedConsoleLinesAreJoined(t *testing.T) {
	for name, broken := range map[string]string{
		"inside a word":     strings.Replace(pythonTrace, "line 88, in read", "line 88, in r\nead", 1),
		"before in":         strings.Replace(pythonTrace, "line 88, in read", "line 88,\nin read", 1),
		"inside the number": strings.Replace(pythonTrace, "line 88, in read", "line 8\n8, in read", 1),
		"inside the path":   strings.Replace(pythonTrace, "invoices/reader.py", "invoices/rea\nder.py", 1),
	} {
		r := ofTrace(broken)
		if r.Digest != ofTrace(pythonTrace).Digest {
			t.Errorf("%s: %s", name, r.Canonical)
		}
		if !slices.Contains(r.Steps, "lines broken by a console joined") {
			t.Errorf("%s: steps %q", name, r.Steps)
		}
	}
}

func TestExceptionLineAfterABareFrameIsNotItsRemainder(t *testing.T) {
	r := ofTrace("Traceback (most recent call last):\n  File \"<string>\", line 1, in read\nHeaderError\n")
	if r.Type != "HeaderError" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "read@<string>")
}

func TestLongTracesAreReadAtBothEnds(t *testing.T) {
	noise := strings.Repeat("some line that a program printed\n", 40_000)
	for name, text := range map[string]string{"trace last": noise + pythonTrace, "trace first": javaTrace + noise} {
		r := ofTrace(text)
		if r.Mode != ModeTrace {
			t.Errorf("%s: mode %s", name, r.Mode)
		}
		if len(r.Steps) != 2 {
			t.Errorf("%s: steps %q, want the cut in bytes and the cut in lines", name, r.Steps)
		}
	}
}

func TestUnescapeLeavesWhatItDoesNotKnow(t *testing.T) {
	for in, want := range map[string]string{
		`a\nb\tc`: "a\nb\tc", `\"q\"`: `"q"`, `\u00e9\x41`: "éA", `C:\dir\x`: `C:\dir\x`, `tail\`: `tail\`, `\uZZZZ`: `\uZZZZ`, `\u12`: `\u12`,
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}
