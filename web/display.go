package web

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Segment is a piece of a string as a person may see it: text as it is, or
// a chip that names what would be invisible or would lie about the order of
// the rest, such as "U+202E".
type Segment struct {
	Text string
	Chip bool
}

// Visible splits a string that a stranger wrote, so that a page can show every
// character of it: control, bidirectional, zero-width and tag characters
// become chips, and so do bytes that are not UTF-8 ("0xFF"). Line feeds, tabs
// and the carriage return before a line feed stay text; a run of one hidden
// character is one chip with a count ("U+200B ×12"). Joined, the texts that
// are not chips are the string without what was hidden.
func Visible(s string) []Segment {
	var out []Segment
	text := 0 // where the text that is not yet written starts
	var before rune
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		broken := r == utf8.RuneError && size == 1
		shown := !broken && !isChip(r, before, s[at+size:])
		before = r
		if shown {
			at += size
			continue
		}
		if text < at {
			out = append(out, Segment{Text: s[text:at]})
		}
		name := fmt.Sprintf("U+%04X", r)
		if broken {
			name = fmt.Sprintf("0x%02X", s[at])
		}
		run := 1
		one := s[at : at+size]
		for strings.HasPrefix(s[at+run*size:], one) && !(one == "\r" && strings.HasPrefix(s[at+run*size:], "\r\n")) {
			run++
		}
		at += run * size
		if run > 1 {
			name += " ×" + strconv.Itoa(run)
		}
		out = append(out, Segment{Text: name, Chip: true})
		text = at
	}
	if text < len(s) {
		out = append(out, Segment{Text: s[text:]})
	}
	return out
}

// VisibleText is Visible where no markup can stand, as in a title or a label
// for screen readers: chips in brackets.
func VisibleText(s string) string {
	var b strings.Builder
	for _, segment := range Visible(s) {
		if segment.Chip {
			b.WriteString("[" + segment.Text + "]")
			continue
		}
		b.WriteString(segment.Text)
	}
	return b.String()
}

func isChip(r, before rune, rest string) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == '\r':
		return !strings.HasPrefix(rest, "\n")
	case r == 0xFE0F: // the coloured form of a symbol, as in ❤️; elsewhere it can carry hidden data
		return !unicode.Is(unicode.So, before) && !unicode.Is(unicode.Sm, before) && !unicode.Is(unicode.Po, before) && !unicode.IsDigit(before)
	}
	return unicode.IsControl(r) || hidden(r)
}

// hidden says whether a character shows nothing of itself, beyond control
// characters: the format characters (Cf: bidirectional marks and overrides,
// zero-width ones, tags), line and paragraph separators, variation selectors,
// fillers that look like nothing, and code points that are no characters.
func hidden(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029:
		return true
	case 0xFE00 <= r && r <= 0xFE0F, 0xE0100 <= r && r <= 0xE01EF, 0x180B <= r && r <= 0x180F:
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x2800:
		return true
	case 0xFDD0 <= r && r <= 0xFDEF, r&0xFFFE == 0xFFFE:
		return true
	case 0xE0000 <= r && r <= 0xE0FFF: // the block of tags, its unassigned part included
		return true
	}
	return false
}
