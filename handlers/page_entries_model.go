package handlers

import (
	"net/url"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entries"
	"dlo/views/layout"
)

// entriesFacts is all that the list of documents is made from.
type entriesFacts struct {
	frame     layout.Model
	params    url.Values
	text      string        // the query as it was typed
	bad       []dlq.BadTerm // then nothing was searched
	list      entryList
	unknown   []dlq.UnknownValue  // values of the query that nothing ever had
	excluding []dlq.ExcludingTerm // terms that each keep everything out
	totals    dlq.Totals
	sources   []dlq.Source
	choices   dlq.FilterChoices
	lag       textLag // of a search for text that does not cover everything
	views     components.Views
}

// textLag is how far the text index is behind.
type textLag struct {
	documents int64 // at most lagCounted and one are counted
	since     time.Time
}

const lagCounted = 100_000

// newEntriesPage is the flat, searchable list.
func newEntriesPage(f entriesFacts) entries.Model {
	m := entries.Model{
		Layout:  f.frame,
		Heading: documents(f.list.total),
		Query:   f.text,
		Views:   f.views,
		Quick:   quickSearches(f.totals),
		Filters: newFilters(f.list.query, f.sources, f.choices),
		Help:    queryHelp(),
	}
	if len(f.bad) > 0 {
		m.Heading = "Documents"
		m.Problem = newProblemTerm(f.text, f.bad)
		m.Filters[0].Value = f.text
		m.Table = components.EntryTable{ID: f.list.id, Empty: &components.Empty{Title: "The search has a term that cannot be read", Text: "Mend it above, or take it out."}}
		return m
	}
	m.Hints = append(newHints(f.list.query, f.unknown, f.list.by, func(q string) string { return f.list.href("q", q) }), newSortHint(f.params, dlq.EntrySorts, "newest failure first")...)
	m.Lag = lagWords(f.lag, f.list.now)
	if f.list.by.May(dlq.MayExport) {
		m.Exports = exportLinks(f.text, string(f.list.sort))
	}
	m.Terms = termChips(f.list.query, func(q string) string { return f.list.href("q", q) })
	m.Table = newEntryTable(f.list)
	if len(f.list.rows) == 0 {
		m.Table = components.EntryTable{ID: f.list.id, Empty: noDocuments(f)}
	}
	return m
}

// exportLinks lead to everything that the query matches, as files.
func exportLinks(text, sort string) []components.Link {
	query := queryAndSort(text, sort)
	return []components.Link{{Text: "CSV", Href: "/entries/export.csv?" + query}, {Text: "NDJSON", Href: "/entries/export.ndjson?" + query}}
}

// noDocuments says why there is nothing, and where there is something.
func noDocuments(f entriesFacts) *components.Empty {
	if f.list.lost {
		return noSuchPlace(f.list.href("after", ""))
	}
	if f.list.from > 0 {
		return &components.Empty{Title: "The list ends here", Text: "What stood on this page has moved meanwhile.", Links: []components.Link{{Text: "First page", Href: f.list.href("after", "")}}}
	}
	if f.text == usualQuery {
		return &components.Empty{Title: "Nothing is stuck", Text: "Every document that failed got through, or was decided. New failures appear here.",
			Links: []components.Link{{Text: "See what was resolved", Href: entriesHref("status:resolved")}}}
	}
	if len(f.excluding) > 0 {
		return newExcluded(f)
	}
	return &components.Empty{Title: "No document matches", Text: "Take a term out, or look at everything that is stuck.", Links: []components.Link{{Text: "What is stuck", Href: entriesHref(usualQuery)}}}
}

// newExcluded names the terms that each alone keep everything out, with what there
// is without them.
func newExcluded(f entriesFacts) *components.Empty {
	e := &components.Empty{Title: "No document matches", Text: "One term keeps everything out. Without it there are documents:"}
	if len(f.excluding) > 1 {
		e.Text = "Each of these terms keeps everything out. Without one of them there are documents:"
	}
	for _, x := range f.excluding {
		text := "Without “" + strings.Trim(termWords(f.list.query.Terms[x.At]), "“”") + "”"
		if x.Documents > 0 {
			text += ": " + documents(x.Documents)
		}
		e.Links = append(e.Links, components.Link{Text: text, Href: f.list.href("q", f.list.query.Without(x.At))})
	}
	return e
}

// quickSearches are whole queries that people come for.
func quickSearches(t dlq.Totals) []components.Chip {
	return []components.Chip{
		{Text: "Stuck", Count: grouped(t.Stuck), Href: entriesHref("status:parked -reason:low_confidence")},
		{Text: "In quarantine", Count: grouped(t.Quarantined), Href: entriesHref("status:quarantined")},
		{Text: "Leave within 7 days", Count: grouped(t.Expiring), Href: entriesHref("status:parked expires:<7d")},
		{Text: "Archive", Count: grouped(t.Archived), Href: entriesHref("status:archived")},
		{Text: "Low confidence", Count: grouped(t.InReview), Href: entriesHref("status:parked reason:low_confidence")},
		{Text: "Without an owner", Href: entriesHref("status:open owner:nobody")},
	}
}
