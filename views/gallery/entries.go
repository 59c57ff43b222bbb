package gallery

import (
	"strings"

	"dlo/views/components"
	"dlo/views/entries"
	"dlo/views/search"
)

func entriesItems() []Item {
	all := entriesModel()

	searched := entriesModel()
	searched.Query = "source:wiki age:>30d -class:transient"
	searched.Layout.Query = searched.Query
	searched.Heading = "409 documents"
	searched.Terms = []components.Chip{{Text: "source: wiki", Href: "?q=1", On: true, Drop: true}, {Text: "older than 30 days", Href: "?q=2", On: true, Drop: true}, {Text: "not class: transient", Href: "?q=3", On: true, Drop: true}}

	behind := entriesModel()
	behind.Query, behind.Layout.Query = "source:wiky root", "source:wiky root"
	behind.Hints = []components.Hint{{Text: components.PlainText("No source is called wiky."), Try: components.Link{Text: "Did you mean wiki?", Href: "/entries?q=source:wiki"}},
		{Text: components.PlainText("No document ever failed under parser " + strings.Repeat("20261230-", 12) + ", so -parser leaves nothing out.")}}
	behind.Lag = "12,408 documents are not in the text index yet; the oldest of them came 3 minutes ago. A search for words may miss them; they are not lost, and every other term covers them."

	bad := entriesModel()
	bad.Layout.Query = "source:wiki age:soon"
	bad.Heading = "Documents"
	bad.Problem = &entries.Problem{Before: "source:wiki ", Term: "age:soon", Sentence: "age: wants a number and a unit, such as age:>30d.", Try: []components.Link{{Text: "Search source:wiki age:>30d", Href: "/entries?q=x"}}}
	bad.Table.Rows, bad.Table.Bulk, bad.Table.Pager = nil, components.Bulk{}, components.Pager{}
	bad.Table.Empty = &components.Empty{Title: "The search has a term that cannot be read", Text: "Mend it above, or take it out."}

	denied := entriesModel()
	denied.Table.Bulk.Actions = nil
	denied.Table.Bulk.Why = "Analysts cannot redrive, quarantine or extend. Ask a reviewer and give them this page's address."

	return []Item{page("entries", entries.Page(all)), page("entries-searched", entries.Page(searched)), page("entries-behind", entries.Page(behind)), page("entries-bad-term", entries.Page(bad)), page("entries-analyst", entries.Page(denied)), part("search-choices", search.List(search.Model{Options: []search.Option{
		{Text: "type:", Hint: "the type, or the last part of it", Query: "type:", Caret: "5"}, {Text: "pdfminer.pdfparser.PDFSyntaxError", Query: "type:pdfminer.pdfparser.PDFSyntaxError ", Caret: "39"}}}))}
}

func entriesModel() entries.Model {
	choice := func(name, label string, options ...string) components.Input {
		in := components.Input{Name: name, Label: label, Kind: components.InputSelect, Options: []components.Option{{Label: "any", On: true}}}
		for _, o := range options {
			in.Options = append(in.Options, components.Option{Value: o, Label: o})
		}
		return in
	}
	return entries.Model{
		Layout: frame("Documents", "Documents"), Heading: "2,842 documents",
		Quick: []components.Chip{{Text: "Stuck", Count: "2,842", Href: "?q=status:parked"}, {Text: "In quarantine", Count: "17", Href: "?q=status:quarantined"}, {Text: "Expire within 7 days", Count: "57", Href: "?q=expires:<7d"}, {Text: "Not running now", Href: "?q=parser:!current"}, {Text: "Mine", Href: "?q=owner:me"}},
		Filters: []components.Input{
			choice("source", "Source", "wiki", "leases", "submittals"), choice("status", "State", "parked", "redriving", "quarantined", "archived", "resolved"), choice("class", "Class", "transient", "ambiguous_parse"),
			{Name: "type", Label: "Exception", Placeholder: "PDFSyntaxError"}, {Name: "parser", Label: "Parser", Placeholder: "name@version"}, choice("age", "Older than", "1d", "7d", "30d", "90d"),
		},
		Exports: []components.Link{{Text: "CSV", Href: "/entries.csv"}, {Text: "NDJSON", Href: "/entries.ndjson"}},
		Help:    []entries.Help{{Term: "source:wiki", Means: "documents of a source"}, {Term: "age:>30d", Means: "stuck for more than 30 days"}, {Term: "-class:transient", Means: "a minus takes out"}, {Term: `"free text"`, Means: "in messages, traces and validation output"}},
		Table:   entryTable("entries", true),
	}
}
