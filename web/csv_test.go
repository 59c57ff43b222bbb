package web

import (
	"bytes"
	"encoding/csv"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func writeCSV(t *testing.T, records ...[]string) string {
	t.Helper()
	var out bytes.Buffer
	w := NewCSV(&out)
	for _, record := range records {
		if err := w.Write(record...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCSVFormula(t *testing.T) {
	var record []string
	for _, first := range []string{"=", "+", "-", "@", "\t", "\r", "\n", "\x00", "＝", "＋", "－", "＠", " =", "\u00a0=", "\u200b=", "\ufeff=", "\u202e=", "\x00=", "\x1b=", `"=`, " \" @", "\t=", "−", "﹢"} {
		record = append(record, first+`cmd|' /C calc'!A0`, first, first+`HYPERLINK("http://evil.example","x")`)
	}
	parsed, err := csv.NewReader(strings.NewReader(writeCSV(t, record))).Read()
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range parsed {
		first, _ := utf8.DecodeRuneInString(field)
		visible := strings.TrimLeft(field, " \u00a0\u200b\ufeff\u202e\x1b\"\t\r\n")
		if strings.ContainsRune("=+-@\t\x00\r\n＝＋－＠", first) && field != "" || strings.IndexAny(visible, "=+-@＝＋－＠−﹢") == 0 {
			t.Errorf("%q is written as %q", record[i], field)
		}
	}
}

func TestCSVKeepsEverythingElse(t *testing.T) {
	record := []string{"", "plain", "a,b", `say "x"`, "two\nlines", " spaced ", "'quoted'", "1147829310", "0.75", "é 文 😀", "a=b", "a-b", "a@example.com", "trailing\t", "|x", "%s"}
	text := writeCSV(t, []string{"a", "b"}, record)
	if !strings.HasPrefix(text, "a,b\r\n") || !strings.HasSuffix(text, "\r\n") {
		t.Errorf("records do not end as RFC 4180 has it: %q", text)
	}
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = -1
	parsed, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parsed, [][]string{{"a", "b"}, record}) {
		t.Errorf("got %q, want %q", parsed[1], record)
	}
}

func TestCSVReportsAWriterThatFails(t *testing.T) {
	w := NewCSV(failingWriter{})
	for range 1000 {
		_ = w.Write("a field", "another")
	}
	if err := w.Flush(); err == nil {
		t.Error("nothing said that nothing was written")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func FuzzCSV(f *testing.F) {
	f.Add("=1+1", "a\"b")
	f.Add("\x00-", "\r\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		parsed, err := csv.NewReader(strings.NewReader(writeCSV(t, []string{a, b, "end"}))).ReadAll()
		if err != nil || len(parsed) != 1 || len(parsed[0]) != 3 || parsed[0][2] != "end" {
			t.Fatalf("%q, %q reads as %q (%v)", a, b, parsed, err)
		}
		for _, field := range parsed[0] {
			if first, _ := utf8.DecodeRuneInString(field); field != "" && strings.ContainsRune("=+-@\t\r\x00＝＋－＠", first) {
				t.Fatalf("%q, %q gives %q", a, b, field)
			}
		}
	})
}
