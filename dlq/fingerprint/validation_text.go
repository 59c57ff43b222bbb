package fingerprint

import (
	"regexp"
	"strings"
)

var (
	pydanticHead = regexp.MustCompile(`(?m)^(?:.*?: )?(\d+) validation errors? for (.+?)\s*$`)
	pydanticTwo  = regexp.MustCompile(`^  (.*?) \[type=([\w.]+)(?:, input_value=(.*?))?(?:, input_type=([\w.]+))?\]$`)
	pydanticOne  = regexp.MustCompile(`^  (.*?) \(type=([\w.]+)(?:; (.*))?\)$`)

	schemaFailed   = regexp.MustCompile(`(?m)^Failed validating (?:u?'|")?([\w$]+)(?:'|")? in [\w ]*schema(.*?):?\s*$`)
	schemaInstance = regexp.MustCompile(`(?m)^On \w+((?:\[[^\]]*\])*)(?: instance)?:\s*$`)
	quotedPattern  = regexp.MustCompile(`['"]([^'"]{1,80})['"]`)

	ajvItem      = regexp.MustCompile(`^(?:data|instance|body|querystring|query|params|headers|requestBody)?((?:[/.\[][^\s,]*)?) (must .+|should .+)$`)
	ajvSeparator = regexp.MustCompile(`, (data|body|querystring|params|headers|/)`)
	ajvName      = regexp.MustCompile(`'([^']*)'`)

	hibernateItem = regexp.MustCompile(`ConstraintViolationImpl\{interpolatedMessage='([^']*)', propertyPath=([^,]*), rootBeanClass=class ([\w.$]+), messageTemplate='\{?([^'}]*)\}?'\}`)
	springItem    = regexp.MustCompile(`(?:Field error in object '([^']*)' on field '([^']*)'|Error in object '([^']*)'): (?:rejected value \[(.*?)\]; )?codes \[([^\]]*)\].*?default message \[((?:[^\[\]]|\[[^\]]*\])*)\](?:\]|;|$)`)
	beanItem      = regexp.MustCompile(`^([A-Za-z_][\w<>\[\]-]*(?:\.[\w<>\[\]-]+)*): (must .+|may not .+|size must .+|length must .+|not a .+|invalid .+|numeric value .+)$`)

	expectationLine = regexp.MustCompile(`^[\s*✗✘×-]*(expect_\w+)\(?(?:.*?column=?['"]?\s*[:=]?\s*['"]?([\w.]+))?`)

	listMark    = regexp.MustCompile(`^\s*(?:[-*•·–]|\d{1,3}[.)])\s+`)
	listVerdict = regexp.MustCompile(`^\s*(?:(✓|✔|\[?(?:PASS(?:ED)?|OK)\]?)|(✗|✘|×|\[?(?:FAIL(?:ED|URE)?|ERROR)\]?))[:\s]\s*`)
	listPath    = regexp.MustCompile(`^([$#/]?[A-Za-z_][\w./\[\]*$-]{0,120}): +(.+)$`)
)

// pydanticText reads str(ValidationError) of pydantic 1 and 2: a heading, then
// for each error a location line and an indented line that ends with its type.
func pydanticText(text string) ([]Rule, string) {
	head := pydanticHead.FindStringSubmatchIndex(text)
	if head == nil {
		return nil, ""
	}
	model := text[head[4]:head[5]]
	var rules []Rule
	path := ""
	for line := range strings.Lines(text[head[1]:]) {
		line = strings.TrimRight(line, "\r\n ")
		switch {
		case line == "" || len(rules) >= maxCollected:
		case !strings.HasPrefix(line, " "):
			path = strings.ReplaceAll(line, " -> ", ".")
		default:
			if m := pydanticTwo.FindStringSubmatch(line); m != nil {
				rules = append(rules, Rule{Rule: m[2], Path: path, Message: m[1], Got: m[3]})
			} else if m := pydanticOne.FindStringSubmatch(line); m != nil {
				rules = append(rules, Rule{Rule: m[2], Path: path, Message: m[1], Expected: m[3]})
			}
		}
	}
	return rules, model
}

// jsonschemaText reads str(ValidationError) of Python's jsonschema, of one error
// or of several in a row.
func jsonschemaText(text string) ([]Rule, string) {
	var rules []Rule
	from := 0
	for _, at := range schemaFailed.FindAllStringSubmatchIndex(text, maxCollected) {
		r := Rule{Rule: text[at[2]:at[3]], Message: clip(lastBlock(text[from:at[0]]), maxMessage)}
		from = at[1]
		rest := text[from:]
		if m := schemaInstance.FindStringSubmatchIndex(rest[:min(len(rest), 64<<10)]); m != nil {
			if next := strings.Index(rest, "\nFailed validating "); next < 0 || m[0] < next {
				r.Path = dottedPath(rest[m[2]:m[3]])
				from += m[1]
			}
		}
		switch r.Rule {
		case "required", "dependentRequired", "additionalProperties", "unevaluatedProperties":
			r.Path = joinPath(r.Path, quotedWord(r.Message))
		}
		rules = append(rules, r)
	}
	return rules, ""
}

// lastBlock returns the first line of the last paragraph of text.
func lastBlock(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		text = text[i+2:]
	}
	return firstLine(text)
}

// quotedWord returns the first quoted word of a message: which property it is
// about, where the location is that of the object around it.
func quotedWord(message string) string {
	if m := quotedPattern.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// ajvKeywords tells the keyword from ajv's sentence.
var ajvKeywords = []struct{ phrase, keyword string }{
	{"have required propert", "required"}, {"NOT have additional properties", "additionalProperties"},
	{"NOT have unevaluated", "unevaluatedProperties"}, {"match format", "format"}, {"match pattern", "pattern"},
	{"equal to one of the allowed values", "enum"}, {"equal to constant", "const"}, {"be >= ", "minimum"}, {"be <= ", "maximum"},
	{"be > ", "exclusiveMinimum"}, {"be < ", "exclusiveMaximum"}, {"be multiple of", "multipleOf"},
	{"NOT have fewer than", "minimum count"}, {"NOT have more than", "maximum count"},
	{"NOT have duplicate", "uniqueItems"}, {"match a schema in anyOf", "anyOf"}, {"match exactly one schema in oneOf", "oneOf"},
	{"be string", "type"}, {"be number", "type"}, {"be integer", "type"}, {"be boolean", "type"}, {"be object", "type"}, {"be array", "type"}, {"be null", "type"},
}

// ajvText reads ajv's errorsText: "data/lines/0 must …, data/amount must …".
func ajvText(text string) ([]Rule, string) {
	if !strings.Contains(text, " must ") && !strings.Contains(text, " should ") {
		return nil, ""
	}
	var rules []Rule
	// A property name may hold a comma: only ", data" and line ends separate.
	for _, item := range strings.FieldsFunc(ajvSeparator.ReplaceAllString(text, "\n$1"), func(r rune) bool { return r == '\n' }) {
		m := ajvItem.FindStringSubmatch(strings.TrimSpace(item))
		if m == nil || len(rules) >= maxCollected {
			return nil, ""
		}
		r := Rule{Path: dottedPath(m[1]), Message: m[2]}
		for _, k := range ajvKeywords {
			if strings.Contains(m[2], k.phrase) {
				r.Rule = k.keyword
				break
			}
		}
		if r.Rule == "" {
			return nil, ""
		}
		if r.Rule == "required" {
			if name := ajvName.FindStringSubmatch(m[2]); name != nil {
				r.Path = joinPath(r.Path, name[1])
			}
		}
		rules = append(rules, r)
	}
	return rules, ""
}

// hibernateText reads the list Hibernate Validator prints when an entity is
// about to be stored.
func hibernateText(text string) ([]Rule, string) {
	var rules []Rule
	model := ""
	for _, m := range hibernateItem.FindAllStringSubmatch(text, maxCollected) {
		rules = append(rules, Rule{Rule: constraintName(m[4]), Path: dottedPath(m[2]), Message: m[1]})
		model = lastSegment(m[3])
	}
	return rules, model
}

// constraintName takes "jakarta.validation.constraints.NotNull.message" to
// "NotNull".
func constraintName(template string) string {
	return lastSegment(strings.TrimSuffix(template, ".message"))
}

// springText reads the binding errors that Spring prints in
// MethodArgumentNotValidException and BindException.
func springText(text string) ([]Rule, string) {
	var rules []Rule
	model := ""
	for _, m := range springItem.FindAllStringSubmatch(text, maxCollected) {
		code := m[5][strings.LastIndexByte(m[5], ',')+1:]
		rules = append(rules, Rule{Rule: strings.TrimSpace(code), Path: dottedPath(m[2]), Message: m[6], Got: m[4]})
		if model = m[1]; model == "" {
			model = m[3]
		}
	}
	return rules, model
}

// beanText reads the message of a ConstraintViolationException: "path: sentence"
// separated by commas.
func beanText(text string) ([]Rule, string) {
	var rules []Rule
	items := strings.Split(text, "\n")
	if len(items) == 1 {
		items = beanItems(text)
	}
	for _, item := range items {
		m := beanItem.FindStringSubmatch(strings.TrimRight(strings.TrimSpace(item), ","))
		if m == nil || len(rules) >= maxCollected {
			return nil, ""
		}
		rules = append(rules, Rule{Rule: Template(m[2]), Path: dottedPath(m[1]), Message: m[2]})
	}
	return rules, ""
}

// beanItems splits at commas that start a new path; a sentence may hold commas.
func beanItems(text string) []string {
	var items []string
	for i, part := range strings.Split(text, ", ") {
		if i > 0 && !strings.Contains(part, ": ") {
			items[len(items)-1] += ", " + part
			continue
		}
		items = append(items, part)
	}
	return items
}

// expectationText reads lines that name a Great Expectations expectation.
func expectationText(text string) ([]Rule, string) {
	var rules []Rule
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		passed := false
		if m := listVerdict.FindStringSubmatch(line); m != nil {
			passed, line = m[1] != "", line[len(m[0]):]
		}
		if m := expectationLine.FindStringSubmatch(line); m != nil && len(rules) < maxCollected {
			rules = append(rules, Rule{Rule: m[1], Path: m[2], Message: line, Passed: passed})
		}
	}
	return rules, ""
}
