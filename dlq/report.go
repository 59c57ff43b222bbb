package dlq

import "time"

// VersionReportQuery is what the report of versions is asked for. The zero
// value is everything that is stuck, of all sources.
type VersionReportQuery struct {
	Sources     []string // of these alone; empty: all
	ContentType string   // of it alone; empty: any
	All         bool     // every document that ever failed, and not those alone that are stuck
	From        time.Time
	To          time.Time // months, both included; what is older than From is summed as earlier; zero: open
}

// VersionReportCell counts documents of a source that failed in one way under
// one set of versions and were opened in a month.
type VersionReportCell struct {
	Source    string
	ErrorType string
	Versions  Versions
	Month     time.Time // its first day; zero: earlier than what was asked for
	Documents int64
}
