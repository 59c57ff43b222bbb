package fingerprint

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dotnet reads what Exception.ToString prints on .NET Framework, .NET, Mono and
// IL2CPP, in any display language of the runtime, with the variants of ASP.NET
// error pages and of loggers that print signatures as source code.
//
// Types are not translated, messages are: a message joins a key only where the
// type is missing or a catch-all.
var dotnet = language{
	name:        "dotnet",
	hints:       []string{"dotnet", ".net", "csharp", "c#", "cs", "vb", "vb.net", "fsharp", "f#", "mono"},
	counts:      func(line string) bool { return dotnetFrame(line) != nil },
	frame:       func(lines []string, i int) *frame { return dotnetFrame(lines[i]) },
	belongs:     dotnetSeparates,
	parse:       parseDotnet,
	noise:       dotnetNoise,
	library:     dotnetLibrary,
	transparent: func(e *exception) bool { return dotnetWrappers[lastSegment(e.typ)] },
	// Message and frames alone are a common way to log: the reporter may know more.
	bare:          func(e *exception) bool { return e.typ == "" },
	generic:       set("Exception", "ApplicationException", "SystemException"),
	identifier:    dotnetMissing,
	stackOverflow: set("StackOverflowException", "InsufficientExecutionStackException"),
	overflowText:  "Stack overflow.",
	clean:         cleanDotnet,
}

// dotnetMissing are types whose message names what was not found.
var dotnetMissing = set("FileNotFoundException", "FileLoadException", "BadImageFormatException", "DllNotFoundException", "EntryPointNotFoundException",
	"TypeLoadException", "MissingMethodException", "MissingFieldException", "MissingMemberException", "KeyNotFoundException", "MissingManifestResourceException")

var dotnetWrappers = set("AggregateException", "TargetInvocationException", "TypeInitializationException", "JobPerformanceException")

var (
	// A type as a header prints it: arity and type arguments, then the error code
	// that exceptions of the operating system have.
	dotnetType      = regexp.MustCompile("^([\\p{L}_][\\p{L}\\p{N}_.+]*)(?:`\\d+)?(?:\\[[^\\]]*\\]+)?(?: \\((?:0[xX][0-9A-Fa-f]+|-?\\d+)[^()]{0,40}\\))?(?: ?:|\\s*$|\\s+--->)")
	dotnetInLine    = regexp.MustCompile("(?:^|[^\\p{L}\\p{N}_.+`])([\\p{L}_][\\p{L}\\p{N}_]*(?:[.+][\\p{L}\\p{N}_]+)*(?:Exception|Error))(?:`\\d+)?(?:\\[[^\\]]*\\]+)?(?: \\((?:0[xX][0-9A-Fa-f]+|-?\\d+)[^()]{0,40}\\))?(?::|\\s*$|\\s+--->)")
	dotnetThrowable = regexp.MustCompile(`(?:Exception|Error|Fault|Failure)$`)
	dotnetBracketed = regexp.MustCompile(`^\[([\p{L}_][\p{L}\p{N}_.+]*)(?: \((?:0[xX][0-9A-Fa-f]+|-?\d+)\))?(?:: (.*?))?\]?$`)
	dotnetInner     = regexp.MustCompile(`^---> \([^()]*#\d+\) (.*)$`)
	dotnetLabelled  = regexp.MustCompile(`(?i)^[-*=>\s]*inner ?exception[^:]{0,20}:\s*(.+)$`)
	dotnetNumbered  = regexp.MustCompile(`^Inner Exception \d+:$`)
	dotnetStackName = regexp.MustCompile(`(?i)^\W*(?:server |remote )?stack ?trace\W*$`)
	dotnetRepeats   = regexp.MustCompile(`^Repeat(?:ed)? \d+ times:$`)

	dotnetOffset     = regexp.MustCompile(`^\s?\+ ?(?:0x)?[0-9a-fA-F]+$`)
	dotnetPlace      = regexp.MustCompile(`^ (?:\[0x[0-9a-fA-F]+\] |<0x[0-9a-fA-F]+ \+ 0x[0-9a-fA-F]+> )?\S+ (.*?): ?(?:\S+ )?\d+\.?$`)
	dotnetUnity      = regexp.MustCompile(`^ \(at (.*):\d+\)$`)
	dotnetNoPlace    = regexp.MustCompile(`^ (?:\[0x[0-9a-fA-F]+\]|<0x[0-9a-fA-F]+ \+ 0x[0-9a-fA-F]+>|\[\d+\])`)
	dotnetIndexArg   = regexp.MustCompile(`^index \d+$`)
	dotnetOtherSpots = regexp.MustCompile(`^(?:Native Method|Unknown Source|SourceFile|<\w+>|native|.*\.(?:java|kts?|scala|groovy|cljc?|jspx?))$`)
)

// dotnetCall is the part of a frame that names what was called.
type dotnetCall struct {
	lead   string // what stands before the symbol: the word for "at", a return type
	symbol string
	args   string
	tail   string // what follows the closing parenthesis
}

// dotnetFrame reads one frame line; nil if it is none. The word that begins it
// is translated, so it goes by the shape: a word or two, a dotted name, arguments
// in parentheses, and nothing behind them but a place.
func dotnetFrame(line string) *frame {
	if len(line) > maxLine || strings.IndexByte(line, '(') < 1 {
		return nil
	}
	s := strings.TrimLeft(line, " \t")
	indent := len(line) - len(s)
	if rest, labelled := dotnetUnlabelled(s); labelled {
		s, indent = rest, 1
	}
	s = strings.TrimRight(s, " \t<-") // "<---" ends a member of an AggregateException
	if call, ok := dotnetDebugged(s); ok {
		s = call
	}
	c, ok := dotnetCallIn(s)
	if !ok || dotnetForeign(c.args) {
		return nil
	}
	sub, rest := dotnetSubMethod(c.tail)
	path, ok := dotnetPlaceIn(rest)
	if !ok || !dotnetLeads(c, indent) {
		return nil
	}
	f := dotnetName(c, sub)
	if f.Function == "" {
		return nil
	}
	return &frame{Frame: f, path: path}
}

// dotnetUnlabelled takes off what programs and test runners print in front of a
// frame: the name of the field, or the place.
func dotnetUnlabelled(s string) (rest string, labelled bool) {
	i := strings.Index(s, "at ")
	if i < 3 || i > 1000 {
		return s, false
	}
	label := strings.TrimRight(s[:i], " ")
	if strings.HasSuffix(label, "):") && strings.Contains(label, "(") || len(label) < 16 && dotnetStackName.MatchString(label) {
		return s[i:], true
	}
	return s, false
}

// dotnetCallIn finds the first name with arguments. Type arguments may hold
// blanks and tuples of return types parentheses, so it keeps count of brackets.
func dotnetCallIn(s string) (dotnetCall, bool) {
	start, depth := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '[':
			depth++
		case '>', ']':
			depth--
		case ' ', '\t':
			if depth == 0 && (i+1 == len(s) || s[i+1] != '(') {
				start = i + 1
			}
		case '"', '\'', '/', '\\', ';', '{', '#':
			return dotnetCall{}, false
		case '(':
			if depth != 0 {
				continue
			}
			end := closing(s, i)
			if end < 0 {
				return dotnetCall{}, false
			}
			symbol := strings.TrimRight(s[start:i], " ")
			spaced := len(symbol) < i-start
			if symbol == "" || spaced && !strings.ContainsAny(symbol, ".:") {
				i, start = end, end+1 // (wrapper …), or a tuple as the return type
				continue
			}
			if strings.Contains(s[:start], "(wrapper ") {
				symbol = strings.Replace(symbol, ":", ".", 1) // Mono, of calls that the runtime made up
			}
			if len(symbol) > 2000 || strings.ContainsAny(symbol, ":?") {
				return dotnetCall{}, false
			}
			return dotnetCall{lead: strings.TrimSpace(s[:start]), symbol: symbol, args: s[i+1 : end], tail: s[end+1:]}, true
		}
	}
	return dotnetCall{}, false
}

// closing returns the index of the parenthesis that closes the one at i; -1 if
// none does.
func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// dotnetForeign says that what stands in parentheses is a place, as other
// languages print it, and no list of parameters.
func dotnetForeign(args string) bool {
	if strings.ContainsAny(args, "/") || strings.Contains(args, ":") && !strings.Contains(args, "\"") {
		return true
	}
	return len(args) < 200 && (dotnetOtherSpots.MatchString(args) || dotnetIndexArg.MatchString(args))
}

// dotnetSubMethod reads "+MoveNext()", "+Local(…)" and "+(x) => { }" after the
// arguments: the part of a method that the compiler made a method of its own.
func dotnetSubMethod(tail string) (name, rest string) {
	after, ok := strings.CutPrefix(tail, "+")
	open := strings.IndexByte(after, '(')
	if !ok || open < 0 || strings.ContainsAny(after[:open], " :\"") {
		return "", tail
	}
	name = after[:open]
	end := closing(after, open)
	if end < 0 {
		return "", tail
	}
	rest = after[end+1:]
	if body, isLambda := strings.CutPrefix(rest, " => "); isLambda {
		rest = ""
		if i := strings.LastIndexByte(body, '}'); i >= 0 {
			rest = body[i+1:]
		}
		name = "lambda"
	}
	if name == "" {
		name = "lambda"
	}
	if name == "MoveNext" {
		name = ""
	}
	return name, rest
}

// dotnetPlaceIn reads what may follow a call: nothing, an offset, or a path with
// a line. The words in it are translated.
func dotnetPlaceIn(tail string) (path string, ok bool) {
	switch {
	case tail == "", dotnetOffset.MatchString(tail):
		return "", true
	case tail[0] != ' ' || len(tail) > 2000:
		return "", false
	}
	for _, form := range []*regexp.Regexp{dotnetPlace, dotnetUnity} {
		if m := form.FindStringSubmatch(tail); m != nil {
			return m[1], true
		}
	}
	return "", dotnetNoPlace.MatchString(tail)
}

// dotnetLeads says whether what stands before a symbol may begin a frame.
func dotnetLeads(c dotnetCall, indent int) bool {
	words := strings.Fields(clip(c.lead, 400))
	switch {
	case len(words) == 0:
		// ASP.NET's error page has no word, but an offset; Unity puts it behind.
		return strings.Contains(c.symbol, ".") && (indent > 0 && dotnetOffset.MatchString(c.tail) || dotnetUnity.MatchString(c.tail))
	case words[0] == "at":
		return len(words) <= 9 && (strings.Contains(c.symbol, ".") || indent > 0 && c.tail == "" || len(words) > 1 || strings.HasPrefix(c.symbol, "lambda_method"))
	case len(words) > 4 || !strings.Contains(c.symbol, "."):
		return false
	}
	if first, _ := utf8.DecodeRuneInString(words[0]); indent == 0 && first < utf8.RuneSelf && !dotnetFlush(words, c.symbol) {
		return false
	}
	for _, w := range words {
		w = strings.TrimSuffix(w, ":")
		if w == "" || codeWords[w] || strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) {
			return false
		}
	}
	return true
}

// dotnetFlush says that a line that lost its indentation is a frame in a language
// that is written in ASCII: a namespace and a class before the method.
func dotnetFlush(words []string, symbol string) bool {
	return len(words) == 1 && dotnetAt[words[0]] && strings.Count(symbol, ".") > 1 && symbol[0] >= 'A' && symbol[0] <= 'Z'
}

var dotnetAt = set("bei", "in", "en", "em", "w", "ved", "vid")

// codeWords begin lines of source code that have the shape of a frame.
var codeWords = set("return", "raise", "yield", "await", "async", "assert", "not", "if", "unless", "elif", "else", "while", "until", "for", "foreach", "throw", "new",
	"del", "print", "echo", "case", "and", "or", "lambda", "import", "from", "with", "var", "val", "let", "const", "fn", "func", "fun", "def", "end", "do", "then", "begin",
	"defer", "go", "select", "match", "when", "try", "catch", "except", "finally", "void", "public", "private", "static", "created", "use")

// dotnetName gives a symbol the form Class.Method and its namespace as the unit.
// What the compiler made of a method (state machines of async methods and
// iterators, closures, local functions) goes back to the method: the numbers in
// these names change with every edit of the file.
func dotnetName(c dotnetCall, sub string) Frame {
	var names []string
	method := -1
	moved := false
	for _, segment := range dotnetSegments(c.symbol) {
		made, ok := dotnetGenerated(segment, 0)
		if !ok {
			if segment == "MoveNext" && moved {
				continue
			}
			names = append(names, segment)
			continue
		}
		moved = true
		if len(made) > 0 && method < 0 {
			method = len(names)
		}
		names = append(names, made...)
	}
	words := " " + c.lead + " "
	switch {
	case strings.Contains(words, " new "):
		names = append(names, ".ctor")
	case strings.Contains(words, " static ") && !strings.Contains(words, " static void "):
		names = append(names, ".cctor")
	}
	if len(names) == 0 {
		return Frame{}
	}
	if method < 0 || method >= len(names) {
		method = len(names) - 1
	}
	last := len(names) - 1
	if i := strings.IndexByte(names[last], '<'); i > 0 {
		names[last] = names[last][:i] // type arguments of a method, as source code has them
	}
	if sub != "" {
		names = append(names, sub)
	}
	first := max(method-1, 0)
	for i := range names {
		names[i] = dotnetArity(names[i])
	}
	return Frame{Function: clip(strings.Join(names[first:], "."), 200), Unit: clip(strings.Join(names[:first], "."), 300)}
}

// dotnetSegments splits a symbol at its dots, without type arguments in square
// brackets. Mono marks nested types by a plus where .NET prints a dot.
func dotnetSegments(symbol string) []string {
	var out []string
	var b strings.Builder
	angle, square := 0, 0
	cut := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
		}
		b.Reset()
	}
	for i := 0; i < len(symbol); i++ {
		switch ch := symbol[i]; {
		case ch == '[':
			square++
		case ch == ']':
			square--
		case square > 0:
		case (ch == '.' || ch == '+') && angle == 0:
			if b.Len() == 0 && i > 0 && (strings.HasPrefix(symbol[i:], ".ctor") || strings.HasPrefix(symbol[i:], ".cctor")) {
				b.WriteByte('.')
				continue
			}
			cut()
		default:
			if ch == '<' {
				angle++
			} else if ch == '>' {
				angle--
			}
			b.WriteByte(ch)
		}
	}
	cut()
	return out
}

// dotnetGenerated reads a name that a compiler made up and returns the names of
// the source that it stands for, which may be none.
func dotnetGenerated(s string, depth int) (names []string, ok bool) {
	switch {
	case strings.HasPrefix(s, "_Closure$__"):
		return nil, true
	case strings.HasPrefix(s, "_Lambda$__"):
		return []string{"lambda"}, true
	case strings.HasPrefix(s, "VB$StateMachine_"):
		rest := s[len("VB$StateMachine_"):]
		return []string{strings.TrimLeft(rest, "0123456789_")}, true
	case strings.HasPrefix(s, "lambda_method"):
		return []string{"lambda_method"}, true
	}
	if name, number, found := strings.Cut(s, "@"); found && name != "" && number != "" && strings.Trim(number, "0123456789-") == "" {
		return []string{name}, true // F#: a closure has the line it stands on
	}
	if !strings.HasPrefix(s, "<") || depth > 4 {
		return nil, false
	}
	end := closingAngle(s)
	if end < 0 {
		return nil, false
	}
	inner, kind := s[1:end], s[end+1:]
	switch {
	case inner == "" && strings.HasPrefix(kind, "f__"):
		return []string{"<>f__AnonymousType"}, true
	case inner == "" && strings.HasPrefix(kind, "m__"):
		return []string{"lambda"}, true
	case inner == "":
		return nil, true
	case inner == "Module" || strings.HasPrefix(inner, "PrivateImplementationDetails"):
		return nil, false
	}
	if nested, ok := dotnetGenerated(inner, depth+1); ok {
		names = nested
	} else {
		names = []string{inner}
	}
	switch {
	case strings.HasPrefix(kind, "b__"), strings.HasPrefix(kind, "m__"):
		names = append(names, "lambda")
	case strings.HasPrefix(kind, "g__"):
		local, _, _ := strings.Cut(kind[len("g__"):], "|")
		names = append(names, local)
	}
	return names, true
}

func closingAngle(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// dotnetArity writes List<T> the way the runtime does, List`1.
func dotnetArity(name string) string {
	open := strings.IndexByte(name, '<')
	if open < 1 || !strings.HasSuffix(name, ">") {
		return name
	}
	depth, arity := 0, 1
	for i := open; i < len(name); i++ {
		switch name[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ',':
			if depth == 1 {
				arity++
			}
		}
	}
	if arity > 9 {
		arity = 9
	}
	return name[:open] + "`" + string(rune('0'+arity))
}

var (
	dotnetNoisePrefixes = []string{
		"System.Threading.Tasks.", "System.Runtime.CompilerServices.TaskAwaiter", "System.Runtime.CompilerServices.ConfiguredTaskAwaitable",
		"System.Runtime.CompilerServices.ValueTaskAwaiter", "System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable", "System.Runtime.CompilerServices.AsyncMethodBuilder",
		"System.Runtime.ExceptionServices.ExceptionDispatchInfo.", "System.Threading.ExecutionContext.", "System.RuntimeMethodHandle.", "System.Reflection.RuntimeMethodInfo.",
		"System.Reflection.MethodBase.", "System.Reflection.MethodBaseInvoker.", "System.Reflection.MethodInvoker.", "System.Reflection.RuntimeConstructorInfo.", "System.Reflection.ConstructorInvoker.",
		"System.RuntimeType.CreateInstance", "System.Activator.", "System.Environment.FailFast", "System.ArgumentNullException.Throw", "System.ArgumentException.Throw",
		"System.ArgumentOutOfRangeException.Throw", "System.ObjectDisposedException.Throw",
	}
	dotnetHelpers = set("ThrowHelper", "ThrowHelpers", "Throw", "Thrower", "Guard", "Requires", "Assumes", "Verify", "Contract", "Ensure", "ExceptionHelper", "ThrowUtils")
)

func dotnetNoise(f frame) bool {
	whole := f.Unit + "." + f.Function
	for _, p := range dotnetNoisePrefixes {
		if strings.HasPrefix(whole, p) {
			return true
		}
	}
	class, method, _ := strings.Cut(f.Function, ".")
	return dotnetHelpers[class] || strings.Contains(class, "ThrowHelper") || strings.Contains(method, "HandleNonSuccess")
}

var dotnetLibraryPrefixes = []string{
	"System.", "Microsoft.", "MS.", "Mono.", "Windows.", "Interop.", "Internal.", "FSharp.", "Newtonsoft.", "NuGet.", "Serilog.", "NLog.", "log4net.", "Castle.", "Autofac.",
	"AutoMapper.", "Dapper.", "Npgsql.", "MySql.", "Oracle.", "StackExchange.", "RabbitMQ.", "MassTransit.", "Hangfire.", "Quartz.", "Polly.", "MediatR.", "Grpc.", "Google.", "Amazon.",
	"iTextSharp.", "iText.", "UglyToad.", "PdfSharp.", "PdfSharpCore.", "MigraDoc.", "ClosedXML.", "OfficeOpenXml.", "DocumentFormat.", "NPOI.", "Aspose.", "Spire.", "Syncfusion.", "DevExpress.", "Telerik.",
	"MimeKit.", "MailKit.", "SharpCompress.", "ICSharpCode.", "Ionic.", "SixLabors.", "SkiaSharp.", "ImageMagick.", "CsvHelper.", "ExcelDataReader.", "HtmlAgilityPack.", "AngleSharp.", "Tesseract.", "Docnet.", "QuestPDF.",
}

func dotnetLibrary(f frame) bool {
	whole := f.Unit + "." + f.Function
	for _, p := range dotnetLibraryPrefixes {
		if strings.HasPrefix(whole, p) {
			return true
		}
	}
	return strings.HasPrefix(f.Function, "lambda_method")
}

// cleanDotnet leaves of a translated message the name that could not be found,
// which is not translated: of an assembly its short name, of a method the name
// without its signature.
func cleanDotnet(typ, message string) string {
	if !dotnetMissing[typ] {
		return message
	}
	name := firstQuoted(message)
	if name == "" && !strings.Contains(message, " ") {
		name = message // Mono says no more than the name
	}
	name, _, _ = strings.Cut(name, ",")
	name, _, _ = strings.Cut(name, "(")
	if words := strings.Fields(name); len(words) > 1 {
		name = words[len(words)-1]
	}
	if name == "" {
		return ""
	}
	return "'" + name + "'"
}

// quotes are pairs that open and close a quotation in the runtime's languages.
var quotes = [][2]string{{"'", "'"}, {"„", "“"}, {"“", "”"}, {"«", "»"}, {"「", "」"}, {"‘", "’"}, {`"`, `"`}}

// firstQuoted returns what stands in the quotation that begins first.
func firstQuoted(s string) string {
	best, inner := -1, ""
	for _, q := range quotes {
		i := strings.Index(s, q[0])
		if i < 0 || best >= 0 && i >= best {
			continue
		}
		rest := s[i+len(q[0]):]
		if j := strings.Index(rest, q[1]); j >= 0 {
			best, inner = i, rest[:j]
		}
	}
	return strings.TrimSpace(inner)
}

// dotnetSeparates says that a line is one of the separators between frames,
// "--- End of … ---" in any language.
func dotnetSeparates(line string) bool {
	t := strings.TrimSpace(line)
	return len(t) > 8 && strings.HasPrefix(t, "---") && strings.HasSuffix(t, "---") && !strings.HasPrefix(t, "--->") && strings.ContainsFunc(t, unicode.IsLetter)
}

// dotnetOpen is an exception whose text has begun and not ended.
type dotnetOpen struct {
	*exception
	member bool // of an AggregateException's list
}

type dotnetParser struct {
	lines     []string
	outer     *exception
	open      []dotnetOpen
	beyond    int // exceptions nested deeper than are kept
	count     int
	inMessage bool
	bracketed bool // ASP.NET's error page, which prints the innermost exception first
	repeat    int  // where a block of repeated frames began; -1 if none is open
	done      bool // another exception, printed later, has begun
}

func parseDotnet(lines []string) parsed {
	p := dotnetParser{lines: lines, repeat: -1}
	for i, line := range lines {
		if p.done {
			break
		}
		p.line(i, line)
	}
	settleMembers(p.outer, 0)
	lendFrames(p.outer)
	return parsed{outer: p.outer}
}

// settleMembers decides for each AggregateException between its two ways to
// print what it holds: the chain has the first only, the list at the end has all.
func settleMembers(e *exception, depth int) {
	for ; e != nil && depth < 2*maxExceptions; e, depth = e.cause, depth+1 {
		switch {
		case len(e.leaves) == 1 && e.cause == nil:
			e.cause, e.leaves = e.leaves[0], nil
		case len(e.leaves) == 1:
			e.leaves = nil
		case len(e.leaves) > 1:
			e.cause = nil
			for _, l := range e.leaves {
				settleMembers(l, depth+1)
				lendFrames(l)
			}
		}
	}
}

func (p *dotnetParser) line(i int, line string) {
	t := strings.TrimSpace(line)
	if t == "" {
		return
	}
	switch f := dotnetFrame(line); {
	case f != nil:
		p.frame(i, f)
	case strings.HasPrefix(t, "--->"):
		p.arrow(i, t)
	case dotnetSeparates(t):
		p.separator(i, line)
	case p.outer != nil:
		p.text(i, t)
	case strings.HasPrefix(t, "Stack overflow."):
		p.push(i, &exception{message: []string{"Stack overflow."}, raised: i}, false)
	}
	p.closeMembers(t)
}

// closeMembers ends a member of a list for each "<---" at the end of a line.
func (p *dotnetParser) closeMembers(t string) {
	for strings.HasSuffix(t, "<---") {
		t = strings.TrimSpace(strings.TrimSuffix(t, "<---"))
		for n := len(p.open); n > 1; n = len(p.open) {
			top := p.open[n-1]
			p.open = p.open[:n-1]
			if top.member {
				break
			}
		}
		p.beyond, p.inMessage = 0, false
	}
}

func (p *dotnetParser) top() *exception {
	if len(p.open) == 0 {
		return nil
	}
	return p.open[len(p.open)-1].exception
}

// push opens an exception inside the one that is open. Those nested too deep are
// only counted, so that each separator still ends the right one.
func (p *dotnetParser) push(i int, e *exception, member bool) {
	if p.count++; p.count > maxExceptions {
		p.beyond++
		return
	}
	holder := p.top()
	switch {
	case holder == nil:
		p.outer = e
	case member:
		holder.leaves = append(holder.leaves, e)
	case holder.cause == nil:
		holder.cause = e
	default:
		p.beyond++
		return
	}
	p.open = append(p.open, dotnetOpen{e, member})
	p.inMessage = true
}

func (p *dotnetParser) frame(i int, f *frame) {
	if p.outer == nil {
		p.begin(i)
	}
	p.inMessage = false
	e := p.top()
	if p.beyond > 0 || len(e.frames) >= maxFrames {
		return
	}
	f.line = i
	e.frames = append(e.frames, *f)
}

// arrow reads a line that begins with "--->": an inner exception of the chain,
// or a member of the list that ends an AggregateException's text.
func (p *dotnetParser) arrow(i int, t string) {
	if p.outer == nil {
		p.begin(i)
	}
	if m := dotnetInner.FindStringSubmatch(t); m != nil {
		p.header(i, m[1], true)
		return
	}
	p.header(i, strings.TrimSpace(strings.TrimPrefix(t, "--->")), false)
}

// header opens the exception that text names, and those that follow on the line.
func (p *dotnetParser) header(i int, text string, member bool) {
	text = strings.TrimSuffix(text, "<---")
	first, rest := cutArrow(text)
	e := &exception{raised: i}
	if typ, message, ok := dotnetHeaderOf(first); ok {
		e.typ, e.message = typ, []string{message}
	} else {
		e.message = []string{first}
	}
	p.push(i, e, member)
	for n := 0; rest != "" && n < maxExceptions; n++ {
		first, rest = cutArrow(rest)
		typ, message, _ := dotnetHeaderOf(first)
		p.push(i, &exception{typ: typ, message: []string{message}, raised: i}, false)
	}
}

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

// separator ends the inner exception whose frames it follows. The other kind
// only says that the exception was thrown again: it stands at the margin, while
// the end of an inner exception is indented like the frames.
func (p *dotnetParser) separator(i int, line string) {
	if p.repeatEnds(i, line) || len(p.open) == 0 {
		return
	}
	p.inMessage = false
	top := p.open[len(p.open)-1]
	if p.beyond == 0 && (len(p.open) == 1 || top.member) {
		return
	}
	if !p.endsInner(i, line) {
		return
	}
	if p.beyond > 0 {
		p.beyond--
		return
	}
	p.open = p.open[:len(p.open)-1]
}

func (p *dotnetParser) endsInner(i int, line string) bool {
	switch {
	case strings.Contains(line, "inner exception"):
		return true
	case strings.Contains(line, "previous location"):
		return false
	}
	if e := p.top(); len(e.frames) > 0 && !startsBlank(p.lines[e.frames[0].line]) {
		// Somebody trimmed the lines. An exception that is thrown again says so in
		// the next frame.
		if i+1 < len(p.lines) {
			next := p.lines[i+1]
			return !strings.Contains(next, "ExceptionDispatchInfo") && !strings.Contains(next, "TaskAwaiter")
		}
		return true
	}
	return startsBlank(line)
}

func startsBlank(s string) bool { return s != "" && (s[0] == ' ' || s[0] == '\t') }

// text reads a line that has no form of its own.
func (p *dotnetParser) text(i int, t string) {
	e := p.top()
	if dotnetRepeats.MatchString(t) {
		p.repeat = len(e.frames)
		p.inMessage = false
		return
	}
	if strings.Trim(t, "-") == "" {
		p.repeatEnds(i, t)
		return
	}
	if p.inMessage {
		p.continueMessage(i, t)
		return
	}
	if dotnetNumbered.MatchString(t) && i+1 < len(p.lines) {
		if next := strings.TrimSpace(p.lines[i+1]); next != "" {
			t += " " + next
		}
	}
	if m := dotnetLabelled.FindStringSubmatch(clip(t, 16<<10)); m != nil {
		if _, _, ok := dotnetHeaderOf(m[1]); ok {
			p.header(i, m[1], false)
		}
		return
	}
	if p.bracketed {
		if m := dotnetBracketed.FindStringSubmatch(t); m != nil && dotnetThrowable.MatchString(m[1]) && p.count < maxExceptions {
			p.count++
			p.outer = &exception{typ: m[1], message: []string{m[2]}, raised: i, cause: p.outer}
			p.open = []dotnetOpen{{p.outer, false}}
			p.inMessage = true
			return
		}
	}
	if strings.Contains(t, "Exception") && dotnetInLine.MatchString(clip(t, 4000)) {
		p.done = true
	}
}

// repeatEnds says whether the line closes a block that the runtime printed once
// for many rounds of a recursion, and if so writes the block out as a cycle.
func (p *dotnetParser) repeatEnds(i int, line string) bool {
	if p.repeat < 0 || strings.Trim(line, "- ") != "" {
		return false
	}
	e := p.top()
	if len(e.frames) == p.repeat {
		return true // the line that opens the block
	}
	block := append([]frame{}, e.frames[p.repeat:]...)
	for n := 0; n < 3 && len(e.frames)+len(block) <= maxFrames; n++ {
		e.frames = append(e.frames, block...)
	}
	p.repeat = -1
	return true
}

// continueMessage adds a line to the message of the open exception. Its end may
// name an inner one.
func (p *dotnetParser) continueMessage(i int, t string) {
	t = visualStudioMessage(t)
	if t == "" || dotnetStackName.MatchString(clip(t, 100)) {
		return
	}
	before, rest := cutArrow(strings.TrimSuffix(t, "<---"))
	if e := p.top(); e != nil && p.beyond == 0 && len(e.message) < maxLines {
		e.message = append(e.message, before)
	}
	if rest != "" {
		p.header(i, rest, false)
	}
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
