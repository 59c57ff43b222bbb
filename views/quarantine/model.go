// Package quarantine draws the documents that failed the same way after each
// replay and now wait for a person.
package quarantine

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the list.
const RegionID = "quarantine"

// Model is the page.
type Model struct {
	Layout  layout.Model
	Heading string // "17 documents wait for a decision"
	Lead    string
	Filters []components.Chip
	Rows    []Row
	Bulk    components.Bulk
	Pager   components.Pager
	Empty   *components.Empty
}

// Row is one document.
type Row struct {
	Check    components.Check
	Href     string
	Source   string
	DocID    components.Text
	Cohort   components.Link
	Why      string // "failed the same way after 3 replays"
	Same     []Same // the identical failures side by side
	Since    components.Time
	Leaves   components.Tag
	Bytes    components.Tag
	Owner    string
	Actions  []components.Action // release one more, reset, archive, erase, extend, assign: each leads to its confirmation
	Message  components.Text
	Decision string // a disposition that holds; may be empty
}

// Same is one of the identical failures.
type Same struct {
	When  components.Time
	Under components.Text
	Bytes components.Tag
	What  string // "replay, same failure"
}
