package fingerprint

import (
	"regexp"
	"strings"
)

var (
	xmlCode     = regexp.MustCompile(`\b(cvc-[\w.-]+|cos-[\w.-]+|src-[\w.-]+|SCHEMAV_\w+): (.*)$`)
	xmlElement  = regexp.MustCompile(`[Ee]lement '?(?:\{[^}]*\})?([\w.:-]+)'?`)
	xmlNamed    = regexp.MustCompile(`\b(?:element|attribute|of type|for type|attribute name) '(?:\{[^}]*\}|"[^"]*":)?([#\w.:-]+)'`)
	xmlLibxml   = regexp.MustCompile(`Element '(?:\{[^}]*\})?([\w.:-]+)'(?:, attribute '(?:\{[^}]*\})?([\w.:-]+)')?: (?:\[facet '(\w+)'\] )?(.*)$`)
	xmlLineEnd  = regexp.MustCompile(`,? \(?line \d+\)?\.?$`)
	xmlStarting = regexp.MustCompile(`starting with element '(?:\{[^}]*\})?([\w.:-]+)'`)
)

// xmlText reads what Xerces and libxml2 say of a document that breaks its
// schema: the code, and the element or attribute it is about. Lines and columns
// are the document's.
func xmlText(text string) ([]Rule, string) {
	var rules []Rule
	for line := range strings.Lines(text) {
		if len(rules) >= maxCollected {
			break
		}
		line = strings.TrimSpace(clip(line, maxLine))
		if !holdsSign(line, xmlSigns) {
			continue
		}
		if m := xmlLibxml.FindStringSubmatch(line); m != nil {
			said := xmlLineEnd.ReplaceAllString(m[4], "")
			r := Rule{Path: joinPath(m[1], m[2]), Rule: "", Message: clip(said, maxMessage)}
			if code := xmlCode.FindStringSubmatch(line); code != nil {
				r.Rule = code[1]
			}
			if m[3] != "" {
				r.Rule = "facet " + m[3]
			}
			rules = append(rules, r)
			continue
		}
		m := xmlCode.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		r := Rule{Rule: m[1], Message: clip(m[2], maxMessage)}
		for _, place := range []*regexp.Regexp{xmlStarting, xmlNamed, xmlElement} {
			if name := place.FindStringSubmatch(m[2]); name != nil {
				r.Path = name[1]
				break
			}
		}
		rules = append(rules, r)
	}
	return rules, ""
}

var xmlSigns = []string{"Element '", "cvc-", "cos-", "src-", "SCHEMAV_"}
