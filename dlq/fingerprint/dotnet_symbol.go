package fingerprint

import "strings"

// dotnetName gives a symbol the form Class.Method and its namespace as the unit.
// What the compiler made of a method (state machines of async methods and
// iterators, closures, local functions) goes back to the method: the numbers in
// these names change with every edit of the file.
func dotnetName(c dotnetCall, sub string) Frame {
	var names []string
	method := -1
	moved := false
	for _, segment := range dotnetSegments(c.symbol) {
		made, ok := dotnetGenerated(segment, 0)
		if !ok {
			if segment == "MoveNext" && moved {
				continue
			}
			names = append(names, segment)
			continue
		}
		moved = true
		if len(made) > 0 && method < 0 {
			method = len(names)
		}
		names = append(names, made...)
	}
	// Signatures printed as source code name constructors by a keyword only.
	words := " " + c.lead + " "
	switch {
	case strings.Contains(words, " new "):
		names = append(names, ".ctor")
	case strings.Contains(words, " static ") && !strings.Contains(words, " static void "):
		names = append(names, ".cctor")
	}
	if len(names) == 0 {
		return Frame{}
	}
	if method < 0 || method >= len(names) {
		method = len(names) - 1
	}
	last := len(names) - 1
	if i := strings.IndexByte(names[last], '<'); i > 0 {
		names[last] = names[last][:i] // type arguments of a method, as source code has them
	}
	if sub != "" {
		names = append(names, sub)
	}
	first := max(method-1, 0)
	for i := range names {
		names[i] = dotnetArity(names[i])
	}
	return Frame{Function: clip(strings.Join(names[first:], "."), 200), Unit: clip(strings.Join(names[:first], "."), 300)}
}

// dotnetSegments splits a symbol at its dots, without type arguments in square
// brackets. Mono marks nested types by a plus where .NET prints a dot.
func dotnetSegments(symbol string) []string {
	var out []string
	var b strings.Builder
	angle, square := 0, 0
	cut := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
		}
		b.Reset()
	}
	for i := 0; i < len(symbol); i++ {
		switch ch := symbol[i]; {
		case ch == '[':
			square++
		case ch == ']':
			square--
		case square > 0:
		case (ch == '.' || ch == '+') && angle == 0:
			if b.Len() == 0 && i > 0 && (strings.HasPrefix(symbol[i:], ".ctor") || strings.HasPrefix(symbol[i:], ".cctor")) {
				b.WriteByte('.')
				continue
			}
			cut()
		default:
			if ch == '<' {
				angle++
			} else if ch == '>' {
				angle--
			}
			b.WriteByte(ch)
		}
	}
	cut()
	return out
}

// dotnetGenerated reads a name that a compiler made up and returns the names of
// the source that it stands for, which may be none.
func dotnetGenerated(s string, depth int) (names []string, ok bool) {
	switch {
	case strings.HasPrefix(s, "_Closure$__"):
		return nil, true
	case strings.HasPrefix(s, "_Lambda$__"):
		return []string{"lambda"}, true
	case strings.HasPrefix(s, "VB$StateMachine_"):
		rest := s[len("VB$StateMachine_"):]
		return []string{strings.TrimLeft(rest, "0123456789_")}, true
	case strings.HasPrefix(s, "lambda_method"):
		return []string{"lambda_method"}, true
	}
	if name, number, found := strings.Cut(s, "@"); found && name != "" && number != "" && strings.Trim(number, "0123456789-") == "" {
		return []string{name}, true // F#: a closure has the line it stands on
	}
	if !strings.HasPrefix(s, "<") || depth > 4 {
		return nil, false
	}
	end := closing(s, 0, '<', '>')
	if end < 0 {
		return nil, false
	}
	inner, kind := s[1:end], s[end+1:]
	switch {
	case inner == "" && strings.HasPrefix(kind, "f__"):
		return []string{"<>f__AnonymousType"}, true
	case inner == "" && strings.HasPrefix(kind, "m__"):
		return []string{"lambda"}, true
	case inner == "":
		return nil, true
	case inner == "Module" || strings.HasPrefix(inner, "PrivateImplementationDetails"):
		return nil, false // classes in their own right
	}
	if nested, ok := dotnetGenerated(inner, depth+1); ok {
		names = nested
	} else {
		names = []string{inner}
	}
	switch {
	case strings.HasPrefix(kind, "b__"), strings.HasPrefix(kind, "m__"):
		names = append(names, "lambda")
	case strings.HasPrefix(kind, "g__"):
		local, _, _ := strings.Cut(kind[len("g__"):], "|")
		names = append(names, local)
	}
	return names, true
}

// dotnetArity writes List<T> the way the runtime does, List`1.
func dotnetArity(name string) string {
	open := strings.IndexByte(name, '<')
	if open < 1 || !strings.HasSuffix(name, ">") {
		return name
	}
	depth, arity := 0, 1
	for i := open; i < len(name); i++ {
		switch name[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ',':
			if depth == 1 {
				arity++
			}
		}
	}
	return name[:open] + "`" + string(rune('0'+min(arity, 9)))
}
