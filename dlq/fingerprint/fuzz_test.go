package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// longestCall is far more than any text within the bounds takes, on a slow and
// busy machine too: only work that grows faster than the text exceeds it.
const longestCall = 2 * time.Second

func FuzzOf(f *testing.F) {
	for _, s := range fragments {
		f.Add(s, "a.B", "x", s)
	}
	for _, trace := range traces {
		f.Add(trace, "", "", "")
	}
	for _, s := range []string{pyGroup(pythonTrace, pythonTrace), jsonString(nodeTrace), jsonString(rustTrace), jsLoadTime("BaseExceptionClosure", "  name: 'X'\n"), goWrapped,
		psTrace + psThrow, asanTrace + gdbTrace, rustTrace + rustTrace, "Error: a\n\nCaused by:\n    0: b\n    1: c\n\nLocation:\n    src/a.rs:1:2\n"} {
		f.Add(s, "", "", "")
	}
	names, _ := filepath.Glob("testdata/*.txt")
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b), "", "", "")
		}
	}
	f.Fuzz(func(t *testing.T, trace, typ, message, validation string) {
		in := Input{Trace: trace, ErrorType: typ, ErrorMessage: message, Validation: validation}
		start := time.Now()
		r := Of(in)
		if took := time.Since(start); took > longestCall {
			t.Errorf("took %v for %d bytes", took, len(trace)+len(message)+len(validation))
		}
		sum := sha256.Sum256([]byte(r.Canonical))
		if r.Canonical == "" || r.Digest != hex.EncodeToString(sum[:16]) {
			t.Errorf("digest %s is not that of %q", r.Digest, r.Canonical)
		}
		checkTemplate(t, message)
		checkResult(t, in)
	})
}

func FuzzParseValidation(f *testing.F) {
	for _, s := range []string{
		`[{"rule":"size","path":"/trailer/Root","message":"m","expected":"e","got":"g","passed":false}]`,
		"2 validation errors for Order\nlines.0.sku\n  Field required [type=missing, input_value={'qty': 1}, input_type=dict]\n",
		"1 validation error for Order\nlines -> 3 -> qty\n  too small (type=value_error.number.not_gt; limit_value=0)\n",
		`{"detail":[{"type":"missing","loc":["body","amount"],"msg":"Field required","input":null}]}`,
		"'currency' is a required property\n\nFailed validating 'required' in schema['properties']['lines']['items']:\n    {'type': 'object'}\n\nOn instance['lines'][2]:\n    {'qty': 1}\n",
		`{"valid":false,"errors":[{"keywordLocation":"/properties/amount/type","instanceLocation":"/amount","error":"expected number"}]}`,
		`[{"instancePath":"/lines/0","schemaPath":"#/required","keyword":"required","params":{"missingProperty":"sku"},"message":"m"}]`,
		"data/lines/0 must have required property 'sku', data/amount must be number",
		"ZodError: [\n  {\"code\":\"invalid_type\",\"path\":[\"lines\",0,\"sku\"],\"message\":\"Required\"}\n]",
		"Field error in object 'order' on field 'lines[0].sku': rejected value [-1]; codes [Min.order.amount,Min.amount,Min]; default message [must be positive]",
		"amount: must be positive\nlines[0].sku: must not be null\n", "{\"a\":[{\"a\":[{", "[[[[[[[[", "\"\\u0000\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		rules, model, structured := ParseValidation(text)
		if took := time.Since(start); took > longestCall {
			t.Errorf("took %v for %d bytes", took, len(text))
		}
		if len(rules) > maxRules {
			t.Errorf("%d rules", len(rules))
		}
		again, sameModel, sameForm := ParseValidation(text)
		if strings.Join(failedPairs(again), "\n") != strings.Join(failedPairs(rules), "\n") || model != sameModel || structured != sameForm {
			t.Error("not the same twice")
		}
		checkResult(t, Input{Validation: text, ErrorType: "ValidationError", Reason: reasonValidation})
	})
}

// checkTemplate says what holds of every template: it is one line, bounded, and
// the same for a template's own text, unless brackets or quotes stand round a
// placeholder.
func checkTemplate(t *testing.T, message string) {
	t.Helper()
	once := Template(message)
	if strings.ContainsAny(once, "\n\r") || len([]rune(once)) > maxTemplate {
		t.Errorf("template %q", once)
	}
	if strings.ContainsAny(message, "'\"`“”‘’«»[]{}<>/\\@:_") || len(message) > maxTemplate {
		return
	}
	if twice := Template(once); twice != once {
		t.Errorf("template %q of %q, and %q of itself", once, message, twice)
	}
}
