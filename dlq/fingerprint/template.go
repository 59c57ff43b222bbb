package fingerprint

import (
	"net/netip"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxTemplate      = 512  // runes of a template
	maxTemplateInput = 2048 // bytes of a message looked at
)

// The parameters of a message, in the order in which one wins over another at
// the same place. Names are what replaces them; those in upper case are decided
// in replacement.
var parameters = regexp.MustCompile(strings.Join([]string{
	`(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)`,
	`(?P<URL>\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s'"<>` + "`" + `]+|\b(?:file|jar|data):/?[\w/][^\s'"<>` + "`" + `;,]*)`,
	`(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)`,
	`(?P<trace>\b[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\b)`,
	`(?P<date>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b` +
		`|\b\d{8}T\d{6}(?:\.\d+)?Z?\b|\b(?:19|20)\d\d-(?:0[1-9]|1[0-2])\b` +
		`|\b\d{1,2}[.-]\d{1,2}[.-](?:19|20)\d\d\b|\d{4}年\d{1,2}月\d{1,2}日` +
		`|\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?` + monthNames + ` +\d{1,2}(?:,? \d{4}| \d\d:\d\d:\d\d(?: [A-Z]{3,4})? \d{4})\b` +
		`|\b\d{1,2}\.? (?:de )?` + monthNames + `,? (?:de )?\d{4}\b` +
		`|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?: [A-Z]{3,4}| [+-]\d{4})?` +
		`|\b\d{1,4}/\d{1,2}/\d{1,4}\b)`,
	`(?P<time>\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AaPp][Mm])?\b|\b\d{1,2}:\d\d ?[AaPp][Mm]\b)`,
	`(?P<dur>\b(?:\d+h)?\d+m\d+(?:\.\d+)?s\b|\b\d+(?:\.\d+)?(?:ns|us|µs|ms|s|min|h)\b)`,
	`(?P<ip>\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5})?\b|::1(?::\d{1,5})?\b)`,
	`(?P<IP6>\[?(?:[0-9a-fA-F]{0,4}:){2,7}(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{0,4})\]?)`,
	`(?P<hex>\b0[xX][0-9a-fA-F]+\b)`,
	`(?P<ID>@[0-9a-f]{4,16}\b)`,
	`(?P<token>\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]+)?)`,
	`(?P<OWNID>[a-z]{2,8}_[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[A-Za-z]{2,8}\d{5,}\b)`,
	`(?P<HEX>[0-9a-fA-F]{8,})`,
	`(?P<PATH>(?:\b[A-Za-z]:[\\/]|\\\\[\w.$-]+\\|~?/[^\s/'"` + "`" + `:;,()<>\[\]{}]+/)[^\s'"` + "`" + `:;,()<>\[\]{}|]*)`,
	`(?P<FILE>[^\s'"` + "`" + `/\\:;,()<>\[\]{}=]+\.(?:` + documentEndings + `)\b)`,
	`(?P<HOST>\b(?:localhost|[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*\.[a-zA-Z]{2,}):\d{1,5}\b)`,
	`(?P<UNITS>\b\d+(?:[.,]\d+)?(?:[kKMGT]i?B|[kKMGT]b|mm|cm|px|pt|dpi|[kMG]?Hz|th|st|nd|rd)\b)`,
	`(?P<float>\b\d{1,3}(?:[ \x{a0}\x{202f}]\d{3})+,\d+\b|\b\d{1,3}(?:'\d{3})+(?:\.\d+)?\b|\b\d+(?:[.,]\d+)+(?:[eE][-+]?\d+)?\b|\b\d+[eE][-+]?\d+\b)`,
	`(?P<int>\b\d+(?:_\d{3})+\b|\b\d+\b)`,
	`(?P<UINT>_\d+)`,
	`(?P<QUOTE>[bru]?'(?:[^'\\\n]|\\.)*'|[bru]?"(?:[^"\\\n]|\\.)*"|` + "`[^`\n]*`" + `|“[^”\n]*”|‘[^’\n]*’|«[^»\n]*»|„[^“”\n]*[“”]|›[^‹\n]*‹|「[^」\n]*」|『[^』\n]*』)`,
	`(?P<DATA>\bmap\[[^\[\]\n]*\]|\{(?:[^{}\n]|\{[^{}\n]*\})*\}|\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\])`,
}, "|"))

// monthNames begin as in English, German, French, Spanish and Italian.
const monthNames = `(?:Jan|Feb|F[eé]v|M[aäe]r|Mrz|Apr|Avr|Abr|Ma[iy]|Jui|Jun|Jul|Aug|Ao[uû]|Ago|Se[pt]|O[ck]t|Nov|De[cz]|D[eé]c|Dic|Ene|Gen|Mag|Giu|Lug|Set|Ott|jan|feb|f[eé]v|mar|abr|avr|ma[iy]|jui|jun|jul|ao[uû]|ago|sep|oct|nov|d[eé]c|dic|ene)[a-zéûä]*\.?`

// documentEndings are the kinds of file that are a failure's input, not part of
// its code. Members of an archive that a format prescribes (XML parts) are not
// among them: which one is missing is the defect.
const documentEndings = `pdf|docx?|docm|dotx|xlsx?|xlsm|xlsb|pptx?|pptm|ppsx|od[tsp]|rtf|epub|eml|msg|csv|tsv|tiff?|jpe?g|png|gif|bmp|webp|heic|html?|zip|tar|gz|tgz|7z|rar`

var (
	identifierShape = regexp.MustCompile(`^[/._A-Za-z][A-Za-z0-9_./:$-]{0,63}$`)
	longNumber      = regexp.MustCompile(`\d{4}|[0-9a-fA-F]{8}`)
	documentName    = regexp.MustCompile(`(?i)\.(?:` + documentEndings + `)$`)
	sourceEndings   = set("py", "pyx", "go", "java", "kt", "scala", "js", "ts", "mjs", "cjs", "rb", "php", "rs", "cs", "c", "cc", "cpp", "h")
)

// Template returns message with its variable parts replaced by their kind, as in
// "reading at offset <int>: EOF", in one line of at most 512 runes. Quoted words
// that look like identifiers stay, since they say what was looked for; bytes,
// sentences and file names in quotes go, since they come from the document.
func Template(message string) string {
	message = strings.ToValidUTF8(clip(message, maxTemplateInput), "\uFFFD")
	if !strings.ContainsAny(message, signsOfParameters) {
		return clipRunes(strings.Join(strings.Fields(message), " "), maxTemplate)
	}
	var b strings.Builder
	for message != "" {
		m := parameters.FindStringSubmatchIndex(message)
		if m == nil {
			b.WriteString(message)
			break
		}
		before := byte(0)
		if m[0] > 0 {
			before = message[m[0]-1]
		} else if b.Len() > 0 {
			before = b.String()[b.Len()-1]
		}
		b.WriteString(message[:m[0]])
		text, ok := replacement(groupName(m), message[m[0]:m[1]], before, message[m[1]:])
		if !ok {
			// Not a parameter after all: give out one rune and look again.
			_, n := utf8.DecodeRuneInString(message[m[0]:])
			b.WriteString(message[m[0] : m[0]+n])
			message = message[m[0]+n:]
			continue
		}
		b.WriteString(text)
		message = message[m[1]:]
	}
	return clipRunes(strings.Join(strings.Fields(signs.Replace(b.String())), " "), maxTemplate)
}

// signsOfParameters are characters without one of which no message has a
// parameter.
const signsOfParameters = "0123456789@/\\'\"`“‘«„›「『{[:."

// signs removes the sign of a number.
var signs = strings.NewReplacer(" +<int>", " <int>", " +<float>", " <float>", " -<int>", " <int>", " -<float>", " <float>", "(-<int>", "(<int>", "=-<int>", "=<int>")

func groupName(m []int) string {
	for i := 1; i*2 < len(m); i++ {
		if m[i*2] >= 0 {
			return parameters.SubexpNames()[i]
		}
	}
	return ""
}

// replacement decides on one candidate; before is the byte in front of it, after
// the text behind it.
func replacement(kind, s string, before byte, after string) (string, bool) {
	afterWord := isWord(rune(before)) && before != 0
	switch kind {
	case "URL":
		trimmed := strings.TrimRight(s, ".,;:!?)]}")
		return "<url>" + s[len(trimmed):], true
	case "IP6":
		bare := strings.Trim(s, "[]")
		if addr, err := netip.ParseAddr(bare); afterWord || err != nil || !addr.Is6() || !strings.ContainsAny(bare, "0123456789") {
			return wholeNumber.ReplaceAllString(s, "<int>"), true
		}
		return "<ip>", true
	case "ID":
		if !afterWord {
			return "", false // a position, not the identity of an object
		}
		return "@<hex>", true
	case "OWNID":
		if strings.Trim(s, "0123456789") == "" {
			return "<int>", true
		}
		return "<id>", true
	case "UNITS":
		return "<int>" + strings.TrimLeft(s, "0123456789.,"), true
	case "HEX":
		if !strings.ContainsAny(s, "0123456789") || len(s) < 16 && afterWord {
			return s, true
		}
		if strings.Trim(s, "0123456789") == "" {
			return "<int>", true
		}
		return "<hex>", true
	case "PATH":
		if afterWord || before == '>' || before == '/' {
			// A relative path: a class or a place in a document, not a file.
			return relativePath(s), true
		}
		return "<path" + ending(s) + ">", true
	case "FILE":
		if before == '<' {
			return s, true // a placeholder already
		}
		if len(after) > 1 && after[0] == '.' && isWord(rune(after[1])) {
			return s, true // org.example.pdf.Parser
		}
		return "<file" + ending(s) + ">", true
	case "HOST":
		host, _, _ := strings.Cut(s, ":")
		if sourceEndings[host[strings.LastIndexByte(host, '.')+1:]] {
			return host + ":<int>", true
		}
		return "<host>", true
	case "UINT":
		return "_<int>", true
	case "QUOTE":
		return quoted(s, afterWord)
	case "DATA":
		if strings.HasPrefix(s, "map[") {
			return "map<data>", strings.Contains(s, ":")
		}
		if inner := s[1 : len(s)-1]; strings.ContainsAny(inner, `,"'=`) || s[0] == '{' && strings.Contains(inner, ":") {
			return "<data>", true
		}
		return "", false
	}
	return "<" + kind + ">", true
}

var (
	longHex     = regexp.MustCompile(`[0-9a-fA-F]{16,}`)
	wholeNumber = regexp.MustCompile(`\d+`)
	indexInPath = regexp.MustCompile(`/\d+\b`)
)

func relativePath(s string) string {
	return indexInPath.ReplaceAllString(longHex.ReplaceAllString(s, "<hex>"), "/<int>")
}

// quoted keeps an identifier with its quotes. An apostrophe inside a word is no
// quote.
func quoted(s string, afterWord bool) (string, bool) {
	if afterWord && strings.ContainsAny(s[:1], "bru'\"`") {
		return "", false
	}
	first, n := utf8.DecodeRuneInString(s)
	_, last := utf8.DecodeLastRuneInString(s)
	if strings.ContainsRune("bru", first) {
		// A prefixed literal is a value by its nature; b'…' is document bytes.
		return "<str>", true
	}
	inner := s[n : len(s)-last]
	switch {
	case strings.Count(inner, "/") > 1 && strings.HasPrefix(inner, "/"), strings.HasPrefix(inner, `\\`), driveShape.MatchString(inner):
		return s[:n] + "<path" + ending(inner) + ">" + s[len(s)-last:], true
	case documentName.MatchString(inner):
		return s[:n] + "<file" + ending(inner) + ">" + s[len(s)-last:], true
	case isIdentifier(inner):
		return s, true
	}
	return "<str>", true
}

var driveShape = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

func isIdentifier(s string) bool {
	return identifierShape.MatchString(s) && !longNumber.MatchString(s)
}

var endingShape = regexp.MustCompile(`^\.[A-Za-z][A-Za-z0-9]{0,7}$`)

// ending returns a file's ending, lower case, or "".
func ending(name string) string {
	e := path.Ext(strings.TrimRight(name, ".,;:"))
	if !endingShape.MatchString(e) {
		return ""
	}
	return strings.ToLower(e)
}

func firstLine(s string) string { return firstLines(s, 1) }

// firstLines returns the first n lines that are not blank.
func firstLines(s string, n int) string {
	s = clip(s, 64<<10)
	var out []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		out = append(out, clip(line, maxTemplateInput))
		if len(out) == n {
			break
		}
	}
	return strings.Join(out, "\n")
}

// clip cuts s to at most n bytes, between runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func clipRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
