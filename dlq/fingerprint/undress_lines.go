package fingerprint

import (
	"regexp"
	"strings"
)

// lineBreaksOf restores the line breaks and tabs that transport wrote in another
// way: syslog daemons as #012 and #011, some encoders as \u000a, some loggers as
// \t in front of a line.
func (u *undressed) lineBreaksOf(text string) string {
	if strings.Count(text, "#012") > 1 {
		text = syslogEscapes.Replace(text)
		u.step("syslog's escapes decoded")
	}
	if strings.Count(text, `\u000a`)+strings.Count(text, `\u000A`) > 1 {
		text = codeEscapes.Replace(text)
	}
	if strings.Contains(text, "\n\\t") {
		text = strings.ReplaceAll(text, "\n\\t", "\n\t")
		u.step("escaped tabs decoded")
	}
	return text
}

var (
	syslogEscapes = strings.NewReplacer("#012", "\n", "#011", "\t", "#015", "")
	codeEscapes   = strings.NewReplacer(`\u000a`, `\n`, `\u000A`, `\n`, `\u0009`, `\t`)
)

// tableQuotes undoes the quotation of a table's cell, in which quotes are
// doubled.
func (u *undressed) tableQuotes(text string) string {
	t := strings.TrimSpace(text)
	cell := len(t) > 2 && t[0] == '"' && t[len(t)-1] == '"' && strings.Contains(t, "\n")
	if !cell && !strings.Contains(text, `File ""`) {
		return text
	}
	if cell {
		text = t[1 : len(t)-1]
	}
	u.step("a table's quotes taken off")
	return strings.ReplaceAll(text, `""`, `"`)
}

// doubleSpaced drops the blank lines of a text that has one after every line.
func (u *undressed) doubleSpaced() {
	printed := 0
	for i, line := range u.lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if printed++; i > 0 && strings.TrimSpace(u.lines[i-1]) != "" {
			return
		}
	}
	if printed < 4 {
		return
	}
	kept := make([]string, 0, printed)
	for _, line := range u.lines {
		if strings.TrimSpace(line) != "" {
			kept = append(kept, line)
		}
	}
	u.lines = kept
	u.step("blank lines between lines dropped")
}

var (
	flatAt     = regexp.MustCompile(`\s+(at (?:async )?(?:new )?[^\s()]+ ?\([^()]*:\d+\)|at (?:async )?(?:new )?[^\s()]+ ?\((?:index \d+|<anonymous>|native|Native Method|Unknown Source)\)|at <anonymous>  |at (?:async )?\S+:\d+:\d+|\.\.\. \d+ (?:more|common frames)|Caused by: )`)
	flatFile   = regexp.MustCompile(`\s+(File "[^"]*", line \d+(?:, in [\w<>.]+)?)(\s*)`)
	flatRaised = regexp.MustCompile(`\s((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt)(?:: .*)?)$`)
)

// flattened gives a trace that was printed on one line its lines back. Python's
// source lines go with it: nothing tells where one ends, except for the last,
// which the exception follows.
func (u *undressed) flattened(text string) string {
	if len(text) > 64<<10 || strings.Contains(strings.TrimSpace(text), "\n") {
		return text
	}
	if len(flatFile.FindAllStringIndex(text, 2)) == 2 {
		u.step("a trace on one line broken into lines")
		text = flatFile.ReplaceAllString(text, "\n  $1\n    ")
		return flatRaised.ReplaceAllString(text, "\n$1")
	}
	if len(flatAt.FindAllStringIndex(text, 2)) == 2 {
		u.step("a trace on one line broken into lines")
		return flatAt.ReplaceAllString(text, "\n    $1")
	}
	return text
}
