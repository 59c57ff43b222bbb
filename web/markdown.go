package web

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"dlo/dlq"
)

// The caps of a Markdown text. goldmark takes time that grows with the square
// of some texts, and a table's cells are filled up to the width of its head,
// so a small text could make a huge page; and once begun it cannot be stopped.
const (
	maxMarkdown     = 16 << 10 // bytes
	maxTableColumns = 64
	maxTableRows    = 500
	maxNesting      = 32 // markers of quotes and lists at the start of a line
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))

// converting lets one text be converted at a time: a costly one takes one
// processor and not all of them.
var converting = make(chan struct{}, 1)

// linkTarget is what a link may point to: the web, a mail address, or a path
// or place of this site. "//host" and "/\host" lead elsewhere.
var linkTarget = regexp.MustCompile(`^(?:(?i:https?)://[^\s\\/?#][^\s\\]*|(?i:mailto):[^\s\\]+|/(?:[^/\\\s][^\\\s]*)?|#[\w-]*)$`)

var markdownPolicy = func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote",
		"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("href").Matching(linkTarget).OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}()

// Markdown turns a runbook or a note, written by a signed-in person, into
// HTML. It is for saving, not for showing: the HTML is kept. Never give it
// what a document or an error brought along.
//
// Raw HTML and images are left out (a remote image would tell its host who
// reads the page), links keep http, https, mailto and paths of this site, and
// then an allow-list of elements has the last word, because a list of what is
// forbidden is never complete. Past the caps it is KindInvalid with a fault.
func Markdown(text string) (string, error) {
	if err := checkMarkdown(text); err != nil {
		return "", err
	}
	converting <- struct{}{}
	defer func() { <-converting }()
	var out bytes.Buffer
	if err := markdown.Convert([]byte(text), &out); err != nil {
		return "", fmt.Errorf("convert Markdown: %w", err)
	}
	return markdownPolicy.SanitizeReader(&out).String(), nil
}

func checkMarkdown(text string) error {
	if len(text) > maxMarkdown {
		return markdownFault("at most %d bytes are possible, this has %d", maxMarkdown, len(text))
	}
	rows, table := 0, false // of the run of lines without a blank one; it may be a table
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			rows, table = 0, false
			continue
		}
		rows++
		pipes := strings.Count(line, "|")
		table = table || pipes > 0
		switch {
		case pipes > maxTableColumns:
			return markdownFault("line %d has more than %d columns", i+1, maxTableColumns)
		case table && rows > maxTableRows:
			return markdownFault("the table that line %d is in has more than %d rows", i+1, maxTableRows)
		case nesting(line) > maxNesting:
			return markdownFault("line %d is nested more than %d deep", i+1, maxNesting)
		}
	}
	return nil
}

// nesting counts the markers of quotes and list items that a line begins with.
func nesting(line string) int {
	n := 0
	for _, r := range line {
		switch r {
		case '>', '-', '*', '+', '.', ')':
			n++
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			return n
		}
	}
	if strings.Trim(line, "-*_ \t\r") == "" { // a rule, not a list in a list
		return 0
	}
	return n
}

func markdownFault(format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	return dlq.Invalid("The text cannot be kept: "+detail+".", dlq.Fault{Detail: detail})
}
