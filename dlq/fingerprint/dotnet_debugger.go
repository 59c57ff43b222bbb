package fingerprint

import (
	"regexp"
	"strings"
)

// What a debugger shows of an exception and of a stack, as people copy it.

var dotnetModule = regexp.MustCompile(`^>?\s*[\w.-]+\.(?:dll|exe|DLL|EXE)!(\S.*\))(?: Line \d+)?(?: \+ 0x[0-9a-f]+ bytes)?\s+(?:C#|F#|Basic|Unknown)$`)

// dotnetDebugged writes a row of a debugger's call stack, which begins with the
// module and ends with the source's language, the way the runtime prints it.
func dotnetDebugged(s string) (string, bool) {
	if !strings.Contains(s, "!") {
		return "", false
	}
	m := dotnetModule.FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	return "at " + m[1], true
}

var dotnetUnhandled = regexp.MustCompile(`^(?:An (?:unhandled )?exception of type ')?([\p{L}_][\p{L}\p{N}_.+]*Exception)'? (?:was (?:unhandled|thrown|caught)|occurred in )`)

// visualStudioHeader returns the type alone where the debugger says of it that
// nothing caught it; the message is a property below.
func visualStudioHeader(t string) string {
	if m := dotnetUnhandled.FindStringSubmatch(clip(t, 1000)); m != nil {
		return m[1]
	}
	return t
}

// visualStudioMessage returns the message of a line as the debugger copies it,
// "Message=…", and nothing of the properties around it.
func visualStudioMessage(t string) string {
	for _, label := range []string{"Message=", "Additional information: "} {
		if message, ok := strings.CutPrefix(t, label); ok {
			return message
		}
	}
	if strings.HasPrefix(t, "HResult=") || strings.HasPrefix(t, "Source=") {
		return ""
	}
	return t
}
