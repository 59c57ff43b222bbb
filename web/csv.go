package web

import (
	"bufio"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CSV writes records as RFC 4180 has them, made harmless for spreadsheets: a
// field that one would take for a formula gets an apostrophe before it. That
// changes the field, negative numbers included; who wants the exact values
// takes the JSON.
type CSV struct{ out *bufio.Writer }

// NewCSV writes to w. Call Flush at the end.
func NewCSV(w io.Writer) *CSV { return &CSV{out: bufio.NewWriter(w)} }

// Write adds one record. Bytes that are not UTF-8 become U+FFFD, and NUL goes.
func (c *CSV) Write(fields ...string) error {
	for i, field := range fields {
		if i > 0 {
			c.out.WriteByte(',')
		}
		field = harmless(strings.ReplaceAll(strings.ToValidUTF8(field, "\ufffd"), "\x00", ""))
		if field != "" && !strings.ContainsAny(field, ",\"\r\n") && field == strings.TrimSpace(field) {
			c.out.WriteString(field)
			continue
		}
		c.out.WriteByte('"')
		c.out.WriteString(strings.ReplaceAll(field, `"`, `""`))
		c.out.WriteByte('"')
	}
	_, err := c.out.WriteString("\r\n") // bufio keeps the first error
	return err
}

// Flush writes what is still held back.
func (c *CSV) Flush() error { return c.out.Flush() }

// harmless puts an apostrophe before a field whose first character that counts
// begins a formula, half- or full-width, or that starts with a tab or a line
// end. Spaces and characters that show nothing do not count: spreadsheets skip
// some of them.
func harmless(field string) string {
	if field == "" {
		return field
	}
	if strings.ContainsRune("\t\r\n", rune(field[0])) {
		return "'" + field
	}
	counts := strings.TrimLeftFunc(field, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || hidden(r) || r == '"'
	})
	first, _ := utf8.DecodeRuneInString(counts)
	if counts != "" && strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b", first) {
		return "'" + field
	}
	return field
}
