package dlq

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AssignmentMost bounds an owner and a ticket, in characters.
const AssignmentMost = 200

// scheme is how an address begins, whatever it leads to.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// AssignmentFaults names what is wrong with an owner and a ticket. A ticket is an
// address of the web or a plain id: nothing else can become a link, so that one
// that would run a script, or open a program, is refused and not only not shown.
// Empty texts take away, and have no fault.
func AssignmentFaults(owner, ticket string) []Fault {
	var faults []Fault
	add := func(pointer, detail string) {
		if detail != "" {
			faults = append(faults, Fault{pointer, detail})
		}
	}
	add("/owner", lineFault(owner))
	if detail := lineFault(ticket); detail != "" {
		add("/ticket", detail)
	} else if (scheme.MatchString(ticket) || strings.HasPrefix(ticket, "//")) && !WebAddress(ticket) {
		add("/ticket", "an address that begins with https:// or http:// expected, or a plain id such as SEARCH-1182")
	}
	return faults
}

// lineFault says what keeps a text from being one line that can be read.
func lineFault(s string) string {
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return "text in UTF-8 without NUL expected"
	case utf8.RuneCountInString(s) > AssignmentMost:
		return fmt.Sprintf("at most %d characters expected", AssignmentMost)
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "one line of characters that can be seen expected"
	}
	return ""
}

// WebAddress says whether a text is an address of the web, with a host.
func WebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
}
