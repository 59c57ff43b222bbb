// Package search draws what the search box offers while somebody types.
package search

// Model is the list of choices. Without any it is empty, and the box shows no
// list.
type Model struct {
	Options []Option
	Note    string // what is worth saying of what stands there; it cannot be taken; may be empty
}

// Option is one choice: what the box says once it is taken.
type Option struct {
	Text  string // "type:", "PDFSyntaxError"
	Hint  string // "an exception's type"
	Query string // the whole text of the box then
	Caret string // where the caret stands then, in UTF-16 units as browsers count
}
