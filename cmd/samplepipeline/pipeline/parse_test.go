package pipeline

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

var fixedNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// attempt parses and chunks the bytes, as an ordinary attempt does.
func attempt(p *parser, source string, raw []byte) error {
	rec, err := p.parse(source, raw)
	if err != nil {
		return err
	}
	_, err = chunks(rec.Text)
	return err
}

func TestEachDefectFailsAsDesigned(t *testing.T) {
	type want struct {
		reason dlq.Reason
		class  dlq.FailureClass
		typ    string
		stage  string
		newer  string // the type under the newer parser, "" if it passes
		trace  string // a function of the stack, "" if there is no trace
		broken string // the rule that did not pass, "" if there are no rules
	}
	wants := map[Defect]want{
		DefectTrailer:        {dlq.ReasonException, dlq.ClassAmbiguousParse, "pipeline.DamagedPDFError", "parse", "", "pipeline.(*parser).openPDF", ""},
		DefectTrailerAndTerm: {dlq.ReasonException, dlq.ClassAmbiguousParse, "pipeline.DamagedPDFError", "parse", "pipeline.RuleError", "pipeline.(*parser).openPDF", ""},
		DefectEncrypted:      {dlq.ReasonException, dlq.ClassPermanentInput, "pipeline.EncryptedPDFError", "parse", "pipeline.EncryptedPDFError", "pipeline.(*parser).openPDF", ""},
		DefectTerm:           {dlq.ReasonValidation, dlq.ClassPermanentInput, "pipeline.RuleError", "validate", "pipeline.RuleError", "", "term_ends_after_start"},
		DefectScan:           {dlq.ReasonLowConfidence, "", "pipeline.LowConfidenceError", "extract", "pipeline.LowConfidenceError", "", ""},
		DefectDecimalComma:   {dlq.ReasonValidation, dlq.ClassAmbiguousParse, "pipeline.AmountError", "map", "", "pipeline.(*parser).amountAt", "amount_format"},
		DefectNestedGroups:   {dlq.ReasonException, dlq.ClassAmbiguousParse, "runtime.boundsError", "parse", "", "pipeline.addGroups", ""},
		DefectTotal:          {dlq.ReasonValidation, dlq.ClassPermanentInput, "pipeline.RuleError", "validate", "pipeline.RuleError", "", "total_is_sum_of_lines"},
		DefectTextNumber:     {dlq.ReasonException, dlq.ClassAmbiguousParse, "strconv.NumError", "map", "", "pipeline.(*parser).rentCell", ""},
		DefectTruncated:      {dlq.ReasonException, dlq.ClassPermanentInput, "pipeline.WorkbookError", "parse", "pipeline.WorkbookError", "pipeline.openWorkbook", ""},
		DefectWindows1252:    {dlq.ReasonException, dlq.ClassAmbiguousParse, "pipeline.CharsetError", "decode", "", "pipeline.(*parser).decode", ""},
		DefectMissingColumn:  {dlq.ReasonValidation, dlq.ClassPermanentInput, "pipeline.RuleError", "validate", "pipeline.RuleError", "", "column_required"},
		DefectNegative:       {dlq.ReasonValidation, dlq.ClassPermanentInput, "pipeline.RuleError", "validate", "pipeline.RuleError", "", "quantity_not_negative"},
		DefectOverWindow:     {dlq.ReasonException, dlq.ClassDownstreamContract, "pipeline.WindowError", "chunk", "pipeline.WindowError", "pipeline.chunks", ""},
	}
	seen := map[Defect]bool{}
	for _, doc := range planDocuments(1, fixedNow) {
		seen[doc.Defect] = true
		raw, err := doc.content()
		if err != nil {
			t.Fatal(err)
		}
		failed, newer := attempt(oldParser(), doc.Source, raw), attempt(newParser(), doc.Source, raw)
		if doc.Defect == defectNone {
			if failed != nil || newer != nil {
				t.Errorf("%s is a good document and failed: old parser %v, new parser %v", doc.ID, failed, newer)
			}
			continue
		}
		if doc.Defect == DefectLastColumn {
			if failed != nil || newer != nil {
				t.Errorf("%s: where there is memory enough it passes, and failed: %v, %v", doc.ID, failed, newer)
			}
			continue // what it does to a worker is in worker_test.go
		}
		w, known := wants[doc.Defect]
		if !known || failed == nil {
			t.Errorf("%s (%s): want a known defect that fails, got error %v", doc.ID, doc.Defect, failed)
			continue
		}
		f := describe(failed)
		if f.Reason != w.reason || f.Class != w.class || f.Type != w.typ || f.Stage != w.stage {
			t.Errorf("%s (%s) under the old parser: got %s, class %q, type %s, stage %s; want %s, %q, %s, %s", doc.ID, doc.Defect, f.Reason, f.Class, f.Type, f.Stage, w.reason, w.class, w.typ, w.stage)
		}
		if !strings.Contains(f.Trace, w.trace+"(") && !strings.Contains(f.Trace, w.trace+"\n\t") && w.trace != "" || (w.trace == "") != (f.Trace == "") {
			t.Errorf("%s (%s): the trace should show %q:\n%s", doc.ID, doc.Defect, w.trace, f.Trace)
		}
		if got := firstBroken(f.Rules); got != w.broken {
			t.Errorf("%s (%s): rule %q broke, want %q", doc.ID, doc.Defect, got, w.broken)
		}
		got := ""
		if newer != nil {
			got = describe(newer).Type
		}
		if got != w.newer {
			t.Errorf("%s (%s) under the new parser: got %q, want %q (%v)", doc.ID, doc.Defect, got, w.newer, newer)
		}
	}
	for defect := range wants {
		if !seen[defect] {
			t.Errorf("no document has the defect %q", defect)
		}
	}
}

// place is what tells defects apart: the type, the three functions nearest the
// raise point, and the rules that broke.
func place(f failure) string {
	functions := []string{f.Type}
	trace := f.Trace
	if i := strings.LastIndex(trace, "\npanic("); i >= 0 {
		trace = trace[i+1:]
		trace = trace[strings.Index(trace, "\n"):]
	}
	for _, line := range strings.Split(trace, "\n") {
		if name, isFrame := strings.CutPrefix(line, "dlo/"); isFrame && len(functions) < 4 {
			if i := strings.LastIndex(name, "("); i > strings.LastIndex(name, ".") {
				name = name[:i]
			}
			functions = append(functions, name)
		}
	}
	var broken []string
	for _, r := range f.Rules {
		if !r.Passed {
			broken = append(broken, r.Rule)
		}
	}
	slices.Sort(broken)
	return strings.Join(append(functions, slices.Compact(broken)...), " ")
}

func TestEachDefectFailsInOnePlaceOfItsOwnWhateverTheParser(t *testing.T) {
	places, owners := map[Defect]string{}, map[string]Defect{}
	for _, doc := range planDocuments(1, fixedNow) {
		if doc.Defect == defectNone || doc.Defect == DefectTrailerAndTerm { // two defects in one
			continue
		}
		raw, err := doc.content()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*parser{oldParser(), newParser()} {
			err := attempt(p, doc.Source, raw)
			if err == nil {
				continue
			}
			at := place(describe(err))
			if was, ok := places[doc.Defect]; ok && was != at {
				t.Errorf("%s (%s) fails at %q under the %s parser, others at %q", doc.ID, doc.Defect, at, p.name, was)
			}
			if owner, ok := owners[at]; ok && owner != doc.Defect {
				t.Errorf("%q and %q both fail at %q", owner, doc.Defect, at)
			}
			places[doc.Defect], owners[at] = at, doc.Defect
		}
	}
	if len(places) != 13 {
		t.Errorf("%d defects have a place, want 13: %v", len(places), places)
	}
}

func TestEveryCorrectedDocumentPassesBothParsers(t *testing.T) {
	for _, doc := range planDocuments(2, fixedNow) {
		raw, err := doc.corrected()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*parser{oldParser(), newParser()} {
			if err := attempt(p, doc.Source, raw); err != nil {
				t.Errorf("%s (%s), corrected, under the %s parser: %v", doc.ID, doc.Defect, p.name, err)
			}
		}
	}
}

func TestDocumentsAreTheSameFromTheSameSeed(t *testing.T) {
	first, second := planDocuments(7, fixedNow), planDocuments(7, fixedNow)
	for i := range first {
		if first[i].Defect == DefectEncrypted {
			continue // the cipher draws its own random numbers
		}
		a, errA := first[i].content()
		b, errB := second[i].content()
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs between two makings (%v, %v)", first[i].ID, errA, errB)
		}
	}
}

func TestTheWorldIsLargeAndVaried(t *testing.T) {
	failing, good := 0, 0
	defects, sources := map[Defect]int{}, map[string]bool{}
	for _, doc := range planDocuments(1, fixedNow) {
		sources[doc.Source] = true
		if doc.Defect == defectNone {
			good++
			continue
		}
		failing++
		defects[doc.Defect]++
		if doc.Last.Before(doc.First) || doc.Last.After(fixedNow) {
			t.Errorf("%s: last seen %s is not between %s and now", doc.ID, doc.Last, doc.First)
		}
	}
	if failing < 120 || good < 80 || len(defects) < 6 || len(sources) < 4 {
		t.Errorf("%d failing documents with %d defects, %d good ones, %d sources; want at least 120, 6, 80, 4", failing, len(defects), good, len(sources))
	}
}

func firstBroken(rules []Rule) string {
	for _, r := range rules {
		if !r.Passed {
			return r.Rule
		}
	}
	return ""
}

// A replay calls what the first attempt calls, from elsewhere. The three
// functions nearest the raise point must be of what they share, else a defect has
// two fingerprints.
func TestAReplayFailsInThePlaceOfTheFirstAttempt(t *testing.T) {
	first := func(g given) processed { return oldParser().process(g) }
	replay := func(g given) processed { return oldParser().process(g) }
	for _, doc := range planDocuments(1, fixedNow) {
		raw, err := doc.content()
		if err != nil {
			t.Fatal(err)
		}
		if doc.Defect == DefectLastColumn {
			continue // it kills its worker, and leaves no trace
		}
		g := given{source: doc.Source, id: doc.ID, bytes: raw}
		a, b := first(g).err, replay(g).err
		if (a == nil) != (doc.Defect == defectNone) || (b == nil) != (a == nil) {
			t.Fatalf("%s (%s): %v, then %v", doc.ID, doc.Defect, a, b)
		}
		if a != nil && place(describe(a)) != place(describe(b)) {
			t.Errorf("%s (%s) fails first in %s, then in %s", doc.ID, doc.Defect, place(describe(a)), place(describe(b)))
		}
	}
}
