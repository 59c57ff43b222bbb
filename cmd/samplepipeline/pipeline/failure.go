package pipeline

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"dlo/dlq"
	"dlo/dlq/client"
)

// Rule is one check of a document's content, as the envelope's
// validation_output carries it. Path is dotted, with list positions as numbers.
type Rule struct {
	Rule     string `json:"rule"`
	Path     string `json:"path"`
	Message  string `json:"message,omitempty"`
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	Passed   bool   `json:"passed"`
}

// RuleError is a document that was read, and broke rules. Rules holds all that
// were checked, passed ones included.
type RuleError struct{ Rules []Rule }

func (e *RuleError) Error() string {
	var broken []string
	for _, r := range e.Rules {
		if !r.Passed {
			broken = append(broken, r.Message)
		}
	}
	return strings.Join(broken, "; ")
}

// FailureClass gives permanent_input: only other content helps, or another rule.
func (*RuleError) FailureClass() dlq.FailureClass { return dlq.ClassPermanentInput }

// LowConfidenceError is a document that was read too poorly to be believed.
type LowConfidenceError struct{ Confidence float64 }

func (e *LowConfidenceError) Error() string {
	return fmt.Sprintf("read with confidence %.2f, under the floor of %.2f", e.Confidence, confidenceFloor)
}

// brokenRules gives a RuleError if a rule did not pass, else nil. No stack is
// kept: where a rule broke says nothing that its name and path do not.
func brokenRules(rules []Rule) error {
	broken := false
	for i, r := range rules {
		if r.Passed {
			rules[i].Message = "" // it says what is wrong where something is
			continue
		}
		broken = true
	}
	if !broken {
		return nil
	}
	return &RuleError{Rules: rules}
}

// stackError is an error with the call stack of where it arose.
type stackError struct {
	error
	pcs []uintptr
}

func (e *stackError) Unwrap() error { return e.error }

// traced adds the caller's stack to an error. It is called where an error
// arises or leaves a library, once: an error that has a stack keeps it.
func traced(err error) error {
	var has *stackError
	if err == nil || errors.As(err, &has) {
		return err
	}
	pcs := make([]uintptr, 32)
	return &stackError{err, pcs[:runtime.Callers(2, pcs)]}
}

// panicError is a panic that was recovered, with the goroutine's own stack.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprint(e.value) }

// FailureClass gives ambiguous_parse: the parser raised, if not as it should.
func (*panicError) FailureClass() dlq.FailureClass { return dlq.ClassAmbiguousParse }

// Unwrap gives the value if it was an error, as runtime errors are.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// caught turns a panic of f into an error that carries the stack, so that one
// document cannot take the pipeline along.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return f()
}

// failure is what a failed attempt has to say for itself: the error fields of
// an envelope.
type failure struct {
	Stage      string
	Reason     dlq.Reason
	Class      dlq.FailureClass
	Type       string
	Message    string
	Trace      string
	Rules      []Rule
	Confidence *float64
}

// stageError says in which stage of the pipeline an error arose.
type stageError struct {
	stage string
	error
}

func (e *stageError) Unwrap() error { return e.error }

// describe reads a failure off an error chain.
func describe(err error) failure {
	f := failure{
		Stage:   "parse",
		Reason:  dlq.ReasonException,
		Class:   client.ClassOf(err),
		Type:    typeName(err),
		Message: err.Error(),
		Trace:   stackText(err),
	}
	var stage *stageError
	if errors.As(err, &stage) {
		f.Stage = stage.stage
	}
	var none *client.NoAnswerError
	if errors.As(err, &none) {
		f.Stage = "" // nobody knows how far it came
	}
	var copied *copyError
	if errors.As(err, &copied) {
		f.Class = dlq.ClassTransient
	}
	var rules *RuleError
	if errors.As(err, &rules) {
		f.Reason, f.Rules = dlq.ReasonValidation, rules.Rules
	}
	var amount *AmountError
	var at *locatedError
	if errors.As(err, &amount) && errors.As(err, &at) {
		f.Reason = dlq.ReasonValidation
		f.Rules = []Rule{{Rule: "amount_format", Path: at.path, Expected: amount.Want, Got: amount.Text, Message: "the amount cannot be read"}}
	}
	var low *LowConfidenceError
	if errors.As(err, &low) {
		f.Reason, f.Confidence = dlq.ReasonLowConfidence, &low.Confidence
	}
	return f
}

// typeName gives the Go type of the first error of the chain that says what
// went wrong, past those that only add a stage, a class, a stack or a sentence.
func typeName(err error) string {
	for {
		switch name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*"); name {
		case "pipeline.stageError", "pipeline.stackError", "pipeline.locatedError", "pipeline.copyError", "client.ClassifiedError", "fmt.wrapError":
			err = errors.Unwrap(err)
		case "pipeline.panicError":
			inner := errors.Unwrap(err)
			if inner == nil {
				return "panic"
			}
			err = inner
		default:
			return name
		}
	}
}

// copyError is a stored copy that cannot be used: a link that lapsed, bytes that
// differ. Trying again does not help, and another redrive does.
type copyError struct{ error }

func (e *copyError) Unwrap() error { return e.error }

// stackText prints the stack that the chain carries, in the layout of its kind:
// a panic as the runtime prints it, an error as a message over pairs of function
// and place. No stack gives "".
func stackText(err error) string {
	var p *panicError
	if errors.As(err, &p) {
		return fmt.Sprintf("panic: %v [recovered]\n\n%s", p.value, p.stack)
	}
	var s *stackError
	if !errors.As(err, &s) {
		return ""
	}
	var out strings.Builder
	fmt.Fprintln(&out, s.Error())
	frames := runtime.CallersFrames(s.pcs)
	for {
		frame, more := frames.Next()
		if frame.Function != "" {
			fmt.Fprintf(&out, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return out.String()
		}
	}
}
