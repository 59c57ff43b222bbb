package pipeline

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
)

// content makes the bytes of a document, defect included.
func (d Document) content() ([]byte, error) { return d.write(d.Defect) }

// corrected makes the bytes that the document's owner would send after being
// told what is wrong with it: the same content without the defect.
func (d Document) corrected() ([]byte, error) { return d.write(defectNone) }

func (d Document) write(defect Defect) ([]byte, error) {
	w := writer{rand.New(rand.NewPCG(d.Seed, 1))}
	switch d.Source {
	case sourceLeases:
		return w.lease(d, defect)
	case sourceChangeOrders:
		return w.changeOrder(d, defect)
	case sourceRentRolls:
		return w.rentRoll(d, defect)
	case sourceSubmittals:
		return w.submittal(defect)
	}
	return nil, fmt.Errorf("no documents can be made for source %q", d.Source)
}

// writer draws the content of one document from its seed. Every draw is made
// whatever the defect, so that a correction changes nothing else.
type writer struct{ rng *rand.Rand }

func (w writer) pick(from []string) string { return from[w.rng.IntN(len(from))] }

func (w writer) money(from, to int) Money { return Money(from*100 + w.rng.IntN((to-from)*100)) }

func (w writer) day(year int) time.Time {
	return time.Date(year, time.Month(1+w.rng.IntN(12)), 1, 0, 0, 0, 0, time.UTC)
}

var (
	tenants = []string{"Harbour Street Bakery", "Northgate Dental", "Ostrava Textiles", "Blue Kiln Ceramics", "Linden Books", "Meridian Freight",
		"Quarry Lane Fitness", "Tallow & Wick", "Saltmarsh Seafood", "Copperfield Optics", "Juniper Pharmacy", "Halden Cycles"}
	landlords = []string{"Quayside Property Trust", "Elm Court Holdings", "Ferry Road Estates"}
	premises  = []string{"Unit 4, 18 Ferry Road", "Ground floor, 2 Elm Court", "Suite 310, Quayside Tower", "Warehouse B, Dock Lane 7", "Shop 12, Arcade North"}
	projects  = []string{"P-204 North Quay", "P-117 Elm Court refit", "P-351 Ferry terminal", "P-288 Dock Lane sheds"}
	works     = []string{"Additional drainage, gully and connection", "Fire stopping at risers", "Reroute of cable tray, level 3", "Screed repair, loading bay",
		"Acoustic lining, plant room", "Temporary propping, grid C4", "Replacement of damaged cladding", "Extra sockets, tenant fit-out"}
	products = []string{"Façade anchor, stainless", "Curtain wall gasket", "Door closer, concealed", "Fußbodenheizung manifold", "Bâti-support frame", "Sprinkler head, recessed",
		"Ceiling tile, mineral", "Überspannungsschutz module"}
	makers = []string{"Köhler Bau", "Société Lumière", "Brask Metal", "Peña Hidráulica", "Alder & Sons"}
)

func (w writer) lease(d Document, defect Defect) ([]byte, error) {
	start := w.day(2016 + w.rng.IntN(9))
	end := start.AddDate(5+w.rng.IntN(10), 0, -1)
	rent := w.money(2_400, 38_000)
	if defect == DefectTerm || defect == DefectTrailerAndTerm {
		end = start.AddDate(-1, 0, -1)
	}
	lines := []string{
		"LEASE ABSTRACT",
		"Lease no.: " + d.ID,
		"Landlord: " + w.pick(landlords),
		"Tenant: " + w.pick(tenants),
		"Premises: " + w.pick(premises),
		"Term: " + start.Format(time.DateOnly) + " to " + end.Format(time.DateOnly),
		"Monthly base rent: USD " + rent.in("en"),
		"Security deposit: USD " + (rent * 3).in("en"),
		"Permitted use: as per schedule 2 (and no other)",
		"Escalation: 3 percent at each anniversary of commencement",
	}
	pixels := make([]byte, 64*82)
	for i := range pixels {
		pixels[i] = byte(176 + w.rng.IntN(80))
	}
	legible := [][]int{{1, 4, 5}, {1, 4, 5}, {2, 3}, {1, 4, 5}, {3, 5}, {1, 6}}[w.rng.IntN(6)]
	switch defect {
	case DefectScan:
		var read []string
		for _, n := range legible {
			read = append(read, lines[n])
		}
		return writeScannedPDF(pixels, 64, 82, read), nil
	case DefectTrailer, DefectTrailerAndTerm:
		return dropTrailerRoot(writePDF(lines)), nil
	case DefectEncrypted:
		return encryptPDF(writePDF(lines), "known-to-the-tenant-only")
	}
	return writePDF(lines), nil
}

func (w writer) changeOrder(d Document, defect Defect) ([]byte, error) {
	file := changeOrderFile{Number: d.ID, Project: w.pick(projects), Contract: fmt.Sprintf("C-%05d", 80_000+w.rng.IntN(9_999)),
		Issued: d.First.AddDate(0, 0, -1).Format(time.DateOnly), Currency: "USD", Locale: "en-US"}
	if defect == DefectDecimalComma || (defect == defectNone && d.Defect == DefectDecimalComma) {
		file.Currency = "EUR"
	}
	if defect == DefectDecimalComma {
		file.Locale = "de-DE"
	}
	var sum Money
	line := func(no string) changeOrderLine {
		amount := w.money(1_100, 64_000)
		sum += amount
		return changeOrderLine{No: no, Description: w.pick(works), Quantity: fmt.Sprint(1 + w.rng.IntN(40)), Unit: w.pick([]string{"m2", "m", "pcs", "h"}), Amount: amount.in(file.Locale)}
	}
	for i := range 2 + w.rng.IntN(4) {
		file.Lines = append(file.Lines, line(fmt.Sprint(i+1)))
	}
	group := changeOrderLine{No: "9", Description: "Provisional works", Lines: []changeOrderLine{line("9.1"), line("9.2")}}
	deep := changeOrderLine{No: "9.3", Description: "Electrical", Lines: []changeOrderLine{line("9.3.1"),
		{No: "9.3.2", Description: "Lighting", Lines: []changeOrderLine{line("9.3.2.1"), line("9.3.2.2")}}}}
	if defect == defectNone && d.Defect == DefectNestedGroups {
		deep.Lines = append(deep.Lines[:1], deep.Lines[1].Lines...) // the owner flattens the innermost group
	}
	if d.Defect == DefectNestedGroups {
		group.Lines = append(group.Lines, deep)
	} else {
		sum = sumOf(file, group)
	}
	file.Lines = append(file.Lines, group)
	file.Total = sum.in(file.Locale)
	if defect == DefectTotal {
		file.Total = (sum + w.money(10, 900)).in(file.Locale)
	}
	out, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write change order %s: %w", d.ID, err)
	}
	return append(out, '\n'), nil
}

// sumOf adds up what a file and a group really hold, after draws that were made
// and left out.
func sumOf(file changeOrderFile, group changeOrderLine) Money {
	var sum Money
	for _, line := range append(append([]changeOrderLine(nil), file.Lines...), group.Lines...) {
		m, err := localeDecimals(line.Amount, file.Locale)
		if err == nil {
			sum += m
		}
	}
	return sum
}

func (w writer) rentRoll(d Document, defect Defect) ([]byte, error) {
	book := excelize.NewFile()
	defer book.Close()
	if err := book.SetSheetName("Sheet1", rentRollSheet); err != nil {
		return nil, fmt.Errorf("write rent roll %s: %w", d.ID, err)
	}
	rows := [][]any{{"Unit", "Tenant", "Area m2", "Monthly rent", "Since"}}
	count := 8 + w.rng.IntN(24)
	typed := 1 + w.rng.IntN(count) // the row whose rent somebody typed over
	for i := 1; i <= count; i++ {
		rent := w.money(1_050, 9_800)
		var cell any = float64(rent) / 100
		if i == typed && defect == DefectTextNumber {
			cell = strings.ReplaceAll(rent.in("de"), ".", " ")
		}
		rows = append(rows, []any{fmt.Sprintf("%d.%02d", 1+i/10, i%10), w.pick(tenants), 40 + w.rng.IntN(400), cell, w.day(2018 + w.rng.IntN(7)).Format(time.DateOnly)})
	}
	for i, row := range rows {
		if err := book.SetSheetRow(rentRollSheet, fmt.Sprintf("A%d", i+1), &row); err != nil {
			return nil, fmt.Errorf("write rent roll %s: %w", d.ID, err)
		}
	}
	out, err := book.WriteToBuffer()
	if err != nil {
		return nil, fmt.Errorf("write rent roll %s: %w", d.ID, err)
	}
	if defect == DefectTruncated {
		return out.Bytes()[:out.Len()*2/3], nil // an upload that broke off
	}
	if defect == DefectLastColumn {
		return markLastColumn(out.Bytes(), markedRows)
	}
	return out.Bytes(), nil
}

func (w writer) submittal(defect Defect) ([]byte, error) {
	heading := submittalColumns
	var rows [][]string
	count := 5 + w.rng.IntN(14)
	wrong := w.rng.IntN(count)
	for i := range count {
		quantity := 1 + w.rng.IntN(600)
		if i == wrong && defect == DefectNegative {
			quantity = -quantity
		}
		row := []string{fmt.Sprintf("%d", 100+i), w.pick(products), fmt.Sprintf("%02d %02d 00", 5+w.rng.IntN(28), w.rng.IntN(9)), fmt.Sprint(quantity), w.pick(makers), "for approval"}
		if i == wrong && defect == DefectOverWindow {
			row[5] = strings.TrimSpace(strings.Repeat("the manufacturer's installation guide is quoted here in full instead of being attached ", 48))
		}
		if i == 0 {
			row[1], row[4] = products[0], makers[0] // at least one letter outside ASCII
		}
		rows = append(rows, row)
	}
	if defect == DefectMissingColumn {
		heading = append(append([]string(nil), heading[:3]...), heading[4:]...)
		for i, row := range rows {
			rows[i] = append(append([]string(nil), row[:3]...), row[4:]...)
		}
	}
	var out bytes.Buffer
	table := csv.NewWriter(&out)
	if err := table.WriteAll(append([][]string{heading}, rows...)); err != nil {
		return nil, fmt.Errorf("write a register of submittals: %w", err)
	}
	if defect == DefectWindows1252 {
		return charmap.Windows1252.NewEncoder().Bytes(out.Bytes())
	}
	return out.Bytes(), nil
}
