package dlq

import "testing"

func TestWhatIsBeingTypedIsCompletedInItsPlace(t *testing.T) {
	for _, c := range []struct {
		text              string // | is the caret
		key, part, choice string
		want              string // with the choice taken
		none              bool
	}{
		{text: "sour|", part: "sour", choice: "source:", want: "source:|"},
		{text: "status:parked -ty|", part: "ty", choice: "type:", want: "status:parked -type:|"},
		{text: "ty| status:parked", part: "ty", choice: "type:", want: "type:| status:parked"},
		{text: "st|age:x", part: "st", choice: "status:", want: "status:|x"},
		{text: "source:wi|", key: "source", part: "wi", choice: "wiki", want: "source:wiki |"},
		{text: "source:wi| age:>3d", key: "source", part: "wi", choice: "wiki", want: "source:wiki| age:>3d"},
		{text: "source:a,wi|,b x", key: "source", part: "wi", choice: "wiki", want: "source:a,wiki|,b x"},
		{text: `source:"team w|`, key: "source", part: "team w", choice: `"team wiki"`, want: `source:"team wiki" |`},
		{text: `source:"team w| status:parked`, key: "source", part: "team w", choice: `"team wiki"`, want: `source:"team wiki"| status:parked`},
		{text: `source:"a,b",wi|`, key: "source", part: "wi", choice: "wiki", want: `source:"a,b",wiki |`},
		{text: "-parser:|", key: "parser", choice: "!current", want: "-parser:!current |"},
		{text: "source:wiki|", key: "source", part: "wiki", choice: "wiki", want: "source:wiki |"},
		{text: "type:ÄÖ|x", key: "type", part: "ÄÖ", choice: "ÄÖÜ", want: "type:ÄÖÜ |"},
		{text: "|", choice: "source:", want: "source:|"},
		{text: `"free te|`, none: true},
		{text: "none:x|", none: true},
	} {
		caret := 0
		for text := c.text; text[caret] != '|'; caret++ {
		}
		text := c.text[:caret] + c.text[caret+1:]
		at, ok := CompleteAt(text, caret)
		if ok == c.none || ok && (at.Key != c.key || at.Part != c.part) {
			t.Errorf("%s: %+v, %v", c.text, at, ok)
			continue
		}
		if c.none {
			continue
		}
		got, place := at.Take(text, c.choice, c.key != "")
		if got = got[:place] + "|" + got[place:]; got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

func FuzzCompletionStaysWithinTheText(f *testing.F) {
	f.Add(`source:"a b",c -x:`, 5)
	f.Fuzz(func(t *testing.T, text string, caret int) {
		at, ok := CompleteAt(text, caret)
		if ok && (at.Start < 0 || at.Start > at.End || at.End > len(text)) {
			t.Errorf("%q at %d: %+v", text, caret, at)
		}
		if ok {
			if got, place := at.Take(text, "x", true); place > len(got) {
				t.Errorf("%q at %d: the caret stands at %d of %q", text, caret, place, got)
			}
		}
	})
}
