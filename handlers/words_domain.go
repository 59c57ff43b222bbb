package handlers

import (
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
)

// statusWords are the states as people read them.
var statusWords = map[dlq.Status]string{
	dlq.StatusParked:      "stuck",
	dlq.StatusRedriving:   "redriving",
	dlq.StatusQuarantined: "quarantine",
	dlq.StatusArchived:    "archive",
	dlq.StatusResolved:    "resolved",
	dlq.StatusErased:      "erased",
}

var statusTones = map[dlq.Status]components.Tone{
	dlq.StatusParked:      components.Plain,
	dlq.StatusRedriving:   components.Info,
	dlq.StatusQuarantined: components.Held,
	dlq.StatusArchived:    components.Quiet,
	dlq.StatusResolved:    components.Good,
	dlq.StatusErased:      components.Bad,
}

// statusTag is a document's state, with how it was settled where it was.
func statusTag(e dlq.Entry) components.Tag {
	t := components.Tag{Text: statusWords[e.Status], Tone: statusTones[e.Status]}
	if e.Status == dlq.StatusResolved {
		t.Title = resolutionWords[e.Resolution]
	}
	return t
}

// resolutionWords say how a document was settled.
var resolutionWords = map[dlq.Resolution]string{
	dlq.ResolvedCommitted:  "committed by its pipeline",
	dlq.ResolvedSkipped:    "was already committed",
	dlq.ResolvedSuperseded: "a newer version got in",
	dlq.ResolvedAssumed:    "sent, never confirmed",
}

// markWords are what a mark says, and why.
var markWords = map[dlq.Mark][2]string{
	dlq.MarkReturned:     {"returned", "It failed again after it was resolved."},
	dlq.MarkLate:         {"late", "Its commit was reported after we had given up on it."},
	dlq.MarkNoOutcome:    {"no answer", "A redrive was taken, and nothing was ever said of it."},
	dlq.MarkAssumed:      {"never confirmed", "It was sent, and silence was taken for a commit, as the source's policy says."},
	dlq.MarkNotExhausted: {"not exhausted", "A transient failure that was parked before its tries were spent."},
	dlq.MarkPresumed:     {"presumed", "A failure was taken as the redrive's although it did not name it."},
}

// markTags are a document's marks.
func markTags(marks dlq.Marks) []components.Tag {
	var tags []components.Tag
	for _, m := range marks {
		words, ok := markWords[m]
		if !ok {
			words[0] = string(m)
		}
		tags = append(tags, components.Tag{Text: words[0], Tone: components.Quiet, Title: words[1], Href: entriesHref("mark:" + string(m))})
	}
	return tags
}

// classWords explain a class of the taxonomy; other words stand as they are.
var classWords = map[dlq.FailureClass]string{
	dlq.ClassTransient:          "the environment; waiting helps",
	dlq.ClassAmbiguousParse:     "a parser gave up; a fix helps",
	dlq.ClassResourceFatal:      "the process died; redrive it alone, after a limit changed",
	dlq.ClassPermanentInput:     "only another document helps",
	dlq.ClassDownstreamContract: "configuration after parsing; redrive once it is mended",
}

// outcomeWords are what came of one redrive.
var outcomeWords = map[dlq.OutcomeResult]string{
	dlq.OutcomeCommitted:    "committed",
	dlq.OutcomeSkipped:      "was already committed",
	dlq.OutcomeSuperseded:   "a newer version got in",
	dlq.OutcomeFailed:       "failed again",
	dlq.OutcomeUnattributed: "failed in an ordinary sync",
	dlq.OutcomeAssumed:      "sent, never confirmed",
	dlq.OutcomeNoOutcome:    "no answer",
	dlq.OutcomeUndelivered:  "not delivered",
	dlq.OutcomeCancelled:    "cancelled",
}

// outcomeTone is good for what got in, bad for what failed.
func outcomeTone(o dlq.OutcomeResult) components.Tone {
	switch {
	case o.Success():
		return components.Good
	case o == dlq.OutcomeFailed:
		return components.Bad
	case o == "":
		return components.Info
	}
	return components.Plain
}

// leftOutWords are why an entry was left out of an operation, after "left out:".
var leftOutWords = map[dlq.LeftOut]string{
	dlq.LeftQuarantined:       "in quarantine; release it first",
	dlq.LeftNoIdentity:        "without a key; its pipeline sent neither content_hash nor the bytes",
	dlq.LeftNoTarget:          "its source has no redrive target",
	dlq.LeftNoPayload:         "no copy was ever held",
	dlq.LeftPayloadExpired:    "its stored copy has expired",
	dlq.LeftPayloadCorrupt:    "its stored copy no longer has its digest",
	dlq.LeftInFlight:          "on its way already, or waiting in another operation",
	dlq.LeftArchived:          "in the archive; restore it first",
	dlq.LeftResolved:          "resolved already",
	dlq.LeftErased:            "erased",
	dlq.LeftNotFound:          "not found",
	dlq.LeftOnHold:            "on hold",
	dlq.LeftGoneAtSource:      "gone at its source; a replay would bring back a deleted document",
	dlq.LeftCannotTellChanged: "cannot tell if it changed at its source",
	dlq.LeftState:             "its state does not allow it",
	dlq.LeftPastLimit:         "past the longest time its source keeps a document",
	dlq.LeftDatePassed:        "the date that it was to last until had passed",
	dlq.LeftNoProbe:           "its source cannot be asked; it has no probe",
}

// actionWords name what an operation does, as the verb of a button.
var actionWords = map[dlq.OperationKind]string{
	dlq.OperationRedrive:    "Redrive",
	dlq.OperationQuarantine: "Quarantine",
	dlq.OperationRelease:    "Release",
	dlq.OperationExtend:     "Keep longer",
	dlq.OperationArchive:    "Archive",
	dlq.OperationRestore:    "Restore",
	dlq.OperationAssign:     "Assign",
	dlq.OperationDispose:    "Set a disposition",
	dlq.OperationProbe:      "Ask the source",
}

// operationStateTags are where an operation stands.
var operationStateTags = map[dlq.OperationState]components.Tag{
	dlq.OperationPreparing: {Text: "preparing", Tone: components.Info},
	dlq.OperationRunning:   {Text: "running", Tone: components.Info},
	dlq.OperationPaused:    {Text: "paused", Tone: components.Held},
	dlq.OperationStopped:   {Text: "stopped", Tone: components.Bad},
	dlq.OperationCancelled: {Text: "cancelled", Tone: components.Quiet},
	dlq.OperationDone:      {Text: "done", Tone: components.Good},
}

// itemStateWords are where one document of an operation stands.
var itemStateWords = map[dlq.ItemState]string{
	dlq.ItemWaiting:   "waiting",
	dlq.ItemInFlight:  "in flight",
	dlq.ItemSettled:   "settled",
	dlq.ItemLeftOut:   "left out",
	dlq.ItemCancelled: "cancelled",
}

// copyWords say what is held of a document.
var copyWords = map[dlq.CopyState]string{
	dlq.CopyHeld:    "stored copy held",
	dlq.CopyNever:   "no copy was ever sent",
	dlq.CopyExpired: "the stored copy has expired; a replay goes to the source",
	dlq.CopyCorrupt: "the stored copy no longer has its digest",
}

// readingWords and gradeWords say what is known of a document's bytes, and from
// what. Unknown is never written as unchanged.
var readingWords = map[dlq.Reading]string{
	dlq.ReadingUnchanged:    "unchanged",
	dlq.ReadingChanged:      "changed",
	dlq.ReadingMaybeChanged: "maybe changed",
	dlq.ReadingGone:         "gone at the source",
	dlq.ReadingUnknown:      "cannot tell",
}

var gradeWords = map[dlq.Grade]string{
	dlq.GradeDigest:       "digest",
	dlq.GradeStrongETag:   "strong tag",
	dlq.GradeWeakETag:     "weak tag",
	dlq.GradeLastModified: "modification time",
	dlq.GradeStatus:       "the source's answer",
}

// bytesTag says whether a document changed, with the grade of the evidence:
// "unchanged · digest".
func bytesTag(e dlq.Evidence) components.Tag {
	t := components.Tag{Text: readingWords[e.Bytes], Tone: components.Quiet, Title: strings.Join(e.Caveats, " ")}
	if t.Text == "" {
		t.Text = readingWords[dlq.ReadingUnknown]
	}
	switch e.Bytes {
	case dlq.ReadingUnchanged:
		t.Tone = components.DocSame
	case dlq.ReadingChanged, dlq.ReadingMaybeChanged, dlq.ReadingGone:
		t.Tone = components.DocChanged
	}
	if grade := gradeWords[e.Grade]; grade != "" && e.Bytes != dlq.ReadingGone {
		t.Text += " · " + grade
	}
	return t
}

// codeTag says whether the code moved, and which component: "parser changed".
func codeTag(code dlq.Code, moved []string) components.Tag {
	switch code {
	case dlq.CodeMoved:
		names := strings.Join(moved, ", ")
		return components.Tag{Text: componentNames(names) + " changed", Tone: components.CodeChanged, Title: "changed since it failed: " + names}
	case dlq.CodeSame:
		return components.Tag{Text: "code the same", Tone: components.CodeSame}
	}
	return components.Tag{Text: "code not reported", Tone: components.Quiet, Title: "The versions are not known on both sides, so this says nothing about the code."}
}

// componentNames cuts a list of component names for a tag.
func componentNames(names string) string { return shownLine(names, 64).String() }

// ownerWord is who has something, or that nobody does.
func ownerWord(owner string) string {
	if owner == "" {
		return "nobody"
	}
	return shownLine(owner, 80).String()
}

// ownerFrom is who has a document or a cohort: its own owner, else the first of
// those that it falls to, with where that stands.
func ownerFrom(own string, falls ...fallsTo) string {
	if own != "" {
		return ownerWord(own)
	}
	for _, f := range falls {
		if f.owner != "" {
			return ownerWord(f.owner) + ", of the " + f.of
		}
	}
	return ownerWord("")
}

// fallsTo is an owner that a thing without one has, and of what it is the owner.
type fallsTo struct{ owner, of string }

// ownerHead is an owner where there is little room: of an address what stands
// before the @. The whole of it is on the page that the row leads to.
func ownerHead(owner string) string {
	if at := strings.LastIndexByte(owner, '@'); at > 0 {
		owner = owner[:at]
	}
	return ownerWord(owner)
}

// componentsByWeight is the order in which a single version stands for a whole
// set: the parser says most about a failure.
var componentsByWeight = []string{"parser", "chunker", "embedder", "connector"}

// mainComponent picks the one component by which a set of versions is told from
// others: one that no longer runs, if there is any, and then by weight. Empty
// where none is named.
func mainComponent(v dlq.Versions, running dlq.Running) string {
	names := v.Components()
	slices.SortStableFunc(names, func(a, b string) int {
		movedA, movedB := moved(v, running, a), moved(v, running, b)
		switch {
		case movedA && !movedB:
			return -1
		case movedB && !movedA:
			return 1
		}
		return weightOf(a) - weightOf(b)
	})
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func weightOf(component string) int {
	if i := slices.Index(componentsByWeight, component); i >= 0 {
		return i
	}
	return len(componentsByWeight)
}

// moved says that a component is known to run now, in another version.
func moved(v dlq.Versions, running dlq.Running, component string) bool {
	return len(running[component]) > 0 && !running.Has(component, v[component])
}

// underWords is a set of versions in one cell: the main one, and how many more.
func underWords(v dlq.Versions, running dlq.Running) components.Text {
	main := mainComponent(v, running)
	if main == "" {
		return components.PlainText("not reported")
	}
	out := shownLine(withComponent(main, v[main]), 80)
	if more := len(v) - 1; more > 0 {
		out = append(out, components.Segment{Text: " +" + grouped(more)})
	}
	return out
}

// withComponent writes a version with what it is a version of. A version that
// names its program already ("pdfminer.six@20221105") stands alone.
func withComponent(component, version string) string {
	if strings.ContainsAny(version, "@ ") || strings.HasPrefix(version, component) {
		return version
	}
	return component + " " + version
}

// allVersions writes every component: "connector 3.14 · parser 2022".
func allVersions(v dlq.Versions) string {
	var parts []string
	for _, name := range v.Components() {
		parts = append(parts, withComponent(name, v[name]))
	}
	if len(parts) == 0 {
		return "not reported"
	}
	return strings.Join(parts, " · ")
}

// soon is how near an expiry is a deadline: domain rules warn within a week.
const soon = 7 * 24 * time.Hour

// leavesTag says when a document leaves the queue.
func leavesTag(e dlq.Entry, now time.Time) components.Tag {
	if !e.Status.Open() || e.Status == dlq.StatusArchived || e.ExpiresAt.IsZero() {
		return components.Tag{}
	}
	t := components.Tag{Text: until(now, e.ExpiresAt), Title: dateOf(e.ExpiresAt)}
	if e.ExpiresAt.Before(now.Add(soon)) {
		t.Tone = components.Deadline
	}
	return t
}

// roleCannot says why somebody sees no button for a decision.
func roleCannot(role dlq.Role) string {
	return sentence("%ss cannot redrive, quarantine or extend. Ask a reviewer and give them this page's address", string(role))
}

// verdictWords are what one replay says.
var verdictWords = map[dlq.VerdictName]string{
	dlq.VerdictFixedByCode:      "New code fixed it",
	dlq.VerdictTransient:        "Passed, nothing changed",
	dlq.VerdictFixedAtSource:    "New document passed",
	dlq.VerdictUndetermined:     "Both changed, cannot tell",
	dlq.VerdictInconclusive:     "Cannot tell if the document changed",
	dlq.VerdictStillBroken:      "New code still fails",
	dlq.VerdictUnmoved:          "Failed again, nothing changed",
	dlq.VerdictNextDefect:       "Past this error, failed on another",
	dlq.VerdictUnstable:         "Failed differently, nothing changed",
	dlq.VerdictStillFailing:     "Changed document still fails",
	dlq.VerdictAlreadyCommitted: "Was already committed",
	dlq.VerdictSuperseded:       "A newer version got in",
	dlq.VerdictUnconfirmed:      "Sent, never confirmed",
	dlq.VerdictNoOutcome:        "No answer",
	dlq.VerdictUnattributed:     "Failed in an ordinary sync",
}

// verdictWord is what a replay says. Where it is presumed because no version
// was reported, that is what it says first; a failure that says nothing of this
// defect is not said to be one of a changed document.
func verdictWord(r dlq.Redrive) string {
	v := r.Verdict()
	switch {
	case r.InFlight():
		return "In flight"
	case v.Name == dlq.VerdictNone:
		return sentenceStart(outcomeWords[r.Outcome])
	case v.Name == dlq.VerdictFixedByCode && v.Code == dlq.CodeUnknown:
		return "Passes now; version not reported"
	case v.Name == dlq.VerdictStillBroken && v.Code == dlq.CodeUnknown:
		return "Still fails; version not reported"
	case v.Name == dlq.VerdictStillFailing && (v.Bytes == dlq.ReadingUnchanged || r.OutcomeUnnamed || r.OutcomeClass == dlq.ClassTransient):
		return "Failed for another reason"
	case v.Name == dlq.VerdictStillFailing && v.Bytes != dlq.ReadingChanged && v.Bytes != dlq.ReadingMaybeChanged:
		return "Failed; cannot tell if the document changed"
	}
	return verdictWords[v.Name]
}

// countsFor says for whom a verdict counts: for every document like it, for
// itself alone, or for nobody.
func countsFor(v dlq.Verdict) string {
	words := ""
	switch v.Name {
	case dlq.VerdictFixedByCode:
		words = "counts for all like it"
	case dlq.VerdictStillBroken:
		words = "counts against the fix"
	case dlq.VerdictTransient:
		return "counts toward looks transient"
	case dlq.VerdictUnmoved, dlq.VerdictUnstable, dlq.VerdictUnconfirmed, dlq.VerdictNoOutcome, dlq.VerdictUnattributed:
		return "counts for nobody"
	case dlq.VerdictNone:
		return ""
	default:
		return "counts for itself"
	}
	if v.Presumed {
		words += ", presumed"
	}
	return words
}

// verdictTone is good for a proof, bad for what refutes one.
func verdictTone(v dlq.Verdict) components.Tone {
	switch v.Name {
	case dlq.VerdictFixedByCode, dlq.VerdictFixedAtSource:
		return components.Good
	case dlq.VerdictStillBroken, dlq.VerdictUnmoved, dlq.VerdictNextDefect, dlq.VerdictUnstable, dlq.VerdictStillFailing:
		return components.Bad
	}
	return components.Plain
}
