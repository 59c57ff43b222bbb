package fingerprint

import (
	"strings"
	"testing"
)

func TestATraceInTheMessageIsTheTrace(t *testing.T) {
	for language, trace := range traces {
		in := Input{ErrorType: "invoices.errors.HeaderError", ErrorMessage: "parse failed\n" + trace}
		r := Of(in)
		if r.Mode != ModeTrace || r.Digest != ofTrace(trace).Digest {
			t.Errorf("%s: mode %s\n%s", language, r.Mode, r.Canonical)
		}
		if lines := Annotate(in, r); len(lines) > 0 {
			t.Errorf("%s: %d lines of a trace that was not sent", language, len(lines))
		}
	}
	if r := Of(Input{ErrorType: "SyntaxError", ErrorMessage: "Unexpected token at position 5 (line 1)"}); r.Mode != ModeMessage {
		t.Errorf("mode %s", r.Mode)
	}
	if r := Of(Input{ErrorMessage: nodeTrace, Trace: pythonTrace}); r.Language != "python" {
		t.Errorf("language %s: the trace that was sent counts", r.Language)
	}
}

func TestReportedTypesAreReadAsReportersWriteThem(t *testing.T) {
	for typ, want := range map[string]string{
		"acme.pdf.BrokenPage": "BrokenPage", "<class 'acme.pdf.BrokenPage'>": "BrokenPage", "acme.pdf.BrokenPage: page 7": "BrokenPage", "*pdf.BrokenPage": "BrokenPage", "*BrokenPage": "BrokenPage",
		"Acme\\Pdf\\BrokenPage": "BrokenPage", "Acme::Pdf::BrokenPage": "BrokenPage", "runtime error": "runtime error", "TypeError [ERR_X]: y": "TypeError", "": "", "  BrokenPage ": "BrokenPage",
	} {
		if got := (Input{ErrorType: typ}).typeName(); got != want {
			t.Errorf("%q read as %q, want %q", typ, got, want)
		}
	}
}

func TestRulesInTheMessageCountWhereTheReasonIsValidation(t *testing.T) {
	message := "1 validation error for Order\nsku\n  Field required [type=missing, input_value={}, input_type=dict]"
	r := Of(Input{Reason: "validation", ErrorType: "Refused", ErrorMessage: message})
	if r.Mode != ModeValidation || !strings.Contains(r.Canonical, "rule=sku missing\n") {
		t.Errorf("mode %s\n%s", r.Mode, r.Canonical)
	}
	if r := Of(Input{Reason: "validation", ErrorType: "Refused", ErrorMessage: "the order is not valid"}); r.Mode != ModeMessage {
		t.Errorf("mode %s: a sentence alone is no set of rules", r.Mode)
	}
}
