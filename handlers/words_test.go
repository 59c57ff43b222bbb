package handlers

import (
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/views/components"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func TestNumbersHaveSeparators(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -12: "-12", -123: "-123", -1234: "-1,234"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
	if got := documents(1) + ", " + documents(2842); got != "1 document, 2,842 documents" {
		t.Errorf("got %q", got)
	}
}

func TestSpansAreRoundedDown(t *testing.T) {
	const d = 24 * time.Hour
	for span_, want := range map[time.Duration]string{
		59 * time.Second: "now", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min", time.Hour: "1 h", 47 * time.Hour: "47 h", 2*d - 1: "47 h", 2 * d: "2 d", 3*d - 1: "2 d", 94 * d: "94 d", 1200 * d: "1,200 d",
	} {
		if got := span(span_); got != want {
			t.Errorf("span(%s) = %q, want %q", span_, got, want)
		}
	}
	if got := until(noon, noon.Add(-time.Hour)); got != "due now" {
		t.Errorf("what is overdue leaves %q", got)
	}
	if got := ago(noon, noon.Add(-3*d)); got != "3 d ago" {
		t.Errorf("got %q", got)
	}
}

func TestSizesHaveOneDecimal(t *testing.T) {
	for n, want := range map[int64]string{-1: "size not known", 0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 4_500_000: "4.5 MB", 999_999: "1.0 MB", 5_000_000_000_000: "5.0 TB"} {
		if got := byteSize(n); got != want {
			t.Errorf("byteSize(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestMomentsSayTheirZone(t *testing.T) {
	at := time.Date(2026, 11, 29, 10, 44, 5, 0, time.FixedZone("", 3600))
	want := components.Time{ISO: "2026-11-29T09:44:05Z", UTC: "29 Nov 2026 09:44 UTC", Short: "29 Nov 09:44"}
	if got := moment(at); got != want {
		t.Errorf("moment = %+v, want %+v", got, want)
	}
	if got := day(at); got.Short != "29 Nov 2026" || !got.Keep {
		t.Errorf("day = %+v", got)
	}
	if !moment(time.Time{}).Zero() || !day(time.Time{}).Zero() {
		t.Error("no moment is shown as one")
	}
}

func TestHiddenCharactersBecomeChips(t *testing.T) {
	got := shown("Bad\u202efdp.exe")
	if len(got) != 3 || !got[1].Chip || got[1].Text != "U+202E" {
		t.Errorf("shown = %+v", got)
	}
	if line := shownLine("a\n\tb  c", 10).String(); line != "a b c" {
		t.Errorf("a line of a table has breaks: %q", line)
	}
	if line := shownLine(strings.Repeat("ü", 9), 4).String(); line != "üüüü…" {
		t.Errorf("cut in the middle of a character, or not at all: %q", line)
	}
}

func TestSentencesBeginAndEnd(t *testing.T) {
	for in, want := range map[string]string{"this is so": "This is so.", "Is it?": "Is it?", "ünique": "Ünique.", "": "", "intake@2 runs now": "intake@2 runs now."} {
		if got := sentence("%s", in); got != want {
			t.Errorf("sentence(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestANameIsNotMadeACapitalBySentences(t *testing.T) {
	if got := sentence("%s has no redrive target", verbatim("wiki")); got != "wiki has no redrive target." {
		t.Errorf("got %q", got)
	}
	if got := sentence("redrives of %s are paused", verbatim("wiki")); got != "Redrives of wiki are paused." {
		t.Errorf("got %q", got)
	}
}

func TestShortIDsKeepTheirAlgorithm(t *testing.T) {
	if got := shortID("f1:7f3a19c2d0e14b55aa01be9c33d2f470"); got != "f1:7f3a19c2d0" {
		t.Errorf("got %q", got)
	}
	if got := shortID("01K"); got != "01K" {
		t.Errorf("got %q", got)
	}
}

func TestConfirmAddressesCarryWhatWasSeen(t *testing.T) {
	got := confirmHref(dlq.OperationRedrive, "cohort:01K status:parked", 412, "/cohorts/01K")
	if want := "/confirm?action=redrive&back=%2Fcohorts%2F01K&expect=412&q=cohort%3A01K+status%3Aparked"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := confirmHref(dlq.OperationExtend, "q", -1, "/"); strings.Contains(got, "expect") {
		t.Errorf("a number that nobody saw is expected: %s", got)
	}
}

func TestEveryWordOfTheDomainIsSaidInWords(t *testing.T) {
	said := func(what, word string) {
		t.Helper()
		if word == "" || strings.Contains(word, "_") {
			t.Errorf("%s reads %q", what, word)
		}
	}
	for _, s := range dlq.Statuses {
		said(string(s), statusWords[s])
		if _, ok := statusTones[s]; !ok {
			t.Errorf("%s has no tone", s)
		}
	}
	for _, m := range []dlq.Mark{dlq.MarkReturned, dlq.MarkLate, dlq.MarkNoOutcome, dlq.MarkAssumed, dlq.MarkNotExhausted, dlq.MarkPresumed} {
		said(string(m), markWords[m][0])
		said(string(m), markWords[m][1])
	}
	for _, o := range []dlq.OutcomeResult{dlq.OutcomeCommitted, dlq.OutcomeSkipped, dlq.OutcomeSuperseded, dlq.OutcomeFailed, dlq.OutcomeUnattributed, dlq.OutcomeAssumed, dlq.OutcomeNoOutcome, dlq.OutcomeUndelivered, dlq.OutcomeCancelled} {
		said(string(o), outcomeWords[o])
	}
	for _, l := range []dlq.LeftOut{dlq.LeftQuarantined, dlq.LeftNoIdentity, dlq.LeftNoTarget, dlq.LeftNoPayload, dlq.LeftPayloadExpired, dlq.LeftPayloadCorrupt, dlq.LeftInFlight, dlq.LeftArchived, dlq.LeftResolved, dlq.LeftErased, dlq.LeftNotFound, dlq.LeftOnHold, dlq.LeftGoneAtSource, dlq.LeftCannotTellChanged, dlq.LeftState, dlq.LeftPastLimit} {
		if leftOutWords[l] == "" {
			t.Errorf("%s is not said", l)
		}
	}
	for _, k := range dlq.OperationKinds {
		said(string(k), actionWords[k])
	}
	for _, s := range []dlq.OperationState{dlq.OperationPreparing, dlq.OperationRunning, dlq.OperationPaused, dlq.OperationStopped, dlq.OperationCancelled, dlq.OperationDone} {
		said(string(s), operationStateTags[s].Text)
	}
	for _, s := range dlq.ItemStates {
		said(string(s), itemStateWords[s])
	}
	for _, c := range dlq.FailureClasses {
		said(string(c), classWords[c])
	}
	for _, r := range []dlq.Reading{dlq.ReadingUnchanged, dlq.ReadingChanged, dlq.ReadingMaybeChanged, dlq.ReadingGone, dlq.ReadingUnknown} {
		said(string(r), readingWords[r])
	}
}

func TestUnknownBytesAreNeverShownAsUnchanged(t *testing.T) {
	for _, e := range []dlq.Evidence{{}, {Bytes: dlq.ReadingUnknown, Grade: dlq.GradeNone}} {
		if got := bytesTag(e); got.Text != "cannot tell" || got.Tone != components.Quiet {
			t.Errorf("%+v reads %+v", e, got)
		}
	}
	if got := bytesTag(dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest}); got.Text != "unchanged · digest" || got.Tone != components.DocSame {
		t.Errorf("got %+v", got)
	}
	if got := bytesTag(dlq.Evidence{Bytes: dlq.ReadingMaybeChanged, Grade: dlq.GradeStrongETag}); got.Text != "maybe changed · strong tag" || got.Tone != components.DocChanged {
		t.Errorf("got %+v", got)
	}
}

func TestVerdictsReadAsTheirTable(t *testing.T) {
	same := dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest}
	replay := func(bytes dlq.Evidence, running dlq.Running, outcome dlq.OutcomeResult) dlq.Redrive {
		return dlq.Redrive{State: dlq.RedriveSettled, Bytes: bytes, FailedUnder: dlq.Versions{"parser": "1"}, Running: running, Outcome: outcome}
	}
	moved, unmoved := dlq.Running{"parser": {"2"}}, dlq.Running{"parser": {"1"}}
	other := replay(same, moved, dlq.OutcomeFailed)
	other.FailedCohort, other.OutcomeCohort = "A", "B"
	transient := replay(same, moved, dlq.OutcomeFailed)
	transient.OutcomeClass = dlq.ClassTransient
	flying := replay(same, moved, "")
	flying.State = dlq.RedriveDelivered
	for _, c := range []struct {
		name   string
		replay dlq.Redrive
		word   string
		counts string
	}{
		{"fixed", replay(same, moved, dlq.OutcomeCommitted), "New code fixed it", "counts for all like it"},
		{"fixed, version not reported", replay(same, nil, dlq.OutcomeCommitted), "Passes now; version not reported", "counts for all like it, presumed"},
		{"transient", replay(same, unmoved, dlq.OutcomeCommitted), "Passed, nothing changed", "counts toward looks transient"},
		{"new document", replay(dlq.Evidence{Bytes: dlq.ReadingChanged, Grade: dlq.GradeStrongETag}, unmoved, dlq.OutcomeCommitted), "New document passed", "counts for itself"},
		{"still broken", replay(same, moved, dlq.OutcomeFailed), "New code still fails", "counts against the fix"},
		{"still broken, version not reported", replay(same, nil, dlq.OutcomeFailed), "Still fails; version not reported", "counts against the fix, presumed"},
		{"unmoved", replay(same, unmoved, dlq.OutcomeFailed), "Failed again, nothing changed", "counts for nobody"},
		{"next defect", other, "Past this error, failed on another", "counts for itself"},
		{"another reason", transient, "Failed for another reason", "counts for itself"},
		{"changed and failed", replay(dlq.Evidence{Bytes: dlq.ReadingChanged, Grade: dlq.GradeDigest}, moved, dlq.OutcomeFailed), "Changed document still fails", "counts for itself"},
		{"not delivered", replay(same, moved, dlq.OutcomeUndelivered), "Not delivered", ""},
		{"in flight", flying, "In flight", ""},
	} {
		if got := verdictWord(c.replay); got != c.word {
			t.Errorf("%s: %q, want %q", c.name, got, c.word)
		}
		if got := countsFor(c.replay.Verdict()); got != c.counts {
			t.Errorf("%s: %q, want %q", c.name, got, c.counts)
		}
	}
}

func TestAMovedComponentStandsForItsSet(t *testing.T) {
	v := dlq.Versions{"connector": "wiki-connector@3", "parser": "pdf@1", "embedder": "e@1"}
	for _, c := range []struct {
		running dlq.Running
		want    string
	}{
		{nil, "pdf@1 +2"},
		{dlq.Running{"parser": {"pdf@1"}, "embedder": {"e@2"}}, "e@1 +2"},
		{dlq.Running{"parser": {"pdf@2"}, "embedder": {"e@2"}}, "pdf@1 +2"},
	} {
		if got := underWords(v, c.running).String(); got != c.want {
			t.Errorf("with %v: %q, want %q", c.running, got, c.want)
		}
	}
	if got := underWords(nil, nil).String(); got != "not reported" {
		t.Errorf("got %q", got)
	}
	if got := withComponent("parser", "20251230"); got != "parser 20251230" {
		t.Errorf("got %q", got)
	}
}

func TestADeadlineIsSevenDaysAway(t *testing.T) {
	e := dlq.Entry{Status: dlq.StatusParked, ExpiresAt: noon.Add(7*24*time.Hour - 1)}
	if got := leavesTag(e, noon); got.Text != "in 6 d" || got.Tone != components.Deadline {
		t.Errorf("got %+v", got)
	}
	e.ExpiresAt = noon.Add(18 * 24 * time.Hour)
	if got := leavesTag(e, noon); got.Text != "in 18 d" || got.Tone != components.Plain {
		t.Errorf("got %+v", got)
	}
	e.Status = dlq.StatusResolved
	if got := leavesTag(e, noon); got != (components.Tag{}) {
		t.Errorf("a resolved document leaves: %+v", got)
	}
}
