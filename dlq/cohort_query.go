package dlq

import "time"

// CohortQuery is what is asked of the cohorts. The zero value is all of them,
// the largest first. A cohort that was merged into another is in no answer but
// to its own id.
type CohortQuery struct {
	ID     string // an id, or one of its fingerprints
	Review *bool
	Status Status // with at least one entry in it
	Open   bool   // with at least one entry that is parked, redriving or quarantined
	Source string
	Class  string
	Words  []string // each in its type, template or frame
	// Having lists cohorts that have at least one entry that matches. Its terms
	// about cells and states narrow the counts as well: see Narrows.
	Having Query
	New    time.Time // first seen here after; zero: whenever
	Back   time.Time // stuck again after; zero: whether or not
	Sort   CohortSort
}

// CohortSort names an order of the cohorts.
type CohortSort string

// The orders. What an order knows nothing of comes last in it.
const (
	CohortsByNeed     CohortSort = "needs"     // what needs a decision, then the largest
	CohortsByDepth    CohortSort = "parked"    // the largest first
	CohortsByArrivals CohortSort = "arrivals"  // most failures first
	CohortsByAge      CohortSort = "oldest"    // whose oldest parked entry has been stuck longest
	CohortsByExpiry   CohortSort = "expiring"  // whose first parked entry leaves soonest
	CohortsByLastSeen CohortSort = "last_seen" // that failed last
)

// CohortSorts lists the orders.
var CohortSorts = []CohortSort{CohortsByNeed, CohortsByDepth, CohortsByArrivals, CohortsByAge, CohortsByExpiry, CohortsByLastSeen}

// cellKeys are the keys of the query language that a cell answers for all of
// its entries.
var cellKeys = map[string]bool{"source": true, "class": true, "type": true, "reason": true, "stage": true, "content": true, "connector": true, "parser": true, "chunker": true, "embedder": true, "version": true, "fix": true, "proof": true}

// OfCell says whether the term is about a cell, so that counters answer it and
// no entry is read.
func (t Term) OfCell() bool { return cellKeys[t.Key] }

// Split parts the query into its terms about cells, about states, and about
// entries.
func (q Query) Split() (cells, states, entries Query) {
	for _, t := range q.Terms {
		switch {
		case t.OfCell():
			cells.Terms = append(cells.Terms, t)
		case t.Key == "status":
			states.Terms = append(states.Terms, t)
		default:
			entries.Terms = append(entries.Terms, t)
		}
	}
	return cells, states, entries
}

// StatesOf lists the states in which an entry can be that holds every term about
// states; all of them where there is no such term.
func (q Query) StatesOf() []Status {
	var out []Status
	for _, s := range Statuses {
		holds := true
		for _, t := range q.Terms {
			if t.Key != "status" {
				continue
			}
			in := false
			for _, v := range t.Values {
				in = in || v == string(s) || v == "open" && s.Open()
			}
			holds = holds && in != t.Negated
		}
		if holds {
			out = append(out, s)
		}
	}
	return out
}

// WithQuery asks for what a query says as well. Its words are looked for in what
// a cohort says of itself: the texts of all its entries are of one defect.
func (q CohortQuery) WithQuery(having Query) CohortQuery {
	q.Having = Query{Text: having.Text}
	for _, t := range having.Terms {
		if t.Key == "" && !t.Negated {
			q.Words = append(q.Words, t.Values...)
		} else {
			q.Having.Terms = append(q.Having.Terms, t)
		}
	}
	return q
}

// Narrows says whether the counts of a cohort are of a part of its entries: of
// those in the cells that were asked for. Terms about single entries choose
// cohorts and narrow no count.
func (q CohortQuery) Narrows() bool {
	cells, _, _ := q.Having.Split()
	return q.Source != "" || q.Class != "" || len(cells.Terms) > 0
}

// OldestOfSource is when the oldest parked entry of a source was opened.
type OldestOfSource struct {
	Source string
	Opened time.Time
}
