package web

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func TestMarkdownOfARunbook(t *testing.T) {
	in := "# Wiki\n\n1. **Stop** the `parser`\n2. ~~Wait~~ see [cohorts](/cohorts?q=a), [docs](https://docs.example.com/a?b=c&d), [mail](mailto:a@example.com), [top](#top)\n\n" +
		"> quoted\n\n```\n<b>code</b>\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n"
	got, err := Markdown(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>Wiki</h1>", "<ol>", "<strong>Stop</strong>", "<code>parser</code>", "<del>Wait</del>", `<a href="/cohorts?q=a"`, `<a href="https://docs.example.com/a?b=c&amp;d"`,
		`<a href="mailto:a@example.com"`, `<a href="#top"`, "<blockquote>", "&lt;b&gt;code&lt;/b&gt;", "<td>1</td>", `rel="nofollow noreferrer"`} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s:\n%s", want, got)
		}
	}
}

var (
	anyTag  = regexp.MustCompile(`<([a-zA-Z!/][^\s>/]*)`)
	anyHref = regexp.MustCompile(`href="([^"]*)"`)
	allowed = regexp.MustCompile(`^(https?://|mailto:|/[^/\\]|/$|#)`)
	tags    = setOf("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a")
)

func checkHarmless(t *testing.T, in, out string) {
	t.Helper()
	for _, match := range anyTag.FindAllStringSubmatch(out, -1) {
		if !tags[strings.TrimPrefix(match[1], "/")] {
			t.Errorf("%q gives a <%s>: %s", in, match[1], out)
		}
	}
	for _, match := range anyHref.FindAllStringSubmatch(out, -1) {
		if !allowed.MatchString(match[1]) {
			t.Errorf("%q links to %q", in, match[1])
		}
	}
	for _, attribute := range regexp.MustCompile(`<[^>]*\s([a-zA-Z-]+)=`).FindAllStringSubmatch(out, -1) {
		if attribute[1] != "href" && attribute[1] != "rel" && attribute[1] != "start" {
			t.Errorf("%q has the attribute %s: %s", in, attribute[1], out)
		}
	}
}

func TestMarkdownSchemes(t *testing.T) {
	for _, in := range []string{
		"[a](javascript:alert(1))", "[a](javascript&colon;alert(1))", "[a](java&Tab;script:alert(1))", "[a](java&NewLine;script:alert(1))", "[a](&#1;javascript:alert(1))", "[a]( javascript:alert(1))",
		"[a](<java\tscript:alert(1)>)", "[a](JaVaScRiPt:alert(1))", "[a](data:image/svg+xml,<svg onload=alert(1)>)", "[a](data:image/png;base64,AAAA)", "<javascript:alert(1)>", "[a](vbscript:x)", "[a](blob:https://x/1)",
		"[a](intent://x#Intent;end)", "[a](ms-msdt:/id)", "[a](//evil.example)", `[a](/\evil.example)`, `[a](\\\\evil.example)`, "[a](/%09/evil.example)", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![a](https://evil.example/x.png)", "![a](/logo.png)",
		`[a](https://x.example "x\" onmouseover=\"alert(1)")`, `[a](https://x.example 'onmouseover="alert(1)"')`, "- [ ] <input onfocus=alert(1) autofocus>", "<https://x.example/\"onmouseover=alert(1)>", "[a]: javascript:alert(1)\n\n[a]", "# x {#login onclick=alert(1)}",
		"<b hx-get=/logout hx-trigger=load>x</b>", "<a href=javascript:alert(1)>x</a>", "<svg><a xlink:href=javascript:alert(1)>", "<style>*{}</style>", "<iframe src=//evil>", "<form action=//evil>", "<!-- x --><b>", "[a](file:///etc/passwd)", "[a](tel:1)", "[a](ftp://x)", "[a](\u0000javascript:x)", "[a](https:evil)", "[a](http:///evil)", "\u202e[a](https://x.example)",
	} {
		out, err := Markdown(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		checkHarmless(t, in, out)
		base := mustURL("https://dlo.example.com/sources/wiki")
		for _, match := range anyHref.FindAllStringSubmatch(out, -1) {
			if target, err := base.Parse(match[1]); err != nil || target.Hostname() == "evil.example" {
				t.Errorf("%q leads to the other site: %s (%v)", in, out, err)
			}
		}
	}
}

func TestMarkdownDoS(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, maxMarkdown/len(s)) }
	row := "|" + strings.Repeat("a|", 100) + "\n|" + strings.Repeat("-|", 100) + "\n"
	for name, in := range map[string]string{
		"a byte too many":       strings.Repeat("x", maxMarkdown+1),
		"a hundred columns":     row,
		"rows without pipes":    "|a|b|\n|-|-|\n" + strings.Repeat("x\n", 600),
		"rows in a quote":       "> |a|b|\n> |-|-|\n" + strings.Repeat("> x\n", 600),
		"quotes in quotes":      fill(">"),
		"quotes, spaced":        fill("> "),
		"lists in lists":        fill("- ") + "x",
		"numbered lists nested": fill("1. ") + "x",
	} {
		if _, err := Markdown(in); dlq.KindOf(err) != dlq.KindInvalid {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	head := "|" + strings.Repeat("|", 63) + "\n|" + strings.Repeat("-|", 63) + "\n"
	for name, in := range map[string]string{
		"open links":       fill("[a]("),
		"open brackets":    fill("["),
		"nested brackets":  strings.Repeat("[", maxMarkdown/2) + strings.Repeat("]", maxMarkdown/2),
		"open images":      fill("![a]("),
		"emphasis":         fill("*a_ "),
		"emphasis runs":    fill("**x*"),
		"backticks":        fill("`a``"),
		"autolinks":        fill("<a"),
		"entities":         fill("&#"),
		"reference links":  fill("[a][b]"),
		"definitions":      fill("[a]: b\n\n"),
		"short rows":       head + strings.Repeat("|\n", 490),
		"headings":         fill("# a\n"),
		"deep list lines":  fill("- a\n  - b\n    - c\n"),
		"strikethrough":    fill("~~a~"),
		"many short quote": fill("> a\n\n"),
		"html":             fill("<b><!--"),
	} {
		start := time.Now()
		out, err := Markdown(in)
		took := time.Since(start)
		if err != nil && dlq.KindOf(err) != dlq.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if took > slowdown*time.Second || len(out) > 1<<20 {
			t.Errorf("%s: %s and %d bytes", name, took, len(out))
		}
		t.Logf("%s: %s, %d bytes", name, took.Round(time.Millisecond), len(out))
	}
}

func TestMarkdownRulesAreNotNesting(t *testing.T) {
	if _, err := Markdown("a\n\n" + strings.Repeat("-", 80) + "\n\n" + strings.Repeat("* ", 40) + "\n"); err != nil {
		t.Error(err)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"[a](javascript:x)", "|a|\n|-|\n|b|", "<b>", "> - 1. x", "![x](y)", "`a`", "<https://a.example>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := Markdown(in)
		if err != nil {
			if dlq.KindOf(err) != dlq.KindInvalid {
				t.Fatal(err)
			}
			return
		}
		checkHarmless(t, fmt.Sprintf("%q", in), out)
	})
}
