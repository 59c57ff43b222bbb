// Package cohort draws one defect: what it is, whether a fix works, since
// when, under which code, and the documents that it holds.
package cohort

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// EntriesID is the id of the region with the documents. ProveID is that of the
// bar, and with FactsID and ReplaysID of what a redrive that is under way moves.
const (
	EntriesID = "entries"
	ProveID   = "prove"
	FactsID   = "facts"
	ReplaysID = "replays"

	SeparatesID = "separates"
)

// Model is the page.
type Model struct {
	Layout    layout.Model
	Type      components.Text
	Template  components.Text
	State     []components.Tag  // "quarantine 3", "low confidence", a disposition
	Facts     []components.Fact // "409 stuck", source, owner, expiring, oldest
	Actions   []components.Action
	More      []components.Action // behind ⋯: merge, split, declare a fix, ticket
	Notices   []components.Notice // moved, merged, came back after a fix, no redrive target
	Prove     components.Prove
	Live      components.Live // of what moves while a redrive is under way
	Runbook   Runbook
	Replays   Replays
	Fixes     Fixes
	Arrivals  Arrivals
	Versions  Versions
	MadeOf    MadeOf
	Grouping  Grouping
	Separates *Separates // nil unless the proof is mixed
	Filters   []components.Chip
	Entries   components.EntryTable
	Activity  components.Activity
	// VersionsLead draws Versions under the replays, which are few, and not
	// beside them.
	VersionsLead bool
}

// Runbook is what people know about the defect.
type Runbook struct {
	Text        components.Markdown // empty: nothing was written
	Disposition string              // "needs code, waiting until the code changes"; may be empty
	Ticket      components.Link     // may be empty
	Edit        components.Link     // of the runbook; empty: the viewer may not
	Note        components.Link     // to the form for a note; empty: the viewer may not
	None        string              // what to write here, where there is nothing
}

// Replays is the evidence: what came of each replay and what it proves.
type Replays struct {
	Summary string // "4 replays, 3 count for others"
	Rows    []Replay
	More    components.Link
	None    string // what a first replay would tell
}

// Replay is one of them.
type Replay struct {
	Document components.Text
	Href     string
	Bytes    components.Tag  // DocSame or DocChanged: "unchanged · digest"
	Code     components.Tag  // CodeSame or CodeChanged: "parser changed"
	Verdict  string          // "New code fixed it"
	Next     components.Link // the defect that it failed on instead; may be empty
	Counts   string          // "counts for 393"
	Tone     components.Tone
	When     components.Time
}

// MadeOf is what the fingerprint is computed from.
type MadeOf struct {
	Summary      string // "Exception type and the three frames nearest the raise point"
	Fingerprints []components.KV
	Parts        []components.KV
	Canonical    components.Text // the text that is hashed, line by line
}

// Separates says what best tells passed from failed replays apart.
type Separates struct {
	Sentence string
	Groups   []components.KV // "3 of 3 passed", and the value; none: nothing does
	Note     string          // what was looked at
	Split    *components.Action
}
