// Package regroup draws the pages on which a person decides about the grouping:
// what a cohort is split by, and which cohorts go into one.
package regroup

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the part that changes with what is chosen.
const RegionID = "regroup"

// Model is the page.
type Model struct {
	Layout  layout.Model
	Title   string
	Lead    string
	Notices []components.Notice
	// Choices narrow the page: what to split by.
	Choices      []components.Chip
	ChoicesLabel string
	Search       *Search // by which other cohorts are found; nil on a split
	Form         *components.Form
	Note         string // under the form: of what the numbers are
	Cancel       components.Link
	Empty        *components.Empty // in place of the form
}

// Search asks for cohorts by GET.
type Search struct {
	Action string
	Inputs []components.Input
}
