// Package entries draws the flat, searchable list of documents.
package entries

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the part that filters and pages replace: heading,
// terms and table together. The table inside has its own id, components.EntryTable.ID.
const RegionID = "documents"

// Model is the page.
type Model struct {
	Layout  layout.Model
	Heading string // "2,842 documents"
	Query   string // the whole query, as it stands in the address bar
	Problem *Problem
	Hints   []components.Hint  // what is worth saying of a query that can be read: "No source is called wiky."
	Lag     string             // that the text index does not cover everything, in words; empty where it does
	Terms   []components.Chip  // the terms of the query; each removes itself
	Quick   []components.Chip  // "Stuck", "Quarantine", "Expiring": whole queries
	Filters []components.Input // the form's fields: source, status, class, type, version, age
	Views   components.Views
	Exports []components.Link // CSV, NDJSON
	Help    []Help            // the query language, term by term
	Table   components.EntryTable
}

// Problem is a term that cannot be read, with where it stands in the query.
type Problem struct {
	Before   string // the query up to the term
	Term     string
	After    string
	Sentence string // "age: wants a number and a unit, such as >30d."
	Try      []components.Link
}

// Help is a term that can be typed, and what it finds.
type Help struct {
	Term  string
	Means string
}
