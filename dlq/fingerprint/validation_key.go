package fingerprint

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// validationIn returns the exception that carries a list of failed rules: the
// outer one, or the root that it was deliberately raised from.
func validationIn(outer *exception) *exception {
	if outer == nil {
		return nil
	}
	for _, e := range []*exception{outer, outer.root()} {
		if isValidationType(lastSegment(e.typ)) {
			return e
		}
	}
	return nil
}

// byRules keys on the set of failed validation rules. It reports false where
// none could be read.
func (a *analysis) byRules(in Input, outer *exception) bool {
	carrier := validationIn(outer)
	rules, model, structured := ParseValidation(in.Validation)
	if strings.TrimSpace(in.Validation) == "" {
		// Many validators have no other output than their exception's message.
		switch {
		case carrier != nil:
			rules, model, structured = ParseValidation(strings.Join(carrier.message, "\n"))
		case outer == nil && (isValidationType(in.typeName()) || in.Reason == reasonValidation):
			rules, model, structured = ParseValidation(in.ErrorMessage)
		}
		if !structured {
			return false
		}
	}
	pairs := failedPairs(rules)
	if len(pairs) == 0 {
		return false
	}
	r := &a.result
	r.Mode = ModeValidation
	r.Confidence = ConfidenceMedium
	if structured {
		r.Confidence = ConfidenceHigh
	}
	r.Type = in.typeName()
	r.Message = firstLine(in.ErrorMessage)
	wrap := ""
	if outer != nil && outer.typ != "" {
		k := keyOf(a.lang, outer, in)
		r.Type, r.Message, wrap = k.typ, k.message, k.wrap
		if carrier != nil {
			r.RootType = k.rootType
		}
		for _, f := range k.frames {
			r.Frames = append(r.Frames, f.Frame)
		}
	}
	if !strings.ContainsFunc(r.Message, unicode.IsLetter) {
		r.Message = firstFailure(rules) // a message that is only the start of a list
	}
	r.Message = clip(r.Message, maxMessage)
	r.Template = Template(r.Message)
	r.Rules = pairs[:min(len(pairs), maxRulePairs)]
	var b canonical
	b.line("mode", ModeValidation)
	b.optional("type", r.Type)
	b.optional("root", r.RootType)
	if r.RootType != "" {
		b.optional("wrap", wrap)
	}
	b.optional("model", model)
	for i, p := range pairs {
		if i == maxRulePairs {
			b.line("count", strconv.Itoa(maxRulePairs+1)+"+")
			break
		}
		b.line("rule", p)
	}
	r.Canonical = b.String()
	return true
}

func firstFailure(rules []Rule) string {
	for _, r := range rules {
		if !r.Passed {
			return strings.TrimSpace(r.Path + " " + firstLine(r.Message))
		}
	}
	return ""
}

// failedPairs returns the sorted set of "location rule" of the rules that did
// not pass.
func failedPairs(rules []Rule) []string {
	seen := map[string]bool{}
	var out []string
	for _, r := range rules {
		if r.Passed {
			continue
		}
		pair := r.pair()
		if pair == "" || seen[pair] {
			continue
		}
		seen[pair] = true
		out = append(out, pair)
	}
	sort.Strings(out)
	return out
}
