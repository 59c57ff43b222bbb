package dlq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxJSONDepth is how many levels of arrays and objects a document from
// outside may have. A value that holds no other is on level 0.
const MaxJSONDepth = 32

// DecodeObject reads one JSON object (RFC 8259) and nothing else, down to
// MaxJSONDepth levels. Beyond what DecodeValue refuses, two names on the top
// level that differ only by case are refused too: they are names of ours, and
// a reader that ignores case would let the second replace the first. Below
// that, names belong to the sender and "ID" beside "id" is allowed.
//
// Every error is KindMalformed and names the place by JSON pointer and byte.
func DecodeObject(b []byte) (map[string]any, error) {
	v, err := DecodeValue(b, MaxJSONDepth)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, malformed("", "a JSON object expected, got %s", JSONTypeName(v))
	}
	if a, b, found := differOnlyByCase(object); found {
		return nil, malformed(pointerTo("", b), "the names %s and %s differ only by case; send one of them", quoted(a), quoted(b))
	}
	return object, nil
}

// DecodeValue reads one JSON value (RFC 8259) and nothing else into
// map[string]any, []any, string, json.Number, bool or nil. Numbers stay as
// they were written.
//
// It is stricter than encoding/json, because two readers that understand one
// text differently are a way in: bytes that are not UTF-8, a name that occurs
// twice in an object, anything after the value and more than maxDepth levels
// are errors of KindMalformed that name the place. The one leniency: half of
// a surrogate pair in a string value is read as U+FFFD, because a sender that
// cuts a message to a length in UTF-16 units leaves such halves, and a dead
// letter must not be lost for it. In a name it is refused.
func DecodeValue(b []byte, maxDepth int) (any, error) {
	if !utf8.Valid(b) {
		return nil, malformed("", "not UTF-8 at byte %d", firstInvalid(b))
	}
	p := jsonParser{in: b, maxDepth: maxDepth}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(p.in) {
		return nil, malformed("", "one JSON value expected, but more follows at byte %d", p.at)
	}
	return v, nil
}

// JSONTypeName says in words what kind of value DecodeValue gave.
func JSONTypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "text"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%T", v)
}

// CanonicalJSON writes a value of the shapes that DecodeValue gives as the one
// text that stands for it: names sorted by their bytes, no space, numbers as
// they were written, only what RFC 8259 §7 demands escaped. Equal values have
// equal texts, so the text can be hashed and compared. It is not RFC 8785,
// which would rewrite numbers. Other Go values are taken by way of
// encoding/json; one that it cannot write is a programmer's error and panics.
func CanonicalJSON(v any) []byte { return appendCanonical(nil, v) }

func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case string:
		return appendJSONString(out, v)
	case json.Number:
		return append(out, v...)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		out = append(out, '{')
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSONString(out, name)
			out = append(out, ':')
			out = appendCanonical(out, v[name])
		}
		return append(out, '}')
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("canonical JSON of %T: %v", v, err))
	}
	// 10,000 is encoding/json's own limit of nesting.
	plain, err := DecodeValue(text, 10_000)
	if err != nil {
		panic(fmt.Sprintf("canonical JSON of %T: %v", v, err))
	}
	return appendCanonical(out, plain)
}

const hexDigits = "0123456789abcdef"

func appendJSONString(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\b':
			out = append(out, `\b`...)
		case r == '\f':
			out = append(out, `\f`...)
		case r < 0x20:
			out = append(out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// jsonParser reads by recursive descent; maxDepth bounds the recursion. path
// holds the reference tokens of the value being read, for error texts.
type jsonParser struct {
	in       []byte
	at       int
	maxDepth int
	path     []string
}

func (p *jsonParser) value(depth int) (any, error) {
	if p.at >= len(p.in) {
		return nil, p.fail("the text ends where a value is expected")
	}
	switch c := p.in[p.at]; {
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '"':
		s, _, err := p.text()
		return s, err
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return true, p.word("true")
	case c == 'f':
		return false, p.word("false")
	case c == 'n':
		return nil, p.word("null")
	}
	return nil, p.fail("a JSON value expected")
}

func (p *jsonParser) object(depth int) (any, error) {
	if depth > p.maxDepth {
		return nil, p.fail("more than %d levels", p.maxDepth)
	}
	p.at++
	object := map[string]any{}
	p.space()
	if p.take('}') {
		return object, nil
	}
	for {
		if p.at >= len(p.in) || p.in[p.at] != '"' {
			return nil, p.fail(`a name in quotes expected`)
		}
		start := p.at
		name, broken, err := p.text()
		if err != nil {
			return nil, err
		}
		p.path = append(p.path, name)
		if broken {
			p.at = start
			return nil, p.fail("half of a surrogate pair in a name")
		}
		if _, twice := object[name]; twice {
			p.at = start
			return nil, p.fail("the name %s occurs twice", quoted(name))
		}
		p.space()
		if !p.take(':') {
			return nil, p.fail("a colon expected after the name")
		}
		p.space()
		if object[name], err = p.value(depth); err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		p.space()
		if p.take('}') {
			return object, nil
		}
		if !p.take(',') {
			return nil, p.fail("a comma or a closing brace expected")
		}
		p.space()
	}
}

func (p *jsonParser) array(depth int) (any, error) {
	if depth > p.maxDepth {
		return nil, p.fail("more than %d levels", p.maxDepth)
	}
	p.at++
	list := []any{}
	p.space()
	if p.take(']') {
		return list, nil
	}
	for {
		p.path = append(p.path, strconv.Itoa(len(list)))
		item, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		list = append(list, item)
		p.space()
		if p.take(']') {
			return list, nil
		}
		if !p.take(',') {
			return nil, p.fail("a comma or a closing bracket expected")
		}
		p.space()
	}
}

// text reads a string. broken says that half of a surrogate pair was replaced.
func (p *jsonParser) text() (s string, broken bool, err error) {
	p.at++
	start := p.at
	for p.at < len(p.in) && p.in[p.at] != '"' && p.in[p.at] != '\\' && p.in[p.at] >= 0x20 {
		p.at++
	}
	if p.at < len(p.in) && p.in[p.at] == '"' { // nothing escaped, as most strings
		s = string(p.in[start:p.at])
		p.at++
		return s, false, nil
	}
	out := bytes.Clone(p.in[start:p.at])
	for p.at < len(p.in) {
		c := p.in[p.at]
		switch {
		case c == '"':
			p.at++
			return string(out), broken, nil
		case c < 0x20:
			return "", false, p.fail("a control character in a string must be escaped")
		case c != '\\':
			out = append(out, c)
			p.at++
		default:
			r, half, err := p.escape()
			if err != nil {
				return "", false, err
			}
			broken = broken || half
			out = utf8.AppendRune(out, r)
		}
	}
	return "", false, p.fail("the text ends inside a string")
}

func (p *jsonParser) escape() (r rune, half bool, err error) {
	if p.at+1 >= len(p.in) {
		return 0, false, p.fail("the text ends inside a string")
	}
	c := p.in[p.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		p.at += 2
		return rune("\"\\/\b\f\n\r\t"[i]), false, nil
	}
	if c != 'u' {
		return 0, false, p.fail("an unknown escape in a string")
	}
	first, ok := p.hex4(p.at + 2)
	if !ok {
		return 0, false, p.fail(`four hex digits expected after \u`)
	}
	p.at += 6
	if !utf16.IsSurrogate(first) {
		return first, false, nil
	}
	if p.at+1 < len(p.in) && p.in[p.at] == '\\' && p.in[p.at+1] == 'u' {
		if second, ok := p.hex4(p.at + 2); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				p.at += 6
				return r, false, nil
			}
		}
	}
	return utf8.RuneError, true, nil
}

func (p *jsonParser) hex4(at int) (rune, bool) {
	if at+4 > len(p.in) {
		return 0, false
	}
	var r rune
	for _, c := range p.in[at : at+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number reads by the grammar of RFC 8259 §6: no leading zero or plus, a
// digit on both sides of the point.
func (p *jsonParser) number() (any, error) {
	start := p.at
	p.take('-')
	if !p.take('0') && p.digits() == 0 {
		return nil, p.fail("a digit expected in a number")
	}
	if p.take('.') && p.digits() == 0 {
		return nil, p.fail("a digit expected after the decimal point")
	}
	if p.take('e') || p.take('E') {
		if !p.take('+') {
			p.take('-')
		}
		if p.digits() == 0 {
			return nil, p.fail("a digit expected in the exponent")
		}
	}
	return json.Number(p.in[start:p.at]), nil
}

func (p *jsonParser) digits() int {
	start := p.at
	for p.at < len(p.in) && '0' <= p.in[p.at] && p.in[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

func (p *jsonParser) word(w string) error {
	if !bytes.HasPrefix(p.in[p.at:], []byte(w)) {
		return p.fail("a JSON value expected")
	}
	p.at += len(w)
	return nil
}

func (p *jsonParser) space() {
	for p.at < len(p.in) {
		switch p.in[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *jsonParser) take(c byte) bool {
	if p.at < len(p.in) && p.in[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *jsonParser) fail(format string, args ...any) error {
	pointer := ""
	for _, token := range p.path {
		pointer = pointerTo(pointer, token)
	}
	return malformed(pointer, format+" at byte %d", append(args, p.at)...)
}

func malformed(pointer, format string, args ...any) *Error {
	detail := fmt.Sprintf(format, args...)
	return &Error{
		Kind:    KindMalformed,
		Message: "The JSON cannot be read: " + detail + ".",
		Faults:  []Fault{{Pointer: pointer, Detail: detail}},
	}
}

// pointerTo extends a JSON pointer (RFC 6901) by one reference token, cut so
// that a hostile name does not make a hostile error.
func pointerTo(parent, token string) string {
	token = cutRunes(token, 64)
	return parent + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

func quoted(name string) string { return strconv.Quote(cutRunes(name, 64)) }

func cutRunes(s string, n int) string {
	seen := 0
	for i := range s {
		if seen == n {
			return s[:i] + "…"
		}
		seen++
	}
	return s
}

func firstInvalid(b []byte) int {
	at := 0
	for at < len(b) {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return at
}

// differOnlyByCase finds two names that Unicode simple folding makes equal,
// in sorted order so that the answer is always the same.
func differOnlyByCase(object map[string]any) (a, b string, found bool) {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	seen := make(map[string]string, len(names))
	for _, name := range names {
		folded := foldCase(name)
		if first, twice := seen[folded]; twice {
			return first, name, true
		}
		seen[folded] = name
	}
	return "", "", false
}

// foldCase maps every rune to the smallest of those that fold together, as
// strings.EqualFold compares them: long s (U+017F) and Kelvin (U+212A) included.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		smallest := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			smallest = min(smallest, f)
		}
		return smallest
	}, s)
}
