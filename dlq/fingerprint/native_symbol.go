package fingerprint

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	nativeOffset   = regexp.MustCompile(`\+0x[0-9a-fA-F]+$`)
	nativeSuffix   = regexp.MustCompile(`(?:\.(?:isra|constprop|part|cold|lto_priv|llvm)(?:\.\d+)*|@@?[A-Z]+_[\w.]+|@plt)+$`)
	nativeClone    = regexp.MustCompile(` \[clone [^\]]*\]|\[abi:\w+\]`)
	nativeLambda   = regexp.MustCompile(`\{lambda\([^{}]*\)#\d+\}|<lambda\([^<>]*\)>|<lambda_[0-9a-f]+>|'lambda\d*'(?:\([^()]*\))?|\$_\d+`)
	nativeNumbered = regexp.MustCompile(`(DisplayClass|b__|d__)\d+(?:_\d+)?`)
)

// nativeFunction reduces a symbol to the path of its function: no arguments, no
// template arguments, no return type, nothing that the compiler or the dynamic
// linker added.
func nativeFunction(symbol string) string {
	s := strings.TrimSpace(symbol)
	switch s {
	case "??", "???", "n/a", "(unknown)", "unknown", "<unknown>", "<unknown module>", "(below", "0x0":
		return ""
	}
	if strings.HasPrefix(s, "0x") && strings.Trim(s[2:], "0123456789abcdefABCDEF") == "" {
		return ""
	}
	if strings.Contains(s, "+0x") {
		s = nativeOffset.ReplaceAllString(s, "")
	}
	if strings.ContainsAny(s, ".@") {
		s = nativeSuffix.ReplaceAllString(s, "")
	}
	if strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "__Z") {
		s = demangled(s)
	}
	if strings.Contains(s, "::h") && rustHash.MatchString(s) || strings.Contains(s, "$LT$") || strings.Contains(s, "{{closure}}") {
		return rustFunction(s)
	}
	if strings.HasPrefix(s, "-[") || strings.HasPrefix(s, "+[") {
		return s // an Objective-C method
	}
	if strings.Contains(s, "[") {
		s = nativeClone.ReplaceAllString(s, "")
	}
	if strings.Contains(s, "lambda") || strings.Contains(s, "$_") {
		s = nativeLambda.ReplaceAllString(s, "{lambda}")
	}
	if strings.Contains(s, "__") {
		s = nativeNumbered.ReplaceAllString(s, "$1")
	}
	s = strings.ReplaceAll(s, "(anonymous namespace)", "{anonymous}")
	s = strings.ReplaceAll(s, "`anonymous namespace'", "{anonymous}")
	s = strings.ReplaceAll(s, "`anonymous-namespace'", "{anonymous}")
	s = withoutReturnType(withoutArguments(s))
	if strings.Contains(s, "std::__") {
		s = inlineNamespaces.Replace(s)
	}
	return s
}

// inlineNamespaces are the standard libraries' own, of one version or another.
var inlineNamespaces = strings.NewReplacer("std::__1::", "std::", "std::__ndk1::", "std::", "std::__cxx11::", "std::")

// withoutArguments drops argument lists and template arguments. Brackets that
// belong to an operator's name stay.
func withoutArguments(s string) string {
	if !strings.ContainsAny(s, "(<") {
		return s
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if depth == 0 && c == 'o' && strings.HasPrefix(s[i:], "operator") && (i == 0 || !isWord(rune(s[i-1]))) {
			n := operatorLength(s[i:])
			b.WriteString(s[i : i+n])
			i += n - 1
			continue
		}
		switch {
		case c == '(' || c == '<' && i > 0 && !strings.HasPrefix(s[i:], "<>"):
			depth++
		case depth > 0 && (c == ')' || c == '>' && s[i-1] != '-'):
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	out := strings.TrimSpace(b.String())
	for _, qualifier := range []string{" const", " volatile", " &&", " &", " noexcept"} {
		out = strings.TrimSuffix(out, qualifier)
	}
	return strings.TrimSpace(out)
}

// operatorLength is how much of s, which starts with "operator", is the
// operator's name.
func operatorLength(s string) int {
	n := len("operator")
	if strings.HasPrefix(s[n:], "()") {
		return n + 2
	}
	for n < len(s) && strings.IndexByte("<>=-+*/%^&|~!,[]", s[n]) >= 0 {
		n++
		if s[n-1] == '<' && n < len(s) && isWord(rune(s[n])) && n > len("operator")+1 {
			return n - 1 // operator==<T>
		}
	}
	return n
}

// withoutReturnType drops what stands before the name of a template's function.
func withoutReturnType(s string) string {
	name := s
	if i := strings.Index(s, "operator"); i >= 0 {
		name = s[:i]
	}
	if i := strings.LastIndexByte(name, ' '); i >= 0 {
		return s[i+1:]
	}
	return s
}

// demangled decodes the names of an Itanium-mangled symbol and leaves out its
// types. What it cannot read it leaves as it is.
func demangled(symbol string) string {
	s := strings.TrimPrefix(strings.TrimPrefix(symbol, "_"), "_Z")
	s = strings.TrimPrefix(s, "Z")
	nested := strings.HasPrefix(s, "N")
	if nested {
		s = strings.TrimLeft(s[1:], "rVK")
	}
	var names []string
	for s != "" && len(names) < 32 {
		if rest, ok := strings.CutPrefix(s, "St"); ok {
			names, s = append(names, "std"), rest
			continue
		}
		switch c := s[0]; {
		case c >= '1' && c <= '9':
			digits := 1
			for digits < len(s) && digits < 4 && s[digits] >= '0' && s[digits] <= '9' {
				digits++
			}
			n, _ := strconv.Atoi(s[:digits])
			if digits+n > len(s) {
				return symbol
			}
			name := s[digits : digits+n]
			if strings.HasPrefix(name, "_GLOBAL__N") {
				name = "{anonymous}"
			}
			names, s = append(names, name), s[digits+n:]
		case c == 'L':
			s = s[1:]
			continue
		case c == 'I' && len(names) > 0:
			s = afterTemplateArguments(s)
			continue
		case (c == 'C' || c == 'D') && len(names) > 0 && len(s) > 1 && s[1] >= '0' && s[1] <= '5':
			last := names[len(names)-1]
			if c == 'D' {
				last = "~" + last
			}
			names, s = append(names, last), s[2:]
		default:
			s = ""
		}
		if !nested && (len(names) == 0 || names[len(names)-1] != "std") {
			break
		}
	}
	if len(names) == 0 {
		return symbol
	}
	return strings.Join(names, "::")
}

// afterTemplateArguments returns what follows the mangled arguments, I…E, that s
// starts with; "" where they do not end.
func afterTemplateArguments(s string) string {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '1' && c <= '9':
			digits := i
			for i < len(s) && i-digits < 4 && s[i] >= '0' && s[i] <= '9' {
				i++
			}
			n, _ := strconv.Atoi(s[digits:i])
			i += n - 1
		case c == 'S':
			i++ // a substitution: its letter opens nothing
		case strings.IndexByte("INXJLF", c) >= 0:
			depth++
		case c == 'E':
			if depth--; depth == 0 {
				return s[i+1:]
			}
		}
	}
	return ""
}
