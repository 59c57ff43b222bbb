package fingerprint

import (
	"regexp"
	"strings"
)

// Rule is one rule of a validation output.
type Rule struct {
	Rule     string // the machine code, as "missing" or "required"; "" where only prose was given
	Path     string // the place in the document, as "lines.0.sku"; indexes kept
	Message  string // the sentence a person reads
	Expected string
	Got      string // the offending value: private, and never part of a key
	Passed   bool
}

// maxRules bounds what is read from one output.
const maxRules = 1000

// ParseValidation reads validation output: the error lists of pydantic 1 and 2,
// JSON Schema (Python's jsonschema as text, ajv, and the standard's output
// forms), zod, Bean Validation, Great Expectations, this product's own list of
// rules, and plain lists of sentences. model is the class or schema that was
// validated, where the output names it. structured says that the form was
// recognised; without it every line of text is a rule with a message alone.
func ParseValidation(text string) (rules []Rule, model string, structured bool) {
	text = strings.TrimSpace(strings.ToValidUTF8(boundText(text), "\uFFFD"))
	if text == "" {
		return nil, "", false
	}
	if rules, model = rulesOfJSON(text); len(rules) > 0 {
		return rules, model, true
	}
	for _, read := range []func(string) ([]Rule, string){
		pydanticText, jsonschemaText, hibernateText, springText, ajvText, beanText, expectationText,
	} {
		if rules, model = read(text); len(rules) > 0 {
			return rules, model, true
		}
	}
	return plainList(text), "", false
}

func boundText(text string) string {
	if len(text) <= maxHead+maxTail {
		return text
	}
	return text[:maxHead] + "\n" + text[len(text)-maxTail:]
}

var validationTypes = set("ValidationError", "RequestValidationError", "ResponseValidationError", "ZodError", "$ZodError",
	"ConstraintViolationException", "MethodArgumentNotValidException", "BindException", "BindValidationException",
	"ValidationException", "SchemaError", "BestMatchError", "AjvError", "AjvValidationError", "JsonSchemaException", "JsonSchemaValidationException")

// isValidationType says that an exception of this type carries a list of rules.
func isValidationType(typ string) bool { return validationTypes[typ] }

var (
	pathSubscript = regexp.MustCompile(`\[(?:'([^']*)'|"([^"]*)"|(\d+))\]`)
	pathIndex     = regexp.MustCompile(`^\d+$`)
)

// dottedPath writes a location of any notation (JSON Pointer of RFC 6901,
// subscripts, dots, a leading $) with dots.
func dottedPath(p string) string {
	p = strings.TrimSpace(p)
	p = strings.TrimPrefix(strings.TrimPrefix(p, "$"), "#")
	if strings.HasPrefix(p, "/") {
		p = strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.ReplaceAll(p[1:], "/", "."))
	}
	p = pathSubscript.ReplaceAllString(p, ".$1$2$3")
	return strings.Trim(strings.ReplaceAll(p, "..", "."), ".")
}

// starIndexes replaces array indexes by *: which line of an order is wrong is
// the document's, that a line is wrong is the defect's.
func starIndexes(path string) string {
	parts := strings.Split(dottedPath(path), ".")
	for i, p := range parts {
		if pathIndex.MatchString(p) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}

func joinPath(base, name string) string {
	base = dottedPath(base)
	if base == "" {
		return name
	}
	if name == "" {
		return base
	}
	return base + "." + name
}
