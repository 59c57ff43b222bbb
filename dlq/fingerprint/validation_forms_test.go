package fingerprint

import (
	"fmt"
	"strings"
	"testing"
)

func TestEachValidatorsFormGivesPlaceAndRule(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"pydantic's errors as Python prints them": {`[{'type': 'missing', 'loc': ('lines', 0, 'sku'), 'msg': 'Field required', 'input': {'qty': 1}, 'url': 'https://errors.pydantic.dev/2.13/v/missing'}, {'type': 'decimal_parsing', 'loc': ('amount',), 'msg': "Input should be a valid decimal", 'input': Decimal('1'), 'ctx': {'error': ValueError('x')}}]`,
			"amount decimal_parsing; lines.*.sku missing"},
		"pydantic, whole model":                  {"1 validation error for Order\n  Value error, totals differ [type=value_error, input_value={'a': 1}, input_type=dict]\n", "value_error"},
		"pydantic behind its type":               {"pydantic_core._pydantic_core.ValidationError: 1 validation error for Order\nsku\n  Field required [type=missing, input_value={}, input_type=dict]\n", "sku missing"},
		"pydantic's root":                        {"1 validation error for Order\n__root__\n  totals differ (type=value_error)\n", "__root__ value_error"},
		"jsonschema, two errors in a row":        {"'sku' is a required property\n\nFailed validating 'required' in schema['properties']['lines']['items']:\n    {'type': 'object',\n     'required': ['sku']}\n\nOn instance['lines'][2]:\n    {'qty': 1}\n\n'x' is not of type 'number'\n\nFailed validating 'type' in schema['properties']['amount']:\n    {'type': 'number'}\n\nOn instance['amount']:\n    'x'\n", "amount type; lines.*.sku required"},
		"ajv, by pointer":                        {"/lines/0 must have required property 'sku', /amount must be number", "amount type; lines.*.sku required"},
		"ajv, older":                             {"data.lines[0] should have required property 'sku', data.amount should be number", "amount type; lines.*.sku required"},
		"Fastify":                                {"body/lines/0 must have required property 'sku'", "lines.*.sku required"},
		"everit text":                            {"org.everit.json.schema.ValidationException: #: 2 schema violations found\n#/lines/0: required key [sku] not found\n#/amount: expected type: Number, found: String", "amount type; lines.*.sku required"},
		"everit JSON":                            {`{"schemaLocation":"#","pointerToViolation":"#","causingExceptions":[{"schemaLocation":"#/x","pointerToViolation":"#/lines/0","causingExceptions":[],"keyword":"required","message":"required key [sku] not found"},{"pointerToViolation":"#/amount","causingExceptions":[],"keyword":"type","message":"expected type: Number, found: String"}],"message":"#: 2 schema violations found"}`, "amount type; lines.*.sku required"},
		"networknt text":                         {"$.lines[0].sku: is missing but it is required, $.amount: string found, number expected", "amount type; lines.*.sku required"},
		"networknt, newer":                       {"$.lines[0]: required property 'sku' not found\n$.amount: string found, number expected", "amount type; lines.*.sku required"},
		"Java's first validator":                 {`[{"level":"error","schema":{"loadingURI":"/o.json#","pointer":"/properties/lines"},"instance":{"pointer":"/lines/0"},"domain":"validation","keyword":"required","message":"object has missing required properties ([\"sku\"])","required":["sku"],"missing":["sku"]}]`, "lines.*.sku required"},
		"zod's issues as JavaScript prints them": {"[\n  {\n    code: 'invalid_type',\n    expected: 'string',\n    received: undefined,\n    path: [ 'lines', 0, 'sku' ],\n    message: 'Required'\n  }\n]", "lines.*.sku invalid_type"},
		"zod, flattened":                         {`{"formErrors":[],"fieldErrors":{"sku":["Required"],"amount":["Expected number, received string"]}}`, "amount Expected number, received string; sku Required"},
		"zod, formatted":                         {`{"_errors":[],"lines":{"_errors":[],"0":{"_errors":[],"sku":{"_errors":["Required"]}}}}`, "lines.*.sku Required"},
		"zod 4, as a tree":                       {`{"errors":[],"properties":{"lines":{"errors":[],"items":[{"errors":[],"properties":{"sku":{"errors":["Invalid input"]}}}]}}}`, "lines.*.sku Invalid input"},
		"zod 4, prettified":                      {"✖ Invalid input: expected string, received undefined\n  → at lines[0].sku\n✖ Too big: expected number to be <=3\n  → at amount\n", "amount Too big: expected number to be <=<int>; lines.*.sku Invalid input: expected string, received undefined"},
		"zod-validation-error":                   {`Validation error: Required at "lines[0].sku"; Expected number, received string at "amount"`, "amount Expected number, received string; lines.*.sku Required"},
		"joi":                                    {`{"_original":{},"details":[{"message":"\"lines[0].sku\" is required","path":["lines",0,"sku"],"type":"any.required","context":{"label":"lines[0].sku","key":"sku"}}]}`, "lines.*.sku any.required"},
		"yup":                                    {`{"name":"ValidationError","errors":["lines[0].sku is a required field"],"inner":[{"path":"lines[0].sku","type":"optionality","message":"lines[0].sku is a required field"}]}`, "lines[<int>].sku is a required field"},
		"class-validator":                        {`[{"target":{},"property":"lines","children":[{"property":"0","children":[{"property":"sku","constraints":{"isNotEmpty":"sku should not be empty"}}]}]}]`, "lines.*.sku isNotEmpty"},
		"express-validator":                      {`{"errors":[{"type":"field","value":"x","msg":"Invalid value","path":"lines[0].sku","location":"body"}]}`, "lines.*.sku field"},
		"mongoose":                               {`{"errors":{"sku":{"name":"ValidatorError","message":"Path sku is required.","kind":"required","path":"sku"}},"_message":"order validation failed"}`, "sku required"},
		"Spring's problem":                       {`{"timestamp":"2026-02-11","status":400,"error":"Bad Request","path":"/orders","errors":[{"codes":["NotNull.order.sku","NotNull"],"defaultMessage":"must not be null","objectName":"order","field":"lines[0].sku","rejectedValue":null,"code":"NotNull"}]}`, "lines.*.sku NotNull"},
		"RESTEasy":                               {`{"title":"Constraint Violation","status":400,"violations":[{"field":"create.order.lines[0].sku","message":"must not be null"}]}`, "create.order.lines.*.sku must not be null"},
		"ASP.NET's problem":                      {`{"type":"https://tools.ietf.org/html/rfc9110#section-15.5.1","title":"One or more validation errors occurred.","status":400,"errors":{"Lines[0].Sku":["The Sku field is required."]},"traceId":"00-1-2-00"}`, "Lines.*.Sku The Sku field is required."},
		"Laravel":                                {`{"message":"The sku field is required. (and 1 more error)","errors":{"lines.0.sku":["The sku field is required."],"amount":["The amount must be a number."]}}`, "amount The amount must be a number.; lines.*.sku The sku field is required."},
		"Rails":                                  {`{"errors":{"sku":["can't be blank"],"base":["totals differ"]}}`, "sku can't be blank; totals differ"},
		"marshmallow":                            {`{"lines": {"0": {"sku": ["Missing data for required field."]}}, "_schema": ["totals differ"]}`, "lines.*.sku Missing data for required field.; totals differ"},
		"marshmallow as Python prints it":        {`ValidationError: {'lines': {0: {'sku': ['Missing data for required field.']}}}`, "lines.*.sku Missing data for required field."},
		"a serializer's details":                 {`{'lines': [{}, {'sku': [ErrorDetail(string='This field is required.', code='required')]}]}`, "lines.*.sku required"},
		"JSON:API":                               {`{"errors":[{"status":"422","code":"blank","title":"Invalid Attribute","detail":"can't be blank","source":{"pointer":"/data/attributes/lines/0/sku"}}]}`, "data.attributes.lines.*.sku blank"},
		"problem details":                        {`{"type":"https://example.net/validation-error","title":"Your request is not valid.","errors":[{"detail":"must be a positive integer","pointer":"#/lines/0/qty"}]}`, "lines.*.qty must be a positive integer"},
		"problem details, older":                 {`{"type":"https://example.net/validation-error","invalid-params":[{"name":"qty","reason":"must be a positive integer"}]}`, "qty must be a positive integer"},
		"Google's details":                       {`{"error":{"code":400,"details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"lines[0].sku","description":"must be set"}]}]}}`, "lines.*.sku must be set"},
		"Go's validator":                         {"Key: 'Order.Lines[0].SKU' Error:Field validation for 'SKU' failed on the 'required' tag\nKey: 'Order.Amount' Error:Field validation for 'Amount' failed on the 'gt' tag", "Amount gt; Lines.*.SKU required"},
		"FluentValidation text":                  {"Validation failed: \n -- Lines[0].Sku: 'Sku' must not be empty. Severity: Error\n -- Amount: 'Amount' must be greater than '0'. Severity: Error", "Amount <value> must be greater than <str>.; Lines.*.Sku <value> must not be empty."},
		"FluentValidation JSON":                  {`[{"PropertyName":"Lines[0].Sku","ErrorMessage":"must not be empty","AttemptedValue":"","ErrorCode":"NotEmptyValidator","Severity":0}]`, "Lines.*.Sku NotEmptyValidator"},
		"Great Expectations":                     {`{"success":false,"results":[{"success":false,"expectation_config":{"type":"expect_column_values_to_be_between","kwargs":{"column":"amount","min_value":0}},"result":{"unexpected_count":3,"partial_unexpected_list":[-1]}},{"success":false,"expectation_config":{"expectation_type":"expect_table_columns_to_match_ordered_list","kwargs":{}}}],"statistics":{"evaluated_expectations":2}}`, "amount expect_column_values_to_be_between; expect_table_columns_to_match_ordered_list"},
		"Great Expectations' checkpoint":         {`{"run_id":{"run_name":"x"},"run_results":{"ValidationResultIdentifier::a/b":{"validation_result":{"success":false,"results":[{"success":false,"expectation_config":{"expectation_type":"expect_column_to_exist","kwargs":{"column":"sku"}}}]}}}}`, "sku expect_column_to_exist"},
		"Xerces":                                 {"[Error] order.xml:12:34: cvc-complex-type.2.4.a: Invalid content was found starting with element 'qty'. One of '{sku}' is expected.\n[Error] order.xml:15:9: cvc-type.3.1.3: The value 'x' of element 'amount' is not valid.", "amount cvc-type.3.1.3; qty cvc-complex-type.2.4.a"},
		"Xerces behind its exception":            {"org.xml.sax.SAXParseException; lineNumber: 12; columnNumber: 34; cvc-complex-type.4: Attribute 'id' must appear on element 'order'.", "order cvc-complex-type.4"},
		"libxml2":                                {"order.xml:12: element sku: Schemas validity error : Element 'sku': [facet 'pattern'] The value 'x' is not accepted by the pattern '[A-Z]+'.\norder.xml:13: element qty: Schemas validity error : Element '{urn:order}qty': This element is not expected. Expected is ( sku ).\norder.xml fails to validate", "qty This element is not expected. Expected is ( sku ).; sku facet pattern"},
		"lxml":                                   {"Element 'qty': 'x' is not a valid value of the atomic type 'xs:integer'., line 12", "qty <value> is not a valid value of the atomic type 'xs:integer'."},
		"lxml's log":                             {"<string>:12:0:ERROR:SCHEMASV:SCHEMAV_CVC_DATATYPE_VALID_1_2_1: Element 'qty': 'x' is not a valid value of the atomic type 'xs:integer'.", "qty SCHEMAV_CVC_DATATYPE_VALID_1_2_1"},
		"frictionless":                           {`{"valid":false,"stats":{"errors":1},"tasks":[{"valid":false,"errors":[{"type":"type-error","title":"Type Error","fieldName":"amount","fieldNumber":3,"rowNumber":7,"cell":"x","note":"type is \"number/default\"","message":"Type error in the cell"}]}]}`, "amount type-error"},
		"a table validator's lines":              {"[7,amount] [type-error] Type error in the cell \"x\"\n[9,sku] [missing-cell] Row at position 9 has a missing cell", "amount type-error; sku missing-cell"},
		"pandera":                                {`{"SCHEMA":{"COLUMN_NOT_IN_DATAFRAME":[{"schema":"Order","column":"sku","check":"column_in_dataframe","error":"column 'sku' not in dataframe"}]}}`, "sku column_in_dataframe"},
		"a list cut in the middle":               {`[{"type":"missing","loc":["lines",0,"sku"],"msg":"Field required"},{"type":"missing","loc":["lines",1,"sku"],"msg":"Field req`, "lines.*.sku missing"},
		"lines of field and sentence":            {"3 errors found:\n- lines[0].sku: must not be empty\n- lines[7].sku: must not be empty\n- amount: 'FOO' is not a number\n", "amount <value> is not a number; lines.*.sku must not be empty"},
		"a numbered list":                        {"Validation failed:\n1. lines.0.sku: required\n2. lines.4.sku: required\n", "lines.*.sku required"},
		"a table of verdicts":                    {"PASS size under 64 MB\nFAIL signature missing\n", "signature missing"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failed(c.text); got != c.want {
				t.Errorf("\n got  %q\n want %q", got, c.want)
			}
		})
	}
}

func TestTheDocumentsValuesNeverEnterAKey(t *testing.T) {
	for name, form := range map[string]string{
		"pydantic":   "1 validation error for Order\nsku\n  Input should be a valid string [type=string_type, input_value=%q, input_type=int]\n",
		"jsonschema": "%q is not of type 'number'\n\nFailed validating 'type' in schema['properties']['amount']:\n    {'type': 'number'}\n\nOn instance['amount']:\n    %q\n",
		"libxml2":    "a.xml:1: element sku: Schemas validity error : Element 'sku': The value '%s' is not an element of the set {'A', 'B'}.",
		"plain":      "status: %q is not one of the allowed values\n",
		"marked":     "status: unknown value %q\n",
		"Spring":     "Field error in object 'order' on field 'amount': rejected value [%s]; codes [Min.order.amount,Min.amount,Min]; arguments [x]; default message [must be at least 0]]",
	} {
		a, b := strings.NewReplacer("%q", `"OPEN"`, "%s", "OPEN").Replace(form), strings.NewReplacer("%q", `"SHIPPED"`, "%s", "SHIPPED").Replace(form)
		if failed(a) != failed(b) || failed(a) == "" {
			t.Errorf("%s: %q and %q", name, failed(a), failed(b))
		}
		if strings.Contains(failed(a), "OPEN") {
			t.Errorf("%s: the value is in %q", name, failed(a))
		}
	}
}

func TestARecordOfAnotherKindIsNoSetOfRules(t *testing.T) {
	for _, text := range []string{
		`{"timestamp":"2026-02-11","status":500,"error":"Internal Server Error","path":"/orders","message":"no"}`,
		`{"id":7,"customer":"x","lines":[]}`, `[1,2,3]`, `{}`, `"text"`, "null",
	} {
		if rules, _, structured := ParseValidation(text); structured {
			t.Errorf("%s read as %+v", text, rules)
		}
	}
}

func TestTenThousandRowsAreOneKeyAndKeepTheirKinds(t *testing.T) {
	rows := func(n int, last string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%d validation errors for Table\n", n)
		for i := range n {
			fmt.Fprintf(&b, "rows.%d.amount\n  x [type=float_type]\n", i)
		}
		return b.String() + last
	}
	few, many := Of(Input{Validation: rows(3, "")}), Of(Input{Validation: rows(10_000, "")})
	if few.Digest != many.Digest {
		t.Errorf("apart:\n%s\n%s", few.Canonical, many.Canonical)
	}
	// A kind of failure that only shows in the last row counts too.
	other := Of(Input{Validation: rows(10_000, "rows.9999.sku\n  Field required [type=missing]\n")})
	if !strings.Contains(other.Canonical, "rule=rows.*.sku missing\n") {
		t.Errorf("canonical\n%s", other.Canonical)
	}
	if rules, _, _ := ParseValidation(rows(10_000, "")); len(rules) > 2*maxRules {
		t.Errorf("%d rules to show", len(rules))
	}
}

func TestARecordWithinARecordIsReadToABoundedDepth(t *testing.T) {
	deep := strings.Repeat(`{"errors":[`, 3000) + strings.Repeat("]}", 3000)
	if rules, _, structured := ParseValidation(deep); structured {
		t.Errorf("read %+v", rules)
	}
	ParseValidation(strings.Repeat(`{'a':[`, 100_000))
}

func TestFieldsInAnotherOrderAreTheSameKey(t *testing.T) {
	a := Of(Input{Validation: `{"errors":{"sku":["can't be blank"],"amount":["is not a number"]}}`})
	b := Of(Input{Validation: `{"errors":{"amount":["is not a number"],"sku":["can't be blank"]}}`})
	if a.Digest != b.Digest || a.Mode != ModeValidation {
		t.Errorf("%s\n%s", a.Canonical, b.Canonical)
	}
}
