// Package alerts draws the conditions that hold and those that held.
package alerts

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the list.
const RegionID = "alerts"

// Model is the page.
type Model struct {
	Layout  layout.Model
	Heading string // "2 alerts are firing"
	Filters []components.Chip
	Rows    []Row
	Pager   components.Pager
	Empty   *components.Empty
	CSRF    string
}

// Row is one alert.
type Row struct {
	Title   components.Link // "ContextWindowExceeded: 1,306 in 1 h"
	State   components.Tag  // firing, acknowledged, resolved, silenced
	Rule    string          // "spike"
	Why     string          // the value against the limit
	Source  components.Link
	Since   components.Time
	By      string              // who acknowledged; may be empty
	Sent    string              // where it was handed over, and whether it arrived
	Actions []components.Action // posted at once: acknowledge, silence
}
