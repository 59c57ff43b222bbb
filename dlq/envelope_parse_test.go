package dlq

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

var readAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	givenDigest = "9f2a4c1e6b8d0f37a25c194e7b0d6f8213ac54e9d7b1c0a3f6e2d8b4a1c7e50f"
	otherDigest = "0f2a4c1e6b8d0f37a25c194e7b0d6f8213ac54e9d7b1c0a3f6e2d8b4a1c7e50f"
)

// parsed reads an envelope that must be accepted.
func parsed(t *testing.T, body string) Envelope {
	t.Helper()
	e, err := ParseEnvelope([]byte(body), readAt)
	if err != nil {
		t.Fatalf("%s: %v %v", body, err, faultsOf(err))
	}
	return e
}

func faultsOf(err error) []Fault {
	var e *Error
	if errors.As(err, &e) {
		return e.Faults
	}
	return nil
}

func pointersOf(err error) []string {
	var out []string
	for _, f := range faultsOf(err) {
		out = append(out, f.Pointer)
	}
	return out
}

func rfc(s string) *time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return &t
}

func ptr[T any](v T) *T { return &v }

// A wiki crawler's record, as its documentation prints it.
const wikiRecord = `{
  "dlq_id": "01JQ7X0F5C3N4K8Y2M6P9RTVAZ", "source": "wiki", "doc_id": "1147829310",
  "source_version": "W/\"5c9f-1b3d2a7\"", "source_updated_at": "2026-02-11T09:41:07Z",
  "cursor_at_arrival": "2026-02-11T09:41:07Z", "ingest_seq": 88213774,
  "connector_version": "wiki-connector@3.14.2", "parser_version": "pdfminer.six@20221105",
  "chunker_version": "recursive-800-100@2", "embedder_version": "text-embedding-3-large@1536",
  "payload_uri": "s3://ingest-quarantine/wiki/1147829310/9f2a4c1e.pdf", "payload_sha256": "` + givenDigest + `", "payload_bytes": 4718592,
  "error_class": "ambiguous_parse", "error_type": "PDFSyntaxError", "error_message": "No /Root object! - Is this really a PDF?",
  "stack_trace_uri": "s3://ingest-quarantine/traces/01JQ7X0F5C3N4K8Y2M6P9RTVAZ.txt",
  "attempts": 2, "first_seen_at": "2026-02-11T09:42:13Z", "last_seen_at": "2026-02-11T09:44:51Z"
}`

func TestAWikiRecordParksUnchanged(t *testing.T) {
	got := parsed(t, wikiRecord)
	want := Envelope{
		Source: "wiki", DocID: "1147829310", SenderID: "01JQ7X0F5C3N4K8Y2M6P9RTVAZ",
		SourceVersion: `W/"5c9f-1b3d2a7"`, SourceUpdatedAt: rfc("2026-02-11T09:41:07Z"), CursorAtArrival: "2026-02-11T09:41:07Z", IngestSeq: ptr[int64](88213774),
		ConnectorVersion: "wiki-connector@3.14.2", ParserVersion: "pdfminer.six@20221105", ChunkerVersion: "recursive-800-100@2", EmbedderVersion: "text-embedding-3-large@1536",
		PayloadURI: "s3://ingest-quarantine/wiki/1147829310/9f2a4c1e.pdf", PayloadSHA256: givenDigest, PayloadBytes: ptr[int64](4718592),
		Reason: "exception", ErrorClass: "ambiguous_parse", ErrorType: "PDFSyntaxError", ErrorMessage: "No /Root object! - Is this really a PDF?",
		StackTraceURI: "s3://ingest-quarantine/traces/01JQ7X0F5C3N4K8Y2M6P9RTVAZ.txt",
		Attempts:      ptr(2), FirstSeenAt: rfc("2026-02-11T09:42:13Z"), LastSeenAt: rfc("2026-02-11T09:44:51Z"),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read as\n%+v, want\n%+v", got, want)
	}
	if got.Extra != nil {
		t.Errorf("fields were not understood: %v", got.Extra)
	}
}

func TestALeaseRecordParksWithItsMeanings(t *testing.T) {
	e := parsed(t, `{"document_id": "lease-7781", "object_key": "s3://leases/raw/7781.pdf", "content_hash": "`+givenDigest+`",
		"error_class": "LeaseTermParseError", "stack_trace": "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nLeaseTermParseError: no term",
		"retry_count": 4, "redrive_count": 1, "first_seen": "2026-02-11T09:42:13.123456Z", "last_seen": "2026-02-11T10:44:51.5+00:00"}`)
	for claim, c := range map[string]struct{ got, want any }{
		"document_id is the id":             {e.DocID, "lease-7781"},
		"object_key is the pointer":         {e.PayloadURI, "s3://leases/raw/7781.pdf"},
		"the hash is the key":               {e.ContentHash, givenDigest},
		"the class is an exception's type":  {e.ErrorType, "LeaseTermParseError"},
		"and no class":                      {e.ErrorClass, ""},
		"four retries are five deliveries":  {*e.Attempts, 5},
		"the count of redrives":             {*e.RedriveCount, 1},
		"the reason":                        {e.Reason, "exception"},
		"first_seen, to the millisecond":    {*e.FirstSeenAt, *rfc("2026-02-11T09:42:13.123Z")},
		"last_seen, in UTC":                 {*e.LastSeenAt, *rfc("2026-02-11T10:44:51.5Z")},
		"the bytes are not claimed by them": {e.PayloadSHA256, ""},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", claim, c.got, c.want)
		}
	}
}

func TestAParsersRecordWithItsBytesParks(t *testing.T) {
	trace := "Traceback (most recent call last):\\nValueError: bad"
	for name, c := range map[string]struct {
		body  string
		check func(Envelope) bool
	}{
		"a failed rule": {`{"doc_hash": "` + givenDigest + `", "reason": "validation", "payload": "a,b\n1,2\n", "validation_output": "total: expected 3", "exception_context": "", "attempts": 1, "first_seen": "2026-02-11T09:42:13+00:00", "confidence": null}`,
			func(e Envelope) bool {
				return e.Reason == "validation" && e.ValidationOutput == "total: expected 3" && e.StackTrace == "" && e.Confidence == nil
			}},
		"an exception": {`{"doc_hash": "` + givenDigest + `", "reason": "exception", "payload": "x", "validation_output": "", "exception_context": "` + trace + `", "attempts": 3, "first_seen": "2026-02-11T09:42:13+00:00", "confidence": null}`,
			func(e Envelope) bool {
				return e.Reason == "exception" && strings.HasSuffix(e.StackTrace, "ValueError: bad") && e.ValidationOutput == nil && *e.Attempts == 3
			}},
		"a low score, as an exact decimal": {`{"doc_hash": "` + givenDigest + `", "reason": "low_confidence", "payload": "x", "first_seen": "2026-02-11T09:42:13+00:00", "confidence": "0.62"}`,
			func(e Envelope) bool { return e.Reason == "low_confidence" && *e.Confidence == 0.62 }},
	} {
		t.Run(name, func(t *testing.T) {
			e := parsed(t, c.body)
			if e.PayloadSHA256 != givenDigest || e.Payload == "" || e.FirstSeenAt == nil || e.LastSeenAt != nil || !c.check(e) {
				t.Errorf("read as %+v", e)
			}
		})
	}
}

func TestEveryAliasIsItsField(t *testing.T) {
	for alias, name := range aliases {
		value := `"x"`
		switch name {
		case "payload_sha256":
			value = `"` + givenDigest + `"`
		case "first_seen_at", "last_seen_at":
			value = `"2026-02-11T09:42:13Z"`
		}
		t.Run(alias, func(t *testing.T) {
			under, plain := parsed(t, `{"`+alias+`":`+value+`}`), parsed(t, `{"`+name+`":`+value+`}`)
			if !reflect.DeepEqual(under, plain) {
				t.Errorf("%s reads as %+v, %s as %+v", alias, under, name, plain)
			}
			both := parsed(t, `{"`+name+`":`+value+`,"`+alias+`":`+value+`}`)
			if !reflect.DeepEqual(both, plain) {
				t.Errorf("both, agreeing, read as %+v", both)
			}
		})
	}
	if e := parsed(t, `{"retry_count":0}`); e.Attempts == nil || *e.Attempts != 1 {
		t.Errorf("no retries are one delivery, got %v", e.Attempts)
	}
}

func TestAnAliasThatDisagreesWithItsFieldIsAFault(t *testing.T) {
	for body, want := range map[string]string{
		`{"doc_id":"1","document_id":"2"}`:                                                    "/document_id",
		`{"payload_sha256":"` + givenDigest + `","doc_hash":"` + otherDigest + `"}`:           "/doc_hash",
		`{"attempts":2,"retry_count":2}`:                                                      "/retry_count",
		`{"first_seen":"2026-02-11T09:42:13Z","first_seen_at":"2026-02-11T09:42:14Z"}`:        "/first_seen",
		`{"parser_version":"1","versions":{"parser":"2"}}`:                                    "/versions/parser",
		`{"source_version":"\"a\"","etag":"W/\"a\""}`:                                         "/etag",
		`{"last_seen":"2026-02-11T09:42:13Z","last_seen_at":"2026-02-11T09:42:13.001+00:00"}`: "/last_seen",
	} {
		_, err := ParseEnvelope([]byte(body), readAt)
		if KindOf(err) != KindInvalid || !reflect.DeepEqual(pointersOf(err), []string{want}) {
			t.Errorf("%s: faults at %v, want one at %s", body, pointersOf(err), want)
		}
	}
	for _, body := range []string{
		`{"first_seen":"2026-02-11T10:42:13+01:00","first_seen_at":"2026-02-11T09:42:13Z"}`,
		`{"doc_id":"1","document_id":null}`, `{"doc_id":"","document_id":"1"}`, `{"attempts":3,"retry_count":2}`,
		`{"parser_version":"1","versions":{"parser":"1","ocr":"5"}}`,
	} {
		parsed(t, body)
	}
}

func TestNullAndEmptyAreAbsent(t *testing.T) {
	want := parsed(t, `{}`)
	for _, value := range []string{`null`, `""`} {
		var fields []string
		for _, name := range []string{"source", "doc_id", "document_id", "content_hash", "payload_uri", "object_key", "payload", "payload_encoding", "payload_sha256", "doc_hash", "payload_bytes",
			"content_type", "filename", "source_version", "etag", "source_url", "source_updated_at", "cursor_at_arrival", "ingest_seq", "connector_version", "parser_version", "chunker_version",
			"embedder_version", "processing_version", "versions", "stage", "reason", "error_class", "error_type", "error_message", "stack_trace", "exception_context", "stack_trace_uri", "validation_output",
			"confidence", "attempts", "retry_count", "redrive_count", "first_seen_at", "last_seen_at", "first_seen", "last_seen", "indexed_version", "event_id", "redrive_id", "labels", "dlq_id"} {
			fields = append(fields, fmt.Sprintf("%q:%s", name, value))
		}
		if got := parsed(t, "{"+strings.Join(fields, ",")+"}"); !reflect.DeepEqual(got, want) {
			t.Errorf("all fields %s read as %+v", value, got)
		}
	}
}

func TestEveryFaultIsNamedAndNoneHidesAnother(t *testing.T) {
	long := strings.Repeat("ü", 513)
	body := `{"source":"` + strings.Repeat("s", 129) + `","doc_id":7,"content_hash":"` + strings.ToUpper(givenDigest) + `","payload_sha256":"9f2a4c1e-6b8d-0f37-a25c-194e7b0d6f82",
		"payload_bytes":-1,"payload_encoding":"hex","ingest_seq":1.5,"versions":{"parser":1,"a/b~c":2,"ocr":"` + long + `"},"labels":[],"stage":"` + long + `","reason":"bored",
		"confidence":1.01,"attempts":0,"redrive_count":99999999999,"retry_count":"3","first_seen_at":"yesterday","last_seen_at":"2026-03-02T12:00:01Z","source_updated_at":"1969-12-31T23:59:59Z",
		"event_id":"a\u0000b","stack_trace":["x"]}`
	_, err := ParseEnvelope([]byte(body), readAt)
	want := map[string]string{
		"/source": "at most 128 characters expected, got 129", "/doc_id": "a string expected, got a number",
		"/content_hash": "64 lower-case hex digits expected, got upper-case digits", "/payload_sha256": "64 lower-case hex digits expected, got 36 characters",
		"/payload_bytes": "at least 0 expected, got -1", "/payload_encoding": `got "hex"`, "/ingest_seq": "a whole number within 64 bits expected, got 1.5",
		"/versions/parser": "a string expected, got a number", "/versions/a~1b~0c": "a string expected", "/versions/ocr": "at most 512 characters expected, got 513",
		"/labels": "an object of strings expected, got a list", "/stage": "at most 512 characters expected, got 513", "/reason": `got "bored"`,
		"/confidence": "a number from 0 to 1 expected, got 1.01", "/attempts": "at least 1 expected, got 0", "/redrive_count": "at most 2147483647 expected",
		"/retry_count": "a whole number expected, got a string", "/first_seen_at": `an RFC 3339 time expected`, "/last_seen_at": "at most 24 h in the future expected",
		"/source_updated_at": "since 1970", "/event_id": "NUL", "/stack_trace": "a string expected, got a list",
	}
	got := map[string]string{}
	for _, f := range faultsOf(err) {
		got[f.Pointer] = f.Detail
	}
	for p, detail := range want {
		if !strings.Contains(got[p], detail) {
			t.Errorf("%s: %q, want %q in it", p, got[p], detail)
		}
	}
	if len(got) != len(want) || len(faultsOf(err)) != len(want) {
		t.Errorf("%d faults at %v, want %d", len(faultsOf(err)), pointersOf(err), len(want))
	}
	if KindOf(err) != KindInvalid || !strings.HasPrefix(err.Error(), "22 fields of the envelope are wrong") {
		t.Errorf("said as %q of kind %q", err, KindOf(err))
	}
}

func TestAFaultyEnvelopeStillSaysWhoseItIs(t *testing.T) {
	e, err := ParseEnvelope([]byte(`{"source":"wiki","doc_id":"1","attempts":0}`), readAt)
	if err == nil || e.Source != "wiki" || e.DocID != "1" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestLimitsAreInCharactersAndInclusive(t *testing.T) {
	for field, most := range map[string]int{"source": 128, "doc_id": 512, "parser_version": 512, "filename": 4096, "payload_uri": 4096, "source_version": 4096, "event_id": 512} {
		parsed(t, `{"`+field+`":"`+strings.Repeat("ü", most)+`"}`)
		_, err := ParseEnvelope([]byte(`{"`+field+`":"`+strings.Repeat("ü", most+1)+`"}`), readAt)
		if !reflect.DeepEqual(pointersOf(err), []string{"/" + field}) {
			t.Errorf("%s of %d characters: faults at %v", field, most+1, pointersOf(err))
		}
	}
	many := func(n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(`"k%d":"v"`, i))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for _, field := range []string{"versions", "labels"} {
		parsed(t, `{"`+field+`":`+many(64)+`}`)
		if _, err := ParseEnvelope([]byte(`{"`+field+`":`+many(65)+`}`), readAt); !reflect.DeepEqual(pointersOf(err), []string{"/" + field}) {
			t.Errorf("65 %s: faults at %v", field, pointersOf(err))
		}
	}
}

func TestTextsAreNeverRefusedForLengthAlone(t *testing.T) {
	for _, field := range []string{"stack_trace", "error_message", "validation_output"} {
		if e := parsed(t, `{"`+field+`":"`+strings.Repeat("x", MaxEnvelope-100)+`"}`); len(e.StackTrace)+len(e.ErrorMessage)+len(e.ValidationText()) != MaxEnvelope-100 {
			t.Errorf("%s was cut while it was read", field)
		}
	}
	_, err := ParseEnvelope([]byte(`{"stack_trace":"`+strings.Repeat("x", MaxEnvelope)+`"}`), readAt)
	if KindOf(err) != KindTooLarge {
		t.Errorf("an envelope over the limit: %v", err)
	}
}

func TestTimesOfAnEnvelope(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"UTC":                        {"2026-02-11T09:41:07Z", "2026-02-11T09:41:07Z"},
		"an offset":                  {"2026-02-11T10:41:07+01:00", "2026-02-11T09:41:07Z"},
		"no offset is UTC":           {"2026-02-11T09:41:07.25", "2026-02-11T09:41:07.25Z"},
		"cut to the millisecond":     {"2026-02-11T09:41:07.9999999Z", "2026-02-11T09:41:07.999Z"},
		"24 h in the future":         {"2026-03-02T12:00:00Z", "2026-03-02T12:00:00Z"},
		"the start of the epoch":     {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		"a date":                     {"2026-02-11", ""},
		"a blank for the T":          {"2026-02-11 09:41:07Z", ""},
		"more than 24 h ahead":       {"2026-03-02T12:00:00.001Z", ""},
		"a clock that was never set": {"0001-01-01T00:00:00Z", ""},
		"the thirtieth of February":  {"2026-02-30T00:00:00Z", ""},
		"a number of seconds":        {"1770802867", ""},
	} {
		e, err := ParseEnvelope([]byte(`{"last_seen_at":"`+c.in+`"}`), readAt)
		switch {
		case c.want == "" && !reflect.DeepEqual(pointersOf(err), []string{"/last_seen_at"}):
			t.Errorf("%s: %q was read as %v, faults %v", name, c.in, e.LastSeenAt, pointersOf(err))
		case c.want != "" && (err != nil || !e.LastSeenAt.Equal(*rfc(c.want))):
			t.Errorf("%s: %q was read as %v, %v", name, c.in, e.LastSeenAt, err)
		}
	}
	_, err := ParseEnvelope([]byte(`{"first_seen":"2026-02-11T09:41:08Z","last_seen_at":"2026-02-11T09:41:07Z"}`), readAt)
	if !reflect.DeepEqual(pointersOf(err), []string{"/first_seen_at"}) {
		t.Errorf("first after last: faults at %v", pointersOf(err))
	}
}

func TestAClassOutsideTheTaxonomyIsAType(t *testing.T) {
	for name, c := range map[string]struct{ body, class, typ string }{
		"an exception's name":         {`{"error_class":"PDFSyntaxError"}`, "", "PDFSyntaxError"},
		"a class of the taxonomy":     {`{"error_class":"resource_fatal"}`, "resource_fatal", ""},
		"another word, beside a type": {`{"error_class":"poisonous","error_type":"X"}`, "poisonous", "X"},
		"both as they should be":      {`{"error_class":"transient","error_type":"X"}`, "transient", "X"},
		"the taxonomy has one case":   {`{"error_class":"Transient"}`, "", "Transient"},
	} {
		if e := parsed(t, c.body); e.ErrorClass != c.class || e.ErrorType != c.typ {
			t.Errorf("%s: class %q and type %q", name, e.ErrorClass, e.ErrorType)
		}
	}
}

func TestTheReasonDefaultsToWhatIsGiven(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                        "exception",
		`{"validation_output":"x"}`: "validation",
		`{"validation_output":[{"rule":"total"}],"error_class":"permanent_input"}`: "validation",
		`{"validation_output":"x","stack_trace":"y"}`:                              "exception",
		`{"validation_output":"x","error_type":"E"}`:                               "exception",
		`{"validation_output":"x","error_message":"m"}`:                            "exception",
		`{"confidence":0.2}`:                                  "exception",
		`{"confidence":0.2,"reason":"low_confidence"}`:        "low_confidence",
		`{"validation_output":"x","reason":"exception"}`:      "exception",
		`{"stack_trace":"x","reason":"validation"}`:           "validation",
		`{"stack_trace":"","validation_output":[{"rule":1}]}`: "validation",
	} {
		if e := parsed(t, body); e.Reason != want {
			t.Errorf("%s: %q, want %q", body, e.Reason, want)
		}
	}
}

func TestALowScoreNeedsItsNumber(t *testing.T) {
	for value, ok := range map[string]bool{`0`: true, `1`: true, `0.75`: true, `"0.62"`: true, `7.5e-1`: true, `-0.01`: false, `1.0001`: false, `"high"`: false, `"NaN"`: false, `true`: false, `null`: false} {
		_, err := ParseEnvelope([]byte(`{"reason":"low_confidence","confidence":`+value+`}`), readAt)
		if ok != (err == nil) || (!ok && !reflect.DeepEqual(pointersOf(err), []string{"/confidence"})) {
			t.Errorf("confidence %s: faults at %v", value, pointersOf(err))
		}
	}
}

func TestInlineBytes(t *testing.T) {
	raw := string([]byte{0x25, 0x50, 0xff, 0x00, 0x0a})
	for name, c := range map[string]struct{ body, want string }{
		"text":           {`{"payload":"a,b\n1,ü\n"}`, "a,b\n1,ü\n"},
		"text, said":     {`{"payload":"x","payload_encoding":"utf-8"}`, "x"},
		"base64":         {`{"payload":"` + base64.StdEncoding.EncodeToString([]byte(raw)) + `","payload_encoding":"base64"}`, raw},
		"text with NULs": {`{"payload":"a\u0000b"}`, "a\x00b"},
	} {
		if got, ok := parsed(t, c.body).InlinePayload(); !ok || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	if _, ok := parsed(t, `{"payload_encoding":"base64"}`).InlinePayload(); ok {
		t.Error("no payload has bytes")
	}
	if _, err := ParseEnvelope([]byte(`{"payload":"%%%","payload_encoding":"base64"}`), readAt); !reflect.DeepEqual(pointersOf(err), []string{"/payload"}) {
		t.Errorf("what is no base64: faults at %v", pointersOf(err))
	}
}

func TestWhatIsNoSingleObjectIsMalformed(t *testing.T) {
	nested := func(levels int) string {
		return `{"x":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
	}
	for name, body := range map[string]string{
		"nothing": "", "a list": `[{}]`, "text": `"x"`, "a duplicate name": `{"source":"a","source":"b"}`, "a duplicate deep down": `{"labels":{"a":"1","a":"2"}}`,
		"two values": `{} {}`, "33 levels": nested(33), "invalid UTF-8": "{\"source\":\"\xff\"}", "names that differ by case": `{"source":"a","SOURCE":"b"}`, "cut off": `{"source":"wi`,
	} {
		if _, err := ParseEnvelope([]byte(body), readAt); KindOf(err) != KindMalformed {
			t.Errorf("%s: %v", name, err)
		}
	}
	parsed(t, nested(32))
}

func TestHostileTextIsKeptAsItCame(t *testing.T) {
	for name, text := range map[string]string{
		"NUL": "a\x00b", "ANSI": "\x1b[31mred\x1b[0m\x1b]0;title\x07", "bidi": "invoice\u202egnp.exe", "zero width": "a\u200bb\ufeff", "markup": `<script>alert(1)</script>`,
		"a line separator": "a\u2028b", "private use": "\ue000", "astral": "😀",
	} {
		var e Envelope
		e.ErrorMessage, e.StackTrace, e.Filename, e.SourceVersion = text, text, text, text
		body, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed(t, string(body)); got.ErrorMessage != text || got.StackTrace != text || got.Filename != text || got.SourceVersion != text {
			t.Errorf("%s: read as %q", name, got.ErrorMessage)
		}
	}
	for _, field := range []string{"source", "doc_id", "event_id", "redrive_id", "dlq_id"} {
		if _, err := ParseEnvelope([]byte(`{"`+field+`":"a\u0000b"}`), readAt); !reflect.DeepEqual(pointersOf(err), []string{"/" + field}) {
			t.Errorf("NUL in %s: faults at %v", field, pointersOf(err))
		}
	}
	if e := parsed(t, `{"error_message":"cut \ud83d"}`); e.ErrorMessage != "cut \ufffd" {
		t.Errorf("half of a surrogate pair: %q", e.ErrorMessage)
	}
}

func TestFaultsOfHostileValuesStayShort(t *testing.T) {
	huge := strings.Repeat("A", 100_000)
	_, err := ParseEnvelope([]byte(`{"reason":"`+huge[:512]+`","confidence":"`+huge+`","first_seen_at":"`+huge+`","versions":{"`+huge[:200]+`":1},"content_hash":"`+huge+`","ingest_seq":1e`+strings.Repeat("9", 50_000)+`}`), readAt)
	for _, f := range faultsOf(err) {
		if len(f.Pointer)+len(f.Detail) > 400 {
			t.Errorf("a fault of %d bytes at %.40s", len(f.Pointer)+len(f.Detail), f.Pointer)
		}
	}
	if len(faultsOf(err)) != 6 {
		t.Errorf("%d faults at %.200v, want 6", len(faultsOf(err)), pointersOf(err))
	}
}

func TestRealTracesPassThroughAnEnvelope(t *testing.T) {
	folder := "../../shared/cases/traces"
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Skip("the folder of real cases is not here")
	}
	n := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".txt") {
			continue
		}
		b, err := os.ReadFile(folder + "/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ToValidUTF8(string(b), "\ufffd")
		body, err := Envelope{Source: "wiki", DocID: "1", StackTrace: text}.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > MaxEnvelope {
			continue
		}
		n++
		if e := parsed(t, string(body)); e.StackTrace != text {
			t.Errorf("%s came out differently", f.Name())
		}
	}
	if n == 0 {
		t.Error("no trace was read")
	}
}
