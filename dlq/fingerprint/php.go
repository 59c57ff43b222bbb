package fingerprint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// php reads what the engine and Throwable::__toString print, the trace as Monolog
// (and so Laravel) and Symfony's console print it, and Xdebug's own stack.
//
// PHP prints the arguments of every call, which here are bytes of documents. They
// may hold anything, line breaks and what looks like frames included; nothing of
// them is read.
var php = language{
	name:        "php",
	hints:       []string{"php", "laravel", "symfony", "wordpress", "drupal"},
	counts:      func(line string) bool { _, ok := phpCallIn(line); return ok },
	frame:       phpFrameAt,
	belongs:     func(line string) bool { return phpListCall.MatchString(clip(line, 4000)) },
	parse:       parsePHP,
	noise:       phpNoise,
	library:     phpLibrary,
	own:         func(f frame) bool { return !phpLibrary(f) },
	transparent: func(e *exception) bool { return phpWrappers[lastSegment(e.typ)] },
	bare:        func(e *exception) bool { return e.typ == "" },
	generic:     set("Exception", "Error", "ErrorException", "RuntimeException", "LogicException", "FatalError", "FatalErrorException"),
	clean:       cleanPHP,
	// There is no limit on recursion but memory; Xdebug has one.
	overflowText: "Maximum function nesting level of",
}

var phpWrappers = set("HandlerFailedException", "DelayedMessageHandlingException", "ViewException")

var (
	phpNumbered  = regexp.MustCompile(`^#(\d+) (?:(.*?)\((\d+)\)|(\[internal function\])): (.+)$`)
	phpPlain     = regexp.MustCompile(`^(\d+) (\S.*\.php)\((\d+)\): (.+)$`) // CodeIgniter
	phpMain      = regexp.MustCompile(`^#(\d+) \{main\}`)
	phpConsole   = regexp.MustCompile(`^\s*([\w\\{}@>:.-]+(?:\(.*\))?)\(\) at (\S.*):(?:\d+|n/a)$`)
	phpConsoleAt = regexp.MustCompile(`^\s+(?:\(\) )?at (\S.*\.php):\d+$`)
	phpList      = regexp.MustCompile(`^\s+(\d+)\s+(\S.*\.php):\d+$`)
	phpListCall  = regexp.MustCompile(`^\s{4,}([\w\\{}@>:-]+)\(.*\)$`)
	phpXdebug    = regexp.MustCompile(`^(?:PHP)?\s+(?:\d+\.\d+\s+\d+\s+)?(\d+)\. ([\w\\{}@>:-]+)\(.*\) (\S.*):\d+$`)

	phpUncaught  = regexp.MustCompile(`(?:Uncaught |^Next )(?:PHP Exception )?(?:exception(?: '|: ))?([\p{L}_\\][\p{L}\p{N}_\\@]*)('|:|\(|$| in | with )`)
	phpQuoted    = regexp.MustCompile(`(?:^|\s)[eE]xception '([\p{L}_\\][\p{L}\p{N}_\\@]*)'`)
	phpObject    = regexp.MustCompile(`\[object\] \(([\p{L}_\\][\p{L}\p{N}_\\@]*)\(code: ?[^()]*\)(:)? ?`)
	phpNamed     = regexp.MustCompile(`(?:^|[\s:\](|>"])(\\?(?:[\p{L}_][\p{L}\p{N}_]*\\{1,2})+[\p{L}_][\p{L}\p{N}_]*|[\p{L}_][\p{L}\p{N}_]*(?:Exception|Error)|Exception|Error)(:| in |$)`)
	phpBox       = regexp.MustCompile(`^\s*\[([\p{L}_\\][\p{L}\p{N}_\\@]*)(?: \(.*\))?\]\s*$`)
	phpPlaceEnd  = regexp.MustCompile(`^(\S.*):(\d+)[")]*$`)
	phpPlaceLine = regexp.MustCompile(`^(\S.*?)(?: on)? line (\d+)\b`)
	phpConsoleIn = regexp.MustCompile(`^In (\S.*) line \d+:$`)
	phpLabel     = regexp.MustCompile(`(?i)^\W*(?:(?:PHP )?(?:stack|exception|back)[ _-]?trace|trace|call stack)\W*$`)
	phpDrupal    = regexp.MustCompile(`^(.*) in \S+ \(line \d+ of (.*?)\)\.?$`)

	phpHash         = regexp.MustCompile(`[0-9a-f]{32,}`)
	phpSpaceInClass = regexp.MustCompile(`(->|::)[\w\\]*\\\{closure\}`)
	phpTwig         = regexp.MustCompile(`__TwigTemplate_[0-9a-f]+`)
	phpContainer    = regexp.MustCompile(`\bContainer[0-9A-Za-z_]{7}\\`)
	phpNotFound     = regexp.MustCompile(`^(Class|Interface|Trait|Enum) ["']\\?([\p{L}_][\p{L}\p{N}_\\]*)["'] not found`)
	phpLevelled     = regexp.MustCompile(`^\s*\[([\p{L}_\\][\p{L}\p{N}_\\]*)\] (.*)$`)
	phpCells        = regexp.MustCompile(`^(?:[^!]{1,40}!\$?[A-Z]{1,3}\$?\d{1,7} -> )+`)
)

// phpCall is one line of a trace: what was called and where.
type phpCall struct {
	number   int
	function string
	path     string
	form     phpForm
}

type phpForm int

const (
	phpHash0     phpForm = iota // "#0 file(line): function(…)"
	phpAt                       // "function() at file:line", of Symfony's console
	phpRaisedAt                 // "at file:line" above those
	phpOutermost                // "1. function() file:line", of Xdebug: outermost first
	phpListed                   // "1  file:line" over the function, of Laravel's console
)

func phpCallIn(line string) (phpCall, bool) {
	t := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(t, "#") {
		return phpHashCall(t)
	}
	switch {
	case strings.Contains(line, "() at "):
		if m := phpConsole.FindStringSubmatch(clip(line, 4000)); m != nil {
			return phpCall{function: m[1], path: m[2], form: phpAt}, true
		}
		fallthrough
	case strings.Contains(line, "at ") && strings.Contains(line, ".php:"):
		if m := phpConsoleAt.FindStringSubmatch(clip(line, 4000)); m != nil {
			return phpCall{path: m[1], form: phpRaisedAt}, true
		}
	case strings.Contains(line, ".php(") && startsBlank(line) && t[0] >= '0' && t[0] <= '9':
		if m := phpPlain.FindStringSubmatch(clip(t, 4000)); m != nil {
			return phpHashCall("#" + t)
		}
	case strings.Contains(line, ".php:") && startsBlank(line) && t[0] >= '0' && t[0] <= '9':
		if m := phpList.FindStringSubmatch(clip(line, 4000)); m != nil {
			n, _ := strconv.Atoi(m[1])
			return phpCall{number: n, path: m[2], form: phpListed}, true
		}
		fallthrough
	case strings.Contains(line, ". ") && strings.Contains(line, ") ") && (strings.Contains(line, ".php:") || strings.Contains(line, "{main}")):
		if m := phpXdebug.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			return phpCall{number: n, function: phpFunction(m[2] + "("), path: m[3], form: phpOutermost}, true
		}
	}
	return phpCall{}, false
}

// phpHashCall reads "#3 /a/b.php(12): Class->method(…". What follows the name is
// not looked at: an argument may have broken the line.
func phpHashCall(t string) (phpCall, bool) {
	if m := phpMain.FindStringSubmatch(t); m != nil {
		n, _ := strconv.Atoi(m[1])
		return phpCall{number: n, function: "{main}"}, true
	}
	if !strings.Contains(t, "): ") && !strings.Contains(t, "]: ") {
		return phpCall{}, false
	}
	m := phpNumbered.FindStringSubmatch(clip(t, 4000))
	if m == nil {
		return phpCall{}, false
	}
	n, err := strconv.Atoi(m[1])
	function := phpFunction(m[5])
	if err != nil || function == "" {
		return phpCall{}, false
	}
	return phpCall{number: n, function: function, path: m[2] + m[4]}, true
}

// phpFunction returns the name in front of the arguments. The name of an
// anonymous class or, since 8.4, of a closure holds a place, which may have
// parentheses and colons of its own.
func phpFunction(s string) string {
	s = strings.ReplaceAll(s, `\\`, `\`)
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "({@ ")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "{closure"):
			b.WriteString("{closure}")
			s = rest[closingBrace(rest):]
			continue
		case strings.HasPrefix(rest, "@anonymous"):
			b.WriteString("@anonymous")
			s = afterAnonymous(rest[len("@anonymous"):])
			continue
		case rest[0] == '{' || rest[0] == '@':
			b.WriteByte(rest[0])
			s = rest[1:]
			continue
		}
		break
	}
	name := strings.TrimPrefix(b.String(), `\`)
	if i := strings.LastIndex(name, `\{closure}`); i >= 0 && !strings.ContainsAny(name, ">:") {
		name = name[i+1:] // since 8.4 the namespace is part of the place
	}
	name = phpSpaceInClass.ReplaceAllString(name, "$1{closure}")
	name = phpTwig.ReplaceAllString(name, "__TwigTemplate")
	return phpContainer.ReplaceAllString(name, `Container\`)
}

// closingBrace returns where the braces that open s end.
func closingBrace(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// afterAnonymous passes over the place that names an anonymous class.
func afterAnonymous(s string) string {
	arrow, colons := strings.Index(s, "->"), strings.Index(s, "::")
	switch {
	case arrow < 0 && colons < 0:
		return s
	case arrow < 0 || colons >= 0 && colons < arrow:
		return s[colons:]
	}
	return s[arrow:]
}

// phpUnit is the file's name; that of a compiled template is a hash.
func phpUnit(path string) string {
	if strings.HasPrefix(path, "[internal") {
		return path
	}
	path = strings.ReplaceAll(path, `\\`, `\`)
	if i := strings.Index(path, "(") + 1; i > 0 && strings.Contains(path[i:], "eval()'d code") {
		path = path[:i-1]
	}
	return phpHash.ReplaceAllString(baseName(path), "<hash>")
}

// phpCallAt reads the call at line i, whose name may stand on the next one.
func phpCallAt(lines []string, i int) (phpCall, bool) {
	c, ok := phpCallIn(lines[i])
	if !ok || c.form != phpListed {
		return c, ok
	}
	if i+1 == len(lines) {
		return c, false
	}
	m := phpListCall.FindStringSubmatch(clip(lines[i+1], 4000))
	if m == nil {
		return c, false
	}
	c.function = phpFunction(m[1] + "(")
	return c, true
}

// phpFrameAt reads the frame at line i. Its file is where the one above it was
// called from.
func phpFrameAt(lines []string, i int) *frame {
	c, ok := phpCallAt(lines, i)
	if !ok {
		return nil
	}
	path := ""
	if i > 0 {
		if above, ok := phpCallIn(lines[i-1]); ok && above.form == c.form {
			path = above.path
		} else if j := i - 1; j > 0 && phpLabel.MatchString(clip(lines[j], 200)) {
			path = phpPlaceOf(lines[j-1])
		}
	}
	return phpFrame(c.function, path, i)
}

func phpFrame(function, path string, line int) *frame {
	unit := phpUnit(path)
	if path == "" {
		unit = phpClassFile(function)
	}
	return &frame{Frame: Frame{Function: clip(function, 200), Unit: clip(unit, 200)}, path: path, line: line}
}

// phpClassFile is the file that a class of a namespace is in by convention, for
// traces that do not say where they were raised.
func phpClassFile(function string) string {
	end := strings.Index(function, "->")
	if end < 0 {
		end = strings.Index(function, "::")
	}
	if end < 0 {
		return ""
	}
	class := function[:end]
	slash := strings.LastIndexByte(class, '\\')
	if slash < 0 || strings.Contains(class, "@") {
		return ""
	}
	return class[slash+1:] + ".php"
}

func phpLibrary(f frame) bool {
	p := strings.ReplaceAll(f.path, `\`, "/")
	return strings.Contains(p, "/vendor/") || strings.HasPrefix(p, "vendor/") || strings.HasPrefix(p, "[internal") || strings.HasPrefix(p, "phar:") || strings.Contains(p, "/wp-includes/") || strings.Contains(p, "/pear/")
}

var phpNoiseParts = []string{
	`Foundation\Bootstrap\HandleExceptions->`, `ErrorHandler->handleError`, `ErrorHandler::handleError`, `Whoops\Run->handleError`, `yii\base\ErrorHandler->`, `CodeIgniter\Debug\Exceptions->`, `DebugClassLoader`,
	`Webmozart\Assert\Assert::`, `Assert\Assertion::`, `abort`, `throw_if`, `throw_unless`,
}

func phpNoise(f frame) bool {
	for _, p := range phpNoiseParts {
		if f.Function == p || strings.Contains(p, `\`) && strings.Contains(f.Function, p) || strings.HasPrefix(f.Function, p) && strings.HasSuffix(p, "Error") {
			return true
		}
	}
	return false
}

// cleanPHP takes off the cells through which a spreadsheet's formula failed, and
// the quotes of a class that was not found: its namespace would pass for a path.
func cleanPHP(typ, message string) string {
	return phpNotFound.ReplaceAllString(phpCells.ReplaceAllString(message, ""), "$1 $2 not found")
}

// phpBlock is an exception and its calls, not yet paired with their files.
type phpBlock struct {
	*exception
	place string // the file it was raised in
	calls []phpCall
	lines []int
}

// pair gives each call the file it is in, which is where the next inner
// call was made.
func (b *phpBlock) pair() {
	if len(b.calls) > 0 && b.calls[0].form == phpOutermost {
		for i, j := 0, len(b.calls)-1; i < j; i, j = i+1, j-1 {
			b.calls[i], b.calls[j] = b.calls[j], b.calls[i]
			b.lines[i], b.lines[j] = b.lines[j], b.lines[i]
		}
	}
	path := b.place
	for i, c := range b.calls {
		if c.form == phpRaisedAt {
			path = c.path
			continue
		}
		if i > 0 && path == "" {
			path = "[internal function]"
		}
		b.frames = append(b.frames, *phpFrame(c.function, path, b.lines[i]))
		path = c.path
	}
	if len(b.calls) == 1 && b.calls[0].form == phpRaisedAt {
		b.frames = []frame{*phpFrame("", path, b.lines[0])} // only libraries called it, and they are folded away
	}
	b.frames = capped(b.frames)
}

type phpParser struct {
	lines  []string
	blocks []*phpBlock
	links  []phpLink // how each block is linked with the one before it
	seen   int
	xdebug bool
	done   bool
}

type phpLink int

const (
	phpNone     phpLink = iota
	phpNext             // it wraps the block before it
	phpPrevious         // it is the cause of the block before it
)

func parsePHP(lines []string) parsed {
	p := phpParser{lines: lines}
	for i, line := range lines {
		if p.done {
			break
		}
		p.line(i, line)
	}
	outer := p.chain()
	lendFrames(outer)
	return parsed{outer: outer}
}

func (p *phpParser) line(i int, line string) {
	c, ok := phpCallAt(p.lines, i)
	if !ok {
		return
	}
	if c.form == phpOutermost {
		if len(p.blocks) > 0 && !p.xdebug {
			return // Xdebug's stack repeats the one that was read
		}
		p.xdebug = true
	}
	if p.forged(i, c) {
		return
	}
	if p.starts(i, c) {
		p.begin(i)
		if p.done {
			return
		}
	}
	b := p.blocks[len(p.blocks)-1]
	if len(b.calls) < maxFrames+1 || c.form == phpOutermost && len(b.calls) < maxLines {
		b.calls = append(b.calls, c)
		b.lines = append(b.lines, i)
	}
	p.seen = i + 1
}

// forged says that the call at line i is part of an argument that holds line
// breaks: calls are counted, and a new count begins under a heading only.
func (p *phpParser) forged(i int, c phpCall) bool {
	if len(p.blocks) == 0 || c.form != phpHash0 {
		return false
	}
	calls := p.blocks[len(p.blocks)-1].calls
	if len(calls) == 0 {
		return false
	}
	last := calls[len(calls)-1]
	if c.number == 0 {
		return last.function != "{main}" && !phpLabel.MatchString(clip(p.lines[max(i-1, 0)], 200))
	}
	return last.function == "{main}" || c.number <= last.number
}

// starts says whether the call at line i is the first of a block.
func (p *phpParser) starts(i int, c phpCall) bool {
	if len(p.blocks) == 0 {
		return true
	}
	b := p.blocks[len(p.blocks)-1]
	if len(b.calls) == 0 {
		return false
	}
	switch c.form {
	case phpHash0:
		return c.number == 0
	case phpRaisedAt:
		return true
	case phpAt:
		return phpLabel.MatchString(clip(p.lines[max(i-1, 0)], 200))
	}
	return c.number <= b.calls[len(b.calls)-1].number
}

func (p *phpParser) begin(i int) {
	b, link := p.headerAbove(i)
	if len(p.blocks) > 0 && link == phpNone {
		p.done = true // another exception, printed later
		return
	}
	if len(p.blocks) == maxExceptions {
		if link == phpPrevious {
			p.done = true
			return
		}
		// The wrapper comes last: of a chain that is too long the ends are kept.
		p.blocks = append(p.blocks[:1], p.blocks[2:]...)
		p.links = append(p.links[:1], p.links[2:]...)
	}
	p.blocks = append(p.blocks, b)
	p.links = append(p.links, link)
}

func (p *phpParser) chain() *exception {
	var outer, last *exception
	for i, b := range p.blocks {
		b.pair()
		switch {
		case i == 0:
			outer = b.exception
		case p.links[i] == phpNext:
			b.cause = outer
			outer = b.exception
		default:
			last.cause = b.exception
		}
		last = b.exception
	}
	return outer
}

// headerAbove reads what stands between the last block and line i. The nearest
// line that names an exception begins its message, which may go on for lines.
func (p *phpParser) headerAbove(i int) (*phpBlock, phpLink) {
	from := max(p.seen, i-80)
	end := i
	for end > from && (strings.TrimSpace(p.lines[end-1]) == "" || phpLabel.MatchString(clip(p.lines[end-1], 200))) {
		end--
	}
	for j := end - 1; j >= from; j-- {
		if b, link, ok := phpStrongHeader(p.lines[j]); ok {
			b.raised = j
			p.message(b, j, end)
			return b, link
		}
	}
	if b := p.boxed(from, end); b != nil {
		link := phpNone
		if len(p.blocks) > 0 {
			link = phpPrevious
		}
		return b, link
	}
	for j := end - 1; j >= from; j-- {
		l := strings.TrimSpace(strings.ReplaceAll(clip(p.lines[j], 16<<10), `\\`, `\`))
		if m := phpNamed.FindStringSubmatchIndex(l); m != nil {
			message := l[m[3]:]
			if l[m[4]:m[5]] == ":" {
				message = l[m[5]:]
			}
			b := &phpBlock{exception: &exception{typ: strings.TrimPrefix(l[m[2]:m[3]], `\`), message: []string{message}, raised: j}}
			if m := phpLevelled.FindStringSubmatch(message); m != nil {
				b.typ, b.message[0] = m[1], m[2] // "Error" was the logger's level
			}
			p.message(b, j, end)
			return b, phpNone
		}
	}
	b := &phpBlock{exception: &exception{raised: -1}}
	if end > from {
		b.raised, b.message = end-1, []string{p.lines[end-1]}
		p.message(b, end-1, end)
	}
	return b, phpNone
}

// phpStrongHeader reads a line that says that it names an exception.
func phpStrongHeader(line string) (*phpBlock, phpLink, bool) {
	line = clip(line, 16<<10)
	switch {
	case strings.Contains(line, "[object] ("):
		line = strings.ReplaceAll(line, `\\`, `\`)
		m := phpObject.FindStringSubmatchIndex(line)
		if m == nil {
			break
		}
		link := phpNone
		if strings.Contains(line[:m[0]], "[previous exception]") {
			link = phpPrevious
		}
		return &phpBlock{exception: &exception{typ: line[m[2]:m[3]], message: []string{line[m[1]:]}}}, link, true
	case strings.Contains(line, "Uncaught "), strings.HasPrefix(line, "Next "):
		m := phpUncaught.FindStringSubmatchIndex(line)
		if m == nil {
			break
		}
		link := phpNone
		if strings.HasPrefix(line, "Next ") {
			link = phpNext
		}
		message := line[m[3]:]
		if mark := line[m[4]:m[5]]; mark == ":" || mark == "'" {
			message = line[m[5]:]
		}
		return &phpBlock{exception: &exception{typ: line[m[2]:m[3]], message: []string{message}}}, link, true
	case strings.Contains(line, "xception '"):
		m := phpQuoted.FindStringSubmatchIndex(line)
		if m == nil {
			break
		}
		return &phpBlock{exception: &exception{typ: line[m[2]:m[3]], message: []string{line[m[1]:]}}}, phpNone, true
	}
	return nil, phpNone, false
}

// boxed reads the form of Symfony's console: the place, the type in brackets,
// the message under it.
func (p *phpParser) boxed(from, end int) *phpBlock {
	for j := end - 1; j >= from; j-- {
		m := phpBox.FindStringSubmatch(clip(p.lines[j], 4000))
		if m == nil {
			continue
		}
		b := &phpBlock{exception: &exception{typ: m[1], raised: j}}
		for _, l := range p.lines[j+1 : end] {
			if l = strings.TrimSpace(l); l != "" {
				b.message = append(b.message, l)
			}
		}
		for k := j - 1; k >= max(from, j-4); k-- {
			if m := phpConsoleIn.FindStringSubmatch(strings.TrimSpace(clip(p.lines[k], 1000))); m != nil {
				b.place = m[1]
			}
		}
		return b
	}
	return nil
}

// message completes b from the lines up to end and takes the place off its end.
func (p *phpParser) message(b *phpBlock, header, end int) {
	for _, l := range p.lines[header+1 : end] {
		if strings.Contains(l, "Stack trace:") || len(b.message) >= maxLines {
			break
		}
		b.message = append(b.message, l)
	}
	b.message[0], _, _ = strings.Cut(b.message[0], " Stack trace:")
	for n := len(b.message) - 1; n >= 0; n-- {
		text, place := phpCutPlace(b.message[n])
		if place == "" {
			continue
		}
		b.message, b.place = append(b.message[:n], text), place
		break
	}
	for n, l := range b.message {
		b.message[n] = strings.TrimSpace(l)
	}
	first := b.message[0]
	if rest, ok := strings.CutPrefix(first, "with message '"); ok {
		b.message[0] = rest
		last := len(b.message) - 1
		b.message[last] = strings.TrimSuffix(b.message[last], "'")
	} else if len(first) > 1 && first[0] == '"' && strings.HasSuffix(first, `"`) {
		b.message[0] = first[1 : len(first)-1] // as Symfony's log has it
	}
}

// phpCutPlace splits "message in /a/b.php:12", or "at" in a log.
func phpCutPlace(s string) (text, place string) {
	s = strings.TrimRight(clip(s, 16<<10), " \t")
	if m := phpDrupal.FindStringSubmatch(s); m != nil {
		return m[1], m[2]
	}
	s = strings.TrimSuffix(s, ", referer")
	for n, end := 0, len(s); n < 8 && end > 0; n++ {
		in, at := strings.LastIndex(s[:end], "in "), strings.LastIndex(s[:end], "at ")
		i := max(in, at)
		if i < 0 {
			break
		}
		end = i
		if i > 0 && s[i-1] != ' ' {
			continue
		}
		rest := s[i+len("in "):]
		m := phpPlaceEnd.FindStringSubmatch(rest)
		if m == nil {
			m = phpPlaceLine.FindStringSubmatch(rest)
		}
		if m != nil && !strings.Contains(m[1], ", ") {
			return strings.TrimRight(s[:i], " "), strings.ReplaceAll(m[1], `\\`, `\`)
		}
	}
	return s, ""
}

func phpPlaceOf(line string) string {
	_, place := phpCutPlace(line)
	return place
}

// phpTogether writes an exception that a framework answered as JSON, with an
// object for each call, the way PHP prints it.
func phpTogether(object map[string]any) string {
	calls, _ := object["trace"].([]any)
	typ := textOf(object["exception"])
	if typ == "" || len(calls) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v in %v:%v\nStack trace:\n", typ, object["message"], object["file"], object["line"])
	for n, c := range calls[:min(len(calls), maxFrames)] {
		call, ok := c.(map[string]any)
		if !ok {
			return ""
		}
		place := "[internal function]"
		if file := textOf(call["file"]); file != "" {
			place = fmt.Sprintf("%s(%v)", file, call["line"])
		}
		fmt.Fprintf(&b, "#%d %s: %s%s%s()\n", n, place, textOf(call["class"]), textOf(call["type"]), textOf(call["function"]))
	}
	return b.String()
}
