// Package reports draws the reports: each a page that prints on one sheet, and
// is a file at the same address.
package reports

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the part that a filter replaces.
const RegionID = "report"

// Frame is what every report has round its figures.
type Frame struct {
	Layout   layout.Model
	Title    string
	Lead     string // one sentence that says what is counted, and when
	Kinds    []components.Chip
	Filters  []components.Input
	Action   string // where the filters ask
	Files    []components.Link
	Notices  []components.Notice
	Sentence components.Link // the finding that leads; may be empty
}

// Versions is source × error type × failed under × month.
type Versions struct {
	Frame
	Months []string // column heads; the first is "earlier"
	Rows   []VersionsRow
	Sum    *VersionsRow // nil without rows
	More   components.Link
	Empty  *components.Empty
}

// VersionsRow is one source, error type and set of versions.
type VersionsRow struct {
	Source    components.Link
	ErrorType components.Text
	Versions  components.Text
	State     components.Tag    // "runs now", "not running now"; may be empty
	Cells     []components.Link // as many as Months
	Total     components.Link
}

// Redrives is what each redrive was expected to do, and did.
type Redrives struct {
	Frame
	Rows  []RedrivesRow
	Empty *components.Empty
}

// RedrivesRow is one redrive.
type RedrivesRow struct {
	Redrive  components.Link
	State    components.Tag
	By       string
	Started  components.Time
	Defect   components.Link // the cohort, or words
	Expected string
	Achieved string
	Also     []string       // "3 left out"
	End      components.Tag // how the forecast came out
}
