// Package layout draws what stands round every screen: the rail, the search
// box, what is paused, what just happened, who is signed in. Pages put
// themselves inside Page; what has nobody signed in uses Bare.
package layout

import "dlo/views/components"

// Model is what round a page differs from one request to the next.
type Model struct {
	Title   string // of the browser's tab; the program's name is added
	Nav     []NavItem
	Query   string // what stands in the search box
	CSRF    string // goes into every form that posts, and into htmx's header
	User    string // "reviewer@example.com"
	Role    string // "reviewer"
	Scope   string // "all sources" or "wiki, leases"
	Crumbs  []components.Link
	Notices []components.Notice // what holds for every page: all redrives paused, a read-only database
	Flashes []components.Flash
	Fresh   *components.Fresh // nil: the page has no list that grows
}

// NavItem is one line of the rail.
type NavItem struct {
	Text    string
	Href    string
	Icon    string // a name that components.Icon knows
	Count   string // may be empty
	Tone    components.Tone
	Key     string // after "g": "c"
	Current bool
	Group   int    // a line is drawn where it changes
	Phone   bool   // stands in the bottom bar of a phone, at most four
	Short   string // what the bottom bar says; empty: Text
}

// BareModel is round the pages that nobody is signed in for: login, set-up,
// an error before there is a session.
type BareModel struct {
	Title   string
	Flashes []components.Flash
}
