package fingerprint

import (
	"encoding/json"
	"regexp"
	"strings"
)

const (
	maxLiteralDepth = 24
	maxLiteralNodes = 200_000
)

// looseValue reads a value as Python's repr or JavaScript's inspect prints it:
// single quotes, tuples, None, bare keys, calls such as ErrorDetail(string='x',
// code='y'). It reports false where the text is no such value. JSON is one.
func looseValue(text string) (v any, rest string, ok bool) {
	p := looseParser{s: text}
	v, ok = p.value(0)
	return v, p.s[p.i:], ok
}

type looseParser struct {
	s     string
	i     int
	nodes int
}

func (p *looseParser) blank() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *looseParser) at(c byte) bool { return p.i < len(p.s) && p.s[p.i] == c }

func (p *looseParser) value(depth int) (any, bool) {
	p.blank()
	if p.nodes++; p.i == len(p.s) || depth > maxLiteralDepth || p.nodes > maxLiteralNodes {
		return nil, false
	}
	switch c := p.s[p.i]; c {
	case '{':
		return p.object(depth, '}')
	case '[':
		return p.list(depth, ']')
	case '(':
		return p.list(depth, ')')
	case '\'', '"', '`':
		return p.quoted()
	}
	return p.word(depth)
}

func (p *looseParser) quoted() (any, bool) {
	inner, n, ok := quotedText(p.s[p.i:])
	if !ok {
		return nil, false
	}
	p.i += n
	return unescape(inner), true
}

func (p *looseParser) list(depth int, end byte) (any, bool) {
	out := []any{}
	for p.i++; ; {
		p.blank()
		if p.at(end) {
			p.i++
			return out, true
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return out, false
		}
		out = append(out, v)
		if p.blank(); p.at(',') {
			p.i++
		} else if !p.at(end) {
			return out, false
		}
	}
}

func (p *looseParser) object(depth int, end byte) (any, bool) {
	out := map[string]any{}
	for p.i++; ; {
		p.blank()
		if p.at(end) {
			p.i++
			return out, true
		}
		k, ok := p.value(depth + 1)
		if !ok {
			return out, false
		}
		p.blank()
		switch {
		case p.at(':') || p.at('='):
			p.i++
			v, ok := p.value(depth + 1)
			if !ok {
				return out, false
			}
			out[str(k)] = v
		default:
			out[str(k)] = true // a set, or an argument without a name
		}
		if p.blank(); p.at(',') {
			p.i++
		} else if !p.at(end) {
			return out, false
		}
	}
}

var looseWord = regexp.MustCompile(`^[^\s,:=(){}\[\]'"` + "`" + `]+`)

// word reads a number, a constant, a bare key, or a call: its arguments are what
// it holds.
func (p *looseParser) word(depth int) (any, bool) {
	w := looseWord.FindString(p.s[p.i:min(len(p.s), p.i+200)])
	if w == "" {
		return nil, false
	}
	p.i += len(w)
	switch {
	case p.at('('):
		return p.object(depth, ')')
	case (w == "b" || w == "u" || w == "r") && (p.at('\'') || p.at('"')):
		return p.quoted()
	case w == "<":
		return nil, false
	}
	switch w {
	case "None", "null", "undefined":
		return nil, true
	case "True", "true":
		return true, true
	case "False", "false":
		return false, true
	}
	if w[0] == '-' || w[0] >= '0' && w[0] <= '9' {
		return json.Number(w), true
	}
	return w, true
}
