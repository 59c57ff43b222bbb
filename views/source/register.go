package source

import "dlo/views/components"

// Register is what runs now in the source, what ran before, and what failures
// name that nobody registered.
type Register struct {
	Now     []Ran
	None    string // in place of Now
	History []Ran
	Pager   components.Pager
	Seen    []Seen
	Snippet *components.Code // how to register; nil where nothing is missing
	Deploy  *components.Form // registers a version; nil: the viewer may not
}

// Ran is a stretch of time in which a version of a component ran.
type Ran struct {
	Component string
	Version   components.Text
	Words     string // "again", "beside another"; may be empty
	From      components.Time
	Until     components.Time // zero: it runs now
	By        components.Text
}

// Seen is a version that failures name.
type Seen struct {
	Component string
	Version   components.Text
	Documents components.Link // how many failed under it
	Stuck     components.Link
}
