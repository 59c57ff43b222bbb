package fingerprint

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// powershell reads error records in all views: the classic one with its
// CategoryInfo, the concise one of PowerShell 7, lists of all properties, and
// script stack traces. Words and messages are in the language of the host, so
// places are told by their shape, and the key rests on the error's id and on the
// text of the failing statement.
var powershell = language{
	name:    "powershell",
	hints:   []string{"powershell", "pwsh", "ps", "ps1"},
	counts:  psCounts,
	frame:   psFrameAt,
	belongs: psBelongs,
	parse:   parsePowerShell,
	noise:   func(frame) bool { return false },
	library: func(f frame) bool {
		return strings.Contains(strings.ToLower(withSlashes(f.path)), "/modules/")
	},
	generic: set("Exception", "RuntimeException", "WriteErrorException", "ErrorRecord"),
}

// psPath is a script's path. It may hold blanks, and ends where its kind does.
const psPath = `(?:[A-Za-z]:[\\/]|\\\\|[~.]{0,2}/|[~.]{1,2}\\)[^:*?"<>|\n]*?\.(?:ps1|psm1|psd1)`

var (
	psPlace     = regexp.MustCompile(`(?i)^\s*(?:PositionMessage\s*: )?(?:[^\s:+/\\][^\s:/\\]*\s+){0,3}(` + psPath + `): ?\d+(?:[\s,:].*)?$`)
	psOpenPlace = regexp.MustCompile(`(?i)^\s*\p{L}+(?:\s\p{L}+)? (?:[A-Za-z]:\\|\\\\|/)[^:*?"<>|]*$`)
	psConcise   = regexp.MustCompile(`(?i)^\s*([\w.-]+): (` + psPath + `):\d+(?::\d+)?\s*$`)
	psStack     = regexp.MustCompile(`(?i)^\s*(?:ScriptStackTrace\s*: )?\s*\p{L}+ ([^,\n]+), (` + psPath + `|<[^<>,\n]+>)\s?: ?\p{L}+ \d+\s*$`)
	psProperty  = regexp.MustCompile(`^\s*[+-]? ?(CategoryInfo|FullyQualifiedErrorId|PSComputerName|ScriptStackTrace|TargetObject|InvocationInfo|ErrorDetails|PipelineIterationInfo|PSMessageDetails|Exception|Message|Type|StackTrace)\s*: (.*)$`)
	psCategory  = regexp.MustCompile(`^(\w+): ?\(.*\)?\s*\[([^\]]*)\],\s*([\w.+]+)?`)
	psSource    = regexp.MustCompile(`^\+ ?(.*)$`)
	psUnderline = regexp.MustCompile(`^\s*[+|]?\s*~+\s*$`)
	psGutter    = regexp.MustCompile(`^\s*\d* *\| ?(.*)$`)
	psThrown    = regexp.MustCompile(`^\s*([A-Za-z_][\w]*(?:\.[\w]+)*(?:Exception|Error))(?:: (.*)|:?\s*)$`)
	psCommand   = regexp.MustCompile(`^([A-Za-z]+-[\w-]+|[\w-]+\.(?:ps1|exe)|[\w-]+) ?: (.*)$`)
	psBlocks    = regexp.MustCompile(`(?:<(?:Process|Begin|End|DynamicParam|Clean)>)+$`)
	psVerbNoun  = regexp.MustCompile(`^[A-Za-z]+-[A-Za-z]\w*$`)
	psPrompt    = regexp.MustCompile(`^\s*(?:\p{L}+ )*\p{L}+: ?\d+ \p{L}*\s?: ?\d+\s*$`)
	psTyped     = regexp.MustCompile(`^PS [^>]*>`)
	psQuoted    = regexp.MustCompile(`: "([^"]+)"?$`)
	psSteadyID  = regexp.MustCompile(`^[A-Za-z_][\w.+,-]*$`)
)

func psCounts(line string) bool {
	if strings.Contains(line, "CategoryInfo ") || strings.Contains(line, "FullyQualifiedErrorId") || strings.Contains(line, "ScriptStackTrace ") {
		return psProperty.MatchString(line)
	}
	return psIsStack(line) || psNamesScript(line, ":") && (psConcise.MatchString(line) || psPlace.MatchString(line))
}

// psIsStack says that a line is one level of a script stack trace.
func psIsStack(line string) bool {
	return strings.Contains(line, ", ") && (psNamesScript(line, ":") || strings.Contains(line, ", <")) && psStack.MatchString(line)
}

// psNamesScript says that a line holds a script's name with after behind it. It
// only spares the expressions below most lines.
func psNamesScript(line, after string) bool {
	for rest := line; ; {
		i := strings.Index(rest, ".")
		if i < 0 || i+3 > len(rest) {
			return false
		}
		rest = rest[i+1:]
		if rest[0]|' ' != 'p' || rest[1]|' ' != 's' {
			continue
		}
		end := strings.TrimLeft(rest[2:], "mMdD1")
		if strings.HasPrefix(strings.TrimLeft(end, " "), after) {
			return true
		}
	}
}

// psPropertyOf reads a property of a record; nil if the line is none.
func psPropertyOf(line string) []string {
	if !strings.Contains(line, " : ") && !strings.Contains(line, ": ") {
		return nil
	}
	if t := strings.TrimLeft(line, " \t+-"); t == "" || strings.IndexByte("CFPSTIEM", t[0]) < 0 {
		return nil
	}
	return psProperty.FindStringSubmatch(line)
}

// psFrameAt reads a place at line i: of the error itself, or of one level of a
// script stack trace, which names the function too.
func psFrameAt(lines []string, i int) *frame {
	line := lines[i]
	if i+1 < len(lines) && psOpenPlace.MatchString(line) && !psCounts(line) && len(line) < 1024 {
		// A console broke the path: a blank at the break belongs to it.
		line += strings.TrimLeft(lines[i+1], " ")
	}
	if !psCounts(line) {
		return nil
	}
	var function, path string
	if m := psStack.FindStringSubmatch(line); m != nil {
		function, path = psFunction(m[1]), m[2]
	} else if m := psConcise.FindStringSubmatch(line); m != nil {
		path = m[2]
	} else if m := psPlace.FindStringSubmatch(line); m != nil {
		path = m[1]
	} else {
		return nil
	}
	unit := baseName(path)
	if strings.HasPrefix(unit, "<") {
		unit = "<none>" // "<No file>" in the language of the host
	}
	return &frame{Frame: Frame{Function: clip(function, 200), Unit: clip(unit, 200)}, path: path, line: i}
}

func psFunction(name string) string {
	name = strings.TrimSpace(name)
	if bare := psBlocks.ReplaceAllString(name, ""); bare != "" {
		return bare
	}
	return name
}

// psBelongs takes the rest of a place: the column on a line of its own, the
// statement and what underlines it.
func psBelongs(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " "), "+ ") || psUnderline.MatchString(line) || psGutter.MatchString(line) || strings.HasPrefix(strings.TrimSpace(line), "Line |")
}

func parsePowerShell(lines []string) parsed {
	p := psParser{e: &exception{raised: -1}, first: -1}
	for i := 0; i < len(lines) && !p.done; i++ {
		p.line(lines, i)
	}
	return parsed{outer: p.finish(lines)}
}

type psParser struct {
	e         *exception
	first     int // the line of the first place or property; -1 before it
	category  string
	command   string
	id        string
	statement string
	stack     []frame
	named     bool     // the exception itself was listed, not only its category
	concise   []string // message of the concise view
	done      bool
}

func (p *psParser) line(lines []string, i int) {
	line := lines[i]
	if m := psPropertyOf(line); m != nil && !psConcise.MatchString(line) {
		p.property(lines, i, m[1], m[2])
		return
	}
	if f := psFrameAt(lines, i); f != nil {
		p.place(lines, i, *f)
		return
	}
	if p.first < 0 && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+ ") && psPrompt.MatchString(line) {
		p.first, p.statement = i, psStatement(lines, i+1)
	}
}

// place adds a frame. A second place with nothing in common is another error.
func (p *psParser) place(lines []string, i int, f frame) {
	if psIsStack(lines[i]) {
		p.stack = append(p.stack, f)
		if p.first < 0 {
			p.first = i
		}
		return
	}
	if len(p.e.frames) > 0 {
		p.done = p.id != "" || len(p.concise) > 0
		return
	}
	if p.first < 0 {
		p.first = i
	}
	if m := psConcise.FindStringSubmatch(lines[i]); m != nil {
		p.e.raised, p.first = i, i
		p.e.typ = m[1]
		if psVerbNoun.MatchString(m[1]) {
			p.e.typ, p.command = "", m[1]
		}
		p.statement, p.concise = psConciseBlock(lines, i+1)
	} else if p.statement == "" {
		p.statement = psStatement(lines, i+1)
	}
	p.e.frames = append(p.e.frames, f)
}

// property reads one property of the record; a console may have broken it.
func (p *psParser) property(lines []string, i int, name, value string) {
	whole := psWhole(lines, i, value)
	switch name {
	case "CategoryInfo":
		if p.category != "" {
			p.done = true
			return
		}
		if m := psCategory.FindStringSubmatch(whole); m != nil {
			p.category, p.command = m[1], m[2]
			if m[3] != "" && (p.e.typ == "" || !p.named) {
				p.e.typ = m[3]
			}
		}
	case "FullyQualifiedErrorId":
		if p.id == "" {
			p.id = whole
		}
	case "ScriptStackTrace":
		if f := psFrameAt(lines, i); f != nil {
			p.stack = append(p.stack, *f)
		}
	case "Exception", "Type":
		if m := psThrown.FindStringSubmatch(value); m != nil && p.e.typ == "" {
			p.e.typ, p.named = m[1], true
			p.e.raised = i
			if m[2] != "" {
				p.e.message = []string{m[2]}
			}
		}
		if p.first < 0 {
			p.first = i
		}
		return
	case "Message":
		if p.e.message == nil && value != "" {
			p.e.raised, p.e.message = i, []string{value}
		}
	}
	if p.first < 0 {
		p.first = i
	}
}

// psWhole joins a value that a console of fixed width broke: what follows is
// indented, without a sign of its own.
func psWhole(lines []string, i int, value string) string {
	for j := i + 1; j < len(lines) && j <= i+6; j++ {
		rest := strings.TrimLeft(lines[j], " ")
		if rest == "" || rest == lines[j] || strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "|") || psPropertyOf(lines[j]) != nil || psIsStack(lines[j]) {
			break
		}
		value = strings.TrimRight(value, " ") + strings.TrimRight(rest, " ")
	}
	return strings.TrimSpace(value)
}

// psStatement returns the part of the source that the marks under it point at.
func psStatement(lines []string, i int) string {
	for j := i; j < len(lines) && j < i+3; j++ {
		m := psSource.FindStringSubmatch(strings.TrimLeft(lines[j], " "))
		if m == nil || psPropertyOf(lines[j]) != nil {
			continue
		}
		if j+1 < len(lines) && psUnderline.MatchString(lines[j+1]) {
			return psMarked(lines[j], lines[j+1])
		}
		return psHead(m[1])
	}
	return ""
}

// psConciseBlock reads the "Line |" block: the statement and the message.
func psConciseBlock(lines []string, i int) (statement string, message []string) {
	marked := false
	for j := i; j < len(lines) && j < i+maxLines; j++ {
		m := psGutter.FindStringSubmatch(lines[j])
		switch {
		case m == nil && j == i:
			continue // "Line |", in the language of the host
		case m == nil:
			return statement, message
		case psUnderline.MatchString(lines[j]):
			marked = true
			if j > i {
				statement = psMarked(lines[j-1], lines[j])
			}
		case marked && strings.TrimSpace(m[1]) != "":
			message = append(message, strings.TrimSpace(m[1]))
		case !marked && statement == "" && strings.TrimSpace(m[1]) != "":
			statement = psHead(m[1])
		}
	}
	return statement, message
}

const longestStatement = 40 // runes: consoles cut a statement at their width

func psMarked(source, marks string) string {
	from := strings.IndexByte(marks, '~')
	text := []rune(clip(source, 4096))
	if from < 0 || from >= len(text) {
		return psHead(source)
	}
	until := min(len(text), from+strings.Count(marks, "~"))
	return psHead(string(text[from:until]))
}

// psHead is the head of a statement, without the quotes of its literals: they
// are source text, the same in every run.
func psHead(statement string) string {
	s := strings.NewReplacer(`"`, "", "'", "", "`", "").Replace(clip(statement, 4096))
	s = strings.TrimSpace(strings.Trim(strings.TrimSpace(s), "….+|"))
	s = strings.TrimSpace(strings.TrimSuffix(clipRunes(s, longestStatement), "..."))
	if i := strings.Index(s, " ..."); i >= 0 {
		s = s[:i]
	}
	return s
}

func (p *psParser) finish(lines []string) *exception {
	e := p.e
	if p.first < 0 {
		return nil
	}
	if len(p.concise) > 0 {
		e.message = p.concise
	}
	if e.message == nil {
		e.raised, e.message = psMessageAbove(lines, p.first)
	}
	if len(p.stack) > 0 && (len(e.frames) == 0 || len(p.stack) > 1 || p.stack[0].Unit == e.frames[0].Unit) {
		e.frames = p.stack
	}
	e.frames = capped(e.frames)
	e.steady = p.steady()
	for n := 0; e.typ == "" && n < len(e.message); n++ {
		// A test runner says what it ran before what was thrown.
		if m := psThrown.FindStringSubmatch(e.message[n]); m != nil {
			e.typ = m[1]
			e.message = append([]string{m[2]}, e.message[n+1:]...)
		}
	}
	return e
}

// steady is what tells one error from another in every language: its id, unless
// that is a copy of the message, and the statement, since a place without a
// function only names a file.
func (p *psParser) steady() string {
	var parts []string
	if psSteadyID.MatchString(p.id) {
		parts = append(parts, p.id)
	}
	named := len(p.stack) > 0 && p.stack[0].Function != "<ScriptBlock>"
	if p.id == "" {
		// This view has no id, and a statement that calls a library fails in
		// many ways. What the library said is quoted in its own words.
		if m := psQuoted.FindStringSubmatch(strings.Join(p.e.message, " ")); m != nil {
			parts = append(parts, m[1])
		}
	}
	if p.statement != "" && (!named || len(parts) == 0) {
		parts = append(parts, p.statement)
	}
	return strings.Join(parts, " ")
}

// psMessageAbove collects the text in front of the first place. The command's
// name stands before it, with the console's blank before the colon.
func psMessageAbove(lines []string, at int) (raised int, message []string) {
	from := at
	for from > 0 && at-from < 60 && strings.TrimSpace(lines[from-1]) != "" && !psTyped.MatchString(lines[from-1]) {
		from--
	}
	if from == at {
		return -1, nil
	}
	for _, l := range lines[from:at] {
		message = append(message, strings.TrimSpace(l))
	}
	if m := psCommand.FindStringSubmatch(message[0]); m != nil && utf8.ValidString(m[2]) && psVerbNoun.MatchString(m[1]) {
		message[0] = m[2]
	}
	return from, message
}
