package fingerprint

import (
	"regexp"
	"strings"
)

// ruby reads what the interpreter prints for an uncaught exception, in the order
// of any version, and what loggers, Rake and test runners print: a line with the
// type and the message, then the backtrace.
var ruby = language{
	name:          "ruby",
	hints:         []string{"ruby", "rb", "rails", "sidekiq", "jruby", "truffleruby"},
	counts:        func(line string) bool { return rubyFrame(line) != nil },
	frame:         func(lines []string, i int) *frame { return rubyFrame(lines[i]) },
	belongs:       func(line string) bool { return rubyElided.MatchString(line) },
	parse:         parseRuby,
	noise:         func(f frame) bool { return rubyRaisers[f.Function] },
	library:       rubyLibrary,
	own:           func(f frame) bool { return !rubyLibrary(f) },
	transparent:   func(e *exception) bool { return rubyWrappers[e.typ] },
	bare:          func(e *exception) bool { return e.typ == "" },
	generic:       set("StandardError", "RuntimeError", "Exception", "ScriptError"),
	identifier:    set("NameError", "NoMethodError", "LoadError", "KeyError"),
	stackOverflow: set("SystemStackError"),
	clean:         cleanRuby,
}

var (
	rubyRaisers  = set("raise", "fail", "Kernel#raise")
	rubyWrappers = set("ActionView::Template::Error", "Sidekiq::JobRetry::Handled", "Sidekiq::JobRetry::Skip")
)

var (
	rubyIn     = regexp.MustCompile("^(:\\d+):in ?[`'‘]")
	rubyFrom   = regexp.MustCompile(`^\s*(?:(\d+): )?from `)
	rubyNoName = regexp.MustCompile(`^(\S.*\.(?:rb|rake|ru|erb|rjs|gemspec)|-e|\(eval[^()]*\)|\(irb\)):(\d+)$`)
	rubyAtEnd  = regexp.MustCompile(`^\s+(\S.*) at (\S.*\.(?:rb|rake|java|erb)):(\d+)$`)
	rubyElided = regexp.MustCompile(`^\s*\.\.\. ?\d+ levels\.\.\.`)

	rubyHeader    = regexp.MustCompile(`^((?:[A-Z]\w*::)*[A-Z]\w*)(?::(?: (.*))?| \((.*)\):?| - (.*)|\s*)$`)
	rubyInspect   = regexp.MustCompile(`^#<((?:[A-Z]\w*::)*[A-Z]\w*):? ?(.*)>$`)
	rubyInLine    = regexp.MustCompile(`(?:^|[\s:(<\[])((?:[A-Z]\w*::)*[A-Z]\w*(?:Error|Exception|Failure|Invalid|NotFound|Timeout|Interrupt)|Errno::[A-Z]\w+|(?:[A-Z]\w*::)+[A-Z]\w*)(?:: (.*)| \((.*)\):?|:?\s*)$`)
	rubyType      = regexp.MustCompile(`^(.*?) ?\(((?:[A-Z]\w*::)*[A-Z]\w*|#<Class:0x[0-9a-f]+>)\)$`)
	rubyThrowable = regexp.MustCompile(`(?:Error|Exception|Failure|Fault|Invalid|NotFound|Timeout|Interrupt|Errors)$|^Errno::|::`)
	rubyCausedBy  = regexp.MustCompile(`^(?:#|=>)?\s*(?:Caused by|Causes|Cause|caused by)\s*:?\s*(.*)$`)

	// What Ruby's own logger prints in front.
	rubyLogger = regexp.MustCompile(`^[A-Z], \[[^\]]*\]\s+[A-Z]+ -- [^:]*: `)

	rubyBlock     = regexp.MustCompile(`^(?:(?:block|rescue|ensure)(?: \(\d+ levels?\))? in )+`)
	rubyTemplate  = regexp.MustCompile(`_{2,}_?\d+_\d+$`)
	rubyClassHash = regexp.MustCompile(`#<(Class|Module):(?:0x[0-9a-f]+|[^>]*)>`)
	rubyGemPath   = regexp.MustCompile(`^[\w-]+ \([\w.]+\) `)
)

// rubyFiles end the places of frames that have the method in front.
var rubyFiles = []string{".rb:", ".rake:", ".java:", ".erb:"}

const rubyNoConstant = "uninitialized constant "

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

func rubyLibrary(f frame) bool {
	p := strings.ReplaceAll(f.path, `\`, "/")
	return strings.Contains(p, "/gems/") || strings.Contains(p, "/lib/ruby/") || strings.Contains(p, "/usr/lib/") || strings.HasPrefix(p, "<internal:") || strings.HasPrefix(p, "org/jruby/") || rubyGemPath.MatchString(p)
}

var (
	rubyReceiver = regexp.MustCompile(` for (?:an instance of |class |module |nil\b|true\b|false\b|main\b|#<|"|'|\[|\{|:|\d|-|[A-Z]).*$`)
	rubyQuoted   = regexp.MustCompile("[`'‘]([^`'‘’]+)['’]")
)

// cleanRuby leaves of "undefined method `x' for nil:NilClass" the name alone:
// the receiver is data, and its form changed between versions, as did the quotes.
func cleanRuby(typ, message string) string {
	if typ != "NoMethodError" && typ != "NameError" {
		return message
	}
	message = rubyReceiver.ReplaceAllString(message, "")
	return rubyQuoted.ReplaceAllString(message, "'$1'")
}

type rubyParser struct {
	lines   []string
	chain   []*exception // outermost first
	pending []frame      // numbered frames above their exception, outermost first
	seen    int          // lines before this one are read
	reverse bool         // causes are printed before what they caused
	done    bool
}

func parseRuby(lines []string) parsed {
	p := rubyParser{lines: lines}
	for i, line := range lines {
		if p.done {
			break
		}
		p.line(i, line)
	}
	p.flush()
	if len(p.chain) == 0 {
		return parsed{}
	}
	for _, e := range p.chain {
		placeInternals(e.frames)
		e.frames = capped(e.frames)
	}
	if p.reverse {
		for i, j := 0, len(p.chain)-1; i < j; i, j = i+1, j-1 {
			p.chain[i], p.chain[j] = p.chain[j], p.chain[i]
		}
	}
	for i := 0; i+1 < len(p.chain); i++ {
		p.chain[i].cause = p.chain[i+1]
	}
	lendFrames(p.chain[0])
	return parsed{outer: p.chain[0]}
}

// placeInternals gives methods that the interpreter defines in Ruby the file of
// their caller, as methods that it defines in C have it: which is which differs
// between versions.
func placeInternals(frames []frame) {
	for i := len(frames) - 2; i >= 0; i-- {
		if strings.HasPrefix(frames[i].Unit, "<internal:") {
			frames[i].Unit = frames[i+1].Unit
		}
	}
}

func (p *rubyParser) line(i int, line string) {
	c, ok := rubyCallIn(line)
	if !ok {
		p.text(i, line)
		return
	}
	f := *rubyFrame(line)
	f.line = i
	switch {
	case c.numbered:
		p.reverse = true
		if len(p.pending) < maxLines {
			p.pending = append(p.pending, f)
		}
		p.seen = i + 1
		return
	case !c.from && strings.HasPrefix(c.rest, ": "):
		p.raised(i, c, f)
	case len(p.chain) == 0:
		p.begin(i, f)
	default:
		p.add(i, f)
	}
	p.seen = i + 1
}

// raised reads "file:line:in `method': message (Type)", which begins an
// exception, or ends one whose frames were printed above it.
func (p *rubyParser) raised(i int, c rubyCall, f frame) {
	if len(p.chain) > 0 && !p.reverse && p.textBefore(i) {
		p.done = true // something else was printed in between
		return
	}
	e := &exception{raised: i, frames: []frame{f}}
	e.typ, e.message = p.typeAndMessage(i, strings.TrimPrefix(c.rest, ": "))
	p.under(e)
}

// under gives e the numbered frames that were printed above it.
func (p *rubyParser) under(e *exception) {
	for j := len(p.pending) - 1; j >= 0; j-- {
		e.frames = append(e.frames, p.pending[j])
	}
	p.pending = nil
	p.push(e)
}

// push keeps the innermost of a chain that is too long to keep whole.
func (p *rubyParser) push(e *exception) {
	if len(p.chain) < maxExceptions {
		p.chain = append(p.chain, e)
		return
	}
	if p.reverse {
		copy(p.chain[1:], p.chain[2:])
	}
	p.chain[len(p.chain)-1] = e
}

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
		return "RuntimeError", nil
	}
	return "", []string{text}
}

// textBefore says whether anything was printed between the last line read and i.
func (p *rubyParser) textBefore(i int) bool {
	for _, l := range p.lines[min(p.seen, i):i] {
		if strings.TrimSpace(l) != "" {
			return true
		}
	}
	return false
}

func (p *rubyParser) add(i int, f frame) {
	e := p.chain[len(p.chain)-1]
	if len(e.frames) == 1 || len(e.frames) == 0 {
		p.continueMessage(e, i)
	}
	if len(e.frames) < maxLines {
		e.frames = append(e.frames, f)
	}
}

// continueMessage adds the lines between an exception's first line and its
// second: the rest of the message, suggestions, the source with a marker.
func (p *rubyParser) continueMessage(e *exception, i int) {
	if e.raised < 0 {
		return
	}
	from := max(p.seen, e.raised+len(e.message))
	for j := min(from, i); j < i && len(e.message) < maxLines; j++ {
		if rubyElided.MatchString(p.lines[j]) {
			return
		}
		e.message = append(e.message, strings.TrimSpace(p.lines[j]))
	}
}

// begin reads the first frame of a backtrace that a logger printed under the
// type and the message.
func (p *rubyParser) begin(i int, f frame) {
	e := p.headerAbove(i)
	e.frames = []frame{f}
	p.push(e)
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

// text reads a line that is no frame: where a logger goes on with a cause, its
// header stands between two backtraces.
func (p *rubyParser) text(i int, line string) {
	if len(p.pending) > 0 {
		// In irb the exception under numbered frames has no place of its own.
		if typ, message, ok := rubyHeaderOf(line); ok {
			p.under(&exception{typ: typ, message: []string{message}, raised: i})
			p.seen = i + 1
		}
		return
	}
	if len(p.chain) == 0 || p.reverse || len(p.chain[len(p.chain)-1].frames) == 0 {
		return
	}
	t := strings.TrimSpace(line)
	if t == "" || rubyElided.MatchString(t) {
		return
	}
	cause := strings.Contains(t, "ause")
	if cause {
		if m := rubyCausedBy.FindStringSubmatch(clip(t, 4000)); m != nil {
			p.caused(i, m[1])
			return
		}
	}
	if typ, _, ok := rubyHeaderOf(t); ok && rubyThrowable.MatchString(typ) && len(p.chain[len(p.chain)-1].frames) > 1 {
		p.done = true
	}
}

// caused opens the cause that a logger announced, named on the same line or on
// the next.
func (p *rubyParser) caused(i int, rest string) {
	j := i
	for rest == "" && j+1 < len(p.lines) && j < i+3 {
		j++
		rest = strings.TrimSpace(p.lines[j])
	}
	typ, message, ok := rubyHeaderOf(rest)
	if !ok {
		return
	}
	p.push(&exception{typ: typ, message: []string{message}, raised: j})
	p.seen = j + 1
}

// flush makes an exception of numbered frames that none followed.
func (p *rubyParser) flush() {
	if len(p.pending) == 0 || len(p.chain) > 0 {
		return
	}
	p.under(&exception{raised: -1})
}
