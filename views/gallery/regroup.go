package gallery

import (
	"dlo/views/components"
	"dlo/views/regroup"
)

func regroupItems() []Item {
	reason := components.Input{Kind: components.InputArea, Name: "reason", Label: "Reason", Required: true, Hint: "It stays with the rule."}
	split := regroup.Model{
		Layout: frame("Split", "Cohorts"), Title: "Split SheetError", Lead: "Two defects can reach the same frames. Choose what tells them apart: what you tick goes into a cohort of its own, the rest stays.",
		ChoicesLabel: "Split by", Cancel: components.Link{Text: "Cancel", Href: "/cohorts/01Kb"}, Note: "Counted among the newest 500 open documents only; a split moves all.",
		Choices: []components.Chip{{Text: "Message template", Count: "2", Href: "/cohorts/01Kb/split?by=template", On: true}, {Text: "Version of the parser", Count: "3", Href: "/cohorts/01Kb/split?by=version:parser"}},
		Form: &components.Form{ID: "split", CSRF: csrf, Action: "/cohorts/01Kb/split", Submit: "Split", Tone: components.Primary, Fields: []components.Field{{Name: "by", Value: "template"}, {Name: "grouping", Value: "3"}},
			Inputs: []components.Input{{Kind: components.InputChecks, Name: "value", Label: "Goes out", Error: "At least one value expected, which goes into a cohort of its own.", Options: []components.Option{
				{Value: "a", Text: txt("row <int> has <int> cells, more than <int>"), Hint: "388 documents"}, {Value: "b", Text: components.Text{{Text: "cannot read a date "}, {Text: "U+202E", Chip: true}}, Hint: "21 documents", On: true}, {Value: "", Text: txt("not said"), Hint: "1 document"}}},
				{Kind: components.InputCheck, Name: "together", Value: "1", Label: "Into one cohort together", Hint: "Else each value gets a cohort of its own."}, reason}},
	}
	merge := regroup.Model{
		Layout: frame("Merge", "Cohorts"), Title: "Merge into PDFSyntaxError", Lead: "What you tick becomes part of this cohort, whose owner, ticket and runbook lead.", Cancel: components.Link{Text: "Cancel", Href: "/cohorts/01Kb"},
		Search: &regroup.Search{Action: "/cohorts/01Kb/merge", Inputs: []components.Input{{Name: "find", Label: "Find a cohort", Hint: "By type, message or frame, an id or a fingerprint. Empty: those of the same type."}}},
		Form: &components.Form{ID: "merge", CSRF: csrf, Action: "/cohorts/01Kb/merge", Submit: "Merge", Tone: components.Primary, Inputs: []components.Input{
			{Kind: components.InputChecks, Name: "cohort", Label: "Becomes part of this one", Options: []components.Option{{Value: "01Kc", Text: txt("PDFSyntaxError: No /Root object! - Is this really a PDF?"), Label: "pdfdocument.py · __init__", Hint: "12 stuck, 30 failures in all; looks like the same defect"}}}, reason}},
	}
	nothing := split
	nothing.Form, nothing.Choices, nothing.Note = nil, nil, ""
	nothing.Empty = &components.Empty{Title: "Nothing tells its documents apart", Text: "Message template, deeper frames, failed rules, content type and versions are the same in all that were looked at.", Links: []components.Link{{Text: "Back to the cohort", Href: "/cohorts/01Kb"}}}
	return []Item{page("split", regroup.Page(split)), page("split-nothing", regroup.Page(nothing)), page("merge", regroup.Page(merge))}
}
