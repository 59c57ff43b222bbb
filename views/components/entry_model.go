package components

// EntryTable is the list of documents that several screens share. The region
// has the id ID, so that the same URL serves the page and the region.
type EntryTable struct {
	ID      string // of the region: "entries"
	Caption string // said to screen readers: "Documents of this cohort"
	Heads   EntryHeads
	Rows    []EntryRow
	Bulk    Bulk
	Pager   Pager
	Empty   *Empty // set when there are no rows
	Cohort  bool   // with the column that names the cohort; a cohort's own page leaves it out
}

// EntryHeads are the headings that may sort.
type EntryHeads struct {
	Document, Failed, Attempts, FirstSeen, Leaves, Now Sort
}

// EntryRow is one document.
type EntryRow struct {
	Check    Check
	Href     string
	Source   string
	DocID    Text
	Filename Text // may be empty
	Type     Text // the exception's type
	Message  Text // what it said, one line
	Cohort   Link // may be empty
	Under    Text // "pdfminer.six@20221105"
	Class    Text // of the error: "ambiguous_parse"
	State    Tag  // empty for parked, which is what one expects
	Decided  Tag  // a disposition; may be empty
	Attempts string
	First    Time
	Leaves   Tag // "in 3 d" with Deadline, or Plain
	Now      Tag // the document at the source: DocSame, DocChanged, or Quiet "not asked yet"
}
