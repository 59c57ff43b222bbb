package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"dlo/dlq/client"
)

// changeOrderFile is a change order as its source exports it.
type changeOrderFile struct {
	Number   string            `json:"change_order"`
	Project  string            `json:"project"`
	Contract string            `json:"contract"`
	Issued   string            `json:"issued"`
	Currency string            `json:"currency"`
	Locale   string            `json:"locale"`
	Lines    []changeOrderLine `json:"lines"`
	Total    string            `json:"total"`
}

// changeOrderLine is a line with an amount, or a group of lines with a title.
type changeOrderLine struct {
	No          string            `json:"no"`
	Description string            `json:"description"`
	Quantity    string            `json:"quantity,omitempty"`
	Unit        string            `json:"unit,omitempty"`
	Amount      string            `json:"amount,omitempty"`
	Lines       []changeOrderLine `json:"lines,omitempty"`
}

// changeOrder reads a change order and holds its total against its lines.
func (p *parser) changeOrder(raw []byte) (record, error) {
	var file changeOrderFile
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return record{}, &stageError{"parse", traced(client.Parse(err))}
	}
	amounts := map[string]Money{}
	sum, err := p.lineAmounts(file.Lines, "lines", file.Locale, amounts)
	if err != nil {
		return record{}, &stageError{"map", err}
	}
	total, err := p.amountAt("total", file.Total, file.Locale)
	if err != nil {
		return record{}, &stageError{"map", err}
	}
	subtotals := p.subtotals(file.Lines, amounts)
	if err := brokenRules([]Rule{
		{Rule: "currency_known", Path: "currency", Expected: "EUR, USD or GBP", Got: file.Currency, Message: "the currency is not known",
			Passed: file.Currency == "EUR" || file.Currency == "USD" || file.Currency == "GBP"},
		{Rule: "total_is_sum_of_lines", Path: "total", Expected: sum.String(), Got: total.String(), Message: "the total is not the sum of the lines",
			Passed: sum == total},
	}); err != nil {
		return record{}, &stageError{"validate", err}
	}
	fields := map[string]string{"change_order": file.Number, "project": file.Project, "contract": file.Contract,
		"issued": file.Issued, "currency": file.Currency, "total": total.String(), "groups": fmt.Sprint(len(subtotals))}
	var text strings.Builder
	describeLines(&text, file.Lines)
	return record{Fields: fields, Text: text.String()}, nil
}

// locatedError says at which place of the document an error arose.
type locatedError struct {
	path string
	error
}

func (e *locatedError) Unwrap() error { return e.error }

// amountAt reads one amount of a document.
func (p *parser) amountAt(path, text, locale string) (Money, error) {
	m, err := p.amount(text, locale)
	if err != nil {
		return 0, &locatedError{path, traced(client.Parse(err))}
	}
	return m, nil
}

// lineAmounts reads the amounts of all lines into amounts, by line number, and
// gives their sum. Groups have no amount of their own.
func (p *parser) lineAmounts(lines []changeOrderLine, path, locale string, amounts map[string]Money) (Money, error) {
	var sum Money
	for i, line := range lines {
		at := fmt.Sprintf("%s.%d", path, i)
		if len(line.Lines) > 0 {
			inner, err := p.lineAmounts(line.Lines, at+".lines", locale, amounts)
			if err != nil {
				return 0, err
			}
			sum += inner
			continue
		}
		m, err := p.amountAt(at+".amount", line.Amount, locale)
		if err != nil {
			return 0, err
		}
		amounts[line.No] = m
		sum += m
	}
	return sum, nil
}

// subtotalsOfTwoLevels adds up the groups of a change order, by the number of
// the group.
func subtotalsOfTwoLevels(lines []changeOrderLine, amounts map[string]Money) map[string]Money {
	open := make([]string, 2) // the group that is open on each level
	out := map[string]Money{}
	addGroups(lines, 0, open, amounts, out)
	return out
}

func addGroups(lines []changeOrderLine, level int, open []string, amounts, out map[string]Money) {
	for _, line := range lines {
		if len(line.Lines) == 0 {
			for _, group := range open[:min(level, len(open))] {
				out[group] += amounts[line.No]
			}
			continue
		}
		open[level] = line.No
		addGroups(line.Lines, level+1, open, amounts, out)
	}
}

// subtotalsOfAnyLevel does the same for groups within groups, however deep.
func subtotalsOfAnyLevel(lines []changeOrderLine, amounts map[string]Money) map[string]Money {
	out := map[string]Money{}
	for _, line := range lines {
		addSubtotal(line, amounts, out)
	}
	return out
}

func addSubtotal(line changeOrderLine, amounts, out map[string]Money) Money {
	if len(line.Lines) == 0 {
		return amounts[line.No]
	}
	var sum Money
	for _, inner := range line.Lines {
		sum += addSubtotal(inner, amounts, out)
	}
	out[line.No] = sum
	return sum
}

func describeLines(out *strings.Builder, lines []changeOrderLine) {
	for _, line := range lines {
		fmt.Fprintf(out, "%s %s\n", line.No, line.Description)
		describeLines(out, line.Lines)
	}
}
