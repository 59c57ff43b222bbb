package gallery

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"dlo/static"
	"dlo/views/cohorts"
	"dlo/views/components"
	"dlo/views/entry"
)

// render draws a component to text.
func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parsed draws an item and reads it as a browser would.
func parsed(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(render(t, c)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// each runs a check on every whole page of the gallery.
func each(t *testing.T, check func(t *testing.T, doc *goquery.Document)) {
	for _, item := range All() {
		if item.Page {
			t.Run(item.Name, func(t *testing.T) { check(t, parsed(t, item.Component)) })
		}
	}
}

// outer is an element as it stands, cut, for a message.
func outer(s *goquery.Selection) string {
	h, _ := goquery.OuterHtml(s)
	if len(h) > 160 {
		h = h[:160] + "…"
	}
	return h
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, item := range All() {
		if seen[item.Name] {
			t.Errorf("two items are called %q", item.Name)
		}
		seen[item.Name] = true
	}
}

func TestEveryPageHasOneHeadingATitleAndASkipLink(t *testing.T) {
	each(t, func(t *testing.T, doc *goquery.Document) {
		if n := doc.Find("h1").Length(); n != 1 {
			t.Errorf("%d h1", n)
		}
		if doc.Find("title").Text() == " · Dead Letter Office" {
			t.Error("no title")
		}
		if doc.Find("html[lang]").Length() != 1 || doc.Find("main#main").Length() != 1 {
			t.Error("no language or no main")
		}
		if doc.Find("nav.rail").Length() > 0 && doc.Find("a.skip[href='#main']").Length() != 1 {
			t.Error("no skip link")
		}
	})
}

// The pages' policy allows no inline script or style; htmx's own ways of
// carrying script would fail silently under it.
func TestNothingNeedsInlineScriptOrStyle(t *testing.T) {
	for _, item := range All() {
		parsed(t, item.Component).Find("*").Each(func(_ int, s *goquery.Selection) {
			for _, a := range s.Nodes[0].Attr {
				key := strings.ToLower(a.Key)
				value := strings.ToLower(strings.TrimSpace(a.Val))
				if key == "style" || strings.HasPrefix(key, "on") || strings.HasPrefix(key, "hx-on") || key == "hx-vals" ||
					strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "data:") || strings.HasPrefix(value, "js:") {
					t.Errorf("%s: %s=%q on %s", item.Name, a.Key, a.Val, outer(s))
				}
				if key == "hx-trigger" && strings.ContainsAny(value, "[]") {
					t.Errorf("%s: a trigger filter needs eval: %s", item.Name, outer(s))
				}
			}
			name := goquery.NodeName(s)
			if name == "style" || (name == "script" && s.AttrOr("src", "") == "") {
				t.Errorf("%s: %s", item.Name, outer(s))
			}
		})
	}
}

func TestIDsAreUniqueAndReferencesLead(t *testing.T) {
	each(t, func(t *testing.T, doc *goquery.Document) {
		ids := map[string]bool{"dialog": true}
		doc.Find("[id]").Each(func(_ int, s *goquery.Selection) {
			id := s.AttrOr("id", "")
			if ids[id] && id != "dialog" || id == "" {
				t.Errorf("id %q twice or empty", id)
			}
			ids[id] = true
		})
		ids["confirm-title"] = true // of the page that the dialog is filled with
		for _, attr := range []string{"for", "aria-labelledby", "aria-describedby", "form", "hx-target", "hx-select", "data-copy-from", "data-suggest"} {
			doc.Find("[" + attr + "]").Each(func(_ int, s *goquery.Selection) {
				for _, id := range strings.Fields(s.AttrOr(attr, "")) {
					if !ids[strings.TrimPrefix(id, "#")] {
						t.Errorf("%s=%q leads nowhere: %s", attr, id, outer(s))
					}
				}
			})
		}
	})
}

func TestEveryFieldHasALabel(t *testing.T) {
	each(t, func(t *testing.T, doc *goquery.Document) {
		doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, s *goquery.Selection) {
			label := doc.Find("label[for='" + s.AttrOr("id", "none") + "']")
			if label.Length() == 0 {
				label = s.Closest("label")
			}
			if strings.TrimSpace(label.Text()) == "" {
				t.Errorf("no label: %s", outer(s))
			}
		})
	})
}

func TestEveryPostedFormCarriesTheTokenAndNoOtherDoes(t *testing.T) {
	each(t, func(t *testing.T, doc *goquery.Document) {
		doc.Find("form").Each(func(_ int, s *goquery.Selection) {
			token := s.Find("input[type=hidden][name=csrf]").AttrOr("value", "")
			switch s.AttrOr("method", "") {
			case "post":
				if token != csrf {
					t.Errorf("csrf %q in %s", token, outer(s))
				}
			case "get":
				if s.Find("[name=csrf]").Length() > 0 {
					t.Errorf("the token would stand in the address: %s", outer(s))
				}
			default:
				t.Errorf("no method: %s", outer(s))
			}
		})
	})
}

func TestEverythingThatIsPressedHasAName(t *testing.T) {
	each(t, func(t *testing.T, doc *goquery.Document) {
		doc.Find("a[href], button, summary").Each(func(_ int, s *goquery.Selection) {
			if strings.TrimSpace(s.Text()) == "" {
				t.Errorf("no words: %s", outer(s))
			}
		})
		doc.Find("nav, [role=region], dialog").Each(func(_ int, s *goquery.Selection) {
			if s.AttrOr("aria-label", "")+s.AttrOr("aria-labelledby", "") == "" {
				t.Errorf("no name: %s", outer(s))
			}
		})
		doc.Find("svg").Each(func(_ int, s *goquery.Selection) {
			if s.AttrOr("aria-hidden", "") != "true" && (s.AttrOr("role", "") != "img" || s.AttrOr("aria-label", "") == "") {
				t.Errorf("neither decoration nor named: %s", outer(s))
			}
		})
	})
}

func TestTablesSayWhatTheirCellsBelongTo(t *testing.T) {
	each(t, func(t *testing.T, doc *goquery.Document) {
		doc.Find("th").Each(func(_ int, s *goquery.Selection) {
			if scope := s.AttrOr("scope", ""); scope != "col" && scope != "row" {
				t.Errorf("no scope: %s", outer(s))
			}
		})
		// On a phone the heading is gone, so each cell says it by itself.
		doc.Find("table.cohorts tbody td").Each(func(_ int, s *goquery.Selection) {
			if !s.HasClass("check") && !s.HasClass("lead") && s.AttrOr("data-label", "") == "" {
				t.Errorf("no label for a phone: %s", outer(s))
			}
		})
		doc.Find("table").Each(func(_ int, s *goquery.Selection) {
			want := s.Find("thead tr").First().Children().Length()
			s.Find("tbody tr").Each(func(_ int, row *goquery.Selection) {
				if got := row.Children().Length(); want > 0 && got != want {
					t.Errorf("%d cells under %d headings: %s", got, want, outer(row))
				}
			})
		})
	})
}

func TestAPDFIsFramedWithoutCookiesAndImagesAreNamed(t *testing.T) {
	item := entryModel()
	item.Document.Kind, item.Document.Src, item.Document.Alt = entry.PreviewPDF, "/entries/01J1/preview/pdf?expires=1", "The stored copy, a PDF"
	frame := parsed(t, entry.Page(item)).Find("iframe")
	if _, without := frame.Attr("credentialless"); !without || frame.AttrOr("title", "") == "" {
		t.Errorf("no cookies, and a title: %s", outer(frame))
	}
	if _, sandboxed := frame.Attr("sandbox"); sandboxed { // no viewer starts in it; the answer's policy is the sandbox
		t.Errorf("an empty frame: %s", outer(frame))
	}
	if _, lazy := frame.Attr("loading"); lazy { // the address is void after a minute
		t.Errorf("loaded too late: %s", outer(frame))
	}
	item.Document.Kind = entry.PreviewImage
	if img := parsed(t, entry.Page(item)).Find(".preview img"); img.AttrOr("alt", "") == "" {
		t.Errorf("alt: %s", outer(img))
	}
}

func TestAtMostOneLineOfTheRailIsCurrent(t *testing.T) {
	each(t, func(t *testing.T, doc *goquery.Document) {
		if n := doc.Find("nav.rail [aria-current]").Length(); n > 1 {
			t.Errorf("%d current", n)
		}
		if n := doc.Find("nav.bottom a").Length(); n > 4 {
			t.Errorf("%d in the bottom bar", n)
		}
	})
}

func TestHostileTextStaysTextAndIsFenced(t *testing.T) {
	const hostile = `"><script>alert(1)</script><b hx-get=/logout hx-trigger=load style=x onclick=y>`
	m := cohortsModel()
	m.List.Rows = m.List.Rows[:1]
	r := &m.List.Rows[0]
	r.Type, r.Template, r.Frame, r.Under, r.RunsNow = txt(hostile), txt(hostile), txt(hostile), txt(hostile), txt(hostile)
	r.Owner, r.Check.Label, r.Check.Value = hostile, hostile, hostile
	r.Href = "javascript:alert(1)"
	doc := parsed(t, cohorts.Page(m))
	if n := doc.Find("main script, main [onclick], main [style], main b[hx-get]").Length(); n > 0 {
		t.Errorf("%d elements came out of text", n)
	}
	doc.Find("[data-row] a").Each(func(_ int, s *goquery.Selection) {
		if strings.HasPrefix(s.AttrOr("href", ""), "javascript") {
			t.Errorf("a link runs script: %s", outer(s))
		}
	})
	if doc.Find("[data-row]").Not("[hx-disable]").Length() > 0 {
		t.Error("a row with text from outside is not fenced off from htmx")
	}
}

func TestHiddenCharactersAreShown(t *testing.T) {
	doc := parsed(t, components.Words(components.Text{{Text: "a"}, {Text: "U+202E", Chip: true}, {Text: "b"}}))
	if got := doc.Find("bdi").Text(); got != "aU+202Eb" {
		t.Errorf("text = %q: a space that was not sent would be a lie", got)
	}
	if doc.Find(".codepoint").Text() != "U+202E" {
		t.Error("no chip")
	}
}

func TestTraceLinesKeepTheirSpaces(t *testing.T) {
	line := parsed(t, entry.Page(entryModel())).Find(".trace li.key bdi").First().Text()
	if want := `  File "pdfminer/high_level.py", line 177, in extract_text`; line != want {
		t.Errorf("line = %q, want %q", line, want)
	}
}

// A page of 50 rows must go over the wire in 20 KB.
func TestAFullPageIsSmall(t *testing.T) {
	m := cohortsModel()
	for len(m.List.Rows) < 50 {
		m.List.Rows = append(m.List.Rows, m.List.Rows[len(m.List.Rows)%7])
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	page := render(t, cohorts.Page(m))
	if _, err := z.Write([]byte(page)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d gzipped", len(page), b.Len())
	if b.Len() > 20_000 {
		t.Errorf("%d bytes gzipped", b.Len())
	}
}

// A class that the style sheet does not know is a slip of the pen, unless a
// script or a test goes by it.
func TestEveryClassIsKnown(t *testing.T) {
	known := map[string]bool{}
	for _, name := range []string{"app.css", "screens.css"} {
		css, err := static.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\.([a-z][a-z0-9-]*)`).FindAllStringSubmatch(string(css), -1) {
			known[m[1]] = true
		}
	}
	meant := []string{"plain", "planned", "verdict", "region"} // tones and states without a look of their own; what app.js goes by
	unknown := map[string]string{}
	for _, item := range All() {
		parsed(t, item.Component).Find("[class]").Each(func(_ int, s *goquery.Selection) {
			for _, c := range strings.Fields(s.AttrOr("class", "")) {
				if !known[c] && !slices.Contains(meant, c) {
					unknown[c] = fmt.Sprintf("%s in %s", c, item.Name)
				}
			}
		})
	}
	for _, where := range unknown {
		t.Error(where)
	}
}

// HTML that is written as it stands is the one hole in templ's escaping, so
// there is one, and it is looked at.
func TestOnePlaceAloneWritesHTMLAsItStands(t *testing.T) {
	files, err := filepath.Glob("../*/*.templ")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var raw []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for range strings.Count(string(b), "templ.Raw(") {
			raw = append(raw, f)
		}
	}
	if !slices.Equal(raw, []string{"../components/text.templ"}) {
		t.Errorf("templ.Raw in %v", raw)
	}
}
