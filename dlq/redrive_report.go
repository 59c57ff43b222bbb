package dlq

import (
	"math"
	"time"
)

// RedriveReportQuery asks for the redrives that were started in a span of time.
type RedriveReportQuery struct {
	From, Until time.Time // started at From or after it, and before Until
}

// RedriveReportRow is one redrive of many documents: what was forecast, and what
// came of it.
type RedriveReportRow struct {
	Operation Operation
	CohortID  string // that goes on for the one that it was about; empty: it was about none
	ErrorType string // of that cohort
	Outcomes  map[OutcomeResult]int64
	Past      int64 // of those that failed: on another error, past this one
	Again     int64 // of those that failed: on the same one
}

// Tested is how many of the documents tell whether they get past the error, and
// how many of these do.
func (r RedriveReportRow) Tested() (past, of int64) {
	past = r.Outcomes[OutcomeCommitted] + r.Past
	return past, past + r.Again
}

// ForecastEnd says how a forecast came out.
type ForecastEnd string

// How a forecast can come out.
const (
	ForecastNone  ForecastEnd = "none"  // nothing was forecast
	ForecastOpen  ForecastEnd = "open"  // nothing that tells came of it yet
	ForecastHeld  ForecastEnd = "held"  // within it
	ForecastFewer ForecastEnd = "fewer" // fewer got past the error
	ForecastMore  ForecastEnd = "more"
)

// Against holds a forecast against what came of it: past of so many that tell. It
// was made for as many documents as the proof covered, and is held against the
// share of those that tell. A nil forecast is none.
func (f *Forecast) Against(past, of int64) ForecastEnd {
	low, high, any := f.Expected(of)
	switch {
	case !any:
		return ForecastNone
	case of == 0:
		return ForecastOpen
	case past < low:
		return ForecastFewer
	case past > high:
		return ForecastMore
	}
	return ForecastHeld
}

// Expected is how many of so many documents were expected to get past the error.
// False: no replay that counts was known then, or what was known had lapsed.
func (f *Forecast) Expected(of int64) (low, high int64, any bool) {
	if f == nil || f.Of == 0 || f.State == ProofLapsed || f.State == ProofLooksTransient || f.State == ProofNone {
		return 0, 0, false
	}
	l, h := Wilson(f.Passed, f.Of)
	return int64(math.Round(l * float64(of))), int64(math.Round(h * float64(of))), true
}
