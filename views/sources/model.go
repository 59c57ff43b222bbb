// Package sources draws where documents come from and what is set up for each.
package sources

import (
	"dlo/views/components"
	"dlo/views/layout"
	"dlo/views/source"
)

// Model is the page.
type Model struct {
	Layout layout.Model
	Lead   string
	Rows   []Row
	Empty  *components.Empty
	// Unplaced are the reports that name no source; nil where there are none, or
	// where the viewer sees some sources alone.
	Unplaced *source.Unplaced
}

// Row is one source.
type Row struct {
	Name    components.Link
	Owner   string
	Stuck   components.Link
	Oldest  string
	Expires components.Tag // may be empty
	Target  components.Tag // "redrives" or "no redrive target"
	Probe   components.Tag
	Reports components.Tag // how outcomes are learnt; Deadline: never reported
	RunsNow components.Text
	Circuit components.Tag // empty: closed
	Paused  components.Tag // empty: not paused
	Rejects components.Link
	Ladder  Ladder
}

// Ladder is how many of the steps are taken: "4 of 7".
type Ladder struct {
	Done, Of int
	Next     string // "register versions"
}
