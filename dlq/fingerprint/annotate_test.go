package fingerprint

import (
	"slices"
	"strings"
	"testing"
)

func kinds(trace string) []string {
	in := Input{Trace: trace}
	var out []string
	for _, l := range Annotate(in, Of(in)) {
		k := l.Kind
		if l.Kind == LineKey {
			k += string(rune('0' + l.Frame))
		}
		out = append(out, k)
	}
	return out
}

func TestAnnotateMarksKeyLibraryAndRaiseLines(t *testing.T) {
	for name, c := range map[string]struct {
		trace string
		want  []string
	}{
		"python": {
			pyBlockText("pdf.Broken: at\npage 7", "main@/app/job.py", "page@/app/page.py", "open@"+lib+"doc.py", "read@"+lib+"reader.py", "kids@"+lib+"pages.py", "at@"+lib+"kids.py"),
			[]string{"text", "frame", "frame", "frame", "frame", "library", "library", "key2", "key2", "key1", "key1", "key0", "key0", "raise", "message"},
		},
		"jvm": {
			"org.pdf.Broken$BrokenException: x\n" + pageTree + "\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: java.lang.Error: y\n\tat com.example.A.a(A.java:1)\n\t... 3 more",
			[]string{"raise", "frame", "frame", "frame", "library", "raise", "key0", "key0"},
		},
		"go": {
			goTrace,
			[]string{"raise", "text", "text", "key0", "key0", "key1", "key1", "key2", "key2", "frame", "frame"},
		},
		"javascript": {
			nodeTrace + "    at Module._compile (node:internal/modules/cjs/loader:1:2)",
			[]string{"raise", "key0", "key1", "key2", "text", "library"},
		},
		"dotnet": {
			"A.StageException: x\n ---> Org.PageException: y\nz\n" + dotnetKids + "   at System.Linq.Enumerable.First()\n   --- End of inner exception stack trace ---\n   at A.Stage.Fail()\n",
			[]string{"raise", "raise", "message", "key0", "key1", "key2", "library", "library", "frame"},
		},
		"ruby": {
			rubyTrace + "\tfrom /usr/lib/ruby/3.1.0/x.rb:1:in `y'\n\t ... 9 levels...\n\tfrom /app/x.rb:1:in `<main>'\n",
			[]string{"key0", "key1", "key2", "frame", "library", "library", "frame"}, // the line that names the exception is its first frame,
		},
		"php": {
			phpTrace,
			[]string{"raise", "text", "key0", "key1", "key2", "frame", "text"},
		},
	} {
		if got := kinds(c.trace); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got  %q\n want %q", name, got, c.want)
		}
	}
}

func TestAnnotateShowsTheUndressedText(t *testing.T) {
	in := Input{Trace: prefixed(nodeTrace, func(int) string { return "parser-1  | " })}
	lines := Annotate(in, Of(in))
	if want := strings.Split(strings.TrimSuffix(nodeTrace, "\n"), "\n"); len(lines) != len(want) || lines[1].Text != want[1] {
		t.Errorf("got %+v", lines)
	}
}

func TestAnnotateIsBounded(t *testing.T) {
	in := Input{Trace: strings.Repeat("x\n", 100_000)}
	if n := len(Annotate(in, Of(in))); n != 4000 {
		t.Errorf("%d lines", n)
	}
	if n := len(Annotate(Input{}, Result{})); n != 0 {
		t.Errorf("%d lines of nothing", n)
	}
}

func TestAnnotateMarksNoKeyWhereFramesAreNotInIt(t *testing.T) {
	in := Input{Trace: pythonTrace, Reason: "low_confidence", Confidence: 0.5}
	for _, l := range Annotate(in, Of(in)) {
		if l.Kind == LineKey {
			t.Errorf("marked %q", l.Text)
		}
	}
}
