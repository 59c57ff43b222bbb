// Package cohorts draws the home page: which few defects stand behind all
// that is stuck, and what to do about each.
package cohorts

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the part that filters, sorts and pages replace.
const RegionID = "cohorts"

// Model is the page. Exactly one of List and First is drawn: First on an
// install that has never received a document.
type Model struct {
	Layout  layout.Model
	Heading string            // "38 problems behind 2,842 stuck documents"
	Stats   []components.Stat // live, oldest, expiring, poison, absent share, in review
	Since   *Since            // what came since the person last looked; nil: nothing
	List    List
	First   *First
}

// Since is a strip of numbers, each leading to what it counts, with a button
// that says that they were seen.
type Since struct {
	Title string // "Since you last looked, 3 h ago"
	Links []components.Link
	Seen  components.Action
	CSRF  string
}

// Search is the box for a query in the query language.
type Search struct {
	Action  string
	Value   string
	Keep    []components.Field
	Clear   string   // where the list is without the query; empty: there is none
	Problem *Problem // a term that was not understood; nil: all were
}

// Problem is a term that was not understood, where it stands.
type Problem struct{ Sentence, Before, Term, After string }

// List is the region with the id RegionID: the filters, the table, the bar.
type List struct {
	Views   components.Views
	Filters []components.Chip // states, sources, class, not running now, age
	Search  Search
	Orders  []components.Chip // "Needs a decision first" and the other sorts
	Hints   []components.Hint // what is worth saying of a query that can be read
	Note    string            // which documents the numbers are of, where not all count; may be empty
	Heads   Heads
	Rows    []Row
	Bulk    components.Bulk
	Pager   components.Pager
	Empty   *components.Empty // set when there are no rows: nothing stuck, no match
}

// Heads are the table's headings. Those with an Href sort.
type Heads struct {
	Cohort, Source, Failed, Stuck, Arrivals, Oldest, Proof, Next components.Sort
}

// Row is one cohort.
type Row struct {
	Check    components.Check
	Href     string
	Type     components.Text // the exception's type, or the rules that failed
	Template components.Text // the message with its variable parts as {int}
	Frame    components.Text // "pdfdocument.py · PDFDocument.__init__"; may be empty
	Tags     []components.Tag
	Source   components.Link // one source, or "3 sources"
	Owner    string          // "nobody" where there is none
	Under    components.Text // "pdfminer.six@20221105"; may be empty
	RunsNow  components.Text // "20251230 runs now", "1536 · same", "not reported"; may be empty
	Moved    bool            // what runs now is not what failed
	Stuck    components.Link // the number, leading to its documents
	StuckOf  string          // "of 4,912", where a part counts; may be empty
	Arrivals components.Sparkline
	Oldest   string         // "94 d"
	Expiring components.Tag // "31 expire"; empty when none does
	Proof    components.SmallProve
	Next     components.Link
	NextWhy  string
	NextTone components.Tone // Bad for an alert, Deadline for an expiry, else Plain
}

// First is an install before its first document.
type First struct {
	Title     string // "Waiting for the first document"
	Text      string
	Command   components.Code // a curl with a real token
	TokenNote string          // whose token it is and how long it works
	Poll      string          // asked every 3 s; answers 204 until something came, then with the page
	Links     []components.Link
}
