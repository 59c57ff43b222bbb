package web

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNothingInAStringStaysHidden(t *testing.T) {
	for in, want := range map[string]string{
		"":                                         "",
		"plain é 文 😀 ❤️ 1️⃣":                       "plain é 文 😀 ❤️ 1️⃣",
		"\u202Efdp.exe":                            "[U+202E]fdp.exe",
		"a\u202Ab\u202Bc\u202Cd\u202D":             "a[U+202A]b[U+202B]c[U+202C]d[U+202D]",
		"a\u2066b\u2067c\u2068d\u2069":             "a[U+2066]b[U+2067]c[U+2068]d[U+2069]",
		"\u200Ea\u200Fb\u061C":                     "[U+200E]a[U+200F]b[U+061C]",
		"pay\u200Bpal\u200C\u200D":                 "pay[U+200B]pal[U+200C][U+200D]",
		"\uFEFFbom\u2060\u00AD":                    "[U+FEFF]bom[U+2060][U+00AD]",
		"a\u200B\u200B\u200B":                      "a[U+200B ×3]",
		"\x00\x01\x1b[31m\x7f\u0085":               "[U+0000][U+0001][U+001B][31m[U+007F][U+0085]",
		"two\nlines\tand\r\na third":               "two\nlines\tand\r\na third",
		"over\rwritten":                            "over[U+000D]written",
		"\r\r\n":                                   "[U+000D]\r\n",
		"a\u2028b\u2029":                           "a[U+2028]b[U+2029]",
		"\u115F\u1160\u3164\uFFA0":                 "[U+115F][U+1160][U+3164][U+FFA0]",
		"\u034F\u180E\u17B4\u2800":                 "[U+034F][U+180E][U+17B4][U+2800]",
		"\U000E0041\U000E0042\U000E007F\U000E0100": "[U+E0041][U+E0042][U+E007F][U+E0100]",
		"x\uFE0Fx\uFE00":                           "x[U+FE0F]x[U+FE00]",
		"\ufffe\U0001ffff\ufdd0":                   "[U+FFFE][U+1FFFF][U+FDD0]",
		"\xff\xfe":                                 "[0xFF][0xFE]",
		"\xff\xff\xe2\x82":                         "[0xFF ×2][0xE2][0x82]",
		"\ufffd is a character":                    "\ufffd is a character",
		"\U0001D173\uFFF9\u2062":                   "[U+1D173][U+FFF9][U+2062]",
	} {
		if got := VisibleText(in); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", in, got, want)
		}
	}
}

func TestVisibleTellsTextFromChips(t *testing.T) {
	got := Visible("a\u202Eb[U+202E]")
	want := []Segment{{"a", false}, {"U+202E", true}, {"b[U+202E]", false}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202Eb\xff\r\n\u200b\u200b")
	f.Fuzz(func(t *testing.T, in string) {
		rest := in
		for _, segment := range Visible(in) {
			if segment.Chip {
				continue
			}
			_, after, found := strings.Cut(rest, segment.Text)
			if !found || !utf8.ValidString(segment.Text) || strings.ContainsAny(segment.Text, "\x00\x1b\u202e\u200b\u2066") {
				t.Fatalf("%+q: the text %+q", in, segment.Text)
			}
			rest = after
		}
	})
}
