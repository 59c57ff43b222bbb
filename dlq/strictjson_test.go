package dlq

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeObjectRefusesWhatTwoReadersCouldReadDifferently(t *testing.T) {
	for name, c := range map[string]struct{ in, pointer, says string }{
		"empty":                        {``, "", "ends where a value"},
		"only space":                   {" \n", "", "ends where a value"},
		"a list":                       {`[]`, "", "got a list"},
		"text":                         {`"x"`, "", "got text"},
		"null":                         {`null`, "", "got null"},
		"a byte order mark":            {"\ufeff{}", "", "value expected at byte 0"},
		"not UTF-8":                    {"{\"a\":\"\xff\"}", "", "not UTF-8 at byte 6"},
		"overlong UTF-8":               {"{\"a\":\"\xc0\xaf\"}", "", "not UTF-8 at byte 6"},
		"a surrogate in UTF-8":         {"{\"a\":\"\xed\xa0\x80\"}", "", "not UTF-8 at byte 6"},
		"the same name twice":          {`{"a":1,"a":1}`, "/a", `"a" occurs twice at byte 7`},
		"twice, once escaped":          {`{"a":1,"\u0061":2}`, "/a", `"a" occurs twice`},
		"twice, deep down":             {`{"x":[0,{"a":1,"a":2}]}`, "/x/1/a", `occurs twice`},
		"differing by case":            {`{"content_hash":"a","CONTENT_HASH":"b"}`, "/content_hash", "differ only by case"},
		"differing by a folding":       {`{"ſource":1,"source":2}`, "/ſource", "differ only by case"},
		"differing by the Kelvin sign": {"{\"\u212a\":1,\"k\":2}", "/\u212a", "differ only by case"},
		"a second value":               {`{} {}`, "", "more follows at byte 3"},
		"a trailing comma":             {`{"a":1,}`, "", "a name in quotes"},
		"a trailing comma in a list":   {`{"a":[1,]}`, "/a/1", "a JSON value expected at byte 8"},
		"a comment":                    {`{/**/}`, "", "a name in quotes"},
		"single quotes":                {`{'a':1}`, "", "a name in quotes"},
		"no colon":                     {`{"a" 1}`, "/a", "a colon"},
		"no comma":                     {`{"a":1 "b":2}`, "", "a comma or a closing brace"},
		"an open string":               {`{"a":"b`, "/a", "ends inside a string"},
		"an open escape":               {`{"a":"b\`, "/a", "ends inside a string"},
		"an open object":               {`{"a":1`, "", "a comma or a closing brace"},
		"a bare newline":               {"{\"a\":\"\n\"}", "/a", "control character"},
		"an unknown escape":            {`{"a":"\x41"}`, "/a", "unknown escape"},
		"a short escape":               {`{"a":"\u12"}`, "/a", "four hex digits"},
		"half a pair in a name":        {`{"\ud800":1}`, "/\ufffd", "half of a surrogate pair"},
		"a leading zero":               {`{"a":01}`, "", "a comma or a closing brace"},
		"a plus":                       {`{"a":+1}`, "/a", "a JSON value expected"},
		"no digit after the point":     {`{"a":1.}`, "/a", "after the decimal point"},
		"no digit before the point":    {`{"a":.5}`, "/a", "a JSON value expected"},
		"no exponent":                  {`{"a":1e}`, "/a", "the exponent"},
		"NaN":                          {`{"a":NaN}`, "/a", "a JSON value expected"},
		"Infinity":                     {`{"a":-Infinity}`, "/a", "a digit expected"},
		"a word cut short":             {`{"a":tru}`, "/a", "a JSON value expected"},
		"a slash in a name":            {`{"a/b~c":{"d":x}}`, "/a~1b~0c/d", "a JSON value expected"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeObject([]byte(c.in))
			if err == nil {
				t.Fatalf("read as %v", got)
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != KindMalformed {
				t.Fatalf("kind %q, want %q", KindOf(err), KindMalformed)
			}
			if !strings.Contains(e.Message, c.says) {
				t.Errorf("says %q, want it to contain %q", e.Message, c.says)
			}
			if len(e.Faults) != 1 || e.Faults[0].Pointer != c.pointer {
				t.Errorf("faults %v, want the pointer %q", e.Faults, c.pointer)
			}
		})
	}
}

func TestDecodeObjectAllowsNamesOfTheSenderToDifferByCase(t *testing.T) {
	if _, err := DecodeObject([]byte(`{"validation_output":{"ID":1,"id":2}}`)); err != nil {
		t.Fatal(err)
	}
}

func TestDecodeValueCountsLevels(t *testing.T) {
	for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		nested := func(n int) []byte {
			return []byte(strings.Repeat(pair[0], n) + "1" + strings.Repeat(pair[1], n))
		}
		if _, err := DecodeValue(nested(32), 32); err != nil {
			t.Errorf("32 levels of %s: %v", pair[0], err)
		}
		if _, err := DecodeValue(nested(33), 32); KindOf(err) != KindMalformed {
			t.Errorf("33 levels of %s: %v, want malformed", pair[0], err)
		}
		if _, err := DecodeValue([]byte(strings.Repeat(pair[0], 1_000_000)), 32); KindOf(err) != KindMalformed {
			t.Errorf("a million levels of %s: %v, want malformed", pair[0], err)
		}
	}
}

func TestDecodeValueKeepsNumbersAsWritten(t *testing.T) {
	got, err := DecodeValue([]byte(`[9007199254740993, 1.10, -0, 1E+400, 0.1e-7]`), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{json.Number("9007199254740993"), json.Number("1.10"), json.Number("-0"), json.Number("1E+400"), json.Number("0.1e-7")}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDecodeValueReadsEscapes(t *testing.T) {
	got, err := DecodeValue([]byte(`"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00 \ud83d! \ude00\u0041"`), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := "\"\\/\b\f\n\r\té😀 \ufffd! \ufffdA"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorTextOfAHugeNameIsShort(t *testing.T) {
	name := strings.Repeat("n", 100_000)
	_, err := DecodeObject([]byte(`{"` + name + `":1,"` + name + `":2}`))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("%d bytes of error text", len(err.Error()))
	}
}

func TestCanonicalJSONIsTheSameForEqualValues(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1.0 , "a" : [ true , null , "<&>\u2028" ] } `: "{\"a\":[true,null,\"<&>\u2028\"],\"b\":1.0}",
		`{"é":1,"z":2,"Z":3}`: `{"Z":3,"z":2,"é":1}`,
		`"\u0000\u001f\n\/"`:  `"\u0000\u001f\n/"`,
		`[]`:                  `[]`,
		`{}`:                  `{}`,
		`[1e2,100]`:           `[1e2,100]`,
	} {
		v, err := DecodeValue([]byte(in), 4)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(CanonicalJSON(v)); got != want {
			t.Errorf("canonical form of %s is %s, want %s", in, got, want)
		}
	}
}

func TestCanonicalJSONTakesOtherGoValues(t *testing.T) {
	v := struct {
		B map[string]string `json:"b"`
		A int               `json:"a"`
	}{map[string]string{"y": "<", "x": ""}, 7}
	if got, want := string(CanonicalJSON(map[string]any{"v": v, "n": 1.5})), `{"n":1.5,"v":{"a":7,"b":{"x":"","y":"<"}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzDecodeValue holds the parser against encoding/json: what is accepted
// must be valid there too and mean the same, and writing it canonically and
// reading it again must change nothing.
func FuzzDecodeValue(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00"],"b":null}`, `[[[]]]`, `"\ud800"`, `{"a":1,"a":2}`, `01`, "\xff", "{\"\u212a\":1,\"k\":2}", ` true `, `-0.0E+1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := DecodeValue(in, MaxJSONDepth)
		if err != nil {
			if KindOf(err) != KindMalformed {
				t.Fatalf("kind %q", KindOf(err))
			}
			if !utf8.ValidString(err.Error()) {
				t.Fatalf("error text is not UTF-8: %q", err)
			}
			return
		}
		decoder := json.NewDecoder(strings.NewReader(string(in)))
		decoder.UseNumber()
		var other any
		if err := decoder.Decode(&other); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", in, err)
		}
		if !reflect.DeepEqual(v, other) {
			t.Fatalf("read %#v, encoding/json %#v", v, other)
		}
		again, err := DecodeValue(CanonicalJSON(v), MaxJSONDepth)
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("canonical form reads as %#v (%v), want %#v", again, err, v)
		}
	})
}
