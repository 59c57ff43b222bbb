package fingerprint

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTemplateReplacesWhatVaries(t *testing.T) {
	for message, want := range map[string]string{
		"sent to bob.b+x@example.com twice":                                    "sent to <email> twice",
		"see https://example.com/a?b=1.":                                       "see <url>.",
		"job 3f2a91bc-1234-4abc-8def-0123456789ab":                             "job <uuid>",
		"trace 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01":        "trace <trace>",
		"sha e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": "sha <hex>",
		"at 2026-02-11T09:42:13.511Z and 2026-02-11":                           "at <date> and <date>",
		"Wed, 11 Feb 2026 09:42:13 GMT":                                        "<date>",
		"took 12ms, then 1.5s, at 09:42:13":                                    "took <dur>, then <dur>, at <time>",
		"peer 10.0.0.7:8080 or 2001:db8::7":                                    "peer <ip> or <ip>",
		"at 0x7ffea20bf0b0":                                                    "at <hex>",
		"org.apache.Parser@22e5f22d failed":                                    "org.apache.Parser@<hex> failed",
		"id 9f2a4c1e7":                                                         "id <hex>",
		"open /data/in/a.PDF: no such file":                                    "open <path.pdf>: no such file",
		`open C:\in\b.xlsx: locked`:                                            "open <path.xlsx>: locked",
		`open \\srv\in\c.docx: locked`:                                         "open <path.docx>: locked",
		"document header-only.pdf failed":                                      "document <file.pdf> failed",
		"dial db.example.com:5432":                                             "dial <host>",
		"parser.py:12: bad":                                                    "parser.py:<int>: bad",
		"amount 1.234,56 of 3 (-4) in page_17":                                 "amount <float> of <int> (<int>) in page_<int>",
		"No module named 'docx'":                                               "No module named 'docx'",
		"missing key '/Root' in `xref.table`":                                  "missing key '/Root' in `xref.table`",
		"value 'some words' and \"INV-20231\"":                                 "value <str> and <str>",
		"starts with b'F' @1546: b'x\\r\\n'":                                   "starts with <str> @<int>: <str>",
		"No such file: '/data/in/a.pdf'":                                       "No such file: '<path.pdf>'",
		"can't decode it's header":                                             "can't decode it's header",
		"got {'a': 1, 'b': [2]} and [1, 2]":                                    "got <data> and <data>",
		"out of range [321] with length 321":                                   "out of range [<int>] with length <int>",
		"out of range [:305993] with capacity 31192":                           "out of range [:<int>] with capacity <int>",
		"org/x/s7558BE7F5D88107BA4D2FD671B33D2B4/Holder":                       "org/x/s<hex>/Holder",
		"data/lines/0/sku must be string":                                      "data/lines/<int>/sku must be string",
		"PDF::Reader at 7":                                                     "PDF::Reader at <int>",
		"There is no item named 'word/document.xml'":                           "There is no item named 'word/document.xml'",
		"from org.example.pdf.Parser":                                          "from org.example.pdf.Parser",
		"  two   spaces\n\tand lines ":                                         "two spaces and lines",
		"":                                                                     "",
	} {
		if got := Template(message); got != want {
			t.Errorf("Template(%q)\n got  %q\n want %q", message, got, want)
		}
	}
}

func TestTemplateOfATemplateIsItself(t *testing.T) {
	for _, message := range []string{"open /data/in/a.pdf at 512: 'some words' from 10.0.0.7", "got {'a': 1} in 12ms on page_17 of header-only.pdf"} {
		once := Template(message)
		if twice := Template(once); twice != once {
			t.Errorf("%q became %q", once, twice)
		}
	}
}

func TestTemplateIsBoundedInRunes(t *testing.T) {
	got := Template(strings.Repeat("é ", 5000))
	if n := utf8.RuneCountInString(got); n > 512 || n < 500 || !utf8.ValidString(got) {
		t.Errorf("%d runes, valid %v", n, utf8.ValidString(got))
	}
}
