package web

import "testing"

func TestNextLeadsNowhereButIntoThisSite(t *testing.T) {
	for _, next := range []string{
		"//e", "///e", "////e", `/\e`, `\/e`, `\\e`, `/\/e`, "/%09/e", "/\t/e", "/\n/e", "/\r/e", "/%0a/e", "/%0d%0aSet-Cookie:x=y", "/%00/e",
		"/%2fe", "/%2f%2fe", "/%5ce", "/%5c%5ce", "/a/%2f/e", "/a//e", "/.//e", "/..//e", "/a/..//e", "/%2e%2e//e", "/a/../../e", "/%2e/e",
		"https:e", "https://e", "https:///e", "http:/e", "HTTPS://e", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "data:text/html,x", "vbscript:x", "mailto:a@e", "//user@e", "//e@localhost", "@e",
		"e", "e.example/x", ".", "..", "", " /e", "\t//e", "\u00a0//e", "/\u202Ee", "/\u200B/e", "/%e2%80%ae", "/\u2028e", "/\u3000e", "/%zz", "/%", "/%ff%fe", "/\xff",
		"/x#//e", "?next=//e", "/login", "/login?next=/login", "/login/", "/logout", "/%6cogin", "/entries?q=%0d%0aX:1", "/entries?q=\x00",
		"/" + string(make([]byte, 3000)), "*", "/a\\b", "/;//e",
	} {
		if got := SafeNext(next); got != "/" {
			t.Errorf("%q leads to %q", next, got)
		}
	}
	for _, next := range []string{
		"/", "/cohorts", "/cohorts/01K5", "/entries?q=error_type%3AParse%20or%20x&cursor=a%2Fb", "/entries?q=a+b", `/entries?q=C:\temp`, "/entries?q=C%3A%5Ctemp", "/entries?q=http://x//y",
		"/entries?q=50%25", "/reports/aging", "/entries/01J/case", "/loginlog", "/a.b/c", "/caf%C3%A9", "/café",
	} {
		if got := SafeNext(next); got != next {
			t.Errorf("%q became %q", next, got)
		}
	}
}

func FuzzSafeNext(f *testing.F) {
	for _, seed := range []string{"/a?b=c", "//e", "/%2f", `/\e`, "/a/../b", "/%09/e"} {
		f.Add(seed)
	}
	base := mustURL("https://dlo.example.com/login")
	f.Fuzz(func(t *testing.T, next string) {
		got := SafeNext(next)
		target, err := base.Parse(got)
		if err != nil || target.Host != base.Host || target.Scheme != "https" || target.User != nil {
			t.Fatalf("%q leads to %v (%v)", next, target, err)
		}
		if len(got) > 1 && (got[0] != '/' || got[1] == '/' || got[1] == '\\') {
			t.Fatalf("%q gave %q", next, got)
		}
	})
}
