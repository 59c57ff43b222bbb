package handlers

import (
	"strings"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
	"dlo/views/components"
	"dlo/views/entry"
)

// Limits of what the page shows of a trace and of validation output. The whole
// of either stands behind its link.
const (
	traceCopyMost    = 32 << 10 // bytes of a trace that go along for the copy button
	foldFrom         = 4        // library lines in a row
	rulesMost        = 50
	validationMost   = 16 << 10 // bytes of output that is not structured
	nameOfTrace      = "stack_trace"
	nameOfValidation = "validation_output"
)

// newTrace shapes the stack trace of an attempt, or says why there is none.
func newTrace(a dlq.Attempt, rawHref string) entry.Trace {
	if strings.TrimSpace(a.Detail.Trace) == "" {
		t := entry.Trace{None: "No trace.", NoneWhy: noTraceWhy(a), Summary: shownLine(a.ErrorType, 80).String()}
		if a.Detail.TraceURI != "" {
			t.URI = shown(a.Detail.TraceURI)
		}
		return t
	}
	in := fingerprintInput(a)
	result := fingerprint.Of(in)
	if !strings.HasPrefix(a.Fingerprint, result.String()) {
		result.Digest = "" // stored by another version: no frame may be marked as its key
	}
	lines := fingerprint.Annotate(in, result)
	t := entry.Trace{Blocks: traceBlocks(lines), Raw: components.Link{Text: "Raw", Href: rawHref}, Summary: traceSummary(lines)}
	if len(a.Detail.Trace) <= traceCopyMost {
		t.CopyID, t.RawText = "trace-raw", components.PlainText(strings.ToValidUTF8(a.Detail.Trace, "\uFFFD"))
	}
	if n, ok := a.Detail.Cut[nameOfTrace]; ok {
		t.Cut = sentence("Cut in its middle at %s of %s", byteSize(dlq.MaxText), byteSize(int64(n)))
	}
	return t
}

// fingerprintInput is an attempt as its fingerprint was made from it.
func fingerprintInput(a dlq.Attempt) fingerprint.Input {
	e := dlq.Envelope{ErrorType: a.ErrorType, ErrorMessage: a.Detail.Message, StackTrace: a.Detail.Trace, Versions: a.Versions, Reason: string(a.Reason), Stage: a.Stage, Confidence: a.Confidence}
	if a.Detail.Validation != "" {
		e.ValidationOutput = a.Detail.Validation
	}
	return fingerprint.InputOf(e)
}

func noTraceWhy(a dlq.Attempt) string {
	switch {
	case a.Detail.TraceURI != "":
		return "The pipeline keeps it elsewhere."
	case a.ErrorClass == dlq.ClassResourceFatal:
		return "The process died; nothing survived to write one."
	case a.Reason == dlq.ReasonLowConfidence:
		return "Nothing failed: the result was under the source's floor of confidence."
	case a.Reason == dlq.ReasonValidation:
		return "Rules failed, and no exception was raised."
	}
	return "The pipeline sent none. With stack_trace, failures are grouped by the code that raised them."
}

func traceSummary(lines []fingerprint.Line) string {
	library := 0
	for _, l := range lines {
		if l.Kind == fingerprint.LineLibrary {
			library++
		}
	}
	s := counted(len(lines), "line", "lines")
	if library > 0 {
		s += ", " + grouped(library) + " of libraries"
	}
	return s
}

// traceBlocks folds runs of library lines, so that what is left to read is the
// pipeline's own way to the failure.
func traceBlocks(lines []fingerprint.Line) []entry.TraceBlock {
	var blocks []entry.TraceBlock
	for len(lines) > 0 {
		n := 1
		library := lines[0].Kind == fingerprint.LineLibrary
		for n < len(lines) && (lines[n].Kind == fingerprint.LineLibrary) == library {
			n++
		}
		block := entry.TraceBlock{}
		if library && n >= foldFrom {
			block.Fold = counted(n, "library line", "library lines")
		}
		for _, l := range lines[:n] {
			block.Lines = append(block.Lines, entry.TraceLine{Text: shown(l.Text), Kind: traceKinds[l.Kind]})
		}
		if last := len(blocks) - 1; last >= 0 && block.Fold == "" && blocks[last].Fold == "" {
			blocks[last].Lines = append(blocks[last].Lines, block.Lines...)
		} else {
			blocks = append(blocks, block)
		}
		lines = lines[n:]
	}
	return blocks
}

var traceKinds = map[string]entry.LineKind{
	fingerprint.LineText:    entry.LinePlain,
	fingerprint.LineFrame:   entry.LinePlain,
	fingerprint.LineLibrary: entry.LineLibrary,
	fingerprint.LineKey:     entry.LineKey,
	fingerprint.LineRaise:   entry.LineRaise,
	fingerprint.LineMessage: entry.LineRaise,
}

// newValidation shapes what the rules said: the failed before the passed, or
// the text as it was sent where no form of it is known.
func newValidation(a dlq.Attempt, rawHref string) entry.Validation {
	text := a.Detail.Validation
	if strings.TrimSpace(text) == "" {
		v := entry.Validation{None: "None was sent. Where rules ran, their output stands here beside the trace."}
		if a.Detail.Message != "" {
			v.Summary, v.None, v.Raw = "the error's message", "No validation output was sent. This is what the error said:", firstBytes(a.Detail.Message, validationMost)
		}
		return v
	}
	v := entry.Validation{RawLink: components.Link{Text: "Raw", Href: rawHref}}
	if n, ok := a.Detail.Cut[nameOfValidation]; ok {
		v.Cut = sentence("Cut in its middle at %s of %s", byteSize(dlq.MaxText), byteSize(int64(n)))
	}
	rules, model, structured := fingerprint.ParseValidation(text)
	if !structured || len(rules) == 0 {
		v.Summary, v.Raw = "as it was sent", firstBytes(text, validationMost)
		if len(text) > validationMost && v.Cut == "" {
			v.Cut = sentence("The first %s of %s; the rest stands under Raw", byteSize(validationMost), byteSize(int64(len(text))))
		}
		return v
	}
	failed := 0
	for _, r := range rules {
		if !r.Passed {
			failed++
		}
	}
	v.Summary = grouped(failed) + " of " + counted(len(rules), "rule", "rules") + " failed"
	if model != "" {
		v.Summary += " · " + shownLine(model, 60).String()
	}
	for _, passed := range []bool{false, true} {
		for _, r := range rules {
			if r.Passed == passed && len(v.Rules) < rulesMost {
				v.Rules = append(v.Rules, newRule(r))
			}
		}
	}
	if rest := len(rules) - len(v.Rules); rest > 0 {
		v.More = sentence("%s more stand under Raw", counted(rest, "rule", "rules"))
	}
	return v
}

func newRule(r fingerprint.Rule) entry.Rule {
	name := r.Rule
	if name == "" {
		name = "rule"
	}
	return entry.Rule{Name: shownLine(name, 120), Message: shownLine(r.Message, 500), Passed: r.Passed, Path: shownLine(r.Path, 300), Expected: shownLine(r.Expected, 300), Got: shownLine(r.Got, 300)}
}

// firstBytes is the head of a long text, whole characters of it.
func firstBytes(s string, limit int) components.Text {
	if len(s) > limit {
		s = string(wholeRunes([]byte(s[:limit])))
	}
	return shown(s)
}
