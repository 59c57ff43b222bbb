package fingerprint

import (
	"regexp"
	"strconv"
	"strings"
)

// Names that validators give to the place, the code and the sentence of one
// error. The first that is there wins.
var (
	placeNames = []string{"path", "field", "fieldName", "field_name", "propertyPath", "property", "propertyName", "PropertyName", "param", "pointer",
		"pointerToViolation", "instancePath", "dataPath", "loc", "location", "column", "column_name", "attribute", "key", "element", "name"}
	codeNames = []string{"code", "errorCode", "ErrorCode", "rule", "keyword", "constraint", "kind", "validator", "check", "type", "violation"}
	saidNames = []string{"message", "msg", "defaultMessage", "detail", "description", "reason", "errorMessage", "ErrorMessage", "error", "interpolatedMessage", "title", "note", "string"}
	gotNames  = []string{"rejectedValue", "invalidValue", "AttemptedValue", "value", "received", "input", "cell", "failure_case"}
)

// itemOfList reads one entry of a list of errors that has none of the forms with
// fields of their own: a place, and what is wrong there.
func itemOfList(m map[string]any) []Rule {
	r := Rule{Rule: machineCode(firstString(m, codeNames...)), Message: firstString(m, saidNames...), Got: firstString(m, gotNames...)}
	for _, holder := range []string{"source", "instance"} { // JSON:API, and Java's older validators
		if source, ok := m[holder].(map[string]any); ok {
			r.Path = firstString(source, "pointer", "parameter")
		}
	}
	for _, name := range placeNames {
		if r.Path != "" {
			break
		}
		switch v := m[name].(type) {
		case string:
			r.Path = dottedPath(v)
		case []any:
			r.Path = pathOf(v)
		}
	}
	r.Path = dottedPath(r.Path)
	if r.Path == "" && r.Rule == "" || r.Rule == "" && r.Message == "" {
		return nil
	}
	if missing, ok := m["missing"].([]any); ok && len(missing) > 0 {
		r.Path = joinPath(r.Path, str(missing[0]))
	}
	if r.Rule == "required" {
		r.Path = withMissing(r.Path, r.Message)
	}
	return []Rule{r}
}

// machineCode returns code if it is one: a sentence or a URL is not.
func machineCode(code string) string {
	if strings.ContainsAny(code, " /") || len(code) > 80 {
		return ""
	}
	return code
}

var missingKey = regexp.MustCompile(`required (?:key|property|properties) (?:\[([^\]]+)\]|'([^']+)'|"([^"]+)")`)

// withMissing adds to the place of an object the name of what it lacks, where
// only the sentence tells.
func withMissing(path, message string) string {
	if m := missingKey.FindStringSubmatch(message); m != nil {
		name := m[1] + m[2] + m[3]
		if path != name && !strings.HasSuffix(path, "."+name) {
			return joinPath(path, name)
		}
	}
	return path
}

// fieldMap reads errors by field, {"sku": ["may not be blank"], "lines": [{},
// {"qty": ["…"]}]}, as form and serializer libraries give them. Every leaf must
// be a sentence in a list, so that a record of another kind is not read as one.
// The lists that only hold sentences of the whole are named in wholeNames.
func fieldMap(v any) []Rule {
	var rules []Rule
	budget := maxCollected
	if !fieldsUnder(v, "", 0, &rules, &budget) {
		return nil
	}
	return rules
}

var wholeNames = set("_errors", "errors", "formErrors", "non_field_errors", "__all__", "base", "_schema", "_form")

func fieldsUnder(v any, path string, depth int, out *[]Rule, budget *int) bool {
	if *budget--; *budget < 0 || depth > maxRecordDepth {
		return false
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			switch item := item.(type) {
			case string:
				*out = append(*out, Rule{Path: path, Message: clip(item, maxMessage)})
			case map[string]any:
				if said := firstString(item, "message", "string", "error", "detail", "msg"); said != "" {
					*out = append(*out, Rule{Path: path, Rule: machineCode(firstString(item, "code", "error", "type", "kind")), Message: said})
					continue
				}
				if !fieldsUnder(item, joinPath(path, strconv.Itoa(i)), depth+1, out, budget) {
					return false
				}
			case nil:
			default:
				return false
			}
		}
		return true
	case map[string]any:
		if said := firstString(v, "message"); said != "" && has(v, "kind") { // mongoose
			*out = append(*out, Rule{Path: dottedPath(firstString(v, "path")), Rule: machineCode(str(v["kind"])), Message: said})
			return true
		}
		for _, name := range sortedNames(v) {
			under := joinPath(path, dottedPath(name))
			if wholeNames[name] || name == "fieldErrors" || name == "properties" || name == "items" {
				under = path
			}
			if !fieldsUnder(v[name], under, depth+1, out, budget) {
				return false
			}
		}
		return true
	}
	return false
}

// constraintsOf reads class-validator's tree: constraints by name, and children.
func constraintsOf(m map[string]any, path string, depth int) []Rule {
	path = joinPath(path, str(m["property"]))
	var out []Rule
	if constraints, ok := m["constraints"].(map[string]any); ok {
		for _, name := range sortedNames(constraints) {
			out = append(out, Rule{Rule: name, Path: path, Message: str(constraints[name]), Got: str(m["value"])})
		}
	}
	children, _ := m["children"].([]any)
	for _, c := range children[:min(len(children), maxRules)] {
		if child, ok := c.(map[string]any); ok && depth < maxRecordDepth {
			out = append(out, constraintsOf(child, path, depth+1)...)
		}
	}
	return out
}
