package dlq

import (
	"fmt"
	"unicode/utf8"
)

// CutTexts cuts the texts of a failure that are longer than MaxText, with a mark
// where something is missing, and answers the original length in bytes of each
// that it cut. The head and the tail stay, because some languages print the
// raise point first and others last.
func CutTexts(e *Envelope) map[string]int {
	cut := map[string]int{}
	one := func(name, text string) string {
		if len(text) <= MaxText {
			return text
		}
		cut[name] = len(text)
		mark := fmt.Sprintf("\n… cut here: %d of %d bytes are not kept …\n", len(text)-MaxText, len(text))
		half := (MaxText - len(mark)) / 2
		return wholeHead(text, half) + mark + wholeTail(text, half)
	}
	e.StackTrace = one("stack_trace", e.StackTrace)
	e.ErrorMessage = one("error_message", e.ErrorMessage)
	if text := e.ValidationText(); len(text) > MaxText {
		e.ValidationOutput = one("validation_output", text)
	}
	if len(cut) == 0 {
		return nil
	}
	return cut
}

func wholeHead(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func wholeTail(s string, n int) string {
	at := len(s) - n
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}
