package dlq

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestEqualSetsOfVersionsHaveOneText(t *testing.T) {
	if got, want := (Versions{"parser": "2", "connector": "1", "ocr": "<3>"}).Canonical(), `{"connector":"1","ocr":"\u003c3\u003e","parser":"2"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, empty := range []Versions{nil, {}} {
		if got := empty.Canonical(); got != "{}" {
			t.Errorf("the empty set is %s", got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := Versions(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "versions"))
		if back := ParseVersions(v.Canonical()); !reflect.DeepEqual(back, v) {
			t.Fatalf("%v came back as %v", v, back)
		}
	})
	if got := ParseVersions("not JSON"); len(got) != 0 || got == nil {
		t.Errorf("what is no set reads as %v", got)
	}
}

func TestComponentsInTheOrderOfThePipeline(t *testing.T) {
	got := Versions{"ocr": "1", "embedder": "1", "parser": "1", "aligner": "1", "connector": "1", "chunker": "1"}.Components()
	if want := []string{"connector", "parser", "chunker", "embedder", "aligner", "ocr"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestWhetherTheCodeMoved(t *testing.T) {
	failed := Versions{"parser": "1", "chunker": "a"}
	for name, c := range map[string]struct {
		failed, outcome Versions
		running         Running
		code            Code
		moved           []string
	}{
		"nothing was named":                         {nil, Versions{"parser": "2"}, Running{"parser": {"2"}}, CodeUnknown, nil},
		"the outcome names all, equal":              {failed, Versions{"parser": "1", "chunker": "a"}, nil, CodeSame, nil},
		"the outcome names one that differs":        {failed, Versions{"parser": "2"}, nil, CodeMoved, []string{"parser"}},
		"both differ":                               {failed, Versions{"parser": "2", "chunker": "b"}, nil, CodeMoved, []string{"parser", "chunker"}},
		"one equal, the other not known":            {failed, Versions{"parser": "1"}, nil, CodeUnknown, nil},
		"the rest is registered":                    {failed, Versions{"parser": "1"}, Running{"chunker": {"a"}}, CodeSame, nil},
		"registered, and differs":                   {failed, nil, Running{"parser": {"2"}, "chunker": {"a"}}, CodeMoved, []string{"parser"}},
		"a rollback is a move too":                  {failed, nil, Running{"parser": {"0.9"}}, CodeMoved, []string{"parser"}},
		"the outcome goes before the registered":    {failed, Versions{"parser": "1", "chunker": "a"}, Running{"parser": {"2"}, "chunker": {"b"}}, CodeSame, nil},
		"two run, the failing one among them":       {Versions{"parser": "1"}, nil, Running{"parser": {"1", "2"}}, CodeUnknown, nil},
		"two run, the failing one not among them":   {Versions{"parser": "1"}, nil, Running{"parser": {"2", "3"}}, CodeMoved, []string{"parser"}},
		"a component that the failure did not name": {Versions{"parser": "1"}, Versions{"parser": "1", "embedder": "9"}, nil, CodeSame, nil},
	} {
		code, moved := CompareCode(c.failed, c.outcome, c.running)
		if code != c.code || !reflect.DeepEqual(moved, c.moved) {
			t.Errorf("%s: %s %v, want %s %v", name, code, moved, c.code, c.moved)
		}
	}
}

func TestVersionsThatAFailureTakesOver(t *testing.T) {
	before := Versions{"parser": "1", "chunker": "a", "embedder": "e"}
	got := TakeOverVersions(Versions{"parser": "3", "ocr": "5"}, Running{"parser": {"2"}, "chunker": {"b"}, "embedder": {"x", "y"}, "aligner": {"9"}}, before)
	want := Versions{"parser": "3", "chunker": "b", "embedder": "e", "ocr": "5"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if before["parser"] != "1" {
		t.Error("the set before was changed")
	}
}

func TestWhatRunsInWords(t *testing.T) {
	r := Running{"parser": {"1", "2"}, "chunker": {"a"}}
	if got := r.String(); got != "chunker a · parser 1, 2" {
		t.Error(got)
	}
	if !r.Has("parser", "2") || r.Has("parser", "3") || r.Has("embedder", "1") {
		t.Error("Has does not say what runs")
	}
}
