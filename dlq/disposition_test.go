package dlq

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

var decidedAt = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestADispositionLastsUntilWhatWasSaid(t *testing.T) {
	tomorrow := decidedAt.AddDate(0, 0, 1)
	on := func(u Until) Decided {
		return Decided{Disposition: DispositionNeedsCode, Until: u, Date: tomorrow, OpenThen: 10, At: decidedAt}
	}
	for _, c := range []struct {
		name  string
		d     Decided
		since SinceDecided
		want  EndOfDisposition
	}{
		{"nothing came", on(UntilTakenOff), SinceDecided{Now: decidedAt}, ""},
		{"a person alone ends it", on(UntilTakenOff), SinceDecided{Now: tomorrow.AddDate(1, 0, 0), Document: ReadingChanged, CodeRuns: true, OpenNow: 1000}, ""},
		{"the document changed", on(UntilDocument), SinceDecided{Document: ReadingChanged}, EndedDocument},
		{"the document may have changed", on(UntilDocument), SinceDecided{Document: ReadingMaybeChanged}, ""},
		{"nobody knows of the document", on(UntilDocument), SinceDecided{Document: ReadingUnknown}, ""},
		{"the same document failed again", on(UntilDocument), SinceDecided{Document: ReadingUnchanged, CodeRuns: true, OpenNow: 99}, ""},
		{"other code runs", on(UntilCode), SinceDecided{CodeRuns: true}, EndedCode},
		{"the document changed while it waits for code", on(UntilCode), SinceDecided{Document: ReadingChanged}, ""},
		{"a moment before the date", on(UntilDate), SinceDecided{Now: tomorrow.Add(-time.Millisecond)}, ""},
		{"the date", on(UntilDate), SinceDecided{Now: tomorrow}, EndedDate},
		{"one less than the double", on(UntilDoubles), SinceDecided{OpenNow: 19}, ""},
		{"the double", on(UntilDoubles), SinceDecided{OpenNow: 20}, EndedDoubled},
		{"the first of none", Decided{Until: UntilDoubles}, SinceDecided{OpenNow: 1}, ""},
		{"the second of none", Decided{Until: UntilDoubles}, SinceDecided{OpenNow: 2}, EndedDoubled},
		{"the document got through", on(UntilTakenOff), SinceDecided{Left: true}, EndedLeft},
	} {
		why, over := c.d.Over(c.since)
		if why != c.want || over != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, why, over)
		}
	}
}

func TestWhatIsAskedOfADispositionIsSound(t *testing.T) {
	soon := decidedAt.Add(time.Hour)
	for _, c := range []struct {
		name     string
		ask      NewDisposition
		pointers string
		until    Until
	}{
		{"the least", NewDisposition{Disposition: DispositionAcceptedLoss}, "", ""},
		{"a date says what it lasts until", NewDisposition{Disposition: DispositionWaiting, Date: soon}, "", UntilDate},
		{"waiting for code", NewDisposition{Disposition: DispositionWaiting, Until: UntilCode}, "", UntilCode},
		{"waiting for nothing", NewDisposition{Disposition: DispositionWaiting}, "/until", ""},
		{"taking it off", NewDisposition{Until: UntilDate}, "", ""},
		{"an unknown one", NewDisposition{Disposition: "later"}, "/disposition", ""},
		{"an unknown end", NewDisposition{Disposition: DispositionNeedsCode, Until: "never"}, "/until", "never"},
		{"no date", NewDisposition{Disposition: DispositionNeedsCode, Until: UntilDate}, "/date", UntilDate},
		{"a date that is over", NewDisposition{Disposition: DispositionNeedsCode, Date: decidedAt}, "/date", UntilDate},
		{"a date nobody lives to see", NewDisposition{Disposition: DispositionNeedsCode, Date: decidedAt.AddDate(11, 0, 0)}, "/date", UntilDate},
		{"a date beside another end", NewDisposition{Disposition: DispositionNeedsCode, Until: UntilCode, Date: soon}, "/date", UntilCode},
		{"every fault", NewDisposition{Disposition: "x", Until: "y", Reason: strings.Repeat("é", 2001)}, "/reason /disposition /until", "y"},
		{"NUL", NewDisposition{Disposition: DispositionNeedsRule, Reason: "a\x00"}, "/reason", ""},
		{"no text", NewDisposition{Disposition: DispositionNeedsRule, Reason: "\xff"}, "/reason", ""},
	} {
		got, err := c.ask.Check(decidedAt)
		var pointers []string
		var e *Error
		if errors.As(err, &e) {
			for _, f := range e.Faults {
				pointers = append(pointers, f.Pointer)
			}
		}
		if strings.Join(pointers, " ") != c.pointers || got.Until != c.until {
			t.Errorf("%s: %v, until %q", c.name, pointers, got.Until)
		}
	}
}

func TestDispositionsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Disposition{"needs code": DispositionNeedsCode, "needs_rule": DispositionNeedsRule, " Waiting until ": DispositionWaiting, "waiting": DispositionWaiting, "": DispositionNone, "accepted loss": DispositionAcceptedLoss} {
		if got := ParseDisposition(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if !slices.ContainsFunc(Dispositions, Disposition.Valid) || Disposition("later").Valid() || DispositionNone.Valid() {
		t.Error("what is valid is not what is listed")
	}
}

func TestOtherCodeIsWhatNoneOfThemFailedUnder(t *testing.T) {
	under := []Versions{{"parser": "pdf@1", "connector": "c@1"}, {"parser": "pdf@2"}}
	for _, c := range []struct {
		component, version string
		want               bool
	}{
		{"parser", "pdf@3", true}, {"parser", "pdf@2", false}, {"parser", "pdf@1", false},
		{"connector", "c@0", true}, {"connector", "c@1", false}, {"embedder", "e@1", false},
	} {
		if got := OtherCode(under, c.component, c.version); got != c.want {
			t.Errorf("%s %s: %v", c.component, c.version, got)
		}
	}
	if OtherCode(nil, "parser", "pdf@3") {
		t.Error("of no failure, nothing is other code")
	}
}

func TestADocumentIsComparedByItsStrongestEvidence(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	for _, c := range []struct {
		name          string
		before, after Attempt
		want          Reading
	}{
		{"digests differ", Attempt{PayloadSHA256: a, SourceVersion: `"1"`}, Attempt{PayloadSHA256: b, SourceVersion: `"1"`}, ReadingChanged},
		{"digests agree", Attempt{PayloadSHA256: a, SourceVersion: `"1"`}, Attempt{PayloadSHA256: a, SourceVersion: `"2"`}, ReadingUnchanged},
		{"tags differ", Attempt{SourceVersion: `"1"`}, Attempt{SourceVersion: `"2"`}, ReadingChanged},
		{"tags agree", Attempt{SourceVersion: `"1"`}, Attempt{SourceVersion: `"1"`}, ReadingUnchanged},
		{"times differ", Attempt{SourceUpdatedAt: decidedAt}, Attempt{SourceUpdatedAt: decidedAt.Add(time.Hour)}, ReadingMaybeChanged},
		{"nothing is known", Attempt{}, Attempt{PayloadSHA256: a}, ReadingUnknown},
	} {
		if got := DocumentSince("any", c.before, c.after); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
