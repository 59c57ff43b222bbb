package handlers

import (
	"slices"

	"dlo/dlq"
	"dlo/views/components"
)

// lostPlace says whether a list could not be read because the address names a
// place that it does not have: a cursor that was cut off, that is of another
// list or another order, or of an older program. The rest of the address is as
// good as before, and the page leads on from it.
func lostPlace(err error) bool {
	faults, _ := faultsOf(err)
	return dlq.KindOf(err) == dlq.KindInvalid && slices.ContainsFunc(faults, func(f dlq.Fault) bool { return f.Pointer == "/cursor" })
}

// noSuchPlace stands where the rows would.
func noSuchPlace(first string) *components.Empty {
	return &components.Empty{Title: "This place in the list is not there", Text: "The address was cut off, or is of the list in another order. Its search is as it was.", Links: []components.Link{{Text: "First page", Href: first}}}
}
