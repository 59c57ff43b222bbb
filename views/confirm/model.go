// Package confirm draws the page that stands between a button and what it
// does: what is chosen, how many exactly, what is left out and why, and the
// reason that goes into the record. With a script it opens in a dialog.
package confirm

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the part that a dialog shows.
const RegionID = "confirm"

// Model is the page. Exactly one of Form, Conflict and Denied is drawn.
type Model struct {
	Layout   layout.Model
	Title    string // "Redrive 393 documents"
	Lead     string // what will happen, in a sentence
	Chosen   Chosen
	Facts    []components.KV // where it goes, what runs there, what bytes
	LeftOut  []LeftOut
	Notices  []components.Notice // what it risks, how many; never reported; no proof
	Form     *components.Form    // inputs: mode, reason, days, grant, owner; fields: expect, q or ids
	Ask      *components.Form    // asks the sources about the chosen first; nil where none can be asked
	Cancel   components.Link
	Conflict *Conflict
	Denied   *Denied
}

// Chosen is the selection, repeated.
type Chosen struct {
	Count  string            // "393"
	Noun   string            // "documents"
	Query  string            // the filter as typed; empty for a selection by hand
	Terms  []components.Chip // the filter in words
	Sample []Sample          // a few of them, or all of a small selection
	All    components.Link   // the list behind the number
}

// Sample is one of the chosen.
type Sample struct {
	Text components.Text
	Href string
}

// LeftOut is what will not be done, and why.
type LeftOut struct {
	Count string
	Why   string // "in quarantine: release them first"
	Href  string
}

// Conflict is a selection that is no longer what was seen. Nothing was done.
type Conflict struct {
	Sentence string            // "412 matched when you looked, 418 match now."
	Kept     string            // "Nothing was sent."
	Links    []components.Link // look at the new ones
	Retry    *components.Form  // go on with the number that matches now; may be nil
}

// Denied is what the viewer's role does not allow.
type Denied struct {
	Sentence string // "Analysts cannot redrive."
	Ask      string // "Ask a reviewer and give them the address of this page."
	Address  string // what the copy button copies
}
