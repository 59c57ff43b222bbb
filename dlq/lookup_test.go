package dlq

import "testing"

func TestSkipOnlyWhereNeitherTheDocumentNorTheCodeDiffers(t *testing.T) {
	for _, status := range Statuses {
		for _, document := range []Reading{ReadingUnchanged, ReadingChanged, ReadingMaybeChanged, ReadingGone, ReadingUnknown, ""} {
			for _, code := range []Code{CodeSame, CodeMoved, CodeUnknown, ""} {
				want := AdviceTry
				if status.Open() && document == ReadingUnchanged && code == CodeSame {
					want = AdviceSkip
				}
				advice, why := Advise(status, document, code)
				if advice != want || why == "" {
					t.Errorf("%s, %q, %q: %s because %q, want %s", status, document, code, advice, why, want)
				}
			}
		}
	}
}
