package fingerprint

import (
	"regexp"
	"strings"
)

var (
	schemaLine = regexp.MustCompile(`^(?:[\w.]+ValidationException: )?([$#](?:[/.\[][^\s:]*)?): (.+)$`)
	// What Java's validators say of each keyword.
	schemaWords = []struct{ phrase, keyword string }{
		{"required key", "required"}, {"is missing but it is required", "required"}, {"required property", "required"},
		{"extraneous key", "additionalProperties"}, {"is not defined in the schema", "additionalProperties"}, {"additional propert", "additionalProperties"},
		{" found, ", "type"}, {"expected type:", "type"}, {"does not match", "pattern"}, {"is not a valid enum value", "enum"}, {"does not have a value in the enumeration", "enum"},
		{"must be a constant", "const"}, {"is not greater or equal to", "minimum"}, {"must have a minimum value", "minimum"}, {"is not less or equal to", "maximum"}, {"must have a maximum value", "maximum"},
		{"expected minLength", "minLength"}, {"expected maxLength", "maxLength"}, {"characters long", "length"}, {"is not a valid", "format"}, {"subschema", "combination"},
	}
	schemaSummary = regexp.MustCompile(`^#?[^:]*:? ?\d+ schema violations found$`)

	goTag = regexp.MustCompile(`^Key: '([\w.\[\]]+)' Error:Field validation for '[^']*' failed on the '(\w+)' tag$`)

	zodMarked = regexp.MustCompile(`^✖ (.+)$`)
	zodPlace  = regexp.MustCompile(`^\s+→ at (\S+)$`)
	zodAt     = regexp.MustCompile(`^(?:Validation error: )?(.+?) at "([^"]+)"$`)

	fluentLine = regexp.MustCompile(`^-- ([\w.\[\]]+): (.+?)(?: Severity: \w+)?$`)
	tableLine  = regexp.MustCompile(`^\[?(?:row )?[\d-]*,? ?(?:(?:column|field|col) )?([\w-]*)\]? ?\[([a-z]+(?:-[a-z]+)+)\] (.+)$`)
)

// schemaText reads the lines of Java's JSON Schema validators: a pointer or a
// JSONPath, a colon, a sentence.
func schemaText(text string) ([]Rule, string) {
	var rules []Rule
	for _, line := range splitItems(text, ", $.") {
		var m []string
		if line != "" && strings.ContainsAny(line[:1], "$#o") {
			m = schemaLine.FindStringSubmatch(line)
		}
		if m == nil {
			if line == "" || schemaSummary.MatchString(line) {
				continue
			}
			return nil, ""
		}
		if schemaSummary.MatchString(m[2]) || schemaSummary.MatchString(line) {
			continue
		}
		r := Rule{Path: dottedPath(m[1]), Message: clip(m[2], maxMessage)}
		for _, w := range schemaWords {
			if strings.Contains(m[2], w.phrase) {
				r.Rule = w.keyword
				break
			}
		}
		if r.Rule == "required" {
			r.Path = withMissing(r.Path, r.Message)
		}
		rules = append(rules, r)
	}
	return rules, ""
}

// splitItems splits text at line ends and where separator starts another item;
// the separator without its comma and blank stays with the item.
func splitItems(text, separator string) []string {
	lines := strings.Split(strings.ReplaceAll(text, separator, "\n"+separator[2:]), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines[:min(len(lines), maxCollected)]
}

// goValidatorText reads the errors of Go's validator package.
func goValidatorText(text string) ([]Rule, string) {
	var rules []Rule
	model := ""
	for _, line := range splitItems(text, ", Key: ") {
		m := goTag.FindStringSubmatch(line)
		if m == nil {
			return nil, ""
		}
		place := m[1]
		if name, rest, ok := strings.Cut(place, "."); ok {
			model, place = name, rest
		}
		rules = append(rules, Rule{Rule: m[2], Path: dottedPath(place), Message: line})
	}
	return rules, model
}

// zodText reads the forms in which zod's errors are made readable.
func zodText(text string) ([]Rule, string) {
	var rules []Rule
	lines := strings.Split(text, "\n")
	if !strings.Contains(text, "✖") {
		if !strings.HasPrefix(text, "Validation error: ") {
			return nil, ""
		}
		lines = strings.Split(text, "; ")
	}
	for _, line := range lines[:min(len(lines), maxCollected)] {
		if m := zodMarked.FindStringSubmatch(line); m != nil {
			rules = append(rules, Rule{Message: clip(m[1], maxMessage)})
		} else if m := zodPlace.FindStringSubmatch(line); m != nil && len(rules) > 0 {
			rules[len(rules)-1].Path = dottedPath(m[1])
		} else if m := zodAt.FindStringSubmatch(line); m != nil {
			rules = append(rules, Rule{Path: dottedPath(m[2]), Message: clip(m[1], maxMessage)})
		}
	}
	return rules, ""
}

// fluentText reads the message of FluentValidation's exception.
func fluentText(text string) ([]Rule, string) {
	var rules []Rule
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "-- ") {
			continue
		}
		if m := fluentLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil && len(rules) < maxCollected {
			rules = append(rules, Rule{Path: dottedPath(m[1]), Message: clip(m[2], maxMessage)})
		}
	}
	return rules, ""
}

// tableText reads the reports of table validators: a row, a column, a code in
// brackets, a sentence.
func tableText(text string) ([]Rule, string) {
	var rules []Rule
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "] ") {
			continue
		}
		if m := tableLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil && len(rules) < maxCollected {
			rules = append(rules, Rule{Rule: m[2], Path: starColumn(m[1]), Message: clip(m[3], maxMessage)})
		}
	}
	return rules, ""
}

// starColumn drops a column that is only a number.
func starColumn(name string) string {
	if strings.Trim(name, "0123456789-") == "" {
		return ""
	}
	return name
}

var listHeading = regexp.MustCompile(`(?i)^(?:\W*\d+ (?:\w+ )?(?:errors?|problems?|violations?|issues?|failures?|warnings?)\b.*|(?:validation|schema|document)? ?(?:errors?|failed|problems?)(?: with \d+ \w+)?):?$`)

// plainList reads one rule a line: an optional bullet and verdict, an optional
// place, a sentence. A heading that announces or counts the rest is none.
func plainList(text string) []Rule {
	var rules []Rule
	seen := map[string]bool{}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if len(rules) >= maxRules {
			// Of the rest only what is not said already.
			shape := withoutDigits(line)
			if seen[shape] || len(rules) >= maxRules+maxRules/2 {
				continue
			}
			seen[shape] = true
		}
		line = strings.TrimSpace(listMark.ReplaceAllString(strings.TrimSpace(line), ""))
		if line == "" || len(lines) > 1 && listHeading.MatchString(line) {
			continue
		}
		var r Rule
		if m := listVerdict.FindStringSubmatch(line + " "); m != nil && len(m[0]) <= len(line) {
			r.Passed, line = m[1] != "", line[len(m[0]):]
		}
		if m := listPath.FindStringSubmatch(line); m != nil {
			r.Path, line = m[1], m[2]
		}
		r.Message = clip(line, maxMessage)
		rules = append(rules, r)
	}
	return rules
}
