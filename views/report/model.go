// Package report draws a report: totals first, then charts and tables, on a
// page that prints.
package report

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// RegionID is the id of the part that the choice of period and source
// replaces.
const RegionID = "report"

// Model is the page of any report.
type Model struct {
	Layout   layout.Model
	Title    string            // "Aging"
	Lead     string            // what it counts: "A steady rate hides a growing total. This page counts the total."
	Reports  []components.Chip // the other reports
	Choices  []components.Chip // period and source
	AsOf     components.Time
	Stats    []components.Stat
	Sections []Section
	Exports  []components.Link // CSV and JSON at the same address
	Empty    *components.Empty // when there is nothing to count yet
}

// Section is one panel. Whatever of its parts is set is drawn, in this order.
type Section struct {
	ID    string // unique on the page
	Title string
	Aside string // the span and the zone: "1 Sep to 29 Nov 2026, UTC"
	Level *components.LevelChart
	Days  *components.DayChart
	Bars  *components.Bars
	Table *Table
	Note  string // what the numbers leave out; the rate, small, with numerator and denominator
	Wide  bool   // takes the whole width
}

// Table is rows of numbers. Each row has as many cells as there are heads.
type Table struct {
	Caption string
	Heads   []components.Sort
	Rows    [][]Cell
}

// Cell is one of them.
type Cell struct {
	Text   components.Text
	Href   string // the rows behind the number; empty where there are none
	Num    bool
	Strong bool
	Head   bool           // names the row
	Tag    components.Tag // instead of or after the text; may be empty
}
