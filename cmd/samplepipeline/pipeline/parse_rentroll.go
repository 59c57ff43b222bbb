package pipeline

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"dlo/dlq/client"
)

// WorkbookError is a file that is no workbook, or only the beginning of one.
type WorkbookError struct{ Err error }

func (e *WorkbookError) Error() string { return "the workbook cannot be opened: " + e.Err.Error() }
func (e *WorkbookError) Unwrap() error { return e.Err }

const rentRollSheet = "Rent roll"

// rentRoll reads the sheet of a rent roll: a heading row, then a row a unit.
func (p *parser) rentRoll(raw []byte) (record, error) {
	book, err := openWorkbook(raw)
	if err != nil {
		return record{}, &stageError{"parse", err}
	}
	defer book.Close()
	rows, err := book.GetRows(rentRollSheet, excelize.Options{RawCellValue: true})
	if err != nil {
		return record{}, &stageError{"parse", traced(client.Parse(&WorkbookError{err}))}
	}
	var total Money
	var text strings.Builder
	units := 0
	for i, row := range rows {
		if i == 0 || len(row) < 4 || row[0] == "" {
			continue
		}
		rent, err := p.rentCell(row[3])
		if err != nil {
			return record{}, &stageError{"map", err}
		}
		units++
		total += rent
		fmt.Fprintf(&text, "%s %s %s\n", row[0], row[1], rent)
	}
	if err := brokenRules([]Rule{
		{Rule: "has_units", Path: "rows", Expected: "at least one unit", Got: fmt.Sprint(units), Message: "the rent roll has no unit", Passed: units > 0},
	}); err != nil {
		return record{}, &stageError{"validate", err}
	}
	return record{Fields: map[string]string{"units": fmt.Sprint(units), "monthly_rent": total.String()}, Text: text.String()}, nil
}

func openWorkbook(raw []byte) (*excelize.File, error) {
	book, err := excelize.OpenReader(bytes.NewReader(raw))
	if err != nil {
		return nil, traced(client.Unsupported(&WorkbookError{err}))
	}
	return book, nil
}

// rentCell reads a cell as a program stores a number, digits and a point, and
// otherwise as the parser knows how people type one.
func (p *parser) rentCell(text string) (Money, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil {
		return Money(math.Round(f * 100)), nil
	}
	if p.typedNumber != nil {
		if m, ok := p.typedNumber(text); ok {
			return m, nil
		}
	}
	return 0, traced(client.Parse(err))
}

// typedNumber reads a number that was typed as text: blanks between the
// thousands and a decimal comma.
func typedNumber(text string) (Money, bool) {
	compact := strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "").Replace(text)
	m, err := localeDecimals(compact, "de")
	return m, err == nil
}
