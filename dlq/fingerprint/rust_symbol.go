package fingerprint

import (
	"regexp"
	"strings"
)

var (
	rustHash       = regexp.MustCompile(`::h[0-9a-f]{16,20}\w{0,4}$`)
	rustClosure    = regexp.MustCompile(`::(?:\{\{?[\w:#. -]*\}?\}|(?:closure|closure_env|async_fn|async_fn_env|async_block|async_block_env)\$\d+|closure\.\d+)`)
	rustCrateHash  = regexp.MustCompile(`\[[0-9a-f]{8,16}\]`)
	rustImplNumber = regexp.MustCompile(`(\bimpl\$|#)\d+`)
	rustEscapes    = strings.NewReplacer("_$LT$", "<", "$LT$", "<", "$GT$", ">", "$u20$", " ", "$u7b$", "{", "$u7d$", "}", "$u5b$", "[", "$u5d$", "]",
		"$RF$", "&", "$BP$", "*", "$C$", ",", "$LP$", "(", "$RP$", ")", "$u27$", "'", "$u3b$", ";", "$u2b$", "+", "..", "::")
)

func rustFunction(symbol string) string {
	s := rustHash.ReplaceAllString(symbol, "")
	if strings.Contains(s, "$") {
		s = rustEscapes.Replace(s)
	}
	s = rustCrateHash.ReplaceAllString(s, "")
	s = rustClosure.ReplaceAllString(s, "")
	s = rustImplNumber.ReplaceAllString(s, "$1")
	return rustSelf(withoutTypeArguments(s))
}

// rustSelf writes <a::B>::f, as newer compilers name a method, as a::B::f.
func rustSelf(s string) string {
	if !strings.HasPrefix(s, "<") {
		return s
	}
	end := rustClosing(s)
	if end < 0 {
		return s
	}
	inner := s[1:end]
	if strings.Contains(inner, " ") || !strings.Contains(inner, "::") {
		return s
	}
	return inner + s[end+1:]
}

// rustClosing returns where the bracket that opens s ends; -1 if it does not. The
// arrow of a function's type, Fn() -> T, closes none.
func rustClosing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '<':
			depth++
		case s[i] == '>' && (i == 0 || s[i-1] != '-'):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// withoutTypeArguments drops <…> behind a name: one compiler prints them, the
// other does not. A bracket that starts a path segment is part of its name.
func withoutTypeArguments(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	dropped := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case dropped > 0 && c == '<':
			dropped++
		case dropped > 0 && c == '>' && s[i-1] != '-':
			dropped--
		case dropped > 0:
		case c == '<' && i > 0 && (isWord(rune(s[i-1])) || s[i-1] == '$'):
			dropped = 1
		case c == '<' && turbofish(s, i):
			dropped = 1
			trimmed := strings.TrimSuffix(b.String(), "::")
			b.Reset()
			b.WriteString(trimmed)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// turbofish says that the bracket at i holds type arguments, as in f::<T>: it
// closes at the end of its path, or the path's next segment is a closure.
func turbofish(s string, i int) bool {
	if i < 3 || s[i-2:i] != "::" || strings.HasPrefix(s[i:], "<impl ") {
		return false
	}
	end := rustClosing(s[i:min(len(s), i+2000)])
	return end > 0 && !strings.Contains(s[i:i+end], " as ") && (i+end+1 == len(s) || s[i+end+1] != ':')
}

// rustFileOf guesses the file of a function from its path: the last module, or
// the root of the crate.
func rustFileOf(function string) string {
	path := function
	for _, mark := range []string{"::<impl ", " as "} {
		if i := strings.Index(path, mark); i >= 0 {
			path = path[:i] + "::_"
			if mark == " as " {
				path += "::_" // the type itself stands where a function would
			}
		}
	}
	segments := strings.Split(strings.TrimLeft(path, "<&*"), "::")
	if len(segments) < 2 {
		return ""
	}
	last := segments[len(segments)-1]
	segments = segments[:len(segments)-1]
	for len(segments) > 1 {
		if s := segments[len(segments)-1]; s != "" && s != "_" && (s[0] < 'A' || s[0] > 'Z') {
			return s + ".rs"
		}
		segments = segments[:len(segments)-1]
	}
	if last == "main" {
		return "main.rs"
	}
	return "lib.rs"
}
