// Package saved draws the views that somebody keeps, and those that others
// share.
package saved

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// Model is the page.
type Model struct {
	Layout layout.Model
	Lead   string
	Own    []Row
	Shared []Row
	NoOwn  components.Empty
	Limit  string // "Only the first 1,000 are shown."; may be empty
}

// Row is one view.
type Row struct {
	ID      string // the anchor: "view-01K…"
	Name    components.Text
	Href    string
	List    string // "Documents"
	Search  components.Text
	Sort    string // "longest stuck first"; may be empty
	By      string // whose it is, of a shared one
	Tag     components.Tag
	Fault   string           // what of it cannot be answered any more; may be empty
	Change  *components.Form // nil: the viewer may not
	Actions []components.Action
	CSRF    string
}
