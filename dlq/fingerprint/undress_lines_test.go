package fingerprint

import (
	"strings"
	"testing"
)

func TestLineBreaksThatTransportWroteInAnotherWay(t *testing.T) {
	for how, dress := range map[string]func(string) string{
		"syslog's octal": func(s string) string {
			return "Feb 11 09:42:13 worker ingest[812]: " + strings.NewReplacer("\n", "#012", "\t", "#011").Replace(s)
		},
		"code points in JSON": func(s string) string { return strings.ReplaceAll(jsonOf(t, object{"stack": s}), `\n`, `\u000a`) },
		"numeric entities": func(s string) string {
			return "<pre>" + strings.NewReplacer("\n", "&#10;", "\t", "&#9;", "<", "&lt;", `"`, "&quot;").Replace(s) + "</pre>"
		},
		"escaped tabs":               func(s string) string { return strings.ReplaceAll(s, "\n\t", "\n\\t") },
		"a console's doubled return": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\r\n") },
		"a blank line after every line": func(s string) string {
			return strings.ReplaceAll(strings.TrimRight(strings.ReplaceAll(s, "\n\n", "\n"), "\n"), "\n", "\n\n")
		},
		"a table's cell": func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` },
		"doubled quotes": func(s string) string { return strings.ReplaceAll(s, `"`, `""`) },
		"a record cut before its end": func(s string) string {
			return strings.TrimSuffix(jsonOf(t, object{"level": "error", "stack": s + "x"}), `x"}`)
		},
	} {
		for language, trace := range traces {
			if got := ofTrace(dress(trace)); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%s, %s:\n%s\nbare:\n%s", how, language, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

func TestATraceOnOneLineGetsItsLinesBack(t *testing.T) {
	for _, language := range []string{"python", "jvm", "javascript"} {
		trace := strings.TrimSpace(traces[language])
		for how, flat := range map[string]string{
			"by a blank":         strings.ReplaceAll(trace, "\n", " "),
			"by collapsed blank": strings.Join(strings.Fields(trace), " "),
		} {
			if got := ofTrace(flat); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%s, %s:\n%s\nbare:\n%s", language, how, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
	prose := "we met at noon (12:30) and at one (13:30) to talk of File \"a\" and of nothing else"
	if r := ofTrace(prose); r.Mode != ModeMessage {
		t.Errorf("mode %s", r.Mode)
	}
}
