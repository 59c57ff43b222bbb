package fingerprint

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTemplateReplacesDatesAndTimesOfEveryForm(t *testing.T) {
	for message, want := range map[string]string{
		"on 11.02.2026 at 09:42":          "on <date> at <int>:<int>", // as a line and a column would be
		"on 11/02/2026 09:42:13":          "on <date> <time>",
		"on 11-02-2026":                   "on <date>",
		"on 2026/02/11":                   "on <date>",
		"on 11 Feb 2026":                  "on <date>",
		"on Feb 11, 2026 9:42 PM":         "on <date> <time>",
		"on February 11, 2026":            "on <date>",
		"am 11. Februar 2026":             "am <date>",
		"on Wed Feb 11 09:42:13 2026":     "on <date>",
		"on Wed Feb 11 09:42:13 UTC 2026": "on <date>",
		"at 2026-02-11T09:42:13.511Z":     "at <date>",
		"at 2026-02-11T09:42:13+01:00":    "at <date>",
		"at 2026-02-11 09:42:13,511":      "at <date>",
		"at 20260211T094213Z":             "at <date>",
		"expired on 2026-02":              "expired on <date>",
		"2026年2月11日":                      "<date>",
		"version 1.2.3 of the library":    "version <float> of the library",
		"took 1m30s":                      "took <dur>",
		"took 250 ms":                     "took <int> ms",
	} {
		if got := Template(message); got != want {
			t.Errorf("Template(%q)\n got  %q\n want %q", message, got, want)
		}
	}
}

func TestTemplateReplacesNumbersOfEveryForm(t *testing.T) {
	for message, want := range map[string]string{
		"total 1,234,567.89":      "total <float>",
		"total 1.234.567,89":      "total <float>",
		"total 1 234 567,89":      "total <float>",
		"total 1'234'567.89":      "total <float>",
		"total 1_000_000":         "total <int>",
		"ratio 1.5e-9 and 2E10":   "ratio <float> and <float>",
		"offset +12 or -12":       "offset <int> or <int>",
		"35%":                     "<int>%",
		"row 7, column 12":        "row <int>, column <int>",
		"0xDEADBEEF":              "<hex>",
		"page_17 of doc-42":       "page_<int> of doc-<int>",
		"12MB of 64 MiB":          "<int>MB of <int> MiB",
		"width 210mm":             "width <int>mm",
		"object 12 0 R":           "object <int> <int> R",
		"HTTP 404":                "HTTP <int>",
		"sheet1.xml":              "sheet1.xml",
		"utf8, sha256 and base64": "utf8, sha256 and base64",
		"PDF-1.7":                 "PDF-<float>",
		"(3)":                     "(<int>)",
		"x=7;y=-8":                "x=<int>;y=<int>",
		"第7页":                     "第<int>页",
		"७ pages":                 "७ pages",
	} {
		if got := Template(message); got != want {
			t.Errorf("Template(%q)\n got  %q\n want %q", message, got, want)
		}
	}
}

func TestTemplateReplacesDocumentsAndTheirPlaces(t *testing.T) {
	for message, want := range map[string]string{
		"cannot open INV-20260211-0007.pdf":                     "cannot open <file.pdf>",
		"cannot open 'Invoice 7 (final).pdf'":                   "cannot open '<file.pdf>'",
		"cannot open \"/data/My Documents/a b.docx\"":           "cannot open \"<path.docx>\"",
		"cannot open /data/in/2026/a.pdf":                       "cannot open <path.pdf>",
		"cannot open s3://bucket/in/a.pdf":                      "cannot open <url>",
		"cannot open gs://bucket/in/a.pdf: denied":              "cannot open <url>: denied",
		"cannot open file:///data/a.pdf":                        "cannot open <url>",
		"cannot open \\\\srv\\share\\a.pdf":                     "cannot open <path.pdf>",
		"cannot open C:\\Users\\x\\a.pdf":                       "cannot open <path.pdf>",
		"document 7f3a91bc-1234-4abc-8def-0123456789ab failed":  "document <uuid> failed",
		"document doc_01HZX3N4Q5R6S7T8V9WXYZABCD failed":        "document <id> failed",
		"document 01HZX3N4Q5R6S7T8V9WXYZABCD failed":            "document <id> failed",
		"document 507f1f77bcf86cd799439011 failed":              "document <hex> failed",
		"etag \"3f2a91bc7de1\"":                                 "etag <str>",
		"key order/7/lines":                                     "key order/<int>/lines",
		"part word/document.xml is missing":                     "part word/document.xml is missing",
		"part 'xl/worksheets/sheet1.xml' is missing":            "part 'xl/worksheets/sheet1.xml' is missing",
		"tmp file /tmp/tmpab12cd34/x.png":                       "tmp file <path.png>",
		"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGVzdHNpZw": "token <token>",
		"customer a.b+c@example.co.uk":                          "customer <email>",
		"id=INV20231; kind=invoice":                             "id=<id>; kind=invoice",
		"invoice INV-20231 rejected":                            "invoice INV-<int> rejected",
	} {
		if got := Template(message); got != want {
			t.Errorf("Template(%q)\n got  %q\n want %q", message, got, want)
		}
	}
}

func TestTemplateReadsTheQuotesOfEveryLanguage(t *testing.T) {
	for message, want := range map[string]string{
		"Datei „Rechnung Nummer sieben“ fehlt": "Datei <str> fehlt",
		"fichier « une facture » introuvable":  "fichier <str> introuvable",
		"fichier «une facture» introuvable":    "fichier <str> introuvable",
		"archivo “una factura” no encontrado":  "archivo <str> no encontrado",
		"文件“发票 一”不存在":                          "文件<str>不存在",
		"ファイル「請求書 1」が見つかりません":                  "ファイル<str>が見つかりません",
		"ファイル『請求書』が見つかりません":                    "ファイル<str>が見つかりません",
		"Feld ›Betrag netto‹ fehlt":            "Feld <str> fehlt",
		"l'élément n'est pas valide":           "l'élément n'est pas valide",
		"can't find 'trailer'":                 "can't find 'trailer'",
		"No such key: “trailer”":               "No such key: “trailer”",
		"got b\"\\x00\\x01\"":                  "got <str>",
	} {
		if got := Template(message); got != want {
			t.Errorf("Template(%q)\n got  %q\n want %q", message, got, want)
		}
	}
}

func TestTemplateReplacesDataInBrackets(t *testing.T) {
	for message, want := range map[string]string{
		"got {\"a\": 1, \"b\": {\"c\": [1, 2]}} here": "got <data> here",
		"got [{'a': {'b': [1]}}]":                     "got <data>",
		"got <PDFObjRef:12>":                          "got <PDFObjRef:<int>>",
		"got <_io.BytesIO object at 0x7f1a2b3c4d5e>":  "got <_io.BytesIO object at <hex>>",
		"got Order(id=7, name='x y')":                 "got Order(id=<int>, name=<str>)",
		"index [3] of map[a:1 b:2]":                   "index [<int>] of map<data>",
		"unbalanced {\"a\": [1, 2":                    "unbalanced {\"a\": [<int>, <int>",
		"schema [order] refused":                      "schema [order] refused",
		"[E001] refused":                              "[E001] refused",
	} {
		if got := Template(message); got != want {
			t.Errorf("Template(%q)\n got  %q\n want %q", message, got, want)
		}
	}
}

func TestTemplateKeepsTheWordsOfEveryLanguageWhole(t *testing.T) {
	for _, message := range []string{
		"Die Datei ist beschädigt und kann nicht geöffnet werden", "Le fichier est endommagé", "El archivo está dañado", "文件已损坏，无法打开", "ファイルが壊れています", "파일이 손상되었습니다", "Файл повреждён",
	} {
		if got := Template(message); got != message {
			t.Errorf("Template(%q) = %q", message, got)
		}
		long := strings.Repeat(message+" ", 200)
		got := Template(long)
		if n := utf8.RuneCountInString(got); n > 512 || !utf8.ValidString(got) || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("%q cut badly: %d runes, valid %v", message, n, utf8.ValidString(got))
		}
	}
}

func TestTemplateOfAnyMessageIsItsOwnTemplate(t *testing.T) {
	for _, message := range []string{
		"on 11.02.2026 at 09:42", "total 1,234,567.89 in /data/in/a.pdf", "document 01HZX3N4Q5R6S7T8V9WXYZABCD", "Datei „Rechnung sieben“ fehlt", "got {\"a\": [1]} on doc-42",
		"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGVzdHNpZw", "peer 10.0.0.7:8080 or [2001:db8::7]:443", "x=7;y=-8", "took 1m30s, 250ms", "org.apache.Parser@22e5f22d",
	} {
		once := Template(message)
		if twice := Template(once); twice != once {
			t.Errorf("%q became %q, then %q", message, once, twice)
		}
	}
}
