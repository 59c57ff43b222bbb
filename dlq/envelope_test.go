package dlq

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnknownFieldsAreKeptAndGoRound(t *testing.T) {
	body := `{"source":"wiki","doc_id":"1","reason":"exception","tenant":"a","empty":"","nothing":null,"deep":{"ID":1,"id":[1.10,12345678901234567890,-0,1e400]},"a/b":true}`
	e := parsed(t, body)
	want := `{"a/b":true,"deep":{"ID":1,"id":[1.10,12345678901234567890,-0,1e400]},"empty":"","nothing":null,"tenant":"a"}`
	if got := string(CanonicalJSON(e.Extra)); got != want {
		t.Errorf("extra is %s, want %s", got, want)
	}
	again, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if back := parsed(t, string(again)); !reflect.DeepEqual(back, e) {
		t.Errorf("came back as %+v, want %+v", back, e)
	}
}

func TestExtraFieldsDoNotBlurTheNumbersBesideThem(t *testing.T) {
	e := parsed(t, `{"ingest_seq":9007199254740993,"payload_bytes":9007199254740995,"tenant":"a"}`)
	body, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	back := parsed(t, string(body))
	if *back.IngestSeq != 9007199254740993 || *back.PayloadBytes != 9007199254740995 {
		t.Errorf("came back with %d and %d", *back.IngestSeq, *back.PayloadBytes)
	}
}

func TestAnExtraFieldNeverReplacesANamedOne(t *testing.T) {
	e := Envelope{Source: "wiki", Extra: map[string]any{"source": "evil", "more": "x"}}
	body, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if back := parsed(t, string(body)); back.Source != "wiki" || back.Extra["more"] != "x" {
		t.Errorf("came back as %+v", back)
	}
}

func TestWhatIsWrittenIsReadTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return strings.ReplaceAll(rapid.StringN(0, 40, 100).Draw(t, name), "\x00", "")
		}
		e := Envelope{Source: text("source"), DocID: text("doc"), SourceVersion: text("version"), StackTrace: text("trace"), ErrorMessage: text("message"),
			ErrorType: "E" + text("type"), ErrorClass: text("class"), Reason: "exception", EventID: text("event"), Filename: text("file")}
		if rapid.Bool().Draw(t, "seq") {
			e.IngestSeq = ptr(rapid.Int64().Draw(t, "n"))
		}
		if rapid.Bool().Draw(t, "extra") {
			e.Extra = map[string]any{"x-" + text("key"): text("value")}
		}
		body, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseEnvelope(body, readAt)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if !reflect.DeepEqual(back, e) {
			t.Fatalf("%s came back as %+v", body, back)
		}
	})
}

func TestTheVersionsOfAllComponentsAreOneSet(t *testing.T) {
	e := parsed(t, `{"connector_version":"c1","parser_version":"p1","processing_version":"x","versions":{"ocr":"5","parser":"p1","empty":""}}`)
	want := Versions{"connector": "c1", "parser": "p1", "ocr": "5"}
	if got := e.ComponentVersions(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestValidationOutputAsText(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                        "",
		`{"validation_output":"x"}`: "x",
		`{"validation_output":[{"loc":["a",0],"input":1.10}]}`: "[\n  {\n    \"input\": 1.10,\n    \"loc\": [\n      \"a\",\n      0\n    ]\n  }\n]",
		`{"validation_output":7}`:                              "7",
	} {
		if got := parsed(t, body).ValidationText(); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
