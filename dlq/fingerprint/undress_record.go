package fingerprint

import (
	"fmt"
	"regexp"
	"strings"
)

// Names that loggers give to an exception's type and message, beside its stack.
var (
	typeNames    = []string{"errorType", "exc_type", "exception_class", "exception.type", "typeName", "class", "type", "name", "kind"}
	messageNames = []string{"errorMessage", "exc_value", "exception_message", "exception.message", "value", "error", "message", "msg", "event", "detail"}
	namedType    = regexp.MustCompile(`^\*?[A-Za-z_$][\w$.:\\/]*$`)
)

var (
	bareJVMFrame = regexp.MustCompile(`^[\w$.]+\.[\w$<>]+\([\w$]+\.(?:java|kt|scala|groovy):\d+\)$`)
	startsAsGo   = regexp.MustCompile(`^[\p{L}_][^\s]*\(?[^\n]*\n\t\S+\.go:\d+`)
)

// headed gives a stack that begins with its first frame the line that names its
// exception, which its record keeps beside it.
func headed(stack string, record map[string]any) string {
	first := firstLine(stack)
	typ, message := recordText(record, typeNames), recordText(record, messageNames)
	if !namedType.MatchString(typ) {
		typ = ""
	}
	switch {
	case strings.HasPrefix(first, `File "`):
		if typ == "" || endsWithException(stack) {
			return stack
		}
		return "Traceback (most recent call last):\n" + stack + "\n" + header(typ, message) + "\n"
	case strings.HasPrefix(first, "at ") && typ != "":
		return header(typ, message) + "\n" + stack
	case bareJVMFrame.MatchString(first) && typ != "":
		return header(typ, message) + "\n" + "\tat " + strings.ReplaceAll(strings.TrimSpace(stack), "\n", "\n\tat ")
	case startsAsGo.MatchString(stack) && message != "":
		return message + "\n" + stack
	}
	return stack
}

func header(typ, message string) string {
	if message == "" {
		return typ
	}
	return typ + ": " + message
}

// endsWithException says whether a Python stack has an unindented line at its
// end, as its exception is printed.
func endsWithException(stack string) bool {
	last := stack[strings.LastIndexByte(stack, '\n')+1:]
	return pyException.MatchString(last)
}

func recordText(record map[string]any, names []string) string {
	for _, n := range names {
		if s, ok := record[n].(string); ok && s != "" {
			return clip(s, maxMessage)
		}
	}
	return ""
}

// recordedStack finds a stack that is spelled out as objects, as error trackers
// and structured loggers keep it, and writes it as its runtime would have.
func recordedStack(v any, depth int) string {
	if depth > 5 {
		return ""
	}
	switch v := v.(type) {
	case map[string]any:
		if values, ok := v["values"].([]any); ok {
			return recordedChain(values, "")
		}
		if exception, ok := v["exception"].(map[string]any); ok {
			if values, ok := exception["values"].([]any); ok {
				platform, _ := v["platform"].(string)
				return recordedChain(values, platform)
			}
		}
		if s := recordedException(v, "").text(); s != "" {
			return s
		}
		for _, name := range sortedNames(v) {
			if s := recordedStack(v[name], depth+1); s != "" {
				return s
			}
		}
	case []any:
		for _, item := range v[:min(len(v), 20)] {
			if s := recordedStack(item, depth+1); s != "" {
				return s
			}
		}
	}
	return ""
}

// recorded is one exception of a record, frames outermost first.
type recorded struct {
	platform, typ, message string
	frames                 []recordedFrame
}

type recordedFrame struct {
	function, module, file string
	line                   string
}

// recordedException reads an object with a list of frames; without frames where
// there is none.
func recordedException(m map[string]any, platform string) recorded {
	r := recorded{platform: platform, typ: recordText(m, typeNames), message: recordText(m, messageNames)}
	list, _ := m["frames"].([]any)
	if stack, ok := m["stacktrace"].(map[string]any); ok {
		list, _ = stack["frames"].([]any)
	}
	if len(list) > maxFrames {
		list = list[len(list)-maxFrames:]
	}
	for _, item := range list {
		f, ok := item.(map[string]any)
		if !ok {
			return recorded{}
		}
		frame := recordedFrame{function: firstString(f, "function", "name", "method"), module: firstString(f, "module", "class"),
			file: firstString(f, "abs_path", "filename", "file"), line: firstString(f, "lineno", "line")}
		if frame.function == "" && frame.file == "" {
			return recorded{}
		}
		r.frames = append(r.frames, frame)
	}
	return r
}

func recordedChain(values []any, platform string) string {
	var chain []recorded
	for _, v := range values[:min(len(values), maxExceptions)] {
		if m, ok := v.(map[string]any); ok {
			if r := recordedException(m, platform); r.typ != "" || len(r.frames) > 0 {
				chain = append(chain, r)
			}
		}
	}
	if len(chain) == 0 {
		return ""
	}
	// The root comes first and what was raised last comes last.
	var b strings.Builder
	outer := chain[len(chain)-1]
	switch outer.runtime() {
	case "python":
		for i, r := range chain {
			if i > 0 {
				b.WriteString("\n" + pyDirectCause + "\n\n")
			}
			b.WriteString(r.text())
		}
	case "jvm":
		for i := len(chain) - 1; i >= 0; i-- {
			if i < len(chain)-1 {
				b.WriteString("Caused by: ")
			}
			b.WriteString(chain[i].text())
		}
	default:
		b.WriteString(outer.text())
	}
	return b.String()
}

// runtime tells whose frames these are: the platform where it is named, else by
// the ending of the innermost file.
func (r recorded) runtime() string {
	switch r.platform {
	case "python", "go":
		return r.platform
	case "java", "kotlin", "scala", "android":
		return "jvm"
	case "node", "javascript":
		return "javascript"
	}
	if len(r.frames) == 0 {
		return ""
	}
	file := r.frames[len(r.frames)-1].file
	switch ending(file) {
	case ".py", ".pyx":
		return "python"
	case ".go":
		return "go"
	case ".java", ".kt", ".scala":
		return "jvm"
	case ".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx":
		return "javascript"
	}
	return ""
}

// text writes the exception as its runtime prints it; "" where that is not known.
func (r recorded) text() string {
	runtime := r.runtime()
	if len(r.frames) == 0 || runtime == "" {
		return ""
	}
	var b strings.Builder
	if runtime == "python" {
		b.WriteString("Traceback (most recent call last):\n")
		for _, f := range r.frames {
			fmt.Fprintf(&b, "  File \"%s\", line %s, in %s\n", f.file, orOne(f.line), f.function)
		}
		b.WriteString(header(r.typ, r.message) + "\n")
		return b.String()
	}
	if runtime == "go" {
		b.WriteString(r.message + "\n")
	} else {
		b.WriteString(header(r.typ, r.message) + "\n")
	}
	for i := len(r.frames) - 1; i >= 0; i-- {
		f := r.frames[i]
		switch runtime {
		case "jvm":
			fmt.Fprintf(&b, "\tat %s.%s(%s:%s)\n", f.module, f.function, baseName(f.file), orOne(f.line))
		case "go":
			fmt.Fprintf(&b, "%s.%s\n\t%s:%s\n", f.module, f.function, f.file, orOne(f.line))
		default:
			fmt.Fprintf(&b, "    at %s (%s:%s:1)\n", f.function, f.file, orOne(f.line))
		}
	}
	return b.String()
}

func orOne(line string) string {
	if line == "" {
		return "1"
	}
	return line
}
