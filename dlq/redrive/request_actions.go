package redrive

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
)

// kinds are those that can be asked for, in a sentence.
const kinds = "redrive, quarantine, release, extend, archive, restore, assign or dispose expected"

// later are the kinds that come with legal holds and erasure.
var later = map[dlq.OperationKind]string{
	"hold":  "documents cannot be held yet; quarantine keeps them from expiring. ",
	"erase": "documents cannot be erased yet; archive takes them out of the queue. ",
}

func (r Request) checkKind() []dlq.Fault {
	if r.Kind.Valid() || r.asks && r.Kind == dlq.OperationProbe {
		return nil
	}
	return []dlq.Fault{{Pointer: "/kind", Detail: later[r.Kind] + kinds}}
}

// checkMarks names the faults of what marks documents and does not move them, and
// of the texts that somebody typed.
func (r Request) checkMarks(now time.Time) []dlq.Fault {
	var faults []dlq.Fault
	if !utf8.ValidString(r.Reason) || strings.ContainsRune(r.Reason, 0) {
		faults = append(faults, dlq.Fault{Pointer: "/reason", Detail: "text in UTF-8 without NUL expected"})
	}
	switch r.Kind {
	case dlq.OperationAssign:
		faults = append(faults, dlq.AssignmentFaults(r.Owner, r.Ticket)...)
	case dlq.OperationDispose:
		if r.Disposition == nil {
			return append(faults, dlq.Fault{Pointer: "/disposition", Detail: "one of needs_code, needs_source, needs_rule, waiting, accepted_loss expected, or an empty text to take it off"})
		}
		n := *r.Disposition
		n.Reason = "" // is the request's own
		var wrong *dlq.Error
		if _, err := n.Check(now); errors.As(err, &wrong) {
			faults = append(faults, wrong.Faults...)
		}
	}
	return faults
}

// mark fills in what an operation does that marks documents.
func (r Request) mark(o *dlq.Operation) {
	o.Owner, o.Ticket = r.Owner, r.Ticket
	if r.Disposition != nil {
		n := *r.Disposition
		n.Reason = r.Reason
		o.Disposition = &n
	}
}
