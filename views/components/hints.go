package components

// Hint is a sentence about a search that was understood, with another search that
// may have been meant.
type Hint struct {
	Text Text
	Try  Link // without Href: there is none
}
