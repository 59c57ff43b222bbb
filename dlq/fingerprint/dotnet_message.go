package fingerprint

import "strings"

// dotnetMissing are types whose message names what was not found.
var dotnetMissing = set("FileNotFoundException", "FileLoadException", "BadImageFormatException", "DllNotFoundException", "EntryPointNotFoundException",
	"TypeLoadException", "MissingMethodException", "MissingFieldException", "MissingMemberException", "KeyNotFoundException", "MissingManifestResourceException")

// cleanDotnet leaves of a translated message the name that could not be found,
// which is not translated: of an assembly its short name, of a method the name
// without its signature.
func cleanDotnet(typ, message string) string {
	if !dotnetMissing[typ] {
		return message
	}
	name := firstQuoted(message)
	if name == "" && !strings.Contains(message, " ") {
		name = message // Mono says no more than the name
	}
	name, _, _ = strings.Cut(name, ",")
	name, _, _ = strings.Cut(name, "(")
	if words := strings.Fields(name); len(words) > 1 {
		name = words[len(words)-1]
	}
	if name == "" {
		return ""
	}
	return "'" + name + "'"
}

// quotes are pairs that open and close a quotation in the runtime's languages.
var quotes = [][2]string{{"'", "'"}, {"„", "“"}, {"“", "”"}, {"«", "»"}, {"「", "」"}, {"‘", "’"}, {`"`, `"`}}

// firstQuoted returns what stands in the quotation that begins first.
func firstQuoted(s string) string {
	best, inner := -1, ""
	for _, q := range quotes {
		i := strings.Index(s, q[0])
		if i < 0 || best >= 0 && i >= best {
			continue
		}
		rest := s[i+len(q[0]):]
		if j := strings.Index(rest, q[1]); j >= 0 {
			best, inner = i, rest[:j]
		}
	}
	return strings.TrimSpace(inner)
}
