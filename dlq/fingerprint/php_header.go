package fingerprint

import (
	"regexp"
	"strings"
)

var (
	phpUncaught  = regexp.MustCompile(`(?:Uncaught |^Next )(?:PHP Exception )?(?:exception(?: '|: ))?([\p{L}_\\][\p{L}\p{N}_\\@]*)('|:|\(|$| in | with )`)
	phpQuoted    = regexp.MustCompile(`(?:^|\s)[eE]xception '([\p{L}_\\][\p{L}\p{N}_\\@]*)'`)
	phpObject    = regexp.MustCompile(`\[object\] \(([\p{L}_\\][\p{L}\p{N}_\\@]*)\(code: ?[^()]*\)(:)? ?`)
	phpNamed     = regexp.MustCompile(`(?:^|[\s:\](|>"])(\\?(?:[\p{L}_][\p{L}\p{N}_]*\\{1,2})+[\p{L}_][\p{L}\p{N}_]*|[\p{L}_][\p{L}\p{N}_]*(?:Exception|Error)|Exception|Error)(:| in |$)`)
	phpBox       = regexp.MustCompile(`^\s*\[([\p{L}_\\][\p{L}\p{N}_\\@]*)(?: \(.*\))?\]\s*$`)
	phpPlaceEnd  = regexp.MustCompile(`^(\S.*):(\d+)[")]*$`)
	phpPlaceLine = regexp.MustCompile(`^(\S.*?)(?: on)? line (\d+)\b`)
	phpConsoleIn = regexp.MustCompile(`^In (\S.*) line \d+:$`)
	phpDrupal    = regexp.MustCompile(`^(.*) in \S+ \(line \d+ of (.*?)\)\.?$`)
	phpLevelled  = regexp.MustCompile(`^\s*\[([\p{L}_\\][\p{L}\p{N}_\\]*)\] (.*)$`)
)

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
