package cohort

import "dlo/views/components"

// Fixes is what was declared to fix the defect.
type Fixes struct {
	Rows    []Fix
	None    string            // what a declaration would bring, where there is none
	Declare components.Action // empty: the viewer may not
	Past    []components.Event
	Leads   bool // one can be tested: the section stands before everything else
}

// Fix is one that stands.
type Fix struct {
	ID       string // of the element
	Heading  string // "Test the fix: parser 20251230 is live", else the version
	Leads    bool
	State    components.Tag // "declared, not deployed"
	Facts    []components.Fact
	Sources  []FixSource // where there are several
	Notices  []components.Notice
	Do       []components.Action // the first is the one to take
	Cannot   string              // why there is no button
	Note     components.Text
	Link     components.Link
	Said     string // "declared by reviewer@example.com"
	When     components.Time
	Withdraw components.Action // empty: the viewer may not
}

// FixSource is what a fix means in one source.
type FixSource struct {
	Source   components.Link
	Replaced components.Link // a number that opens its documents
	Unsaid   components.Link
	Under    components.Link
	Live     string // "not yet", "since"
	Since    components.Time
}
