package web

import (
	"encoding/csv"
	"io"
	"strings"
)

// FormulaSafe makes a cell that a spreadsheet would take for a formula a text,
// with an apostrophe before it: what documents and pipelines say stands in
// cells, and a formula can send the sheet's contents away.
func FormulaSafe(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// CSV writes rows as RFC 4180 says, each cell made safe by FormulaSafe.
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
		safe[i] = FormulaSafe(cell)
	}
	return c.w.Write(safe)
}

// Flush writes what is buffered, and says whether all of it arrived.
func (c CSV) Flush() error {
	c.w.Flush()
	return c.w.Error()
}
