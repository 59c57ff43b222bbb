package dlq

// VerdictName is what one outcome says.
type VerdictName string

// The verdicts. The empty name is that of a redrive without an outcome that
// says anything.
const (
	VerdictNone             VerdictName = ""
	VerdictFixedByCode      VerdictName = "fixed_by_code"
	VerdictTransient        VerdictName = "transient"
	VerdictFixedAtSource    VerdictName = "fixed_at_source"
	VerdictUndetermined     VerdictName = "undetermined"
	VerdictInconclusive     VerdictName = "inconclusive"
	VerdictStillBroken      VerdictName = "still_broken"
	VerdictUnmoved          VerdictName = "unmoved"
	VerdictNextDefect       VerdictName = "next_defect"
	VerdictUnstable         VerdictName = "unstable"
	VerdictStillFailing     VerdictName = "still_failing"
	VerdictAlreadyCommitted VerdictName = "already_committed"
	VerdictSuperseded       VerdictName = "superseded"
	VerdictUnconfirmed      VerdictName = "unconfirmed"
	VerdictNoOutcome        VerdictName = "no_outcome"
	VerdictUnattributed     VerdictName = "unattributed"
)

// Verdict is what one outcome says, with the evidence that it rests on.
type Verdict struct {
	Name     VerdictName `json:"name"`
	Bytes    Reading     `json:"bytes"`
	Grade    Grade       `json:"grade"`
	Code     Code        `json:"code"`
	Moved    []string    `json:"moved"`
	Presumed bool        `json:"presumed"`
	Caveats  []string    `json:"caveats"`
}

// VerdictQuestion is what decides a verdict.
type VerdictQuestion struct {
	Bytes       Evidence
	Code        Code
	Moved       []string
	Outcome     OutcomeResult
	OtherCohort bool         // of a failure: it fell into another cohort
	Class       FailureClass // of a failure
	Unnamed     bool         // a failure without error fields
}

// Assess says what an outcome tells, by the table of verdicts: whether the bytes
// changed, whether the code did, and what came of it.
func (q VerdictQuestion) Assess() Verdict {
	v := Verdict{Bytes: q.Bytes.Bytes, Grade: q.Bytes.Grade, Code: q.Code, Moved: append([]string{}, q.Moved...), Caveats: append([]string{}, q.Bytes.Caveats...)}
	switch q.Outcome {
	case OutcomeCommitted:
		v.Name, v.Presumed = q.passed()
	case OutcomeFailed:
		v.Name, v.Presumed = q.failed()
	case OutcomeSkipped:
		v.Name = VerdictAlreadyCommitted
	case OutcomeSuperseded:
		v.Name = VerdictSuperseded
	case OutcomeAssumed:
		v.Name = VerdictUnconfirmed
	case OutcomeNoOutcome:
		v.Name = VerdictNoOutcome
	case OutcomeUnattributed:
		v.Name = VerdictUnattributed
	}
	return v
}

// weakly says whether unchanged bytes rest on evidence that can be wrong.
func (q VerdictQuestion) weakly() bool {
	return q.Bytes.Grade == GradeWeakETag || q.Bytes.Grade == GradeLastModified
}

func (q VerdictQuestion) passed() (VerdictName, bool) {
	switch q.Bytes.Bytes {
	case ReadingUnchanged:
		switch q.Code {
		case CodeMoved:
			return VerdictFixedByCode, q.weakly()
		case CodeSame:
			return VerdictTransient, q.weakly()
		}
		return VerdictFixedByCode, true
	case ReadingChanged, ReadingMaybeChanged:
		if q.Code == CodeMoved {
			return VerdictUndetermined, false
		}
		return VerdictFixedAtSource, false
	}
	return VerdictInconclusive, false
}

func (q VerdictQuestion) failed() (VerdictName, bool) {
	switch {
	case q.Class == ClassTransient || (q.Class == ClassResourceFatal && q.OtherCohort) || q.Unnamed:
		return VerdictStillFailing, false
	case q.Bytes.Bytes != ReadingUnchanged:
		return VerdictStillFailing, false
	case q.OtherCohort && q.Code == CodeSame:
		return VerdictUnstable, q.weakly()
	case q.OtherCohort:
		return VerdictNextDefect, q.weakly()
	case q.Code == CodeMoved:
		return VerdictStillBroken, q.weakly()
	case q.Code == CodeSame:
		return VerdictUnmoved, q.weakly()
	}
	return VerdictStillBroken, true
}

// Verdict is what the redrive's outcome says, from what was recorded at its
// send and what the outcome itself names, which outranks our probe. Whether a
// failure fell into the same cohort is as the cohorts are now.
func (r Redrive) Verdict() Verdict {
	return r.JudgedAs(r.OutcomeCohort != "" && r.OutcomeCohort != r.FailedCohort)
}

// JudgedAs is the verdict if a failure fell into another cohort, or the same one.
// A commit that came late is what there is to judge where nothing else was said;
// after a failure it is a contradiction, and the failure stands.
func (r Redrive) JudgedAs(otherCohort bool) Verdict {
	outcome := r.Outcome
	if said := outcome != OutcomeNoOutcome && outcome != OutcomeUndelivered && outcome != OutcomeCancelled; !said && r.Late.Success() {
		outcome = r.Late
	}
	code, moved := CompareCode(r.FailedUnder, r.OutcomeVersions, r.Running)
	return VerdictQuestion{Bytes: r.replayedBytes(), Code: code, Moved: moved, Outcome: outcome, OtherCohort: otherCohort, Class: r.OutcomeClass, Unnamed: r.OutcomeUnnamed}.Assess()
}

// Step is what moved between the failure that the redrive replays and its
// outcome.
func (r Redrive) Step() VersionStep { return StepBetween(r.FailedUnder, r.OutcomeVersions, r.Running) }

func (r Redrive) replayedBytes() Evidence {
	if r.FailedSHA256 != "" && r.OutcomeSHA256 != "" {
		return CompareBytes("any", Validators{SHA256: r.FailedSHA256, ETag: r.SourceVersion}, Validators{SHA256: r.OutcomeSHA256, ETag: r.OutcomeVersion})
	}
	if r.Sent == ModeSource && r.SourceVersion != "" && r.OutcomeVersion != "" {
		return CompareTags("any", &r.SourceVersion, &r.OutcomeVersion)
	}
	if r.Bytes.Bytes == "" {
		return UnknownBytes()
	}
	return r.Bytes
}
