package dlq

import (
	"slices"
	"strconv"
	"time"
)

// Place is where a document stood in its connector's stream when it first
// failed.
type Place struct {
	At     time.Time // its first failure
	Seq    *int64    // ingest_seq; nil: not sent
	Cursor string    // as the connector gave it; empty: not sent
}

// SourcePlaces are documents of a cohort in one source with their places, as far as
// they were looked at.
type SourcePlaces struct {
	Source string
	Places []Place // in the order of their first failures
}

// StreamBar is one column of a chart along a stream.
type StreamBar struct {
	From, To  string // the positions that it covers; equal for one
	Documents int
}

// streamBars is how many columns a chart along a stream has at most.
const streamBars = 40

// AlongSequence counts documents by their place in the connector's sequence, in
// columns of equal width. at gives the column in which a moment lies, by the
// first document that failed at or after it; -1 where there is none. Documents
// without a place are left out, and counted in without.
func AlongSequence(places []Place) (bars []StreamBar, at func(time.Time) int, without int) {
	var low, high int64
	placed := slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return p.Seq == nil })
	without = len(places) - len(placed)
	for i, p := range placed {
		if i == 0 || *p.Seq < low {
			low = *p.Seq
		}
		if i == 0 || *p.Seq > high {
			high = *p.Seq
		}
	}
	if len(placed) == 0 {
		return nil, func(time.Time) int { return -1 }, without
	}
	// A sequence may span all of int64, whose width is no int64.
	width := (uint64(high)-uint64(low))/streamBars + 1
	column := func(seq int64) int { return int((uint64(seq) - uint64(low)) / width) }
	for i := range column(high) + 1 {
		from := int64(uint64(low) + uint64(i)*width)
		to := int64(uint64(from) + min(width-1, uint64(high)-uint64(from)))
		bars = append(bars, StreamBar{From: strconv.FormatInt(from, 10), To: strconv.FormatInt(to, 10)})
	}
	columns := make([]int, len(placed))
	for i, p := range placed {
		columns[i] = column(*p.Seq)
		bars[columns[i]].Documents++
	}
	return bars, columnAt(placed, columns), without
}

// AlongCursor counts documents by the connector's cursor, which nobody but the
// connector can read: in the order in which its values were first met, and in
// columns of as many values each.
func AlongCursor(places []Place) (bars []StreamBar, at func(time.Time) int, without int) {
	placed := slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return p.Cursor == "" })
	without = len(places) - len(placed)
	order := map[string]int{}
	var values []string
	for _, p := range placed {
		if _, met := order[p.Cursor]; !met {
			order[p.Cursor] = len(values)
			values = append(values, p.Cursor)
		}
	}
	each := max((len(values)+streamBars-1)/streamBars, 1)
	for i := 0; i < len(values); i += each {
		bars = append(bars, StreamBar{From: values[i], To: values[min(i+each, len(values))-1]})
	}
	columns := make([]int, len(placed))
	for i, p := range placed {
		columns[i] = order[p.Cursor] / each
		bars[columns[i]].Documents++
	}
	return bars, columnAt(placed, columns), without
}

func columnAt(placed []Place, columns []int) func(time.Time) int {
	return func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(placed, t, func(p Place, t time.Time) int { return p.At.Compare(t) })
		if i == len(placed) {
			return -1
		}
		return columns[i]
	}
}
