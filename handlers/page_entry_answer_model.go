package handlers

import (
	"fmt"
	"strings"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entry"
	"dlo/web"
)

// newAnswer is the box under the title: what a redrive now would send, and what
// its outcome would tell.
func newAnswer(f entryFacts) entry.Answer {
	a := answerOf(f)
	if f.by.May(dlq.MayDecide) {
		return a
	}
	a.Do, a.Others = nil, nil
	return a
}

func answerOf(f entryFacts) entry.Answer {
	e := f.entry
	switch e.Status {
	case dlq.StatusErased:
		return entry.Answer{Headline: "It was erased.", Why: "What the record held is gone; the audit trail keeps that it was done."}
	case dlq.StatusResolved:
		return resolvedAnswer(f)
	case dlq.StatusArchived:
		return entry.Answer{Headline: "It is in the archive.", Why: "Restored, it is back in the queue and can be redriven."}
	case dlq.StatusQuarantined:
		return quarantinedAnswer(f)
	case dlq.StatusRedriving:
		return flyingAnswer(f)
	}
	if a, cannot := cannotRedrive(f); cannot {
		return a
	}
	a := parkedAnswer(f)
	a.Why = strings.TrimSpace(a.Why + " " + entryProofSentence(f.proof))
	return a
}

// resolvedAnswer says what the replay proved that resolved it, where one did.
func resolvedAnswer(f entryFacts) entry.Answer {
	a := entry.Answer{Headline: sentence("It is resolved: %s", resolutionWords[f.entry.Resolution]), Why: "If it fails again, it comes back here by itself as a new episode.", Tone: components.Good}
	if len(f.redrives) == 0 || f.redrives[0].InFlight() || !f.redrives[0].Outcome.Success() {
		return a
	}
	proved := verdictWord(f.redrives[0])
	if counts := countsFor(f.redrives[0].Verdict()); counts != "" {
		proved += "; it " + counts
	}
	a.Why = sentence("%s", proved) + " " + a.Why
	return a
}

func quarantinedAnswer(f entryFacts) entry.Answer {
	a := entry.Answer{Headline: "It waits for a decision.", Why: "Somebody put it in quarantine.", Tone: components.Held, Links: []components.Link{{Text: "What happened", Href: "#activity"}}}
	if n := f.entry.SameFailures; n >= f.source.Policy.PoisonThreshold {
		a.Headline = sentence("It failed the same way after %s", counted(n, "replay", "replays"))
		a.Why = "Another replay happens only if somebody lets it."
		a.Links = []components.Link{{Text: "Its attempts", Href: "#attempts"}}
		if code, moved := dlq.CompareCode(f.entry.Versions, nil, f.running); code == dlq.CodeMoved {
			a.Why = sentence("%s. Releasing one more would test that", movedWords(f.entry.Versions, f.running, moved))
		}
	}
	return a
}

func flyingAnswer(f entryFacts) entry.Answer {
	a := entry.Answer{Headline: "It is on its way, no outcome yet.", Tone: components.Info}
	if len(f.redrives) == 0 || !f.redrives[0].InFlight() {
		return a
	}
	r := f.redrives[0]
	a.Links = []components.Link{{Text: "Its operation", Href: operationHref(r.OperationID)}}
	switch {
	case r.SentAt.IsZero() && f.paused != "":
		a.Headline, a.Why, a.Tone = "It waits to be sent.", sentence("All redrives are paused by %s", f.paused), components.Held
	case r.SentAt.IsZero() && f.source.Paused:
		a.Headline, a.Why, a.Tone = "It waits to be sent.", "Redrives of its source are paused.", components.Held
	case r.SentAt.IsZero():
		a.Headline, a.Why = "It waits to be sent.", "Its turn comes within the source's rate and concurrency."
	case r.AcceptedAt.IsZero() && r.State == dlq.RedriveClaimed && r.Deliveries <= 1 && r.LastError == "":
		a.Headline, a.Why = "It is being sent.", "The target has not answered yet."
	case r.AcceptedAt.IsZero():
		a.Headline, a.Why = "It was not taken yet.", counted(r.Deliveries, "delivery", "deliveries")+" so far, tried again until it is taken."
		if !r.GiveUpAt.IsZero() {
			a.Why = counted(r.Deliveries, "delivery", "deliveries") + " so far, tried again until " + moment(r.GiveUpAt).UTC + "."
		}
	default:
		a.Headline = fmt.Sprintf("Sent %s, no outcome yet.", ago(f.now, r.AcceptedAt))
		a.Why = sentence("%s went to its pipeline", map[dlq.Mode]string{dlq.ModeHeld: "The stored copy", dlq.ModeSource: "A request to read the source"}[r.Sent])
		if !r.DueAt.IsZero() {
			a.Why += " The outcome is waited for until " + r.DueAt.UTC().Format("2 Jan 15:04") + " UTC."
		}
		a.Why += indexWords(f)
	}
	return a
}

// newRefusal is what stood in the way of the newest redrive's last delivery: the
// reason, and the head of what the target answered. Nil where nothing did, and
// where it no longer matters.
func newRefusal(f entryFacts) *entry.Refusal {
	if len(f.redrives) == 0 || f.entry.Status == dlq.StatusResolved || f.entry.Status == dlq.StatusErased {
		return nil
	}
	r := f.redrives[0]
	undelivered := r.Outcome == dlq.OutcomeUndelivered
	if !undelivered && (!r.InFlight() || r.LastError == "") {
		return nil
	}
	v := &entry.Refusal{Sentence: "Its last delivery was not taken.", Reason: refusalWords(r), Operation: components.Link{Text: "The operation", Href: operationHref(r.OperationID)}}
	switch {
	case undelivered:
		v.Sentence, v.When = "The last redrive was not delivered.", moment(r.SettledAt)
	case !r.AcceptedAt.IsZero():
		v.Sentence, v.When = "The target took it, but its answer says nothing that can be used.", moment(r.AcceptedAt)
	}
	if r.LastBody != "" {
		v.Body, v.Summary = shown(r.LastBody), "What the target answered, "+byteSize(int64(len(r.LastBody)))
		if r.LastStatus > 0 {
			v.Summary = fmt.Sprintf("What the target answered with %d, %s", r.LastStatus, byteSize(int64(len(r.LastBody))))
		}
	}
	return v
}

// cannotRedrive says why a parked document cannot be sent at all.
func cannotRedrive(f entryFacts) (entry.Answer, bool) {
	name := verbatim(web.VisibleText(f.source.Name()))
	switch {
	case f.source.Policy.Redrive.URL == "":
		return entry.Answer{Headline: "It cannot be redriven: there is nowhere to send it.", Why: sentence("%s has no redrive target", name), Tone: components.Bad, Links: []components.Link{{Text: "Set a target", Href: sourceHref(f.source.Name())}}}, true
	case f.entry.ContentHash == "":
		return entry.Answer{Headline: "It cannot be redriven: it has no key.", Why: "Its pipeline sent neither content_hash nor the document, so nothing would keep a redrive from being committed twice. Park it again with one of the two.", Tone: components.Bad}, true
	}
	return entry.Answer{}, false
}

// parkedAnswer is for what can be sent: which bytes, and what that would test.
func parkedAnswer(f entryFacts) entry.Answer {
	e, policy := f.entry, f.source.Policy
	if e.SameFailures >= policy.PoisonThreshold && !e.Granted {
		a := entry.Answer{Headline: "A redrive would put it in quarantine.", Why: sentence("It failed the same way after %s, and %d is the source's threshold", counted(e.SameFailures, "replay", "replays"), policy.PoisonThreshold), Tone: components.Held}
		return withModes(f, a, policyMode(policy))
	}
	mode := policyMode(policy)
	question := bytesQuestion(f, mode)
	if mode == dlq.ModeAuto && question.HasProbe && !f.asked {
		return withModes(f, askFirstAnswer(f), mode)
	}
	choice := question.Choose()
	if choice.LeftOut != "" {
		return withModes(f, leftOutAnswer(f, choice.LeftOut), mode)
	}
	if choice.Send == dlq.ModeHeld {
		return withModes(f, heldAnswer(f), mode)
	}
	return withModes(f, sourceAnswer(f, choice.Pointer), mode)
}

func policyMode(p dlq.SourcePolicy) dlq.Mode {
	if p.Redrive.Mode == "" {
		return dlq.ModeAuto
	}
	return p.Redrive.Mode
}

func bytesQuestion(f entryFacts, mode dlq.Mode) dlq.BytesQuestion {
	q := dlq.BytesQuestion{Mode: mode, Copy: f.entry.Copy, HasPointer: f.failed.PayloadURI != "", HasProbe: f.source.Policy.Probe.Configured(), Now: dlq.ReadingUnknown}
	if f.asked {
		q.Now = f.reading.Bytes
	}
	return q
}

func askFirstAnswer(f entryFacts) entry.Answer {
	a := entry.Answer{Headline: "Redrive, asking the source first.", Tone: components.Info}
	if f.entry.Copy == dlq.CopyHeld {
		a.Why = "Unchanged there, the stored copy goes and tests the code; changed, the document goes as it is now; gone, nothing goes."
	} else {
		a.Why = "No copy is held, so the pipeline reads the document from its source; gone there, nothing goes."
	}
	a.Why += " " + codeSentence(f)
	return a
}

func leftOutAnswer(f entryFacts, why dlq.LeftOut) entry.Answer {
	a := entry.Answer{Tone: components.Deadline}
	switch why {
	case dlq.LeftGoneAtSource:
		a.Headline, a.Why = "A redrive would leave it out: it is gone at the source.", "A replay would bring a deleted document back."
	case dlq.LeftCannotTellChanged:
		a.Headline, a.Why = "A redrive would leave it out: nobody can tell whether the document changed.", "Fetch and hash settles it, or choose what to send."
		a.Links = []components.Link{{Text: "What is known", Href: "#" + entry.ChangedID}}
	default:
		a.Headline = sentence("A redrive would leave it out: %s", leftOutWords[why])
	}
	return a
}

// heldAnswer is for the stored copy: the bytes are the same, so it is the code
// that is tested.
func heldAnswer(f entryFacts) entry.Answer {
	code, _ := dlq.CompareCode(f.entry.Versions, nil, f.running)
	a := entry.Answer{Tone: components.Info}
	switch {
	case !f.entry.CopyIsCurrent():
		a.Headline, a.Tone = "Redrive the stored copy: it would tell little.", components.Plain
		a.Why = "The copy is of an older attempt than the failure, so whether the bytes are the same is not known."
		return a
	case code == dlq.CodeMoved:
		a.Headline = "Redrive the stored copy: a test of the code."
	case code == dlq.CodeSame:
		a.Headline, a.Tone = "Redrive the stored copy: nothing changed since it failed.", components.Plain
	default:
		a.Headline = "Redrive the stored copy. It tests the code; which version runs now was not reported."
	}
	a.Why = strings.TrimSpace(codeSentence(f) + " " + documentSentence(f))
	return a
}

// sourceAnswer is for the document as it is now.
func sourceAnswer(f entryFacts, pointer bool) entry.Answer {
	code, _ := dlq.CompareCode(f.entry.Versions, nil, f.running)
	changed := f.asked && (f.reading.Bytes == dlq.ReadingChanged || f.reading.Bytes == dlq.ReadingMaybeChanged)
	same := f.asked && f.reading.Bytes == dlq.ReadingUnchanged
	a := entry.Answer{Tone: components.Info}
	switch {
	case changed && code == dlq.CodeMoved:
		a.Headline = "Redrive from the source: both changed, so a pass would not say which it was."
	case changed:
		a.Headline = "Redrive from the source: a test of the new document."
	case same && code == dlq.CodeMoved:
		a.Headline = "Redrive from the source: a test of the code."
	case same && code == dlq.CodeSame:
		a.Headline, a.Tone = "Redrive from the source: nothing changed since it failed.", components.Plain
	default:
		a.Headline = "Redrive from the source: it would count for itself alone."
	}
	a.Why = strings.TrimSpace(codeSentence(f) + " " + documentSentence(f))
	if pointer {
		a.Why += " No copy is held here; the pipeline's own pointer to the document goes along."
	} else if f.entry.Copy != dlq.CopyHeld {
		a.Why += " " + sentence("%s", copyWords[f.entry.Copy])
	}
	return a
}

// codeSentence says whether the code moved since the failure.
func codeSentence(f entryFacts) string {
	switch code, moved := dlq.CompareCode(f.entry.Versions, nil, f.running); code {
	case dlq.CodeMoved:
		return sentence("%s", movedWords(f.entry.Versions, f.running, moved))
	case dlq.CodeSame:
		return "The same code runs now."
	}
	if len(f.entry.Versions) == 0 {
		return "The failure names no version, so nothing can be said of the code."
	}
	return "What runs now is not reported, so nothing can be said of the code."
}

// movedWords names what runs now and what it failed under, for at most two
// components: "parser 20251230 runs now, 20221105 failed it".
func movedWords(failed dlq.Versions, running dlq.Running, moved []string) string {
	var parts []string
	for i, name := range moved {
		if i == 2 {
			parts = append(parts, fmt.Sprintf("and %d more changed", len(moved)-2))
			break
		}
		now := shownLine(strings.Join(running[name], ", "), 60).String()
		parts = append(parts, fmt.Sprintf("%s runs now, %s failed it", withComponent(shownLine(name, 40).String(), now), shownLine(failed[name], 60).String()))
	}
	return strings.Join(parts, "; ")
}

func documentSentence(f entryFacts) string {
	switch {
	case !f.source.Policy.Probe.Configured():
		return "The source cannot be asked whether the document changed there."
	case !f.asked:
		return "The source was not asked since it failed."
	}
	switch f.reading.Bytes {
	case dlq.ReadingUnchanged:
		return sentence("The document at the source is unchanged (%s)", gradeWords[f.reading.Grade])
	case dlq.ReadingChanged:
		return sentence("The document at the source changed (%s)", gradeWords[f.reading.Grade])
	case dlq.ReadingMaybeChanged:
		return sentence("The document at the source may have changed (%s)", gradeWords[f.reading.Grade])
	case dlq.ReadingGone:
		return "The document is gone at the source."
	}
	return "Nobody can tell whether the document changed at the source."
}

// withModes gives the box its button, and the other two modes behind a caret.
func withModes(f entryFacts, a entry.Answer, mode dlq.Mode) entry.Answer {
	href := func(m dlq.Mode) string {
		return confirmEntryHref(dlq.OperationRedrive, f.entry.DLQID, entryHref(f.entry.DLQID)) + "&mode=" + string(m)
	}
	q := bytesQuestion(f, mode)
	if choice := q.Choose(); choice.LeftOut == "" || mode == dlq.ModeAuto && q.HasProbe && !f.asked {
		a.Do = &components.Action{Label: "Redrive", Href: href(mode), Key: "r", Tone: components.Primary}
	}
	for _, m := range []dlq.Mode{dlq.ModeAuto, dlq.ModeHeld, dlq.ModeSource} {
		if m == mode {
			continue
		}
		other := components.Action{Label: modeLabels[m], Href: href(m), Why: modeRisks[m]}
		q := bytesQuestion(f, m)
		if choice := q.Choose(); choice.LeftOut != "" && m != dlq.ModeAuto {
			other.Disabled, other.Why = true, sentence("%s", leftOutWords[choice.LeftOut])
		}
		a.Others = append(a.Others, other)
	}
	return a
}

// modeLabels and modeRisks are the three ways to redrive and what each risks.
var modeLabels = map[dlq.Mode]string{
	dlq.ModeAuto:   "Stored copy where unchanged, else the source",
	dlq.ModeHeld:   "The stored copy, always",
	dlq.ModeSource: "From the source, always",
}

var modeRisks = map[dlq.Mode]string{
	dlq.ModeAuto:   "A changed document goes as it is now; one that is gone, or of which nobody can tell, is left out.",
	dlq.ModeHeld:   "Would index an old version of what changed since, and bring back what was deleted.",
	dlq.ModeSource: "Repairs what was mended at the source, and tests code and document at once.",
}
