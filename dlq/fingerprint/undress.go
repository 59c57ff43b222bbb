package fingerprint

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
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
	text = u.envelopes(text)
	text = u.entities(text)
	u.lines = strings.Split(strings.TrimRight(text, "\n"), "\n")
	if n := len(u.lines); n > maxLines {
		// Where a trace is innermost first its head matters, else its tail.
		kept := append([]string{}, u.lines[:maxLines/2]...)
		u.lines = append(kept, u.lines[n-maxLines/2:]...)
		u.step("%d lines in the middle left out", n-maxLines)
	}
	u.unfold()
	u.logPrefix()
	u.consoleWrap()
	return u
}

func (u *undressed) bound(text string) string {
	if len(text) <= maxHead+maxTail {
		return text
	}
	u.step("middle left out: longer than %d KiB", (maxHead+maxTail)>>10)
	return text[:maxHead] + "\n" + text[len(text)-maxTail:]
}

var (
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")
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

// envelopes opens JSON around the trace and decodes escapes, two layers at most:
// a log shipper may wrap what a logger had wrapped.
func (u *undressed) envelopes(text string) string {
	for range 2 {
		inner, how := openEnvelope(text)
		if how == "" {
			break
		}
		u.step("%s", how)
		text = u.characters(inner)
	}
	return text
}

// traceFields are where loggers put a trace, by how specific the name is.
var traceFields = [][]string{
	{"traceback"}, {"stack"}, {"stacktrace"}, {"stackTrace"}, {"stack_trace"}, {"exception"},
	{"err", "stack"}, {"error", "stack"}, {"error", "traceback"}, {"error", "stack_trace"},
	{"exception", "stacktrace"}, {"exc_info"}, {"@x"}, {"Exception"}, {"StackTrace"}, {"backtrace"}, {"message"},
}

// brokenUp are the fields of serialisers that write an exception's type, message
// and frames apart.
var brokenUp = [][3]string{
	{"ClassName", "Message", "StackTraceString"},
	{"error_class", "error_message", "error_backtrace"},
	{"class", "message", "backtrace"},
}

// putTogether writes a broken-up exception as it would have been printed.
func putTogether(object map[string]any) string {
	for _, names := range brokenUp {
		typ, message, trace := textOf(object[names[0]]), textOf(object[names[1]]), textOf(object[names[2]])
		if typ != "" && trace != "" {
			return typ + ": " + message + "\n" + trace
		}
	}
	return phpTogether(object)
}

func openEnvelope(text string) (inner, how string) {
	t := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(t, "{"):
		var object map[string]any
		if json.Unmarshal([]byte(t), &object) == nil {
			if s := traceField(object); s != "" {
				return s, "taken out of a JSON object"
			}
			return "", ""
		}
		if s := joinLogLines(t); s != "" {
			return s, "taken out of JSON log lines"
		}
	case strings.HasPrefix(t, `"`):
		var s string
		if json.Unmarshal([]byte(t), &s) == nil && s != "" {
			return s, "JSON string decoded"
		}
	}
	if !strings.Contains(t, "\n") && strings.Count(t, `\n`) >= 2 {
		return unescape(t), "escapes decoded"
	}
	if !strings.Contains(t, "\n") && strings.Count(t, "#012") >= 2 {
		return strings.NewReplacer("#012", "\n", "#011", "\t").Replace(t), "syslog escapes decoded"
	}
	return "", ""
}

func traceField(object map[string]any) string {
	if s := putTogether(object); s != "" {
		return s
	}
	for _, path := range traceFields {
		if s := textOf(object[strings.Join(path, ".")]); s != "" {
			return s
		}
		var v any = object
		for _, name := range path {
			m, ok := v.(map[string]any)
			if !ok {
				v = nil
				break
			}
			v = m[name]
		}
		if s := textOf(v); s != "" {
			return s
		}
	}
	return ""
}

// textOf returns a string, or a list of strings as lines.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimRight(v, " \n")
	case []any:
		var b strings.Builder
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return ""
			}
			b.WriteString(strings.TrimSuffix(s, "\n") + "\n")
		}
		return strings.TrimRight(b.String(), "\n")
	}
	return ""
}

// joinLogLines reads a text whose every line is a JSON object with one line of
// the trace in it, as container runtimes write them.
func joinLogLines(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) < 2 {
		return ""
	}
	var b strings.Builder
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var object struct{ Log, Message, Msg *string }
		if json.Unmarshal([]byte(line), &object) != nil {
			return ""
		}
		for _, s := range []*string{object.Log, object.Message, object.Msg} {
			if s != nil {
				b.WriteString(strings.TrimRight(*s, "\r\n") + "\n")
				break
			}
		}
	}
	return b.String()
}

// unescape decodes the escapes that JSON and Python's repr have in common. What
// it does not know it leaves as it is.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '"', '\'', '\\', '/':
			b.WriteByte(s[i])
		case 'u', 'x':
			digits := 4
			if s[i] == 'x' {
				digits = 2
			}
			if i+digits >= len(s) {
				b.WriteByte('\\')
				b.WriteByte(s[i])
				continue
			}
			n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil {
				b.WriteByte('\\')
				b.WriteByte(s[i])
				continue
			}
			b.WriteRune(rune(n))
			i += digits
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

var (
	escapedMarkup = regexp.MustCompile(`-&gt;|&quot;|&#x?[0-9a-fA-F]{2,4};|&lt;[\w.$]+&gt;|</?(?:b|br|pre)\s*/?>`)
	markup        = regexp.MustCompile(`</?(?:b|br|pre|code|p)\s*/?>`)
)

// markupStarts are one in each escape or tag that matters: looking for them is
// cheaper than matching a whole trace.
var markupStarts = []string{"-&gt;", "&quot;", "&#", "&lt;", "<b", "<pre", "</"}

func (u *undressed) entities(text string) string {
	if !containsAny(text, markupStarts) || !escapedMarkup.MatchString(text) {
		return text
	}
	u.step("HTML entities decoded")
	return html.UnescapeString(markup.ReplaceAllString(text, ""))
}

// frameStart finds where the frame begins on a line of any language that prints
// one frame a line, strictly enough that prose seldom matches.
var frameStart = regexp.MustCompile(
	`File "[^"]*"(?:, line \d+| in )` +
		`|\bat (?:async )?(?:new )?[^\s()]+(?: \[as [^\]]+\])? ?\(.*\)(?: ~?\[[^\]]*\])?\s*\{?"?$` +
		`|\bat (?:[\w<>\[\], ?]+ )?[^\s()]+ ?\([^/:]*\)(?: \[0x[0-9a-f]+\]| <0x[^>]*>)?(?: in .*?:(?:line )?\d+)?\s*"?$` +
		`|\bat (?:async )?\S+:\d+:\d+\s*\{?"?$` +
		`|[^\s"]*[\w-]\.go:\d+(?: \+0x[0-9a-f]+)?(?: fp=.*)?"?$` +
		`|#\d+ (?:\S+\(\d+\)|\[internal function\]): ` +
		`|from \S+:\d+:in |(?:\b[A-Za-z]:)?[^\s":]*\.rb:\d+:in ` +
		`|\+ (?:CategoryInfo|FullyQualifiedErrorId) +: ` +
		`|#\d+ +0x[0-9a-fA-F]{4,} in ` +
		`|(?:PC: )?@ {4,}0x[0-9a-f]{8,} `)

// frameHints are one in each alternative of frameStart that is not told by how
// its line ends.
var frameHints = []string{`File "`, ".go:", ".rb:", "#", "from ", "+ ", "@    "}

// endsInPlace says that a line ends in a bracket or in ":12", as those with a
// file at their end do. It spares the expressions the rest.
func endsInPlace(line string) bool {
	t := strings.TrimRight(line, " \t\n\v\f\r\"{,")
	bare := strings.TrimRight(t, "0123456789")
	if bare != t {
		return strings.HasSuffix(bare, ":") || strings.HasSuffix(bare, ":line ")
	}
	return strings.HasSuffix(t, ")") || strings.HasSuffix(t, "]") || strings.HasSuffix(t, ">")
}

var (
	digits = regexp.MustCompile(`\d+`)
	// rubyNumber counts frames that Ruby prints outermost first: it is part of them.
	rubyNumber = regexp.MustCompile(`\s*\d+: $`)
)

// longestFrame is the length from which on a line is taken for no frame: it spares
// the patterns a document that was printed on one line.
const longestFrame = 8 << 10

func startOfFrame(line string) []int {
	if len(line) > longestFrame {
		return nil
	}
	if !containsAny(line, frameHints) && !(strings.Contains(line, "at ") && endsInPlace(line)) {
		return nil
	}
	return frameStart.FindStringIndex(line)
}

// logPrefix cuts what a logger put in front of every line. The prefix is what
// the frame lines have in common before the frame itself, digits apart; it must
// hold a letter or a digit, so that indentation and the margins of exception
// groups are left alone.
func (u *undressed) logPrefix() {
	common, seen := "", 0
	for _, line := range u.lines {
		at := startOfFrame(line)
		if at == nil {
			continue
		}
		head := line[:at[0]]
		if strings.HasPrefix(line[at[0]:], "from ") {
			head = rubyNumber.ReplaceAllString(head, "")
		}
		shape := digits.ReplaceAllString(head, "0")
		if seen == 0 {
			common = shape
		}
		common = commonPrefix(common, shape)
		seen++
		if !strings.ContainsFunc(common, isWord) {
			return // it can only get shorter
		}
	}
	common = strings.TrimRight(common, " \t")
	quoted := strings.HasSuffix(common, `"`)
	if !strings.ContainsFunc(common, isWord) {
		return
	}
	pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(common), "0", `\d+`))
	gap, matched := -1, 0
	ends := make([]int, len(u.lines))
	for i, line := range u.lines {
		at := pattern.FindStringIndex(line)
		if at == nil {
			continue
		}
		ends[i] = at[1]
		matched++
		rest := line[at[1]:]
		if body := strings.TrimLeft(rest, " "); body != "" && (gap < 0 || len(rest)-len(body) < gap) {
			gap = len(rest) - len(body)
		}
	}
	// One frame shows nothing in common: then most of the lines must have it.
	if seen < 2 && (matched < 2 || matched*2 < len(u.lines)) {
		return
	}
	for i, end := range ends {
		if end == 0 {
			continue
		}
		rest := u.lines[i][end:]
		rest = rest[min(max(gap, 0), len(rest)-len(strings.TrimLeft(rest, " "))):]
		if quoted {
			rest = strings.TrimSuffix(rest, `"`)
		}
		u.lines[i] = rest
	}
	u.step("log prefix cut from each line")
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 127
}

var (
	wholeFileLine = regexp.MustCompile(`^\s*(?:[|+ ]*\s)?File ".*"(?:, line \d+(?:, in .+)?| in .+)$`)
	openFileLine  = regexp.MustCompile(`^\s*(?:[|+ ]*\s)?File "`)
	wrapRest      = regexp.MustCompile(`^(?:\d*,? ?in \S+|\d+)$`)
	wrapName      = regexp.MustCompile(`^[\w<>.]+$`)
)

// consoleWrap joins Python frame lines that a console of fixed width broke.
func (u *undressed) consoleWrap() {
	out := u.lines[:0:0]
	for i := 0; i < len(u.lines); i++ {
		line := u.lines[i]
		if openFileLine.MatchString(line) {
			for range 2 {
				joined, ok := unwrapFileLine(line, u.lines[i+1:])
				if !ok {
					break
				}
				line = joined
				i++
				u.step("lines broken by a console joined")
			}
		}
		out = append(out, line)
	}
	u.lines = out
}

// unwrapFileLine joins line with the first of rest if that is its remainder.
func unwrapFileLine(line string, rest []string) (string, bool) {
	if len(rest) == 0 || rest[0] == "" || rest[0][0] == ' ' || rest[0][0] == '\t' {
		return line, false
	}
	next := rest[0]
	if !wholeFileLine.MatchString(line) {
		if strings.HasSuffix(line, ",") || strings.HasSuffix(line, `" in`) || strings.HasSuffix(line, "line") || strings.HasSuffix(line, ", in") {
			return line + " " + next, strings.Contains(line+" "+next, `", line `)
		}
		return line + next, strings.Contains(line+next, `"`) && len(next) < 200
	}
	if wrapRest.MatchString(next) && !strings.Contains(line, ", in ") {
		return line + next, true
	}
	// "in g" + "et_pages": complete as it stands, but a frame is followed by its
	// indented source line, and only then by the unindented exception.
	sourceFollows := len(rest) > 1 && strings.HasPrefix(rest[1], "    ")
	if wrapName.MatchString(next) && sourceFollows {
		return line + next, true
	}
	return line, false
}
