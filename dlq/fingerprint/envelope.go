package fingerprint

import (
	"strings"
	"unicode/utf8"

	"dlo/dlq"
)

// InputOf is what of an envelope a fingerprint is made from.
func InputOf(e dlq.Envelope) Input {
	in := Input{ErrorType: e.ErrorType, ErrorMessage: e.ErrorMessage, Trace: e.StackTrace, Validation: e.ValidationText(), Source: e.Source,
		Parser: componentName(e.ComponentVersions()["parser"]), Reason: e.Reason, Stage: e.Stage}
	if e.Confidence != nil {
		in.Confidence = *e.Confidence
	}
	return in
}

// componentName is a version's text without the version, where it names both
// (pdfminer.six@20221105): a key must not change with a release.
func componentName(version string) string {
	name, _, found := strings.Cut(version, "@")
	if !found {
		return ""
	}
	return name
}

// longestName is how much of a type or a template is kept beside a digest, in
// characters.
const longestName = 512

// Noun gives the result as what the store keeps of it.
func (r Result) Noun() dlq.Fingerprint {
	f := dlq.Fingerprint{Algorithm: r.Version, Digest: r.Digest, Mode: r.Mode, Confidence: r.Confidence, Language: r.Language, Type: headOf(r.Type, longestName), RootType: headOf(r.RootType, longestName),
		Template: headOf(r.Template, longestName), Canonical: r.Canonical}
	for _, frame := range r.Frames {
		f.Frames = append(f.Frames, dlq.Frame{Function: frame.Function, Unit: frame.Unit})
	}
	for _, frame := range r.Deeper {
		f.Deeper = append(f.Deeper, dlq.Frame{Function: frame.Function, Unit: frame.Unit})
	}
	f.Rules = r.Rules
	return f
}

func headOf(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes])
}
