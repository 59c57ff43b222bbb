package cohort

import "dlo/views/components"

// Arrivals is when the failures came, or where in their stream, with what was
// deployed meanwhile.
type Arrivals struct {
	Axes  []components.Chip // "by day", "by ingest_seq", "by cursor"
	About string            // beside the heading: "90 days, with deployments"
	Chart components.DayChart
	Looks string // how many documents were looked at; empty: every arrival is counted
	Marks []Mark // the deployments, newest first
	More  string // how many are not listed; may be empty
	None  string // in place of the chart
}

// Mark is one deployment beneath the chart.
type Mark struct {
	When    components.Time
	Version components.Text
	Source  components.Link
	Words   string // "a rollback", "beside another"; may be empty
	Marked  bool   // it has a mark on the chart
}

// Versions is failed under × month. Each row has as many cells as Months.
type Versions struct {
	Months []string // "earlier", "Sep", "Oct", "Nov"
	Rows   []VersionRow
	Note   string // may be empty
}

// VersionRow is one set of versions.
type VersionRow struct {
	Version components.Text
	State   components.Tag    // "runs now", "not running now"; empty: nobody registered it
	Cells   []components.Link // a number each, leading to its documents; "0" without
	Stuck   components.Link
}
