package fingerprint

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// maxEnvelopes is how many layers are opened: a log shipper wraps what a logger
// had wrapped, and either may have quoted it once more.
const maxEnvelopes = 4

// envelopes opens JSON around the trace and decodes quotation.
func (u *undressed) envelopes(text string) string {
	for range maxEnvelopes {
		inner, how := openEnvelope(text)
		if how == "" {
			break
		}
		u.step("%s", how)
		text = u.lineBreaksOf(u.characters(inner))
	}
	return u.escapedLines(text)
}

// escapedLines opens the lines of a log that hold a whole trace each, escaped,
// where the rest of the log holds none.
func (u *undressed) escapedLines(text string) string {
	if !strings.Contains(text, "\n") || escapedBreaks(text) < 2 {
		return text
	}
	lines := strings.Split(text, "\n")
	opened := false
	for i, line := range lines {
		if escapedBreaks(line) > 1 && traceShape.MatchString(line) {
			if inner, how := openEnvelope(line); how != "" {
				lines[i], opened = inner, true
			}
		} else if traceShape.MatchString(line) {
			return text // what is escaped here is quoted in the trace
		}
	}
	if !opened {
		return text
	}
	u.step("escaped lines opened")
	return u.characters(strings.Join(lines, "\n"))
}

// foldersInN are folders of Windows whose names begin as a line break is escaped.
var foldersInN = regexp.MustCompile(`\\n(?:ode_modules|odejs|pm|vm|uget|et\d|etcoreapp|etstandard|ative)\b`)

// escapedBreaks counts the line breaks that were written as an escape.
func escapedBreaks(s string) int {
	n := strings.Count(s, `\n`)
	if n > 0 && strings.Contains(s, `:\`) {
		n -= len(foldersInN.FindAllStringIndex(s, -1))
	}
	return n
}

// traceShape tells a text that holds stack frames, escaped or not, of any
// language, from one that only names an exception.
var traceShape = regexp.MustCompile(`File \\*"[^"\\]+\\*"(?:, line \d+| in )|Traceback \(most recent` +
	`|(?:^|\s|\\t|\\n|n {1,8})at (?:async )?(?:new )?[^\s()]+(?: \[as [^\]]+\])? ?\(|(?:^|\s|\\n|n {1,8})at (?:async )?\S+:\d+:\d+` +
	`|\.go:\d+|goroutine \d+ |(?:^|\s)\S+:\d+:in [` + "`" + `']|#\d+ (?:/|\{main\}|\[internal)|panicked at |#\d+ +0x[0-9a-f]{4,} (?:in |\S+ \(\S+ \+ 0x)|\.psm?1: \p{L}+ \d+|(?:^|n|\n) {3,9}\p{L}{1,4}:? [\p{L}_][^\s()"/:]*\.[^\s()"/:]+\(|[0-9a-f]` + "`" + `[0-9a-f]{8} +[\w.]+!\w|\+ CategoryInfo +: |\w\(\w+\.(?:java|kt|scala|groovy):\d+\)`)

func openEnvelope(text string) (inner, how string) {
	t := strings.TrimSpace(text)
	if t == "" {
		return "", ""
	}
	switch t[0] {
	case '{', '[':
		var v any
		if json.Unmarshal([]byte(t), &v) == nil {
			if s := traceOfJSON(v); s != "" {
				return s, "taken out of a JSON object"
			}
			return "", ""
		}
		if s := joinLogLines(t); s != "" {
			return s, "taken out of JSON log lines"
		}
	case '"':
		var s string
		if json.Unmarshal([]byte(t), &s) == nil && s != "" {
			return s, "JSON string decoded"
		}
	}
	if s := embeddedJSON(t); s != "" {
		return s, "taken out of a JSON object"
	}
	if escapedBreaks(t) < 2 || strings.Contains(t, "\n") {
		return "", ""
	}
	if s, ok := wholeQuotation(t); ok {
		return s, "escapes decoded"
	}
	if s, ok := fieldQuotation(t); ok {
		return s, "escapes decoded"
	}
	return unescape(t), "escapes decoded"
}

var jsonStart = regexp.MustCompile(`\{\s*"`)

// embeddedJSON opens an object that ends the text, behind what a logger printed
// in front of it; only if there is a trace inside and none outside.
func embeddedJSON(t string) string {
	if t[len(t)-1] != '}' {
		return ""
	}
	at := jsonStart.FindStringIndex(t)
	if at == nil || at[0] == 0 || traceShape.MatchString(t[:at[0]]) {
		return ""
	}
	var v map[string]any
	if json.Unmarshal([]byte(t[at[0]:]), &v) != nil {
		return ""
	}
	if s := traceOfJSON(v); traceShape.MatchString(s) {
		return s
	}
	return ""
}

// traceFields are where loggers put a trace, by how specific the name is.
var traceFields = [][]string{
	{"errorVerbose"}, {"traceback"}, {"stack"}, {"stacktrace"}, {"stackTrace"}, {"stack_trace"}, {"exception"},
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

// traceOfJSON returns the trace that a record holds: the best of the usual
// fields with frames in it; a stack that the record spells out in objects; any
// text with frames; failing all that, the first usual field that has a text.
func traceOfJSON(v any) string {
	record, _ := v.(map[string]any)
	if s := putTogether(record); s != "" {
		return s
	}
	usual := usualFields(record)
	for _, s := range usual {
		if traceShape.MatchString(s) {
			return headed(s, record)
		}
	}
	if s := recordedStack(v, 0); s != "" {
		return s
	}
	if s, holder := deepTrace(v); s != "" {
		return headed(s, holder)
	}
	if lines, ok := v.([]any); ok {
		return textOf(lines)
	}
	if len(usual) > 0 {
		return usual[0]
	}
	return ""
}

func usualFields(record map[string]any) []string {
	var out []string
	for _, path := range traceFields {
		for _, v := range []any{record[strings.Join(path, ".")], fieldAt(record, path)} {
			if s := textOf(v); s != "" {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

func fieldAt(record map[string]any, path []string) any {
	var v any = record
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
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

// Bounds of the walk through a record.
const (
	maxRecordDepth = 8
	maxRecordNodes = 5000
)

// deepTrace looks through the whole record for the text with most frames, and
// returns it with the object that holds it.
func deepTrace(v any) (text string, holder map[string]any) {
	nodes, most := 0, 0
	var walk func(v any, in map[string]any, depth int)
	walk = func(v any, in map[string]any, depth int) {
		if nodes++; nodes > maxRecordNodes || depth > maxRecordDepth {
			return
		}
		if s := textOf(v); s != "" {
			if n := len(traceShape.FindAllStringIndex(s, 200)); n > most {
				most, text, holder = n, s, in
			}
			return
		}
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item, in, depth+1)
			}
		case map[string]any:
			for _, name := range sortedNames(v) {
				walk(v[name], v, depth+1)
			}
		}
	}
	walk(v, nil, 0)
	return text, holder
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
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
		text, ok := logLine(line)
		if !ok {
			return ""
		}
		b.WriteString(strings.TrimRight(text, "\r\n") + "\n")
	}
	return b.String()
}

// logLine returns what one record says: the whole trace, where it holds one, or
// its text.
func logLine(line string) (string, bool) {
	if escapedBreaks(line) > 1 {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) != nil {
			return "", false
		}
		if trace := traceOfJSON(record); traceShape.MatchString(trace) {
			return trace, true
		}
	}
	var record struct{ Log, Message, Msg, TextPayload, Text, Line, Event *string }
	if json.Unmarshal([]byte(line), &record) != nil {
		return "", false
	}
	for _, s := range []*string{record.Log, record.Message, record.Msg, record.TextPayload, record.Text, record.Line, record.Event} {
		if s != nil {
			return *s, true
		}
	}
	return "", true
}
