package dlq

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode/utf8"
)

// SafeCell writes a text so that no spreadsheet takes it for a formula: one that
// begins as a formula does has an apostrophe before it. What documents and
// pipelines say stands in cells, and a formula can send the sheet's contents
// away. NUL, which ends a text for some readers, and what is not UTF-8 become
// the sign for it.
func SafeCell(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
	if first, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@\t\r\n\uFFFD＝＋－＠", first) {
		return "'" + s
	}
	return s
}

// CSV writes rows as RFC 4180 says, each cell made safe by SafeCell.
type CSV struct{ w *csv.Writer }

// NewCSV writes to w.
func NewCSV(w io.Writer) CSV {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return CSV{out}
}

// Row writes one row.
func (c CSV) Row(cells ...string) error {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = SafeCell(cell)
	}
	return c.w.Write(safe)
}

// Flush writes what is buffered, and says whether all of it arrived.
func (c CSV) Flush() error {
	c.w.Flush()
	return c.w.Error()
}
