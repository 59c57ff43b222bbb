package fingerprint

import (
	"fmt"
	"strings"
)

// phpTogether writes an exception that a framework answered as JSON, with an
// object for each call, the way PHP prints it.
func phpTogether(object map[string]any) string {
	calls, _ := object["trace"].([]any)
	typ := textOf(object["exception"])
	if typ == "" || len(calls) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v in %v:%v\nStack trace:\n", typ, object["message"], object["file"], object["line"])
	for n, c := range calls[:min(len(calls), maxFrames)] {
		call, ok := c.(map[string]any)
		if !ok {
			return ""
		}
		place := "[internal function]"
		if file := textOf(call["file"]); file != "" {
			place = fmt.Sprintf("%s(%v)", file, call["line"])
		}
		fmt.Fprintf(&b, "#%d %s: %s%s%s()\n", n, place, textOf(call["class"]), textOf(call["type"]), textOf(call["function"]))
	}
	return b.String()
}
