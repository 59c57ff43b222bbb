package dlq

// OperationProbe asks the source of each of its documents what the document is
// now. It changes nothing of the documents, and nobody asks for it by its name: a
// redrive's confirmation offers it.
const OperationProbe OperationKind = "probe"

// Marks says that operations of the kind move no document from where it stands:
// they say something of it, or ask about it.
func (k OperationKind) Marks() bool {
	return k == OperationAssign || k == OperationDispose || k == OperationProbe
}

// Needs is the permission to start an operation of the kind, and to pause, resume
// or cancel one.
func (k OperationKind) Needs() Permission {
	if k.Marks() {
		return MayNote
	}
	return MayDecide
}

// Why an entry was left out of an operation that is not a redrive.
const (
	// LeftDatePassed is for a disposition until a date that came before its turn.
	LeftDatePassed LeftOut = "date_passed"
	// LeftNoProbe is for a question to a source that cannot be asked.
	LeftNoProbe LeftOut = "no_probe"
)
