package dlq

import (
	"slices"
	"strings"
)

// OperationStands are the ways in which a value of the key operation can name some
// of an operation's documents: where they stand in it, what came of them in it, or
// what their source said, whatever other operations did to them later.
var OperationStands = func() []string {
	var out []string
	for _, s := range ItemStates {
		out = append(out, string(s))
	}
	for _, o := range []OutcomeResult{OutcomeCommitted, OutcomeSkipped, OutcomeSuperseded, OutcomeFailed, OutcomeUnattributed, OutcomeAssumed, OutcomeNoOutcome, OutcomeUndelivered} {
		out = append(out, string(o))
	}
	for _, r := range Readings {
		out = append(out, string(r))
	}
	return out
}()

// Readings lists every reading of a document's bytes.
var Readings = []Reading{ReadingUnchanged, ReadingChanged, ReadingMaybeChanged, ReadingGone, ReadingUnknown}

// OperationValue takes a value of the key operation apart: an operation's id, and
// after a slash one of OperationStands, or nothing.
func OperationValue(v string) (id, stands string, ok bool) {
	id, stands, named := strings.Cut(v, "/")
	return id, stands, id != "" && (!named || slices.Contains(OperationStands, stands))
}
