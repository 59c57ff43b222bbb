package handlers

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entry"

	"github.com/gabriel-vasile/mimetype"
)

// Limits of a preview. Each that cuts something is said on the page.
const (
	previewBytes   = 64 << 10 // read of a copy for a preview
	previewLines   = 2000     // of a text
	previewRows    = 100      // of a table
	previewColumns = 20
	previewHex     = 4 << 10 // bytes: a table of hexadecimal is a hundred times their size
)

// format is how a stored copy can be shown without anything in it being run.
type format int

const (
	formatBinary format = iota
	formatText
	formatJSON
	formatCSV
	formatImage
	formatPDF
)

// sniffed is what the bytes themselves say they are.
type sniffed struct {
	format format
	name   string // for people: "PDF"
	mime   string // exact, as an image is served
}

// imageTypes are the images that browsers draw and that hold no script. SVG is
// text here.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// sniff reads the type from the first bytes. What the sender or the file's name
// say decides only how text is laid out: a name must not make an image of a page.
func sniff(head []byte, contentType, filename string) sniffed {
	m := mimetype.Detect(head)
	if m.Is("application/pdf") && !bytes.HasPrefix(head, pdfMark) {
		// The mark may stand further in, and so may it in a page, a log or JSON
		// that only mentions it: what is something else without it is that.
		if other := mimetype.Detect(bytes.ReplaceAll(head, pdfMark, []byte("-----"))); !other.Is("application/octet-stream") {
			m = other
		}
	}
	mime, _, _ := strings.Cut(m.String(), ";")
	s := sniffed{mime: mime, name: strings.ToUpper(strings.TrimPrefix(m.Extension(), "."))}
	switch {
	case imageTypes[mime]:
		s.format = formatImage
	case mime == "application/pdf" && holdsPDF(head):
		s.format = formatPDF
	case isText(m):
		s.format = formatText
		hint := strings.ToLower(contentType + " " + filename)
		switch {
		case mime == "application/json":
			s.format = formatJSON
		case mime == "text/csv", mime == "text/tab-separated-values", strings.Contains(hint, "csv"), strings.Contains(hint, "tab-separated"), strings.HasSuffix(hint, ".tsv"):
			s.format, s.name = formatCSV, "CSV"
		}
		if s.name == "TXT" || s.name == "" {
			s.name = "text"
		}
	}
	if s.name == "" {
		s.name = "of an unknown type"
	}
	return s
}

func isText(m *mimetype.MIME) bool {
	for ; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}

// copyTrouble is why bytes that should be held cannot be read.
type copyTrouble int

const (
	copyReadable copyTrouble = iota
	copyDamaged              // the digest no longer agrees
	copyMissing              // the row says held, and the store has nothing
	copyUnread               // the payload store does not answer
)

// storedCopy is what was read of a document's bytes.
type storedCopy struct {
	head    []byte // at most previewBytes
	size    int64
	trouble copyTrouble
}

// documentView is everything that decides how the original document is shown.
type documentView struct {
	entry       dlq.Entry
	copy        storedCopy
	view        string // as asked for: "text", "table", "image", "pdf", "hex"
	pdf         string // address of the PDF's frame, should it be asked for
	mayPreview  bool
	mayDownload bool
}

// newDocument shapes the original document. viewed says whether any of its bytes
// stand in the answer, which is a view that the audit trail keeps.
func newDocument(v documentView) (d entry.Document, viewed bool) {
	path := entryHref(v.entry.DLQID)
	if why, state := noCopy(v); why != "" {
		d = entry.Document{Kind: entry.PreviewNone, None: why, State: state, NoLoad: "There is nothing to download."}
		if v.entry.PayloadBytes >= 0 {
			d.Summary = byteSize(v.entry.PayloadBytes)
		}
		return d, false
	}
	s := sniff(v.copy.head, v.entry.ContentType, v.entry.Filename)
	d.Summary = byteSize(v.copy.size) + " " + s.name
	d.State = components.Tag{Text: "digest verified", Tone: components.Good, Title: "SHA-256 " + v.entry.HeldSHA256 + ", checked as it was read"}
	if !v.entry.CopyIsCurrent() {
		d.State = components.Tag{Text: "of an older attempt", Tone: components.Deadline, Title: "The newest failure brought no bytes; this copy is of one before it"}
	}
	if v.mayDownload {
		d.Download = &components.Link{Text: "Download", Href: path + "/payload"}
	} else {
		d.NoLoad = "Your role sees the preview. Reviewers, managers and auditors may download."
	}
	if !v.mayPreview {
		d.Kind, d.None = entry.PreviewNone, "Your role does not see the contents of documents."
		return d, false
	}
	names := viewsOf(s.format)
	if s.format == formatPDF && v.copy.size <= pdfMost {
		names = append(names, "pdf") // never the first: it is shown only when asked for
	}
	view := names[0]
	for _, name := range names {
		if name == v.view {
			view = name
		}
	}
	for _, name := range names {
		d.Views = append(d.Views, components.Chip{Text: viewWords[name], Href: path + "?view=" + name + "#" + entry.DocumentID, On: name == view})
	}
	if len(d.Views) == 1 {
		d.Views = nil
	}
	switch view {
	case "image":
		d.Kind, d.Src, d.Alt = entry.PreviewImage, path+"/preview/image", "The stored copy, an image"
		return d, false // the request for the image is the view
	case "pdf":
		showPDF(&d, v)
		return d, false // and so with the PDF
	case "table":
		showTable(&d, v.copy)
	case "text":
		showText(&d, v.copy, s.format)
	default:
		showHex(&d, v.copy)
		if s.format == formatPDF {
			d.Cut = strings.TrimSpace(d.Cut + " " + whyHex(v.copy.size))
		}
	}
	return d, true
}

// viewWords are the ways to see a document, as they are offered.
var viewWords = map[string]string{"text": "Text", "table": "Table", "image": "Image", "hex": "Hex", "pdf": "Show as PDF"}

// whyHex says why a PDF stands there as bytes.
func whyHex(size int64) string {
	if size > pdfMost {
		return "A PDF of more than " + byteSize(pdfMost) + " is not shown here: download it to read it."
	}
	return "A PDF can hold scripts and links of whoever wrote it, so your browser opens it only when you choose to."
}

func showPDF(d *entry.Document, v documentView) {
	// The pages alone: beside them, a list of pages takes half of a narrow frame.
	d.Kind, d.Src, d.Alt = entry.PreviewPDF, v.pdf+"#navpanes=0", "The stored copy, a PDF"
	d.Cut = "Drawn by your browser, apart from this page. What it asks of you is asked by whoever wrote it, and a link in it leaves this page for wherever they say. A damaged PDF may not open; if the frame stays empty, load the page again"
	if v.mayDownload {
		d.Cut += ", or download it."
		return
	}
	// No lock, because the bytes are in the browser: it only keeps from offering
	// what the role has no use of.
	d.Src += "&toolbar=0"
	d.Cut += "."
}

// viewsOf gives the ways to see a format, the best first.
func viewsOf(f format) []string {
	switch f {
	case formatText, formatJSON:
		return []string{"text", "hex"}
	case formatCSV:
		return []string{"table", "text", "hex"}
	case formatImage:
		return []string{"image", "hex"}
	}
	return []string{"hex"}
}

// noCopy says why there is nothing to see, and what a redrive would do.
func noCopy(v documentView) (why string, state components.Tag) {
	const fromSource = "A redrive has the pipeline read the document from its source."
	switch {
	case v.entry.Status == dlq.StatusErased:
		return "The document was erased, its stored copy with it.", components.Tag{Text: "erased", Tone: components.Bad}
	case v.entry.Copy == dlq.CopyExpired:
		return "The copy has expired. " + fromSource, components.Tag{Text: "expired", Tone: components.Deadline}
	case v.entry.Copy == dlq.CopyCorrupt, v.copy.trouble == copyDamaged:
		return "The stored copy no longer has its digest, so nothing of it is shown or sent. " + fromSource, components.Tag{Text: "corrupt", Tone: components.Bad}
	case v.entry.Copy != dlq.CopyHeld:
		return "No copy was sent with it. " + fromSource, components.Tag{Text: "not held", Tone: components.Quiet}
	case v.copy.trouble == copyMissing:
		return "The stored copy is not where it should be. Run dlo check; until then a redrive has to read the document from its source.", components.Tag{Text: "missing", Tone: components.Bad}
	case v.copy.trouble == copyUnread:
		return "The payload store does not answer just now. Nothing is lost; load the page again.", components.Tag{Text: "cannot be read now", Tone: components.Deadline}
	}
	return "", components.Tag{}
}

// firstOf says how much of a copy is shown; empty when it is all.
func firstOf(part, size int64) string {
	if part >= size {
		return ""
	}
	return fmt.Sprintf("The first %s of %s.", byteSize(part), byteSize(size))
}

// wholeRunes cuts a character off that the limit of the preview split.
func wholeRunes(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax-1 && i <= len(b); i++ {
		tail := b[len(b)-i:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

func showText(d *entry.Document, c storedCopy, f format) {
	d.Kind = entry.PreviewText
	head := c.head
	whole := int64(len(head)) >= c.size
	d.Cut = firstOf(int64(len(head)), c.size)
	if !whole {
		head = wholeRunes(head)
	}
	var pretty bytes.Buffer
	if f == formatJSON && whole && json.Indent(&pretty, head, "", "  ") == nil && pretty.Len() < 4*previewBytes {
		head = pretty.Bytes()
		d.Cut = "Set out with line breaks; the bytes themselves are under Hex and in the download."
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n"), "\n")
	if len(lines) > previewLines {
		d.Cut = strings.TrimSpace(fmt.Sprintf("The first %s lines of these %s. ", grouped(previewLines), grouped(int64(len(lines)))) + d.Cut)
		lines = lines[:previewLines]
	}
	for _, line := range lines {
		d.Text = append(d.Text, shown(line))
	}
}

func showTable(d *entry.Document, c storedCopy) {
	head := c.head
	whole := int64(len(head)) >= c.size
	if !whole {
		// The last line is broken off somewhere: it would show as a short row.
		if i := bytes.LastIndexByte(head, '\n'); i > 0 {
			head = head[:i]
		}
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = delimiter(head), -1, true
	var rows [][]string
	var trouble error
	for len(rows) <= previewRows {
		row, err := r.Read()
		if err != nil {
			if row == nil && len(rows) == 0 {
				trouble = err
			}
			break
		}
		rows = append(rows, row)
	}
	if trouble != nil {
		showText(d, c, formatText)
		d.Cut = strings.TrimSpace("It does not read as a table, so it stands here as text. " + d.Cut)
		return
	}
	d.Kind = entry.PreviewTable
	more := len(rows) > previewRows
	if more {
		rows = rows[:previewRows]
	}
	width, widest := 0, 0
	for _, row := range rows {
		widest = max(widest, len(row))
	}
	width = min(widest, previewColumns)
	for i, row := range rows {
		cells := make([]components.Text, width)
		for j := range cells {
			if j < len(row) {
				cells[j] = shown(row[j])
			}
		}
		if i == 0 {
			d.Head = cells
			continue
		}
		d.Cells = append(d.Cells, cells)
	}
	if more || !whole {
		d.Cut = fmt.Sprintf("The first %s rows of a document of %s.", grouped(int64(len(rows))), byteSize(c.size))
	}
	if widest > width {
		d.Cut = strings.TrimSpace(d.Cut + fmt.Sprintf(" The first %d of %s columns.", width, grouped(int64(widest))))
	}
}

// delimiter is the one of the usual three that the first line has most of.
func delimiter(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, d := range []rune{';', '\t'} {
		if n := bytes.Count(line, []byte(string(d))); n > most {
			best, most = d, n
		}
	}
	return best
}

func showHex(d *entry.Document, c storedCopy) {
	d.Kind = entry.PreviewHex
	head := c.head[:min(len(c.head), previewHex)]
	d.Hex = hexLines(head)
	d.Cut = firstOf(int64(len(head)), c.size)
}

func hexLines(b []byte) []entry.HexLine {
	var out []entry.HexLine
	for at := 0; at < len(b); at += 16 {
		row := b[at:min(at+16, len(b))]
		var hex, ascii strings.Builder
		for i, c := range row {
			switch {
			case i == 8:
				hex.WriteString("  ")
			case i > 0:
				hex.WriteByte(' ')
			}
			fmt.Fprintf(&hex, "%02x", c)
			if c >= 0x20 && c < 0x7f {
				ascii.WriteByte(c)
			} else {
				ascii.WriteByte('.')
			}
		}
		out = append(out, entry.HexLine{Offset: fmt.Sprintf("%08x", at), Bytes: hex.String(), Ascii: ascii.String()})
	}
	return out
}
