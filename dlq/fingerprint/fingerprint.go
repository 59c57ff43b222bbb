// Package fingerprint reduces one failure to a short digest that other
// failures of the same defect share.
//
// It reads what a pipeline sent (type, message, stack trace, validation output),
// undresses the trace, parses it by language, picks the exception that says
// most about the defect, normalises its three innermost frames and hashes the
// result. It reads what Python, the JVM (Java, Kotlin, Scala, Groovy, Clojure),
// Go, JavaScript, .NET, Ruby, PHP, Rust, PowerShell and native programs print,
// and the debuggers, loggers and crash reporters of each. It is pure: no clock, no store, no network. What it leaves to others:
// which cohort a digest belongs to, hand merges and splits, and how any of this
// looks on a page.
//
// The text that is hashed is kept as Result.Canonical, so that two digests can
// be compared by reading. An algorithm is frozen once its digests are stored: a
// change that moves any pinned canonical text is a new Version.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Version names the algorithm of this package. It prefixes every digest.
const Version = "f1"

// Modes of a Result: what the key was made from.
const (
	ModeTrace      = "trace"      // exception type and frames
	ModeMessage    = "message"    // exception type and message template
	ModeValidation = "validation" // the set of failed rules
	ModeConfidence = "confidence" // source, stage and a band of the score
	ModeNone       = "none"       // nothing but the source and the parser
)

// Grades of Result.Confidence: how likely it is that two failures with this
// digest are one defect.
const (
	ConfidenceHigh   = "high"   // three frames and a telling type, or structured rules
	ConfidenceMedium = "medium" // one or two frames, or a type that says nothing by itself
	ConfidenceLow    = "low"    // no frames, a cut trace, or a recursion
)

// Reasons of an envelope that decide the mode: a document that was parsed but
// scored under the pipeline's threshold, and one that broke the pipeline's rules.
const (
	reasonLowConfidence = "low_confidence"
	reasonValidation    = "validation"
)

// Input is one failure as the pipeline reported it. Every field may be empty.
type Input struct {
	ErrorType    string
	ErrorMessage string
	Trace        string
	Validation   string // text or JSON, as it was sent
	Language     string // a hint; it only settles ties
	Source       string
	Parser       string // the component's name, without its version
	Reason       string // exception, validation or low_confidence
	Stage        string
	Confidence   float64 // 0 to 1; read for low_confidence only
}

var (
	pythonClass   = regexp.MustCompile(`^<class '([\w.]+)'>$`)
	typeAndSaying = regexp.MustCompile(`^([\w.$\\:]*\w)(?: \[\w+\])?: `)
)

// typeName is the reported type without its module, and without the message that
// some reporters leave behind it.
func (in Input) typeName() string {
	typ := strings.TrimLeft(strings.TrimSpace(in.ErrorType), "*&")
	if m := pythonClass.FindStringSubmatch(typ); m != nil {
		typ = m[1]
	} else if m := typeAndSaying.FindStringSubmatch(typ); m != nil {
		typ = m[1]
	}
	return lastSegment(typ)
}

// Frame is one normalised stack frame. Unit stands for the file: its basename in
// Python, JavaScript, Ruby, PHP, Rust and PowerShell; the class with its package
// on the JVM; the package path in Go; the namespace in .NET, whose function is
// Class.Method; the file or, for want of one, the module of native code. It never
// holds a directory, a line, an address or an argument.
type Frame struct{ Function, Unit string }

// String returns "function@unit", the form used in canonical text.
func (f Frame) String() string { return f.Function + "@" + f.Unit }

// Result is the fingerprint of one Input, with what it was made from.
type Result struct {
	Version    string // "f1"
	Digest     string // 32 lower-case hex digits
	Mode       string // one of the Mode constants
	Confidence string // one of the Confidence constants
	Language   string // "python", "jvm", "go", "javascript", "dotnet", "ruby", "php", "rust", "powershell", "native", or "" where none was recognised
	Type       string // the outer exception's type, last segment
	RootType   string // the type of the exception at the bottom of the deliberate chain; "" if that is the outer one
	Message    string // first line of the outer message as read
	Template   string // Message with its variable parts replaced
	// Frames holds at most three frames, innermost first. Under ModeTrace they
	// are part of the key; under ModeValidation they are for the reader only.
	Frames    []Frame
	Deeper    []Frame  // the frames behind those, at most three; no part of the key
	Rules     []string // the failed validation rules, at most 20; under ModeValidation they are the key
	Canonical string   // the hashed text
	Steps     []string // what undressing did, one short phrase each
}

// String returns the versioned digest, "f1:7f3a…".
func (r Result) String() string { return r.Version + ":" + r.Digest }

// Of returns the fingerprint of in. It never fails: where there is little to go
// by, the mode and the confidence say so.
func Of(in Input) Result { return analyse(in).result }

// analysis is Of with the undressed lines and the chosen exception still at
// hand, for Annotate.
type analysis struct {
	result Result
	lines  []string
	lang   *language
	parsed parsed
	key    []frame // frames of result.Frames, with their line numbers
}

func analyse(in Input) analysis {
	a := analysis{}
	a.result.Version = Version
	a.read(in.Trace, in.Language)
	if strings.TrimSpace(in.Trace) == "" && traceShape.MatchString(clip(in.ErrorMessage, maxMessageHead)) {
		a.readMessage(in)
	}
	outer := unwrap(a.lang, a.parsed.outer)

	switch {
	case in.Reason == reasonLowConfidence:
		a.byConfidence(in)
	case in.Reason == reasonValidation && a.byRules(in, outer):
	case validationIn(outer) != nil && a.byRules(in, outer):
	case outer != nil && outer.hasFrames():
		a.byTrace(in, outer)
	case a.byRules(in, outer):
	default:
		a.byMessage(in, outer)
	}
	sum := sha256.Sum256([]byte(a.result.Canonical))
	a.result.Digest = hex.EncodeToString(sum[:16])
	return a
}

// read undresses and parses a trace.
func (a *analysis) read(trace, hint string) {
	und := undress(trace)
	a.lines, a.result.Steps = und.lines, und.steps
	a.lang = chooseLanguage(a.lines, hint)
	if a.lang != nil {
		a.result.Language = a.lang.name
		a.parsed = a.lang.parse(a.lines)
	}
}

// readMessage takes the trace from the message, where a reporter put both into
// one text. There is then no trace to show beside the message.
func (a *analysis) readMessage(in Input) {
	inMessage := analysis{}
	inMessage.read(in.ErrorMessage, in.Language)
	if outer := inMessage.parsed.outer; outer != nil && outer.hasFrames() {
		inMessage.result.Version, inMessage.lines = Version, nil
		*a = inMessage
	}
}

// byTrace keys on the type, the frames of the deepest deliberate cause, and
// whatever else keeps defects apart that share both.
func (a *analysis) byTrace(in Input, outer *exception) {
	r := &a.result
	r.Mode = ModeTrace
	k := keyOf(a.lang, outer, in)
	r.Type, r.RootType, r.Canonical = k.typ, k.rootType, k.text()
	r.Message = clip(k.message, maxMessage)
	r.Template = a.lang.template(r.Type, r.Message)
	r.Confidence = k.confidence()
	a.key = k.frames
	for _, f := range k.frames {
		r.Frames = append(r.Frames, f.Frame)
	}
	for _, f := range k.deeper {
		r.Deeper = append(r.Deeper, f.Frame)
	}
	if in.Validation != "" {
		rules, _, _ := ParseValidation(in.Validation)
		pairs := failedPairs(rules)
		r.Rules = pairs[:min(len(pairs), maxRulePairs)]
	}
}

// byMessage keys on the type and the message template, or on the source alone
// where there is neither.
func (a *analysis) byMessage(in Input, outer *exception) {
	r := &a.result
	r.Confidence = ConfidenceLow
	r.Type = in.typeName()
	message := in.ErrorMessage
	if outer != nil {
		if outer.typ != "" && (r.Type == "" || !a.parsed.cut) {
			r.Type = lastSegment(outer.typ)
		}
		if m := strings.Join(outer.message, "\n"); strings.TrimSpace(message) == "" && !a.parsed.cut {
			message = m
		}
	}
	lines := 2
	if strings.TrimSpace(message) == "" && outer == nil && !a.parsed.cut {
		// A language that is not parsed here: the head of the text is the best
		// there is. Its second line is often a frame already.
		message = strings.Join(a.lines[:min(len(a.lines), 20)], "\n")
		if !strings.HasSuffix(firstLine(message), ":") {
			lines = 1
		}
	}
	r.Message = clip(firstLine(message), maxMessage)
	r.Template = Template(r.Message)
	template := Template(firstLines(message, lines))
	if outer != nil && outer.steady != "" {
		template = Template(outer.steady)
	}
	var b canonical
	if r.Type == "" && template == "" {
		r.Mode = ModeNone
		b.line("mode", ModeNone)
		b.optional("source", in.Source)
		b.optional("parser", in.Parser)
		r.Canonical = b.String()
		return
	}
	r.Mode = ModeMessage
	b.line("mode", ModeMessage)
	b.optional("type", r.Type)
	b.optional("msg", template)
	r.Canonical = b.String()
}

// byConfidence keys a document that did not fail but scored low.
func (a *analysis) byConfidence(in Input) {
	r := &a.result
	r.Mode = ModeConfidence
	r.Confidence = ConfidenceMedium
	r.Type = in.typeName()
	r.Message = clip(firstLine(in.ErrorMessage), maxMessage)
	r.Template = Template(r.Message)
	var b canonical
	b.line("mode", ModeConfidence)
	b.optional("source", in.Source)
	b.optional("stage", in.Stage)
	b.line("band", confidenceBand(in.Confidence))
	r.Canonical = b.String()
}

// confidenceBand returns the band of 0.05 that v falls in, as "0.70-0.75".
func confidenceBand(v float64) string {
	if math.IsNaN(v) || v < 0 {
		v = 0
	}
	// Multiplying is exact at every bound of a band; dividing by 0.05 is not.
	n := math.Min(math.Floor(v*20), 19)
	return strconv.FormatFloat(n/20, 'f', 2, 64) + "-" + strconv.FormatFloat((n+1)/20, 'f', 2, 64)
}

// canonical builds the hashed text: the version, then one name=value a line.
type canonical struct{ b strings.Builder }

var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ")

func (c *canonical) line(name, value string) {
	if c.b.Len() == 0 {
		c.b.WriteString(Version + "\n")
	}
	c.b.WriteString(name + "=" + lineBreaks.Replace(value) + "\n")
}

func (c *canonical) optional(name, value string) {
	if value != "" {
		c.line(name, value)
	}
}

func (c *canonical) String() string { return c.b.String() }
