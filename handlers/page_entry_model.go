package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entry"
	"dlo/web"
)

// entryFacts is everything that the page of one document is made from.
type entryFacts struct {
	entry    dlq.Entry
	source   dlq.Source
	running  dlq.Running
	cohort   dlq.Cohort    // only its id is certain to be there
	proof    dlq.Proof     // of documents like it
	failed   dlq.Attempt   // the current evidence, with its long texts
	looked   dlq.Attempt   // the attempt whose trace is shown, with its long texts
	attempts []dlq.Attempt // newest first, at most attemptsRead
	redrives []dlq.Redrive // newest first
	said     dlq.SourceNow // what the source said last
	reading  dlq.Evidence
	asked    bool // the source was asked since the current evidence came
	linked   []dlq.Entry
	audit    []dlq.AuditRow
	notes    []dlq.Note
	decided  dlq.Decided
	document entry.Document
	checked  dlq.IndexChecked // how far the index was asked about the redrive in flight
	paused   string           // who paused all redrives
	by       dlq.Actor
	csrf     string
	now      time.Time
}

// newEntryPage shapes the page of one document; what stands round it is added
// by the handler.
func newEntryPage(f entryFacts) entry.Model {
	e := f.entry
	actions, more, cannot := entryActions(f)
	m := entry.Model{
		Source:     components.Link{Text: web.VisibleText(e.Source), Href: sourceHref(e.Source)},
		DocID:      shown(e.DocID),
		Filename:   shownLine(e.Filename, 200),
		Cohort:     components.Link{Text: cohortHeading(f.cohort, e), Href: cohortHref(e.CohortID)},
		State:      entryState(e),
		Facts:      entryHeadFacts(f),
		Actions:    actions,
		More:       more,
		Cannot:     cannot,
		Notices:    entryNotices(f),
		Answer:     newAnswer(f),
		Refusal:    newRefusal(f),
		Trace:      newTrace(f.looked, traceHref(f, "trace.txt")),
		Validation: newValidation(f.looked, traceHref(f, "validation.txt")),
		Changed:    newChanged(f),
		Attempts:   newAttempts(f),
		Document:   f.document,
		Record:     newLights(f),
		Details:    entryDetails(f),
		Linked:     newLinked(f.linked),
		Activity:   newEntryActivity(f),
	}
	m.RecordAt = recordPlace(m.Trace, m.Validation)
	return m
}

// recordPlace puts the record under the trace or the validation output where it
// is so much shorter than the other, in lines on the screen, that there is room.
func recordPlace(t entry.Trace, v entry.Validation) entry.RecordPlace {
	const room = 10
	left, right := 0, 4*len(v.Rules)+len(v.Raw.String())/60
	for _, b := range t.Blocks {
		if left++; b.Fold == "" {
			left += len(b.Lines)
		}
	}
	switch {
	case left-right >= room:
		return entry.RecordUnderValidation
	case right-left >= room:
		return entry.RecordUnderTrace
	}
	return entry.RecordAcross
}

// traceHref is where a text of the attempt that is looked at stands as it was
// sent.
func traceHref(f entryFacts, name string) string {
	href := entryHref(f.entry.DLQID) + "/" + name
	if f.looked.ID != f.failed.ID {
		href += fmt.Sprintf("?attempt=%d", f.looked.Sequence())
	}
	return href
}

// cohortHeading names a cohort in a crumb: its exception, else its template.
func cohortHeading(c dlq.Cohort, e dlq.Entry) string {
	for _, s := range []string{c.ErrorType, c.Template, e.ErrorType} {
		if s != "" {
			return shownLine(s, 80).String()
		}
	}
	return "its cohort"
}

func entryState(e dlq.Entry) components.Tag {
	if e.Status == dlq.StatusParked {
		return components.Tag{} // what one expects
	}
	return statusTag(e)
}

func entryHeadFacts(f entryFacts) []components.Fact {
	e := f.entry
	facts := []components.Fact{{Text: "stuck since", Time: day(e.OpenedAt)}}
	if !e.Status.Open() {
		facts[0].Text = "was stuck from"
		if !e.SettledAt.IsZero() {
			facts = append(facts, components.Fact{Text: "left", Time: day(e.SettledAt)})
		}
	}
	facts = append(facts, components.Fact{Text: counted(e.Attempts, "attempt", "attempts") + ", last", Time: moment(e.LastSeen), Href: "#attempts"})
	if e.ErrorClass != "" {
		facts = append(facts, components.Fact{Value: shownLine(string(e.ErrorClass), 60), Title: classWords[e.ErrorClass]})
	}
	if e.Reason == dlq.ReasonLowConfidence {
		facts = append(facts, components.Fact{Text: "in review: low confidence"})
	}
	if e.SameFailures > 0 {
		facts = append(facts, components.Fact{Text: sameFailureWords(e.SameFailures, f.source.Policy.PoisonThreshold), Href: "#attempts"})
	}
	if fact := entryProofFact(f); fact.Text != "" {
		facts = append(facts, fact)
	}
	if e.Granted {
		facts = append(facts, components.Fact{Text: "one more replay allowed", Tone: components.Held})
	}
	if t := leavesTag(e, f.now); t.Text != "" {
		leaves := components.Fact{Text: "leaves the queue " + t.Text, Tone: t.Tone, Title: t.Title}
		if e.Status == dlq.StatusQuarantined {
			leaves = components.Fact{Text: "expires only after a decision", Title: "released, it leaves the queue on " + t.Title}
		}
		facts = append(facts, leaves)
	}
	if e.Copy == dlq.CopyHeld && !e.CopyExpires.IsZero() && e.Status != dlq.StatusErased {
		facts = append(facts, components.Fact{Text: "copy kept " + span(e.CopyExpires.Sub(f.now)), Title: "until " + dateOf(e.CopyExpires)})
	}
	facts = append(facts, components.Fact{Text: "owner " + ownerFrom(e.Owner, fallsTo{f.cohort.Owner, "cohort"}, fallsTo{f.source.Policy.Owner, "source"})})
	if e.Ticket != "" {
		facts = append(facts, components.Fact{Text: "ticket", Value: shownLine(e.Ticket, 120), Href: ticketHref(e.Ticket)})
	}
	return facts
}

// ticketHref makes a ticket a link where it is an address of the web.
func ticketHref(ticket string) string {
	if dlq.WebAddress(ticket) {
		return ticket
	}
	return ""
}

// sameFailureWords is the count towards quarantine: "1 identical failed replay
// of 3".
func sameFailureWords(n, threshold int) string {
	return fmt.Sprintf("%s of %d", counted(n, "identical failed replay", "identical failed replays"), threshold)
}

// entryActions gives the buttons that work in this state for this person, and
// says why others are not there. Redriving has its own place, under the title.
func entryActions(f entryFacts) (actions, more []components.Action, cannot string) {
	e, id := f.entry, f.entry.DLQID
	back := entryHref(id)
	do := func(label string, kind dlq.OperationKind, key string, tone components.Tone) components.Action {
		return components.Action{Label: label, Href: confirmEntryHref(kind, id, back), Key: key, Tone: tone}
	}
	if f.by.May(dlq.MayNote) && e.Status != dlq.StatusErased {
		more = append(more, do("Assign", dlq.OperationAssign, "a", components.Plain))
	}
	if f.by.May(dlq.MayNote) && e.Status.Open() {
		more = append(more, components.Action{Label: "Set a disposition", Href: back + "/dispose"})
	}
	if !f.by.May(dlq.MayDecide) {
		return nil, more, roleCannot(f.by.Role)
	}
	keep := do("Keep longer", dlq.OperationExtend, "e", components.Plain)
	archive := do("Archive", dlq.OperationArchive, "", components.Plain)
	switch e.Status {
	case dlq.StatusParked:
		return []components.Action{keep, do("Quarantine", dlq.OperationQuarantine, "q", components.Plain)}, append(more, archive), ""
	case dlq.StatusRedriving:
		return []components.Action{keep}, more, "It is on its way to its pipeline, so it cannot be redriven again, quarantined or archived until an outcome comes."
	case dlq.StatusQuarantined:
		one := do("Release one more", dlq.OperationRelease, "r", components.Primary)
		one.Href += "&grant=" + string(dlq.GrantOne)
		one.Why = "Back to the queue, with one more replay allowed"
		reset := do("Release and count anew", dlq.OperationRelease, "", components.Plain)
		reset.Href += "&grant=" + string(dlq.GrantReset)
		return []components.Action{one, reset, keep}, append(more, archive), "It cannot be redriven while it is in quarantine: release it first."
	case dlq.StatusArchived:
		return []components.Action{do("Restore", dlq.OperationRestore, "", components.Primary)}, more, "It is in the archive: restore it to redrive it or to keep it longer."
	case dlq.StatusResolved:
		return nil, more, sentence("It is resolved, %s, so there is nothing to decide", resolutionWords[e.Resolution])
	}
	return nil, more, "It was erased, so there is nothing to decide."
}

func entryNotices(f entryFacts) []components.Notice {
	var out []components.Notice
	if n, any := dispositionNotice(f.decided, f.by, f.now, entryHref(f.entry.DLQID)+"/dispose"); any {
		out = append(out, n)
	}
	for _, m := range f.entry.Marks {
		if words, ok := markWords[m]; ok {
			tone := components.Info
			if m == dlq.MarkNoOutcome || m == dlq.MarkAssumed {
				tone = components.Deadline
			}
			out = append(out, components.Notice{Tone: tone, Title: words[1]})
		}
	}
	if f.entry.Episode > 1 && f.entry.Status.Open() {
		out = append(out, components.Notice{Tone: components.Info, Title: fmt.Sprintf("This is episode %d.", f.entry.Episode), Text: "It was seen first on " + dateOf(f.entry.FirstSeen) + ", left, and failed again on " + dateOf(f.entry.OpenedAt) + "."})
	}
	if neverReported(f.source) && f.entry.Status.Open() {
		out = append(out, components.Notice{Tone: components.Deadline, Title: neverReportedSentence(f.source), Links: []components.Link{outcomesLink(f.source, f.by)}})
	}
	if f.looked.ID != f.failed.ID {
		out = append(out, components.Notice{Tone: components.Info, Title: fmt.Sprintf("Trace and validation output are those of attempt %d, of %s.", f.looked.Sequence(), dateOf(f.looked.LastSeen)), Links: []components.Link{{Text: "Show the newest", Href: entryHref(f.entry.DLQID)}}})
	}
	if f.source.Paused && f.entry.Status == dlq.StatusParked {
		out = append(out, components.Notice{Tone: components.Held, Title: sentence("Redrives of %s are paused by %s", web.VisibleText(f.source.Name()), f.source.PausedBy), Text: "What is redriven now waits until they are resumed.", Links: []components.Link{{Text: "The source", Href: sourceHref(f.source.Name())}}})
	}
	return out
}

// neverReported says that a pipeline took redrives and told nothing of any.
func neverReported(s dlq.Source) bool {
	return waitsForReports(s) && s.Delivered > 0 && s.Reported == 0
}

// waitsForReports says that only the pipeline can tell what came of a redrive.
func waitsForReports(s dlq.Source) bool {
	return s.Policy.Outcomes.Mode == dlq.OutcomesReported
}

func neverReportedSentence(s dlq.Source) string {
	return sentence("The pipeline of %s took %s and never reported an outcome", web.VisibleText(s.Name()), counted(s.Delivered, "redrive", "redrives"))
}

// newLights says what the record pins down, and what to send where it does not.
func newLights(f entryFacts) []entry.Light {
	e, a := f.entry, f.failed
	bytes := entry.Light{Name: "The bytes", Why: "send the document, or payload_sha256"}
	if e.PayloadSHA256 != "" {
		bytes.On, bytes.Why = true, "digest known, "+map[bool]string{true: "copy held", false: "no copy of them held"}[e.CopyIsCurrent()]
	}
	code := entry.Light{Name: "The code", Why: "send parser_version and the others, and each redrive can be told from a retry"}
	if names := e.Versions.Components(); len(names) > 0 {
		code.On, code.Why = true, shownLine(strings.Join(names, ", "), 120).String()+" named"
	}
	at := entry.Light{Name: "The moment", Why: "send ingest_seq or cursor_at_arrival, and newer can be told from older"}
	switch {
	case a.IngestSeq != nil && a.Cursor != "":
		at.On, at.Why = true, "ingest position and cursor given"
	case a.IngestSeq != nil:
		at.On, at.Why = true, "ingest position given"
	case a.Cursor != "":
		at.On, at.Why = true, "cursor given"
	}
	siblings := entry.Light{Name: "The siblings", Why: "send filename or labels to tell related documents"}
	switch {
	case len(a.Detail.Labels) > 0:
		siblings.On, siblings.Why = true, counted(len(a.Detail.Labels), "label", "labels")+" given"
	case e.Filename != "":
		siblings.On, siblings.Why = true, "file name given"
	}
	return []entry.Light{bytes, code, at, siblings}
}

var keyCheckWords = map[dlq.KeyCheck]string{
	dlq.KeyUnchecked:   "not verifiable here",
	dlq.KeyBytes:       "SHA-256 of the bytes",
	dlq.KeyVersioned:   "SHA-256 of the bytes and the processing version",
	dlq.KeyUnexplained: "not verifiable: neither of the bytes nor of bytes and version",
	dlq.KeyFromPayload: "none was given; the digest of the bytes serves",
}

// entryDetails is all that is known and stands nowhere else. What was not sent
// has no row.
func entryDetails(f entryFacts) []components.KV {
	e, a := f.entry, f.failed
	var rows []components.KV
	add := func(key, value string, mono bool) {
		if value != "" {
			rows = append(rows, components.KV{Key: key, Value: shown(value), Mono: mono, Copy: mono})
		}
	}
	add("Our id", e.DLQID, true)
	add("The sender's id", e.SenderID, true)
	add("Document id", e.DocID, true)
	if e.ContentHash != "" {
		rows = append(rows, components.KV{Key: "Content hash", Value: components.PlainText(e.ContentHash), Mono: true, Copy: true, Tag: components.Tag{Text: keyCheckWords[e.KeyCheck], Tone: components.Quiet}})
	} else {
		rows = append(rows, components.KV{Key: "Content hash", Value: components.PlainText("none"), Note: "Send content_hash or the document: a redrive needs a key for the pipeline's commit."})
	}
	add("SHA-256 at the failure", e.PayloadSHA256, true)
	if e.HeldSHA256 != "" && e.HeldSHA256 != e.PayloadSHA256 {
		add("SHA-256 of the stored copy", e.HeldSHA256, true)
	}
	if e.PayloadBytes >= 0 {
		rows = append(rows, components.KV{Key: "Size", Value: components.PlainText(byteSize(e.PayloadBytes)), Note: counted(e.PayloadBytes, "byte", "bytes")})
	}
	add("The pipeline's pointer", a.PayloadURI, true)
	add("Content type", e.ContentType, false)
	add("Address at the source", a.SourceURL, true)
	add("Version at the source", a.SourceVersion, true)
	if a.IngestSeq != nil {
		add("Ingest position", fmt.Sprint(*a.IngestSeq), true)
	}
	add("Cursor at arrival", a.Cursor, true)
	add("Processing version", a.Processing, true)
	add("Version in the index", a.IndexedVersion, true)
	add("Stage", e.Stage, false)
	if a.Confidence != nil {
		add("Confidence", fmt.Sprintf("%.2f", *a.Confidence), false)
	}
	rows = append(rows, components.KV{Key: "Cohort", Value: shown(cohortHeading(f.cohort, e)), Href: cohortHref(e.CohortID)})
	add("Fingerprint", e.Fingerprint, true)
	add("First seen", e.FirstSeen.UTC().Format("2 Jan 2006 15:04:05")+" UTC", false)
	add("Reported by", a.Actor, false)
	rows = append(rows, components.KV{Key: "Redrives", Value: components.PlainText(grouped(e.RedrivesTotal)), Note: "over all episodes"})
	return append(rows, extraRows(a.Detail)...)
}

// extraRows are the labels and the fields that no name of the envelope takes,
// in the order of their names.
func extraRows(d dlq.AttemptDetail) []components.KV {
	var rows []components.KV
	for _, name := range sortedKeys(d.Labels) {
		rows = append(rows, components.KV{Key: "Label " + shownLine(name, 60).String(), Value: shownLine(d.Labels[name], 500)})
	}
	for _, name := range sortedKeys(d.Extra) {
		value, err := json.Marshal(d.Extra[name])
		if err != nil {
			continue
		}
		rows = append(rows, components.KV{Key: shownLine(name, 60).String(), Value: shownLine(string(value), 500), Note: "sent besides the fields that are known"})
	}
	return rows
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func newLinked(entries []dlq.Entry) []entry.Linked {
	var out []entry.Linked
	for _, l := range entries {
		out = append(out, entry.Linked{Document: shown(l.DocID), Source: web.VisibleText(l.Source), Href: entryHref(l.DLQID), State: statusTag(l), Why: "same digest"})
	}
	return out
}
