package fingerprint

import (
	"regexp"
	"strings"
)

var (
	jsIndex = regexp.MustCompile(`\(index \d+\)$`)
	jsAlias = regexp.MustCompile(` \[as [^\]]*\]$`)
	// What begins a path: then blanks are part of it, and no prose.
	jsRooted = regexp.MustCompile(`^(?:file://)?/?(?:[A-Za-z]:[\\/]|/\w)`)
	// An address or a path must follow the sign: else it is a mailbox.
	jsAtSign = regexp.MustCompile(`^\s*([^@]{0,200}?)@((?:[a-z][a-z-]*://|/|[A-Za-z]:\\)[^\s@]*):\d+:\d+$`)
	jsSpaced = regexp.MustCompile(`^\s*([\w$.<>]+)(?: \[as \w+\])? @ (\S+?\.[cm]?[jt]sx?(?:\?\S*?)?):\d+(?::\d+)?$`)
	jsArrow  = regexp.MustCompile(`^\s*❯ (?:(\S+) )?(\S+\.[cm]?[jt]sx?):\d+:\d+$`)
	// What bundlers put into the names of files, from their content.
	jsHash      = regexp.MustCompile(`[.-][0-9a-f]{8,}(\.[a-z]+)$`)
	jsMixedHash = regexp.MustCompile(`^(.+)[.-]([\w-]{8})(\.[a-z]+)$`)
)

// otherSources are in frames that look alike but are another runtime's.
var otherSources = []string{".java:", ".kt:", ".scala:", ".groovy:", "(Native Method)", "(Unknown Source)", ".rs:"}

// jsFrame reads one frame line; nil if it is none.
func jsFrame(line string) *frame {
	i := strings.Index(line, "at ")
	if i < 0 || strings.TrimLeft(line[:i], " \t") != "" {
		return jsFrameWithoutAt(line)
	}
	if holdsSign(line, otherSources) {
		return nil
	}
	text := strings.TrimRight(line[i+len("at "):], " \t")
	text = strings.TrimRight(strings.TrimRight(text, "{,"), " \t")
	text = strings.TrimSpace(strings.TrimPrefix(text, "async "))
	if text == "" || jsIndex.MatchString(text) {
		return nil
	}
	function, location := "", text
	if open := strings.Index(location, " ("); open > 0 && strings.HasSuffix(location, ")") {
		function, location = location[:open], location[open+2:len(location)-1]
	}
	place, ok := withoutPlace(location)
	if !ok || strings.ContainsAny(place, " ") && function == "" && !jsRooted.MatchString(place) {
		return nil
	}
	unit := jsUnit(place)
	if unit == "" {
		return nil
	}
	return &frame{Frame: Frame{Function: clip(jsFunction(function), 200), Unit: clip(unit, 200)}, path: place}
}

// withoutPlace cuts ":line" or ":line:column" off a location; false if it has
// none.
func withoutPlace(location string) (string, bool) {
	rest, ok := cutNumber(location)
	if !ok {
		return "", false
	}
	if shorter, ok := cutNumber(rest); ok {
		rest = shorter
	}
	return rest, true
}

func cutNumber(s string) (string, bool) {
	digits := strings.TrimRight(s, "0123456789")
	if len(digits) == len(s) || !strings.HasSuffix(digits, ":") {
		return s, false
	}
	return digits[:len(digits)-1], true
}

func jsFunction(name string) string {
	name = jsAlias.ReplaceAllString(strings.TrimSpace(name), "")
	made := strings.HasPrefix(name, "new ")
	name = strings.TrimPrefix(name, "new ")
	if i := strings.Index(name, ".["); i >= 0 {
		name = name[i+1:] // [Symbol.iterator]
	} else if i := strings.LastIndexByte(name, '.'); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	switch {
	case name == "" || name == "eval" || name == "<anonymous>":
		return "<anonymous>"
	case made:
		return "new " + name
	}
	return name
}

func jsUnit(location string) string {
	if strings.HasPrefix(location, "node:") {
		return location
	}
	if i := strings.LastIndex(location, "eval at "); i >= 0 {
		return "<eval>"
	}
	location = strings.TrimPrefix(location, "address at ") // Hermes
	location, _, _ = strings.Cut(location, "?")
	if location == "" || strings.Trim(location, "<>") == "anonymous" || location == "native" || strings.HasPrefix(location, "wasm://") {
		return ""
	}
	unit := jsHash.ReplaceAllString(baseName(location), "$1")
	if m := jsMixedHash.FindStringSubmatch(unit); m != nil && strings.ContainsAny(m[2], "0123456789") && strings.ToLower(m[2]) != m[2] {
		unit = m[1] + m[3]
	}
	return unit
}

// jsFrameWithoutAt reads the frames of engines other than V8,
// "function@location:line:column", of consoles of browsers, which put blanks round
// the sign, and of Vitest, which marks them with an arrow.
func jsFrameWithoutAt(line string) *frame {
	if !strings.Contains(line, "@") && !strings.Contains(line, "❯") {
		return nil
	}
	m := jsAtSign.FindStringSubmatch(line)
	if m == nil {
		m = jsArrow.FindStringSubmatch(line)
	}
	if m == nil {
		m = jsSpaced.FindStringSubmatch(line)
	}
	if m == nil {
		return nil
	}
	unit := jsUnit(m[2])
	if unit == "" {
		return nil
	}
	function := strings.TrimSuffix(strings.TrimRight(m[1], "/<"), " code")
	function = function[strings.LastIndexByte(function, '*')+1:] // async*run
	if function == "global" || function == "module" || function == "eval" {
		function = ""
	}
	return &frame{Frame: Frame{Function: clip(jsFunction(function), 200), Unit: clip(unit, 200)}, path: m[2]}
}
