package handlers

import (
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
)

// disposable is a document or a cohort of which something can be decided.
type disposable struct {
	entryID  int64 // 0 of a cohort
	cohortID string
	title    string // for people
	noun     string // "The document", "The cohort"
	href     string // its page
}

func ofEntry(e dlq.Entry) disposable {
	return disposable{entryID: e.ID, title: titleOf(e.Source + " / " + e.DocID), noun: "The document", href: entryHref(e.DLQID)}
}

func ofCohort(c dlq.Cohort) disposable {
	return disposable{cohortID: c.ID, title: titleOf(cohortTitle(c)), noun: "The cohort", href: cohortHref(c.ID)}
}

// newDispose is the form that decides without acting: filled with what stands,
// or with what was sent and why it was not taken.
func newDispose(of disposable, standing dlq.Decided, refused *refusedDisposition, now time.Time) confirm.Model {
	asked := dlq.NewDisposition{Disposition: standing.Disposition, Until: standing.Until, Date: standing.Date, Reason: standing.Reason}
	date := ""
	if !asked.Date.IsZero() {
		date = asked.Date.UTC().Format(time.DateOnly)
	}
	var faults []dlq.Fault
	if refused != nil {
		asked, date = refused.asked, refused.date
		faults, _ = faultsOf(refused.err)
	}
	return confirm.Model{
		Title:  "Set a disposition: " + of.title,
		Lead:   of.noun + " is no longer listed as needing a decision. It stays in every list and every count, and expires as before.",
		Cancel: components.Link{Text: "Cancel", Href: of.href},
		Form: &components.Form{ID: "dispose", Action: of.href + "/dispose", Submit: "Set", Tone: components.Primary, Fields: []components.Field{{Name: "asked", Value: "1"}},
			Inputs: append(dispositionFields(asked, date, faults, now),
				components.Input{Name: "reason", Label: "Reason", Kind: components.InputArea, Value: asked.Reason, Rows: 2, Hint: "It may be empty. It stands under Activity.", Error: faultAt(faults, "/reason")})},
	}
}

// dispositionFields ask what is decided, and for how long.
func dispositionFields(asked dlq.NewDisposition, date string, faults []dlq.Fault, now time.Time) []components.Input {
	kinds := components.Input{Name: "disposition", Label: "What it needs", Kind: components.InputRadio, Required: true, Error: faultAt(faults, "/disposition")}
	for _, d := range dlq.Dispositions {
		words := dispositionWords[d]
		kinds.Options = append(kinds.Options, components.Option{Value: string(d), Label: sentenceStart(words[0]), Hint: words[1], On: d == asked.Disposition})
	}
	ends := components.Input{Name: "until", Label: "For how long", Kind: components.InputRadio, Error: faultAt(faults, "/until")}
	for _, u := range dlq.Untils {
		o := components.Option{Value: string(u), Label: sentenceStart(untilWords[u]), On: u == asked.Until}
		switch u {
		case dlq.UntilDocument:
			o.Hint = "A newer failure brings other bytes, or another version of the source."
		case dlq.UntilCode:
			o.Hint = "A version is deployed that it did not fail under."
		case dlq.UntilDoubles:
			o.Hint = "In its cohort, counted from now."
		}
		ends.Options = append(ends.Options, o)
	}
	return []components.Input{kinds, ends,
		{Name: "date", Label: "Date", Kind: components.InputDate, Value: date, Min: now.UTC().AddDate(0, 0, 1).Format(time.DateOnly), Hint: "Where it lasts until a date: from then on it needs a decision again.", Error: faultAt(faults, "/date")}}
}
