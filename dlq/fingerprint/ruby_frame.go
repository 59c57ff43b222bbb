package fingerprint

import (
	"regexp"
	"strings"
)

var (
	rubyIn        = regexp.MustCompile("^(:\\d+):in ?[`'‘]")
	rubyFrom      = regexp.MustCompile(`^\s*(?:(\d+): )?from `)
	rubyNoName    = regexp.MustCompile(`^(\S.*\.(?:rb|rake|ru|erb|rjs|gemspec)|-e|\(eval[^()]*\)|\(irb\)):(\d+)$`)
	rubyAtEnd     = regexp.MustCompile(`^\s+(\S.*) at (\S.*\.(?:rb|rake|java|erb)):(\d+)$`)
	rubyBlock     = regexp.MustCompile(`^(?:(?:block|rescue|ensure)(?: \(\d+ levels?\))? in )+`)
	rubyTemplate  = regexp.MustCompile(`_{2,}_?\d+_\d+$`)
	rubyClassHash = regexp.MustCompile(`#<(Class|Module):(?:0x[0-9a-f]+|[^>]*)>`)
	rubyGemPath   = regexp.MustCompile(`^[\w-]+ \([\w.]+\) `)
)

// rubyFiles end the places of frames that have the method in front.
var rubyFiles = []string{".rb:", ".rake:", ".java:", ".erb:"}

// rubyPlace finds where on a line a frame's path ends: ":12:in `". A message may
// hold the same, so the first one counts.
func rubyPlace(line string) (path string, after string, ok bool) {
	for from := 0; ; {
		i := strings.Index(line[from:], ":in")
		if i < 0 {
			return "", "", false
		}
		i += from
		digitsFrom := i
		for digitsFrom > 0 && line[digitsFrom-1] >= '0' && line[digitsFrom-1] <= '9' {
			digitsFrom--
		}
		if digitsFrom > 1 && digitsFrom < i && line[digitsFrom-1] == ':' {
			if m := rubyIn.FindStringIndex(line[digitsFrom-1:]); m != nil {
				return line[:digitsFrom-1], line[digitsFrom-1+m[1]:], true
			}
		}
		from = i + len(":in")
	}
}

// rubyCall is one line of a backtrace.
type rubyCall struct {
	path, name string
	rest       string // what follows the closing quote: ": message (Type)" on the first
	from       bool   // printed after "from"
	numbered   bool   // printed after "N: from": outermost first
}

func rubyCallIn(line string) (rubyCall, bool) {
	var c rubyCall
	if len(line) > maxLine && !strings.Contains(line[:maxLine], ":in ") || !strings.Contains(line, ":") {
		return c, false
	}
	t := line
	if m := rubyFrom.FindStringSubmatchIndex(line); m != nil {
		c.from, c.numbered, t = true, m[2] >= 0, line[m[1]:]
	}
	t = strings.TrimPrefix(strings.TrimSpace(t), "# ") // as RSpec prints it
	t = strings.TrimPrefix(t, "\"")                    // as a list in JSON
	if path, after, ok := rubyPlace(t); ok && len(path) < 2000 {
		end := strings.IndexAny(after, "'’")
		if end < 0 {
			return c, false
		}
		c.path, c.name = path, after[:end]
		c.rest = strings.TrimLeft(after[end:], "'’")
		return c, !strings.ContainsAny(path, "\"`") && (c.rest == "" || strings.ContainsAny(c.rest[:1], ": \","))
	}
	if c.from || strings.HasPrefix(t, "-e:") {
		if m := rubyNoName.FindStringSubmatch(clip(t, 2000)); m != nil {
			c.path = m[1]
			return c, true
		}
		return c, false
	}
	if strings.Contains(line, " at ") && holdsSign(line, rubyFiles) {
		if m := rubyAtEnd.FindStringSubmatch(clip(line, 2000)); m != nil && !strings.ContainsAny(m[1], "({:") {
			c.path, c.name = m[2], m[1]
			return c, true
		}
	}
	return c, false
}

// rubyFrame reads one frame line; nil if it is none.
func rubyFrame(line string) *frame {
	c, ok := rubyCallIn(line)
	if !ok {
		return nil
	}
	return &frame{Frame: Frame{Function: clip(rubyFunction(c.name), 200), Unit: clip(rubyUnit(c.path), 200)}, path: c.path}
}

// rubyFunction reduces a label to the method it stands in: from 3.4 on labels
// have the class as well, and whether code stands in a block or a rescue clause
// of its method changes more often than the defect.
func rubyFunction(label string) string {
	name := rubyBlock.ReplaceAllString(label, "")
	name = rubyTemplate.ReplaceAllString(name, "")
	name = rubyClassHash.ReplaceAllString(name, "#<$1>")
	if strings.HasPrefix(name, "<") || strings.HasPrefix(name, "#<") && !strings.Contains(name, ">#") && !strings.Contains(name, ">.") {
		return name
	}
	if i := strings.LastIndexByte(name, '#'); i > 0 && i+1 < len(name) {
		return name[i+1:]
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 && i+1 < len(name) && rubyConstant(name[:i]) {
		return name[i+1:]
	}
	return name
}

func rubyConstant(s string) bool {
	return s[0] >= 'A' && s[0] <= 'Z' || strings.HasPrefix(s, "#<")
}

// rubyUnit is the file's name; code given to eval has the place of the eval in
// its name since 3.3.
func rubyUnit(path string) string {
	path = rubyGemPath.ReplaceAllString(path, "")
	switch {
	case strings.HasPrefix(path, "(eval"):
		return "(eval)"
	case strings.HasPrefix(path, "<internal:"):
		return path
	}
	return baseName(path)
}
