package fingerprint

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bareTraces are the traces of testdata and of the corpus, where that is here,
// that nothing has to be taken off of, by file name.
func bareTraces(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, folder := range []string{"testdata", corpusFolder} {
		names, err := filepath.Glob(filepath.Join(folder, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			r := ofTrace(string(b))
			// A text of one line or two shows no quotation and no prefix.
			if r.Mode == ModeTrace && len(r.Steps) == 0 && strings.Count(strings.TrimSpace(string(b)), "\n") > 1 {
				out[filepath.Base(name)] = string(b)
			}
		}
	}
	return out
}

// replaced puts to in the place of every match of pattern.
func replaced(pattern, to string) func(string) string {
	shape := regexp.MustCompile(pattern)
	return func(s string) string { return shape.ReplaceAllString(s, to) }
}

// otherRuns are what differs from one run, machine or release to the next.
var otherRuns = map[string]func(string) string{
	"a virtual environment elsewhere": replaced(`File "[^"\n]*/(?:site|dist)-packages/`, `File "/opt/venv/lib/python3.11/site-packages/`),
	"Debian's packages":               replaced(`/site-packages/`, `/dist-packages/`),
	"another home":                    replaced(`/(?:home|Users|root)/[\w.-]+/`, `/srv/other/`),
	"another user on Windows":         replaced(`([A-Z]:\\Users\\)[\w.-]+\\`, `${1}someone\`),
	"Windows, V8":                     onWindows(`\((?:/[\w.@-]+)+\.[cm]?js:`),
	"Windows, Python":                 onWindows(`File "(?:/[\w.@-]+)+\.py"`),
	"another container's folder":      replaced(`(["( ])/(?:app|srv|workspace|code)/`, `$1/var/lib/worker/`),
	"lines of Python":                 replaced(`(File "[^"\n]*", line )\d+`, `${1}4711`),
	"lines of the JVM":                replaced(`(\.(?:java|kt|scala):)\d+\)`, `${1}4711)`),
	"lines and columns of V8":         replaced(`:\d+:\d+(\)|\n)`, `:4711:12$1`),
	"lines and offsets of Go":         replaced(`(\.go:)\d+( \+0x[0-9a-f]+)?\n`, "${1}4711 +0x2b\n"),
	"lines of .NET":                   replaced(`(\.(?:cs|vb|fs):(?:line|Zeile|ligne) )\d+`, `${1}4711`),
	"lines of Ruby":                   replaced(`(\.rb:)\d+:in`, `${1}4711:in`),
	"lines of PHP":                    replaced(`(\.php\()\d+\): `, `${1}4711): `),
	"lines of Rust":                   replaced(`(\.rs:)\d+:\d+`, `${1}4711:12`),
	"addresses":                       replaced(`\b0x[0-9a-f]{6,}\b`, `0x7fab4711c0de`),
	"goroutines":                      replaced(`goroutine \d+ `, `goroutine 4711 `),
	"releases of jars":                replaced(`-\d+\.\d+(?:\.\d+)*\.jar(:\d[\w.]*)?\]`, `-9.8.7.jar:9.8.7]`),
	"releases of Go modules":          replaced(`@v\d+\.\d+\.\d+/`, `@v9.8.7/`),
	"releases of gems":                replaced(`/gems/([a-z_-]+)-\d+\.\d+\.\d+/`, `/gems/$1-9.8.7/`),
	"releases of crates":              replaced(`(/registry/src/[^/\n]+/[a-z_-]+-)\d+\.\d+\.\d+/`, `${1}9.8.7/`),
	"hashes of crates":                replaced(`::h[0-9a-f]{16}\b`, `::h0123456789abcdef`),
	"numbers of documents":            replaced(`\b(?:doc|document|invoice)[-_]\d{3,}\b`, `document-90210`),
	"UUIDs":                           replaced(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, `01234567-89ab-4cde-8f01-23456789abcd`),
}

// onWindows writes the paths that pattern matches as Windows has them.
func onWindows(pattern string) func(string) string {
	shape := regexp.MustCompile(pattern)
	return func(s string) string {
		return shape.ReplaceAllStringFunc(s, func(m string) string {
			m = strings.ReplaceAll(m, "/", `\`)
			return strings.Replace(m, `\`, `C:\`, 1)
		})
	}
}

func TestWhatDiffersBetweenRunsDoesNotCount(t *testing.T) {
	if testing.Short() {
		t.Skip("every trace in every variation: left out of a short run")
	}
	for name, trace := range bareTraces(t) {
		for what, vary := range otherRuns {
			if got := ofTrace(vary(trace)); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%s in %s:\n%s\nbare:\n%s", what, name, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

// everyDressing is one of each kind that shippers, loggers and pages put round a
// trace.
func everyDressing(t *testing.T) map[string]func(string) string {
	all := map[string]func(string) string{
		"CRLF":             func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"colours":          everyLine(func(int) string { return "\x1b[1;31m" }),
		"JSON in JSON":     func(s string) string { return jsonOf(t, object{"message": jsonOf(t, object{"stack_trace": s})}) },
		"a string in JSON": func(s string) string { return jsonOf(t, s) },
		"Python's repr":    pythonRepr,
		"a Go %q":          strconv.Quote,
		"a page":           func(s string) string { return "<html><body><pre>" + html.EscapeString(s) + "</pre></body></html>" },
		"noise around it": func(s string) string {
			return "2026-02-11 09:42:12 INFO document a.pdf\n" + s + "\n2026-02-11 09:42:14 INFO next document\n"
		},
	}
	for name, format := range shippers {
		all[name] = everyLine(format)
	}
	for name, wrap := range envelopes {
		all[name] = func(s string) string { return jsonOf(t, wrap(s)) }
	}
	return all
}

func TestDressingDoesNotCount(t *testing.T) {
	if testing.Short() {
		t.Skip("every trace in every dressing takes seconds")
	}
	right, all := 0, 0
	for name, trace := range bareTraces(t) {
		for how, dress := range everyDressing(t) {
			all++
			if got := ofTrace(dress(trace)); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%s, %s:\n%s\nbare:\n%s\nsteps %q", how, name, got.Canonical, ofTrace(trace).Canonical, got.Steps)
				continue
			}
			right++
		}
	}
	t.Logf("%d of %d right", right, all)
}

// TestWhatTheKeyIsMadeOfCounts changes the type, takes away each frame of the
// key, and where a template joined it changes a word of the message.
func TestWhatTheKeyIsMadeOfCounts(t *testing.T) {
	word := regexp.MustCompile(`(?:^|[ (])([a-z]{5,})(?:[ .,;)]|$)`)
	for name, trace := range bareTraces(t) {
		bare := ofTrace(trace)
		if got := ofTrace(strings.ReplaceAll(trace, bare.Type, "Another"+bare.Type)); bare.Type != "" && strings.Contains(trace, bare.Type) && got.Digest == bare.Digest && !kindless[bare.Type] {
			t.Errorf("another type than %s does not count in %s:\n%s", bare.Type, name, got.Canonical)
		}
		for _, f := range bare.Frames {
			if f.Function == "" {
				continue // the place that a panic names
			}
			if strings.Contains(trace, "<internal:") {
				continue // it has the file of its caller
			}
			if got := ofTrace(withoutFrame(trace, f)); got.Digest == bare.Digest {
				t.Errorf("frame %s does not count in %s:\n%s", f, name, got.Canonical)
			}
		}
		_, template, _ := strings.Cut(bare.Canonical, "\nmsg=")
		if m := word.FindStringSubmatch(strings.TrimSpace(template)); m != nil && strings.Contains(trace, m[1]) {
			if got := ofTrace(strings.ReplaceAll(trace, m[1], "another")); got.Digest == bare.Digest {
				t.Errorf("%q of the message does not count in %s:\n%s", m[1], name, got.Canonical)
			}
		}
	}
}

// kindless are names of this package, or words of the runtime that say nothing
// when they are changed.
var kindless = set("panic", "error", "Error", "fatal error", "runtime error")

// withoutFrame drops every line of the trace that is the frame f: recursion may
// have printed it more than once.
func withoutFrame(trace string, f Frame) string {
	a := analyse(Input{Trace: trace})
	var b strings.Builder
	for i, line := range a.lines {
		if read := a.lang.frame(a.lines, i); read == nil || read.Frame != f {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
