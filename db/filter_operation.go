package db

import (
	"slices"

	"dlo/dlq"
)

// operationIDs are the questions for the entries that values of the key operation
// name. What came of one in an operation stands on the redrive that was made for
// it, of which there is one with an outcome.
func (f *filter) operationIDs(values []string) []string {
	var parts []string
	for _, v := range values {
		id, stands, _ := dlq.OperationValue(v)
		switch {
		case stands == "":
			parts = append(parts, "select entry_id from item where operation_id = "+f.arg(id))
		case slices.Contains(dlq.ItemStates, dlq.ItemState(stands)):
			parts = append(parts, "select entry_id from item where operation_id = "+f.arg(id)+" and state = "+f.arg(stands))
		case slices.Contains(dlq.Readings, dlq.Reading(stands)):
			parts = append(parts, "select entry_id from item where operation_id = "+f.arg(id)+" and state = 'settled' and why = "+f.arg(stands))
		default:
			parts = append(parts, "select entry_id from redrive where operation_id = "+f.arg(id)+" and outcome = "+f.arg(stands))
		}
	}
	return parts
}
