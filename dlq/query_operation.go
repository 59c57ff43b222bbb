package dlq

import (
	"slices"
	"strings"
)

// OperationStands are the ways in which a value of the key operation can name some
// of an operation's documents: where they stand in it, or what came of them in it,
// whatever other operations did to them later.
var OperationStands = func() []string {
	var out []string
	for _, s := range ItemStates {
		out = append(out, string(s))
	}
	for _, o := range []OutcomeResult{OutcomeCommitted, OutcomeSkipped, OutcomeSuperseded, OutcomeFailed, OutcomeUnattributed, OutcomeAssumed, OutcomeNoOutcome, OutcomeUndelivered} {
		out = append(out, string(o))
	}
	return out
}()

// OperationValue takes a value of the key operation apart: an operation's id, and
// after a slash one of OperationStands, or nothing.
func OperationValue(v string) (id, stands string, ok bool) {
	id, stands, named := strings.Cut(v, "/")
	return id, stands, id != "" && (!named || slices.Contains(OperationStands, stands))
}
