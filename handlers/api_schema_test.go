package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// apiSchemas validates JSON against the schemas of the API's description: the
// part of JSON Schema 2020-12 that it uses. A keyword that is not known here
// fails, so that none is passed over in silence.
type apiSchemas struct{ root map[string]any }

// apiKeywords are those that say nothing of a value by themselves.
var apiKeywords = []string{"description", "default", "writeOnly", "style", "explode", "format",
	"type", "properties", "required", "items", "enum", "pattern", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "maxItems",
	"additionalProperties", "patternProperties", "allOf", "$ref"}

// resolve follows references, and folds allOf into one object.
func (s apiSchemas) resolve(schema map[string]any) map[string]any {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			break
		}
		var at any = s.root
		for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			at = at.(map[string]any)[step]
		}
		schema = at.(map[string]any)
	}
	parts, ok := schema["allOf"].([]any)
	if !ok {
		return schema
	}
	whole := map[string]any{"type": "object"}
	properties, required := map[string]any{}, []any{}
	for _, part := range parts {
		p := s.resolve(part.(map[string]any))
		if more, ok := p["properties"].(map[string]any); ok {
			maps.Copy(properties, more)
		}
		if more, ok := p["required"].([]any); ok {
			required = append(required, more...)
		}
	}
	whole["properties"], whole["required"] = properties, required
	return whole
}

// check names everything that is wrong with a value. strict: an object may
// have no field that the schema does not list, so that an undocumented one is
// found.
func (s apiSchemas) check(schema map[string]any, v any, at string, strict bool) []string {
	schema = s.resolve(schema)
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, at+": "+fmt.Sprintf(format, args...)) }
	for keyword := range schema {
		if !slices.Contains(apiKeywords, keyword) {
			fault("the schema has the keyword %q, which this test does not know", keyword)
		}
	}
	if !s.typeFits(schema["type"], v) {
		fault("%v expected, got %T", schema["type"], v)
		return faults
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, v) {
		fault("one of %v expected, got %v", enum, v)
	}
	switch v := v.(type) {
	case string:
		faults = append(faults, s.checkText(schema, v, at)...)
	case json.Number:
		faults = append(faults, s.checkNumber(schema, v, at)...)
	case []any:
		if most, ok := schema["maxItems"].(int); ok && len(v) > most {
			fault("at most %d items expected, got %d", most, len(v))
		}
		items, _ := schema["items"].(map[string]any)
		for i, item := range v {
			faults = append(faults, s.check(items, item, fmt.Sprintf("%s/%d", at, i), strict)...)
		}
	case map[string]any:
		faults = append(faults, s.checkObject(schema, v, at, strict)...)
	}
	return faults
}

func (s apiSchemas) typeFits(want any, v any) bool {
	switch want := want.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(want, func(one any) bool { return s.typeFits(one, v) })
	case string:
		switch v := v.(type) {
		case nil:
			return want == "null"
		case bool:
			return want == "boolean"
		case string:
			return want == "string"
		case json.Number:
			f, err := v.Float64()
			return err == nil && (want == "number" || want == "integer" && f == math.Trunc(f))
		case []any:
			return want == "array"
		case map[string]any:
			return want == "object"
		}
	}
	return false
}

func (s apiSchemas) checkText(schema map[string]any, v, at string) (faults []string) {
	if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
		faults = append(faults, fmt.Sprintf("%s: %q does not match %s", at, v, pattern))
	}
	if schema["format"] == "date-time" {
		if at2, err := time.Parse(time.RFC3339Nano, v); err != nil || at2.Location() != time.UTC {
			faults = append(faults, fmt.Sprintf("%s: %q is no RFC 3339 time in UTC", at, v))
		}
	}
	n := utf8.RuneCountInString(v)
	if most, ok := schema["maxLength"].(int); ok && n > most {
		faults = append(faults, fmt.Sprintf("%s: at most %d characters expected, got %d", at, most, n))
	}
	if least, ok := schema["minLength"].(int); ok && n < least {
		faults = append(faults, fmt.Sprintf("%s: at least %d characters expected, got %d", at, least, n))
	}
	return faults
}

func (s apiSchemas) checkNumber(schema map[string]any, v json.Number, at string) (faults []string) {
	f, err := v.Float64()
	if err != nil {
		return []string{at + ": " + err.Error()}
	}
	for keyword, holds := range map[string]func(limit float64) bool{
		"minimum":          func(limit float64) bool { return f >= limit },
		"maximum":          func(limit float64) bool { return f <= limit },
		"exclusiveMinimum": func(limit float64) bool { return f > limit },
	} {
		var limit float64
		switch l := schema[keyword].(type) {
		case nil:
			continue
		case int:
			limit = float64(l)
		case float64:
			limit = l
		}
		if !holds(limit) {
			faults = append(faults, fmt.Sprintf("%s: %s is %v, got %s", at, keyword, limit, v))
		}
	}
	return faults
}

func (s apiSchemas) checkObject(schema map[string]any, v map[string]any, at string, strict bool) (faults []string) {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			faults = append(faults, fmt.Sprintf("%s: %s is missing", at, name))
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	more, open := schema["additionalProperties"]
	for name, value := range v {
		place := at + "/" + name
		if property, ok := properties[name].(map[string]any); ok {
			faults = append(faults, s.check(property, value, place, strict)...)
			continue
		}
		switch more := more.(type) {
		case map[string]any:
			faults = append(faults, s.check(more, value, place, strict)...)
		case bool:
			if !more {
				faults = append(faults, place+": the schema does not allow it")
			}
		default:
			if strict && !open && schema["type"] != nil {
				faults = append(faults, place+": the description does not list this field")
			}
		}
	}
	return faults
}
