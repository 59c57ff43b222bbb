package components

// Views is the menu of saved views beside a list.
type Views struct {
	Current string  // the name of the view that is open; empty: none
	Fault   *Notice // what of it cannot be answered any more; nil: nothing
	Own     []ViewLink
	Shared  []ViewLink
	More    string // "12 more" that are on the page of views alone; may be empty
	All     Link   // the page of views
	Save    *Form  // nil: the viewer may not keep any
}

// ViewLink is one of them.
type ViewLink struct {
	Name    Text
	By      string // whose it is, of a shared one
	Href    string
	Current bool
}
