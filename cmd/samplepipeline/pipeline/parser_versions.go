package pipeline

import "fmt"

// The versions that the pipeline names in every envelope and outcome. Only the
// parser and what memory a worker has are switched while it runs.
const (
	connectorVersion  = "folder-sync@1.4.2"
	chunkerVersion    = "paragraph-chunker@0.9.1"
	processingVersion = "intake-7"

	componentWorker = "worker" // its version is the memory that a worker has

	confidenceFloor = 0.75
)

// The two parsers.
const (
	oldParserVersion = "intake-parser@20251104"
	newParserVersion = "intake-parser@20251230"
)

// parser is one version of the code that reads documents. What both versions do
// alike is in its methods, where errors arise too: what fails under both fails
// with the same stack. The fields are what changed between them; a nil one is a
// cure that was not invented yet.
type parser struct {
	name    string // "old" or "new", as /control says it
	version string

	amount    func(text, locale string) (Money, error)
	subtotals func(groups []changeOrderLine, amounts map[string]Money) map[string]Money

	repairPDF   func(pdf []byte) ([]byte, bool) // for one that cannot be opened
	typedNumber func(text string) (Money, bool) // for a cell that is no number
	otherText   func(raw []byte) (string, bool) // for text that is not UTF-8
}

// oldParser refuses a PDF without a /Root, reads no decimal comma, never met a
// group inside a group inside a group, takes every spreadsheet cell for a number
// as the program that wrote it stores them, and trusts that a CSV file is UTF-8.
func oldParser() *parser {
	return &parser{
		name: "old", version: oldParserVersion,
		amount:    pointDecimals,
		subtotals: subtotalsOfTwoLevels,
	}
}

// newParser has a repair, a rule or a cure for each of those.
func newParser() *parser {
	return &parser{
		name: "new", version: newParserVersion,
		amount:      localeDecimals,
		subtotals:   subtotalsOfAnyLevel,
		repairPDF:   rebuildXRef,
		typedNumber: typedNumber,
		otherText:   decodeWindows1252,
	}
}

// parserNamed gives the parser that /control calls old or new.
func parserNamed(name string) (*parser, error) {
	switch name {
	case "old":
		return oldParser(), nil
	case "new":
		return newParser(), nil
	}
	return nil, fmt.Errorf("parser %q is not known: old or new expected", name)
}

// record is what a document says once it is read: the fields that are committed
// and the text that is chunked.
type record struct {
	Fields map[string]string
	Text   string
}

// parse reads one document of a source. Errors carry a class, and a stack where
// one arose; a panic inside is an error like any other.
func (p *parser) parse(source string, raw []byte) (record, error) {
	var rec record
	err := caught(func() (err error) {
		switch source {
		case sourceLeases:
			rec, err = p.lease(raw)
		case sourceChangeOrders:
			rec, err = p.changeOrder(raw)
		case sourceRentRolls:
			rec, err = p.rentRoll(raw)
		case sourceSubmittals:
			rec, err = p.submittal(raw)
		default:
			err = fmt.Errorf("no parser is known for source %q", source)
		}
		return err
	})
	return rec, err
}
