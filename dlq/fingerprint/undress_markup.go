package fingerprint

import (
	"html"
	"regexp"
	"strings"
)

var (
	escapedMarkup = regexp.MustCompile(`-&gt;|&quot;|&#x?[0-9a-fA-F]{1,4};|&lt;[\w.$]+&gt;|&nbsp;|(?i)</?(?:b|br|pre|p|div|html|span|body)\b[^<>]{0,200}>`)
	// Elements that end a line of the page. Only names of HTML: <module>, <init>
	// and <anonymous> are names of functions.
	blockMarkup  = regexp.MustCompile(`(?i)</?(?:p|div|pre|li|ul|ol|h[1-6]|tr|table|tbody|section|header|main|body|html|head|title|hr|style|script|meta|link|blockquote|textarea|summary|details)\b[^<>]{0,400}>`)
	brMarkup     = regexp.MustCompile(`(?i)[ \t]*<br\s*/?>\n?`)
	inlineMarkup = regexp.MustCompile(`(?i)</?(?:b|i|u|a|em|strong|code|span|font|small|tt|samp|kbd|td|th|cite|var|mark|label|button)\b(?:\s[^<>]{0,400})?/?>`)
	pageMarkup   = regexp.MustCompile(`(?i)<(?:!doctype html|html|body|pre|p|div|br|table)\b`)
)

// entities takes a page's markup off and decodes its entities: twice where a
// page shows the source of a page.
func (u *undressed) entities(text string) string {
	for range 2 {
		if !mayBeMarkup(text) || !escapedMarkup.MatchString(text) {
			break
		}
		if pageMarkup.MatchString(text) {
			text = preformatted(text)
			text = brMarkup.ReplaceAllString(text, "\n")
			text = blockMarkup.ReplaceAllString(text, "\n")
		}
		text = html.UnescapeString(inlineMarkup.ReplaceAllString(text, ""))
		text = strings.ReplaceAll(text, "\u00a0", " ")
		u.step("HTML entities decoded")
	}
	return text
}

// mayBeMarkup spares the expressions a text in which no entity and no element
// that escapedMarkup knows can begin.
func mayBeMarkup(text string) bool {
	for {
		i := strings.IndexAny(text, "&<")
		if i < 0 || i+1 >= len(text) {
			return false
		}
		signs := "gql#n"
		if text[i] == '<' {
			signs = "/bpdhsBPDHS"
		}
		if strings.IndexByte(signs, text[i+1]) >= 0 {
			return true
		}
		text = text[i+1:]
	}
}

var (
	wholePage = regexp.MustCompile(`(?i)^\s*<(?:!doctype html|html)\b`)
	// Where a page keeps text as it was printed. Werkzeug's debugger repeats the
	// whole traceback in a comment at its end.
	printedText = regexp.MustCompile(`(?is)<pre\b[^<>]{0,200}>(.*?)</pre>|<textarea\b[^<>]{0,200}>(.*?)</textarea>|<!--(.*?)-->`)
)

// preformatted returns what a whole page shows as it was printed, if there are
// frames in it: headings around it name the exception once more, in other words.
func preformatted(page string) string {
	if !wholePage.MatchString(page) {
		return page
	}
	var parts []string
	for _, m := range printedText.FindAllStringSubmatch(page, maxExceptions) {
		if part := m[1] + m[2] + m[3]; traceShape.MatchString(part) {
			parts = append(parts, strings.Trim(part, "\n"))
		}
	}
	switch {
	case len(parts) == 0:
		return page
	case strings.Contains(page, "Root Cause"):
		return strings.Join(parts, "\nCaused by: ") // a servlet container's page
	}
	return strings.Join(parts, "\n\n")
}
