package fingerprint

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	dotnetStackName  = regexp.MustCompile(`(?i)^\W*(?:server |remote )?stack ?trace\W*$`)
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
			end := closing(s, i, '(', ')')
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
	end := closing(after, open, '(', ')')
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
		name = "" // of a state machine, whose method the symbol names already
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
