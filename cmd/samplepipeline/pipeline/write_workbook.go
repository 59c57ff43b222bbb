package pipeline

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// markedRows is how far down the mark goes: reading it takes some 450 MiB, more
// than a small worker has and less than a large one.
const markedRows = 1000

// markLastColumn puts a mark into the last column of many rows under a sheet, as
// a border that somebody dragged too far does. The file grows by some kilobytes.
// Whoever reads its rows as they stand makes 16,384 cells of each.
func markLastColumn(workbook []byte, rows int) ([]byte, error) {
	in, err := zip.NewReader(bytes.NewReader(workbook), int64(len(workbook)))
	if err != nil {
		return nil, fmt.Errorf("open a workbook to mark it: %w", err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, part := range in.File {
		r, err := part.Open()
		if err != nil {
			return nil, fmt.Errorf("read a part of a workbook: %w", err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("read a part of a workbook: %w", err)
		}
		if part.Name == "xl/worksheets/sheet1.xml" {
			before, after, found := bytes.Cut(text, []byte("</sheetData>"))
			if !found {
				return nil, fmt.Errorf("the sheet of a workbook has no end")
			}
			var marks strings.Builder
			for row := 101; row <= 100+rows; row++ {
				fmt.Fprintf(&marks, `<row r="%d"><c r="XFD%d"><v>0</v></c></row>`, row, row)
			}
			text = bytes.Join([][]byte{before, after}, []byte(marks.String()+"</sheetData>"))
		}
		to, err := w.Create(part.Name)
		if err != nil {
			return nil, fmt.Errorf("write a part of a workbook: %w", err)
		}
		if _, err := to.Write(text); err != nil {
			return nil, fmt.Errorf("write a part of a workbook: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write a workbook: %w", err)
	}
	return out.Bytes(), nil
}
