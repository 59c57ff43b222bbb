package fingerprint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// failed lists the failing pairs of a text, as they enter a key.
func failed(text string) string {
	rules, _, _ := ParseValidation(text)
	return strings.Join(failedPairs(rules), "; ")
}

func TestEachValidatorsOutputIsReadAsRules(t *testing.T) {
	for name, c := range map[string]struct{ text, want, model string }{
		"our own": {`[{"rule":"document.structure","path":"/trailer/Root","message":"the file has a catalogue","expected":"indirect reference","got":"absent","passed":false},{"rule":"size","passed":true}]`,
			"trailer.Root document.structure", ""},
		"pydantic 2 text": {"2 validation errors for Order\nlines.0.sku\n  Field required [type=missing, input_value={'qty': 1}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.13/v/missing\namount\n  Input should be a valid number [type=float_type, input_value='1.234,56', input_type=str]\n",
			"amount float_type; lines.*.sku missing", "Order"},
		"pydantic 1 text": {"1 validation error for Order\nlines -> 3 -> qty\n  ensure this value is greater than 0 (type=value_error.number.not_gt; limit_value=0)\n",
			"lines.*.qty value_error.number.not_gt", "Order"},
		"pydantic 2 list": {`[{"type":"missing","loc":["lines",0,"sku"],"msg":"Field required","input":{"qty":1}}]`, "lines.*.sku missing", ""},
		"pydantic 1 list": {`[{"loc":["amount"],"msg":"value is not a valid float","type":"type_error.float"}]`, "amount type_error.float", ""},
		"FastAPI":         {`{"detail":[{"type":"missing","loc":["body","amount"],"msg":"Field required","input":null}]}`, "body.amount missing", ""},
		"jsonschema text": {"'currency' is a required property\n\nFailed validating 'required' in schema['properties']['lines']['items']:\n    {'type': 'object'}\n\nOn instance['lines'][2]:\n    {'qty': 1}\n",
			"lines.*.currency required", ""},
		"jsonschema object": {`[{"validator":"type","path":["lines",1,"qty"],"message":"'a' is not of type 'number'"}]`, "lines.*.qty type", ""},
		"JSON Schema basic output": {`{"valid":false,"errors":[{"keywordLocation":"/properties/amount/type","instanceLocation":"/amount","error":"expected number"},{"keywordLocation":"/required","instanceLocation":"","error":"required property 'sku' missing"}]}`,
			"amount type; sku required", ""},
		"JSON Schema detailed output": {`{"valid":false,"details":[{"valid":false,"instanceLocation":"/lines/0","evaluationPath":"/x","errors":{"minimum":"too small"}}]}`, "lines.* minimum", ""},
		"ajv errors": {`[{"instancePath":"/lines/0","schemaPath":"#/required","keyword":"required","params":{"missingProperty":"sku"},"message":"must have required property 'sku'"}]`,
			"lines.*.sku required", ""},
		"ajv text":                      {"data/lines/0 must have required property 'sku', data/amount must be number", "amount type; lines.*.sku required", ""},
		"zod text":                      {"ZodError: [\n  {\"code\":\"invalid_type\",\"expected\":\"string\",\"received\":\"undefined\",\"path\":[\"lines\",0,\"sku\"],\"message\":\"Required\"}\n]", "lines.*.sku invalid_type", ""},
		"zod object":                    {`{"name":"ZodError","issues":[{"code":"too_big","maximum":3,"path":["currency"],"message":"Too big"}]}`, "currency too_big", ""},
		"zod serialised into a message": {`{"name":"ZodError","message":"[{\"code\":\"too_big\",\"path\":[\"currency\"],\"message\":\"Too big\"}]"}`, "currency too_big", ""},
		"Spring's binding errors":       {`{"errors":[{"objectName":"order","field":"lines[0].sku","code":"NotNull","defaultMessage":"must not be null","rejectedValue":null}]}`, "lines.*.sku NotNull", "order"},
		"Spring's text": {"Validation failed for argument [0]: [Field error in object 'order' on field 'amount': rejected value [-1]; codes [Min.order.amount,Min.amount,Min]; arguments [x]; default message [must be greater than or equal to 0]] ",
			"amount Min", "order"},
		"Bean Validation text": {"create.order.lines[0].sku: must not be null, create.order.amount: must be greater than 0", "create.order.amount must be greater than <int>; create.order.lines.*.sku must not be null", ""},
		"Hibernate's list": {"Validation failed for classes [com.x.Order] during persist time for groups [jakarta.validation.groups.Default, ]\nList of constraint violations:[\n\tConstraintViolationImpl{interpolatedMessage='must not be null', propertyPath=sku, rootBeanClass=class com.x.Order, messageTemplate='{jakarta.validation.constraints.NotNull.message}'}\n]",
			"sku NotNull", "Order"},
		"Great Expectations": {`{"success":false,"results":[{"success":false,"expectation_config":{"expectation_type":"expect_column_values_to_not_be_null","kwargs":{"column":"amount"}},"result":{"unexpected_count":3}},{"success":true,"expectation_config":{"type":"expect_table_row_count","kwargs":{}}}]}`,
			"amount expect_column_values_to_not_be_null", ""},
	} {
		rules, model, structured := ParseValidation(c.text)
		if got := strings.Join(failedPairs(rules), "; "); got != c.want || model != c.model || !structured {
			t.Errorf("%s\n got  %q, model %q, structured %v\n want %q, model %q", name, got, model, structured, c.want, c.model)
		}
	}
}

func TestRulesKeepWhatAPersonNeeds(t *testing.T) {
	rules, _, _ := ParseValidation(`[{"rule":"document.structure","path":"/trailer/Root","message":"the file has a catalogue","expected":"indirect reference","got":"absent","passed":false},{"rule":"size","message":"under 64 MB","passed":true}]`)
	want := []Rule{
		{Rule: "document.structure", Path: "/trailer/Root", Message: "the file has a catalogue", Expected: "indirect reference", Got: "absent"},
		{Rule: "size", Message: "under 64 MB", Passed: true},
	}
	if !slices.Equal(rules, want) {
		t.Errorf("got %+v", rules)
	}
	rules, _, _ = ParseValidation("1 validation error for Order\namount\n  Input should be a valid number [type=float_type, input_value='1.234,56', input_type=str]")
	if rules[0].Got != "'1.234,56'" || rules[0].Message != "Input should be a valid number" {
		t.Errorf("got %+v", rules[0])
	}
}

func TestPlainListsAreOneRuleALine(t *testing.T) {
	rules, _, structured := ParseValidation("- amount: must not be empty\n2) page 3 has no text\n✓ size under 64 MB\nFAIL signature missing\n")
	want := []Rule{
		{Path: "amount", Message: "must not be empty"}, {Message: "page 3 has no text"},
		{Message: "size under 64 MB", Passed: true}, {Message: "signature missing"},
	}
	if !slices.Equal(rules, want) || structured {
		t.Errorf("got %+v, structured %v", rules, structured)
	}
	if failed("page 3 has no text") != failed("page 14 has no text") {
		t.Error("the number of the page counts")
	}
}

func TestValidationKeyIsTheSetNotTheValues(t *testing.T) {
	order := func(errors ...string) Input {
		return Input{Validation: fmt.Sprintf("%d validation errors for Order\n", len(errors)) + strings.Join(errors, "\n")}
	}
	sku := func(line int, value string) string {
		return fmt.Sprintf("lines.%d.sku\n  Field required [type=missing, input_value=%s, input_type=dict]", line, value)
	}
	amount := "amount\n  Input should be a valid number [type=float_type, input_value='x', input_type=str]"
	one := Of(order(sku(0, "{'qty': 1}")))
	if one.Mode != ModeValidation || one.Confidence != ConfidenceHigh {
		t.Errorf("mode %s, confidence %s", one.Mode, one.Confidence)
	}
	if got := Of(order(sku(7, "{}"), sku(9, "{'a': 'b'}"))); got.Digest != one.Digest {
		t.Errorf("other lines and values give another digest:\n%s\n%s", one.Canonical, got.Canonical)
	}
	if got := Of(order(sku(0, "{}"), amount)); got.Digest == one.Digest {
		t.Error("one field wrong and two fields wrong are the same")
	}
	if got := Of(Input{Validation: strings.Replace(order(sku(0, "{}")).Validation, "Order", "Invoice", 1)}); got.Digest == one.Digest {
		t.Error("another model is the same")
	}
}

func TestManyRulesAreCounted(t *testing.T) {
	list := func(n int) Input {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "field_%c%c: must not be empty\n", 'a'+i/26, 'a'+i%26)
		}
		return Input{Validation: b.String()}
	}
	r := Of(list(30))
	if strings.Count(r.Canonical, "\nrule=") != 20 || !strings.HasSuffix(r.Canonical, "\ncount=21+\n") {
		t.Errorf("canonical %q", r.Canonical)
	}
	if Of(list(40)).Digest != r.Digest {
		t.Error("how many more counts")
	}
}

func TestValidationExceptionIsKeyedByItsRules(t *testing.T) {
	message := "1 validation error for Order\nsku\n  Field required [type=missing, input_value={}, input_type=dict]"
	raised := pyBlockText("pydantic_core._pydantic_core.ValidationError: "+message, "main@/app/job.py", "__init__@"+lib+"main.py")
	r := ofTrace(raised)
	if r.Mode != ModeValidation || r.Type != "ValidationError" {
		t.Errorf("mode %s, type %q", r.Mode, r.Type)
	}
	wantFrames(t, r, "__init__@main.py", "main@job.py") // for the reader
	wantSame(t, raised, strings.Replace(raised, "/app/job.py", "/app/other.py", 1))
	wantApart(t, raised, strings.Replace(raised, "\nsku\n", "\namount\n", 1))

	wrapper := directly + pyBlockText("StageError: invalid", "main@/app/job.py", "stage@/app/job.py")
	r = ofTrace(raised + wrapper)
	if r.Mode != ModeValidation || r.Type != "StageError" || r.RootType != "ValidationError" {
		t.Errorf("wrapped: mode %s, type %q, root %q", r.Mode, r.Type, r.RootType)
	}
	wantApart(t, raised+wrapper, strings.Replace(raised, "\nsku\n", "\namount\n", 1)+wrapper)
}

func TestATypeThatOnlySoundsLikeValidationKeepsItsTrace(t *testing.T) {
	r := ofTrace(pyBlockText("acme.ValidationError: bad signature", "main@/app/job.py", "check@"+lib+"sign.py"))
	if r.Mode != ModeTrace {
		t.Errorf("mode %s", r.Mode)
	}
}

func TestTraceOutranksValidationOutputOfAnotherType(t *testing.T) {
	in := Input{Trace: pythonTrace, Validation: "amount: must not be empty"}
	if r := Of(in); r.Mode != ModeTrace {
		t.Errorf("mode %s", r.Mode)
	}
	in.Reason = "validation"
	if r := Of(in); r.Mode != ModeValidation {
		t.Errorf("mode %s where the pipeline says it was validation", r.Mode)
	}
}
