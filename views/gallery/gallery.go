// Package gallery draws every screen and component with made-up data: for the
// tests that hold their markup still and check what every page must have, and
// for looking at them. Nothing in it is read from anywhere.
package gallery

import (
	"slices"

	"github.com/a-h/templ"
)

// Item is one drawing. Page says that it is a whole page and not a part.
type Item struct {
	Name      string // unique, fit for a file name: "cohort-stopped"
	Page      bool
	Component templ.Component
}

func page(name string, c templ.Component) Item { return Item{Name: name, Page: true, Component: c} }
func part(name string, c templ.Component) Item { return Item{Name: name, Component: c} }

// All gives every drawing, pages first.
func All() []Item {
	return slices.Concat(
		cohortsItems(), cohortItems(), regroupItems(), entryItems(), entriesItems(), confirmItems(),
		operationItems(), quarantineItems(), sourceItems(), reportItems(), redriveReportItems(), recordItems(), accountItems(),
		problemItems(), savedItems(), componentItems(), proveItems(),
	)
}
