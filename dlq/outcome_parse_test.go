package dlq

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var parseNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const someDigest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func TestOutcomeNamesEveryFault(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string // pointers, sorted
	}{
		{"nothing", `{}`, []string{"/redrive_id", "/result"}},
		{"null and empty are absent", `{"redrive_id":"","content_hash":null,"result":"committed"}`, []string{"/redrive_id"}},
		{"a source without a document", `{"source":"wiki","result":"committed"}`, []string{"/doc_id"}},
		{"a document without a source", `{"document_id":"1","result":"committed"}`, []string{"/source"}},
		{"a word that is no result", `{"redrive_id":"R","result":"done"}`, []string{"/result"}},
		{"a conclusion of ours", `{"redrive_id":"R","result":"assumed"}`, []string{"/result"}},
		{"a result of another type", `{"redrive_id":"R","result":true}`, []string{"/result"}},
		{"a short key", `{"content_hash":"abc","result":"committed"}`, []string{"/content_hash"}},
		{"tomorrow and an hour", `{"redrive_id":"R","result":"committed","at":"2026-03-02T13:00:00Z"}`, []string{"/at"}},
		{"no time", `{"redrive_id":"R","result":"committed","at":"yesterday"}`, []string{"/at"}},
		{"a failure that was committed", `{"redrive_id":"R","result":"committed","error_type":"ValueError","exception_context":"x"}`, []string{"/error_type", "/stack_trace"}},
		{"an alias that disagrees", `{"redrive_id":"R","result":"committed","etag":"a","source_version":"b"}`, []string{"/etag"}},
		{"an unknown reason", `{"redrive_id":"R","result":"failed","error_type":"E","reason":"bad luck"}`, []string{"/reason"}},
		{"a low confidence without one", `{"redrive_id":"R","result":"failed","reason":"low_confidence"}`, []string{"/confidence"}},
		{"several", `{"redrive_id":7,"result":"failed","ingest_seq":"x","payload_sha256":"y","at":3}`, []string{"/at", "/ingest_seq", "/payload_sha256", "/redrive_id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseOutcome([]byte(c.body), parseNow)
			var e *Error
			if !errors.As(err, &e) || e.Kind != KindInvalid {
				t.Fatalf("got %v, want faults of fields", err)
			}
			var got []string
			for _, f := range e.Faults {
				got = append(got, f.Pointer)
				if f.Detail == "" {
					t.Errorf("%s has no sentence", f.Pointer)
				}
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("faults at %v, want %v", got, c.want)
			}
		})
	}
}

func TestOutcomeThatIsNoObjectIsMalformed(t *testing.T) {
	for _, body := range []string{``, `[]`, `"committed"`, `{"result":"committed"`, `{"result":"committed","result":"failed"}`, `{"result":"committed"} {}`} {
		if _, err := ParseOutcome([]byte(body), parseNow); KindOf(err) != KindMalformed {
			t.Errorf("%q gives %v, want it malformed", body, err)
		}
	}
}

func TestOutcomeMayNameItsDocumentInEveryWayAtOnce(t *testing.T) {
	o, err := ParseOutcome([]byte(`{"redrive_id":"R","content_hash":"`+someDigest+`","source":"wiki","doc_id":"1","result":"skipped"}`), parseNow)
	if err != nil {
		t.Fatal(err)
	}
	if o.RedriveID != "R" || o.ContentHash != someDigest || o.Source != "wiki" || o.DocID != "1" || o.Result != OutcomeSkipped {
		t.Errorf("got %+v", o)
	}
}

func TestOutcomeHappenedWhenItWasReceivedUnlessItSaysOtherwise(t *testing.T) {
	for body, want := range map[string]time.Time{
		`{"redrive_id":"R","result":"committed"}`:                             parseNow,
		`{"redrive_id":"R","result":"committed","at":"2026-02-28T09:00:00Z"}`: time.Date(2026, 2, 28, 9, 0, 0, 0, time.UTC),
	} {
		if o, err := ParseOutcome([]byte(body), parseNow); err != nil || !o.At.Equal(want) {
			t.Errorf("%s is of %s (%v), want %s", body, o.At, err, want)
		}
	}
}

func TestOutcomeReadsComponentsFromFieldsAndFromTheMap(t *testing.T) {
	o, err := ParseOutcome([]byte(`{"redrive_id":"R","result":"committed","parser_version":"2.4.2","versions":{"ocr":"5","parser":"2.4.2"}}`), parseNow)
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Versions.Canonical(); got != `{"ocr":"5","parser":"2.4.2"}` {
		t.Errorf("versions are %s", got)
	}
}

func TestOutcomeThatNamesAComponentTwiceMustAgreeWithItself(t *testing.T) {
	_, err := ParseOutcome([]byte(`{"redrive_id":"R","result":"committed","parser_version":"1","versions":{"parser":"2"}}`), parseNow)
	if KindOf(err) != KindInvalid {
		t.Errorf("got %v", err)
	}
}

func TestOutcomeNamesItsErrorOnlyWhereItSaysHowItFailed(t *testing.T) {
	for _, c := range []struct {
		body  string
		names bool
	}{
		{`{"redrive_id":"R","result":"failed"}`, false},
		{`{"redrive_id":"R","result":"failed","stage":"parse","confidence":0.4}`, false},
		{`{"redrive_id":"R","result":"failed","error_class":"transient"}`, true},
		{`{"redrive_id":"R","result":"failed","error_type":"KeyError"}`, true},
		{`{"redrive_id":"R","result":"failed","exception_context":"Traceback"}`, true},
		{`{"redrive_id":"R","result":"failed","validation_output":[{"rule":"title"}]}`, true},
		{`{"redrive_id":"R","result":"failed","reason":"low_confidence","confidence":0.4}`, true},
		{`{"redrive_id":"R","result":"committed"}`, false},
	} {
		o, err := ParseOutcome([]byte(c.body), parseNow)
		if err != nil || (o.Failure != nil) != c.names {
			t.Errorf("%s: failure %v (%v), want named %v", c.body, o.Failure, err, c.names)
		}
	}
}

func TestOutcomeClassThatIsAnExceptionIsItsType(t *testing.T) {
	o, err := ParseOutcome([]byte(`{"redrive_id":"R","result":"failed","error_class":"pdf.ParseError"}`), parseNow)
	if err != nil {
		t.Fatal(err)
	}
	if o.Failure.ErrorType != "pdf.ParseError" || o.Failure.ErrorClass != "" || o.Failure.Reason != string(ReasonException) {
		t.Errorf("got %+v", o.Failure)
	}
}

func TestAnswerIsAboutTheRedriveThatWasAnswered(t *testing.T) {
	o, err := ParseAnswer([]byte(`{"result":"committed"}`), "R1", parseNow)
	if err != nil || o.RedriveID != "R1" {
		t.Errorf("unnamed: %+v, %v", o, err)
	}
	if _, err := ParseAnswer([]byte(`{"result":"committed","redrive_id":"R2"}`), "R1", parseNow); KindOf(err) != KindInvalid {
		t.Errorf("an answer about another redrive gives %v", err)
	}
}
