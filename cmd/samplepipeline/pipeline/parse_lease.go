package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"

	"dlo/dlq/client"
)

// EncryptedPDFError is a PDF that asks for a password.
type EncryptedPDFError struct{ Err error }

func (e *EncryptedPDFError) Error() string { return "the PDF is encrypted: " + e.Err.Error() }
func (e *EncryptedPDFError) Unwrap() error { return e.Err }

// DamagedPDFError is a PDF whose structure cannot be read.
type DamagedPDFError struct{ Err error }

func (e *DamagedPDFError) Error() string { return "the PDF is damaged: " + e.Err.Error() }
func (e *DamagedPDFError) Unwrap() error { return e.Err }

// pdfText is the text layer of a PDF, a line an element, pages in order.
type pdfText struct{ lines []string }

// withoutConfigDir keeps the PDF library from writing a folder of its own into
// the home folder of whoever runs the pipeline.
var withoutConfigDir = sync.OnceFunc(api.DisableConfigDir)

func pdfConfiguration() *model.Configuration {
	withoutConfigDir()
	return model.NewDefaultConfiguration()
}

// openPDF reads the text of a PDF as it is and, where its structure is damaged
// and the parser knows a repair, once more as it is repaired.
func (p *parser) openPDF(pdf []byte) (*pdfText, error) {
	doc, err := api.ReadAndValidate(bytes.NewReader(pdf), pdfConfiguration())
	if errors.Is(err, pdfcpu.ErrWrongPassword) || errors.Is(err, pdfcpu.ErrEncrypted) {
		return nil, traced(client.Encrypted(&EncryptedPDFError{err}))
	}
	if err != nil && p.repairPDF != nil {
		if repaired, ok := p.repairPDF(pdf); ok {
			doc, err = api.ReadAndValidate(bytes.NewReader(repaired), pdfConfiguration())
		}
	}
	if err != nil {
		return nil, traced(client.Parse(&DamagedPDFError{err}))
	}
	return textOf(doc)
}

var objectStart = regexp.MustCompile(`(?m)^(\d{1,7}) 0 obj\b`)

// rebuildXRef appends a cross-reference table and a trailer for the objects that
// are there. It reports false where no catalog is among them.
func rebuildXRef(pdf []byte) ([]byte, bool) {
	offsets := map[int]int{}
	last, root := 0, 0
	for _, m := range objectStart.FindAllSubmatchIndex(pdf, 10_000) {
		var n int
		if _, err := fmt.Sscan(string(pdf[m[2]:m[3]]), &n); err != nil || n == 0 || n > 100_000 {
			continue
		}
		offsets[n] = m[0]
		last = max(last, n)
		body := pdf[m[1]:]
		if end := bytes.Index(body, []byte("endobj")); end >= 0 && bytes.Contains(body[:end], []byte("/Type /Catalog")) {
			root = n
		}
	}
	if root == 0 {
		return nil, false
	}
	table := make([]int, last)
	for i := range table {
		offset, ok := offsets[i+1]
		if !ok {
			offset = -1
		}
		table[i] = offset
	}
	out := bytes.NewBuffer(bytes.Clone(pdf))
	out.WriteByte('\n')
	writeXRef(out, table, root)
	return out.Bytes(), true
}

func textOf(doc *model.Context) (*pdfText, error) {
	text := &pdfText{}
	for page := 1; page <= doc.PageCount; page++ {
		r, err := pdfcpu.ExtractPageContent(doc, page)
		if err != nil {
			return nil, traced(client.Parse(&DamagedPDFError{err}))
		}
		if r == nil {
			continue // a page without content
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, traced(client.Parse(&DamagedPDFError{err}))
		}
		text.lines = append(text.lines, shownStrings(content)...)
	}
	return text, nil
}

// shownStrings gives the operands of the Tj operators of a content stream, with
// escaped parentheses and backslashes resolved (ISO 32000-1 §7.3.4.2). Text that
// is shown in other ways is not read; the leases of this source have none.
func shownStrings(content []byte) []string {
	var out []string
	for i := 0; i < len(content); i++ {
		if content[i] != '(' {
			continue
		}
		var s []byte
		depth := 1
		for i++; i < len(content); i++ {
			c := content[i]
			switch {
			case c == '\\' && i+1 < len(content):
				i++
				s = append(s, content[i])
				continue
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
			if depth == 0 {
				break
			}
			s = append(s, c)
		}
		if i < len(content) && bytes.HasPrefix(bytes.TrimLeft(content[i+1:], " "), []byte("Tj")) {
			out = append(out, string(s))
		}
	}
	return out
}

// leaseFields are what a lease must say, and how much each adds to the
// confidence in the reading; together 1.
var leaseFields = []struct {
	name   string
	weight float64
}{
	{"lease", 0.15}, {"landlord", 0.12}, {"tenant", 0.18}, {"premises", 0.10},
	{"term", 0.16}, {"base_rent", 0.19}, {"deposit", 0.10},
}

var leaseLabels = map[string]string{
	"Lease no.": "lease", "Landlord": "landlord", "Tenant": "tenant", "Premises": "premises",
	"Term": "term", "Monthly base rent": "base_rent", "Security deposit": "deposit",
}

// lease reads a lease abstract out of the text layer of a PDF.
func (p *parser) lease(raw []byte) (record, error) {
	text, err := p.openPDF(raw)
	if err != nil {
		return record{}, &stageError{"parse", err}
	}
	fields := map[string]string{}
	for _, line := range text.lines {
		label, value, found := strings.Cut(line, ": ")
		if name := leaseLabels[label]; found && name != "" {
			fields[name] = strings.TrimSpace(value)
		}
	}
	var confidence float64
	for _, f := range leaseFields {
		if fields[f.name] != "" {
			confidence += f.weight
		}
	}
	if confidence < confidenceFloor {
		return record{}, &stageError{"extract", &LowConfidenceError{float64(int(confidence*100+0.5)) / 100}}
	}
	if err := brokenRules(leaseRules(fields)); err != nil {
		return record{}, &stageError{"validate", err}
	}
	return record{Fields: fields, Text: strings.Join(text.lines, "\n")}, nil
}

// leaseRules checks what an abstract must satisfy before it may post.
func leaseRules(fields map[string]string) []Rule {
	start, end, _ := strings.Cut(fields["term"], " to ")
	from, errFrom := time.Parse(time.DateOnly, start)
	to, errTo := time.Parse(time.DateOnly, end)
	dates := Rule{Rule: "term_dates", Path: "lease.term", Expected: "YYYY-MM-DD to YYYY-MM-DD", Got: fields["term"],
		Message: "the term is not two dates", Passed: errFrom == nil && errTo == nil}
	order := Rule{Rule: "term_ends_after_start", Path: "lease.term", Expected: "end after " + start, Got: end,
		Message: "the term ends before it starts", Passed: !dates.Passed || to.After(from)}
	rent := Rule{Rule: "base_rent_present", Path: "lease.base_rent", Expected: "an amount", Got: fields["base_rent"],
		Message: "the base rent is missing", Passed: fields["base_rent"] != ""}
	return []Rule{dates, order, rent}
}
