package pipeline

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// writePDF makes a one-page PDF 1.4 file whose text layer holds the lines, one
// under the other. The layout is that of a plain export: a catalog, a page tree,
// a page, a font, a compressed content stream, a classic cross-reference table.
func writePDF(lines []string) []byte {
	var content strings.Builder
	content.WriteString("BT /F1 11 Tf 14 TL 72 740 Td\n")
	for _, line := range lines {
		fmt.Fprintf(&content, "(%s) Tj T*\n", escapePDFString(line))
	}
	content.WriteString("ET\n")
	return assemblePDF([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		streamObject("", deflate([]byte(content.String()))),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	})
}

// writeScannedPDF makes a page that is one grey picture, as a scanner leaves
// it, with the few words that character recognition could make out behind it.
func writeScannedPDF(pixels []byte, width, height int, recognised []string) []byte {
	var content strings.Builder
	content.WriteString("q 612 0 0 792 0 0 cm /Im0 Do Q\nBT 3 Tr /F1 9 Tf 14 TL 72 740 Td\n")
	for _, line := range recognised {
		fmt.Fprintf(&content, "(%s) Tj T*\n", escapePDFString(line))
	}
	content.WriteString("ET\n")
	image := fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 ", width, height)
	return assemblePDF([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /Im0 6 0 R >> >> >>",
		streamObject("", deflate([]byte(content.String()))),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		streamObject(image, deflate(pixels)),
	})
}

// dropTrailerRoot makes the fault of an export tool that writes its trailer
// before it knows where the catalog is: the trailer names no /Root. All objects
// are there, and the cross-reference table finds them.
func dropTrailerRoot(pdf []byte) []byte {
	return bytes.Replace(pdf, []byte(" /Root 1 0 R"), nil, 1)
}

// encryptPDF locks a PDF with a user password that nobody gave the pipeline.
// The cipher draws its own random numbers: of all documents, only these differ
// from one making to the next.
func encryptPDF(pdf []byte, password string) ([]byte, error) {
	conf := pdfConfiguration()
	conf.UserPW, conf.OwnerPW = password, password+"-owner"
	conf.EncryptUsingAES, conf.EncryptKeyLength = true, 256
	conf.Permissions = model.PermissionsNone
	var out bytes.Buffer
	if err := api.Encrypt(bytes.NewReader(pdf), &out, conf); err != nil {
		return nil, fmt.Errorf("encrypt a lease: %w", err)
	}
	return out.Bytes(), nil
}

func assemblePDF(objects []string) []byte {
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	offsets := make([]int, len(objects))
	for i, object := range objects {
		offsets[i] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	writeXRef(&out, offsets, 1)
	return out.Bytes()
}

// writeXRef ends a file with a cross-reference table for objects 1…n at the
// given offsets (negative: no such object) and a trailer that names the catalog.
func writeXRef(out *bytes.Buffer, offsets []int, root int) {
	start := out.Len()
	fmt.Fprintf(out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		if offset < 0 {
			out.WriteString("0000000000 65535 f \n")
			continue
		}
		fmt.Fprintf(out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(out, "trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, root, start)
}

func streamObject(dict string, data []byte) string {
	return fmt.Sprintf("<< %s/Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflate(data []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(data) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

func escapePDFString(s string) string {
	return strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(s)
}
