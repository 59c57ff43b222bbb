// Package entry draws one document that is stuck: why it failed, what changed
// since, what a redrive now would tell, and the document itself.
package entry

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// The ids of the regions that are asked for by themselves.
const (
	ChangedID  = "changed"
	DocumentID = "document"
)

// Model is the page.
type Model struct {
	Layout     layout.Model
	Source     components.Link
	DocID      components.Text
	Filename   components.Text // may be empty
	Cohort     components.Link // its heading, leading there
	State      components.Tag
	Facts      []components.Fact   // stuck since, attempts, class, both clocks
	Actions    []components.Action // by state and role; one that cannot be is not here, see Cannot
	More       []components.Action
	Cannot     string              // "It is being redriven, so it cannot be quarantined."; may be empty
	Notices    []components.Notice // returned, moved, late, unattributed, not exhausted, on hold
	Answer     Answer
	Refusal    *Refusal // nil: the last delivery was taken, or there was none
	Trace      Trace
	Validation Validation
	Changed    Changed
	Attempts   Attempts
	Document   Document
	Record     []Light
	Details    []components.KV // ids, digests, position, labels, extra fields
	Linked     []Linked
	Activity   components.Activity
	CaseFile   components.Link // may be empty
	RecordAt   RecordPlace
}

// RecordPlace is where Record is drawn: across the page, or where one of the two
// panels that stand side by side leaves room.
type RecordPlace int

// The places.
const (
	RecordAcross RecordPlace = iota
	RecordUnderTrace
	RecordUnderValidation
)

// Refusal is what stood in the way of the last delivery.
type Refusal struct {
	Sentence  string // "The last redrive was not delivered."
	Reason    string // "The target answered 422."; may be empty
	When      components.Time
	Operation components.Link
	Summary   string          // "What the target answered with 422, 312 bytes"
	Body      components.Text // the head of its answer; may be empty
}

// Answer is the box under the title: what a redrive now would send and tell.
type Answer struct {
	Headline string              // "Redrive the stored copy: a test of the code."
	Why      string              // the evidence, in a sentence
	Tone     components.Tone     // Plain; Bad where it cannot be; Info while in flight
	Do       *components.Action  // nil: nothing can be done, and Headline says why
	Others   []components.Action // the other modes, behind a caret
	Links    []components.Link
}

// LineKind says what a line of a trace is.
type LineKind int

// The kinds of line.
const (
	LinePlain   LineKind = iota
	LineLibrary          // not the pipeline's own code
	LineKey              // one of the frames that make the fingerprint
	LineRaise            // the exception itself
)

// Trace is the stack trace, or why there is none.
type Trace struct {
	Summary string // "14 frames, 9 of libraries folded"
	Blocks  []TraceBlock
	Raw     components.Link // the text as it was sent
	CopyID  string          // the id of the element whose text is copied; empty: no copy button
	RawText components.Text // what is copied
	Cut     string          // "cut at 256 KiB of 3.1 MB"; may be empty
	None    string          // "No trace." when there is none
	NoneWhy string          // "The process died; nothing survived to write one."
	URI     components.Text // of a trace that the pipeline keeps elsewhere; may be empty
}

// TraceBlock is a run of lines that are shown or folded together.
type TraceBlock struct {
	Fold  string // "9 library frames"; empty: shown
	Lines []TraceLine
}

// TraceLine is one line.
type TraceLine struct {
	Text components.Text
	Kind LineKind
}

// Validation is what the rules said, or the text as it was sent.
type Validation struct {
	Summary string // "1 of 6 rules failed"
	Rules   []Rule
	More    string          // "3 more rules passed"; may be empty
	Raw     components.Text // when it is not structured
	RawLink components.Link
	Cut     string // may be empty
	None    string // why there is nothing
}

// Rule is one rule.
type Rule struct {
	Name     components.Text
	Message  components.Text
	Passed   bool
	Path     components.Text // these three may be empty
	Expected components.Text
	Got      components.Text
}

// Changed compares what was stored with what is there now.
type Changed struct {
	Asked   string          // "asked 12 s ago", "not asked yet"
	AskedAt components.Time // may be empty
	Reading components.Tag  // of the document as a whole, with its grade: "unchanged · weak tag"
	Says    string          // what it means, a sentence
	Caveats []string
	Rows    []Evidence
	Actions []components.Action // posted at once: check now, fetch and hash
	Problem string              // the probe failed: why, and what to do; may be empty
	NoProbe components.Link     // where a probe is set up, for a source without one; may be empty
	CSRF    string
}

// Evidence is one row of the comparison.
type Evidence struct {
	Name   string // "ETag", "SHA-256", "Parser"
	Stored components.Text
	Now    components.Text
	Tag    components.Tag // DocSame, DocChanged, CodeSame, CodeChanged, Quiet
	Note   string         // "would settle it"; may be empty
}

// Attempts is the history as a strip, oldest first. Each row has as many
// cells as there are columns.
type Attempts struct {
	Summary string // "214 attempts, 5 arrivals, 3 replays"
	Columns []AttemptColumn
	Rows    []AttemptRow
	All     components.Link
}

// AttemptColumn is one attempt, or a run of alike ones.
type AttemptColumn struct {
	When components.Time
	Fold string // "210 the same" instead of a time
	Href string
}

// AttemptRow follows one thing through the attempts.
type AttemptRow struct {
	Label string
	Cells []AttemptCell
}

// AttemptCell is what it was then.
type AttemptCell struct {
	Text components.Text
	Same bool            // as in the column before: drawn as a sign with a word for screen readers
	Tone components.Tone // DocChanged or CodeChanged: it moved, said by a sign too
}

// PreviewKind says how the stored copy can be shown safely.
type PreviewKind int

// The kinds of preview.
const (
	PreviewNone  PreviewKind = iota
	PreviewText              // Text, numbered lines
	PreviewTable             // Head and Cells
	PreviewImage             // Src, an image that the server serves as one
	PreviewPDF               // Src, drawn by the browser's own viewer
	PreviewHex               // Hex
)

// Document is the original document.
type Document struct {
	Summary  string         // "4.5 MB PDF"
	State    components.Tag // "digest verified", "expired", "corrupt", "erased", "not held"
	Kind     PreviewKind
	None     string // why there is nothing to see, and what a replay would do
	Views    []components.Chip
	Text     []components.Text // a line each
	Head     []components.Text
	Cells    [][]components.Text
	Hex      []HexLine
	Src      string
	Alt      string // of the image or PDF
	Cut      string // "the first 64 KiB of 4.5 MB"; may be empty
	Download *components.Link
	NoLoad   string // why there is no download; may be empty
}

// HexLine is 16 bytes.
type HexLine struct {
	Offset string // "000004f0"
	Bytes  string // "25 50 44 46 2d 31 2e 37  0a 25 c7 ec 8f a2 0a 35"
	Ascii  string // "%PDF-1.7.%.....5"
}

// Light says whether the record pins one thing down.
type Light struct {
	Name string // "the bytes"
	On   bool
	Why  string // "digest known, copy held" or what to send
}

// Linked is another entry with the same bytes.
type Linked struct {
	Document components.Text
	Source   string
	Href     string
	State    components.Tag
	Why      string // "same digest"
}
