// Package operation draws one bulk action: how far it is, what came of it,
// what was left out and why, and every item.
package operation

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// The ids of the regions: the progress is asked for again while it runs; the
// items are paged and filtered.
const (
	ProgressID = "progress"
	ItemsID    = "items"
)

// Model is the page.
type Model struct {
	Layout     layout.Model
	Title      string // "Redrive 393 documents"
	Of         components.Link
	Running    Running
	LeftOut    []LeftOut
	Terms      []components.KV // who, why, when, filter, destination, bytes, steps, rate, stop rule
	Filters    []components.Chip
	Items      []Item
	Pager      components.Pager
	Empty      *components.Empty
	Again      *components.Action // "Redrive only the 3 that failed": leads to a confirmation
	Stuck      []LeftOut          // of an ended redrive: what is still stuck of it, by what came of it
	Exports    []components.Link
	HasVerdict bool // a redrive; other kinds have no outcome and no verdict
}

// Running is the region with the id ProgressID.
type Running struct {
	State    components.Tag
	Why      string            // why it stopped or paused
	Prove    *components.Prove // of a redrive in steps; with its actions
	Progress components.Progress
	Counts   []components.Stat // waiting, in flight, settled, left out, cancelled; arrived since start
	Actions  []components.Action
	CSRF     string
	Updated  components.Time
	Live     components.Live // of its own page
}

// LeftOut is one reason with its number.
type LeftOut struct {
	Count components.Link
	Why   string
	Do    components.Link // what to do about it; may be empty
}

// Item is one document of it.
type Item struct {
	Document components.Text
	Source   string
	Href     string
	Step     string
	State    components.Tag
	Outcome  string
	Bytes    components.Tag // may be empty
	Code     components.Tag // may be empty
	Verdict  string
	Why      string
	When     components.Time
}
