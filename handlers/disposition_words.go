package handlers

import (
	"encoding/json"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/web"
)

// dispositionWords are the dispositions as people read them, and what each means.
var dispositionWords = map[dlq.Disposition][2]string{
	dlq.DispositionNeedsCode:    {"needs code", "The code has to change before it can pass."},
	dlq.DispositionNeedsSource:  {"needs source", "The document has to change where it comes from."},
	dlq.DispositionNeedsRule:    {"needs rule", "A rule of the validation has to change."},
	dlq.DispositionWaiting:      {"waiting", "Somebody or something is waited for."},
	dlq.DispositionAcceptedLoss: {"accepted loss", "Nobody will do anything about it. It still expires and can still be redriven."},
}

// untilWords say what a disposition lasts until, after the word itself.
var untilWords = map[dlq.Until]string{
	dlq.UntilTakenOff: "until it is taken off",
	dlq.UntilDocument: "until the document changes",
	dlq.UntilCode:     "until the code changes",
	dlq.UntilDate:     "until a date",
	dlq.UntilDoubles:  "until twice as many documents are open",
}

// endWords say why a disposition ended, after "is over: ".
var endWords = map[dlq.EndOfDisposition]string{
	dlq.EndedDocument: "the document changed",
	dlq.EndedCode:     "other code was deployed",
	dlq.EndedDate:     "its date came",
	dlq.EndedDoubled:  "twice as many documents are open as then",
	dlq.EndedLeft:     "the document left",
	dlq.EndedReplaced: "something else was decided",
}

// dispositionTag is the chip of what was decided; without Text where nothing was.
func dispositionTag(d dlq.Disposition) components.Tag {
	words, known := dispositionWords[d]
	if !known {
		return components.Tag{}
	}
	return components.Tag{Text: words[0], Tone: components.Quiet, Title: "Decided without acting. " + words[1]}
}

// decidedWords is what was decided and for how long: "needs code until the code
// changes".
func decidedWords(d dlq.Disposition, until dlq.Until, date time.Time) string {
	if until == dlq.UntilDate {
		return dispositionWords[d][0] + " until " + dateOf(date)
	}
	return dispositionWords[d][0] + " " + untilWords[until]
}

// dispositionNotice says what stands decided of a document or a cohort, with the
// ways to change it; false where nothing does.
func dispositionNotice(d dlq.Decided, by dlq.Actor, now time.Time, form string) (components.Notice, bool) {
	if d.Disposition == dlq.DispositionNone {
		return components.Notice{}, false
	}
	n := components.Notice{Tone: components.Info, Title: sentence("%s", decidedWords(d.Disposition, d.Until, d.Date)), Text: "Decided by " + web.VisibleText(d.By) + ", " + ago(now, d.At) + "."}
	if d.Reason != "" {
		n.Text += " " + shownLine("“"+d.Reason, 300).String() + "”"
	}
	if by.May(dlq.MayNote) {
		n.Links = []components.Link{{Text: "Change", Href: form}}
		n.Do = []components.Action{{Label: "Take off", Href: form}}
	}
	return n, true
}

// dispositionEvent words the rows of the trail that are about dispositions.
func dispositionEvent(r dlq.AuditRow) (string, bool) {
	var d struct {
		Disposition dlq.Disposition      `json:"disposition"`
		Until       dlq.Until            `json:"until"`
		Date        time.Time            `json:"date"`
		Why         dlq.EndOfDisposition `json:"why"`
	}
	switch r.Action {
	case "entry.disposed", "cohort.disposed":
		if json.Unmarshal([]byte(r.Detail), &d) != nil {
			return "", false
		}
		return "decided: " + decidedWords(d.Disposition, d.Until, d.Date), true
	case "entry.disposition_ended", "cohort.disposition_ended":
		if json.Unmarshal([]byte(r.Detail), &d) != nil {
			return "", false
		}
		what := "“" + dispositionWords[d.Disposition][0] + "”"
		if d.Why == dlq.EndedByHand {
			return "took off " + what, true
		}
		return "ended " + what + ": " + endWords[d.Why] + ". It needs a decision again", true
	}
	return "", false
}
