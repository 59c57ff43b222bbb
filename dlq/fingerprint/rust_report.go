package fingerprint

import (
	"regexp"
	"strings"
)

var (
	rustPlace     = regexp.MustCompile(`^((?:[A-Za-z]:[\\/])?[^:'"]+\.\w+):\d+(?::\d+)?:?$`)
	rustOldEnd    = regexp.MustCompile(`['"](?:,|:| at) \(?((?:[A-Za-z]:[\\/])?[^:'"]+\.\w+):\d+(?::\d+)?\)?$`)
	rustCauseItem = regexp.MustCompile(`^\s*\d+: (.*)$`)
	rustLocation  = regexp.MustCompile(`^\s*(?:Location:\s*|at )?((?:[A-Za-z]:[\\/])?[^:\s'"][^:'"]*\.rs):\d+(?::\d+)?$`)
	rustOverflows = regexp.MustCompile(`thread '[^']*'(?: \(\d+\))? has overflowed its stack`)
	rustAllocates = regexp.MustCompile(`memory allocation of \d+ bytes failed`)
)

func parseRust(lines []string) parsed {
	for i, line := range lines {
		switch {
		case strings.Contains(line, "panicked at "):
			if e, next, ok := rustHeader(lines, i); ok {
				e.frames = rustStack(lines, next, e.frames)
				return parsed{outer: e}
			}
		case strings.HasPrefix(strings.TrimSpace(line), "The application panicked (crashed)."):
			return parsed{outer: rustReport(lines, i)}
		case rustOverflows.MatchString(line):
			return parsed{outer: &exception{typ: rustStackOverflow, message: []string{"the thread has overflowed its stack"}, raised: i, frames: rustStack(lines, i+1, nil)}}
		case rustAllocates.MatchString(line):
			return parsed{outer: &exception{typ: rustOutOfMemory, message: []string{rustAllocates.FindString(line)}, raised: i, frames: rustStack(lines, i+1, nil)}}
		case strings.HasPrefix(line, "fatal runtime error: "):
			return parsed{outer: &exception{typ: rustFatal, message: []string{strings.TrimPrefix(line, "fatal runtime error: ")}, raised: i, frames: rustStack(lines, i+1, nil)}}
		}
	}
	return parsed{outer: rustErrorReport(lines)}
}

// rustHeader reads a panic's header at line i: place then message, or before
// 1.73 the quoted message then the place. It returns the line after it.
func rustHeader(lines []string, i int) (*exception, int, bool) {
	_, rest, ok := strings.Cut(lines[i], "panicked at ")
	if !ok {
		return nil, 0, false
	}
	e := &exception{typ: rustPanic, raised: i}
	rest = strings.TrimSpace(rest)
	if place := rustPlace.FindStringSubmatch(rest); place != nil {
		e.frames = rustPlaceFrames(place[1], i)
		e.message = []string{""} // the header itself holds nothing of it
		next := i + 1
		for next < len(lines) && !rustMessageEnds(lines[next]) && len(e.message) < maxLines {
			e.message = append(e.message, lines[next])
			next++
		}
		return e, next, true
	}
	if rest == "" || rest[0] != '\'' && rest[0] != '"' && rest[0] != '(' {
		return nil, 0, false
	}
	for next := i; next < len(lines); next++ {
		text := lines[next]
		if next == i {
			text = rest[1:]
		} else if rustMessageEnds(text) {
			break
		}
		if end := rustOldEnd.FindStringSubmatchIndex(text); end != nil {
			e.message = append(e.message, text[:end[0]])
			e.frames = rustPlaceFrames(text[end[2]:end[3]], i)
			return e, next + 1, true
		}
		e.message = append(e.message, text)
	}
	e.message = e.message[:min(1, len(e.message))]
	return e, i + 1, len(e.message) > 0
}

// rustMessageEnds says that a panic's message ends above the line.
func rustMessageEnds(line string) bool {
	t := strings.TrimSpace(line)
	return strings.HasPrefix(t, "note: ") || strings.EqualFold(t, "stack backtrace:") || strings.Contains(line, "panicked at ") || strings.HasPrefix(t, "thread panicked") || rustSymbolOf(line) != ""
}

// rustReport reads color-eyre's report of a panic.
func rustReport(lines []string, i int) *exception {
	e := &exception{typ: rustPanic, raised: i}
	var place []frame
	for j := i + 1; j < len(lines) && j <= i+40; j++ {
		t := strings.TrimSpace(lines[j])
		if message, ok := strings.CutPrefix(t, "Message:"); ok && e.message == nil {
			e.message, e.raised = []string{strings.TrimSpace(message)}, j
		}
		if m := rustLocation.FindStringSubmatch(t); m != nil && strings.HasPrefix(t, "Location:") && place == nil {
			place = rustPlaceFrames(m[1], j)
		}
	}
	e.frames = rustStack(lines, i+1, place)
	return e
}

// rustErrorReport reads an error that reached main or a log with its causes:
// what anyhow and eyre print for {:?}. The deepest cause is what went wrong.
func rustErrorReport(lines []string) *exception {
	e := &exception{typ: rustError, raised: -1}
	var causes []string
	var place []frame
	inCauses, stackAt := false, 0
	for i, line := range lines {
		t := strings.TrimSpace(line)
		switch {
		case rustSymbolOf(line) != "" && rustFrameAt(lines, i) != nil, strings.HasPrefix(strings.ToLower(t), "stack backtrace:"):
			inCauses = false
			if stackAt == 0 {
				stackAt = i
			}
		case stackAt > 0:
		case t == "Caused by:":
			inCauses = true
		case t == "Location:" || strings.HasPrefix(t, "Location:"):
			inCauses = false
		case strings.Contains(line, ".rs:") && rustLocation.MatchString(line):
			if place == nil {
				place = rustPlaceFrames(rustLocation.FindStringSubmatch(line)[1], i)
			}
		case inCauses && t != "" && line != t:
			if m := rustCauseItem.FindStringSubmatch(line); m != nil {
				t = m[1]
			}
			causes = append(causes, t)
		case t == "Error:":
			inCauses, e.raised = true, i // color-eyre numbers the error itself too
		case t == "":
		case strings.HasPrefix(t, "Error: "):
			inCauses = false
			e.raised, e.message = i, []string{strings.TrimPrefix(t, "Error: ")}
		default:
			inCauses = false
			if e.message == nil && len(causes) == 0 {
				e.raised, e.message = i, []string{t}
			}
		}
	}
	if e.message == nil && len(causes) > 0 {
		e.message, causes = causes[:1], causes[1:]
	}
	if len(causes) > 0 {
		e.steady = causes[len(causes)-1]
	}
	e.frames = rustStack(lines, stackAt, place)
	if e.message == nil && len(e.frames) == 0 {
		return nil
	}
	return e
}
