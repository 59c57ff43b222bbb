package components

// Sparkline is a series without axes, for a table's cell.
type Sparkline struct {
	Values []int
	Label  string // "Arrivals a day over 30 days: 1 to 18, rising"
}

// Mark is a moment on a chart's time axis, such as a deployment.
type Mark struct {
	At   int // index into the values, 0 for the first
	Text string
}

// DayChart is one column a day with marks over it. Title and Label say in
// words what it shows, because nobody should have to see it.
type DayChart struct {
	Values   []int
	Marks    []Mark
	First    string // under the first column: "1 Sep"
	Last     string // under the last: "29 Nov"
	Label    string
	Sentence string // reads the chart: "Rose 4 h after wiki-connector 3.14 was deployed."
}

// LevelChart is a level over time with the ceiling that it must not pass.
type LevelChart struct {
	Values       []int
	Ceiling      int    // 0: none
	CeilingLabel string // "ceiling 6,000"
	First        string
	Middle       string
	Last         string
	Ticks        []Tick
	Label        string
	Sentence     string
}

// Tick is a line across a chart with its number.
type Tick struct {
	Value int
	Label string
}

// Bars is one stacked bar a row.
type Bars struct {
	Parts []string // the legend, in the order of the parts
	Rows  []BarRow
	Label string
}

// BarRow is one row of Bars.
type BarRow struct {
	Name  string
	Href  string
	Parts []int  // one number a part
	Total string // formatted
}

// Progress is a bar of parts of a whole, with the words under it.
type Progress struct {
	Parts []ProgressPart
	Label string // "214 of 393 settled"
}

// ProgressPart is one stretch of it.
type ProgressPart struct {
	Share int // in tenths of a percent, 0 to 1000
	Tone  Tone
	Text  string // "201 committed"
	Href  string // the items behind it
	Rest  bool   // what is still to come: the bar's own ground shows
}
