package dlq

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQueriesAreReadAsTheyStand(t *testing.T) {
	day := 24 * time.Hour
	for text, want := range map[string][]Term{
		"":                               nil,
		" \t\n ":                         nil,
		"source:wiki":                    {{Key: "source", Values: []string{"wiki"}}},
		"-source:wiki":                   {{Key: "source", Values: []string{"wiki"}, Negated: true}},
		"status:parked,archived":         {{Key: "status", Values: []string{"parked", "archived"}}},
		`source:"team wiki"`:             {{Key: "source", Values: []string{"team wiki"}}},
		`source:"a,b",c`:                 {{Key: "source", Values: []string{"a,b", "c"}}},
		`-"not a key:value"`:             {{Values: []string{"not a key:value"}, Negated: true}},
		`"a:b"`:                          {{Values: []string{"a:b"}}},
		"root object":                    {{Values: []string{"root"}}, {Values: []string{"object"}}},
		`"root object"`:                  {{Values: []string{"root object"}}},
		"-":                              {{Values: []string{"-"}}},
		"a,b":                            {{Values: []string{"a,b"}}},
		"age:>30d":                       {{Key: "age", Values: []string{">30d"}, Compare: ">", Span: 30 * day}},
		"expires:<=12h":                  {{Key: "expires", Values: []string{"<=12h"}, Compare: "<=", Span: 12 * time.Hour}},
		"attempts:7":                     {{Key: "attempts", Values: []string{"7"}, Number: 7}},
		"redrives:>=2":                   {{Key: "redrives", Values: []string{">=2"}, Compare: ">=", Number: 2}},
		"cohort:f1:7f3a":                 {{Key: "cohort", Values: []string{"f1:7f3a"}}},
		"id:urn:doc:1":                   {{Key: "id", Values: []string{"urn:doc:1"}}},
		"sha256:9f2a4c1e":                {{Key: "sha256", Values: []string{"9f2a4c1e"}}},
		"file:*.pdf -has:payload":        {{Key: "file", Values: []string{"*.pdf"}}, {Key: "has", Values: []string{"payload"}, Negated: true}},
		"'; drop table entry; --":        {{Values: []string{"';"}}, {Values: []string{"drop"}}, {Values: []string{"table"}}, {Values: []string{"entry;"}}, {Values: []string{"-"}, Negated: true}},
		"type:\u202ePDF\u200bError":      {{Key: "type", Values: []string{"\u202ePDF\u200bError"}}},
		"owner:nobody mark:late,assumed": {{Key: "owner", Values: []string{"nobody"}}, {Key: "mark", Values: []string{"late", "assumed"}}},
	} {
		q, bad := ParseQuery(text)
		for i := range q.Terms {
			q.Terms[i].Start, q.Terms[i].End = 0, 0
		}
		if len(bad) > 0 || !reflect.DeepEqual(q.Terms, want) {
			t.Errorf("%q: %+v %+v, want %+v", text, q.Terms, bad, want)
		}
	}
}

func TestWhatAQueryDoesNotUnderstandIsNamedInPlace(t *testing.T) {
	for text, want := range map[string]struct {
		term     string
		expected string
	}{
		"source:wiki colour:red":        {"colour:red", "one of source, status"},
		":x":                            {":x", "one of source"},
		"-:x":                           {"-:x", "one of source"},
		"Source:wiki":                   {"Source:wiki", "one of source"},
		"source:":                       {"source:", "a source's name"},
		"source:a,":                     {"source:a,", "a source's name"},
		"source:,a":                     {"source:,a", "a source's name"},
		"status:stuck":                  {"status:stuck", "one of parked"},
		"status:parked,stuck":           {"status:parked,stuck", "one of parked"},
		"age:30d":                       {"age:30d", "a comparison and a span"},
		"age:>soon":                     {"age:>soon", "a span after"},
		"age:>forever":                  {"age:>forever", "a span after"},
		"age:>-1d":                      {"age:>-1d", "a span after"},
		"age:>NaNd":                     {"age:>NaNd", "a span after"},
		"age:=30d":                      {"age:=30d", "a comparison"},
		"attempts:many":                 {"attempts:many", "a number"},
		"attempts:-1":                   {"attempts:-1", "a number"},
		"attempts:99999999999999999999": {"attempts:99999999999999999999", "a number"},
		"cohort:01K":                    {"cohort:01K", "four characters"},
		"cohort:f1:7":                   {"cohort:f1:7", "four characters"},
		"cohort:abcd:":                  {"cohort:abcd:", "four characters"},
		"sha256:9f2a4c1":                {"sha256:9f2a4c1", "8 to 64"},
		"sha256:9F2A4C1E":               {"sha256:9F2A4C1E", "8 to 64"},
		`source:"wiki`:                  {`source:"wiki`, "a closing quote"},
		`x "`:                           {`"`, "a closing quote"},
		`""`:                            {`""`, "a word"},
		`"  "`:                          {`"  "`, "a word"},
		"has:everything":                {"has:everything", "one of payload"},
	} {
		q, bad := ParseQuery(text)
		if len(bad) != 1 || bad[0].Term != want.term || !strings.Contains(bad[0].Expected, want.expected) {
			t.Errorf("%q: %+v, want %+v", text, bad, want)
			continue
		}
		if text[bad[0].Start:bad[0].End] != want.term || q.Terms != nil {
			t.Errorf("%q: stands at %d to %d; terms %v", text, bad[0].Start, bad[0].End, q.Terms)
		}
	}
	if _, bad := ParseQuery("colour:red source: status:stuck"); len(bad) != 3 {
		t.Errorf("three bad terms are named as %+v", bad)
	}
	err := QueryError([]BadTerm{{Term: "colour:red", Start: 12, End: 22, Expected: "one of source"}})
	if KindOf(err) != KindInvalid || faultsOf(err)[0] != (Fault{"/q", `"colour:red" at 12: one of source expected`}) {
		t.Errorf("said as %+v", faultsOf(err))
	}
}

func TestAQueryHasBounds(t *testing.T) {
	for name, text := range map[string]string{
		"4097 bytes":             strings.Repeat("x", 4097),
		"201 words":              strings.Repeat("x ", 201),
		"201 values of one term": "id:" + strings.Repeat("x,", 200) + "x",
		"NUL":                    "a\x00b",
		"NUL in quotes":          `"a` + "\x00" + `b"`,
		"invalid UTF-8":          "source:\xff",
	} {
		if _, bad := ParseQuery(text); len(bad) != 1 {
			t.Errorf("%s: %d bad terms, want 1", name, len(bad))
		}
	}
	for name, text := range map[string]string{"4096 bytes": strings.Repeat("x", 4096), "200 words": strings.Repeat("x ", 200), "200 values": "id:" + strings.Repeat("x,", 199) + "x", "U+FFFD itself": "\ufffd"} {
		if _, bad := ParseQuery(text); len(bad) > 0 {
			t.Errorf("%s: %.200v", name, bad)
		}
	}
}

func TestAQuotedValueIsReadAsOneValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringMatching(`[^"\x00]{1,30}`).Draw(t, "value")
		q, bad := ParseQuery("type:" + QuoteValue(v))
		if len(bad) > 0 || len(q.Terms) != 1 || !reflect.DeepEqual(q.Terms[0].Values, []string{v}) {
			t.Fatalf("%q: %+v %+v", v, q, bad)
		}
	})
}

func TestAQueryWithoutATermIsStillAQuery(t *testing.T) {
	text := `status:parked   -type:"A B" root`
	for i, want := range []string{`-type:"A B" root`, "status:parked root", `status:parked   -type:"A B"`} {
		q, _ := ParseQuery(text)
		if got := q.Without(i); got != want {
			t.Errorf("without term %d: %q, want %q", i, got, want)
		}
	}
	q, _ := ParseQuery(text)
	if !q.Has("status") || q.Has("source") || !q.Has("") {
		t.Error("Has does not say which keys the query has")
	}
}

func TestReadingAnyQueryNeitherPanicsNorMisplaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([-a-z0-9:,"<>=* ]|source:|age:|-)*`)).Draw(t, "text")
		q, bad := ParseQuery(text)
		for _, term := range q.Terms {
			if term.Start < 0 || term.End > len(text) || term.Start >= term.End {
				t.Fatalf("%q: a term at %d to %d", text, term.Start, term.End)
			}
		}
		for _, b := range bad {
			if b.Start < 0 || b.End > len(text) || b.Expected == "" {
				t.Fatalf("%q: %+v", text, b)
			}
		}
	})
}

func TestThePageOnSearchingHasEveryKey(t *testing.T) {
	page, err := os.ReadFile("../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range QueryKeys {
		if _, bad := ParseQuery(key.Example); len(bad) > 0 {
			t.Errorf("the example %s cannot be read: %v", key.Example, bad)
		}
		if !strings.Contains(string(page), "| `"+key.Example+"` |") {
			t.Errorf("docs/search.md has no row of %s", key.Example)
		}
		for _, choice := range key.Choices {
			if !strings.Contains(string(page), choice) {
				t.Errorf("docs/search.md does not name %s of %s", choice, key.Name)
			}
		}
	}
}
