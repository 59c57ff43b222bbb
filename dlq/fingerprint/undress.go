package fingerprint

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// undressed is a trace with what transport and display put around it taken off.
type undressed struct {
	lines []string
	steps []string
}

func (u *undressed) step(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	for _, have := range u.steps {
		if have == s {
			return
		}
	}
	u.steps = append(u.steps, s)
}

// undress removes dressing in a fixed order, each layer on what the one before
// it left, and notes each that was there.
func undress(text string) undressed {
	var u undressed
	if strings.TrimSpace(text) == "" {
		return u
	}
	text = u.bound(text)
	text = u.characters(text)
	text = u.lineBreaksOf(text)
	text = u.envelopes(text)
	text = u.entities(text)
	text = u.tableQuotes(text)
	text = u.flattened(text)
	u.lines = strings.Split(strings.TrimRight(text, "\n"), "\n")
	if n := len(u.lines); n > maxLines {
		// Where a trace is innermost first its head matters, else its tail.
		kept := append([]string{}, u.lines[:maxLines/2]...)
		u.lines = append(kept, u.lines[n-maxLines/2:]...)
		u.step("%d lines in the middle left out", n-maxLines)
	}
	u.unfold()
	u.longLines()
	u.doubleSpaced()
	u.logPrefix()
	u.pythonTools()
	u.consoleWrap()
	return u
}

// longLines cuts lines that are longer than any frame or heading: what is on
// them is data that was printed whole.
func (u *undressed) longLines() {
	for i, line := range u.lines {
		if len(line) > maxLine {
			u.lines[i] = clip(line, maxLine)
			u.step("lines cut at %d bytes", maxLine)
		}
	}
}

func (u *undressed) bound(text string) string {
	if len(text) <= maxHead+maxTail {
		return text
	}
	u.step("middle left out: longer than %d KiB", (maxHead+maxTail)>>10)
	return text[:maxHead] + "\n" + text[len(text)-maxTail:]
}

var (
	lineEnds = strings.NewReplacer("\r\r\n", "\n", "\r\n", "\n", "\r", "\n")
	// CSI, OSC and the two-byte escapes (ECMA-48 §5.3 and §5.4), then a lone ESC.
	ansi = regexp.MustCompile("\x1b\\[[0-9;:?<=>!]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\^_]|\x1b")
)

func (u *undressed) characters(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		u.step("invalid UTF-8 replaced")
	}
	if strings.ContainsAny(text, "\x00\uFEFF") {
		text = strings.NewReplacer("\x00", "", "\uFEFF", "").Replace(text)
		u.step("NUL and byte order marks dropped")
	}
	if strings.Contains(text, "\r") {
		text = lineEnds.Replace(text)
		u.step("line ends unified")
	}
	if strings.Contains(text, "\x1b") {
		text = ansi.ReplaceAllString(text, "")
		u.step("terminal colours removed")
	}
	return text
}
