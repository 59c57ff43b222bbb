package pipeline

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"dlo/dlq/client"
)

// CharsetError is text that is not in the character set that it should be in.
type CharsetError struct {
	Want   string
	Offset int  // bytes from the start of the file
	Byte   byte // the first byte that does not fit
}

func (e *CharsetError) Error() string {
	return fmt.Sprintf("byte 0x%02x at offset %d is not %s", e.Byte, e.Offset, e.Want)
}

// decode takes text as UTF-8 and, if it is not, as the other character set that
// the parser knows.
func (p *parser) decode(raw []byte) (string, error) {
	at := firstInvalid(raw)
	if at < 0 {
		return string(raw), nil
	}
	if p.otherText != nil {
		if text, ok := p.otherText(raw); ok {
			return text, nil
		}
	}
	return "", traced(client.Parse(&CharsetError{"UTF-8", at, raw[at]}))
}

// firstInvalid gives the offset of the first byte that is not UTF-8, or -1.
func firstInvalid(raw []byte) int {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// decodeWindows1252 takes text for Windows-1252, which the desktop programs of
// the submitters write; not if it has a byte that Windows-1252 leaves undefined.
func decodeWindows1252(raw []byte) (string, bool) {
	text, err := charmap.Windows1252.NewDecoder().String(string(raw))
	return text, err == nil && !strings.ContainsRune(text, utf8.RuneError)
}

var submittalColumns = []string{"item", "description", "spec_section", "quantity", "manufacturer", "remark"}

// submittal reads a register of submittals: a heading row, then a row an item.
func (p *parser) submittal(raw []byte) (record, error) {
	text, err := p.decode(raw)
	if err != nil {
		return record{}, &stageError{"decode", err}
	}
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	rows, err := reader.ReadAll()
	if err != nil {
		return record{}, &stageError{"parse", traced(client.Parse(err))}
	}
	if err := brokenRules(submittalRules(rows)); err != nil {
		return record{}, &stageError{"validate", err}
	}
	var out strings.Builder
	for _, row := range rows[1:] {
		fmt.Fprintln(&out, strings.Join(row, " · "))
	}
	return record{Fields: map[string]string{"items": fmt.Sprint(len(rows) - 1)}, Text: out.String()}, nil
}

// submittalRules checks the columns and, if they are there, every quantity.
func submittalRules(rows [][]string) []Rule {
	var heading []string
	if len(rows) > 0 {
		heading = rows[0]
	}
	var rules []Rule
	complete := true
	for _, name := range submittalColumns {
		there := slices.Contains(heading, name)
		complete = complete && there
		rules = append(rules, Rule{Rule: "column_required", Path: "columns." + name, Expected: name, Got: strings.Join(heading, ", "),
			Message: "column " + name + " is missing", Passed: there})
	}
	if !complete {
		return rules
	}
	at := slices.Index(heading, "quantity")
	for i, row := range rows[1:] {
		n, err := strconv.Atoi(row[at])
		rules = append(rules, Rule{Rule: "quantity_not_negative", Path: fmt.Sprintf("rows.%d.quantity", i), Expected: "a whole number, 0 or more", Got: row[at],
			Message: "a quantity is negative or no number", Passed: err == nil && n >= 0})
	}
	return rules
}
