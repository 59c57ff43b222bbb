package fingerprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// listFields are where validators put their list of errors.
var listFields = []string{"errors", "issues", "detail", "details", "violations", "fieldErrors", "results", "rules", "validation_errors", "error", "failures", "inner", "causingExceptions", "invalid-params", "invalidParams", "fieldViolations", "field_violations", "non_field_errors"}

// rulesOfJSON reads a list of rules out of JSON, also where it only follows a
// heading ("ZodError: [").
func rulesOfJSON(text string) ([]Rule, string) {
	start := strings.IndexAny(text, "[{")
	if start < 0 || start > 200 {
		return nil, ""
	}
	body := text[start:]
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return cutList(body)
	}
	if rest := strings.TrimSpace(body[dec.InputOffset():]); start > 0 && strings.ContainsAny(rest, "[{") {
		return nil, ""
	}
	r := jsonRules{}
	r.top(v)
	return r.rules, r.model
}

// rulesOfValue reads rules out of a value as Python or JavaScript print it.
func rulesOfValue(text string) ([]Rule, string) {
	start := strings.IndexAny(text, "[{")
	if start < 0 || start > 200 || bracketedHeading.MatchString(text[start:]) {
		return nil, ""
	}
	v, rest, ok := looseValue(text[start:])
	if !ok || start > 0 && strings.ContainsAny(rest, "[{") {
		return nil, ""
	}
	r := jsonRules{}
	r.top(v)
	return r.rules, r.model
}

var (
	// "argument [0]" in a sentence is no list.
	bracketedHeading = regexp.MustCompile(`^[\[(]\d*[\])]`)
	listOfObjects    = regexp.MustCompile(`\[\s*\{`)
)

// cutList reads the entries of a list that was cut before its end.
func cutList(text string) ([]Rule, string) {
	at := listOfObjects.FindStringIndex(text[:min(len(text), 4<<10)])
	if at == nil {
		return nil, ""
	}
	dec := json.NewDecoder(strings.NewReader(text[at[0]:]))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return nil, ""
	}
	r := jsonRules{}
	for dec.More() && len(r.rules) < maxCollected {
		var m map[string]any
		if dec.Decode(&m) != nil {
			break
		}
		r.object(m, true, 1)
	}
	return r.rules, r.model
}

type jsonRules struct {
	rules []Rule
	model string
}

// top reads the whole of an output. Errors by field are told from other records
// by their shape alone, so they are tried last.
func (r *jsonRules) top(v any) {
	if r.walk(v, false, 0); len(r.rules) == 0 {
		r.rules = fieldMap(v)
	}
}

// walk reads a list of errors, or an object. named says that it stands under a
// name that announces errors, so that an entry needs no place to be one.
func (r *jsonRules) walk(v any, named bool, depth int) {
	if depth > maxRecordDepth {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if len(r.rules) >= maxCollected {
				return
			}
			switch item := item.(type) {
			case map[string]any:
				r.object(item, named, depth+1)
			case string:
				if named {
					r.rules = append(r.rules, plainList(item)...)
				}
			case []any:
				r.walk(item, named, depth+1)
			}
		}
	case map[string]any:
		r.object(v, false, depth)
	}
}

// object reads one object: a rule itself, or what holds a list of them.
func (r *jsonRules) object(m map[string]any, named bool, depth int) {
	if depth > maxRecordDepth {
		return
	}
	if r.model == "" {
		r.model = firstString(m, "model", "title", "objectName", "rootBeanClass")
	}
	if rules := ruleOfObject(m); len(rules) > 0 {
		r.rules = append(r.rules, rules...)
		return
	}
	if r.underNames(m, depth) {
		return
	}
	if depth > 0 {
		if rules := itemOfList(m); len(rules) > 0 && (named || rules[0].Path != "") {
			r.rules = append(r.rules, rules...)
			return
		}
	}
	for _, name := range sortedNames(m) {
		switch inner := m[name].(type) {
		case map[string]any:
			r.object(inner, false, depth+1)
		case []any:
			if holdsObjects(inner) {
				r.walk(inner, false, depth+1)
			}
		}
	}
}

// underNames reads what stands under the names that announce errors.
func (r *jsonRules) underNames(m map[string]any, depth int) bool {
	before := len(r.rules)
	for _, name := range listFields {
		switch list := m[name].(type) {
		case []any:
			r.walk(list, true, depth+1)
		case map[string]any:
			if fields := fieldMap(list); len(fields) > 0 {
				r.rules = append(r.rules, fields...)
			} else {
				r.walk(list, false, depth+1)
			}
		}
		if len(r.rules) > before {
			return true
		}
	}
	if inner, ok := m["message"].(string); ok && strings.HasPrefix(strings.TrimSpace(inner), "[") {
		// zod and others serialise the list into the message of an Error.
		rules, _ := rulesOfJSON(inner)
		r.rules = append(r.rules, rules...)
	}
	return len(r.rules) > before
}

func holdsObjects(list []any) bool {
	if len(list) == 0 {
		return false
	}
	_, ok := list[0].(map[string]any)
	return ok
}

// ruleOfObject tells the forms apart by the fields only they have.
func ruleOfObject(m map[string]any) []Rule {
	switch {
	case has(m, "rule") && has(m, "passed"), has(m, "rule") && !has(m, "field"):
		passed, _ := m["passed"].(bool)
		return []Rule{{Rule: str(m["rule"]), Path: str(m["path"]), Message: str(m["message"]), Expected: str(m["expected"]), Got: str(m["got"]), Passed: passed}}
	case has(m, "loc") && has(m, "msg"): // pydantic
		return []Rule{{Rule: str(m["type"]), Path: pathOf(m["loc"]), Message: str(m["msg"]), Expected: str(m["ctx"]), Got: str(m["input"])}}
	case has(m, "keyword") && (has(m, "instancePath") || has(m, "dataPath")): // ajv
		r := Rule{Rule: str(m["keyword"]), Path: firstString(m, "instancePath", "dataPath"), Message: str(m["message"]), Got: str(m["data"])}
		if params, ok := m["params"].(map[string]any); ok {
			r.Path = joinPath(r.Path, firstString(params, "missingProperty", "additionalProperty", "unevaluatedProperty"))
			r.Expected = firstString(params, "type", "format", "pattern", "limit", "allowedValues", "allowedValue")
		}
		r.Path = dottedPath(r.Path)
		return []Rule{r}
	case has(m, "instanceLocation") && has(m, "messageKey"): // networknt
		return []Rule{{Rule: firstString(m, "keyword", "type", "messageKey"), Path: withMissing(dottedPath(str(m["instanceLocation"])), str(m["message"])), Message: str(m["message"])}}
	case has(m, "instanceLocation"):
		return schemaUnits(m)
	case has(m, "pointerToViolation"): // everit
		if causes, ok := m["causingExceptions"].([]any); ok && len(causes) > 0 {
			return nil // the causes are the errors
		}
		_, said, _ := strings.Cut(str(m["message"]), ": ")
		if said == "" {
			said = str(m["message"])
		}
		return []Rule{{Rule: str(m["keyword"]), Path: withMissing(dottedPath(str(m["pointerToViolation"])), said), Message: said}}
	case has(m, "validator") && has(m, "message"): // Python's jsonschema as an object
		path := pathOf(m["path"])
		if path == "" {
			path = pathOf(m["absolute_path"])
		}
		if path == "" {
			path = firstString(m, "json_path", "absolute_path", "instance_path")
		}
		r := Rule{Rule: str(m["validator"]), Path: dottedPath(path), Message: str(m["message"]), Expected: str(m["validator_value"]), Got: str(m["instance"])}
		if r.Rule == "required" {
			r.Path = joinPath(r.Path, quotedWord(r.Message))
		}
		return []Rule{r}
	case has(m, "expectation_config"): // Great Expectations
		return expectationRule(m)
	case has(m, "constraints") && has(m, "property"), has(m, "children") && has(m, "property"): // class-validator
		return constraintsOf(m, "", 0)
	case has(m, "errors") && (has(m, "properties") || has(m, "items")): // zod's tree
		return fieldMap(m)
	case has(m, "fieldName") && has(m, "rowNumber"), has(m, "fieldName") && has(m, "rowPosition"): // frictionless
		return []Rule{{Rule: firstString(m, "type", "code"), Path: str(m["fieldName"]), Message: firstString(m, "note", "message"), Got: str(m["cell"])}}
	case has(m, "code") && has(m, "path") && has(m, "message"): // zod
		return []Rule{{Rule: str(m["code"]), Path: pathOf(m["path"]), Message: str(m["message"]), Expected: str(m["expected"]), Got: firstString(m, "received", "input")}}
	case has(m, "field") || has(m, "propertyPath"): // Bean Validation
		r := Rule{Rule: firstString(m, "code", "constraint", "rule", "type"), Path: dottedPath(firstString(m, "field", "propertyPath")),
			Message: firstString(m, "defaultMessage", "message", "interpolatedMessage", "error", "description"), Got: firstString(m, "rejectedValue", "invalidValue", "value")}
		if r.Message == "" && r.Rule == "" {
			return nil
		}
		return []Rule{r}
	}
	return nil
}

// schemaUnits reads an output unit of JSON Schema 2020-12 §12.4, basic or
// detailed, with the per-keyword error object that newer drafts use.
func schemaUnits(m map[string]any) []Rule {
	path := dottedPath(str(m["instanceLocation"]))
	var out []Rule
	if byKeyword, ok := m["errors"].(map[string]any); ok {
		for keyword, message := range byKeyword {
			out = append(out, Rule{Rule: keyword, Path: schemaPath(path, keyword, str(message)), Message: str(message)})
		}
		return out
	}
	if children, ok := m["errors"].([]any); ok {
		for _, c := range children {
			if unit, ok := c.(map[string]any); ok && has(unit, "instanceLocation") && len(out) < maxRules {
				out = append(out, schemaUnits(unit)...)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	if message := str(m["error"]); message != "" {
		location := firstString(m, "keywordLocation", "absoluteKeywordLocation")
		keyword := location[strings.LastIndexByte(location, '/')+1:]
		return []Rule{{Rule: keyword, Path: schemaPath(path, keyword, message), Message: message}}
	}
	return nil
}

func schemaPath(path, keyword, message string) string {
	if keyword == "required" {
		return joinPath(path, quotedWord(message))
	}
	return path
}

func expectationRule(m map[string]any) []Rule {
	config, _ := m["expectation_config"].(map[string]any)
	passed, _ := m["success"].(bool)
	r := Rule{Rule: firstString(config, "expectation_type", "type"), Passed: passed}
	if kwargs, ok := config["kwargs"].(map[string]any); ok {
		r.Path = firstString(kwargs, "column", "column_list", "column_A")
		r.Expected = firstString(kwargs, "value_set", "regex", "min_value", "type_", "value")
	}
	if result, ok := m["result"].(map[string]any); ok {
		r.Got = firstString(result, "observed_value", "partial_unexpected_list")
	}
	if r.Rule == "" {
		return nil
	}
	return []Rule{r}
}

func has(m map[string]any, name string) bool {
	_, ok := m[name]
	return ok
}

func firstString(m map[string]any, names ...string) string {
	for _, n := range names {
		if s := str(m[n]); s != "" {
			return s
		}
	}
	return ""
}

// str writes a JSON value as text, compactly.
func str(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return clip(v, maxMessage)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return clip(strings.TrimSpace(b.String()), maxMessage)
}

// pathOf writes a list of keys and indexes with dots.
func pathOf(v any) string {
	list, ok := v.([]any)
	if !ok {
		return dottedPath(str(v))
	}
	parts := make([]string, 0, len(list))
	for _, p := range list {
		parts = append(parts, fmt.Sprint(p))
	}
	return strings.Join(parts, ".")
}
