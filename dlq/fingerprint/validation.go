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

// maxCollected bounds what is looked at: of a table with thousands of bad rows
// the kinds of failure count, and the first rows are shown.
const maxCollected = 20_000

// ParseValidation reads validation output: the error lists of pydantic 1 and 2,
// JSON Schema (Python's jsonschema as text, ajv, Java's validators, and the
// standard's output forms), zod, Bean Validation, Great Expectations, XML Schema,
// errors by field, problem details, this product's own list of rules, and plain
// lists of sentences; as JSON, as Python or JavaScript print a value, or as text.
// model is the class or schema that was validated, where the output names it.
// structured says that the form was recognised; without it every line of text is
// a rule with a message alone.
func ParseValidation(text string) (rules []Rule, model string, structured bool) {
	text = strings.TrimSpace(strings.ToValidUTF8(boundText(text), "\uFFFD"))
	if text == "" {
		return nil, "", false
	}
	for _, form := range validationForms {
		if form.sign != "" && !strings.Contains(text, form.sign) {
			continue
		}
		if rules, model = form.read(text); len(rules) > 0 {
			return thinned(rules), model, true
		}
	}
	return thinned(plainList(text)), "", false
}

// validationForms are the forms in the order in which they are tried, with a
// text without which an output has not this form.
var validationForms = []struct {
	sign string
	read func(string) ([]Rule, string)
}{
	{"", rulesOfJSON}, {"validation error", pydanticText}, {"Failed validating ", jsonschemaText}, {"ConstraintViolationImpl{", hibernateText},
	{"rror in object '", springText}, {"", ajvText}, {"", beanText}, {": ", schemaText}, {"Error:Field validation for", goValidatorText},
	{"", zodText}, {"-- ", fluentText}, {"] ", tableText}, {"", xmlText}, {"expect_", expectationText}, {"", rulesOfValue},
}

// thinned keeps the first rules, and of the rest those that fail in a way not
// seen before.
func thinned(rules []Rule) []Rule {
	if len(rules) <= maxRules {
		return rules
	}
	kept := rules[:maxRules:maxRules]
	seen := map[string]bool{}
	for _, r := range kept {
		seen[r.shape()] = true
	}
	for _, r := range rules[maxRules:] {
		if shape := r.shape(); !r.Passed && !seen[shape] && len(kept) < maxRules+maxRules/2 {
			seen[shape] = true
			kept = append(kept, r)
		}
	}
	return kept
}

// shape tells rules apart cheaply: two of one shape have one pair.
func (r Rule) shape() string {
	if r.Rule != "" {
		return withoutDigits(r.Path) + " " + r.Rule
	}
	return withoutDigits(r.Path) + " " + withoutDigits(r.Message)
}

func withoutDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, clip(s, 500))
}

// pair is what a rule adds to a key: where it failed, and which rule it is.
func (r Rule) pair() string {
	code := r.Rule
	if code == "" {
		code = sentence(r.Message)
	}
	return strings.TrimSpace(starIndexes(r.Path) + " " + code)
}

var (
	leadingValue = regexp.MustCompile(`^(?:'[^']*'|"[^"]*"|` + "`[^`]*`" + `|\{[^{}]*\}|\[[^\[\]]*\]|-?\d[\d.,]*|None|null|True|False) (is not|was not|are not|does not|do not|is too|is less|is greater|is valid under|has |did not|should not|cannot|must)`)
	namedValue   = regexp.MustCompile(`\b([Vv]alue|[Gg]ot|[Rr]eceived|[Ff]ound|[Ii]nput|but was|actual) ?[:=]? ?(?:'[^']*'|"[^"]*"|` + "`[^`]*`" + `|\([^()]*\)|\[[^\[\]]*\])`)
)

// sentence is the template of a sentence of a validator. Unlike an exception's
// message it quotes the document's value where it starts, or behind a word that
// says so; what it quotes elsewhere is the rule's.
func sentence(s string) string {
	s = clip(s, maxTemplateInput)
	s = leadingValue.ReplaceAllString(s, "<value> $1")
	return Template(namedValue.ReplaceAllString(s, "$1 <value>"))
}

func boundText(text string) string {
	if len(text) <= maxHead+maxTail {
		return text
	}
	return text[:maxHead] + "\n" + text[len(text)-maxTail:]
}

var validationTypes = set("ValidationError", "RequestValidationError", "ResponseValidationError", "ZodError", "$ZodError",
	"ConstraintViolationException", "MethodArgumentNotValidException", "BindException", "BindValidationException",
	"ValidationException", "SchemaError", "BestMatchError", "AjvError", "AjvValidationError", "JsonSchemaException", "JsonSchemaValidationException",
	"SchemaValidationError", "SchemaErrors", "DocumentInvalid", "XMLSchemaValidationError", "RecordInvalid", "MultipleInvalid", "Invalid",
	"ValidatorError", "FluentValidationException", "ValidationErrors", "ContractViolation")

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
	p = strings.TrimPrefix(p, ":")
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
