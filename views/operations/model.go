// Package operations draws the list of bulk actions, running and done.
package operations

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the list.
const RegionID = "operations"

// Model is the page.
type Model struct {
	Layout  layout.Model
	Lead    string              // "1 runs, 1 stopped."
	Actions []components.Action // posted at once: pause all redrives, resume them
	Filters []components.Chip
	Rows    []Row
	Pager   components.Pager
	Empty   *components.Empty
	Poll    string // asked again every 5 s while something runs; empty: nothing does
}

// Row is one operation.
type Row struct {
	Href     string
	Title    string          // "Redrive 393 documents"
	Of       components.Text // the cohort's heading or the query
	State    components.Tag
	Why      string // why it stopped or paused; may be empty
	Progress components.Progress
	By       string
	Reason   components.Text
	Started  components.Time
	Ended    components.Time
}
