package source

import "dlo/views/components"

// Unplaced is the reports that belonged to nothing when they came.
type Unplaced struct {
	Summary string // "the newest 50"; may be empty
	Lead    string
	Rows    []Report
	None    string
}

// Report is one of them, as it was told.
type Report struct {
	When   components.Time
	Result string
	About  []components.KV // what it names
	Why    string
	By     components.Text
}
