package fingerprint

import (
	"strings"
	"testing"
)

func TestTraceThatLostItsLineBreaksIsRead(t *testing.T) {
	inner := "A.B.StageException: x ---> A.B.PageException: y\n" + dotnetKids + "   --- End of inner exception stack trace ---\n   at Acme.Stage.Fail()\n"
	for _, trace := range []string{dotnetTrace, inner, phpTrace, javaTrace, javaTrace + "Caused by: com.example.X: y\n\tat com.example.X.z(X.java:1)\n\t... 3 more\n", nodeTrace} {
		wantSame(t, trace, strings.Join(strings.Fields(trace), " "))
		wantSame(t, trace, "2026-02-11 INFO next\n"+strings.ReplaceAll(strings.TrimSpace(trace), "\n", "   ")+"\n2026-02-11 INFO last\n")
	}
	r := ofTrace(strings.Join(strings.Fields(javaTrace), " "))
	if len(r.Steps) != 1 || r.Steps[0] != "a trace on one line broken into lines" {
		t.Errorf("steps %q", r.Steps)
	}
}

func TestLinesThatTellOfPlacesAreNotBroken(t *testing.T) {
	for _, line := range []string{
		"failed at parse (page 3), again at retry", "    at Object.run (/a/at (b)/c.js:1:2)", "\tat com.a.B.c(B.java:9) ~[at (x).jar:1]", "look at this (maybe) and at that (too)",
	} {
		if u := undress(line); len(u.lines) != 1 {
			t.Errorf("%q became %q", line, u.lines)
		}
	}
}
