package handlers

import "dlo/dlq"

// mayMove says whether somebody may pause, resume or cancel an operation: whoever
// could have started it, and with the brake alone whoever may pause.
func mayMove(by dlq.Actor, o dlq.Operation, to dlq.OperationState) bool {
	return by.May(o.Kind.Needs()) || to == dlq.OperationPaused && by.May(dlq.MayPause)
}

func checkMove(by dlq.Actor, o dlq.Operation, to dlq.OperationState) error {
	if mayMove(by, o, to) {
		return nil
	}
	return dlq.Errorf(dlq.KindForbidden, "you may not do this to an operation of this kind; nothing was changed")
}
