package dlq

import (
	"reflect"
	"strings"
	"testing"
)

// The table of verdicts, a row a line: bytes, code, outcome, verdict, and
// whether it is presumed. The first row that fits counts; "any" fits all.
const verdictTable = `
any         any      unattributed    unattributed        -
unchanged   moved    committed       fixed_by_code       -
unchanged   unknown  committed       fixed_by_code       presumed
unchanged   same     committed       transient           -
changed     moved    committed       undetermined        -
maybe       moved    committed       undetermined        -
changed     any      committed       fixed_at_source     -
maybe       any      committed       fixed_at_source     -
any         any      committed       inconclusive        -
any         any      failed-named    still_failing       -
unchanged   moved    failed-same     still_broken        -
unchanged   unknown  failed-same     still_broken        presumed
unchanged   same     failed-same     unmoved             -
unchanged   moved    failed-other    next_defect         -
unchanged   unknown  failed-other    next_defect         -
unchanged   same     failed-other    unstable            -
any         any      failed-same     still_failing       -
any         any      failed-other    still_failing       -
any         any      skipped         already_committed   -
any         any      superseded      superseded          -
any         any      assumed         unconfirmed         -
any         any      no_outcome      no_outcome          -
any         any      undelivered     none                -
any         any      cancelled       none                -`

var tableReadings = map[string]Reading{"unchanged": ReadingUnchanged, "changed": ReadingChanged, "maybe": ReadingMaybeChanged, "gone": ReadingGone, "unknown": ReadingUnknown}

func TestEveryCellOfTheTableOfVerdicts(t *testing.T) {
	type failure struct {
		column string
		other  bool
		class  FailureClass
		bare   bool
	}
	failures := []failure{
		{"failed-same", false, ClassAmbiguousParse, false}, {"failed-same", false, ClassResourceFatal, false}, {"failed-same", false, "", false},
		{"failed-other", true, ClassAmbiguousParse, false}, {"failed-other", true, ClassPermanentInput, false},
		{"failed-named", false, ClassTransient, false}, {"failed-named", true, ClassTransient, false}, {"failed-named", true, ClassResourceFatal, false}, {"failed-named", false, "", true},
	}
	n := 0
	for readingName, reading := range tableReadings {
		for _, code := range []Code{CodeMoved, CodeSame, CodeUnknown} {
			for _, outcome := range []OutcomeResult{OutcomeCommitted, OutcomeFailed, OutcomeSkipped, OutcomeSuperseded, OutcomeAssumed, OutcomeNoOutcome, OutcomeUnattributed, OutcomeUndelivered, OutcomeCancelled} {
				ways := []failure{{column: string(outcome)}}
				if outcome == OutcomeFailed {
					ways = failures
				}
				for _, way := range ways {
					for _, grade := range []Grade{GradeDigest, GradeStrongETag, GradeWeakETag, GradeLastModified} {
						q := VerdictQuestion{Bytes: Evidence{Bytes: reading, Grade: grade}, Code: code, Outcome: outcome, OtherCohort: way.other, Class: way.class, Unnamed: way.bare}
						name, presumed := expectedVerdict(readingName, code, way.column)
						rests := name == VerdictFixedByCode || name == VerdictTransient || name == VerdictStillBroken || name == VerdictUnmoved || name == VerdictNextDefect || name == VerdictUnstable
						presumed = presumed || rests && (grade == GradeWeakETag || grade == GradeLastModified)
						if v := q.Assess(); v.Name != name || v.Presumed != presumed || v.Bytes != reading || v.Code != code || v.Grade != grade {
							t.Errorf("%s, %s, %s %+v, %s: %q presumed %v, want %q %v", readingName, code, outcome, way, grade, v.Name, v.Presumed, name, presumed)
						}
						n++
					}
				}
			}
		}
	}
	if want := 5 * 3 * (8 + len(failures)) * 4; n != want {
		t.Errorf("%d cells were asked, want %d", n, want)
	}
}

func expectedVerdict(reading string, code Code, outcome string) (VerdictName, bool) {
	for _, line := range strings.Split(strings.TrimSpace(verdictTable), "\n") {
		row := strings.Fields(line)
		if (row[0] == "any" || row[0] == reading) && (row[1] == "any" || row[1] == string(code)) && row[2] == outcome {
			return VerdictName(strings.TrimPrefix(row[3], "none")), row[4] == "presumed"
		}
	}
	panic("no row for " + reading + ", " + string(code) + ", " + outcome)
}

func TestAVerdictCarriesWhatItRestsOn(t *testing.T) {
	caveats := []string{"two edits inside one second look like none"}
	q := VerdictQuestion{Bytes: Evidence{Bytes: ReadingUnchanged, Grade: GradeLastModified, Caveats: caveats}, Code: CodeMoved, Moved: []string{"parser"}, Outcome: OutcomeCommitted}
	v := q.Assess()
	if !reflect.DeepEqual(v.Moved, []string{"parser"}) || !reflect.DeepEqual(v.Caveats, caveats) || !v.Presumed {
		t.Errorf("%+v", v)
	}
	if v := (VerdictQuestion{}).Assess(); v.Moved == nil || v.Caveats == nil || v.Name != VerdictNone {
		t.Errorf("a verdict on nothing: %+v; its lists stand in JSON", v)
	}
}

func TestTheVerdictOfARedrive(t *testing.T) {
	base := Redrive{FailedUnder: Versions{"parser": "1"}, FailedCohort: "A", FailedSHA256: givenDigest, Sent: ModeHeld, Running: Running{"parser": {"2"}},
		Bytes: Evidence{Bytes: ReadingUnchanged, Grade: GradeDigest}}
	for name, c := range map[string]struct {
		change func(*Redrive)
		want   VerdictName
	}{
		"the stored copy passed under new code": {func(r *Redrive) { r.Outcome = OutcomeCommitted }, VerdictFixedByCode},
		"the outcome's version goes before the registered": {func(r *Redrive) {
			r.Outcome, r.OutcomeVersions = OutcomeCommitted, Versions{"parser": "1"}
		}, VerdictTransient},
		"the outcome's digest goes before our probe": {func(r *Redrive) { r.Outcome, r.OutcomeSHA256 = OutcomeCommitted, otherDigest }, VerdictUndetermined},
		"it failed in the same cohort":               {func(r *Redrive) { r.Outcome, r.OutcomeCohort = OutcomeFailed, "A" }, VerdictStillBroken},
		"it failed in another cohort":                {func(r *Redrive) { r.Outcome, r.OutcomeCohort = OutcomeFailed, "B" }, VerdictNextDefect},
		"it failed, and nobody said how": {func(r *Redrive) {
			r.Outcome, r.OutcomeCohort, r.OutcomeUnnamed = OutcomeFailed, "A", true
		}, VerdictStillFailing},
		"nothing is known of the bytes": {func(r *Redrive) { r.Outcome, r.Bytes = OutcomeCommitted, Evidence{} }, VerdictInconclusive},
		"no outcome yet":                {func(r *Redrive) {}, VerdictNone},
	} {
		r := base
		c.change(&r)
		if got := r.Verdict(); got.Name != c.want {
			t.Errorf("%s: %q, want %q", name, got.Name, c.want)
		}
	}
}
