package fingerprint

import (
	"regexp"
	"slices"
	"strings"
)

var (
	pyCallFirst = regexp.MustCompile(`^(Current )?[Tt]hread 0x[0-9a-f]+.*\(most recent call first\):\s*$|^Stack \(most recent call first\):\s*$`)
	pyFatal     = regexp.MustCompile(`^(Fatal Python error|Timeout)(?:: (.*)| \(.*)?$`)
)

// pythonFault reads what faulthandler writes when the interpreter itself dies or
// hangs: the stack of each thread, innermost first. The current thread's counts,
// or the first where none is marked. It returns nil for any other text.
func pythonFault(lines []string) *exception {
	if slices.ContainsFunc(lines, pyHeader.MatchString) {
		return nil
	}
	start := -1
	for i, line := range lines {
		m := pyCallFirst.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if start < 0 || m[1] != "" {
			start = i
		}
		if m[1] != "" {
			break
		}
	}
	if start < 0 {
		return nil
	}
	e := &exception{typ: "Fatal Python error", raised: -1}
	for i, line := range lines[:start] {
		if m := pyFatal.FindStringSubmatch(line); m != nil {
			e.typ, e.message, e.raised = m[1], []string{m[2]}, i
			break
		}
	}
	for i, line := range lines[start+1:] {
		f := pythonFrame(line)
		if f == nil {
			if strings.TrimSpace(line) == "" || len(e.frames) > 0 {
				break
			}
			continue
		}
		f.line = start + 1 + i
		e.frames = append(e.frames, *f)
	}
	e.frames = capped(e.frames)
	return e
}
