// Package audit draws the trail of who did what, and its chain.
package audit

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the list.
const RegionID = "audit"

// Model is the page.
type Model struct {
	Layout  layout.Model
	Chain   components.Notice  // verified up to which row, or where it breaks
	Filters []components.Input // who, action, document, from, until; a GET form
	Rows    []Row
	Pager   components.Pager
	Empty   *components.Empty
	Exports []components.Link
}

// Row is one row of the trail.
type Row struct {
	Seq     string
	When    components.Time
	Who     string
	Kind    string // "person", "token", "policy"
	Action  string // "redrive.start"
	Target  components.Link
	Reason  components.Text
	Address string
	Hash    string // first digits
}
