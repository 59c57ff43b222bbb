package handlers

import (
	"fmt"
	"strings"
	"testing"

	"dlo/dlq"
	"dlo/views/entry"
)

// heldEntry is a document whose copy is held and current.
func heldEntry() dlq.Entry {
	return dlq.Entry{DLQID: "01J1", Source: "wiki", DocID: "7", Status: dlq.StatusParked, Copy: dlq.CopyHeld, HeldSHA256: strings.Repeat("a", 64), CopyOfAttempt: 1, EvidenceID: 1}
}

func previewOf(e dlq.Entry, head, view string) (entry.Document, bool) {
	return newDocument(documentView{entry: e, copy: storedCopy{head: []byte(head), size: int64(len(head))}, view: view, mayPreview: true, mayDownload: true})
}

func TestABrowserNeverGetsMoreThanTextOrAnImageOfWhatTheBytesAre(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
	for _, c := range []struct {
		name, head, contentType, filename string
		want                              entry.PreviewKind
		viewed                            bool
	}{
		{"html is text", "<!DOCTYPE html><html><script>alert(1)</script></html>", "text/html", "a.html", entry.PreviewText, true},
		{"svg is text", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"></svg>`, "image/svg+xml", "a.svg", entry.PreviewText, true},
		{"html that claims to be an image", "<html><body>x</body></html>", "image/png", "a.png", entry.PreviewText, true},
		{"an image whatever it claims", png, "text/html", "a.html", entry.PreviewImage, false},
		{"a pdf after what a mail put before it", "\x00\x01\x02\xffjunk\x00%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "", "", entry.PreviewHex, true},
		{"json that mentions a pdf", `{"head":"%PDF-1.7"}`, "", "", entry.PreviewText, true},
		{"an image that mentions a pdf", png + "%PDF-1.7", "", "", entry.PreviewImage, false},
		{"a pdf is bytes", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "application/pdf", "a.pdf", entry.PreviewHex, true},
		{"json", `{"a":1}`, "", "", entry.PreviewText, true},
		{"csv by its name", "a\n1", "", "a.csv", entry.PreviewTable, true},
		{"csv by its content", "a,b\n1,2\n3,4\n", "", "", entry.PreviewTable, true},
		{"an archive is bytes", "PK\x03\x04\x14\x00\x00\x00\x08\x00", "text/plain", "a.txt", entry.PreviewHex, true},
		{"nothing", "", "", "", entry.PreviewText, true},
	} {
		e := heldEntry()
		e.ContentType, e.Filename = c.contentType, c.filename
		d, viewed := previewOf(e, c.head, "")
		if d.Kind != c.want || viewed != c.viewed {
			t.Errorf("%s: kind %d viewed %v, want %d %v", c.name, d.Kind, viewed, c.want, c.viewed)
		}
	}
}

func TestAPreviewSaysWhatItCut(t *testing.T) {
	long := strings.Repeat("word ", previewBytes/5)
	d, _ := newDocument(documentView{entry: heldEntry(), copy: storedCopy{head: []byte(long), size: 4_500_000}, mayPreview: true})
	if want := "The first " + byteSize(int64(len(long))) + " of 4.5 MB."; d.Cut != want {
		t.Errorf("got %q, want %q", d.Cut, want)
	}
	if d, _ := previewOf(heldEntry(), strings.Repeat("x\n", previewLines+5), ""); len(d.Text) != previewLines || !strings.Contains(d.Cut, "2,000 lines of these 2,005") {
		t.Errorf("%d lines, %q", len(d.Text), d.Cut)
	}
	if d, _ := previewOf(heldEntry(), strings.Repeat("\x00\x01", previewHex), ""); len(d.Hex) != previewHex/16 || !strings.HasPrefix(d.Cut, "The first 4.1 kB") {
		t.Errorf("%d lines of hex, %q", len(d.Hex), d.Cut)
	}
}

func TestACharacterThatTheLimitSplitsIsLeftOut(t *testing.T) {
	for _, s := range []string{"ab\xc3", "ab\xe2\x82", "ab\xf0\x9f\x92"} {
		if got := string(wholeRunes([]byte(s))); got != "ab" {
			t.Errorf("%q: got %q", s, got)
		}
	}
	for _, s := range []string{"", "ab", "abé", "€"} {
		if got := string(wholeRunes([]byte(s))); got != s {
			t.Errorf("%q: got %q", s, got)
		}
	}
}

func TestATableIsBoundedByRowsAndColumns(t *testing.T) {
	var b strings.Builder
	for row := range previewRows + 20 {
		for column := range previewColumns + 3 {
			fmt.Fprintf(&b, "%d.%d,", row, column)
		}
		b.WriteString("\n")
	}
	d, _ := previewOf(heldEntry(), b.String(), "")
	if d.Kind != entry.PreviewTable || len(d.Head) != previewColumns || len(d.Cells) != previewRows-1 {
		t.Fatalf("kind %d, %d columns, %d rows below the head", d.Kind, len(d.Head), len(d.Cells))
	}
	if !strings.Contains(d.Cut, "The first 100 rows") || !strings.Contains(d.Cut, "The first 20 of 24 columns.") {
		t.Errorf("it does not say so: %q", d.Cut)
	}
}

func TestTheDelimiterOfATableIsRead(t *testing.T) {
	for head, want := range map[string]rune{"a,b;c\n": ',', "a;b;c\n1,5": ';', "a\tb\tc": '\t', "a": ','} {
		if got := delimiter([]byte(head)); got != want {
			t.Errorf("%q: got %q, want %q", head, got, want)
		}
	}
}

func TestJSONIsSetOutWithoutChangingAValue(t *testing.T) {
	d, _ := previewOf(heldEntry(), `{"n":1.0000000000000000001,"a":1,"a":2}`, "")
	var lines []string
	for _, l := range d.Text {
		lines = append(lines, l.String())
	}
	got := strings.Join(lines, "\n")
	if want := "{\n  \"n\": 1.0000000000000000001,\n  \"a\": 1,\n  \"a\": 2\n}"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestHexShowsOffsetBytesAndText(t *testing.T) {
	lines := hexLines([]byte("%PDF-1.7\n%\xc7 end of it"))
	if len(lines) != 2 || lines[0] != (entry.HexLine{Offset: "00000000", Bytes: "25 50 44 46 2d 31 2e 37  0a 25 c7 20 65 6e 64 20", Ascii: "%PDF-1.7.%. end "}) || lines[1].Offset != "00000010" || lines[1].Bytes != "6f 66 20 69 74" {
		t.Errorf("got %+v", lines)
	}
}

func TestWithoutACopyThePageSaysWhyAndWhatARedriveDoes(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*documentView)
		state   string
		mention string
	}{
		{"never sent", func(v *documentView) { v.entry.Copy = dlq.CopyNever }, "not held", "No copy was sent"},
		{"expired", func(v *documentView) { v.entry.Copy = dlq.CopyExpired }, "expired", "A redrive has the pipeline read the document from its source."},
		{"known to be damaged", func(v *documentView) { v.entry.Copy = dlq.CopyCorrupt }, "corrupt", "nothing of it is shown"},
		{"found damaged now", func(v *documentView) { v.copy.trouble = copyDamaged }, "corrupt", "nothing of it is shown"},
		{"lost", func(v *documentView) { v.copy.trouble = copyMissing }, "missing", "dlo check"},
		{"store away", func(v *documentView) { v.copy.trouble = copyUnread }, "cannot be read now", "Nothing is lost"},
		{"erased", func(v *documentView) { v.entry.Status = dlq.StatusErased }, "erased", "erased"},
	} {
		v := documentView{entry: heldEntry(), copy: storedCopy{head: []byte("secret"), size: 6}, mayPreview: true, mayDownload: true}
		c.change(&v)
		d, viewed := newDocument(v)
		if d.Kind != entry.PreviewNone || viewed || d.Download != nil || d.State.Text != c.state || !strings.Contains(d.None, c.mention) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

func TestWhoMayNotDownloadSeesNoButtonAndWhy(t *testing.T) {
	d, _ := newDocument(documentView{entry: heldEntry(), copy: storedCopy{head: []byte("x"), size: 1}, mayPreview: true})
	if d.Download != nil || d.NoLoad == "" {
		t.Errorf("got %+v, %q", d.Download, d.NoLoad)
	}
}
