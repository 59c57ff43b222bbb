package dlq

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Disposition is what was decided of an entry or a cohort without acting on it.
// It never hides anything from depth or a list: it takes it off what needs a
// decision, for as long as it lasts.
type Disposition string

// The dispositions. DispositionNone is the absence of one.
const (
	DispositionNone         Disposition = ""
	DispositionNeedsCode    Disposition = "needs_code"    // the code has to change
	DispositionNeedsSource  Disposition = "needs_source"  // the document has to change where it comes from
	DispositionNeedsRule    Disposition = "needs_rule"    // a rule of validation has to change
	DispositionWaiting      Disposition = "waiting"       // until something, a date first of all
	DispositionAcceptedLoss Disposition = "accepted_loss" // nobody will do anything
)

// Dispositions lists every disposition in the order in which screens offer them.
var Dispositions = []Disposition{DispositionNeedsCode, DispositionNeedsSource, DispositionNeedsRule, DispositionWaiting, DispositionAcceptedLoss}

// Valid says whether the disposition is one of Dispositions.
func (d Disposition) Valid() bool { return slices.Contains(Dispositions, d) }

// ParseDisposition reads a disposition as people and programs write it: blanks
// stand for underscores, and "waiting until" is waiting.
func ParseDisposition(s string) Disposition {
	d := Disposition(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "_"))
	if d == "waiting_until" {
		return DispositionWaiting
	}
	return d
}

// Until says what ends a disposition by itself.
type Until string

// What a disposition may last until.
const (
	UntilTakenOff Until = ""         // nothing but a person
	UntilDocument Until = "document" // the document changes
	UntilCode     Until = "code"     // other code runs than the one that failed
	UntilDate     Until = "date"     // a moment
	UntilDoubles  Until = "doubles"  // the cohort's open documents are twice as many
)

// Untils lists every Until in the order in which screens offer them.
var Untils = []Until{UntilTakenOff, UntilDocument, UntilCode, UntilDate, UntilDoubles}

// EndOfDisposition says why one ended.
type EndOfDisposition string

// Why a disposition ends.
const (
	EndedDocument EndOfDisposition = "document" // the document changed
	EndedCode     EndOfDisposition = "code"     // other code runs
	EndedDate     EndOfDisposition = "date"     // its time came
	EndedDoubled  EndOfDisposition = "doubled"  // twice as many documents as then
	EndedLeft     EndOfDisposition = "left"     // the document was resolved or erased
	EndedByHand   EndOfDisposition = "by_hand"  // somebody took it off
	EndedReplaced EndOfDisposition = "replaced" // somebody decided otherwise
)

// Decided is a disposition as it stands on an entry or a cohort.
type Decided struct {
	Disposition Disposition
	Until       Until
	Date        time.Time // of UntilDate
	OpenThen    int64     // open documents of the cohort when it was decided
	At          time.Time
	By          string // what people read: an e-mail address, a token's name
	Reason      string // as it was typed; may be empty
}

// NewDisposition is what somebody asks to be decided. An empty Disposition
// takes off what stands.
type NewDisposition struct {
	Disposition Disposition
	Until       Until
	Date        time.Time
	Reason      string
}

const (
	dispositionDaysMost   = 3650
	dispositionReasonMost = 2000 // characters
)

// Check settles what is left open and names every fault. A date alone says what
// it lasts until; waiting has to be for something.
func (n NewDisposition) Check(now time.Time) (NewDisposition, error) {
	var faults []Fault
	if utf8.RuneCountInString(n.Reason) > dispositionReasonMost {
		faults = append(faults, Fault{"/reason", "at most 2000 characters expected"})
	}
	if !utf8.ValidString(n.Reason) || strings.ContainsRune(n.Reason, 0) {
		faults = append(faults, Fault{"/reason", "text in UTF-8 without NUL expected"})
	}
	if n.Disposition == DispositionNone {
		n.Until, n.Date = UntilTakenOff, time.Time{}
		return n, dispositionError(faults)
	}
	if !n.Disposition.Valid() {
		faults = append(faults, Fault{"/disposition", "one of needs_code, needs_source, needs_rule, waiting, accepted_loss expected, or an empty text to take it off"})
	}
	if n.Until == UntilTakenOff && !n.Date.IsZero() {
		n.Until = UntilDate
	}
	switch {
	case !slices.Contains(Untils, n.Until):
		faults = append(faults, Fault{"/until", "one of document, code, date, doubles expected, or an empty text"})
	case n.Until == UntilDate && n.Date.IsZero():
		faults = append(faults, Fault{"/date", "a date expected, such as 2026-12-24"})
	case n.Until == UntilDate && !n.Date.After(now):
		faults = append(faults, Fault{"/date", "a date that is still to come expected"})
	case n.Until == UntilDate && n.Date.After(now.AddDate(0, 0, dispositionDaysMost)):
		faults = append(faults, Fault{"/date", "a date within ten years expected"})
	case n.Until != UntilDate && !n.Date.IsZero():
		faults = append(faults, Fault{"/date", "no date expected, because it lasts until something else"})
	case n.Disposition == DispositionWaiting && n.Until == UntilTakenOff:
		faults = append(faults, Fault{"/until", "what it waits for expected: a date, document, code or doubles"})
	}
	return n, dispositionError(faults)
}

func dispositionError(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return Invalid("the disposition was not understood; nothing was changed", faults...)
}

// Same says whether what is asked for stands already.
func (n NewDisposition) Same(d Decided) bool {
	return n.Disposition == d.Disposition && n.Until == d.Until && n.Date.Equal(d.Date) && n.Reason == d.Reason
}

// SinceDecided is what came to be since a disposition was decided.
type SinceDecided struct {
	Now      time.Time
	Document Reading // of the bytes, between the evidence before and the newest
	CodeRuns bool    // code runs that is none of what failed
	OpenNow  int64   // open documents of the cohort
	Left     bool    // the document was resolved or erased
}

// Over says whether a disposition is over, and why. A document that may have
// changed does not end one: some tags move by themselves, and each arrival would.
func (d Decided) Over(s SinceDecided) (EndOfDisposition, bool) {
	switch {
	case s.Left:
		return EndedLeft, true
	case d.Until == UntilDocument && s.Document == ReadingChanged:
		return EndedDocument, true
	case d.Until == UntilCode && s.CodeRuns:
		return EndedCode, true
	case d.Until == UntilDate && !s.Now.Before(d.Date):
		return EndedDate, true
	case d.Until == UntilDoubles && s.OpenNow >= DoubleOf(d.OpenThen):
		return EndedDoubled, true
	}
	return "", false
}

// DoubleOf is the number of open documents that ends what lasts until they
// double. Of none, the double is two: the first that comes back is no flood.
func DoubleOf(open int64) int64 { return 2 * max(open, 1) }

// OtherCode says whether a version that began to run is other code for failures
// under the given sets of versions: one of them names the component, and none
// names this version of it. A rollback is other code too.
func OtherCode(failedUnder []Versions, component, version string) bool {
	named := false
	for _, v := range failedUnder {
		switch have, ok := v[component]; {
		case ok && have == version:
			return false
		case ok:
			named = true
		}
	}
	return named
}

// DocumentSince reads whether a document changed between two attempts of it.
func DocumentSince(kind string, before, after Attempt) Reading {
	return CompareBytes(kind, before.validators(), after.validators()).Bytes
}

func (a Attempt) validators() Validators {
	v := Validators{ETag: a.SourceVersion, SHA256: a.PayloadSHA256}
	if !a.SourceUpdatedAt.IsZero() {
		v.LastModified = a.SourceUpdatedAt.UTC().Format(time.RFC3339)
	}
	return v
}
