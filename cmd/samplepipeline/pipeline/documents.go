package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// The sources.
const (
	sourceLeases       = "leases"
	sourceChangeOrders = "change-orders"
	sourceRentRolls    = "rent-rolls"
	sourceSubmittals   = "submittals"
)

var sourceNames = []string{sourceLeases, sourceChangeOrders, sourceRentRolls, sourceSubmittals}

// Defect is what is wrong with a document, "" if nothing is.
type Defect string

// The defects.
const (
	DefectTrailer        Defect = "trailer without root"    // leases; the newer parser repairs it
	DefectTrailerAndTerm Defect = "trailer, then term"      // leases; once repaired, the term breaks a rule
	DefectEncrypted      Defect = "encrypted"               // leases; no parser helps
	DefectTerm           Defect = "term ends before start"  // leases; until corrected
	DefectScan           Defect = "poor scan"               // leases; low confidence, in review
	DefectDecimalComma   Defect = "decimal comma"           // change-orders; the newer parser reads it
	DefectNestedGroups   Defect = "groups three deep"       // change-orders; the older parser panics
	DefectTotal          Defect = "total is not the sum"    // change-orders; until corrected
	DefectTextNumber     Defect = "number typed as text"    // rent-rolls; the newer parser reads it
	DefectTruncated      Defect = "truncated workbook"      // rent-rolls; no parser helps
	DefectLastColumn     Defect = "mark in the last column" // rent-rolls; reading it takes more memory than a small worker has
	DefectWindows1252    Defect = "Windows-1252"            // submittals; the newer parser decodes it
	DefectMissingColumn  Defect = "missing column"          // submittals; until corrected
	DefectNegative       Defect = "negative quantity"       // submittals; until corrected
	DefectOverWindow     Defect = "remark over the window"  // submittals; breaks the contract of the index
	defectNone           Defect = ""
)

const day = 24 * time.Hour

// Document is one document of the made-up world: what it is, what is wrong with
// it, and when it came. Seed makes its content, the same every time.
type Document struct {
	Source   string    `json:"source"`
	ID       string    `json:"doc_id"`
	Filename string    `json:"filename"`
	Defect   Defect    `json:"defect,omitempty"`
	Seed     uint64    `json:"seed"`
	First    time.Time `json:"first_seen"`
	Last     time.Time `json:"last_seen"`
	Attempts int       `json:"attempts"`
}

// batch is a run of documents of one source with one defect. Ages are in days
// before now, oldest first; in between, arrivals crowd toward the newer end.
type batch struct {
	source         string
	defect         Defect
	count          int
	oldest, newest float64
	resyncs        int // ordinary syncs that met the document again, at most
}

// world is the plan of all documents: 180 that do not pass, 80 that do. The draws
// of a batch follow those before it, so that a new one goes to the end.
var world = []batch{
	{sourceLeases, DefectTrailer, 44, 58, 0.2, 3},
	{sourceLeases, DefectTrailerAndTerm, 2, 41, 20, 1},
	{sourceLeases, DefectEncrypted, 9, 87, 9, 0},
	{sourceLeases, DefectTerm, 4, 49, 11, 2},
	{sourceLeases, DefectScan, 6, 37, 2, 0},
	{sourceLeases, defectNone, 26, 80, 0.5, 0},
	{sourceChangeOrders, DefectDecimalComma, 31, 34, 0.4, 4},
	{sourceChangeOrders, DefectNestedGroups, 14, 12, 0.1, 2},
	{sourceChangeOrders, DefectTotal, 7, 84, 6, 6},
	{sourceChangeOrders, defectNone, 20, 60, 0.5, 0},
	{sourceRentRolls, DefectTextNumber, 18, 46, 3, 2},
	{sourceRentRolls, DefectTruncated, 5, 29, 1.5, 0},
	{sourceRentRolls, defectNone, 18, 58, 0.5, 0},
	{sourceSubmittals, DefectWindows1252, 22, 53, 0.8, 3},
	{sourceSubmittals, DefectMissingColumn, 8, 26, 4, 2},
	{sourceSubmittals, DefectNegative, 6, 19, 2, 1},
	{sourceSubmittals, DefectOverWindow, 3, 5, 0.6, 0},
	{sourceSubmittals, defectNone, 16, 55, 0.5, 0},
	{sourceRentRolls, DefectLastColumn, 1, 0.3, 0.3, 0},
}

var series = map[string]struct {
	prefix, extension, contentType string
	start                          int
}{
	sourceLeases:       {"LS", ".pdf", "application/pdf", 2104},
	sourceChangeOrders: {"CO", ".json", "application/json", 880},
	sourceRentRolls:    {"RR", ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", 310},
	sourceSubmittals:   {"SB", ".csv", "text/csv", 5021},
}

// planDocuments lays out the world as of a moment: every document with its id,
// its defect and its times, numbered within its source in order of arrival. The
// same seed and moment give the same plan.
func planDocuments(seed uint64, now time.Time) []Document {
	rng := rand.New(rand.NewPCG(seed, 0x646c6f))
	var docs []Document
	for _, b := range world {
		for i := range b.count {
			docs = append(docs, b.document(i, rng, now))
		}
	}
	slices.SortStableFunc(docs, func(a, b Document) int { return a.First.Compare(b.First) })
	number := map[string]int{}
	for i := range docs {
		s := series[docs[i].Source]
		docs[i].ID = fmt.Sprintf("%s-%04d", s.prefix, s.start+number[docs[i].Source])
		docs[i].Filename = docs[i].ID + s.extension
		number[docs[i].Source]++
	}
	twin(docs)
	return docs
}

func (b batch) document(i int, rng *rand.Rand, now time.Time) Document {
	share := (float64(i) + rng.Float64()) / float64(b.count) // 0 the oldest, 1 the newest
	age := b.newest + (b.oldest-b.newest)*(1-share)*(1-share)
	if i == 0 {
		age = b.oldest
	}
	first := now.Add(-time.Duration(age * float64(day))).Truncate(time.Second)
	doc := Document{Source: b.source, Defect: b.defect, Seed: rng.Uint64(), First: first, Last: first, Attempts: 1}
	if b.defect == defectNone {
		return doc
	}
	if triedTwice(b.defect) {
		doc.Attempts, doc.Last = 2, first.Add(time.Duration(20+rng.IntN(150))*time.Second)
	}
	for range rng.IntN(b.resyncs + 1) {
		later := doc.Last.Add(time.Duration(1+rng.IntN(9)) * day)
		if later.After(now.Add(-time.Hour)) {
			break
		}
		doc.Attempts, doc.Last = doc.Attempts+1, later
	}
	if doc.Last.After(now) {
		doc.Last = now.Truncate(time.Second)
	}
	return doc
}

// triedTwice says whether a second delivery was worth it: after a parser raised,
// but not for what the input itself makes hopeless.
func triedTwice(d Defect) bool {
	switch d {
	case DefectTrailer, DefectTrailerAndTerm, DefectDecimalComma, DefectTextNumber, DefectWindows1252, DefectNestedGroups:
		return true
	}
	return false
}

// twin gives two neighbouring Windows-1252 registers the same content: one file
// that was submitted under two numbers, and commits once.
func twin(docs []Document) {
	last := -1
	for i := range docs {
		if docs[i].Defect != DefectWindows1252 {
			continue
		}
		if last >= 0 && i > len(docs)/2 {
			docs[i].Seed = docs[last].Seed
			return
		}
		last = i
	}
}

// contentType gives the media type of a source's documents.
func contentType(source string) string { return series[source].contentType }

// docIDOf gives the document's id for a file of a source's folder; false for a
// file that is no document of the source.
func docIDOf(source, filename string) (string, bool) {
	id, found := strings.CutSuffix(filename, series[source].extension)
	return id, found && id != "" && !strings.HasPrefix(id, ".")
}
