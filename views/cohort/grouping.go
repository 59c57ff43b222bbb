package cohort

import "dlo/views/components"

// GroupingID is the id of the region that says how the cohort came to be. It
// asks for itself again while documents move.
const GroupingID = "grouping"

// Grouping is how the cohort came to be, and what could be decided about it.
type Grouping struct {
	Poll        string              // the URL to ask again at while documents move; may be empty
	Notices     []components.Notice // a split that moves its documents; a part of which cohort
	Suggestions []Suggestion
	Merge       components.Link // leads to the page that merges; empty: the viewer may not
	Rules       []Rule
	CSRF        string
}

// Empty says that there is nothing to show.
func (g Grouping) Empty() bool {
	return len(g.Notices) == 0 && len(g.Suggestions) == 0 && len(g.Rules) == 0
}

// Suggestion is a cohort that looks like the same defect.
type Suggestion struct {
	Title components.Text
	Href  string
	Why   string // "the same type and message, 2 of 3 frames; 12 stuck"
}

// Rule is a merge or a split, and the form that takes it back.
type Rule struct {
	Event components.Event
	Lines []components.KV  // where each value went
	Undo  *components.Form // nil: it was undone, or the viewer may not
}
