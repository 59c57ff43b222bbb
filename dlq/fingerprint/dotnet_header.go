package fingerprint

import (
	"regexp"
	"strings"
)

var (
	// A type as a header prints it: arity and type arguments, then the error code
	// that exceptions of the operating system have.
	dotnetType      = regexp.MustCompile("^([\\p{L}_][\\p{L}\\p{N}_.+]*)(?:`\\d+)?(?:\\[[^\\]]*\\]+)?(?: \\((?:0[xX][0-9A-Fa-f]+|-?\\d+)[^()]{0,40}\\))?(?: ?:|\\s*$|\\s+--->)")
	dotnetInLine    = regexp.MustCompile("(?:^|[^\\p{L}\\p{N}_.+`])([\\p{L}_][\\p{L}\\p{N}_]*(?:[.+][\\p{L}\\p{N}_]+)*(?:Exception|Error))(?:`\\d+)?(?:\\[[^\\]]*\\]+)?(?: \\((?:0[xX][0-9A-Fa-f]+|-?\\d+)[^()]{0,40}\\))?(?::|\\s*$|\\s+--->)")
	dotnetThrowable = regexp.MustCompile(`(?:Exception|Error|Fault|Failure)$`)
	dotnetBracketed = regexp.MustCompile(`^\[([\p{L}_][\p{L}\p{N}_.+]*)(?: \((?:0[xX][0-9A-Fa-f]+|-?\d+)\))?(?:: (.*?))?\]?$`)
)

// cutArrow splits text at the first arrow that an exception's name follows.
func cutArrow(text string) (before, after string) {
	for from, n := 0, 0; n < 200; n++ {
		at := strings.Index(text[from:], "--->")
		if at < 0 {
			break
		}
		at += from
		from = at + len("--->")
		rest := strings.TrimLeft(text[from:], " ")
		if _, _, ok := dotnetHeaderOf(rest); ok {
			return strings.TrimSpace(text[:at]), rest
		}
	}
	return text, ""
}

// dotnetHeaderOf splits "Namespace.Type (0x8…): message".
func dotnetHeaderOf(text string) (typ, message string, ok bool) {
	m := dotnetType.FindStringSubmatchIndex(clip(text, 1000))
	if m == nil {
		return "", "", false
	}
	typ = strings.Trim(text[m[2]:m[3]], ".+")
	if !strings.ContainsAny(typ, ".+") && !dotnetThrowable.MatchString(typ) {
		return "", "", false
	}
	message = text[m[1]:]
	if i := strings.LastIndex(text[:m[1]], "--->"); i >= m[3] {
		message = text[i:]
	}
	return strings.ReplaceAll(typ, "+", "."), strings.TrimSpace(message), true
}

// begin finds the header of the exception whose first frame or inner exception
// is at line i. Messages have many lines and loggers print in front, so it
// prefers the earliest line that begins with an exception's name, then the
// nearest that has one in it, then takes the line above for a message alone.
func (p *dotnetParser) begin(i int) {
	from := max(0, i-60)
	for j := from; j < i; j++ {
		t := visualStudioHeader(withoutIntroduction(strings.TrimSpace(p.lines[j])))
		if m := dotnetBracketed.FindStringSubmatch(clip(t, 4000)); m != nil && dotnetThrowable.MatchString(m[1]) {
			p.bracketed = true
			p.push(j, &exception{typ: m[1], message: []string{m[2]}, raised: j}, false)
			p.through(j, i)
			return
		}
		if typ, _, ok := dotnetHeaderOf(t); ok && dotnetThrowable.MatchString(typ) {
			p.header(j, t, false)
			p.through(j, i)
			return
		}
	}
	for j := i - 1; j >= from; j-- {
		l := clip(p.lines[j], 16<<10)
		if !strings.Contains(l, "Exception") && !strings.Contains(l, "Error") {
			continue
		}
		m := dotnetInLine.FindStringSubmatchIndex(l)
		if m == nil || strings.HasSuffix(strings.TrimRight(l[:m[2]], " "), "--->") {
			continue
		}
		p.header(j, l[m[2]:], false)
		p.through(j, i)
		return
	}
	e := &exception{raised: -1}
	for j := i - 1; j >= max(0, i-5); j-- {
		t := strings.TrimSpace(p.lines[j])
		if t == "" || dotnetStackName.MatchString(clip(t, 100)) || dotnetSeparates(t) {
			continue
		}
		message, named := strings.CutPrefix(t, "Message: ")
		if named || e.raised < 0 {
			e.message, e.raised = []string{message}, j
		}
		if named {
			break
		}
	}
	p.push(i, e, false)
}

// through reads the lines between a header and line i as its message.
func (p *dotnetParser) through(header, i int) {
	for j := header + 1; j < i; j++ {
		if t := strings.TrimSpace(p.lines[j]); t != "" {
			p.continueMessage(j, t)
		}
	}
}

var dotnetIntroductions = []string{
	"Unhandled exception. ", "Unhandled Exception: ", "Unhandled exception: ", "Fatal error. ", "Exception Info: ", "Exception: ", "Exception type: ", "Exception Type: ", "Type: ", "ERROR: ", "Error: ",
}

// withoutIntroduction takes off what the runtime, the event log and many a
// program say before the exception's text.
func withoutIntroduction(t string) string {
	for range 2 {
		for _, s := range dotnetIntroductions {
			t = strings.TrimPrefix(t, s)
		}
	}
	return t
}
