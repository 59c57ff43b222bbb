package dlq

// Advice is what a pipeline is told before it tries a document again.
type Advice string

// The advices.
const (
	AdviceSkip Advice = "skip"
	AdviceTry  Advice = "try"
)

// Advise says whether a document that is here is worth trying again. Skip only
// if neither the document nor the code differs from what failed, so that a
// corrected file is never skipped; what cannot be told is tried.
func Advise(status Status, document Reading, code Code) (Advice, string) {
	switch status {
	case StatusResolved:
		return AdviceTry, "it was resolved; nothing here speaks against it"
	case StatusErased:
		return AdviceTry, "it was erased here; nothing is known of it any more"
	}
	switch {
	case document == ReadingChanged || document == ReadingMaybeChanged:
		return AdviceTry, "the document differs from the one that failed"
	case document != ReadingUnchanged:
		return AdviceTry, "it cannot be told whether the document is the one that failed; send source_version or payload_sha256"
	case code == CodeMoved:
		return AdviceTry, "the code differs from the one that failed on it"
	case code != CodeSame:
		return AdviceTry, "it cannot be told whether the code is the one that failed on it; send the component versions"
	}
	return AdviceSkip, "the same document failed under the same code"
}
