package fingerprint

import (
	"regexp"
	"strings"
)

var (
	rubyHeader    = regexp.MustCompile(`^((?:[A-Z]\w*::)*[A-Z]\w*)(?::(?: (.*))?| \((.*)\):?| - (.*)|\s*)$`)
	rubyInspect   = regexp.MustCompile(`^#<((?:[A-Z]\w*::)*[A-Z]\w*):? ?(.*)>$`)
	rubyInLine    = regexp.MustCompile(`(?:^|[\s:(<\[])((?:[A-Z]\w*::)*[A-Z]\w*(?:Error|Exception|Failure|Invalid|NotFound|Timeout|Interrupt)|Errno::[A-Z]\w+|(?:[A-Z]\w*::)+[A-Z]\w*)(?:: (.*)| \((.*)\):?|:?\s*)$`)
	rubyType      = regexp.MustCompile(`^(.*?) ?\(((?:[A-Z]\w*::)*[A-Z]\w*|#<Class:0x[0-9a-f]+>)\)$`)
	rubyThrowable = regexp.MustCompile(`(?:Error|Exception|Failure|Fault|Invalid|NotFound|Timeout|Interrupt|Errors)$|^Errno::|::`)
	// What Ruby's own logger prints in front.
	rubyLogger = regexp.MustCompile(`^[A-Z], \[[^\]]*\]\s+[A-Z]+ -- [^:]*: `)
)

const rubyNoConstant = "uninitialized constant "

// typeAndMessage splits "message (Type)". The type closes the first line of a
// message, or its last one where the message was given as several.
func (p *rubyParser) typeAndMessage(i int, text string) (string, []string) {
	if m := rubyType.FindStringSubmatch(clip(text, 16<<10)); m != nil {
		return rubyClassHash.ReplaceAllString(m[2], "#<$1>"), []string{m[1]}
	}
	message := []string{text}
	for j := i + 1; j < len(p.lines) && j < i+60; j++ {
		l := p.lines[j]
		if _, ok := rubyCallIn(l); ok {
			break
		}
		if m := rubyType.FindStringSubmatch(clip(l, 16<<10)); m != nil && rubyThrowable.MatchString(m[2]) {
			return m[2], append(message, m[1])
		}
		message = append(message, l)
	}
	if text == "unhandled exception" {
		return "RuntimeError", nil // raise without arguments
	}
	return "", []string{text}
}

func (p *rubyParser) headerAbove(i int) *exception {
	from := max(p.seen, i-60)
	for j := from; j < i; j++ {
		if typ, message, ok := rubyHeaderOf(p.lines[j]); ok {
			return p.headed(j, i, typ, message)
		}
	}
	for j := i - 1; j >= from; j-- {
		if at := strings.Index(p.lines[j], rubyNoConstant); at >= 0 {
			// The only type that says so; the constant would pass for one.
			return p.headed(j, i, "NameError", clip(p.lines[j][at:], 16<<10))
		}
		if m := rubyInLine.FindStringSubmatch(clip(p.lines[j], 16<<10)); m != nil {
			message := m[2] + m[3]
			if end := strings.LastIndexByte(message, '>'); end >= 0 && strings.Contains(p.lines[j], "#<"+m[1]) {
				message = message[:end] // as inspect prints it
			}
			return p.headed(j, i, m[1], message)
		}
	}
	for j := i - 1; j >= max(from, i-4); j-- {
		t := strings.TrimSpace(p.lines[j])
		if t == "" || strings.HasPrefix(t, "Traceback (") {
			continue
		}
		t = rubyLogger.ReplaceAllString(clip(t, 16<<10), "")
		if m := rubyType.FindStringSubmatch(clip(t, 16<<10)); m != nil {
			return p.headed(j, i, m[2], m[1])
		}
		return &exception{raised: j, message: []string{t}}
	}
	return &exception{raised: -1}
}

// headed returns the exception that line j names, with the lines up to i as the
// rest of its message.
func (p *rubyParser) headed(j, i int, typ, message string) *exception {
	e := &exception{typ: typ, raised: j, message: []string{message}}
	for n := j + 1; n < i; n++ {
		if t := strings.TrimSpace(p.lines[n]); t != "" || len(e.message) > 1 || e.message[0] != "" {
			e.message = append(e.message, t)
		}
	}
	return e
}

func rubyHeaderOf(line string) (typ, message string, ok bool) {
	t := strings.TrimSpace(clip(line, 16<<10))
	if strings.HasPrefix(t, "#<") {
		if m := rubyInspect.FindStringSubmatch(t); m != nil && rubyThrowable.MatchString(m[1]) {
			return m[1], m[2], true
		}
	}
	if t == "" || t[0] < 'A' || t[0] > 'Z' {
		return "", "", false
	}
	m := rubyHeader.FindStringSubmatch(t)
	if m == nil || !rubyThrowable.MatchString(m[1]) {
		return "", "", false
	}
	return m[1], m[2] + m[3] + strings.TrimSuffix(m[4], ":"), true
}
